#include "exec/comm.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "profile/clock.h"

#define STOP_POLL_NS 50000000

/* Everybody's time; the latest of them is what all go on with. */
struct barrier {
    uint32_t arrived, round;
    int64_t latest_ns, result_ns;
};

struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    struct barrier begin, end;
    int64_t transfer_ns; /* by the pace; 0: raw memory */
};

struct comm {
    const struct plan *plan;
    const struct k_table *k;
    atomic_int *stop;
    struct meeting *meetings; /* by gang */
    uint32_t *place;          /* by op: its index in plan->gang_ops */
    void *const **sent; /* by that index: the member's memory, what it sends first, while the gang meets */
};

static const struct access *access_of(const struct plan *plan, uint32_t op, unsigned i)
{
    return &plan->accesses[plan->ops[op].first_access + i];
}

static uint64_t access_bytes(const struct plan *plan, uint32_t op, unsigned i)
{
    return plan->values[access_of(plan, op, i)->value].bytes;
}

static bool is_exchange(unsigned kind)
{
    return kind == OP_EXCHANGE || kind == OP_EXCHANGE_ADD;
}

static bool adds(unsigned kind)
{
    return kind == OP_EXCHANGE_ADD || kind == OP_RECV_ADD;
}

static uint32_t count_accesses(const struct plan *plan, uint32_t op)
{
    return plan->ops[op + 1].first_access - plan->ops[op].first_access;
}

/* Whom a member receives from; of a sender, its receiver. */
static uint32_t peer_of(const struct plan *plan, const struct gang *gang, uint32_t member)
{
    uint32_t back = is_exchange(plan->ops[plan->gang_ops[member]].tag.kind) ? gang->shift % gang->n : 1;
    return gang->first + (member - gang->first + gang->n - back) % gang->n;
}

/* Piece i of what the op receives goes to access first + i. */
struct received {
    uint32_t first, n;
};

static struct received received_by(const struct plan *plan, uint32_t op)
{
    unsigned kind = plan->ops[op].tag.kind;
    if (is_exchange(kind))
        return (struct received){1, 1};
    return (struct received){0, kind == OP_SEND ? 0 : count_accesses(plan, op)};
}

static const char *find_problem(const struct plan *plan, uint32_t op, uint32_t peer, size_t elem_bytes)
{
    unsigned kind = plan->ops[op].tag.kind;
    if (!is_exchange(kind) && kind != OP_SEND && kind != OP_RECV && kind != OP_RECV_ADD)
        return "has no implementation on CPU cores; lower it to hops";
    if (is_exchange(kind) && (count_accesses(plan, op) != 2 || count_accesses(plan, peer) != 2))
        return "needs a range that is sent and one that is received";
    struct received r = received_by(plan, op);
    for (uint32_t i = 0; i < r.n; i++) {
        if (access_bytes(plan, op, r.first + i) != access_bytes(plan, peer, i))
            return "receives another number of bytes than its peer sends";
        if (adds(kind) && access_bytes(plan, op, r.first + i) % elem_bytes)
            return "adds a part of an element";
    }
    return NULL;
}

static bool check_member(const struct plan *plan, const struct gang *gang, uint32_t member, size_t elem_bytes,
                         GError **error)
{
    uint32_t op = plan->gang_ops[member], peer = plan->gang_ops[peer_of(plan, gang, member)];
    const char *problem = find_problem(plan, op, peer, elem_bytes);
    if (!problem)
        return true;
    g_autofree char *text = plan_op_text(plan, op);
    g_set_error(error, ENGINE_ERROR, ENGINE_ERROR_FAILED, "%s %s", text, problem);
    return false;
}

static int64_t pace_ns(uint64_t bytes, double gbps, double us)
{
    double ns = us * 1e3 + (gbps > 0 ? (double)bytes * 8 / gbps : 0);
    return ns < 1e18 ? (int64_t)llrint(ceil(ns)) : (int64_t)1e18;
}

