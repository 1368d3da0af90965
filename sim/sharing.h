/* sim/sharing.h -- what running ops compete for, beside their lane.
 *
 * A resource has a capacity, in ops at full rate.  An op's work (struct cost) advances at the largest rate that every
 * resource it uses allows, at most 1, by max-min fairness: rates are raised together until a resource is full, its
 * users stay there, the others rise on.  A gang is one op that uses a resource as often as it has transfers over it.
 */
#ifndef SIM_SHARING_H
#define SIM_SHARING_H

#include "sim/cluster.h"

enum interference {
    INTERFERENCE_NONE,
    INTERFERENCE_FACTOR, /* compute beside communication of its rank takes `factor` times as long */
    INTERFERENCE_SM      /* communication holds `sms` of the device: products take the waves that the rest needs */
};

struct sharing {
    const struct cluster *cluster; /* its links and devices are shared; NULL: none */
    /* Threads that can run at once, all ranks together: each op's work takes one.  0: each lane has its own. */
    double cores;
    /* What of an op is not work passes beside its work, as the sleep of a paced transfer does; else before it, as a
     * latency does. */
    bool beside;
    uint8_t interference; /* enum interference */
    double factor;        /* at least 1 */
    uint32_t sms;
};

/* "none", "factor:1.2", "sm:16"; fills the last three.  The error says the forms. */
bool sharing_interference(struct sharing *, const char *text, GError **);
/* "factor 1.2", "16 SMs held by communication"; "" for none.  g_free */
char *sharing_text(const struct sharing *);

#endif
