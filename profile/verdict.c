#include "profile/verdict.h"

#include <math.h>
#include <string.h>

#include "profile/stats.h"
#include "profile/wander.h"

#define TREND_PLACES 400 /* a longer run is cut into so many blocks, of which the medians are looked at */
#define Z_LEFT       2.3263478740408408 /* 99 % */
#define Z_FOUND      1.6448536269514722 /* 95 % of a normal distribution lie below */

const char *verdict_name(unsigned verdict)
{
    static const char *const names[VERDICTS] = {"same",      "faster",       "slower",
                                                "ambiguous", "incomparable", "shown"};
    return names[verdict];
}

/* A side's numbers of a metric, and how it moves by itself. */
struct numbers {
    const struct side *side;
    double *x;
    uint32_t n;
    double median, mad;
    double moved;       /* the trend within a run, or between runs: the most */
    double drift;       /* the trend within a run that is largest, signed */
    uint32_t steps;     /* of that run; 0: runs are the numbers */
    struct trend trend; /* sums over the runs */
};

static bool of_runs(const struct numbers *s)
{
    return !s->steps;
}

static double *blocks(const double *x, uint32_t n, uint32_t *m)
{
    *m = MIN(n, TREND_PLACES);
    double *medians = g_new(double, *m);
    for (uint32_t i = 0; i < *m; i++) {
        const uint32_t from = (uint32_t)((uint64_t)i * n / *m), to = (uint32_t)((uint64_t)(i + 1) * n / *m);
        medians[i] = stats_median(x + from, to - from);
    }
    return medians;
}

static void add_trend(struct numbers *s, const double *x, uint32_t n)
{
    uint32_t m;
    g_autofree double *medians = blocks(x, n, &m);
    const struct trend t = stats_trend(medians, m);
    const double drift = t.slope * (m - 1);
    s->trend.s += t.s;
    s->trend.variance += t.variance;
    if (!s->steps || fabs(drift) > fabs(s->drift)) {
        s->drift = drift;
        s->steps = n;
    }
}

static void gather(const struct side *side, unsigned metric, bool by_run, struct numbers *s,
                   struct autocorrelation *neighbours)
{
    g_autofree double *medians = g_new(double, side->n);
    uint32_t all = 0;
    *s = (struct numbers){.side = side};
    for (uint32_t i = 0; i < side->n; i++)
        all += side->runs[i]->n[metric];
    s->x = g_new(double, MAX(all, side->n));
    for (uint32_t i = 0; i < side->n; i++) {
        const double *x = side->runs[i]->x[metric];
        const uint32_t n = side->runs[i]->n[metric];
        medians[i] = stats_median(x, n);
        if (by_run) {
            s->x[s->n++] = medians[i];
            continue;
        }
        memcpy(s->x + s->n, x, n * sizeof *x);
        s->n += n;
        add_trend(s, x, n);
        stats_autocorrelation(x, n, neighbours);
    }
    s->median = stats_median(s->x, s->n);
    s->mad = stats_mad(s->x, s->n);
    s->moved = by_run ? 0 : MAX(fabs(s->drift), 3 * stats_mad(medians, side->n));
}

/* Kendall's trend of both sides in one, as they mostly drift alike, or of one alone. */
static bool drifts(const struct numbers *s, const struct numbers *other, double threshold)
{
    const double own = s->trend.variance > 0 ? s->trend.s / sqrt(s->trend.variance) : 0,
                 sum = s->trend.variance + other->trend.variance,
                 both = sum > 0 ? (s->trend.s + other->trend.s) / sqrt(sum) : 0;
    return fabs(s->drift) > threshold / 2 &&
           MIN(stats_normal_tails(own), stats_normal_tails(both)) < VERDICT_ALPHA;
}

static char *in_percent(const char *format, const char *name, double part)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    return g_strdup_printf(format, name, g_ascii_formatd(number, sizeof number, "%.1f", 100 * part));
}

/* NULL: nothing keeps the side from being compared. */
static char *unusable(const struct numbers *s, const struct numbers *other, double step, double threshold)
{
    if (s->n < VERDICT_LEAST)
        return g_strdup_printf("%s has %u samples, and %d are needed: measure more steps", s->side->name,
                               s->n, VERDICT_LEAST);
    if (s->mad > VERDICT_NOISE * step)
        return in_percent("%s is too noisy: its median absolute deviation is %s %% of a step", s->side->name,
                          s->mad / step);
    if (drifts(s, other, threshold))
        return in_percent("%s drifts: it moves by %s %% of its median from its first step to its last",
                          s->side->name, s->drift / s->median);
    return NULL;
}

