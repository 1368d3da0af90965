#include <math.h>

#include "sim/cost-model.h"

/* Tiles of an output that one multiprocessor makes at a time, as the usual libraries have them, and in how
 * many parts the depth may be cut. */
static const struct {
    uint16_t m, n;
} tiles[] = {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128},
             {64, 64},   {64, 32},   {32, 64},   {32, 32}};
static const uint8_t cuts[] = {1, 2, 3, 4, 6, 8, 16, 32};

/* Assumed: fetching an element for a tile takes a multiprocessor as long as this many multiplications and
 * additions, and a part of the depth is no shorter than DEPTH_MIN. */
enum { FETCH = 8, DEPTH_MIN = 128 };

static double tile_efficiency(double m, double n)
{
    const double largest = 1 + FETCH * (1.0 / tiles[0].m + 1.0 / tiles[0].n);
    return largest / (1 + FETCH * (1 / m + 1 / n));
}

static double element_bytes(const struct cost_key *key)
{
    return key->shape && g_str_has_suffix(key->shape, " f64") ? 8 : 4;
}

double cost_peak_tflops(const struct cluster *c, const struct cost_key *key)
{
    return element_bytes(key) == 8 ? c->f64_tflops : c->f32_tflops;
}

/* flops_ns: what one multiprocessor does in a ns; parts_ns: to write and read the output once. */
static double best_ns(const struct gemm *g, uint32_t sms, double flops_ns, double parts_ns)
{
    double best = INFINITY;
    for (size_t t = 0; t < G_N_ELEMENTS(tiles); t++) {
        const double m = tiles[t].m, n = tiles[t].n;
        const double outputs = ceil(g->m / m) * ceil(g->n / n) * g->batch;
        const double depth_ns = 2 * m * n / (flops_ns * tile_efficiency(m, n));
        for (size_t i = 0; i < G_N_ELEMENTS(cuts); i++) {
            const double depth = ceil((double)g->k / cuts[i]);
            if (i > 0 && depth < DEPTH_MIN)
                break;
            const double waves = ceil(outputs * cuts[i] / sms);
            best = MIN(best, waves * depth * depth_ns + (i > 0 ? cuts[i] * parts_ns : 0));
        }
    }
    return best;
}

/* The memory that a product reads and writes. */
static double own_bytes(const struct gemm *g, double element)
{
    const double m = g->m, n = g->n, k = g->k;
    return (m * k + k * n + m * n) * g->batch * element;
}

double cost_waves_ns(const struct cluster *c, const struct cost_key *key, uint32_t sms)
{
    const double element = element_bytes(key);
    const double flops_ns = cost_peak_tflops(c, key) * c->efficiency * 1e3 / c->sms;
    double own = 0, ns = 0;
    for (unsigned i = 0; i < COST_GEMMS && key->gemms[i].m; i++)
        own += own_bytes(&key->gemms[i], element);
    /* What convolutions read again comes from a cache. */
    const double bytes = (double)key->bytes, part = own > bytes ? bytes / own : 1;
    for (unsigned i = 0; i < COST_GEMMS && key->gemms[i].m; i++) {
        const struct gemm *g = &key->gemms[i];
        const double output = (double)g->m * g->n * g->batch * element;
        ns += MAX(best_ns(g, sms, flops_ns, 2 * output / c->memory_gbs),
                  part * own_bytes(g, element) / c->memory_gbs);
    }
    return ns + (bytes - part * own) / c->memory_gbs;
}
