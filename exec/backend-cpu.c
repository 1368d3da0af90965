#include "exec/backend-cpu.h"

#include <string.h>
#include <time.h>

#include "exec/arena.h"
#include "exec/comm.h"
#include "exec/compute.h"
#include "exec/data.h"
#include "exec/host.h"
#include "exec/random.h"
#include "exec/state.h"
#include "exec/workers.h"
#include "profile/clock.h"
#include "profile/trace.h"

/* What a thread reserves without using it: its stack, the allocator's arena, OpenBLAS's buffer, which it asks
 * for again and again where there is no room. */
#define THREAD_ADDRESS_BYTES ((uint64_t)208 << 20)
#define BLAS_BUFFER_BYTES    ((uint64_t)32 << 20) /* OpenBLAS maps one a thread */
#define JITTER_MAX_NS        400000

enum job_kind {
    JOB_OP,   /* id: op */
    JOB_INIT, /* id: rank; what is live in: zeros, and the weights that this rank makes */
    JOB_COPY  /* id: rank; the weights that others made */
};

struct cpu {
    const struct run *run;
    const struct plan *plan;
    struct compute compute;
    struct workers *workers;
    struct comm *comm;
    struct arenas arenas;
    void **mem;       /* by access */
    uint32_t *maker;  /* by value: the one of equal weights that is made, the others are its copies */
    uint32_t *home;   /* by rank: the lane that sets its memory up */
    uint64_t *jitter; /* by lane: state of its delays */
    bool jittered, poisoned;
    uint32_t poisoned_step; /* the last before which memory was poisoned */
    atomic_int stop;
};

static const struct k_table *kernels_of(const struct model *model)
{
    return model->dtype == DTYPE_F64 ? &k_ref_f64 : &k_cpu_f32;
}

static void *cpu_cell(void *backend, uint32_t value)
{
    return arenas_cell(&((struct cpu *)backend)->arenas, value);
}

static bool is_weight(const struct plan *plan, uint32_t value)
{
    const struct value *v = &plan->values[value];
    return v->cls == VALUE_WEIGHT && v->root == value && v->flags & VALUE_LIVE_IN;
}

/* --- memory */