double compared_threshold(unsigned metric, double relative, double base, double step)
{
    const struct metric *m = &metrics[metric];
    return MAX(MAX(fabs(base) * (relative >= 0 ? relative : m->relative), m->floor), m->floor_of_step * step);
}

static void set_exact(struct compared *c, unsigned metric, const struct side *base, const struct side *new)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    const struct side *sides[] = {base, new};
    const int worse = metrics[metric].worse;
    for (unsigned k = 0; k < 2; k++)
        for (uint32_t i = 0; i < sides[k]->n; i++)
            for (uint32_t j = 0; j < sides[k]->runs[i]->n[metric]; j++) {
                const double x = worse * sides[k]->runs[i]->x[metric][j];
                low[k] = MIN(low[k], x);
                high[k] = MAX(high[k], x);
            }
    c->exact = true;
    c->detects = c->median[0] > 0 ? c->threshold / c->median[0] : 0;
    if (low[1] - high[0] > c->threshold)
        c->verdict = VERDICT_SLOWER;
    else if (low[0] - high[1] > c->threshold)
        c->verdict = VERDICT_FASTER;
    else if (high[1] - low[0] <= c->threshold && high[0] - low[1] <= c->threshold)
        c->verdict = VERDICT_SAME;
    else {
        c->verdict = VERDICT_AMBIGUOUS;
        c->why = g_strdup("runs of one side differ by more than the threshold");
    }
}

/* Of a side's noise, as if it were Gaussian; the factor for few numbers is that of Croux and Rousseeuw,
 * Time-Efficient Algorithms for Two Highly Robust Estimators of Scale, 1992. */
static double sigma(const struct numbers *s)
{
    return STATS_MAD_SIGMA * s->mad * s->n / (s->n - 0.8);
}

/* What the noise of both sides makes of the difference of their medians: its standard deviation. */
static double deviation(const struct numbers *s, double shrink)
{
    const double a = sigma(&s[0]), b = sigma(&s[1]);
    return sqrt(G_PI / 2 * (a * a / s[0].n + b * b / s[1].n)) / shrink;
}

/* The same of the difference without what the trends came to: a line fitted to n steps ends sigma sqrt(12 /
 * n) off. */
static double deviation_left(const struct numbers *s, double shrink)
{
    const double sd = deviation(s, shrink), a = sigma(&s[0]), b = sigma(&s[1]);
    double squares = 0;
    for (unsigned k = 0; k < 2; k++)
        squares += s[k].steps ? (a * a + b * b) / 2 * 3 / s[k].steps : 0;
    return sqrt(sd * sd + squares / (shrink * shrink));
}

static double shrink_of(double rho)
{
    return sqrt((1 - rho) / (1 + rho));
}

/* Everything but the verdict, which waits for Holm.  The test of steps that resemble each other is held back
 * by their autocorrelation, the verdict of runs by their reach. */
static void measure(struct compared *c, const struct numbers *s, double rho, double step)
{
    const double shrink = shrink_of(rho);
    const struct rank_test test = stats_mann_whitney(s[0].x, s[0].n, s[1].x, s[1].n);
    c->rho = rho;
    c->p = rho > 0 && !of_runs(s) ? MAX(test.p, stats_normal_tails(test.z * shrink)) : test.p;
    stats_bootstrap(s[0].x, s[0].n, s[1].x, s[1].n, VERDICT_LEVEL, c->ci);
    for (unsigned k = 0; k < 2; k++)
        c->ci[k] = c->difference + (c->ci[k] - c->difference) / shrink;
    c->why = unusable(&s[0], &s[1], step, c->threshold);
    if (!c->why)
        c->why = unusable(&s[1], &s[0], step, c->threshold);
}

/* Of all that must be overcome the deviations shrink with the root of the numbers, what a side moves by
 * itself does not. */
