/* cli/train.h -- training over epochs: each trains, lowers the learning rate, and is validated; the best is tested. */
#ifndef CLI_TRAIN_H
#define CLI_TRAIN_H

#include "cli/execute.h"
#include "profile/training.h"

/* What the options ask for; epochs 0 in the job: nothing.  Fails on what belongs to epochs and is given without them, or
 * does not go with them. */
bool train_pick(struct job *, const struct options *, GError **);

/* Rows go to job->say as they come, in the columns of PyTorch's pipeline tutorial.  The outcome is of the last steps of the
 * last epoch that had any.  out is uninitialised; training takes what is over, also of what fails or is cancelled. */
bool train(const struct job *, const struct options *, const struct shape *, struct training *,
           struct outcome *out, GError **);

#endif
