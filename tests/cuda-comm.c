/* tests/cuda-comm.c -- gangs on GPUs against exact sums, on whatever GPUs there are: `cuda-comm CASE
 * [RANKS]`.  Prints what is wrong and exits with 1.  Driven by cuda-comm.sh on emulated GPUs, whose races are
 * the emulator's to report. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "exec/cuda/comm.h"
#include "exec/cuda/module.h"
#include "profile/trace.h"
#include "tests/hand-plan.h"

enum { STEPS = 3, RANKS_MAX = 8 };

struct rig {
    struct plan plan;
    struct model *model;
    struct comm_gpu_spec spec;
    struct comm_p2p *p2p;
    struct comm_nccl *nccl;
    atomic_int stop;
    uint32_t elems, device[RANKS_MAX];
    struct k_cuda_stream *streams[RANKS_MAX * LANES];
    cudaStream_t raw[RANKS_MAX];
    char *arena[RANKS_MAX];
};

struct member {
    struct rig *rig;
    uint32_t rank;
    bool ok;
    GError *error;
};

static void must(int status)
{
    if (status)
        g_error("%s", k_cuda_text(status));
}

/* Small integers: sums are exact in whatever order. */
static float element(uint32_t rank, uint32_t i)
{
    return (float)((rank + 1) * (i % 13) + i % 5);
}

static char *address(const struct rig *r, uint32_t access)
{
    const struct value *v = &r->plan.values[r->plan.accesses[access].value];
    return r->arena[v->rank] + r->plan.place[v->root] + v->offset;
}

static uint32_t bucket_of(const struct rig *r, uint32_t rank)
{
    for (uint32_t i = 0; i < r->plan.n_values; i++)
        if (r->plan.values[i].root == i && r->plan.values[i].rank == rank &&
            r->plan.values[i].cls == VALUE_BUCKET)
            return i;
    g_assert_not_reached();
}

static float *bucket(const struct rig *r, uint32_t rank)
{
    return (float *)(r->arena[rank] + r->plan.place[bucket_of(r, rank)]);
}

static void fill_rig(struct rig *r)
{
    g_autofree float *host = g_new(float, r->elems);
    for (uint32_t i = 0; i < r->plan.t.n_ranks; i++) {
        must(cudaSetDevice((int)r->device[i]));
        for (uint32_t j = 0; j < r->elems; j++)
            host[j] = element(i, j);
        must(cudaMemcpyAsync(bucket(r, i), host, r->elems * sizeof *host, cudaMemcpyHostToDevice, r->raw[i]));
        must(cudaStreamSynchronize(r->raw[i]));
    }
}

/* Of a plan that is there. */
static void place_rig(struct rig *r)
{
    uint32_t gpus = cuda_devices();
    for (uint32_t i = 0; i < r->plan.t.n_ranks; i++) {
        r->device[i] = i % gpus;
        must(cudaSetDevice((int)r->device[i]));
        must(cudaStreamCreateWithFlags(&r->raw[i], cudaStreamNonBlocking));
        must(k_cuda_open(r->raw[i], 0, &r->streams[i * LANES + COMM_LANE]));
        must(cudaMalloc((void **)&r->arena[i], r->plan.arena_bytes[i]));
    }
    r->spec = (struct comm_gpu_spec){
        .plan = &r->plan, .streams = r->streams, .device = r->device, .stop = &r->stop};
    fill_rig(r);
}

static void open_rig(struct rig *r, uint8_t kind, uint8_t algo, uint32_t ranks, uint32_t elems)
{
    *r = (struct rig){.elems = elems, .model = tiny_model(DTYPE_F32)};
    collective_plan(&r->plan, r->model, kind, algo, ranks, elems);
    place_rig(r);
}

static void close_rig(struct rig *r)
{
    for (uint32_t i = 0; i < r->plan.t.n_ranks; i++) {
        must(cudaSetDevice((int)r->device[i]));
        must(cudaStreamSynchronize(r->raw[i]));
    }
    comm_p2p_close(r->p2p);
    comm_nccl_close(r->nccl);
    for (uint32_t i = 0; i < r->plan.t.n_ranks; i++) {
        k_cuda_close(r->streams[i * LANES + COMM_LANE]);
        must(cudaStreamDestroy(r->raw[i]));
        must(cudaFree(r->arena[i]));
    }
    plan_release(&r->plan);
    model_free(r->model);
}

/* --- running */