static void set_detects(struct compared *c, const struct numbers *s, unsigned family)
{
    const double shrink = shrink_of(c->rho), sd = deviation(s, shrink),
                 left = (Z_FOUND + Z_LEFT) * deviation_left(s, shrink),
                 least = MAX(c->threshold, MAX(s[0].moved, s[1].moved)), twice = 2 * c->threshold,
                 tested = MAX(stats_normal_z(VERDICT_ALPHA / family) * sd, c->reach) + Z_FOUND * sd,
                 rise = MAX(MAX(least + Z_FOUND * sd, left), tested);
    c->detects = c->median[0] > 0 ? rise / c->median[0] : 0;
    if (rise <= twice || least >= twice)
        return;
    const double times = MAX(MAX(Z_FOUND * sd / (twice - least), left / twice), tested / twice);
    c->sharper = (uint32_t)MIN(ceil(MIN(s[0].n, s[1].n) * times * times), UINT32_MAX);
}

static void judge(struct compared *c, unsigned metric, const struct numbers *s)
{
    const double rise = c->difference * metrics[metric].worse, moved = MAX(s[0].moved, s[1].moved),
                 left = fabs(c->difference - (s[0].drift + s[1].drift) / 2);
    const bool far = c->adjusted < VERDICT_ALPHA && fabs(rise) > c->threshold,
               apart = far && (c->ci[0] > 0 || c->ci[1] < 0);
    if (c->why) {
        c->verdict = VERDICT_INCOMPARABLE;
        return;
    }
    c->verdict = VERDICT_AMBIGUOUS;
    if (!of_runs(s) && c->rho > VERDICT_CORRELATION)
        c->why = in_percent("neighbouring %s are too much alike (%s %% of a step's deviation is left in the "
                            "next): measure in "
                            "several processes",
                            "steps", c->rho);
    else if (far && fabs(rise) <= c->reach)
        c->why = in_percent("%s of equal programs may be apart by %s %% where the machine wanders: measure "
                            "more, or let 'parprof gate' run both sides by turns",
                            "so few runs", c->reach / c->median[0]);
    else if (apart && fabs(rise) > moved &&
             left > MAX(c->threshold, Z_LEFT * deviation_left(s, shrink_of(c->rho))))
        c->verdict = rise > 0 ? VERDICT_SLOWER : VERDICT_FASTER;
    else if (apart)
        c->why =
            in_percent("%s moves by %s %% by itself, which may be all of the difference",
                       s[0].moved > s[1].moved ? s[0].side->name : s[1].side->name, moved / c->median[0]);
    else if (c->ci[0] >= -c->threshold && c->ci[1] <= c->threshold)
        c->verdict = VERDICT_SAME;
    else
        c->why = g_strdup_printf("the samples allow both a difference and none: measure more %s",
                                 of_runs(s) ? "runs" : "steps");
}

/* --- the whole */

static bool side_has(const struct side *side, unsigned metric)
{
    for (uint32_t i = 0; i < side->n; i++)
        if (!side->runs[i]->n[metric])
            return false;
    return true;
}

char *comparison_obstacle(const struct side *base, const struct side *new)
{
    const struct side *sides[] = {base, new};
    const struct measurement *first = base->runs[0];
    for (unsigned k = 0; k < 2; k++)
        for (uint32_t i = 0; i < sides[k]->n; i++)
            if (sides[k]->runs[i]->why_not)
                return g_strdup_printf("%s: %s", sides[k]->runs[i]->name, sides[k]->runs[i]->why_not);
    for (unsigned k = 0; k < 2; k++)
        for (uint32_t i = 0; i < sides[k]->n; i++) {
            const struct measurement *run = sides[k]->runs[i];
            char *difference =
                fingerprint_difference(&first->fingerprint, first->name, &run->fingerprint, run->name);
            if (difference)
                return difference;
        }
    return NULL;
}

static bool any_shared(const struct side *side)
{
    for (uint32_t i = 0; i < side->n; i++)
        if (side->runs[i]->shared)
            return true;
    return false;
}

static const char *only_shown(unsigned metric, const struct side *base, const struct side *new)
{
    if (metrics[metric].kind == METRIC_SHOWN)
        return "a ratio is shown, not gated: it improves when both its parts get worse";
    if (metric == METRIC_EXPOSED_COMM && (any_shared(base) || any_shared(new)))
        return "ranks share a GPU: shown, not gated";
    return NULL;
}

static void gate_all(struct comparison *c, struct numbers (*numbers)[2], const bool *noisy)
{
    double p[METRICS], adjusted[METRICS];
    unsigned family = 0;
    for (unsigned m = 0; m < METRICS; m++)
        if (noisy[m])
            p[family++] = c->of[m].p;
    if (family)
        stats_holm(p, family, adjusted);
    for (unsigned m = 0, i = 0; m < METRICS; m++)
        if (noisy[m]) {
            c->of[m].adjusted = adjusted[i++];
            judge(&c->of[m], m, numbers[m]);
            set_detects(&c->of[m], numbers[m], family);
        }
}

