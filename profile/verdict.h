/* profile/verdict.h -- whether one side's runs are slower than another's: a rule that is tested as a gate
 * (tests/t-verdict.c).
 *
 * Units.  With 6 runs a side or more a run is one number, the median of its steps, in the order in which the
 * side has them, which should be that in which they ran: runs are independent but for a machine that wanders.
 * With fewer the steps of all its runs, which hardly are, are the numbers of a side.
 *
 * Of each metric that both sides have, with d = median(new) - median(base) in the direction that is worse,
 * and T the threshold, the most of the three in metric.def: INCOMPARABLE  fewer than 6 numbers a side; the
 * median absolute deviation is over 5 % of the side's step; or a side drifts: Kendall's trend within runs has
 * p < 0.01 and, by Theil and Sen, comes to more than T / 2. SLOWER        p < 0.01 (Mann-Whitney, two-sided,
 * Holm over the metrics), d > T, the bootstrap's 95 % interval of the difference excludes 0, d is more than a
 * side moved by itself (the trend within a run, three times the deviation between the medians of its runs),
 * and beyond chance (one-sided, 1 %) even without what these trends would have come to between the middles of
 * two runs, one after the other; of runs, d is also more than a machine that wanders makes of equal ones
 * (profile/wander.h). FASTER        likewise, the other way. SAME          the interval lies
 * within -T and T, and neighbours are not strongly correlated. AMBIGUOUS     else. Neighbouring steps that
 * resemble each other are fewer numbers than they seem: with the autocorrelation rho of neighbours, if it is
 * positive, the test's z shrinks and the interval grows by sqrt((1 - rho) / (1 + rho)) (Bayley and
 * Hammersley, The "Effective" Number of Independent Observations, 1946).  rho above 0.5 leaves no verdict but
 * AMBIGUOUS. Of runs the interval grows alike, by wander.h's rho. p < 0.05 would call 2.5 % of equal, two-humped runs slower; a gate that people trust may 1 % of
 * them.
 *
 * Numbers without noise (peak memory, all of a simulation) need no statistics: SLOWER if every run of new is
 * above every run of base by more than T, SAME if none differs by more.
 *
 * All together: INCOMPARABLE if a run cannot be compared, what must match does not, or nothing is left to
 * compare; SLOWER if a metric is; INCOMPARABLE if the step is, for it carries the others; AMBIGUOUS if a
 * metric is, or is INCOMPARABLE; FASTER if one is; else SAME.  A step that is INCOMPARABLE leaves SLOWER to
 * what is without noise only.
 */
#ifndef PROFILE_VERDICT_H
#define PROFILE_VERDICT_H

#include "profile/measurement.h"

enum verdict {
    VERDICT_SAME,
    VERDICT_FASTER,
    VERDICT_SLOWER,
    VERDICT_AMBIGUOUS,
    VERDICT_INCOMPARABLE,
    VERDICT_NONE, /* shown, not gated */
    VERDICTS
};
const char *verdict_name(unsigned); /* "same" */

#define VERDICT_ALPHA       0.01
#define VERDICT_LEVEL       0.95
#define VERDICT_LEAST       6    /* numbers a side */
#define VERDICT_NOISE       0.05 /* of the step */
#define VERDICT_CORRELATION 0.5

/* The runs of a side, all of struct measurement; n >= 1.  Borrowed. */
struct side {
    const char *name; /* "BASE" */
    struct measurement *const *runs;
    uint32_t n;
};

struct compared {
    int verdict;   /* enum verdict */
    bool there;    /* both sides have it; else nothing else is set */
    bool exact;    /* without statistics: neither interval nor p */
    uint32_t n[2]; /* numbers of base, new */
    double median[2];
    double difference, ci[2];
    double p, adjusted; /* 1 where it is exact */
    double rho;         /* autocorrelation of neighbours; of runs that of struct wander */
    double reach;       /* of runs: of struct wander; of steps 0 */
    double threshold;   /* T */
    double detects;     /* of the base's median: a rise that is found 4 times in 5 at least; 0: unknown */
    uint32_t sharper;   /* numbers a side that would do for a rise of 2 T; 0: these do, or numbers alone do not */
    char *why;          /* of AMBIGUOUS, INCOMPARABLE and NONE; NULL else */
};

struct comparison {
    int verdict;
    bool by_run;    /* runs are the numbers, not steps */
    bool by_pair;   /* pairs of runs are (profile/gate.h) */
    char *why;      /* of INCOMPARABLE as a whole; NULL: what the metrics say */
    char *changes;  /* fingerprint_changes; NULL: none */
    char *how;      /* it was measured, and how sure that makes it; NULL: as the files say */
    unsigned armed; /* metrics that could have become SLOWER */
    struct compared of[METRICS];
};

/* The first run that cannot be compared, or not with the others: a text, g_free; NULL: there is none. */
char *comparison_obstacle(const struct side *base, const struct side *new);
/* T of a metric: relative < 0 is that of the table; base and step are base's medians. */
double compared_threshold(unsigned metric, double relative, double base, double step);

/* relative: a threshold a metric, of the base's median; negative: that of the table. */
void compare(const struct side *base, const struct side *new, const double *relative, struct comparison *);
void comparison_release(struct comparison *);

#endif
