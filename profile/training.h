/* profile/training.h -- what training over epochs came to. */
#ifndef PROFILE_TRAINING_H
#define PROFILE_TRAINING_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

struct epoch {
    uint32_t batches; /* trained on */
    double lr;
    double loss;       /* mean over its batches */
    double ms_batch;   /* mean, by the host's clock */
    double valid_loss; /* mean over the samples validated */
    double seconds;    /* of all of it, validation too */
};

/* Losses of a diverged training are not finite. */
struct training {
    struct epoch *epochs; /* g_free */
    uint32_t n, asked;    /* that were validated; that there were to be */
    uint32_t trained;     /* n, or one more: an interrupt came before the end of its validation, of which nothing is known */
    uint32_t best;        /* of least valid_loss, from 0; the first where none is finite */
    double test_loss;     /* with the weights of the best epoch; NAN: not tested */
    uint32_t valid_samples, test_samples;
};

/* "best epoch 3 of 3: valid loss 5.22 (perplexity 185); test loss 5.20 (perplexity 181)"; tokens: the loss is of a token
 * each; and what was trained and not validated. */
void training_print(const struct training *, bool tokens, GString *out);
/* The value of the report's member "training". */
void training_json(const struct training *, GString *out);

#endif
