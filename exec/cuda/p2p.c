/* Gangs by our own copies and adds.  A member pulls what it receives: its stream waits for the peer's "ready"
 * event, copies or adds, and records "done", for which all members wait, so that nobody goes on to overwrite
 * what a peer still reads.  A wait is for the latest record at the time of its call, so the members' threads
 * meet twice: when all have recorded "ready", and when all have recorded "done". */
#include "exec/cuda/comm.h"

#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "exec/cuda/peer.h"

/* A meeting mostly takes less than a thread needs to fall asleep and wake up. */
#define SPINS 20000

struct barrier {
    uint32_t arrived; /* under the meeting's lock */
    atomic_uint round;
};

struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    struct barrier begin, end;
    uint64_t transfer_ns; /* by the pace; 0: none */
};

/* What an op of a gang does.  Piece i of what it receives goes to access first + i; the peer's is its access
 * i. */
struct member {
    uint32_t op, peer; /* peer: index of members, from which it receives */
    uint32_t first, n; /* n: 0 where it receives nothing */
    bool sends, adds;
    cudaEvent_t ready, done; /* NULL where nobody waits for them */
};

/* Of a lane with gangs, on its rank's device. */
struct lane_memory {
    bool used;
    uint64_t staging_bytes;
    void *staging;  /* where a peer's memory is brought before it is added, if it cannot be read in place */
    uint64_t *mark; /* when a paced transfer began */
};

struct comm_p2p {
    struct comm_gpu_spec spec;
    struct peers peers;
    struct meeting *meetings; /* by gang; unused where it is not ours */
    struct member *members;   /* as plan->gang_ops */
    uint32_t *place;          /* by op: its member, OP_NONE */
    struct lane_memory *lanes;
    void **address; /* by access: where it is, while the gang meets */
    bool spins;
};

/* --- what a gang means */

static bool is_exchange(unsigned kind)
{
    return kind == OP_EXCHANGE || kind == OP_EXCHANGE_ADD;
}

static uint32_t count_accesses(const struct plan *plan, uint32_t op)
{
    return plan->ops[op + 1].first_access - plan->ops[op].first_access;
}

static uint64_t access_bytes(const struct plan *plan, uint32_t op, uint32_t i)
{
    return plan->values[plan->accesses[plan->ops[op].first_access + i].value].bytes;
}

static uint32_t rank_of(const struct plan *plan, uint32_t op)
{
    return plan->t.lanes[plan->ops[op].lane].rank;
}

static void fill_member(struct comm_p2p *comm, const struct gang *gang, uint32_t i)
{
    const struct plan *plan = comm->spec.plan;
    struct member *m = &comm->members[i];
    uint32_t own = i - gang->first, op = plan->gang_ops[i];
    unsigned kind = plan->ops[op].tag.kind;
    *m = (struct member){.op = op, .peer = i, .n = count_accesses(plan, op)};
    m->adds = kind == OP_EXCHANGE_ADD || kind == OP_RECV_ADD;
    m->sends = is_exchange(kind) || kind == OP_SEND || (kind == OP_BROADCAST && own == 0);
    if (is_exchange(kind)) {
        m->peer = gang->first + (own + gang->n - gang->shift % gang->n) % gang->n;
        m->first = m->n = 1;
    } else if (m->sends)
        m->n = 0;
    else
        m->peer = kind == OP_BROADCAST ? gang->first : gang->first + 1 - own;
    comm->place[op] = i;
}

static const char *find_problem(const struct comm_p2p *comm, const struct member *m)
{
    const struct plan *plan = comm->spec.plan;
    unsigned kind = plan->ops[m->op].tag.kind;
    if (!is_exchange(kind) && kind != OP_SEND && kind != OP_RECV && kind != OP_RECV_ADD &&
        kind != OP_BROADCAST)
        return "has no implementation between GPUs";
    uint32_t peer = comm->members[m->peer].op;
    if (is_exchange(kind) && (count_accesses(plan, m->op) != 2 || count_accesses(plan, peer) != 2))
        return "needs a range that is sent and one that is received";
    if (m->n > count_accesses(plan, peer))
        return "receives more pieces than its peer sends";
    for (uint32_t i = 0; i < m->n; i++) {
        uint64_t bytes = access_bytes(plan, m->op, m->first + i);
        if (bytes != access_bytes(plan, peer, i))
            return "receives another number of bytes than its peer sends";
        if (m->adds && bytes % k_cuda_f32.elem_bytes)
            return "adds a part of an element";
    }
    return NULL;
}

