/* What a large pipeline costs the planner and the simulator: 1F1B with a layer a stage and sends between
 * neighbours, at unit costs; RANKS x CHUNKS are arguments, and how often to measure.  Each repetition is a
 * process of its own, whose memory is untouched (its code is not: a tiny plan was made before); then as many
 * in one process, which has the memory already. Prints the fastest, wall time (and the processor's of all of
 * it), and the greatest resident memory.  A virtual machine's host may take long to give memory that was not
 * used lately: the first repetition pays for that. */
#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plan/schedule.h"
#include "sim/cost-model.h"
#include "sim/sim.h"

enum { BUILD, SEAL, SIMULATE, TOTAL, CPU, TIMES };

struct times {
    double ms[TIMES];
    uint32_t n_ops;
    int64_t makespan_ns;
};

static double ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void build(const struct shape *shape, struct plan *plan)
{
    GError *error = NULL;
    if (!mode_pipeline.check(shape, &error))
        g_error("%s", error->message);
    plan_init(plan);
    mode_pipeline.build(shape, plan);
}

static void simulate(const struct plan *plan, const struct shape *shape, const struct cost_model *unit,
                     struct times *out)
{
    const struct run run = {.plan = plan, .model = shape->model, .costs = unit, .steps = 1};
    GError *error = NULL;
    if (!sim_step_ns(&run, &out->makespan_ns, &error))
        g_error("%s", error->message);
}

static struct times measure(const struct shape *shape, const struct cost_model *unit)
{
    struct times t;
    struct plan plan;
    GError *error = NULL;
    const double cpu = ms(CLOCK_PROCESS_CPUTIME_ID), start = ms(CLOCK_MONOTONIC);
    build(shape, &plan);
    const double built = ms(CLOCK_MONOTONIC);
    if (!plan_seal(&plan, &error))
        g_error("%s", error->message);
    const double sealed = ms(CLOCK_MONOTONIC);
    simulate(&plan, shape, unit, &t);
    const double end = ms(CLOCK_MONOTONIC);
    t.ms[BUILD] = built - start;
    t.ms[SEAL] = sealed - built;
    t.ms[SIMULATE] = end - sealed;
    t.ms[TOTAL] = end - start;
    t.ms[CPU] = ms(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    t.n_ops = plan.n_ops;
    plan_release(&plan);
    return t;
}

/* Each phase's own best. */
static void keep_best(struct times *best, const struct times *t)
{
    for (unsigned i = 0; i < TIMES; i++)
        best->ms[i] = MIN(best->ms[i], t->ms[i]);
    best->n_ops = t->n_ops;
    best->makespan_ns = t->makespan_ns;
}

static struct times measure_apart(const struct shape *shape, const struct cost_model *unit)
{
    struct shape tiny = *shape;
    tiny.batch = tiny.chunks = shape->ranks;
    struct times t;
    int ends[2], status;
    if (pipe(ends))
        g_error("no pipe");
    const pid_t child = fork();
    if (child == 0) {
        measure(&tiny, unit);
        t = measure(shape, unit);
        _exit(write(ends[1], &t, sizeof t) != sizeof t);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &t, sizeof t) != sizeof t || waitpid(child, &status, 0) < 0 || status)
        g_error("a measuring process failed");
    close(ends[0]);
    return t;
}

static void print(const char *what, const struct times *t)
{
    printf("  %s: build %.1f + seal %.1f + simulate %.1f ms; together %.1f ms (CPU %.1f), %.1f M ops/s\n",
           what, t->ms[BUILD], t->ms[SEAL], t->ms[SIMULATE], t->ms[TOTAL], t->ms[CPU],
           t->n_ops / t->ms[TOTAL] / 1e3);
}

static const struct times none = {.ms = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY}};

static void run(const struct shape *shape, const struct cost_model *unit, int repetitions, double bound_ms)
{
    struct times cold = none, warm = none;
    struct rusage usage;
    for (int i = 0; i < repetitions; i++) {
        const struct times t = measure_apart(shape, unit);
        keep_best(&cold, &t);
    }
    getrusage(RUSAGE_CHILDREN, &usage);
    printf("1F1B of %u ranks x %u micro-batches, %u ops, %.0f units: at most %.2f GiB resident\n",
           shape->ranks, shape->chunks, cold.n_ops, (double)cold.makespan_ns / 1e6,
           (double)usage.ru_maxrss / (1 << 20));
    print("in a fresh process", &cold);
    /* Freed memory is kept, so that what is repeated measures our code and not the kernel's page faults. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    for (int i = 0; i <= repetitions && repetitions > 1; i++) {
        const struct times t = measure(shape, unit);
        if (i)
            keep_best(&warm, &t);
    }
    if (repetitions > 1)
        print("again in one", &warm);
    if (bound_ms > 0)
        printf("  the bound that we set ourselves, no other tool measured here: %.0f ms; ratio %.2f\n",
               bound_ms, cold.ms[TOTAL] / bound_ms);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: bench-pipeline RANKS CHUNKS REPETITIONS [BOUND-MS]\n");
        return 2;
    }
    const uint32_t ranks = (uint32_t)atoi(argv[1]), chunks = (uint32_t)atoi(argv[2]);
    const struct model_override o = {.layers = MAX(ranks, 3) - 2, .d = 8, .vocab = 20, .seq = 2};
    struct model *model = model_load("mlp", &o, NULL);
    struct cost_model *unit = cost_unit_new("", NULL);
    const struct shape shape = {.model = model,
                                .ranks = ranks,
                                .batch = chunks,
                                .schedule = schedule_find("1f1b"),
                                .stages_per_rank = 1,
                                .chunks = chunks};
    run(&shape, unit, atoi(argv[3]), argc > 4 ? atof(argv[4]) : 0);
    cost_model_free(unit);
    model_free(model);
    return 0;
}
