#include "exec/cuda/run.h"
#include "profile/collect.h"

/* As the main thread's: CUDA, cuBLAS and NCCL say nowhere what they need. */
#define STACK_BYTES ((size_t)8 << 20)

enum job_kind { JOB_BEGIN, JOB_LAUNCH, JOB_RECORD, JOB_WAIT };

/* --- on a rank's thread */

static bool input(struct cuda *c, uint32_t id, uint32_t step, cudaStream_t stream, uint32_t rank,
                  GError **error)
{
    const struct op *op = &c->plan->ops[id];
    const uint32_t data_step = run_data_step(c->run, step);
    const struct samples s = plan_samples(c->plan, id);
    const uint32_t at = compute_data_step(c->plan, id, data_step);
    const uint64_t bytes = c->plan->values[c->plan->accesses[op->first_access].value].bytes;
    void *pinned = c->ops[id].pinned[step % PINNED_SLOTS];
    data_deal(c->run, at, s.first, s.n, pinned);
    return !bytes ||
           cuda_ok(c,
                   cudaMemcpyAsync(c->mem[op->first_access], pinned, bytes, cudaMemcpyHostToDevice, stream),
                   "cudaMemcpyAsync", rank, error);
}

double *cuda_issue_loss(const struct cuda *c, uint32_t op, uint32_t step)
{
    return &c->ops[op].losses[step < c->run->warmup ? 0 : step - c->run->warmup + 1];
}

static bool keep_loss(struct cuda *c, uint32_t id, uint32_t step, cudaStream_t stream, uint32_t rank,
                      GError **error)
{
    double *slot = cuda_issue_loss(c, id, step);
    return cuda_ok(c,
                   cudaMemcpyAsync(slot, c->mem[c->plan->ops[id].first_access + 3], sizeof *slot,
                                   cudaMemcpyDeviceToHost, stream),
                   "cudaMemcpyAsync", rank, error);
}

static bool gang(struct cuda *c, uint32_t id, GError **error)
{
    const struct op *op = &c->plan->ops[id];
    void *const *mem = c->mem + op->first_access;
    if (c->nccl && comm_nccl_has(c->nccl, op->tag.gang))
        return comm_nccl_gang(c->nccl, id, mem, error);
    return comm_p2p_gang(c->p2p, id, mem, error);
}

static bool compute(struct cuda *c, uint32_t id, uint32_t step, uint32_t rank, GError **error)
{
    const struct op *op = &c->plan->ops[id];
    const struct gpu_lane *lane = &c->lanes[op->lane];
    const int status =
        compute_op(&c->compute, lane->kernels, id, run_data_step(c->run, step), c->mem + op->first_access);
    if (status) {
        g_autofree char *call = g_strdup_printf(
            "%s for %s", status < K_CUDA_BLAS ? "cudaLaunchKernel" : "cuBLAS", c->ops[id].name);
        return cuda_fail(error, call, status, rank, c->ranks[rank].device);
    }
    return op->tag.kind != OP_LOSS || keep_loss(c, id, step, lane->stream, rank, error);
}

static bool run_op(struct cuda *c, uint32_t id, uint32_t step, uint32_t rank, GError **error)
{
    const struct op *op = &c->plan->ops[id];
    if (op->tag.gang != OP_NONE)
        return gang(c, id, error);
    if (op->tag.kind == OP_INPUT)
        return input(c, id, step, c->lanes[op->lane].stream, rank, error);
    return compute(c, id, step, rank, error);
}

static bool record(struct cuda *c, uint32_t id, uint32_t step, uint32_t rank, GError **error)
{
    const cudaEvent_t event = c->ops[id].end[cuda_slot(step)];
    if (!cuda_ok(c, cudaEventRecord(event, c->lanes[c->plan->ops[id].lane].stream), "cudaEventRecord", rank,
                 error))
        return false;
    atomic_store(&c->ops[id].recorded, step + 1);
    return true;
}

static bool launch(struct cuda *c, uint32_t id, uint32_t step, uint32_t rank, GError **error)
{
    struct gpu_op *o = &c->ops[id];
    const struct gpu_lane *lane = &c->lanes[c->plan->ops[id].lane];
    if (c->timed &&
        !cuda_ok(c, cudaEventRecord(o->begin[cuda_slot(step)], lane->stream), "cudaEventRecord", rank, error))
        return false;
    const struct k_cuda_counts before = k_cuda_counted(lane->kernels);
    if (c->collecting)
        collect_push(step, id, o->name);
    const bool done = run_op(c, id, step, rank, error);
    if (c->collecting)
        collect_pop();
    const struct k_cuda_counts after = k_cuda_counted(lane->kernels);
    o->launched = (struct k_cuda_counts){after.own - before.own, after.products - before.products};
    if (!done || (cuda_records_itself(c, id) && !record(c, id, step, rank, error)))
        return false;
    atomic_store(&o->issued, step + 1);
    return true;
}

