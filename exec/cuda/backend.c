#include <stdlib.h>
#include <string.h>

#include "exec/cuda/run.h"

#define CONNECTIONS 8 /* of a context, unless CUDA_DEVICE_MAX_CONNECTIONS says otherwise */

bool cuda_ok(const struct cuda *c, int status, const char *call, uint32_t rank, GError **error)
{
    return status == 0 || cuda_fail(error, call, status, rank, c->ranks[rank].device);
}

bool cuda_use(const struct cuda *c, uint32_t rank, GError **error)
{
    return cuda_ok(c, cudaSetDevice((int)c->ranks[rank].device), "cudaSetDevice", rank, error);
}

void cuda_stop(struct cuda *c)
{
    if (c->aborted)
        return;
    c->aborted = true;
    atomic_store(&c->stop, 1);
    if (c->workers)
        workers_abort(c->workers);
    if (c->p2p)
        comm_p2p_abort(c->p2p);
    if (c->nccl)
        c->rested = c->stuck = !comm_nccl_abort(c->nccl);
}

/* --- whether it can be run */

/* A stream waits for events and reads memory of its rank's GPU. */
static bool check_devices(const struct plan *plan, GError **error)
{
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        for (uint32_t j = 0; j < i; j++)
            if (plan->t.lanes[i].rank == plan->t.lanes[j].rank &&
                plan->t.lanes[i].device != plan->t.lanes[j].device) {
                g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                            "rank %u has lanes on devices %u and %u; on GPUs all of a rank is on one",
                            plan->t.lanes[i].rank, plan->t.lanes[j].device, plan->t.lanes[i].device);
                return false;
            }
    return true;
}

bool cuda_check(const struct plan *plan, GError **error)
{
    if (!check_devices(plan, error))
        return false;
    g_autofree uint32_t *device = g_new(uint32_t, plan->t.n_ranks);
    for (uint32_t i = 0; i < plan->t.n_ranks; i++)
        device[i] = cuda_device_of(plan, i);
    return !comm_nccl_wanted(plan, device) || comm_nccl_allows(device, plan->t.n_ranks, error);
}

/* --- open and close */

static void place_ranks(struct cuda *c)
{
    const struct plan *plan = c->plan;
    for (uint32_t i = 0; i < plan->t.n_ranks; i++) {
        struct gpu_rank *r = &c->ranks[i];
        r->device = c->device_of_rank[i] = cuda_device_of(plan, i);
        c->n_devices = MAX(c->n_devices, r->device + 1);
        atomic_init(&r->op, OP_NONE);
    }
    c->devices = g_new0(struct gpu_device, c->n_devices);
    for (uint32_t i = 0; i < plan->t.n_ranks; i++)
        c->ranks[i].share = c->devices[c->ranks[i].device].ranks++;
}

/* Ranks that share a GPU have more lanes on it than it has queues at first, and so has one with channels to
 * several peers.  Read when a context is made, which none is yet; what the user has set stays. */
static void raise_connections(const struct cuda *c)
{
    g_autofree uint32_t *lanes = g_new0(uint32_t, c->n_devices);
    for (uint32_t i = 0; i < c->plan->t.n_lanes; i++) {
        const uint32_t device = c->ranks[c->plan->t.lanes[i].rank].device;
        if (c->devices[device].ranks > 1 || ++lanes[device] > CONNECTIONS)
            setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    }
}

static struct cuda *create(const struct run *run)
{
    const struct plan *plan = run->plan;
    struct cuda *c = g_new0(struct cuda, 1);
    c->run = run;
    c->plan = plan;
    c->compute = (struct compute){run, plan, run->model, &k_cuda_f32};
    c->lanes = g_new0(struct gpu_lane, plan->t.n_lanes);
    c->ops = g_new0(struct gpu_op, plan->n_ops);
    c->ranks = g_new0(struct gpu_rank, plan->t.n_ranks);
    c->streams = g_new0(struct k_cuda_stream *, plan->t.n_lanes);
    c->device_of_rank = g_new(uint32_t, plan->t.n_ranks);
    for (uint32_t i = 0; i < plan->n_ops; i++)
        c->ops[i].name = plan_op_text(plan, i);
    place_ranks(c);
    raise_connections(c);
    return c;
}

static bool place(struct cuda *c, void *user, GError **error)
{
    (void)user;
    return cuda_memory_place(c, error) && cuda_times_restart(c, error);
}