static void conclude(struct comparison *c)
{
    unsigned count[VERDICTS] = {0}, exact_slower = 0;
    const bool step_lost = c->of[METRIC_STEP].verdict == VERDICT_INCOMPARABLE;
    for (unsigned m = 0; m < METRICS; m++) {
        if (!c->of[m].there)
            continue;
        count[c->of[m].verdict]++;
        exact_slower += c->of[m].exact && c->of[m].verdict == VERDICT_SLOWER;
        c->armed += c->of[m].verdict != VERDICT_NONE && c->of[m].verdict != VERDICT_INCOMPARABLE &&
                    (!step_lost || c->of[m].exact);
    }
    if (!c->armed || step_lost)
        c->why =
            g_strdup(c->of[METRIC_STEP].why ? c->of[METRIC_STEP].why : "nothing was measured on both sides");
    if (exact_slower || (count[VERDICT_SLOWER] && !step_lost))
        c->verdict = VERDICT_SLOWER;
    else if (!c->armed || step_lost)
        c->verdict = VERDICT_INCOMPARABLE;
    else if (count[VERDICT_AMBIGUOUS] || count[VERDICT_INCOMPARABLE])
        c->verdict = VERDICT_AMBIGUOUS;
    else
        c->verdict = count[VERDICT_FASTER] ? VERDICT_FASTER : VERDICT_SAME;
}

static double correlation(const struct autocorrelation *sum)
{
    const double rho = sum->squares > 0 ? sum->products / sum->squares : 0;
    return CLAMP(rho, 0, 0.99);
}

/* Whether statistics are to judge it.  The step is the first metric, so that the others know its median. */
static bool take_metric(struct comparison *c, unsigned metric, const struct side *base,
                        const struct side *new, double relative, struct numbers *numbers)
{
    struct compared *of = &c->of[metric];
    struct autocorrelation neighbours = {0};
    of->there = side_has(base, metric) && side_has(new, metric);
    if (!of->there)
        return false;
    gather(base, metric, c->by_run, &numbers[0], &neighbours);
    gather(new, metric, c->by_run, &numbers[1], &neighbours);
    for (unsigned k = 0; k < 2; k++) {
        of->n[k] = numbers[k].n;
        of->median[k] = numbers[k].median;
    }
    const double step = c->of[METRIC_STEP].median[0];
    const char *shown = only_shown(metric, base, new);
    of->difference = of->median[1] - of->median[0];
    of->p = of->adjusted = 1;
    of->threshold = compared_threshold(metric, relative, of->median[0], step);
    if (shown) {
        of->verdict = VERDICT_NONE;
        of->exact = true;
        of->why = g_strdup(shown);
    } else if (metrics[metric].kind == METRIC_EXACT || base->runs[0]->simulated) {
        set_exact(of, metric, base, new);
    } else {
        struct wander wander = {correlation(&neighbours), 0};
        if (c->by_run)
            wander = wander_of(numbers[0].x, numbers[0].n, numbers[1].x, numbers[1].n);
        of->reach = wander.reach;
        measure(of, numbers, wander.rho, step);
        return true;
    }
    return false;
}

void compare(const struct side *base, const struct side *new, const double *relative, struct comparison *c)
{
    struct numbers numbers[METRICS][2] = {0};
    bool noisy[METRICS] = {false};
    *c = (struct comparison){.by_run = base->n >= VERDICT_LEAST && new->n >= VERDICT_LEAST};
    c->changes = fingerprint_changes(&base->runs[0]->fingerprint, &new->runs[0]->fingerprint);
    c->why = comparison_obstacle(base, new);
    if (c->why) {
        c->verdict = VERDICT_INCOMPARABLE;
        return;
    }
    for (unsigned m = 0; m < METRICS; m++)
        noisy[m] = take_metric(c, m, base, new, relative[m], numbers[m]);
    gate_all(c, numbers, noisy);
    conclude(c);
    for (unsigned m = 0; m < METRICS; m++) {
        g_free(numbers[m][0].x);
        g_free(numbers[m][1].x);
    }
}

void comparison_release(struct comparison *c)
{
    g_free(c->why);
    g_free(c->changes);
    g_free(c->how);
    for (unsigned m = 0; m < METRICS; m++)
        g_free(c->of[m].why);
    *c = (struct comparison){0};
}