static bool wait_event(struct cuda *c, const struct job *job, uint32_t rank, GError **error)
{
    return cuda_ok(
        c, cudaStreamWaitEvent(c->lanes[job->lane].stream, c->ops[job->id].end[cuda_slot(job->step)], 0),
        "cudaStreamWaitEvent", rank, error);
}

static bool run_call(struct cuda *c, uint32_t rank, const struct job *job, GError **error)
{
    switch (job->what) {
    case JOB_BEGIN:
        return cuda_use(c, rank, error);
    case JOB_RECORD:
        return record(c, job->id, job->step, rank, error);
    case JOB_WAIT:
        return wait_event(c, job, rank, error);
    default:
        return launch(c, job->id, job->step, rank, error);
    }
}

static bool run_job(void *user, uint32_t rank, const struct job *job, int64_t ready_ns, int64_t *end_ns,
                    GError **error)
{
    struct cuda *c = user;
    atomic_store(&c->ranks[rank].op, job->id);
    const bool done = run_call(c, rank, job, error);
    atomic_store(&c->ranks[rank].op, OP_NONE);
    atomic_fetch_add(&c->ranks[rank].calls, 1);
    *end_ns = ready_ns;
    if (!done) { /* the peers may wait for this rank's call; NCCL is stopped by the walker's thread */
        atomic_store(&c->stop, 1);
        comm_p2p_abort(c->p2p);
    }
    return done;
}

/* --- before the first step */

static bool rehearse_op(struct cuda *c, uint32_t id, GError **error)
{
    const uint32_t lane = c->plan->ops[id].lane, rank = c->plan->t.lanes[lane].rank;
    return cuda_use(c, rank, error) && run_op(c, id, 0, rank, error) &&
           cuda_ok(c, cudaStreamSynchronize(c->lanes[lane].stream), "cudaStreamSynchronize", rank, error);
}

/* What they read may be a place in a table: there must be numbers.  What no step writes is none afterwards.
 */
bool cuda_issue_rehearse(struct cuda *c, GError **error)
{
    if (!cuda_memory_fill(c, 0, error))
        return false;
    for (uint32_t i = 0; i < c->plan->n_ops; i++) {
        const uint32_t id = c->plan->order[i];
        cuda_enter(c, "the first run of each operation");
        if (c->plan->ops[id].tag.gang == OP_NONE && !rehearse_op(c, id, error))
            return false;
    }
    return cuda_memory_fill(c, 0xff, error);
}

/* --- on the walker's thread */

/* Two steps of a rank: for each op its launch and record, its waits, and the join of the lanes. */
static uint32_t capacity(const struct plan *plan, uint32_t rank)
{
    uint32_t ops = 0, deps = 0, lanes = 0;
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        lanes += plan->t.lanes[i].rank == rank;
    for (uint32_t i = 0; i < plan->n_ops; i++)
        if (plan->t.lanes[plan->ops[i].lane].rank == rank) {
            ops++;
            deps += plan->ops[i + 1].first_dep - plan->ops[i].first_dep;
        }
    return 2 * (2 * ops + deps + lanes * lanes) + 2;
}

bool cuda_issue_open(struct cuda *c, GError **error)
{
    const uint32_t n = c->plan->t.n_ranks;
    g_autofree struct worker_spec *threads = g_new(struct worker_spec, n);
    for (uint32_t i = 0; i < n; i++)
        threads[i] = (struct worker_spec){.rank = i, .cpu = -1, .capacity = capacity(c->plan, i)};
    const struct workers_spec spec = {.n_lanes = n,
                                      .n_ranks = n,
                                      .lanes = threads,
                                      .stack_bytes = STACK_BYTES,
                                      .stop = &c->stop,
                                      .run = run_job,
                                      .user = c};
    c->workers = workers_open(&spec, error);
    for (uint32_t i = 0; i < n && c->workers; i++)
        workers_give(c->workers, i, &(struct job){.what = JOB_BEGIN, .id = OP_NONE});
    return c->workers != NULL;
}

static void give(struct cuda *c, enum job_kind what, uint32_t lane, uint32_t op, uint32_t step)
{
    workers_give(c->workers, c->plan->t.lanes[lane].rank,
                 &(struct job){.what = what, .id = op, .step = step, .lane = lane});
}

void cuda_issue_launch(struct cuda *c, uint32_t op, uint32_t step)
{
    give(c, JOB_LAUNCH, c->plan->ops[op].lane, op, step);
}

void cuda_issue_record(struct cuda *c, uint32_t op, uint32_t step)
{
    if (!cuda_records_itself(c, op))
        give(c, JOB_RECORD, c->plan->ops[op].lane, op, step);
}

void cuda_issue_wait(struct cuda *c, uint32_t lane, uint32_t op, uint32_t step)
{
    give(c, JOB_WAIT, lane, op, step);
}
