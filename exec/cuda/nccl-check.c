/* Whether what NCCL moves and adds up arrives right: for a run's first gangs, and for doctor. */
#include <string.h>

#include "exec/cuda/nccl-clique.h"

/* Doctor's patience: it is mostly a matter of a second. */
#define TRY_S 60
/* Streams after an abort. */
#define REST_S    1
#define TRY_ELEMS 1021

/* Whole, and small enough that any sum of them is exact. */
static float number(uint32_t member, uint32_t piece, uint64_t i)
{
    return (float)((member + 1) * (i % 97) + piece % 89);
}

static void fill(float *host, uint32_t member, uint32_t piece, uint64_t bytes)
{
    for (uint64_t i = 0; i * sizeof *host < bytes; i++)
        host[i] = number(member, piece, i);
}

static void expect(float *host, const struct gang_part *part, uint32_t from, uint32_t piece, uint64_t bytes)
{
    fill(host, from == OP_NONE ? 0 : from, piece, bytes);
    for (uint32_t m = 1; from == OP_NONE && m < part->n; m++)
        for (uint64_t i = 0; i * sizeof *host < bytes; i++)
            host[i] += number(m, piece, i);
}

static bool cuda_ok(const struct clique *c, uint32_t member, const char *what, cudaError_t status,
                    GError **error)
{
    return !status || cuda_fail(error, what, status, c->rank[member], c->device[member]);
}

/* Nothing is on the stream but this. */
static bool copy(const struct clique *c, uint32_t member, void *to, const void *from, uint64_t bytes,
                 enum cudaMemcpyKind kind, GError **error)
{
    return cuda_ok(c, member, "cudaMemcpyAsync", cudaMemcpyAsync(to, from, bytes, kind, c->streams[member]),
                   error) &&
           cuda_ok(c, member, "cudaStreamSynchronize", cudaStreamSynchronize(c->streams[member]), error);
}

static bool place(const struct clique *c, const struct gang_part *part, float *host, GError **error)
{
    for (uint32_t i = 0; i < part->n_pieces; i++) {
        fill(host, part->member, i, part->bytes[i]);
        if (!copy(c, part->member, part->mem[i], host, part->bytes[i], cudaMemcpyHostToDevice, error))
            return false;
    }
    return true;
}

static bool compare(const struct clique *c, const struct gang_part *part, float *host, float *want,
                    GError **error)
{
    for (uint32_t i = 0; i < part->n_pieces; i++) {
        const uint32_t m = part->member;
        uint32_t from, piece;
        if (!gang_part_receives(part, i, &from, &piece))
            continue;
        if (!copy(c, m, host, part->mem[i], part->bytes[i], cudaMemcpyDeviceToHost, error))
            return false;
        expect(want, part, from, piece, part->bytes[i]);
        if (memcmp(host, want, part->bytes[i])) {
            g_set_error(
                error, engine_error_quark(), ENGINE_ERROR_FAILED,
                "rank %u on GPU %u: known numbers come out of the %s by NCCL wrong, in %" G_GUINT64_FORMAT
                " bytes; NCCL_P2P_DISABLE=1 goes around broken peer copies",
                c->rank[m], c->device[m], op_label(part->kind), part->bytes[i]);
            return false;
        }
    }
    return true;
}

static uint64_t largest_piece(const struct gang_part *parts, uint32_t n)
{
    uint64_t bytes = 0;
    for (uint32_t m = 0; m < n; m++)
        for (uint32_t i = 0; i < parts[m].n_pieces; i++)
            bytes = MAX(bytes, parts[m].bytes[i]);
    return bytes;
}

bool clique_prove(const struct clique *c, const struct gang_part *parts, double timeout_s, GError **error)
{
    const uint64_t elems = largest_piece(parts, c->n) / sizeof(float) + 1;
    g_autofree float *host = g_try_new(float, elems), *want = g_try_new(float, elems);
    bool ok = host && want;
    if (!ok)
        g_set_error(error, engine_error_quark(), ENGINE_ERROR_FAILED,
                    "no memory on the host for twice %" G_GUINT64_FORMAT " numbers to check NCCL with",
                    elems);
    for (uint32_t m = 0; m < c->n && ok; m++)
        ok = cuda_ok(c, m, "cudaSetDevice", cudaSetDevice((int)c->device[m]), error) &&
             place(c, &parts[m], host, error);
    ok = ok && clique_run(c, parts, timeout_s, error);
    for (uint32_t m = 0; m < c->n && ok; m++)
        ok = cuda_ok(c, m, "cudaSetDevice", cudaSetDevice((int)c->device[m]), error) &&
             compare(c, &parts[m], host, want, error);
    return ok;
}

/* --- doctor */

static bool allocate(const struct clique *c, void **buffers, GError **error)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (!cuda_ok(c, i, "cudaSetDevice", cudaSetDevice((int)c->device[i]), error) ||
            !cuda_ok(c, i, "cudaStreamCreateWithFlags",
                     cudaStreamCreateWithFlags(&c->streams[i], cudaStreamNonBlocking), error) ||
            !cuda_ok(c, i, "cudaMalloc", cudaMalloc(&buffers[i], TRY_ELEMS * sizeof(float)), error))
            return false;
    return true;
}

static bool comes_to_rest(cudaStream_t stream)
{
    const int64_t until_us = g_get_monotonic_time() + REST_S * G_USEC_PER_SEC;
    while (cudaStreamQuery(stream) == cudaErrorNotReady) {
        if (g_get_monotonic_time() > until_us)
            return false;
        g_usleep(200);
    }
    return true;
}

/* Where a stream does not come to rest the buffers stay, for to free them would hang. */
static bool release(const struct clique *c, void **buffers, GError **error)
{
    bool ok = true, rest = true;
    for (uint32_t i = 0; i < c->n && rest; i++)
        rest = !buffers[i] || comes_to_rest(c->streams[i]);
    for (uint32_t i = 0; i < c->n && rest; i++)
        if (buffers[i])
            ok = cuda_ok(c, i, "cudaFree", cudaFree(buffers[i]), ok ? error : NULL) && ok;
    for (uint32_t i = 0; i < c->n; i++)
        if (c->streams[i])
            cudaStreamDestroy(c->streams[i]);
    return ok;
}

bool comm_nccl_try(uint32_t n, GError **error)
{
    g_autofree uint32_t *device = g_new(uint32_t, n);
    g_autofree ncclComm_t *comms = g_new0(ncclComm_t, n);
    g_autofree cudaStream_t *streams = g_new0(cudaStream_t, n);
    g_autofree void **buffers = g_new0(void *, n);
    g_autofree struct gang_part *parts = g_new(struct gang_part, n);
    const struct clique c = {.n = n, .rank = device, .device = device, .comms = comms, .streams = streams};
    const uint64_t bytes = TRY_ELEMS * sizeof(float);
    nccl_quiet();
    for (uint32_t i = 0; i < n; i++) {
        device[i] = i;
        parts[i] = (struct gang_part){
            .kind = OP_ALLREDUCE, .member = i, .n = n, .n_pieces = 1, .mem = &buffers[i], .bytes = &bytes};
    }
    bool ok = comm_nccl_allows(device, n, error) && allocate(&c, buffers, error) && clique_join(&c, error) &&
              clique_prove(&c, parts, TRY_S, error);
    if (ok)
        clique_destroy(&c);
    else
        clique_abort(&c); /* something of it may hang */
    return release(&c, buffers, ok ? error : NULL) && ok;
}
