#include "exec/cuda/nccl-clique.h"

#include "exec/cuda/comm.h"

/* Doctor's patience: it is mostly a matter of a second. */
#define TRY_S 60
/* Streams after an abort. */
#define REST_S 1

bool nccl_fail(GError **error, const char *call, ncclResult_t result, uint32_t rank, uint32_t device)
{
    const char *detail = ncclGetLastError(NULL);
    g_autofree char *who =
        rank == OP_NONE ? g_strdup("all ranks") : g_strdup_printf("rank %u on GPU %u", rank, device);
    bool more = detail && *detail;
    g_set_error(error, engine_error_quark(), ENGINE_ERROR_FAILED,
                "%s: %s failed: %s (%d)%s%s%s; NCCL_DEBUG=INFO tells more", who, call,
                ncclGetErrorString(result), (int)result, more ? ", \"" : "", more ? detail : "",
                more ? "\"" : "");
    return false;
}

void nccl_quiet(void)
{
    g_setenv("NCCL_DEBUG_FILE", "/dev/stderr", FALSE);
}

/* --- calls */

bool clique_join(const struct clique *c, GError **error)
{
    ncclUniqueId id;
    ncclResult_t result = ncclGetUniqueId(&id), one = ncclSuccess;
    cudaError_t status = cudaSuccess;
    uint32_t i = 0;
    if (result)
        return nccl_fail(error, "ncclGetUniqueId", result, OP_NONE, OP_NONE);
    if ((result = ncclGroupStart()))
        return nccl_fail(error, "ncclGroupStart", result, OP_NONE, OP_NONE);
    for (i = 0; i < c->n; i++) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 1; /* else threads of NCCL launch its kernels, and no trace knows for which op */
        if ((status = cudaSetDevice((int)c->device[i])) ||
            (one = ncclCommInitRankConfig(&c->comms[i], (int)c->n, id, (int)i, &config)))
            break;
    }
    result = ncclGroupEnd();
    if (status)
        return cuda_fail(error, "cudaSetDevice", status, i, c->device[i]);
    if (one)
        return nccl_fail(error, "ncclCommInitRankConfig", one, i, c->device[i]);
    return !result || nccl_fail(error, "ncclGroupEnd of ncclCommInitRankConfig", result, OP_NONE, OP_NONE);
}

void clique_abort(ncclComm_t *comms, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (comms[i]) {
            ncclCommAbort(comms[i]);
            comms[i] = NULL;
        }
}

void clique_destroy(ncclComm_t *comms, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (comms[i]) {
            ncclCommDestroy(comms[i]);
            comms[i] = NULL;
        }
}

ncclResult_t clique_call(unsigned kind, void *buffer, uint64_t bytes, uint32_t root, ncclComm_t comm,
                         cudaStream_t stream)
{
    if (kind == OP_BROADCAST)
        return ncclBroadcast(buffer, buffer, bytes, ncclUint8, (int)root, comm, stream);
    return ncclAllReduce(buffer, buffer, bytes / sizeof(float), ncclFloat, ncclSum, comm, stream);
}

const char *clique_call_name(unsigned kind)
{
    return kind == OP_BROADCAST ? "ncclBroadcast" : "ncclAllReduce";
}

bool clique_together(const struct clique *c, unsigned kind, uint64_t bytes, ncclSimInfo_t *estimate,
                     GError **error)
{
    ncclResult_t one = ncclSuccess, result = ncclGroupStart();
    uint32_t i = 0;
    if (result)
        return nccl_fail(error, "ncclGroupStart", result, OP_NONE, OP_NONE);
    for (i = 0; i < c->n; i++)
        if ((one = clique_call(kind, c->buffers[i], bytes, 0, c->comms[i], c->streams[i])))
            break;
    result = estimate ? ncclGroupSimulateEnd(estimate) : ncclGroupEnd();
    if (one)
        return nccl_fail(error, clique_call_name(kind), one, i, c->device[i]);
    return !result ||
           nccl_fail(error, estimate ? "ncclGroupSimulateEnd" : "ncclGroupEnd", result, OP_NONE, OP_NONE);
}

bool clique_poll(ncclComm_t comm, uint32_t rank, uint32_t device, GError **error)
{
    ncclResult_t state = ncclSuccess, result = ncclCommGetAsyncError(comm, &state);
    if (result)
        return nccl_fail(error, "ncclCommGetAsyncError", result, rank, device);
    return state == ncclSuccess || state == ncclInProgress ||
           nccl_fail(error, "a collective", state, rank, device);
}

/* A collective that hangs would hang a cudaStreamSynchronize without a word. */
static bool wait_for(const struct clique *c, uint32_t rank, int64_t until_us, GError **error)
{
    cudaError_t status;
    while ((status = cudaStreamQuery(c->streams[rank])) == cudaErrorNotReady) {
        if (!clique_poll(c->comms[rank], rank, c->device[rank], error))
            return false;
        if (g_get_monotonic_time() > until_us) {
            char seconds[G_ASCII_DTOSTR_BUF_SIZE];
            g_ascii_formatd(seconds, sizeof seconds, "%.6g", c->timeout_s);
            g_set_error(error, engine_error_quark(), ENGINE_ERROR_FAILED,
                        "rank %u on GPU %u: a first collective of NCCL does not end within %s s; an IOMMU or "
                        "PCIe access "
                        "control (ACS) between the GPUs is a usual cause: NCCL_P2P_DISABLE=1 goes around it, "
                        "NCCL_DEBUG=INFO tells more",
                        rank, c->device[rank], seconds);
            return false;
        }
        g_usleep(200);
    }
    return !status || cuda_fail(error, "cudaStreamQuery", status, rank, c->device[rank]);
}