static uint64_t pace_ns(uint64_t bytes, double gbps, double us)
{
    double ns = us * 1e3 + (gbps > 0 ? (double)bytes * 8 / gbps : 0);
    return ns < 1e18 ? (uint64_t)ceil(ns) : (uint64_t)1e18;
}

static uint64_t staging_bytes(const struct comm_p2p *comm, const struct member *m)
{
    const struct plan *plan = comm->spec.plan;
    const uint32_t *device = comm->spec.device;
    uint64_t most = 0;
    if (m->adds && !peers_direct(&comm->peers, device[rank_of(plan, m->op)],
                                 device[rank_of(plan, comm->members[m->peer].op)]))
        for (uint32_t i = 0; i < m->n; i++)
            most = MAX(most, access_bytes(plan, m->op, m->first + i));
    return most;
}

static bool read_gang(struct comm_p2p *comm, uint32_t g, GError **error)
{
    const struct plan *plan = comm->spec.plan;
    const struct gang *gang = &plan->gangs[g];
    for (uint32_t i = gang->first; i < gang->first + gang->n; i++)
        fill_member(comm, gang, i);
    for (uint32_t i = gang->first; i < gang->first + gang->n; i++) {
        struct member *m = &comm->members[i];
        struct lane_memory *lane = &comm->lanes[plan->ops[m->op].lane];
        const char *problem = find_problem(comm, m);
        if (problem) {
            g_autofree char *text = plan_op_text(plan, m->op);
            g_set_error(error, engine_error_quark(), ENGINE_ERROR_FAILED, "%s %s", text, problem);
            return false;
        }
        lane->used = true;
        lane->staging_bytes = MAX(lane->staging_bytes, staging_bytes(comm, m));
        comm->meetings[g].transfer_ns =
            MAX(comm->meetings[g].transfer_ns,
                pace_ns(plan->ops[m->op].tag.bytes, comm->spec.gbps, comm->spec.us));
    }
    return true;
}

static bool read_gangs(struct comm_p2p *comm, GError **error)
{
    const struct plan *plan = comm->spec.plan;
    g_autofree bool *taken = comm_nccl_gangs(plan, comm->spec.device);
    for (uint32_t g = 0; g < plan->n_gangs; g++)
        if (plan->gangs[g].n && !taken[g] && !read_gang(comm, g, error))
            return false;
    return true;
}

/* --- opening */

static bool allocate_lane(struct comm_p2p *comm, uint32_t i, GError **error)
{
    struct lane_memory *lane = &comm->lanes[i];
    uint32_t rank = comm->spec.plan->t.lanes[i].rank, device = comm->spec.device[rank];
    cudaError_t status = cudaSetDevice((int)device);
    if (status)
        return cuda_fail(error, "cudaSetDevice", status, rank, device);
    if (lane->staging_bytes && (status = cudaMalloc(&lane->staging, lane->staging_bytes)))
        return cuda_fail(error, "cudaMalloc", status, rank, device);
    if ((comm->spec.gbps > 0 || comm->spec.us > 0) &&
        (status = cudaMalloc((void **)&lane->mark, sizeof *lane->mark)))
        return cuda_fail(error, "cudaMalloc", status, rank, device);
    return true;
}

static bool create_events(struct comm_p2p *comm, struct member *m, GError **error)
{
    uint32_t rank = rank_of(comm->spec.plan, m->op), device = comm->spec.device[rank];
    cudaError_t status = cudaSetDevice((int)device);
    if (status)
        return cuda_fail(error, "cudaSetDevice", status, rank, device);
    if ((m->sends && (status = cudaEventCreateWithFlags(&m->ready, cudaEventDisableTiming))) ||
        (m->n && (status = cudaEventCreateWithFlags(&m->done, cudaEventDisableTiming))))
        return cuda_fail(error, "cudaEventCreateWithFlags", status, rank, device);
    return true;
}

