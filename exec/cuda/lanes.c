#include <cublas_v2.h>

#include "exec/cuda/run.h"

/* --- streams */

/* Which call of k_cuda_open has failed. */
static const char *open_call(int status)
{
    return status < K_CUDA_BLAS ? "cudaMalloc" : "cublasCreate";
}

static bool open_stream(struct cuda *c, uint32_t id, GError **error)
{
    const struct lane *lane = &c->plan->t.lanes[id];
    struct gpu_lane *l = &c->lanes[id];
    const struct sm_split *split = c->devices[c->ranks[lane->rank].device].split;
    int lowest = 0, highest = 0;
    if (!cuda_use(c, lane->rank, error) || !cuda_ok(c, cudaDeviceGetStreamPriorityRange(&lowest, &highest),
                                                    "cudaDeviceGetStreamPriorityRange", lane->rank, error))
        return false;
    const int priority = lane->cls == LANE_COMM ? highest : lowest;
    if (split ? !cuda_ok(c, sm_split_stream(split, c->ranks[lane->rank].share, priority, &l->stream),
                         "cuGreenCtxStreamCreate", lane->rank, error)
              : !cuda_ok(c, cudaStreamCreateWithPriority(&l->stream, cudaStreamNonBlocking, priority),
                         "cudaStreamCreateWithPriority", lane->rank, error))
        return false;
    const int status = k_cuda_open(l->stream, c->run->model->dtype == DTYPE_TF32, &l->kernels);
    if (!cuda_ok(c, status, open_call(status), lane->rank, error))
        return false;
    c->streams[id] = l->kernels;
    return true;
}

/* --- green contexts, tried before they are trusted */

struct trial {
    cudaStream_t stream;
    cudaEvent_t event;
    struct k_cuda_stream *kernels;
};

/* What a lane does, on streams of green contexts, with memory, events and a cuBLAS handle of the device's own
 * context. */
static int try_part(const struct sm_split *split, float *memory, struct trial *t, const char **call)
{
    int status = sm_split_stream(split, 0, 0, &t->stream);
    *call = "cuGreenCtxStreamCreate";
    if (!status && (status = cudaEventCreateWithFlags(&t->event, cudaEventDisableTiming)))
        *call = "cudaEventCreateWithFlags";
    if (!status && (status = k_cuda_open(t->stream, 0, &t->kernels)))
        *call = open_call(status);
    if (!status && (status = k_cuda_f32.zero(t->kernels, 1, memory)))
        *call = "cudaLaunchKernel";
    if (!status &&
        (status = k_cuda_f32.gemm(t->kernels, 0, 0, 1, 1, 1, 1, memory, 1, memory, 1, 0, memory, 1)))
        *call = "cuBLAS";
    if (!status && (status = cudaEventRecord(t->event, t->stream)))
        *call = "cudaEventRecord";
    if (!status && (status = cudaStreamSynchronize(t->stream)))
        *call = "cudaStreamSynchronize";
    return status;
}

/* Of what a driver does not let such streams do; other errors are nobody's choice. */
static bool is_refusal(int status)
{
    return status == cudaErrorInvalidValue || status == cudaErrorInvalidResourceHandle ||
           status == cudaErrorNotPermitted || status == cudaErrorNotSupported ||
           status == cudaErrorInvalidDeviceFunction ||
           status == K_CUDA_BLAS + CUBLAS_STATUS_NOT_INITIALIZED ||
           status == K_CUDA_BLAS + CUBLAS_STATUS_INVALID_VALUE ||
           status == K_CUDA_BLAS + CUBLAS_STATUS_NOT_SUPPORTED;
}

/* Where it is refused the device is not split, and ranks take turns.  Its first rank, whose device is
 * current. */
static bool try_split(struct cuda *c, uint32_t rank, GError **error)
{
    struct gpu_device *device = &c->devices[c->ranks[rank].device];
    struct trial t = {0};
    const char *call = NULL;
    if (!device->split || c->plan->arena_bytes[rank] < sizeof(float))
        return true;
    int status = try_part(device->split, (float *)(void *)c->ranks[rank].arena, &t, &call);
    k_cuda_close(t.kernels);
    if (t.event)
        cudaEventDestroy(t.event);
    if (t.stream)
        cudaStreamDestroy(t.stream);
    if (status && (!t.stream || is_refusal(status))) {
        sm_split_close(g_steal_pointer(&device->split));
        cudaGetLastError(); /* or the next call that asks for the last error finds this one */
        status = 0;
    }
    return cuda_ok(c, status, call, rank, error);
}

/* Ranks that share a GPU get a part of it each, where the driver can cut it. */
static bool open_devices(struct cuda *c, GError **error)
{
    for (uint32_t i = 0; i < c->plan->t.n_ranks; i++) {
        struct gpu_device *device = &c->devices[c->ranks[i].device];
        if (c->ranks[i].share != 0)
            continue;
        cuda_enter(c, "loading kernels");
        if (!cuda_use(c, i, error) || !cuda_ok(c, k_cuda_load(), "cudaFuncGetAttributes", i, error))
            return false;
        if (device->ranks > 1)
            device->split = sm_split_open(c->ranks[i].device, device->ranks);
        if (!try_split(c, i, error))
            return false;
    }
    return true;
}