bool clique_wait(const struct clique *c, GError **error)
{
    const int64_t until_us =
        c->timeout_s > 0 ? g_get_monotonic_time() + (int64_t)(c->timeout_s * G_USEC_PER_SEC) : INT64_MAX;
    for (uint32_t i = 0; i < c->n; i++)
        if (!wait_for(c, i, until_us, error))
            return false;
    return true;
}

/* --- checking */

static float number(uint32_t rank, uint64_t i)
{
    return (float)((rank + 1) * (i % 97));
}

static bool cuda_ok(const struct clique *c, uint32_t rank, const char *what, cudaError_t status,
                    GError **error)
{
    return !status || cuda_fail(error, what, status, rank, c->device[rank]);
}

bool clique_allocate(const struct clique *c, uint64_t bytes, GError **error)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (!cuda_ok(c, i, "cudaSetDevice", cudaSetDevice((int)c->device[i]), error) ||
            !cuda_ok(c, i, "cudaMalloc", cudaMalloc((void **)&c->buffers[i], bytes), error) ||
            !cuda_ok(c, i, "cudaMemsetAsync", cudaMemsetAsync(c->buffers[i], 0, bytes, c->streams[i]), error))
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

bool clique_release(const struct clique *c, GError **error)
{
    bool ok = true, rest = true;
    for (uint32_t i = 0; i < c->n && rest; i++)
        rest = !c->buffers[i] || comes_to_rest(c->streams[i]);
    for (uint32_t i = 0; i < c->n && rest; i++)
        if (c->buffers[i])
            ok = cuda_ok(c, i, "cudaFree", cudaFree(c->buffers[i]), ok ? error : NULL) && ok;
    return ok;
}

static bool fill(const struct clique *c, float *host, uint64_t elems, GError **error)
{
    for (uint32_t i = 0; i < c->n; i++) {
        for (uint64_t j = 0; j < elems; j++)
            host[j] = number(i, j);
        if (!cuda_ok(c, i, "cudaSetDevice", cudaSetDevice((int)c->device[i]), error) ||
            !cuda_ok(c, i, "cudaMemcpyAsync",
                     cudaMemcpyAsync(c->buffers[i], host, elems * sizeof *host, cudaMemcpyHostToDevice,
                                     c->streams[i]),
                     error) ||
            !wait_for(c, i, INT64_MAX, error)) /* the next rank's numbers take the same memory */
            return false;
    }
    return true;
}

static bool compare(const struct clique *c, float *host, uint64_t elems, GError **error)
{
    const float ranks = (float)(c->n * (c->n + 1) / 2);
    for (uint32_t i = 0; i < c->n; i++) {
        if (!cuda_ok(c, i, "cudaSetDevice", cudaSetDevice((int)c->device[i]), error) ||
            !cuda_ok(c, i, "cudaMemcpyAsync",
                     cudaMemcpyAsync(host, c->buffers[i], elems * sizeof *host, cudaMemcpyDeviceToHost,
                                     c->streams[i]),
                     error) ||
            !wait_for(c, i, INT64_MAX, error))
            return false;
        for (uint64_t j = 0; j < elems; j++)
            if (host[j] != ranks * number(0, j)) {
                g_set_error(error, engine_error_quark(), ENGINE_ERROR_FAILED,
                            "rank %u on GPU %u: an all-reduce of known numbers by NCCL is wrong, first at "
                            "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                            "; NCCL_P2P_DISABLE=1 goes around broken peer copies",
                            i, c->device[i], j, elems);
                return false;
            }
    }
    return true;
}

bool clique_sum(const struct clique *c, uint64_t elems, GError **error)
{
    g_autofree float *host = g_try_new(float, MAX(elems, 1));
    if (!host) {
        g_set_error(error, engine_error_quark(), ENGINE_ERROR_FAILED,
                    "no memory on the host for %" G_GUINT64_FORMAT " numbers to check an all-reduce with",
                    elems);
        return false;
    }
    return fill(c, host, elems, error) &&
           clique_together(c, OP_ALLREDUCE, elems * sizeof(float), NULL, error) && clique_wait(c, error) &&
           compare(c, host, elems, error);
}

bool comm_nccl_try(uint32_t n, GError **error)
{
    g_autofree uint32_t *device = g_new(uint32_t, n);
    g_autofree ncclComm_t *comms = g_new0(ncclComm_t, n);
    g_autofree cudaStream_t *streams = g_new0(cudaStream_t, n);
    g_autofree float **buffers = g_new0(float *, n);
    const struct clique c = {n, device, comms, streams, buffers, TRY_S};
    const uint64_t elems = 1021;
    bool ok = true;
    nccl_quiet();
    for (uint32_t i = 0; i < n; i++)
        device[i] = i;
    for (uint32_t i = 0; i < n && ok; i++)
        ok = cuda_ok(&c, i, "cudaSetDevice", cudaSetDevice((int)i), error) &&
             cuda_ok(&c, i, "cudaStreamCreateWithFlags",
                     cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking), error);
    ok = ok && comm_nccl_allows(device, n, error) && clique_join(&c, error) &&
         clique_allocate(&c, elems * sizeof(float), error) && clique_sum(&c, elems, error);
    if (ok)
        clique_destroy(comms, n);
    else
        clique_abort(comms, n); /* something of it may hang */
    ok = clique_release(&c, ok ? error : NULL) && ok;
    for (uint32_t i = 0; i < n; i++)
        if (streams[i])
            cudaStreamDestroy(streams[i]);
    return ok;
}
