#include <math.h>

#include "sim/cost-model.h"

/* What large products are cut into by the usual libraries; assumed, as they choose by size and type. */
#define TILE 128

static double waves(const struct cost_key *key, uint32_t sms)
{
    double sum = 0;
    for (unsigned i = 0; i < COST_GEMMS && key->gemms[i].m; i++) {
        const struct gemm *g = &key->gemms[i];
        double tiles = ceil((double)g->m / TILE) * ceil((double)g->n / TILE) * MAX(g->batch, 1);
        sum += ceil(tiles / sms) * g->k;
    }
    return sum;
}

double cost_waves_slowdown(const struct cost_key *key, uint32_t sms, uint32_t held)
{
    double undisturbed = waves(key, sms);
    return undisturbed > 0 ? waves(key, sms - held) / undisturbed : 1;
}
