/* cli/prices.h -- the cost model that --cost and --comm-model ask for. */
#ifndef CLI_PRICES_H
#define CLI_PRICES_H

#include "cli/options.h"
#include "sim/cluster.h"
#include "sim/cost-model.h"

/* What stands before the name of a file of measured costs. */
#define PRICES_MEASURED "measured:"

struct prices {
    struct cost_model *model;       /* what to price with */
    struct cost_model *comm, *rest; /* its parts; NULL: it is whole */
    GPtrArray *tables;              /* struct cost_table, what was measured; NULL: nothing */
    bool of_links;                  /* communication is priced by the cluster's links */
};

/* Whether collectives can be priced as one op only, so that they must stay whole. */
bool prices_want_whole(const struct options *);

/* The cluster must outlive the prices.  Errors name the option, or the file and what is wrong with it.  Release also after
 * a failure. */
bool prices_open(struct prices *, const struct options *, const struct cluster *, GError **);
void prices_release(struct prices *);

#endif
