/* tests/work-trace.h -- traces of simulated DDP and DataParallel steps of a small model, with all that plans say of them. */
#ifndef TESTS_WORK_TRACE_H
#define TESTS_WORK_TRACE_H

#include "tests/unit-trace.h"

struct work {
    const struct mode *mode;
    uint32_t ranks;
    uint8_t algo, gather, overlap;
};

static inline void work_simulate(const struct work *w, struct trace *trace)
{
    const struct shape shape = {.ranks = w->ranks,
                                .batch = w->ranks * 4,
                                .algo = w->algo,
                                .gather = w->gather,
                                .overlap = w->overlap,
                                .bucket_bytes = 8192,
                                .first_bucket_bytes = 8192};
    unit_simulate(w->mode, 3, shape, "F=1,B=1.2,W=0.9,C=0.2", trace);
}

#endif
