/* Runs that are stopped, refused or fail; lanes and their CPUs. */
#include <pthread.h>
#include <string.h>

#include "exec/exec.h"
#include "exec/host.h"
#include "exec/workers.h"
#include "profile/clock.h"
#include "tests/check-trace.h"
#include "tests/hand-plan.h"
#include "tests/tap.h"

struct canceller {
    volatile int cancel;
    atomic_uint done;
    uint32_t at;
};

static void count_steps(void *user, uint32_t done, uint32_t of)
{
    struct canceller *c = user;
    g_assert_cmpuint(done, <=, of);
    atomic_store(&c->done, done);
}

static void *cancel_later(void *arg)
{
    struct canceller *c = arg;
    while (atomic_load(&c->done) < c->at)
        g_usleep(200);
    __atomic_store_n(&c->cancel, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void run_cancelled(uint32_t at, uint32_t warmup)
{
    GError *error = NULL;
    struct model *model = tiny_model(DTYPE_F32);
    struct plan plan;
    struct canceller c = {.at = at};
    pthread_t thread;
    ring_plan(&plan, model, 3, 3000);
    struct run run = {.plan = &plan,
                      .model = model,
                      .warmup = warmup,
                      .steps = 10000,
                      .link_gbps = 1,
                      .link_us = 10,
                      .cancel = &c.cancel,
                      .progress = count_steps,
                      .user = &c};
    struct trace trace;
    trace_init(&trace);
    pthread_create(&thread, NULL, cancel_later, &c);
    g_assert_true(cpu_engine.run(&run, &trace, &error));
    g_assert_no_error(error);
    pthread_join(thread, NULL);
    g_assert_true(trace.cancelled);
    g_assert_cmpuint(trace.n_steps, <, run.steps);
    g_assert_cmpuint(trace.n_steps + warmup, >=, MIN(at, warmup));
    check_trace(&plan, &trace, trace.n_steps);
    trace_release(&trace);
    plan_release(&plan);
    model_free(model);
}

static void test_cancel(void)
{
    run_cancelled(5, 2);
    run_cancelled(1, 9000); /* while warming up: no step at all */
    run_cancelled(0, 2);    /* at once */
}

static void test_too_big(void)
{
    GError *error = NULL;
    struct model *model = tiny_model(DTYPE_F32);
    struct plan plan;
    begin_plan(&plan, model, 2);
    for (uint32_t i = 0; i < 2; i++)
        plan_add_value(&plan, &(struct value){.bytes = UINT64_C(1) << 62, .rank = i, .cls = VALUE_ACT});
    end_plan(&plan);
    struct run run = {.plan = &plan, .model = model, .steps = 1};
    struct trace trace;
    trace_init(&trace);
    g_assert_false(cpu_engine.run(&run, &trace, &error));
    g_assert_error(error, ENGINE_ERROR, ENGINE_ERROR_TOO_BIG);
    g_assert_nonnull(strstr(error->message, "GiB"));
    g_assert_cmpuint(trace.n_ops, ==, 0);
    g_clear_error(&error);
    trace_release(&trace);
    plan_release(&plan);
    model_free(model);
}

static void test_bad_jitter(void)
{
    static const char *const bad[] = {"", "x", "-1", "1.5", "99999999999999999999"};
    struct model *model = tiny_model(DTYPE_F32);
    struct plan plan;
    ring_plan(&plan, model, 2, 3);
    struct run run = {.plan = &plan, .model = model, .steps = 1};
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        GError *error = NULL;
        struct trace trace;
        trace_init(&trace);
        g_setenv("PARPROF_JITTER", bad[i], TRUE);
        g_assert_false(cpu_engine.run(&run, &trace, &error));
        g_assert_error(error, PLAN_ERROR, PLAN_ERROR_INPUT);
        g_clear_error(&error);
        trace_release(&trace);
    }
    g_unsetenv("PARPROF_JITTER");
    plan_release(&plan);
    model_free(model);
}

/* A gang that nobody lowered is refused, not run. */
static void test_whole_allreduce(void)
{
    GError *error = NULL;
    struct model *model = tiny_model(DTYPE_F32);
    struct plan plan;
    begin_plan(&plan, model, 2);
    uint32_t gang = plan_add_gang(&plan, 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct value v = {.bytes = 8, .rank = i, .cls = VALUE_BUCKET, .flags = VALUE_LIVE_IN};
        uint32_t bucket = plan_add_value(&plan, &v);
        add_op(&plan, i * LANES + COMM_LANE, OP_ALLREDUCE, gang, v.bytes);
        plan_access(&plan, bucket, ACCESS_UPDATE);
    }
    end_plan(&plan);
    struct run run = {.plan = &plan, .model = model, .steps = 1};
    struct trace trace;
    trace_init(&trace);
    g_assert_false(cpu_engine.run(&run, &trace, &error));
    g_assert_error(error, ENGINE_ERROR, ENGINE_ERROR_FAILED);
    g_clear_error(&error);
    trace_release(&trace);
    plan_release(&plan);
    model_free(model);
}

static bool fail_at_three(void *user, uint32_t lane, const struct job *job, int64_t ready_ns, int64_t *end_ns,
                          GError **error)
{
    uint32_t *ran = user;
    (void)ready_ns;
    *end_ns = clock_ns();
    ran[lane]++;
    if (lane != 0 || job->id != 3)
        return true;
    g_set_error(error, ENGINE_ERROR, ENGINE_ERROR_FAILED, "three");
    return false;
}

static struct workers *open_workers(atomic_int *stop, uint32_t *ran, int cpu, GError **error)
{
    static const uint32_t event_lane[] = {0, 1};
    struct worker_spec lanes[2] = {{0, -1, 16}, {0, cpu, 16}};
    struct workers_spec spec = {.n_lanes = 2,
                                .n_ranks = 1,
                                .n_events = 2,
                                .lanes = lanes,
                                .event_lane = event_lane,
                                .stop = stop,
                                .run = fail_at_three,
                                .user = ran};
    return workers_open(&spec, error);
}

/* The failing lane's own later jobs and a lane that waits for it are dropped; the first error is told. */
static void test_failing_job(void)
{
    GError *error = NULL;
    atomic_int stop = 0;
    uint32_t ran[2] = {0};
    struct workers *all = open_workers(&stop, ran, -1, &error);
    g_assert_no_error(error);
    for (uint32_t i = 0; i < 6; i++)
        workers_give(all, 0, &(struct job){.id = i});
    workers_record(all, 0, 0, 0);
    workers_wait(all, 1, 0, 0);
    workers_give(all, 1, &(struct job){.id = 0});
    workers_record(all, 1, 1, 0);
    g_assert_cmpint(workers_reach(all, 1, 0, NULL, &error), ==, WORKERS_FAILED);
    g_assert_cmpstr(error->message, ==, "three");
    g_clear_error(&error);
    workers_close(all);
    g_assert_cmpuint(ran[0], ==, 4);
    g_assert_cmpuint(ran[1], ==, 0);
}

/* Asked at a glance: busy until all is done or, once a job has failed, dropped. */
static void test_glance(void)
{
    GError *error = NULL;
    atomic_int stop = 0;
    uint32_t ran[2] = {0};
    struct workers *all = open_workers(&stop, ran, -1, &error);
    g_assert_no_error(error);
    g_assert_true(workers_idle(all));
    workers_wait(all, 1, 0, 0);
    workers_give(all, 1, &(struct job){.id = 0});
    g_assert_false(workers_idle(all)); /* nobody records what it waits for */
    g_assert_false(workers_failed(all, NULL));
    workers_record(all, 0, 0, 0);
    while (!workers_idle(all))
        g_usleep(100);
    g_assert_cmpuint(ran[1], ==, 1);
    workers_wait(all, 1, 0, 1);
    workers_give(all, 0, &(struct job){.id = 3});
    while (!workers_failed(all, &error))
        g_usleep(100);
    g_assert_cmpstr(error->message, ==, "three");
    g_clear_error(&error);
    while (!workers_idle(all))
        g_usleep(100);
    workers_close(all);
}

static void test_thread_refused(void)
{
    GError *error = NULL;
    atomic_int stop = 0;
    uint32_t ran[2] = {0};
    g_assert_null(open_workers(&stop, ran, 8000, &error)); /* no such CPU */
    g_assert_error(error, ENGINE_ERROR, ENGINE_ERROR_FAILED);
    g_clear_error(&error);
}

static void test_placing(void)
{
    static const int cpus[] = {4, 6, 5, 7, 9};
    static const struct {
        uint32_t n_cpus;
        int of_lane[2 * LANES];
    } cases[] = {
        {3, {-1, -1, -1, -1, -1, -1, -1, -1}}, /* fewer than compute lanes: nothing */
        {4, {4, 6, 4, 4, 5, 7, 5, 5}},
        {5, {4, 6, 4, 4, 5, 7, 5, 5}}, /* not enough for both comm lanes */
    };
    struct model *model = tiny_model(DTYPE_F32);
    struct plan plan;
    begin_plan(&plan, model, 2);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        int of_lane[2 * LANES];
        host_place(&plan, cpus, cases[i].n_cpus, of_lane);
        g_assert_cmpmem(of_lane, sizeof of_lane, cases[i].of_lane, sizeof cases[i].of_lane);
    }
    static const int six[] = {0, 1, 2, 3, 4, 5};
    static const int own[2 * LANES] = {0, 1, 0, 4, 2, 3, 2, 5};
    int of_lane[2 * LANES];
    host_place(&plan, six, 6, of_lane);
    g_assert_cmpmem(of_lane, sizeof of_lane, own, sizeof own);
    plan_release(&plan);
    model_free(model);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/run/cancel", test_cancel);
    g_test_add_func("/run/too-big", test_too_big);
    g_test_add_func("/run/bad-jitter", test_bad_jitter);
    g_test_add_func("/run/whole-allreduce", test_whole_allreduce);
    g_test_add_func("/run/failing-job", test_failing_job);
    g_test_add_func("/run/glance", test_glance);
    g_test_add_func("/run/thread-refused", test_thread_refused);
    g_test_add_func("/run/placing", test_placing);
    return g_test_run();
}