static bool cuda_reset(void *backend, GError **error)
{
    return cuda_guard(backend, "placing the weights", place, NULL, error);
}

static bool open_all(struct cuda *c, void *user, GError **error)
{
    (void)user;
    cuda_times_open(c);
    cuda_enter(c, "allocating memory");
    return cuda_memory_open(c, error) && cuda_lanes_open(c, error) &&
           (!c->nccl || cuda_issue_rehearse(c, error));
}

static bool cuda_open_backend(const struct run *run, void **backend, GError **error)
{
    struct cuda *c = *backend = create(run);
    return cuda_guard(c, "starting CUPTI", open_all, NULL, error) &&
           cuda_issue_open(c, error) && cuda_watch_sync(c, error) && cuda_reset(c, error);
}

static bool cuda_stuck(void *backend)
{
    struct cuda *c = backend;
    if (!c->rested)
        c->stuck = !cuda_watch_rest(c);
    c->rested = true;
    return c->stuck;
}

/* What hangs keeps what it uses: the process must end. */
static void cuda_close(void *backend)
{
    struct cuda *c = backend;
    if (!c || cuda_stuck(c))
        return;
    cuda_stop(c);
    workers_close(c->workers);
    cuda_lanes_close(c);
    cuda_memory_close(c);
    cuda_times_close(c);
    cudaGetLastError();
    for (uint32_t i = 0; i < c->plan->n_ops; i++)
        g_free(c->ops[i].name);
    g_clear_error(&c->failed_cell);
    g_free(c->lanes);
    g_free(c->ops);
    g_free(c->ranks);
    g_free(c->devices);
    g_free(c->streams);
    g_free(c->device_of_rank);
    g_free(c);
}

/* --- the walker's calls */

static bool cuda_launch(void *backend, uint32_t op, uint32_t step, const struct timing *timing,
                        GError **error)
{
    (void)timing, (void)error;
    cuda_issue_launch(backend, op, step);
    return true;
}

static bool cuda_record(void *backend, uint32_t lane, uint32_t event, uint32_t step, GError **error)
{
    (void)lane, (void)error;
    cuda_issue_record(backend, event, step);
    return true;
}

static bool cuda_wait(void *backend, uint32_t lane, uint32_t event, uint32_t step, GError **error)
{
    (void)error;
    cuda_issue_wait(backend, lane, event, step);
    return true;
}

static bool cuda_reach(void *backend, uint32_t event, uint32_t step, GError **error)
{
    return cuda_watch_reach(backend, event, step, error);
}

struct gathering {
    uint32_t step;
    const struct timing *timing;
    size_t first_row;
    struct trace *trace;
};

static bool gather(struct cuda *c, void *user, GError **error)
{
    const struct gathering *g = user;
    return cuda_times_gather(c, g->step, g->timing, g->first_row, g->trace, error);
}

/* After a failure what still runs comes to rest first, and what hangs has no times worth reading. */
static bool cuda_gather(void *backend, uint32_t step, const struct timing *timing, size_t first_row,
                        struct trace *trace, GError **error)
{
    struct cuda *c = backend;
    struct gathering gathering = {step, timing, first_row, trace};
    return !(c->aborted && cuda_stuck(c)) &&
           cuda_guard(c, "taking the records of CUPTI", gather, &gathering, error);
}

static double cuda_loss(void *backend, uint32_t op, uint32_t step)
{
    return *cuda_issue_loss(backend, op, step);
}

static bool forget(struct cuda *c, void *user, GError **error)
{
    (void)user;
    return cuda_times_restart(c, error);
}

static bool cuda_forget(void *backend, GError **error)
{
    return cuda_guard(backend, "dropping the records of CUPTI", forget, NULL, error);
}

static bool cuda_sync(void *backend, GError **error)
{
    return cuda_watch_sync(backend, error);
}

static void *cuda_cell(void *backend, uint32_t value)
{
    return cuda_memory_cell(backend, value);
}

static void cuda_abort(void *backend)
{
    cuda_stop(backend);
}

const struct backend_ops backend_cuda = {
    .name = "cuda",
    .open = cuda_open_backend,
    .reset = cuda_reset,
    .launch = cuda_launch,
    .record = cuda_record,
    .wait = cuda_wait,
    .reach = cuda_reach,
    .loss = cuda_loss,
    .forget = cuda_forget,
    .gather = cuda_gather,
    .sync = cuda_sync,
    .cell = cuda_cell,
    .abort = cuda_abort,
    .close = cuda_close,
    .stuck = cuda_stuck,
};