/* --- events */

static bool open_event(struct cuda *c, cudaEvent_t *event, uint32_t rank, GError **error)
{
    const unsigned flags = c->timed ? cudaEventDefault : cudaEventDisableTiming;
    return cuda_ok(c, cudaEventCreateWithFlags(event, flags), "cudaEventCreateWithFlags", rank, error);
}

static bool open_events(struct cuda *c, uint32_t lane, GError **error)
{
    struct gpu_lane *l = &c->lanes[lane];
    const uint32_t rank = c->plan->t.lanes[lane].rank;
    if (!cuda_use(c, rank, error) || (c->timed && !open_event(c, &l->base, rank, error)))
        return false;
    for (uint32_t i = 0; i < l->n_ops; i++)
        for (unsigned slot = 0; slot < EVENT_SLOTS; slot++) {
            struct gpu_op *op = &c->ops[l->ops[i]];
            if (!open_event(c, &op->end[slot], rank, error) ||
                (c->timed && !open_event(c, &op->begin[slot], rank, error)))
                return false;
        }
    return true;
}

bool cuda_records_itself(const struct cuda *c, uint32_t op)
{
    return c->timed || c->plan->ops[op].tag.gang != OP_NONE;
}

/* --- gangs */

static bool open_comm(struct cuda *c, GError **error)
{
    const struct comm_gpu_spec spec = {c->plan,           c->streams,      c->device_of_rank,
                                       c->run->link_gbps, c->run->link_us, c->run->timeout_s,
                                       &c->stop,          &c->stages};
    if (comm_nccl_wanted(c->plan, c->device_of_rank)) {
        cuda_enter(c, "the start of NCCL's communicators");
        c->nccl = comm_nccl_open(&spec, error);
        cuda_enter(c, "the first operations of NCCL");
        if (!c->nccl || !comm_nccl_check(c->nccl, c->mem, error))
            return false;
    }
    cuda_enter(c, "opening peer access between GPUs");
    c->p2p = comm_p2p_open(&spec, error);
    cuda_enter(c, "the first copies between GPUs");
    return c->p2p && comm_p2p_check(c->p2p, error);
}

/* --- the whole */

static void list_ops(struct cuda *c)
{
    const struct plan *plan = c->plan;
    for (uint32_t i = 0; i < plan->n_ops; i++)
        c->lanes[plan->ops[i].lane].n_ops++;
    for (uint32_t i = 0; i < plan->t.n_lanes; i++) {
        c->lanes[i].ops = g_new(uint32_t, c->lanes[i].n_ops);
        c->lanes[i].n_ops = 0;
    }
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        struct gpu_lane *l = &c->lanes[plan->ops[plan->order[i]].lane];
        l->ops[l->n_ops++] = plan->order[i];
    }
}

bool cuda_lanes_open(struct cuda *c, GError **error)
{
    list_ops(c);
    if (!open_devices(c, error))
        return false;
    for (uint32_t i = 0; i < c->plan->t.n_lanes; i++) {
        cuda_enter(c, "creating streams and cuBLAS handles");
        if (!open_stream(c, i, error))
            return false;
    }
    cuda_enter(c, "the kernel that CUPTI is tried with");
    cuda_times_lanes(c);
    cuda_enter(c, "creating events");
    for (uint32_t i = 0; i < c->plan->t.n_lanes; i++)
        if (!open_events(c, i, error))
            return false;
    return open_comm(c, error);
}

static void close_lane(struct cuda *c, uint32_t lane)
{
    struct gpu_lane *l = &c->lanes[lane];
    cuda_use(c, c->plan->t.lanes[lane].rank, NULL);
    for (uint32_t i = 0; i < l->n_ops; i++)
        for (unsigned slot = 0; slot < EVENT_SLOTS; slot++) {
            const struct gpu_op *op = &c->ops[l->ops[i]];
            if (op->end[slot])
                cudaEventDestroy(op->end[slot]);
            if (op->begin[slot])
                cudaEventDestroy(op->begin[slot]);
        }
    if (l->base)
        cudaEventDestroy(l->base);
    k_cuda_close(l->kernels);
    if (l->stream)
        cudaStreamDestroy(l->stream);
    g_free(l->ops);
}

void cuda_lanes_close(struct cuda *c)
{
    comm_nccl_close(c->nccl);
    comm_p2p_close(c->p2p);
    for (uint32_t i = 0; i < c->plan->t.n_lanes; i++)
        close_lane(c, i);
    for (uint32_t i = 0; i < c->n_devices; i++)
        sm_split_close(c->devices[i].split);
}