static bool run_op(struct rig *r, uint32_t op, GError **error)
{
    const struct op *o = &r->plan.ops[op];
    uint32_t n = o[1].first_access - o->first_access;
    void *mem[RANKS_MAX + 1];
    for (uint32_t i = 0; i < n; i++)
        mem[i] = address(r, o->first_access + i);
    if (o->tag.gang != OP_NONE)
        return r->nccl ? comm_nccl_gang(r->nccl, op, mem, error) : comm_p2p_gang(r->p2p, op, mem, error);
    g_assert_cmpint(o->tag.kind, ==, OP_SUM);
    must(k_cuda_f32.sum(r->streams[o->lane], n - 1,
                        r->plan.values[r->plan.accesses[o->first_access].value].bytes / sizeof(float),
                        (const void *const *)mem, mem[n - 1]));
    return true;
}

static void *run_member(void *arg)
{
    struct member *m = arg;
    const struct plan *plan = &m->rig->plan;
    must(cudaSetDevice((int)m->rig->device[m->rank]));
    m->ok = true;
    for (uint32_t step = 0; step < STEPS; step++)
        for (uint32_t i = 0; i < plan->n_ops && m->ok; i++)
            if (plan->t.lanes[plan->ops[plan->order[i]].lane].rank == m->rank)
                m->ok = run_op(m->rig, plan->order[i], &m->error);
    return NULL;
}

static void run_rig(struct rig *r)
{
    struct member members[RANKS_MAX];
    pthread_t threads[RANKS_MAX];
    for (uint32_t i = 0; i < r->plan.t.n_ranks; i++) {
        members[i] = (struct member){.rig = r, .rank = i};
        pthread_create(&threads[i], NULL, run_member, &members[i]);
    }
    for (uint32_t i = 0; i < r->plan.t.n_ranks; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < r->plan.t.n_ranks; i++) {
        g_assert_no_error(members[i].error);
        g_assert_true(members[i].ok);
    }
}

/* After STEPS all-reduces, each of what the one before left; or broadcasts. */
static void check_rig(struct rig *r, bool reduced)
{
    uint32_t ranks = r->plan.t.n_ranks;
    g_autofree float *host = g_new(float, r->elems);
    for (uint32_t i = 0; i < ranks; i++) {
        must(cudaSetDevice((int)r->device[i]));
        must(cudaMemcpyAsync(host, bucket(r, i), r->elems * sizeof *host, cudaMemcpyDeviceToHost, r->raw[i]));
        must(cudaStreamSynchronize(r->raw[i]));
        for (uint32_t j = 0; j < r->elems; j++) {
            float sum = element(0, j);
            for (uint32_t k = 1; k < ranks && reduced; k++)
                sum += element(k, j);
            for (uint32_t step = 1; step < STEPS && reduced; step++)
                sum *= (float)ranks;
            if (host[j] != sum)
                g_error("rank %u of %u: element %u of %u is %g instead of %g", i, ranks, j, r->elems, host[j],
                        sum);
        }
    }
}

/* --- cases */

static void open_p2p(struct rig *r, double gbps, double us)
{
    GError *error = NULL;
    r->spec.gbps = gbps;
    r->spec.us = us;
    r->p2p = comm_p2p_open(&r->spec, &error);
    g_assert_no_error(error);
    comm_p2p_check(r->p2p, &error);
    g_assert_no_error(error);
}

static void try_algorithm(uint8_t kind, uint8_t algo, uint32_t ranks, uint32_t elems, bool paced)
{
    struct rig r;
    open_rig(&r, kind, algo, ranks, elems);
    open_p2p(&r, paced ? 10 : 0, paced ? 20 : 0);
    run_rig(&r);
    check_rig(&r, kind == OP_ALLREDUCE);
    close_rig(&r);
}

static void case_sums(uint32_t ranks)
{
    static const uint32_t elems[] = {3, 1003};
    for (uint8_t algo = ALLREDUCE_RING; algo < ALLREDUCES; algo++)
        for (unsigned i = 0; i < G_N_ELEMENTS(elems); i++)
            try_algorithm(OP_ALLREDUCE, algo, ranks, elems[i], i == 1);
    try_algorithm(OP_BROADCAST, ALLREDUCE_TREE, ranks, 1003, false);
    if (ranks > cuda_devices()) /* else it is NCCL's */
        try_algorithm(OP_BROADCAST, ALLREDUCE_WHOLE, ranks, 1003, true);
}

