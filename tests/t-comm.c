/* Gangs through shared memory: rings against exact sums, the pace, and stopping. */
#include <pthread.h>

#include "exec/comm.h"
#include "profile/clock.h"
#include "tests/hand-plan.h"
#include "tests/tap.h"

struct ring_member {
    const struct plan *plan;
    struct comm *comm;
    char *arena;
    uint32_t rank;
    int64_t *start_ns, *end_ns; /* by op */
    bool stopped;
};

static void *run_member(void *arg)
{
    struct ring_member *m = arg;
    const struct plan *plan = m->plan;
    int64_t ready_ns = clock_ns();
    for (uint32_t i = 0; i < plan->n_ops && !m->stopped; i++) {
        void *mem[2];
        if (plan->t.lanes[plan->ops[i].lane].rank != m->rank)
            continue;
        for (unsigned j = 0; j < 2; j++) {
            const struct value *v = &plan->values[plan->accesses[plan->ops[i].first_access + j].value];
            mem[j] = m->arena + plan->place[v->root] + v->offset;
        }
        m->start_ns[i] = ready_ns;
        m->end_ns[i] = ready_ns = comm_gang(m->comm, i, mem, ready_ns);
        m->stopped = ready_ns < 0;
    }
    return NULL;
}

static float element(uint32_t rank, uint32_t i)
{
    return (float)((rank + 1) * (i % 101) + i % 7);
}

static float *bucket_of(const struct plan *plan, const struct ring_member *m)
{
    for (uint32_t i = 0; i < plan->n_values; i++)
        if (plan->values[i].root == i && plan->values[i].rank == m->rank)
            return (float *)(m->arena + plan->place[i]);
    g_assert_not_reached();
}

/* Every rank a thread; `check` looks at what they did. */
static void run_ring(uint32_t ranks, uint32_t elems, double gbps, double us,
                     void (*check)(const struct ring_member *, uint32_t ranks, uint32_t elems))
{
    GError *error = NULL;
    struct model *model = tiny_model(DTYPE_F32);
    struct plan plan;
    struct ring_member members[4];
    pthread_t threads[4];
    atomic_int stop = 0;
    ring_plan(&plan, model, ranks, elems);
    struct comm *comm = comm_open(&plan, &k_ref_f32, gbps, us, &stop, &error);
    g_assert_no_error(error);
    for (uint32_t i = 0; i < ranks; i++) {
        members[i] = (struct ring_member){.plan = &plan, .comm = comm, .rank = i};
        members[i].arena = g_malloc0(plan.arena_bytes[i]);
        members[i].start_ns = g_new0(int64_t, plan.n_ops);
        members[i].end_ns = g_new0(int64_t, plan.n_ops);
        for (uint32_t j = 0; j < elems; j++)
            bucket_of(&plan, &members[i])[j] = element(i, j);
    }
    for (uint32_t i = 0; i < ranks; i++)
        pthread_create(&threads[i], NULL, run_member, &members[i]);
    for (uint32_t i = 0; i < ranks; i++)
        pthread_join(threads[i], NULL);
    check(members, ranks, elems);
    for (uint32_t i = 0; i < ranks; i++) {
        g_free(members[i].arena);
        g_free(members[i].start_ns);
        g_free(members[i].end_ns);
    }
    comm_close(comm);
    plan_release(&plan);
    model_free(model);
}

static void check_sums(const struct ring_member *members, uint32_t ranks, uint32_t elems)
{
    const struct plan *plan = members->plan;
    const float *first = bucket_of(plan, &members[0]);
    for (uint32_t j = 0; j < elems; j++) {
        float sum = 0;
        for (uint32_t i = 0; i < ranks; i++)
            sum += element(i, j);
        g_assert_cmpfloat(first[j], ==, sum);
    }
    for (uint32_t i = 1; i < ranks; i++)
        g_assert_cmpmem(bucket_of(plan, &members[i]), elems * sizeof(float), first, elems * sizeof(float));
}

static void test_ring_sums(void)
{
    static const uint32_t elems[] = {1, 2, 3, 4, 5, 7, 64, 1000, 1003};
    for (uint32_t ranks = 2; ranks <= 4; ranks++)
        for (unsigned i = 0; i < G_N_ELEMENTS(elems); i++)
            run_ring(ranks, elems[i], 0, 0, check_sums);
}

enum { PACED_GBPS = 1, PACED_US = 50 };

static void check_pace(const struct ring_member *members, uint32_t ranks, uint32_t elems)
{
    const struct plan *plan = members->plan;
    g_assert_cmpuint(plan->n_gangs, ==, 2 * (ranks - 1));
    for (uint32_t g = 0; g < plan->n_gangs; g++) {
        int64_t start_ns = 0, end_ns = 0;
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < plan->gangs[g].n; i++) {
            uint32_t op = plan->gang_ops[plan->gangs[g].first + i];
            start_ns = MAX(start_ns, members[i].start_ns[op]);
            end_ns = members[i].end_ns[op];
            g_assert_cmpint(end_ns, ==, members[0].end_ns[plan->gang_ops[plan->gangs[g].first]]);
            bytes = MAX(bytes, plan->values[plan->accesses[plan->ops[op].first_access].value].bytes);
        }
        g_assert_cmpint(end_ns - start_ns, >=, PACED_US * 1000 + (int64_t)bytes * 8 / PACED_GBPS);
    }
    check_sums(members, ranks, elems);
}

static void test_pace(void)
{
    run_ring(2, 5000, PACED_GBPS, PACED_US, check_pace);
    run_ring(4, 1001, PACED_GBPS, PACED_US, check_pace);
}

/* Three ranks whose last never comes. */
static void test_abort_gang(void)
{
    GError *error = NULL;
    struct model *model = tiny_model(DTYPE_F32);
    struct plan plan;
    atomic_int stop = 0;
    pthread_t threads[2];
    struct ring_member members[2];
    ring_plan(&plan, model, 3, 30);
    struct comm *comm = comm_open(&plan, &k_ref_f32, 0, 0, &stop, &error);
    g_assert_no_error(error);
    for (uint32_t i = 0; i < 2; i++) {
        members[i] = (struct ring_member){.plan = &plan, .comm = comm, .rank = i};
        members[i].arena = g_malloc0(plan.arena_bytes[i]);
        members[i].start_ns = g_new0(int64_t, plan.n_ops);
        members[i].end_ns = g_new0(int64_t, plan.n_ops);
        pthread_create(&threads[i], NULL, run_member, &members[i]);
    }
    g_usleep(2000);
    comm_abort(comm);
    for (uint32_t i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        g_assert_true(members[i].stopped);
        g_free(members[i].arena);
        g_free(members[i].start_ns);
        g_free(members[i].end_ns);
    }
    comm_close(comm);
    plan_release(&plan);
    model_free(model);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/comm/ring-sums", test_ring_sums);
    g_test_add_func("/comm/pace", test_pace);
    g_test_add_func("/comm/abort", test_abort_gang);
    return g_test_run();
}
