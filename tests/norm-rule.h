/* tests/norm-rule.h -- when gradients or weights of a model count as the same: each parameter's error is bounded by its
 * norm and, a little, by that of all, so that what is all but zero may be off by rounding. */
#ifndef TESTS_NORM_RULE_H
#define TESTS_NORM_RULE_H

#include <math.h>

#include "plan/model.h"

static inline double norm_of(const double *x, const double *y, uint64_t n) /* y: to be subtracted, or NULL */
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += (x[i] - (y ? y[i] : 0)) * (x[i] - (y ? y[i] : 0));
    return sqrt(sum);
}

/* NULL, or what breaks the rule; g_free.  Parameters one after another; `want` is not zero. */
static inline char *norm_rule(const struct model *model, const double *got, const double *want, double own_error,
                              double all_error)
{
    const double all = norm_of(want, NULL, model->numel);
    if (!(all > 0))
        return g_strdup_printf("a norm of %g is nothing to compare with", all);
    for (uint32_t p = 0; p < model->n_params; p++) {
        const uint64_t n = model->params[p].numel;
        const double off = norm_of(got, want, n), own = norm_of(want, NULL, n);
        if (!(off <= own_error * own + all_error * all))
            return g_strdup_printf("%s is off by %g of %g", model->params[p].name, off, own);
        got += n;
        want += n;
    }
    return NULL;
}

#endif