/* What is checked is not what it was. */
static void open_nccl(struct rig *r)
{
    GError *error = NULL;
    g_autofree void **mem = g_new(void *, r->plan.n_accesses);
    for (uint32_t i = 0; i < r->plan.n_accesses; i++)
        mem[i] = address(r, i);
    r->nccl = comm_nccl_open(&r->spec, &error);
    g_assert_no_error(error);
    comm_nccl_check(r->nccl, mem, &error);
    g_assert_no_error(error);
    fill_rig(r);
}

static void case_nccl(uint32_t ranks)
{
    static const uint8_t kinds[] = {OP_ALLREDUCE, OP_BROADCAST};
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        GError *error = NULL;
        struct rig r;
        open_rig(&r, kinds[i], ALLREDUCE_WHOLE, ranks, 1003);
        for (uint32_t j = 0; j < r.plan.n_ops; j++)
            r.plan.ops[j].tag.bucket = 7;
        open_nccl(&r);
        run_rig(&r);
        g_assert_true(comm_nccl_poll(r.nccl, &error));
        check_rig(&r, kinds[i] == OP_ALLREDUCE);
        struct trace trace;
        trace_init(&trace);
        comm_nccl_facts(r.nccl, &trace);
        g_assert_cmpuint(trace.n_facts, ==, kinds[i] == OP_ALLREDUCE);
        for (uint32_t j = 0; j < trace.n_facts; j++)
            g_print("%s = %s\n", trace.facts[j].key, trace.facts[j].value);
        trace_release(&trace);
        close_rig(&r);
    }
}

/* --- in pieces */

enum { PIECE = 5 };

/* The pieces' views of a rank's bucket, one behind the other or with as much between them. */
static uint32_t add_pieces(struct plan *plan, uint32_t rank, uint32_t ranks, bool apart)
{
    const uint64_t bytes = PIECE * sizeof(float), stride = apart ? 2 * bytes : bytes;
    const uint32_t bucket = plan_add_value(plan, &(struct value){.bytes = ranks * stride,
                                                                 .rank = rank,
                                                                 .cls = VALUE_BUCKET,
                                                                 .flags = VALUE_LIVE_IN | VALUE_LIVE_OUT});
    for (uint32_t i = 0; i < ranks; i++)
        plan_add_view(plan, bucket, i * stride, bytes);
    return bucket + 1;
}

static void add_part(struct plan *plan, uint32_t rank, uint8_t kind, uint32_t gang, uint32_t pieces)
{
    const uint32_t ranks = plan->t.n_ranks;
    const bool shares = kind == OP_SCATTER || kind == OP_GATHER, root = rank == 0;
    const uint32_t n = kind == OP_REDUCE ? ranks : shares && root ? ranks - 1 : 1;
    add_op(plan, rank * LANES + COMM_LANE, kind, gang, n * PIECE * sizeof(float));
    for (uint32_t i = 0; i < ranks; i++)
        if (kind == OP_REDUCE)
            plan_access(plan, pieces + i, root ? ACCESS_UPDATE : ACCESS_READ);
        else if (kind == OP_ALLGATHER)
            plan_access(plan, pieces + i, i == rank ? ACCESS_READ : ACCESS_WRITE);
        else if (root ? i > 0 : i == rank)
            plan_access(plan, pieces + i, (kind == OP_SCATTER) == root ? ACCESS_READ : ACCESS_WRITE);
}

/* Rank 0's pieces are scattered, given to all by all, added up on rank 0, and gathered there again, but its
 * own. */
static void pieces_plan(struct plan *plan, const struct model *model, uint32_t ranks, bool apart)
{
    static const uint8_t kinds[] = {OP_SCATTER, OP_ALLGATHER, OP_REDUCE, OP_GATHER};
    begin_plan(plan, model, ranks);
    for (unsigned k = 0; k < G_N_ELEMENTS(kinds); k++)
        plan_add_gang(plan, 0);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const uint32_t pieces = add_pieces(plan, rank, ranks, apart);
        for (unsigned k = 0; k < G_N_ELEMENTS(kinds); k++)
            add_part(plan, rank, kinds[k], k, pieces);
    }
    end_plan(plan);
}

/* Of rank 0's first piece as many times what it was as there are ranks, a step; all else as it was on rank 0.
 */
