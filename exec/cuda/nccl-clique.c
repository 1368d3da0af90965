#include "exec/cuda/nccl-clique.h"

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

/* --- joining and leaving */

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
        if (c->max_ctas)
            config.maxCTAs = c->max_ctas;
        if ((status = cudaSetDevice((int)c->device[i])) ||
            (one = ncclCommInitRankConfig(&c->comms[i], (int)c->n, id, (int)i, &config)))
            break;
    }
    result = ncclGroupEnd();
    if (status)
        return cuda_fail(error, "cudaSetDevice", status, c->rank[i], c->device[i]);
    if (one)
        return nccl_fail(error, "ncclCommInitRankConfig", one, c->rank[i], c->device[i]);
    return !result || nccl_fail(error, "ncclGroupEnd of ncclCommInitRankConfig", result, OP_NONE, OP_NONE);
}

void clique_abort(const struct clique *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->comms[i]) {
            ncclCommAbort(c->comms[i]);
            c->comms[i] = NULL;
        }
}

void clique_destroy(const struct clique *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->comms[i]) {
            ncclCommDestroy(c->comms[i]);
            c->comms[i] = NULL;
        }
}

static bool poll_member(const struct clique *c, uint32_t i, GError **error)
{
    ncclResult_t state = ncclSuccess, result = ncclCommGetAsyncError(c->comms[i], &state);
    if (result)
        return nccl_fail(error, "ncclCommGetAsyncError", result, c->rank[i], c->device[i]);
    return state == ncclSuccess || state == ncclInProgress ||
           nccl_fail(error, "a collective", state, c->rank[i], c->device[i]);
}

bool clique_poll(const struct clique *c, GError **error)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->comms[i] && !poll_member(c, i, error))
            return false;
    return true;
}

/* --- gangs from one thread */

/* What hangs would hang a cudaStreamSynchronize without a word. */
static bool wait_for(const struct clique *c, uint32_t i, unsigned kind, double timeout_s, GError **error)
{
    const int64_t until_us =
        timeout_s > 0 ? g_get_monotonic_time() + (int64_t)(timeout_s * G_USEC_PER_SEC) : INT64_MAX;
    cudaError_t status;
    while ((status = cudaStreamQuery(c->streams[i])) == cudaErrorNotReady) {
        if (!poll_member(c, i, error))
            return false;
        if (g_get_monotonic_time() > until_us) {
            char seconds[G_ASCII_DTOSTR_BUF_SIZE];
            g_ascii_formatd(seconds, sizeof seconds, "%.6g", timeout_s);
            g_set_error(error, engine_error_quark(), ENGINE_ERROR_FAILED,
                        "rank %u on GPU %u: the first %s by NCCL does not end within %s s; an IOMMU or PCIe "
                        "access control (ACS) between the GPUs is a usual cause: NCCL_P2P_DISABLE=1 goes "
                        "around it, NCCL_DEBUG=INFO tells more",
                        c->rank[i], c->device[i], op_label(kind), seconds);
            return false;
        }
        g_usleep(200);
    }
    return !status || cuda_fail(error, "cudaStreamQuery", status, c->rank[i], c->device[i]);
}

static bool issue_all(const struct clique *c, const struct gang_part *parts, ncclSimInfo_t *estimate,
                      GError **error)
{
    const char *call = NULL;
    ncclResult_t one = ncclSuccess, result = ncclGroupStart();
    uint32_t i = 0;
    if (result)
        return nccl_fail(error, "ncclGroupStart", result, OP_NONE, OP_NONE);
    for (i = 0; i < c->n; i++)
        if ((one = gang_part_calls(&parts[i], c->comms[i], c->streams[i], &call)))
            break;
    result = estimate ? ncclGroupSimulateEnd(estimate) : ncclGroupEnd();
    if (one)
        return nccl_fail(error, call, one, c->rank[i], c->device[i]);
    return !result ||
           nccl_fail(error, estimate ? "ncclGroupSimulateEnd" : "ncclGroupEnd", result, OP_NONE, OP_NONE);
}

bool clique_run(const struct clique *c, const struct gang_part *parts, double timeout_s, GError **error)
{
    if (!issue_all(c, parts, NULL, error))
        return false;
    for (uint32_t i = 0; i < c->n; i++)
        if (!wait_for(c, i, parts[i].kind, timeout_s, error))
            return false;
    return true;
}

/* It is only an estimate: where NCCL gives none, there is none. */
int64_t clique_estimate(const struct clique *c, const struct gang_part *parts)
{
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    const bool known = issue_all(c, parts, &info, NULL) && info.estimatedTime > 0;
    return known ? (int64_t)((double)info.estimatedTime * 1e3) : -1;
}
