#include "profile/gate.h"

#include <math.h>

#include "profile/stats.h"

#define Z_FOUND 1.6448536269514722 /* 95 % of a normal distribution lie below */

const struct gate_look gate_looks[GATE_LOOKS] = {
    {6, 0, 1.0 / 64},     {8, 0.0040, 1.0 / 128}, {12, 0.0012, 0.0050}, {16, 0.0010, 0.0050},
    {24, 0.0008, 0.0040}, {32, 0.0006, 0.0030},   {48, 0.0005, 0.0025}, {64, 0.0004, 0.0020},
    {96, 0.0003, 0.0020}, {128, 0.0002, 0.0020}};

const struct gate_look *gate_next_look(uint32_t pairs)
{
    for (unsigned i = 0; i < GATE_LOOKS; i++)
        if (gate_looks[i].pairs > pairs)
            return &gate_looks[i];
    return NULL;
}

bool gate_new_first(uint32_t pair)
{
    return (pair + 1) / 2 % 2;
}

static const struct gate_look *last_look(uint32_t pairs)
{
    const struct gate_look *last = NULL;
    for (unsigned i = 0; i < GATE_LOOKS && gate_looks[i].pairs <= pairs; i++)
        last = &gate_looks[i];
    return last;
}

/* A rise that is found 4 times in 5 at least: of Gaussian noise the centre has pi / 3 times the variance of a
 * mean.  Where the look has no alpha, the next one would have found it. */
static double detects(const double *d, const struct gate_look *look, double threshold)
{
    const uint32_t n = look->pairs;
    if (look->alpha <= 0)
        look++;
    const double sigma = STATS_MAD_SIGMA * stats_mad(d, n) * n / (n - 0.8),
                 sd = sigma * sqrt(G_PI / 3 / look->pairs);
    return MAX(threshold + Z_FOUND * sd, (stats_normal_z(2 * look->alpha) + Z_FOUND) * sd);
}

static void judge(struct compared *of, const double *d, const struct gate_look *look)
{
    double same[2];
    const struct signed_rank test = stats_signed_rank(d, look->pairs);
    of->difference = stats_paired_shift(d, look->pairs, look->beta, same);
    stats_paired_shift(d, look->pairs, (1 - VERDICT_LEVEL) / 2, of->ci);
    if (!isfinite(of->ci[0])) /* 6 pairs: the widest there is, 97 % */
        stats_paired_shift(d, look->pairs, look->beta, of->ci);
    of->p = of->adjusted = MIN(1, 2 * MIN(test.more, test.less));
    of->verdict = VERDICT_AMBIGUOUS;
    if (test.more <= look->alpha && of->difference > of->threshold)
        of->verdict = VERDICT_SLOWER;
    else if (test.less <= look->alpha && of->difference < -of->threshold)
        of->verdict = VERDICT_FASTER;
    else if (same[0] >= -of->threshold && same[1] <= of->threshold)
        of->verdict = VERDICT_SAME;
    else
        of->why = g_strdup("the samples allow both a difference and none");
}

static void measure(struct comparison *c, const double *base, const double *new, const struct gate_look *look,
                    double relative)
{
    struct compared *of = &c->of[METRIC_STEP];
    g_autofree double *d = g_new(double, look->pairs);
    for (uint32_t i = 0; i < look->pairs; i++)
        d[i] = new[i] - base[i];
    of->n[0] = of->n[1] = look->pairs;
    of->median[0] = stats_median(base, look->pairs);
    of->median[1] = stats_median(new, look->pairs);
    of->threshold = compared_threshold(METRIC_STEP, relative, of->median[0], of->median[0]);
    judge(of, d, look);
    of->detects = of->median[0] > 0 ? detects(d, look, of->threshold) / of->median[0] : 0;
}

void gate_compare(const struct side *base, const struct side *new, double relative, struct comparison *c)
{
    const struct measurement *a = base->runs[0], *b = new->runs[0];
    const uint32_t pairs = MIN(a->n[METRIC_STEP], b->n[METRIC_STEP]);
    const struct gate_look *look = last_look(pairs);
    *c = (struct comparison){.by_pair = true};
    c->changes = fingerprint_changes(&a->fingerprint, &b->fingerprint);
    c->why = comparison_obstacle(base, new);
    if (!c->why && !look)
        c->why = g_strdup_printf("%u pair%s of runs, and %u are needed", pairs, pairs == 1 ? "" : "s",
                                 gate_looks[0].pairs);
    c->verdict = VERDICT_INCOMPARABLE;
    if (c->why)
        return;
    c->of[METRIC_STEP].there = true;
    measure(c, a->x[METRIC_STEP], b->x[METRIC_STEP], look, relative);
    c->armed = 1;
    c->verdict = c->of[METRIC_STEP].verdict;
}
