#include "exec/cuda/peer.h"

bool site_check(const struct site *s, const char *call, int status, GError **error)
{
    return !status || cuda_fail(error, call, status, s->rank, s->device);
}

/* --- access */

static bool enable(struct peers *p, uint32_t a, uint32_t b, GError **error)
{
    int can = 0;
    cudaError_t status = cudaDeviceCanAccessPeer(&can, (int)a, (int)b);
    if (status)
        return cuda_fail(error, "cudaDeviceCanAccessPeer", status, OP_NONE, a);
    if (!can)
        return true;
    status = cudaSetDevice((int)a);
    if (status)
        return cuda_fail(error, "cudaSetDevice", status, OP_NONE, a);
    status = cudaDeviceEnablePeerAccess((int)b, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled || status == cudaErrorTooManyPeers)
        cudaGetLastError(); /* or the next call that asks for the last error finds this one */
    else if (status)
        return cuda_fail(error, "cudaDeviceEnablePeerAccess", status, OP_NONE, a);
    p->direct[a * p->n + b] = status != cudaErrorTooManyPeers;
    return true;
}

bool peers_open(struct peers *p, const uint32_t *device, uint32_t n_ranks, GError **error)
{
    *p = (struct peers){0};
    for (uint32_t i = 0; i < n_ranks; i++)
        p->n = MAX(p->n, device[i] + 1);
    p->used = g_new0(bool, p->n);
    p->direct = g_new0(bool, (gsize)p->n * p->n);
    for (uint32_t i = 0; i < n_ranks; i++)
        p->used[device[i]] = true;
    for (uint32_t a = 0; a < p->n; a++)
        for (uint32_t b = 0; b < p->n; b++) {
            p->direct[a * p->n + b] = a == b;
            if (a != b && p->used[a] && p->used[b] && !enable(p, a, b, error))
                return false;
        }
    return true;
}

bool peers_direct(const struct peers *p, uint32_t device, uint32_t from)
{
    return p->direct[device * p->n + from];
}

void peers_close(struct peers *p)
{
    g_free(p->used);
    g_free(p->direct);
}

/* --- copies and additions */

bool peers_copy(const struct site *s, const void *from, uint32_t from_device, void *to, uint64_t bytes,
                GError **error)
{
    if (from_device == s->device)
        return site_check(s, "cudaMemcpyAsync",
                          cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, s->stream), error);
    return site_check(s, "cudaMemcpyPeerAsync",
                      cudaMemcpyPeerAsync(to, (int)s->device, from, (int)from_device, bytes, s->stream),
                      error);
}

bool peers_add(const struct site *s, const void *from, uint32_t from_device, void *to, uint64_t bytes,
               void *staging, GError **error)
{
    if (staging && !peers_copy(s, from, from_device, staging, bytes, error))
        return false;
    return site_check(s, "addition",
                      k_cuda_f32.add(s->k, bytes / k_cuda_f32.elem_bytes, staging ? staging : from, to),
                      error);
}

/* --- checking */

/* Floats of a test: no multiple of 16 bytes, more than a block of a kernel. */
enum { TEST_N = 4099, TEST_BYTES = TEST_N * sizeof(float) };

/* On each device there are three times as many: those to be sent, those received, and staging. */
static float test_number(uint32_t device, uint32_t i)
{
    return (float)((device + 1) * 1000 + i % 997);
}

static bool fill(const struct site *s, float **memory, float *host, GError **error)
{
    for (uint32_t i = 0; i < TEST_N; i++)
        host[i] = test_number(s->device, i);
    return site_check(s, "cudaSetDevice", cudaSetDevice((int)s->device), error) &&
           site_check(s, "cudaMalloc", cudaMalloc((void **)memory, 3 * (size_t)TEST_BYTES), error) &&
           site_check(s, "cudaMemcpyAsync",
                      cudaMemcpyAsync(*memory, host, TEST_BYTES, cudaMemcpyHostToDevice, s->stream), error) &&
           site_check(s, "cudaStreamSynchronize", cudaStreamSynchronize(s->stream), error);
}

static bool compare(const float *host, uint32_t from, uint32_t to, GError **error)
{
    for (uint32_t i = 0; i < TEST_N; i++)
        if (host[i] != 2 * test_number(from, i)) {
            g_set_error(
                error, engine_error_quark(), ENGINE_ERROR_FAILED,
                "numbers copied from GPU %u to GPU %u arrive wrong, the first at %u of %u: an IOMMU or PCIe "
                "access control (ACS) between them is the usual cause; turn it off, or give all ranks one "
                "GPU by CUDA_VISIBLE_DEVICES",
                from, to, i, TEST_N);
            return false;
        }
    return true;
}

/* A copy, and the same added to it. */
static bool try_pair(const struct peers *p, const float *memory, uint32_t from, float *to,
                     const struct site *s, float *host, GError **error)
{
    float *received = to + TEST_N, *staging = to + 2 * (size_t)TEST_N;
    return site_check(s, "cudaSetDevice", cudaSetDevice((int)s->device), error) &&
           peers_copy(s, memory, from, received, TEST_BYTES, error) &&
           peers_add(s, memory, from, received, TEST_BYTES, peers_direct(p, s->device, from) ? NULL : staging,
                     error) &&
           site_check(s, "cudaMemcpyAsync",
                      cudaMemcpyAsync(host, received, TEST_BYTES, cudaMemcpyDeviceToHost, s->stream),
                      error) &&
           site_check(s, "cudaStreamSynchronize", cudaStreamSynchronize(s->stream), error) &&
           compare(host, from, s->device, error);
}

static bool try_pairs(const struct peers *p, const struct site *sites, float **memory, GError **error)
{
    g_autofree float *host = g_new(float, TEST_N);
    for (uint32_t i = 0; i < p->n; i++)
        if (sites[i].k && !fill(&sites[i], &memory[i], host, error))
            return false;
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t j = 0; j < p->n; j++)
            if (sites[i].k && sites[j].k && !try_pair(p, memory[i], i, memory[j], &sites[j], host, error))
                return false;
    return true;
}

bool peers_check(const struct peers *p, const struct site *sites, GError **error)
{
    g_autofree float **memory = g_new0(float *, p->n);
    bool ok = try_pairs(p, sites, memory, error);
    for (uint32_t i = 0; i < p->n; i++)
        if (memory[i])
            ok = site_check(&sites[i], "cudaFree", cudaFree(memory[i]), ok ? error : NULL) && ok;
    return ok;
}