static uint64_t add_sizes(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Two steps of a lane: for each op its job and record, its waits, and the join of the rank. */
static uint32_t lane_capacity(const struct plan *plan, uint32_t lane)
{
    uint32_t ops = 0, deps = 0;
    for (uint32_t i = 0; i < plan->n_ops; i++)
        if (plan->ops[i].lane == lane) {
            ops++;
            deps += plan->ops[i + 1].first_dep - plan->ops[i].first_dep;
        }
    return 2 * (2 * ops + deps + plan->t.n_lanes) + 1;
}

uint64_t cpu_extra_bytes(const struct plan *plan, const struct model *model)
{
    g_autofree struct worker_spec *lanes = g_new0(struct worker_spec, plan->t.n_lanes);
    uint64_t blas_threads = 0;
    for (uint32_t i = 0; i < plan->t.n_lanes; i++) {
        lanes[i].capacity = lane_capacity(plan, i);
        blas_threads += plan->t.lanes[i].cls == LANE_COMPUTE && model->dtype == DTYPE_F32;
    }
    struct workers_spec spec = {
        .n_lanes = plan->t.n_lanes, .n_ranks = plan->t.n_ranks, .n_events = plan->n_ops, .lanes = lanes};
    return workers_bytes(&spec) + comm_bytes(plan) + blas_threads * BLAS_BUFFER_BYTES +
           plan->n_accesses * (uint64_t)sizeof(void *) + plan->n_values * (uint64_t)sizeof(uint32_t) +
           plan->n_ops * 2 * (uint64_t)(3 * sizeof(int64_t) + sizeof(double)) +
           plan->t.n_ranks * (uint64_t)(sizeof(char *) + 2 * sizeof(uint32_t)) +
           plan->t.n_lanes * (uint64_t)sizeof(uint64_t);
}

/* One decimal, with a point whatever the locale. */
static char *gib(uint64_t bytes)
{
    uint64_t tenths = (bytes & ((UINT64_C(1) << 30) - 1)) * 10 >> 30;
    return g_strdup_printf("%" G_GUINT64_FORMAT ".%u", bytes >> 30, (unsigned)tenths);
}

static bool check_memory(const struct run *run, GError **error)
{
    uint64_t available = host_memory_available(), need = cpu_extra_bytes(run->plan, run->model);
    uint64_t trace_bytes_a_step =
        run->plan->n_ops * (uint64_t)(sizeof(struct trace_op) + sizeof(struct trace_span));
    need = add_sizes(need, run->steps * trace_bytes_a_step);
    for (uint32_t i = 0; i < run->plan->t.n_ranks; i++)
        need = add_sizes(need, run->plan->arena_bytes[i]);
    uint64_t address_space = add_sizes(need, run->plan->t.n_lanes * THREAD_ADDRESS_BYTES);
    if (address_space > host_address_space_left()) {
        g_set_error(error, ENGINE_ERROR, ENGINE_ERROR_TOO_BIG,
                    "%u ranks need %" G_GUINT64_FORMAT
                    " bytes of address space, more than its limit leaves; raise it "
                    "(ulimit -v), or try fewer ranks",
                    run->plan->t.n_ranks, address_space);
        return false;
    }
    if (need <= available)
        return true;
    g_autofree char *needed = gib(need), *left = gib(available);
    g_set_error(error, ENGINE_ERROR, ENGINE_ERROR_TOO_BIG,
                "%u ranks need %" G_GUINT64_FORMAT
                " bytes (%s GiB), and %s GiB of memory are available here; "
                "try fewer ranks, a smaller batch or a smaller model",
                run->plan->t.n_ranks, need, needed, left);
    return false;
}

static void set_pointers(struct cpu *cpu)
{
    const struct plan *plan = cpu->plan;
    for (uint32_t i = 0; i < plan->n_accesses; i++)
        cpu->mem[i] = cpu_cell(cpu, plan->accesses[i].value);
    for (uint32_t i = plan->t.n_lanes; i-- > 0;)
        cpu->home[plan->t.lanes[i].rank] = i;
    for (uint32_t i = plan->t.n_lanes; i-- > 0;)
        if (plan->t.lanes[i].cls == LANE_COMPUTE)
            cpu->home[plan->t.lanes[i].rank] = i;
}

/* What is live in and no weight, such as what an optimizer remembers, is 0 before the first step, or what it
 * was. */
static void clear(struct cpu *cpu, uint32_t rank)
{
    for (uint32_t i = 0; i < cpu->plan->n_values; i++) {
        const struct value *v = &cpu->plan->values[i];
        if (v->flags & VALUE_LIVE_IN && v->cls != VALUE_WEIGHT && v->root == i && v->rank == rank &&
            v->bytes && !state_put(cpu->run->begin, v, cpu_cell(cpu, i)))
            memset(cpu_cell(cpu, i), 0, v->bytes);
    }
}

/* Layer l of k equal ones is made by the (l mod k)-th: the ranks share the work. */
static void choose_makers(struct cpu *cpu)
{
    const struct plan *plan = cpu->plan;
    uint32_t *count = g_new0(uint32_t, plan->t.n_layers + 1), *maker = g_new0(uint32_t, plan->t.n_layers + 1);
    uint32_t *seen = g_new0(uint32_t, plan->t.n_layers + 1);
    for (uint32_t i = 0; i < plan->n_values; i++)
        if (is_weight(plan, i))
            count[plan->values[i].index]++;
    for (uint32_t i = 0; i < plan->n_values; i++)
        if (is_weight(plan, i)) {
            uint32_t layer = plan->values[i].index;
            if (seen[layer]++ == layer % count[layer])
                maker[layer] = i;
        }
    for (uint32_t i = 0; i < plan->n_values; i++)
        cpu->maker[i] = is_weight(plan, i) ? maker[plan->values[i].index] : i;
    g_free(count);
    g_free(maker);
    g_free(seen);
}

static void make_weights(struct cpu *cpu, uint32_t rank)
{
    for (uint32_t i = 0; i < cpu->plan->n_values; i++)
        if (is_weight(cpu->plan, i) && cpu->plan->values[i].rank == rank && cpu->maker[i] == i &&
            !state_put(cpu->run->begin, &cpu->plan->values[i], cpu_cell(cpu, i)))
            data_init_layer(cpu->run->model, cpu->plan->values[i].index, cpu->run->seed, cpu_cell(cpu, i));
}

static void copy_weights(struct cpu *cpu, uint32_t rank)
{
    for (uint32_t i = 0; i < cpu->plan->n_values; i++)
        if (is_weight(cpu->plan, i) && cpu->plan->values[i].rank == rank && cpu->maker[i] != i)
            memcpy(cpu_cell(cpu, i), cpu_cell(cpu, cpu->maker[i]), cpu->plan->values[i].bytes);
}

/* --- jobs, on a lane's thread */

static void delay(struct cpu *cpu, uint32_t lane)
{
    uint64_t r = random_next(&cpu->jitter[lane]);
    struct timespec t = {.tv_nsec = (long)(r >> 8) % JITTER_MAX_NS};
    if (r & 3)
        nanosleep(&t, NULL);
}

static bool compute(struct cpu *cpu, const struct job *job, void *const *mem, GError **error)
{
    const struct op_tag *tag = &cpu->plan->ops[job->id].tag;
    const uint32_t data_step = run_data_step(cpu->run, job->step);
    if (tag->kind == OP_INPUT) {
        const struct samples s = plan_samples(cpu->plan, job->id);
        const uint32_t at = compute_data_step(cpu->plan, job->id, data_step);
        data_deal(cpu->run, at, s.first, s.n, mem[0]);
        return true;
    }
    int status = compute_op(&cpu->compute, NULL, job->id, data_step, mem);
    if (status) {
        g_autofree char *text = plan_op_text(cpu->plan, job->id);
        g_set_error(error, ENGINE_ERROR, ENGINE_ERROR_FAILED, "%s: a kernel failed with status %d", text,
                    status);
        return false;
    }
    if (tag->kind == OP_LOSS)
        memcpy(&job->timing->loss[job->id], mem[3], sizeof(double));
    return true;
}

/* As long as the part of what the op itself worked, on the same core: what stretches one stretches the other. */
static void inject_delay(const struct cpu *cpu, int64_t worked_ns)
{
    const int64_t from_ns = clock_thread_ns(), wanted_ns = (int64_t)(cpu->run->delay * (double)worked_ns);
    while (clock_thread_ns() - from_ns < wanted_ns)
        continue;
}

static bool run_op(struct cpu *cpu, uint32_t lane, const struct job *job, int64_t ready_ns, int64_t *end_ns,
                   GError **error)
{
    const struct op *op = &cpu->plan->ops[job->id];
    void *const *mem = cpu->mem + op->first_access;
    bool gang = op->tag.gang != OP_NONE, done = true;
    if (cpu->jittered)
        delay(cpu, lane);
    int64_t start_ns = gang && !cpu->jittered ? ready_ns : clock_ns(), worked_ns = clock_thread_ns();
    if (gang) {
        *end_ns = comm_gang(cpu->comm, job->id, mem, start_ns);
        done = *end_ns >= 0;
    } else {
        done = compute(cpu, job, mem, error);
        if (cpu->run->delay > 0 && cpu->plan->t.lanes[lane].cls == LANE_COMPUTE)
            inject_delay(cpu, clock_thread_ns() - worked_ns);
        *end_ns = clock_ns();
    }
    if (!done)
        return false;
    job->timing->work_ns[job->id] = clock_thread_ns() - worked_ns;
    job->timing->start_ns[job->id] = start_ns;
    job->timing->end_ns[job->id] = *end_ns;
    return true;
}

static bool run_job(void *user, uint32_t lane, const struct job *job, int64_t ready_ns, int64_t *end_ns,
                    GError **error)
{
    struct cpu *cpu = user;
    if (job->what == JOB_OP) {
        if (run_op(cpu, lane, job, ready_ns, end_ns, error))
            return true;
        comm_abort(cpu->comm);
        return false;
    }
    if (job->what == JOB_INIT) {
        make_weights(cpu, job->id);
        clear(cpu, job->id);
    } else if (job->what == JOB_COPY)
        copy_weights(cpu, job->id);
    *end_ns = clock_ns();
    return true;
}

/* --- the backend */

static void cpu_abort(void *backend)
{
    struct cpu *cpu = backend;
    workers_abort(cpu->workers);
    comm_abort(cpu->comm);
}

static bool settle(struct cpu *cpu, enum workers_outcome outcome)
{
    if (outcome == WORKERS_CANCELLED)
        cpu_abort(cpu);
    return outcome != WORKERS_FAILED;
}

static bool cpu_sync(void *backend, GError **error)
{
    struct cpu *cpu = backend;
    return settle(cpu, workers_drain(cpu->workers, cpu->run->cancel, error));
}

static bool cpu_reach(void *backend, uint32_t event, uint32_t step, GError **error)
{
    struct cpu *cpu = backend;
    return settle(cpu, workers_reach(cpu->workers, event, step, cpu->run->cancel, error));
}

static bool on_every_rank(struct cpu *cpu, enum job_kind kind, GError **error)
{
    for (uint32_t i = 0; i < cpu->plan->t.n_ranks; i++)
        if (cpu->home[i] != OP_NONE)
            workers_give(cpu->workers, cpu->home[i], &(struct job){.what = kind, .id = i});
    return cpu_sync(cpu, error);
}

static bool cpu_reset(void *backend, GError **error)
{
    return on_every_rank(backend, JOB_INIT, error) && on_every_rank(backend, JOB_COPY, error);
}

static bool start_workers(struct cpu *cpu, GError **error)
{
    const struct plan *plan = cpu->plan;
    uint32_t n_cpus;
    g_autofree int *cpus = host_cpus(&n_cpus);
    g_autofree int *cpu_of_lane = g_new(int, plan->t.n_lanes);
    g_autofree struct worker_spec *lanes = g_new(struct worker_spec, plan->t.n_lanes);
    g_autofree uint32_t *event_lane = g_new(uint32_t, plan->n_ops);
    host_place(plan, cpus, n_cpus, cpu_of_lane);
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        lanes[i] = (struct worker_spec){plan->t.lanes[i].rank, cpu_of_lane[i], lane_capacity(plan, i)};
    for (uint32_t i = 0; i < plan->n_ops; i++)
        event_lane[i] = plan->ops[i].lane;
    struct workers_spec spec = {.n_lanes = plan->t.n_lanes,
                                .n_ranks = plan->t.n_ranks,
                                .n_events = plan->n_ops,
                                .lanes = lanes,
                                .event_lane = event_lane,
                                .stop = &cpu->stop,
                                .run = run_job,
                                .user = cpu};
    cpu->workers = workers_open(&spec, error);
    return cpu->workers != NULL;
}

static void init_jitter(struct cpu *cpu, uint64_t seed)
{
    cpu->jitter = g_new(uint64_t, cpu->plan->t.n_lanes);
    for (uint32_t i = 0; i < cpu->plan->t.n_lanes; i++)
        cpu->jitter[i] = random_numbered(seed, i);
}

static bool open_memory(struct cpu *cpu, GError **error)
{
    const struct plan *plan = cpu->plan;
    cpu->mem = g_new(void *, plan->n_accesses);
    cpu->maker = g_new(uint32_t, plan->n_values);
    cpu->home = g_new(uint32_t, plan->t.n_ranks);
    memset(cpu->home, 0xff, plan->t.n_ranks * sizeof *cpu->home);
    if (!arenas_open(&cpu->arenas, plan, error))
        return false;
    if (cpu->poisoned)
        arenas_poison_all(&cpu->arenas);
    set_pointers(cpu);
    choose_makers(cpu);
    return true;
}

static bool cpu_open(const struct run *run, void **backend, GError **error)
{
    const struct plan *plan = run->plan;
    uint64_t seed = 0;
    struct cpu *cpu = *backend = g_new0(struct cpu, 1);
    g_assert(plan->sealed && plan->arena_bytes);
    cpu->run = run;
    cpu->plan = plan;
    cpu->compute = (struct compute){run, plan, run->model, kernels_of(run->model)};
    cpu->poisoned_step = OP_NONE;
    if (!cpu_jitter(&cpu->jittered, &seed, error) || !arenas_poisoned(&cpu->poisoned, error) ||
        !check_memory(run, error) || !open_memory(cpu, error))
        return false;
    init_jitter(cpu, seed);
    cpu->comm = comm_open(plan, cpu->compute.k, run->link_gbps, run->link_us, &cpu->stop, error);
    return cpu->comm && start_workers(cpu, error) && cpu_reset(cpu, error);
}

/* Once the step before is over. */
static bool poison(struct cpu *cpu, uint32_t step, GError **error)
{
    if (!cpu_sync(cpu, error))
        return false;
    cpu->poisoned_step = step;
    if (!atomic_load(&cpu->stop))
        arenas_poison_roots(&cpu->arenas);
    return true;
}

static bool cpu_launch(void *backend, uint32_t op, uint32_t step, const struct timing *timing, GError **error)
{
    struct cpu *cpu = backend;
    if (cpu->poisoned && cpu->poisoned_step != step && !poison(cpu, step, error))
        return false;
    workers_give(cpu->workers, cpu->plan->ops[op].lane,
                 &(struct job){.what = JOB_OP, .id = op, .step = step, .timing = timing});
    return true;
}

static bool cpu_record(void *backend, uint32_t lane, uint32_t event, uint32_t step, GError **error)
{
    struct cpu *cpu = backend;
    (void)error;
    workers_record(cpu->workers, lane, event, step);
    return true;
}

static uint64_t cpu_touched(void *backend, uint32_t rank, uint64_t offset, uint64_t bytes)
{
    return arenas_touched(&((struct cpu *)backend)->arenas, rank, offset, bytes);
}

static bool cpu_wait(void *backend, uint32_t lane, uint32_t event, uint32_t step, GError **error)
{
    struct cpu *cpu = backend;
    (void)error;
    workers_wait(cpu->workers, lane, event, step);
    return true;
}

static void cpu_close(void *backend)
{
    struct cpu *cpu = backend;
    if (!cpu)
        return;
    if (cpu->comm)
        comm_abort(cpu->comm);
    workers_close(cpu->workers);
    comm_close(cpu->comm);
    arenas_close(&cpu->arenas);
    g_free(cpu->mem);
    g_free(cpu->maker);
    g_free(cpu->home);
    g_free(cpu->jitter);
    g_free(cpu);
}

bool cpu_jitter(bool *on, uint64_t *seed, GError **error)
{
    const char *text = g_getenv("PARPROF_JITTER");
    *on = text != NULL;
    if (!text || g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT64, seed, NULL))
        return true;
    g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                "PARPROF_JITTER is \"%s\", not a whole number; set it to a seed such as 1, or unset it",
                text);
    return false;
}

const struct backend_ops backend_cpu = {
    .name = "cpu",
    .open = cpu_open,
    .reset = cpu_reset,
    .launch = cpu_launch,
    .record = cpu_record,
    .wait = cpu_wait,
    .reach = cpu_reach,
    .sync = cpu_sync,
    .cell = cpu_cell,
    .touched = cpu_touched,
    .abort = cpu_abort,
    .close = cpu_close,
};