static bool allocate(struct comm_p2p *comm, GError **error)
{
    for (uint32_t i = 0; i < comm->spec.plan->t.n_lanes; i++)
        if (comm->lanes[i].used && !allocate_lane(comm, i, error))
            return false;
    for (uint32_t i = 0; i < comm->spec.plan->n_gang_ops; i++)
        if (comm->place[comm->spec.plan->gang_ops[i]] != OP_NONE &&
            !create_events(comm, &comm->members[i], error))
            return false;
    return true;
}

static struct comm_p2p *create(const struct comm_gpu_spec *spec)
{
    const struct plan *plan = spec->plan;
    struct comm_p2p *comm = g_new0(struct comm_p2p, 1);
    comm->spec = *spec;
    comm->meetings = g_new0(struct meeting, plan->n_gangs);
    for (uint32_t i = 0; i < plan->n_gangs; i++) {
        pthread_mutex_init(&comm->meetings[i].lock, NULL);
        pthread_cond_init(&comm->meetings[i].cond, NULL);
    }
    comm->members = g_new0(struct member, plan->n_gang_ops);
    comm->place = g_new(uint32_t, plan->n_ops);
    for (uint32_t i = 0; i < plan->n_ops; i++)
        comm->place[i] = OP_NONE;
    comm->lanes = g_new0(struct lane_memory, plan->t.n_lanes);
    comm->address = g_new0(void *, plan->n_accesses);
    comm->spins = sysconf(_SC_NPROCESSORS_ONLN) > (long)plan->t.n_ranks;
    return comm;
}

struct comm_p2p *comm_p2p_open(const struct comm_gpu_spec *spec, GError **error)
{
    int current = 0;
    cudaError_t status = cudaGetDevice(&current);
    if (status) {
        cuda_fail(error, "cudaGetDevice", status, OP_NONE, OP_NONE);
        return NULL;
    }
    struct comm_p2p *comm = create(spec);
    if (!peers_open(&comm->peers, spec->device, spec->plan->t.n_ranks, error) || !read_gangs(comm, error) ||
        !allocate(comm, error)) {
        comm_p2p_close(comm);
        comm = NULL;
    }
    cudaSetDevice(current);
    return comm;
}

/* --- running */

/* Blocks until all n are here.  False: stopped. */
static bool meet(const struct comm_p2p *comm, struct meeting *m, struct barrier *b, uint32_t n)
{
    pthread_mutex_lock(&m->lock);
    unsigned round = atomic_load(&b->round);
    if (++b->arrived == n) {
        b->arrived = 0;
        atomic_store(&b->round, round + 1);
        pthread_cond_broadcast(&m->cond);
    }
    pthread_mutex_unlock(&m->lock);
    for (unsigned i = 0; comm->spins && i < SPINS && atomic_load(&b->round) == round; i++)
        ;
    if (atomic_load(&b->round) != round)
        return true;
    pthread_mutex_lock(&m->lock);
    while (atomic_load(&b->round) == round && !atomic_load(comm->spec.stop))
        pthread_cond_wait(&m->cond, &m->lock);
    pthread_mutex_unlock(&m->lock);
    return atomic_load(&b->round) != round;
}

static struct site site_of(const struct comm_p2p *comm, uint32_t lane)
{
    uint32_t rank = comm->spec.plan->t.lanes[lane].rank;
    struct k_cuda_stream *k = comm->spec.streams[lane];
    return (struct site){k, k_cuda_raw(k), rank, comm->spec.device[rank]};
}

static bool receive(const struct comm_p2p *comm, const struct member *m, const struct site *s, GError **error)
{
    const struct plan *plan = comm->spec.plan;
    uint32_t peer = comm->members[m->peer].op, from_device = comm->spec.device[rank_of(plan, peer)];
    void *const *to = &comm->address[plan->ops[m->op].first_access + m->first];
    void *const *from = &comm->address[plan->ops[peer].first_access];
    void *staging = peers_direct(&comm->peers, s->device, from_device)
                        ? NULL
                        : comm->lanes[plan->ops[m->op].lane].staging;
    for (uint32_t i = 0; i < m->n; i++) {
        uint64_t bytes = access_bytes(plan, m->op, m->first + i);
        if (bytes && !(m->adds ? peers_add(s, from[i], from_device, to[i], bytes, staging, error)
                               : peers_copy(s, from[i], from_device, to[i], bytes, error)))
            return false;
    }
    return true;
}

