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
    if (element_bytes(key) == 8)
        return c->f64_tflops;
    bool rounded = key->shape && g_str_has_suffix(key->shape, " tf32");
    return rounded && cost_gemms(key) && c->tf32_tflops > 0 ? c->tf32_tflops : c->f32_tflops;
}

/* How a product is taken apart. */
struct cutting {
    double m, n, cuts;
};

/* flops_ns: what one multiprocessor does in a ns; parts_ns: to write and read the output once. */
static double cut_ns(const struct gemm *g, const struct cutting *by, uint32_t sms, double flops_ns,
                     double parts_ns)
{
    const double outputs = ceil(g->m / by->m) * ceil(g->n / by->n) * g->batch;
    const double depth_ns = 2 * by->m * by->n / (flops_ns * tile_efficiency(by->m, by->n));
    const double waves = ceil(outputs * by->cuts / sms);
    return waves * ceil(g->k / by->cuts) * depth_ns + (by->cuts > 1 ? by->cuts * parts_ns : 0);
}

static struct cutting fastest(const struct gemm *g, uint32_t sms, double flops_ns, double parts_ns)
{
    struct cutting best = {0};
    double best_ns = INFINITY;
    for (size_t t = 0; t < G_N_ELEMENTS(tiles); t++)
        for (size_t i = 0; i < G_N_ELEMENTS(cuts); i++) {
            const struct cutting by = {tiles[t].m, tiles[t].n, cuts[i]};
            if (i > 0 && ceil((double)g->k / cuts[i]) < DEPTH_MIN)
                break;
            const double ns = cut_ns(g, &by, sms, flops_ns, parts_ns);
            if (ns < best_ns) {
                best_ns = ns;
                best = by;
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
    const unsigned n = cost_gemms(key);
    for (unsigned i = 0; i < n; i++)
        own += own_bytes(&key->gemms[i], element);
    /* What convolutions read again comes from a cache. */
    const double bytes = (double)key->bytes, part = own > bytes ? bytes / own : 1;
    for (unsigned i = 0; i < n; i++) {
        const struct gemm *g = &key->gemms[i];
        const double output = (double)g->m * g->n * g->batch * element;
        const double parts_ns = 2 * output / c->memory_gbs;
        const struct cutting by = fastest(g, c->sms, flops_ns, parts_ns);
        ns += MAX(cut_ns(g, &by, sms, flops_ns, parts_ns), part * own_bytes(g, element) / c->memory_gbs);
    }
    return ns + (bytes - part * own) / c->memory_gbs;
}

double cost_waves_slowdown(const struct cluster *c, const struct cost_key *key, uint32_t held)
{
    return cost_gemms(key) ? cost_waves_ns(c, key, c->sms - held) / cost_waves_ns(c, key, c->sms) : 1;
}
