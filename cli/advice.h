/* cli/advice.h -- what else would take less time, by simulating it: for the summary's last line.
 *
 * Candidates change one thing of the job and leave the training what it is: the schedule (with as many stages a rank as
 * are legal, 1, 2 or 4; never between flush and none), 2 or 4 times the micro-batches, of the same mini-batch or of one as
 * many times larger, the split, no checkpoints where the memory is known to be there, DistributedDataParallel instead of
 * DataParallel.  Each is priced by the costs that predicted the job, with stand-ins (cli/stand-in.h) where the job did not
 * measure them; what has no price, is illegal, or has more than ADVICE_OPS operations is no suggestion. */
#ifndef CLI_ADVICE_H
#define CLI_ADVICE_H

#include "cli/predict.h"

#define ADVICE_OPS 65536

enum topic { TOPIC_MODE, TOPIC_SCHEDULE, TOPIC_STAGES, TOPIC_MICRO, TOPIC_BATCH, TOPIC_SPLIT, TOPIC_CHECKPOINT, TOPICS };

struct suggestion {
    enum topic topic;
    char *options;       /* what to type behind the command */
    uint32_t times;      /* so many times the samples of the job's step */
    int64_t step_ns;     /* predicted, of the step */
    int64_t equal_ns;    /* of it, for as many samples as the job's step has */
    double in_flight;    /* at most of a rank, in micro-batches; 0: no pipeline */
    bool holds_more;     /* it keeps activations of more samples at once than the job does */
    uint64_t peak_bytes; /* of the rank that needs most */
    unsigned assumed;    /* enum assumption */
};

struct advice {
    struct suggestion *list; /* shortest equal_ns first; each saves ADVICE_PERCENT or more */
    uint32_t n;
    int64_t step_ns; /* the job's own, predicted */
    double in_flight;
    uint64_t peak_bytes;
};
#define ADVICE_PERCENT 1
#define ADVICE_SHOWN   4

/* `base` is the job predicted at these costs, `options` what it was asked by. */
void advice_find(struct advice *, const struct job *, const struct options *, const struct outcome *base,
                 const struct cost_model *);
void advice_release(struct advice *);

/* "try A (predicted 27.0 ms instead of 33.0, −18.2 %) or B (...)" and a line's end: of each topic the best, and where
 * that holds more activations also the best that does not; ADVICE_SHOWN at most.  False: there is nothing to say, and nothing said. */
bool advice_print(const struct advice *, GString *out);

#endif