struct comm *comm_open(const struct plan *plan, const struct k_table *k, double gbps, double us,
                       atomic_int *stop, GError **error)
{
    struct comm *comm = g_new0(struct comm, 1);
    *comm = (struct comm){.plan = plan, .k = k, .stop = stop};
    comm->meetings = g_new0(struct meeting, plan->n_gangs);
    comm->place = g_new(uint32_t, plan->n_ops);
    comm->sent = g_new0(void *const *, plan->n_gang_ops);
    for (uint32_t i = 0; i < plan->n_gangs; i++) {
        struct meeting *m = &comm->meetings[i];
        pthread_mutex_init(&m->lock, NULL);
        pthread_cond_init(&m->cond, NULL);
        m->begin.latest_ns = m->end.latest_ns = INT64_MIN;
    }
    for (uint32_t i = 0; i < plan->n_gangs; i++) {
        const struct gang *gang = &plan->gangs[i];
        for (uint32_t j = gang->first; j < gang->first + gang->n; j++) {
            uint32_t op = plan->gang_ops[j];
            comm->place[op] = j;
            if (!check_member(plan, gang, j, k->elem_bytes, error)) {
                comm_close(comm);
                return NULL;
            }
            comm->meetings[i].transfer_ns =
                MAX(comm->meetings[i].transfer_ns, pace_ns(plan->ops[op].tag.bytes, gbps, us));
        }
    }
    return comm;
}

/* Blocks until all n are here; gives the latest time that any of them brought.  False: stopped. */
static bool meet(struct comm *comm, struct meeting *m, struct barrier *b, uint32_t n, int64_t *ns)
{
    pthread_mutex_lock(&m->lock);
    uint32_t round = b->round;
    b->latest_ns = MAX(b->latest_ns, *ns);
    if (++b->arrived == n) {
        b->result_ns = b->latest_ns;
        b->latest_ns = INT64_MIN;
        b->arrived = 0;
        b->round++;
        pthread_cond_broadcast(&m->cond);
    }
    while (b->round == round && !atomic_load(comm->stop))
        pthread_cond_wait(&m->cond, &m->lock);
    bool met = b->round != round;
    *ns = b->result_ns;
    pthread_mutex_unlock(&m->lock);
    return met;
}

static bool sleep_until(const struct comm *comm, int64_t until_ns)
{
    for (int64_t now_ns; (now_ns = clock_ns()) < until_ns;) {
        int64_t next_ns = MIN(until_ns, now_ns + STOP_POLL_NS);
        struct timespec next = {next_ns / 1000000000, next_ns % 1000000000};
        if (atomic_load(comm->stop))
            return false;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return true;
}

static void receive(const struct comm *comm, uint32_t op, void *const *from, void *const *mem)
{
    struct received r = received_by(comm->plan, op);
    for (uint32_t i = 0; i < r.n; i++) {
        uint64_t bytes = access_bytes(comm->plan, op, r.first + i);
        if (adds(comm->plan->ops[op].tag.kind))
            comm->k->add(NULL, bytes / comm->k->elem_bytes, from[i], mem[r.first + i]);
        else if (bytes)
            memcpy(mem[r.first + i], from[i], bytes);
    }
}

int64_t comm_gang(struct comm *comm, uint32_t op, void *const *mem, int64_t ready_ns)
{
    const struct plan *plan = comm->plan;
    const struct op_tag *tag = &plan->ops[op].tag;
    const struct gang *gang = &plan->gangs[tag->gang];
    struct meeting *m = &comm->meetings[tag->gang];
    int64_t begin_ns = ready_ns;
    comm->sent[comm->place[op]] = mem;
    if (!meet(comm, m, &m->begin, gang->n, &begin_ns))
        return -1;
    receive(comm, op, comm->sent[peer_of(plan, gang, comm->place[op])], mem);
    int64_t end_ns = clock_ns();
    if (!meet(comm, m, &m->end, gang->n, &end_ns))
        return -1;
    if (!m->transfer_ns)
        return end_ns;
    end_ns = MAX(end_ns, begin_ns + m->transfer_ns);
    return sleep_until(comm, end_ns) ? end_ns : -1;
}

uint64_t comm_bytes(const struct plan *plan)
{
    return sizeof(struct comm) + plan->n_gangs * (uint64_t)sizeof(struct meeting) +
           plan->n_ops * (uint64_t)sizeof(uint32_t) + plan->n_gang_ops * (uint64_t)sizeof(void *);
}

void comm_abort(struct comm *comm)
{
    atomic_store(comm->stop, 1);
    for (uint32_t i = 0; i < comm->plan->n_gangs; i++) {
        pthread_mutex_lock(&comm->meetings[i].lock);
        pthread_cond_broadcast(&comm->meetings[i].cond);
        pthread_mutex_unlock(&comm->meetings[i].lock);
    }
}

void comm_close(struct comm *comm)
{
    if (!comm)
        return;
    for (uint32_t i = 0; i < comm->plan->n_gangs; i++) {
        pthread_mutex_destroy(&comm->meetings[i].lock);
        pthread_cond_destroy(&comm->meetings[i].cond);
    }
    g_free(comm->meetings);
    g_free(comm->place);
    g_free(comm->sent);
    g_free(comm);
}
