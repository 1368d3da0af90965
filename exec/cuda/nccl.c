/* Collectives by NCCL: one communicator over all ranks for each comm lane that a rank has, one group of calls
 * a member of a gang.  */
#include "exec/cuda/comm.h"

#include <string.h>

#include "exec/cuda/nccl-clique.h"
#include "profile/facts.h"

#define LEAVE_SECONDS 2

struct comm_nccl {
    struct comm_gpu_spec spec;
    uint32_t n_channels;
    ncclComm_t *comms; /* [channel * n_ranks + rank] */
    uint32_t *channel; /* by lane; OP_NONE: has no gang of ours */
    atomic_int inside; /* threads that are in a call of NCCL */
    uint32_t n_sizes, n_pieces;
    uint64_t *sizes, *pieces; /* bytes of the plan's all-reduces, and of its broadcasts' pieces; ascending */
    int64_t *estimate_ns;     /* by size; -1: NCCL does not say */
};

/* --- whether */

char *comm_nccl_version(GError **error)
{
    int version = 0;
    nccl_quiet();
    ncclResult_t result = ncclGetVersion(&version);
    if (result) {
        nccl_fail(error, "ncclGetVersion", result, OP_NONE, OP_NONE);
        return NULL;
    }
    return g_strdup_printf("%d.%d.%d", version / 10000, version % 10000 / 100, version % 100);
}

bool comm_nccl_wanted(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->n_ops; i++)
        if (plan->ops[i].tag.kind == OP_ALLREDUCE)
            return true;
    return false;
}

bool comm_nccl_allows(const uint32_t *device, uint32_t n_ranks, GError **error)
{
    const char *blocking = g_getenv("CUDA_LAUNCH_BLOCKING");
    if (n_ranks > 1 && blocking && strcmp(blocking, "0")) {
        g_set_error_literal(
            error, engine_error_quark(), ENGINE_ERROR_UNAVAILABLE,
            "CUDA_LAUNCH_BLOCKING makes a rank's launch wait for kernels of NCCL that wait for other "
            "ranks; unset it");
        return false;
    }
    for (uint32_t i = 0; i < n_ranks; i++)
        for (uint32_t j = 0; j < i; j++)
            if (device[i] == device[j]) {
                uint32_t visible = cuda_devices();
                g_set_error(error, engine_error_quark(), ENGINE_ERROR_UNAVAILABLE,
                            "with NCCL %u ranks need %u GPUs; %u visible, and ranks %u and %u would share "
                            "GPU %u: give "
                            "--ranks %u, or --allreduce ring, which lets ranks share",
                            n_ranks, n_ranks, visible, j, i, device[i], MAX(visible, 1));
                return false;
            }
    return true;
}

/* --- opening */

static bool is_ours(unsigned kind)
{
    return kind == OP_ALLREDUCE || kind == OP_BROADCAST;
}

/* The number of a lane among the comm lanes of its rank that are no channel to one peer. */
static uint32_t number_lane(const struct plan *plan, uint32_t lane)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < lane; i++)
        number += plan->t.lanes[i].rank == plan->t.lanes[lane].rank && plan->t.lanes[i].cls == LANE_COMM &&
                  plan->t.lanes[i].peer == OP_NONE;
    return number;
}

static bool read_gang(struct comm_nccl *comm, const struct gang *gang, GError **error)
{
    const struct plan *plan = comm->spec.plan;
    uint32_t first = plan->gang_ops[gang->first];
    uint32_t channel = number_lane(plan, plan->ops[first].lane);
    for (uint32_t i = gang->first; i < gang->first + gang->n; i++) {
        uint32_t lane = plan->ops[plan->gang_ops[i]].lane;
        if (gang->n == plan->t.n_ranks && number_lane(plan, lane) == channel) {
            comm->channel[lane] = channel;
            continue;
        }
        g_autofree char *text = plan_op_text(plan, plan->gang_ops[i]);
        g_set_error(
            error, engine_error_quark(), ENGINE_ERROR_FAILED,
            "%s has %u members on lanes of their own, of %u ranks; NCCL is used over all ranks at once", text,
            gang->n, plan->t.n_ranks);
        return false;
    }
    comm->n_channels = MAX(comm->n_channels, channel + 1);
    return true;
}

