#include "viz/ddp-times.h"

#include <string.h>

#include "profile/index.h"

#define PARTS 4 /* buckets of what shows an order only */

static const char *const names[DDP_PLACES] = {"none", "backward", "optimizer"};

static int64_t last_of(const struct intervals *v)
{
    return v->n ? v->v[v->n - 1].end_ns : 0;
}

static void shift(struct intervals *v, int64_t by_ns)
{
    for (size_t i = 0; i < v->n; i++) {
        v->v[i].start_ns -= by_ns;
        v->v[i].end_ns -= by_ns;
    }
}

/* By ops, of which some take no time.  Of backward the passes alone: a bucket's copy back into the gradients waits for it. */
static enum ddp_place place_of(const struct trace *trace, const struct analysis *a)
{
    int64_t backward_end = 0, comm_start = INT64_MAX, comm_end = 0, optimizer_start = INT64_MAX;

    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        const unsigned kind = op->tag.kind;
        if (op->tag.step != a->median_step || trace->t.lanes[op->lane].rank != a->slowest_rank)
            continue;
        if (kind == OP_BWD || kind == OP_BWD_INPUT || kind == OP_BWD_WEIGHT)
            backward_end = MAX(backward_end, op->end_ns);
        if (kind == OP_OPTIM)
            optimizer_start = MIN(optimizer_start, op->start_ns);
        if (op_phase(kind) == PHASE_COMM && op->tag.bucket != OP_NONE) {
            comm_start = MIN(comm_start, op->start_ns);
            comm_end = MAX(comm_end, op->end_ns);
        }
    }
    return optimizer_start < comm_end ? DDP_BESIDE_OPTIMIZER : comm_start < backward_end ? DDP_BESIDE_BACKWARD : DDP_AFTER;
}

static void release(struct ddp_times *t)
{
    for (unsigned p = 0; p < PHASES; p++)
        intervals_release(&t->phase[p]);
}

static void end(struct ddp_times *t)
{
    for (unsigned p = 0; p < PHASES; p++)
        t->end_ns = MAX(t->end_ns, last_of(&t->phase[p]));
}

static enum ddp_place from_trace(struct ddp_times *all, const struct trace *trace, const struct analysis *a)
{
    struct ddp_times t = {.step_ns = a->median_ns, .drawn = true};
    struct index index;

    index_init(&index, trace);
    const int64_t start_ns = index_window(&index, a->median_step, a->slowest_rank).start_ns;
    for (unsigned p = 0; p < PHASES; p++) {
        t.phase[p] = index_phase(&index, a->median_step, a->slowest_rank, p);
        shift(&t.phase[p], start_ns);
    }
    index_release(&index);
    end(&t);
    const enum ddp_place place = place_of(trace, a);
    release(&all[place]);
    all[place] = t;
    return place;
}

/* One after another; beside backward bucket after bucket; and beside the optimizer, whose step of a bucket follows it. */
static void show_order(struct ddp_times *t, enum ddp_place place, const int64_t *phase_ns)
{
    const int64_t forward = phase_ns[PHASE_FORWARD], backward = phase_ns[PHASE_BACKWARD], comm = phase_ns[PHASE_COMM],
                  optimizer = phase_ns[PHASE_OPTIMIZER];
    int64_t sent = 0, stepped = forward + backward;

    intervals_add(&t->phase[PHASE_FORWARD], 0, forward);
    intervals_add(&t->phase[PHASE_BACKWARD], forward, forward + backward);
    for (int64_t i = 1; i <= PARTS; i++) {
        const int64_t ready = forward + (place == DDP_AFTER ? backward : backward / PARTS * i), start = MAX(ready, sent);
        sent = start + comm / PARTS;
        intervals_add(&t->phase[PHASE_COMM], start, sent);
        if (place != DDP_BESIDE_OPTIMIZER)
            continue;
        const int64_t from = MAX(stepped, sent);
        intervals_add(&t->phase[PHASE_OPTIMIZER], from, stepped = from + optimizer / PARTS);
    }
    if (place != DDP_BESIDE_OPTIMIZER)
        intervals_add(&t->phase[PHASE_OPTIMIZER], MAX(stepped, sent), MAX(stepped, sent) + optimizer);
    end(t);
}

static void from_rows(struct ddp_times *all, const struct digest *d)
{
    for (uint32_t i = 0; i < d->n_rows; i++)
        for (unsigned place = 0; place < DDP_PLACES; place++)
            if (!strcmp(d->rows[i].name, names[place]))
                all[place].step_ns = d->rows[i].step_ns;
}

void ddp_times_make(struct ddp_times *all, const struct figure_input *in, enum ddp_place *own)
{
    int64_t phase_ns[PHASES] = {0};
    const int64_t *known = in->trace                          ? in->analysis->phase_ns
                           : in->digest && in->digest->n_rows ? in->digest->rows[in->digest->n_rows - 1].phase_ns
                                                              : NULL;

    *own = DDP_PLACES;
    memset(all, 0, DDP_PLACES * sizeof *all);
    for (unsigned place = 0; place < DDP_PLACES; place++)
        all[place].step_ns = -1;
    for (uint32_t i = 0; in->trace && i < in->n_others; i++)
        from_trace(all, in->others[i].trace, in->others[i].analysis);
    if (in->trace)
        *own = from_trace(all, in->trace, in->analysis);
    else
        from_rows(all, in->digest);
    for (unsigned p = 0; known && p < PHASES; p++)
        phase_ns[p] = CLAMP(known[p], 0, INT64_MAX / 16);
    for (unsigned place = 0; place < DDP_PLACES; place++)
        if (!all[place].drawn)
            show_order(&all[place], place, phase_ns);
}

void ddp_times_release(struct ddp_times *all)
{
    for (unsigned place = 0; place < DDP_PLACES; place++)
        release(&all[place]);
}
