/* Gangs by NCCL: a communicator for each list of lanes that meet in gangs, one group of calls a member. */
#include "exec/cuda/comm.h"

#include <string.h>

#include "exec/cuda/nccl-clique.h"
#include "profile/facts.h"

#define LEAVE_SECONDS 2
/* NCCL's most, which it takes for itself. */
#define CTAS_MAX 32

struct comm_nccl {
    struct comm_gpu_spec spec;
    uint32_t n_cliques;
    struct clique *cliques;
    uint32_t **lanes;      /* of each clique, by member */
    uint32_t *clique_of;   /* by gang; OP_NONE: not ours */
    uint32_t *first_alike; /* by gang of ours: the first of its clique that is the same calls */
    int64_t *estimate_ns;  /* by gang that is first_alike; -1: NCCL does not say */
    uint64_t *bytes;       /* by access */
    atomic_int inside;     /* threads that are in a call of NCCL */
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

static uint32_t lane_of(const struct plan *plan, const struct gang *gang, uint32_t member)
{
    return plan->ops[plan->gang_ops[gang->first + member]].lane;
}

static bool has_lanes(const struct comm_nccl *comm, uint32_t k, const struct gang *gang)
{
    if (comm->cliques[k].n != gang->n)
        return false;
    for (uint32_t i = 0; i < gang->n; i++)
        if (comm->lanes[k][i] != lane_of(comm->spec.plan, gang, i))
            return false;
    return true;
}

static void add_clique(struct comm_nccl *comm, const struct gang *gang)
{
    const struct plan *plan = comm->spec.plan;
    const uint32_t k = comm->n_cliques++;
    comm->cliques = g_renew(struct clique, comm->cliques, comm->n_cliques);
    comm->lanes = g_renew(uint32_t *, comm->lanes, comm->n_cliques);
    comm->lanes[k] = g_new(uint32_t, gang->n);
    struct clique *c = &comm->cliques[k];
    *c = (struct clique){.n = gang->n,
                         .rank = g_new(uint32_t, gang->n),
                         .device = g_new(uint32_t, gang->n),
                         .comms = g_new0(ncclComm_t, gang->n),
                         .streams = g_new(cudaStream_t, gang->n)};
    for (uint32_t i = 0; i < gang->n; i++) {
        const uint32_t lane = comm->lanes[k][i] = lane_of(plan, gang, i);
        c->rank[i] = plan->t.lanes[lane].rank;
        c->device[i] = comm->spec.device[c->rank[i]];
        c->streams[i] = k_cuda_raw(comm->spec.streams[lane]);
    }
}

static void read_gang(struct comm_nccl *comm, uint32_t g)
{
    const struct gang *gang = &comm->spec.plan->gangs[g];
    uint32_t k = 0;
    while (k < comm->n_cliques && !has_lanes(comm, k, gang))
        k++;
    if (k == comm->n_cliques)
        add_clique(comm, gang);
    comm->clique_of[g] = k;
}

/* Sizes are few, however many gangs there are. */
static void find_alike(struct comm_nccl *comm)
{
    const struct plan *plan = comm->spec.plan;
    g_autofree uint32_t *firsts = g_new(uint32_t, (gsize)plan->n_gangs + 1);
    uint32_t n = 0;
    for (uint32_t g = 0; g < plan->n_gangs; g++) {
        uint32_t i = 0;
        if (comm->clique_of[g] == OP_NONE)
            continue;
        while (i < n &&
               (comm->clique_of[firsts[i]] != comm->clique_of[g] || !gangs_alike(plan, firsts[i], g)))
            i++;
        if (i == n)
            firsts[n++] = g;
        comm->first_alike[g] = firsts[i];
    }
}

static struct comm_nccl *create(const struct comm_gpu_spec *spec)
{
    const struct plan *plan = spec->plan;
    struct comm_nccl *comm = g_new0(struct comm_nccl, 1);
    g_autofree bool *taken = comm_nccl_gangs(plan, spec->device);
    comm->spec = *spec;
    comm->clique_of = g_new(uint32_t, (gsize)plan->n_gangs + 1);
    comm->first_alike = g_new(uint32_t, (gsize)plan->n_gangs + 1);
    comm->estimate_ns = g_new(int64_t, (gsize)plan->n_gangs + 1);
    comm->bytes = g_new(uint64_t, (gsize)plan->n_accesses + 1);
    for (uint32_t i = 0; i < plan->n_accesses; i++)
        comm->bytes[i] = plan->values[plan->accesses[i].value].bytes;
    for (uint32_t g = 0; g < plan->n_gangs; g++) {
        comm->clique_of[g] = OP_NONE;
        comm->estimate_ns[g] = -1;
        if (taken[g])
            read_gang(comm, g);
    }
    find_alike(comm);
    return comm;
}

static bool is_channel(const struct comm_nccl *comm, uint32_t k)
{
    return comm->spec.plan->t.lanes[comm->lanes[k][0]].peer != OP_NONE;
}

/* The most channels that a rank is at an end of. */
static uint32_t channels_of_rank(const struct comm_nccl *comm)
{
    const struct plan *plan = comm->spec.plan;
    g_autofree uint32_t *n = g_new0(uint32_t, plan->t.n_ranks);
    uint32_t most = 0;
    for (uint32_t k = 0; k < comm->n_cliques; k++)
        for (uint32_t i = 0; i < comm->cliques[k].n && is_channel(comm, k); i++)
            most = MAX(most, ++n[comm->cliques[k].rank[i]]);
    return most;
}

/* A receive that is posted early holds what it runs on until its sender comes: all the channels of a rank at
 * once take half of its GPU at most.  Else a kernel that another rank waits for might never find room.  A
 * power of two, as NCCL rounds up to one. */
static bool limit_channels(struct comm_nccl *comm, GError **error)
{
    const uint32_t channels = channels_of_rank(comm);
    int ctas = CTAS_MAX;
    for (uint32_t r = 0; r < comm->spec.plan->t.n_ranks && channels; r++) {
        int processors = 0;
        const cudaError_t status =
            cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, (int)comm->spec.device[r]);
        if (status)
            return cuda_fail(error, "cudaDeviceGetAttribute", status, r, comm->spec.device[r]);
        while (ctas > 1 && (uint32_t)ctas * channels > (uint32_t)processors / 2)
            ctas /= 2;
    }
    for (uint32_t k = 0; k < comm->n_cliques; k++)
        comm->cliques[k].max_ctas = is_channel(comm, k) ? ctas : 0;
    return true;
}

