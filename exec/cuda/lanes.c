#include "exec/cuda/run.h"

/* --- streams */

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
    if (!cuda_ok(c, k_cuda_open(l->stream, c->run->model->dtype == DTYPE_TF32, &l->kernels), "k_cuda_open",
                 lane->rank, error))
        return false;
    c->streams[id] = l->kernels;
    return true;
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
 &c->stop};
    bool whole = false;
    for (uint32_t i = 0; i < c->plan->n_ops; i++)
        whole = whole || c->plan->ops[i].tag.kind == OP_ALLREDUCE;
    if (whole) {
        cuda_enter(c, "the start of NCCL's communicators");
        c->nccl = comm_nccl_open(&spec, error);
        cuda_enter(c, "the first collectives of NCCL");
        if (!c->nccl || !comm_nccl_check(c->nccl, error))
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
