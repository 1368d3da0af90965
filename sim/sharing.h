/* sim/sharing.h -- what running ops compete for, beside their lane.
 *
 * A resource has a capacity, in ops at full rate.  An op's work (struct cost) advances at the largest rate
 * that every resource it uses allows, at most 1, by max-min fairness: rates are raised together until a
 * resource is full, its users stay there, the others rise on.  A gang is one op that uses a resource as often
 * as it has transfers over it.
 *
 * With a cluster: one device for the compute of all ranks on it; each device's link out and in, for transfers
 * to another device of its node, or one bus a node; each node's network cards out and in, for transfers to
 * another node.  A gang with both kinds goes at the network's pace, so its transfers inside a node fill only
 * that part of their links.  A whole collective uses each of these once: its price is of all its transfers
 * together.
 *
 * Whatever else is shared, launches are one thread's, of all ranks together.
 */
#ifndef SIM_SHARING_H
#define SIM_SHARING_H

#include "sim/cluster.h"

enum interference {
    INTERFERENCE_NONE,
    INTERFERENCE_FACTOR, /* compute beside communication of its rank takes `factor` times as long */
    INTERFERENCE_SM /* each communication holds `sms` of its device: products take the waves that the rest
                       needs */
};
/* Communication is beside from its start as figures draw it, waiting for peers included: it waits on the
 * device. */

struct sharing {
    const struct cluster *cluster; /* its links and devices are shared; NULL: none */
    /* Threads that can run at once, all ranks together: each op's work takes one, a gang's one for each
     * member that receives.  0: each lane has its own. */
    double cores;
    /* The core that each lane of the plan keeps to, below `cores`; NULL: any.  Not owned. */
    const uint32_t *lane_core;
    /* How fast each lane of the plan works off ops that are no gang's, above 0, at most 1; NULL: 1.  Not
     * owned. */
    const double *lane_speed;
    /* What of an op is not work passes beside its work and after it, as the sleep of a paced transfer does,
     * so that it takes at least alone_ns; else before it, as a latency does. */
    bool beside;
    bool devices;         /* ranks on one device share its compute, cluster or none */
    uint8_t interference; /* enum interference */
    double factor;        /* 1 to SHARING_FACTOR_MAX */
    uint32_t sms;         /* at least 1, below the cluster's */
};
#define SHARING_FACTOR_MAX 1000

/* "none", "factor:1.2", "sm:16"; fills the last three.  The error says the forms. */
bool sharing_interference(struct sharing *, const char *text, GError **);
/* "computation takes 1.2 times as long beside communication", "16 SMs held by communication"; "" for none.
 * g_free */
char *sharing_text(const struct sharing *);

#endif
