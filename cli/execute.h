/* cli/execute.h -- a job's shape run for real. */
#ifndef CLI_EXECUTE_H
#define CLI_EXECUTE_H

#include "cli/predict.h"

struct execution {
    const struct shape *shape;         /* of its model; a given plan is run whatever the shape */
    uint32_t warmup, ahead, steps;     /* as in struct run */
    double lr;                         /* 0: the job's */
    uint32_t data_step;                /* as in struct run */
    uint8_t part;                      /* enum data_part */
    bool untraced;                     /* times are not looked at */
    const struct state *begin;         /* as in struct run */
    struct state *end;
    void (*begun)(void *user); /* as in struct run; may be NULL */
    void (*learned)(void *user, double loss);
    void *user;
    const char *what; /* is going on, for the line of progress */
};

/* Plans, places, runs and analyses it.  out is uninitialised; of a run that fails or is cancelled it has the steps that
 * were over. */
bool execute(const struct job *, const struct options *, const struct execution *, struct outcome *out,
             GError **);

/* The first signal of interrupt.h asks for a partial result; a second one ends the program the hard way. */
void execute_catch_interrupt(void);
bool execute_cancelled(void);

/* Where progress is shown, takes its line away: before something is printed between. */
void execute_clear_progress(void);

#endif
