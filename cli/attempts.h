/* cli/attempts.h -- a job done: every overlap that was asked for, run or simulated, and what to compare it with. */
#ifndef CLI_ATTEMPTS_H
#define CLI_ATTEMPTS_H

#include "cli/train.h"

/* One overlap: run, or simulated where nothing is run; and in the first case, what the simulator expected. */
struct attempt {
    uint8_t overlap;
    struct outcome outcome, predicted;
};

struct attempts {
    struct attempt list[OVERLAPS]; /* the last is the main one */
    unsigned n;                    /* 0: interrupted before the first measured step */
    struct outcome apart;          /* without overlap, predicted: where no attempt is */
    struct cost_table *measured;   /* of a real run, made without overlap */
    struct training training;      /* of a run of epochs */
};

/* False with the error set; what is there by then, the steps that a failing run was through with included, is released
 * with the rest.  A real run measures the
 * job's rank_speed.  An interrupt leaves what is there. */
bool attempts_make(struct attempts *, struct job *, const struct options *, GError **);
const struct attempt *attempts_main(const struct attempts *);
void attempts_release(struct attempts *);

#endif