/* Each takes its time. */
static void advance(const struct comm_nccl *comm)
{
    if (comm->spec.stages)
        atomic_fetch_add(comm->spec.stages, 1);
}

static void abort_all(struct comm_nccl *comm)
{
    for (uint32_t k = 0; k < comm->n_cliques; k++)
        clique_abort(&comm->cliques[k]);
}

static bool join_all(struct comm_nccl *comm, GError **error)
{
    if (!limit_channels(comm, error))
        return false;
    for (uint32_t k = 0; k < comm->n_cliques; k++) {
        if (!clique_join(&comm->cliques[k], error)) {
            abort_all(comm);
            return false;
        }
        advance(comm);
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

/* --- the first of each */

static uint64_t gang_bytes(const struct comm_nccl *comm, uint32_t g)
{
    const struct plan *plan = comm->spec.plan;
    const struct op *first = &plan->ops[plan->gang_ops[plan->gangs[g].first]];
    uint64_t bytes = 0;
    for (uint32_t a = first->first_access; a < first[1].first_access; a++)
        bytes += comm->bytes[a];
    return bytes;
}

static unsigned gang_kind(const struct comm_nccl *comm, uint32_t g)
{
    const struct plan *plan = comm->spec.plan;
    return plan->ops[plan->gang_ops[plan->gangs[g].first]].tag.kind;
}

/* Of the gangs of a clique that begin with that kind. */
static uint32_t find_largest(const struct comm_nccl *comm, uint32_t k, unsigned kind)
{
    uint32_t largest = OP_NONE;
    for (uint32_t g = 0; g < comm->spec.plan->n_gangs; g++)
        if (comm->clique_of[g] == k && comm->first_alike[g] == g && gang_kind(comm, g) == kind &&
            (largest == OP_NONE || gang_bytes(comm, g) > gang_bytes(comm, largest)))
            largest = g;
    return largest;
}

static void fill_parts(const struct comm_nccl *comm, uint32_t g, void *const *mem, struct gang_part *parts)
{
    const struct plan *plan = comm->spec.plan;
    const struct gang *gang = &plan->gangs[g];
    for (uint32_t i = 0; i < gang->n; i++) {
        const uint32_t op = plan->gang_ops[gang->first + i], at = plan->ops[op].first_access;
        parts[i] = gang_part_of(plan, op, mem + at, comm->bytes + at);
    }
}

/* NCCL connects ranks and loads kernels for what it has not done yet, which must not be while anything waits.
 */
static bool try_clique(struct comm_nccl *comm, uint32_t k, void *const *mem, GError **error)
{
    const struct clique *c = &comm->cliques[k];
    const double timeout_s = comm->spec.timeout_s;
    g_autofree struct gang_part *parts = g_new(struct gang_part, c->n);
    for (uint32_t g = 0; g < comm->spec.plan->n_gangs; g++) {
        if (comm->clique_of[g] != k || comm->first_alike[g] != g)
            continue;
        fill_parts(comm, g, mem, parts);
        if (!clique_run(c, parts, timeout_s, error))
            return false;
        if (gang_kind(comm, g) == OP_ALLREDUCE)
            comm->estimate_ns[g] = clique_estimate(c, parts);
    }
    for (unsigned kind = 0; kind < OP_KINDS; kind++) {
        const uint32_t g = find_largest(comm, k, kind);
        if (g == OP_NONE)
            continue;
        fill_parts(comm, g, mem, parts);
        if (!clique_prove(c, parts, timeout_s, error))
            return false;
    }
    return true;
}

bool comm_nccl_check(struct comm_nccl *comm, void *const *mem, GError **error)
{
    int current = 0;
    bool ok = true;
    cudaError_t status = cudaGetDevice(&current);
    if (status)
        return cuda_fail(error, "cudaGetDevice", status, OP_NONE, OP_NONE);
    for (uint32_t k = 0; k < comm->n_cliques && ok; k++) {
        ok = try_clique(comm, k, mem, error);
        advance(comm);
    }
    if (!ok)
        abort_all(comm); /* or whatever is freed would wait for what hangs */
    cudaSetDevice(current);
    return ok;
}

/* --- running */

bool comm_nccl_has(const struct comm_nccl *comm, uint32_t gang)
{
    return comm->clique_of[gang] != OP_NONE;
}

static bool issue(const struct comm_nccl *comm, uint32_t op, void *const *mem, GError **error)
{
    const struct op *o = &comm->spec.plan->ops[op];
    const struct clique *c = &comm->cliques[comm->clique_of[o->tag.gang]];
    const struct gang_part part = gang_part_of(comm->spec.plan, op, mem, comm->bytes + o->first_access);
    const char *call;
    const ncclResult_t result = gang_part_issue(&part, c->comms[part.member], c->streams[part.member], &call);
    return !result || nccl_fail(error, call, result, c->rank[part.member], c->device[part.member]);
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
    for (uint32_t k = 0; k < comm->n_cliques; k++)
        if (!clique_poll(&comm->cliques[k], error))
            return false;
    return true;
}

void comm_nccl_facts(const struct comm_nccl *comm, struct trace *trace)
{
    const struct plan *plan = comm->spec.plan;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const struct op_tag *tag = &plan->ops[i].tag;
        if (tag->kind != OP_ALLREDUCE || tag->bucket == OP_NONE)
            continue;
        const int64_t ns = comm->estimate_ns[comm->first_alike[tag->gang]];
        g_autofree char *key = g_strdup_printf(FACT_NCCL_ESTIMATE_NS, tag->bucket);
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
    abort_all(comm);
    return true;
}

void comm_nccl_close(struct comm_nccl *comm)
{
    if (!comm)
        return;
    for (uint32_t k = 0; k < comm->n_cliques; k++) {
        const struct clique *c = &comm->cliques[k];
        clique_destroy(c);
        g_free(c->rank);
        g_free(c->device);
        g_free(c->comms);
        g_free(c->streams);
        g_free(comm->lanes[k]);
    }
    g_free(comm->cliques);
    g_free(comm->lanes);
    g_free(comm->clique_of);
    g_free(comm->first_alike);
    g_free(comm->estimate_ns);
    g_free(comm->bytes);
    g_free(comm);
}
