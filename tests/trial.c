#include "tests/trial.h"

#include "profile/gate.h"

struct measurement *trial_measurement(const char *name)
{
    static const char *const must[] = {"ranks", "4", NULL};
    struct measurement *m = g_new0(struct measurement, 1);
    m->name = g_strdup(name);
    m->fingerprint = (struct fingerprint){g_strdupv((char **)must), g_new0(char *, 1)};
    return m;
}

void trial_set(struct measurement *m, unsigned metric, const double *x, uint32_t n, double scale)
{
    g_free(m->x[metric]);
    m->n[metric] = n;
    m->x[metric] = g_new(double, n);
    for (uint32_t i = 0; i < n; i++)
        m->x[metric][i] = x[i] * scale;
}

static void count(struct rates *rates, const struct comparison *c)
{
    rates->of[c->verdict]++;
    rates->detects += c->of[METRIC_STEP].detects / rates->repeats;
}

static void compare_once(const struct trial *t, uint64_t *state, struct rates *rates)
{
    g_autofree double *x = g_new(double, t->steps);
    g_autoptr(GPtrArray) runs = g_ptr_array_new_with_free_func((GDestroyNotify)measurement_free);
    struct noise_of now = t->noise;
    struct comparison c;
    double relative[METRICS];
    for (unsigned m = 0; m < METRICS; m++)
        relative[m] = -1;
    for (unsigned k = 0; k < 2; k++) {
        if (now.kind == NOISE_CORRELATED && !(k && t->goes_on))
            now.level = now.sd * noise_normal(state);
        for (uint32_t r = 0; r < t->runs; r++) {
            struct measurement *m = trial_measurement(k ? "new.json" : "base.json");
            noise_fill(&now, x, t->steps, state);
            trial_set(m, METRIC_STEP, x, t->steps, TRIAL_STEP_NS * (k ? 1 + t->rise : 1));
            g_ptr_array_add(runs, m);
        }
    }
    struct measurement *const *all = (struct measurement *const *)runs->pdata;
    const struct side base = {"BASE", all, t->runs}, new = {"NEW", all + t->runs, t->runs};
    compare(&base, &new, relative, &c);
    count(rates, &c);
    comparison_release(&c);
}

/* One run's median, on a machine whose noise goes on. */
static double gate_run(const struct trial *t, struct noise_of *now, double *x, uint64_t *state)
{
    noise_fill(now, x, t->steps, state);
    return stats_median(x, t->steps);
}

static void gate_once(const struct trial *t, uint64_t *state, struct rates *rates)
{
    g_autofree double *x = g_new(double, t->steps), *sides = g_new(double, 2 * t->runs);
    struct noise_of now = t->noise;
    struct measurement *m[2] = {trial_measurement("base"), trial_measurement("new")};
    const struct side base = {"BASE", &m[0], 1}, new = {"NEW", &m[1], 1};
    const struct gate_look *look = gate_next_look(0);
    struct comparison c = {0};
    uint32_t pairs = 0;
    if (now.kind == NOISE_DRIFT)
        now.gap /= 2 * t->runs;
    if (now.kind == NOISE_CORRELATED)
        now.level = now.sd * noise_normal(state);
    do {
        for (; pairs < look->pairs; pairs++) {
            const double first = gate_run(t, &now, x, state), second = gate_run(t, &now, x, state);
            sides[pairs] = gate_new_first(pairs) ? second : first;
            sides[t->runs + pairs] = (gate_new_first(pairs) ? first : second) * (1 + t->rise);
        }
        for (unsigned k = 0; k < 2; k++)
            trial_set(m[k], METRIC_STEP, sides + k * t->runs, pairs, TRIAL_STEP_NS);
        comparison_release(&c);
        gate_compare(&base, &new, -1, &c);
        look = gate_next_look(pairs);
    } while (c.verdict == VERDICT_AMBIGUOUS && look && look->pairs <= t->runs);
    count(rates, &c);
    rates->pairs += (double)pairs / rates->repeats;
    comparison_release(&c);
    measurement_free(m[0]);
    measurement_free(m[1]);
}

typedef void trial_once(const struct trial *, uint64_t *state, struct rates *);

static struct rates repeat(const struct trial *t, unsigned repeats, trial_once *once)
{
    struct rates rates = {.repeats = repeats};
    uint64_t state = t->seed;
    for (unsigned i = 0; i < repeats; i++)
        once(t, &state, &rates);
    return rates;
}

struct rates trial_compare(const struct trial *t, unsigned repeats)
{
    return repeat(t, repeats, compare_once);
}

struct rates trial_gate(const struct trial *t, unsigned repeats)
{
    return repeat(t, repeats, gate_once);
}

/* P(at most k of n), each with the rate p. */
static double at_most(unsigned k, unsigned n, double p)
{
    double sum = 0;
    for (unsigned i = 0; i <= k; i++)
        sum +=
            exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) + i * log(p) + (n - i) * log1p(-p));
    return sum;
}

/* The rate at which at most k come with the chance `part`. */
static double rate_of(unsigned k, unsigned n, double part)
{
    double low = 0, high = 1;
    for (unsigned i = 0; i < 60; i++) {
        const double p = (low + high) / 2;
        if (at_most(k, n, p) > part)
            low = p;
        else
            high = p;
    }
    return low;
}

void trial_interval(unsigned k, unsigned n, double *low, double *high)
{
    *low = k ? rate_of(k - 1, n, 0.975) : 0;
    *high = k < n ? rate_of(k, n, 0.025) : 1;
}