static int compare_sizes(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Bytes of the accesses of all ops of a kind, each size once. */
static uint64_t *find_sizes(const struct plan *plan, unsigned kind, uint32_t *n)
{
    uint64_t *sizes = g_new(uint64_t, (gsize)plan->n_accesses + 1);
    uint32_t all = 0;
    for (uint32_t i = 0; i < plan->n_ops; i++)
        for (uint32_t a = plan->ops[i].first_access;
             plan->ops[i].tag.kind == kind && a < plan->ops[i + 1].first_access; a++)
            sizes[all++] = plan->values[plan->accesses[a].value].bytes;
    qsort(sizes, all, sizeof *sizes, compare_sizes);
    *n = 0;
    for (uint32_t i = 0; i < all; i++)
        if (!*n || sizes[*n - 1] != sizes[i])
            sizes[(*n)++] = sizes[i];
    return sizes;
}

static struct comm_nccl *create(const struct comm_gpu_spec *spec)
{
    const struct plan *plan = spec->plan;
    struct comm_nccl *comm = g_new0(struct comm_nccl, 1);
    comm->spec = *spec;
    comm->channel = g_new(uint32_t, plan->t.n_lanes);
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        comm->channel[i] = OP_NONE;
    comm->sizes = find_sizes(plan, OP_ALLREDUCE, &comm->n_sizes);
    comm->pieces = find_sizes(plan, OP_BROADCAST, &comm->n_pieces);
    comm->estimate_ns = g_new(int64_t, (gsize)comm->n_sizes + 1);
    for (uint32_t i = 0; i < comm->n_sizes; i++)
        comm->estimate_ns[i] = -1;
    return comm;
}

static bool join_all(struct comm_nccl *comm, GError **error)
{
    const struct plan *plan = comm->spec.plan;
    for (uint32_t g = 0; g < plan->n_gangs; g++)
        if (plan->gangs[g].n && is_ours(plan->ops[plan->gang_ops[plan->gangs[g].first]].tag.kind) &&
            !read_gang(comm, &plan->gangs[g], error))
            return false;
    comm->comms = g_new0(ncclComm_t, (gsize)comm->n_channels * plan->t.n_ranks + 1);
    for (uint32_t i = 0; i < comm->n_channels; i++) {
        const struct clique c = {.n = plan->t.n_ranks,
                                 .device = comm->spec.device,
                                 .comms = comm->comms + (size_t)i * plan->t.n_ranks};
        if (!clique_join(&c, error)) {
            clique_abort(comm->comms, comm->n_channels * plan->t.n_ranks);
            return false;
        }
    }
    return true;
}

struct comm_nccl *comm_nccl_open(const struct comm_gpu_spec *spec, GError **error)
{
    int current = 0;
    cudaError_t status;
    if (!comm_nccl_allows(spec->device, spec->plan->t.n_ranks, error))
        return NULL;
    nccl_quiet();
    if ((status = cudaGetDevice(&current))) {
        cuda_fail(error, "cudaGetDevice", status, OP_NONE, OP_NONE);
        return NULL;
    }
    struct comm_nccl *comm = create(spec);
    if (!join_all(comm, error)) {
        comm_nccl_close(comm);
        comm = NULL;
    }
    cudaSetDevice(current);
    return comm;
}

/* --- checking */

static bool try_sizes(struct comm_nccl *comm, const struct clique *c, GError **error)
{
    for (uint32_t i = 0; i < comm->n_pieces; i++)
        if (!clique_together(c, OP_BROADCAST, comm->pieces[i], NULL, error))
            return false;
    for (uint32_t i = 0; i < comm->n_sizes; i++)
        if (!clique_together(c, OP_ALLREDUCE, comm->sizes[i], NULL, error))
            return false;
    return clique_wait(c, error) &&
           (!comm->n_sizes || clique_sum(c, comm->sizes[comm->n_sizes - 1] / sizeof(float), error));
}

/* It is only an estimate: where NCCL gives none, there is none. */
static void estimate(struct comm_nccl *comm, const struct clique *c)
{
    for (uint32_t i = 0; i < comm->n_sizes; i++) {
        ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
        if (clique_together(c, OP_ALLREDUCE, comm->sizes[i], &info, NULL) && info.estimatedTime > 0)
            comm->estimate_ns[i] = (int64_t)((double)info.estimatedTime * 1e3);
    }
}

static uint64_t largest(const struct comm_nccl *comm)
{
    uint64_t bytes = sizeof(float);
    if (comm->n_sizes)
        bytes = MAX(bytes, comm->sizes[comm->n_sizes - 1]);
    return comm->n_pieces ? MAX(bytes, comm->pieces[comm->n_pieces - 1]) : bytes;
}

static void find_streams(const struct comm_nccl *comm, uint32_t channel, cudaStream_t *streams)
{
    const struct plan *plan = comm->spec.plan;
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        if (comm->channel[i] == channel)
            streams[plan->t.lanes[i].rank] = k_cuda_raw(comm->spec.streams[i]);
}

bool comm_nccl_check(struct comm_nccl *comm, GError **error)
{
    const uint32_t n = comm->spec.plan->t.n_ranks;
    g_autofree cudaStream_t *streams = g_new0(cudaStream_t, n);
    int current = 0;
    bool ok = true;
    cudaError_t status = cudaGetDevice(&current);
    if (status)
        return cuda_fail(error, "cudaGetDevice", status, OP_NONE, OP_NONE);
    for (uint32_t i = 0; i < comm->n_channels && ok; i++) {
        g_autofree float **buffers = g_new0(float *, n);
        const struct clique c = {n,       comm->spec.device, comm->comms + (size_t)i * n,
                                 streams, buffers,           comm->spec.timeout_s};
        find_streams(comm, i, streams);
        ok = clique_allocate(&c, largest(comm), error) && try_sizes(comm, &c, error);
        if (ok && i == 0)
            estimate(comm, &c);
        if (!ok)
            clique_abort(c.comms, n); /* or to free the buffers would wait for what hangs */
        ok = clique_release(&c, ok ? error : NULL) && ok;
    }
    cudaSetDevice(current);
    return ok;
}

/* --- running */

static bool issue(const struct comm_nccl *comm, uint32_t op, void *const *mem, GError **error)
{
    const struct plan *plan = comm->spec.plan;
    const struct op *o = &plan->ops[op];
    uint32_t rank = plan->t.lanes[o->lane].rank, device = comm->spec.device[rank];
    uint32_t root = plan->t.lanes[plan->ops[plan->gang_ops[plan->gangs[o->tag.gang].first]].lane].rank;
    ncclComm_t communicator = comm->comms[(size_t)comm->channel[o->lane] * plan->t.n_ranks + rank];
    ncclResult_t one = ncclSuccess, result = ncclGroupStart();
    if (result)
        return nccl_fail(error, "ncclGroupStart", result, rank, device);
    for (uint32_t i = 0; i < o[1].first_access - o->first_access && !one; i++)
        one = clique_call(o->tag.kind, mem[i], plan->values[plan->accesses[o->first_access + i].value].bytes,
                          root, communicator, k_cuda_raw(comm->spec.streams[o->lane]));
    result = ncclGroupEnd();
    if (one)
        return nccl_fail(error, clique_call_name(o->tag.kind), one, rank, device);
    return !result || nccl_fail(error, "ncclGroupEnd", result, rank, device);
}

bool comm_nccl_gang(struct comm_nccl *comm, uint32_t op, void *const *mem, GError **error)
{
    atomic_fetch_add(&comm->inside, 1); /* before the look at stop, so that abort sees us or we see it */
    bool ok = !atomic_load(comm->spec.stop) && issue(comm, op, mem, error);
    atomic_fetch_sub(&comm->inside, 1);
    return ok;
}

bool comm_nccl_poll(struct comm_nccl *comm, GError **error)
{
    const uint32_t n = comm->spec.plan->t.n_ranks;
    for (uint32_t i = 0; i < comm->n_channels * n; i++)
        if (comm->comms[i] && !clique_poll(comm->comms[i], i % n, comm->spec.device[i % n], error))
            return false;
    return true;
}

void comm_nccl_facts(const struct comm_nccl *comm, struct trace *trace)
{
    const struct plan *plan = comm->spec.plan;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const struct op *o = &plan->ops[i];
        if (o->tag.kind != OP_ALLREDUCE || o->tag.bucket == OP_NONE)
            continue;
        uint64_t bytes = plan->values[plan->accesses[o->first_access].value].bytes;
        const uint64_t *size =
            bsearch(&bytes, comm->sizes, comm->n_sizes, sizeof *comm->sizes, compare_sizes);
        int64_t ns = size ? comm->estimate_ns[size - comm->sizes] : -1;
        g_autofree char *key = g_strdup_printf(FACT_NCCL_ESTIMATE_NS, o->tag.bucket);
        g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, ns);
        if (ns >= 0)
            trace_fact_text(trace, key, text);
    }
}

/* --- the end */

bool comm_nccl_abort(struct comm_nccl *comm)
{
    int64_t until_us = g_get_monotonic_time() + LEAVE_SECONDS * G_USEC_PER_SEC;
    while (atomic_load(&comm->inside)) { /* a communicator must not go from under a thread that is in it */
        if (g_get_monotonic_time() > until_us)
            return false;
        g_usleep(200);
    }
    clique_abort(comm->comms, comm->n_channels * comm->spec.plan->t.n_ranks);
    return true;
}

void comm_nccl_close(struct comm_nccl *comm)
{
    if (!comm)
        return;
    if (comm->comms)
        clique_destroy(comm->comms, comm->n_channels * comm->spec.plan->t.n_ranks);
    g_free(comm->comms);
    g_free(comm->channel);
    g_free(comm->sizes);
    g_free(comm->pieces);
    g_free(comm->estimate_ns);
    g_free(comm);
}