static void check_pieces(struct rig *r, bool apart)
{
    const uint32_t ranks = r->plan.t.n_ranks, stride = apart ? 2 * PIECE : PIECE;
    g_autofree float *host = g_new(float, r->elems);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        must(cudaSetDevice((int)r->device[rank]));
        must(cudaMemcpyAsync(host, bucket(r, rank), r->elems * sizeof *host, cudaMemcpyDeviceToHost,
                             r->raw[rank]));
        must(cudaStreamSynchronize(r->raw[rank]));
        for (uint32_t j = 0; j < r->elems; j++) {
            const bool piece = j % stride < PIECE;
            float want = element(piece ? 0 : rank, j);
            for (uint32_t step = rank > 0; step < STEPS && j < PIECE; step++)
                want *= (float)ranks;
            if (host[j] != want)
                g_error("rank %u of %u: element %u is %g instead of %g", rank, ranks, j, host[j], want);
        }
    }
}

static void case_pieces(uint32_t ranks)
{
    for (unsigned apart = 0; apart < 2; apart++) {
        struct rig r = {.elems = ranks * (apart + 1) * PIECE, .model = tiny_model(DTYPE_F32)};
        pieces_plan(&r.plan, r.model, ranks, apart);
        place_rig(&r);
        open_nccl(&r);
        run_rig(&r);
        check_pieces(&r, apart);
        close_rig(&r);
    }
}

/* All but the last rank come. */
static void case_abort(uint32_t ranks)
{
    struct rig r;
    struct member members[RANKS_MAX];
    pthread_t threads[RANKS_MAX];
    open_rig(&r, OP_ALLREDUCE, ALLREDUCE_RING, ranks, 30);
    open_p2p(&r, 0, 0);
    for (uint32_t i = 0; i + 1 < ranks; i++) {
        members[i] = (struct member){.rig = &r, .rank = i};
        pthread_create(&threads[i], NULL, run_member, &members[i]);
    }
    g_usleep(20000);
    atomic_store(&r.stop, 1);
    comm_p2p_abort(r.p2p);
    for (uint32_t i = 0; i + 1 < ranks; i++) {
        pthread_join(threads[i], NULL);
        g_assert_false(members[i].ok);
        g_assert_no_error(members[i].error);
    }
    close_rig(&r);
}

/* NCCL's collective with one member missing: what has been queued is dropped. */
static void case_nccl_abort(uint32_t ranks)
{
    GError *error = NULL;
    struct rig r;
    open_rig(&r, OP_ALLREDUCE, ALLREDUCE_WHOLE, ranks, 30);
    open_nccl(&r);
    for (uint32_t i = 0; i + 1 < r.plan.n_ops; i++) {
        must(cudaSetDevice((int)r.device[i]));
        g_assert_true(run_op(&r, r.plan.order[i], &error));
    }
    atomic_store(&r.stop, 1);
    g_assert_true(comm_nccl_abort(r.nccl));
    g_assert_false(run_op(&r, r.plan.order[r.plan.n_ops - 1], &error));
    g_assert_no_error(error);
    close_rig(&r);
}

/* Messages go to stdout; the driver looks at them. */
static void case_refused(uint32_t ranks)
{
    GError *error = NULL;
    struct rig r;
    open_rig(&r, OP_ALLREDUCE, ALLREDUCE_WHOLE, ranks, 30);
    r.nccl = comm_nccl_open(&r.spec, &error);
    g_assert_null(r.nccl);
    g_assert_error(error, engine_error_quark(), ENGINE_ERROR_UNAVAILABLE);
    g_print("%s\n", error->message);
    g_clear_error(&error);
    r.p2p = comm_p2p_open(&r.spec, &error); /* what is NCCL's it leaves alone */
    g_assert_no_error(error);
    close_rig(&r);
}

/* One step of a ring where something fails: message and status 3. */
static void case_fails(uint32_t ranks)
{
    GError *error = NULL;
    struct rig r;
    open_rig(&r, OP_ALLREDUCE, ALLREDUCE_RING, ranks, 30);
    r.p2p = comm_p2p_open(&r.spec, &error);
    if (r.p2p)
        comm_p2p_check(r.p2p, &error);
    close_rig(&r);
    if (error) {
        g_print("%s\n", error->message);
        g_clear_error(&error);
        exit(3);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(uint32_t ranks);
    } cases[] = {{"sums", case_sums},
                 {"nccl", case_nccl},
                 {"pieces", case_pieces},
                 {"abort", case_abort},
                 {"nccl-abort", case_nccl_abort},
                 {"refused", case_refused},
                 {"fails", case_fails}};
    GError *error = NULL;
    if (!cuda_probe(&error)) {
        g_print("%s\n", error->message);
        g_clear_error(&error);
        return 4;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++)
        if (argc > 1 && !strcmp(argv[1], cases[i].name)) {
            cases[i].run(argc > 2 ? (uint32_t)atoi(argv[2]) : 2);
            return 0;
        }
    return 2;
}