static bool pull(const struct comm_p2p *comm, const struct member *m, const struct site *s,
                 uint64_t transfer_ns, GError **error)
{
    uint64_t *mark = comm->lanes[comm->spec.plan->ops[m->op].lane].mark;
    return site_check(s, "cudaStreamWaitEvent",
                      cudaStreamWaitEvent(s->stream, comm->members[m->peer].ready, 0), error) &&
           (!transfer_ns || site_check(s, "mark", k_cuda_mark(s->k, mark), error)) &&
           receive(comm, m, s, error) &&
           (!transfer_ns || site_check(s, "pace", k_cuda_wait(s->k, mark, transfer_ns), error)) &&
           site_check(s, "cudaEventRecord", cudaEventRecord(m->done, s->stream), error);
}

static bool end_together(const struct comm_p2p *comm, const struct gang *gang, const struct member *m,
                         const struct site *s, GError **error)
{
    for (uint32_t i = gang->first; i < gang->first + gang->n; i++) {
        const struct member *other = &comm->members[i];
        if (other != m && other->done &&
            !site_check(s, "cudaStreamWaitEvent", cudaStreamWaitEvent(s->stream, other->done, 0), error))
            return false;
    }
    return true;
}

bool comm_p2p_gang(struct comm_p2p *comm, uint32_t op, void *const *mem, GError **error)
{
    const struct plan *plan = comm->spec.plan;
    const struct op *o = &plan->ops[op];
    const struct gang *gang = &plan->gangs[o->tag.gang];
    const struct member *m = &comm->members[comm->place[op]];
    struct meeting *meeting = &comm->meetings[o->tag.gang];
    const struct site s = site_of(comm, o->lane);
    for (uint32_t i = 0; i < count_accesses(plan, op); i++)
        comm->address[o->first_access + i] = mem[i];
    return (!m->ready || site_check(&s, "cudaEventRecord", cudaEventRecord(m->ready, s.stream), error)) &&
           meet(comm, meeting, &meeting->begin, gang->n) &&
           (!m->n || pull(comm, m, &s, meeting->transfer_ns, error)) &&
           meet(comm, meeting, &meeting->end, gang->n) && end_together(comm, gang, m, &s, error);
}

void comm_p2p_abort(struct comm_p2p *comm)
{
    for (uint32_t i = 0; i < comm->spec.plan->n_gangs; i++) {
        pthread_mutex_lock(&comm->meetings[i].lock);
        pthread_cond_broadcast(&comm->meetings[i].cond);
        pthread_mutex_unlock(&comm->meetings[i].lock);
    }
}

/* --- checking and closing */

bool comm_p2p_check(struct comm_p2p *comm, GError **error)
{
    const struct plan *plan = comm->spec.plan;
    int current = 0;
    cudaError_t status = cudaGetDevice(&current);
    if (status)
        return cuda_fail(error, "cudaGetDevice", status, OP_NONE, OP_NONE);
    g_autofree struct site *sites = g_new0(struct site, comm->peers.n);
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        if (comm->lanes[i].used) {
            struct site s = site_of(comm, i);
            sites[s.device] = s;
        }
    bool ok = peers_check(&comm->peers, sites, error);
    cudaSetDevice(current);
    return ok;
}

void comm_p2p_close(struct comm_p2p *comm)
{
    if (!comm)
        return;
    const struct plan *plan = comm->spec.plan;
    for (uint32_t i = 0; i < plan->n_gang_ops; i++) {
        if (comm->members[i].ready)
            cudaEventDestroy(comm->members[i].ready);
        if (comm->members[i].done)
            cudaEventDestroy(comm->members[i].done);
    }
    for (uint32_t i = 0; i < plan->t.n_lanes; i++) {
        if (comm->lanes[i].staging)
            cudaFree(comm->lanes[i].staging);
        if (comm->lanes[i].mark)
            cudaFree(comm->lanes[i].mark);
    }
    for (uint32_t i = 0; i < plan->n_gangs; i++) {
        pthread_mutex_destroy(&comm->meetings[i].lock);
        pthread_cond_destroy(&comm->meetings[i].cond);
    }
    peers_close(&comm->peers);
    g_free(comm->meetings);
    g_free(comm->members);
    g_free(comm->place);
    g_free(comm->lanes);
    g_free(comm->address);
    g_free(comm);
}
