#include "viz/dp-step.h"

#include <stdlib.h>
#include <string.h>

#include "profile/gang.h"
#include "profile/interval.h"

static unsigned collective_of(const struct op_tag *t)
{
    const unsigned whole = op_collective(t->kind);

    return whole != COLLECTIVES ? whole : t->algo != ALLREDUCE_WHOLE ? t->collective : COLLECTIVES;
}

/* data: the collective that scatters the data, the first of its kind; any other scatters gradients. */
static enum dp_stage stage_of(const struct dp_step *s, const struct op_tag *t, uint32_t data)
{
    static const uint8_t moved[COLLECTIVES] = {DP_STAGES, DP_BROADCAST, DP_REDUCE, DP_STAGES, DP_GATHER, DP_STAGES};

    switch (t->kind) {
    case OP_FWD:
        return DP_FORWARD;
    case OP_LOSS:
        return s->loss_inside ? DP_RANK_LOSS : DP_LOSS;
    case OP_TOTAL:
        return DP_LOSS;
    case OP_BWD:
    case OP_BWD_INPUT:
    case OP_BWD_WEIGHT:
    case OP_RECOMPUTE:
        return DP_BACKWARD;
    case OP_OPTIM:
    case OP_NORM:
    case OP_CLIP:
        return DP_STEP;
    default:
        break;
    }
    if (op_phase(t->kind) != PHASE_COMM || collective_of(t) >= COLLECTIVES)
        return DP_STAGES;
    if (collective_of(t) == COLLECTIVE_SCATTER)
        return t->coll == data ? DP_SCATTER : DP_SCATTER_GRADIENT;
    return moved[collective_of(t)];
}

static uint32_t scatter_of_data(const struct trace *t, uint32_t step)
{
    uint32_t first = OP_NONE;

    for (size_t i = 0; i < t->n_ops; i++)
        if (t->ops[i].tag.step == step && op_phase(t->ops[i].tag.kind) == PHASE_COMM &&
            collective_of(&t->ops[i].tag) == COLLECTIVE_SCATTER)
            first = MIN(first, t->ops[i].tag.coll);
    return first;
}

/* --- times and bytes */

static int by_start(gconstpointer a, gconstpointer b)
{
    const struct interval *x = a, *y = b;

    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int64_t length(GArray *times)
{
    struct intervals all = {0};

    g_array_sort(times, by_start);
    for (guint i = 0; i < times->len; i++) {
        const struct interval *v = &g_array_index(times, struct interval, i);
        intervals_add(&all, v->start_ns, v->end_ns);
    }
    const int64_t ns = times->len ? intervals_length(&all) : -1;
    intervals_release(&all);
    return ns;
}

/* What this member receives of it, or of a whole collective what is not rank 0's. */
static uint64_t received(const struct op_tag *t, uint32_t rank)
{
    if (op_phase(t->kind) != PHASE_COMM)
        return 0;
    const bool whole = op_collective(t->kind) != COLLECTIVES;
    return (whole && rank > 0) || t->kind == OP_RECV || t->kind == OP_RECV_ADD ? t->bytes : 0;
}

static void measure(struct dp_step *s, const struct trace *trace, uint32_t step)
{
    const uint32_t data = scatter_of_data(trace, step);
    g_autofree int64_t *arrivals = gang_arrivals(trace);
    GArray *times[DP_STAGES];

    for (unsigned i = 0; i < DP_STAGES; i++)
        times[i] = g_array_new(FALSE, FALSE, sizeof(struct interval));
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        const enum dp_stage stage = op->tag.step == step ? stage_of(s, &op->tag, data) : DP_STAGES;
        const struct interval v = {MIN(MAX(op->start_ns, arrivals[i]), op->end_ns), op->end_ns};
        if (stage == DP_STAGES)
            continue;
        g_array_append_val(times[stage], v);
        s->bytes[stage] += received(&op->tag, trace->t.lanes[op->lane].rank);
    }
    for (unsigned i = 0; i < DP_STAGES; i++) {
        s->ns[i] = length(times[i]);
        g_array_unref(times[i]);
    }
}

/* --- shapes */

/* The number behind a letter in "classifier d768 c3 s128 f32"; 0: it has none. */
static uint64_t dimension(const char *shape, char letter)
{
    const char key[] = {' ', letter, '\0'};

    for (const char *at = shape ? strstr(shape, key) : NULL; at; at = strstr(at + 1, key))
        if (g_ascii_isdigit(at[2]))
            return g_ascii_strtoull(at + 2, NULL, 10);
    return 0;
}

static void find_shapes(struct dp_step *s, const struct trace *trace)
{
    uint64_t *positions = s->rows; /* samples x tokens, until the tokens are known */

    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        const struct cost_key *key = op->cost < trace->n_costs ? &trace->costs[op->cost] : NULL;
        if (!key || (op->tag.kind != OP_FWD && op->tag.kind != OP_LOSS))
            continue;
        const uint64_t vocabulary = dimension(key->shape, 'v');
        if (op->tag.kind == OP_LOSS) {
            s->per_token = vocabulary > 0;
            s->classes = vocabulary ? vocabulary : dimension(key->shape, 'c');
            continue;
        }
        s->seq = s->seq ? s->seq : dimension(key->shape, 's');
        positions[trace->t.lanes[op->lane].rank] = key->rows;
    }
    for (uint32_t rank = 0; rank < s->n_ranks; rank++) {
        s->rows[rank] = s->seq ? positions[rank] / s->seq : 0;
        s->batch += s->rows[rank];
    }
}

static void from_trace(struct dp_step *s, const struct trace *trace, uint32_t step)
{
    for (size_t i = 0; i < trace->n_ops; i++)
        s->loss_inside |= trace->ops[i].tag.kind == OP_TOTAL;
    for (uint32_t i = 0; i < trace->t.n_params; i++)
        s->weights += trace->t.params[i].bytes;
    measure(s, trace, step);
    find_shapes(s, trace);
}

static uint64_t option(const struct digest *d, const char *key)
{
    const char *text = digest_label(d->options, key);

    return text ? g_ascii_strtoull(text, NULL, 10) : 0;
}

/* Phases only; torch.chunk gives all ranks but the last as much. */
static void from_digest(struct dp_step *s, const struct digest *d)
{
    const struct digest_row *row = d->n_rows ? &d->rows[d->n_rows - 1] : NULL;
    uint64_t left;

    s->loss_inside = !g_strcmp0(digest_label(d->options, "gather"), "loss");
    s->seq = option(d, "seq_len");
    left = s->batch = option(d, "batch");
    const uint64_t each = (s->batch + s->n_ranks - 1) / s->n_ranks;
    for (uint32_t rank = 0; rank < s->n_ranks; left -= s->rows[rank++])
        s->rows[rank] = MIN(left, each);
    s->ns[DP_FORWARD] = row ? row->phase_ns[PHASE_FORWARD] : -1;
    s->ns[DP_BACKWARD] = row ? row->phase_ns[PHASE_BACKWARD] : -1;
    s->ns[DP_STEP] = row ? row->phase_ns[PHASE_OPTIMIZER] : -1;
}

bool dp_step_make(struct dp_step *s, const struct figure_input *in, GError **error)
{
    const char *mode = in->trace ? in->trace->t.mode : in->digest ? in->digest->mode : NULL;
    const uint32_t ranks = in->trace ? in->trace->t.n_ranks : in->digest ? in->digest->n_ranks : 0;

    if (!in->trace && !in->digest) {
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "figure dp needs a run or a report of --mode dp; a sweep has only totals");
        return false;
    }
    if (g_strcmp0(mode, "dp") || !ranks) {
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "figure dp needs a step of --mode dp, and this one is of %s",
                    mode ? mode : "an unknown mode");
        return false;
    }
    *s = (struct dp_step){.n_ranks = ranks, .rows = g_new0(uint64_t, ranks)};
    for (unsigned i = 0; i < DP_STAGES; i++)
        s->ns[i] = -1;
    if (in->trace)
        from_trace(s, in->trace, in->analysis->median_step);
    else
        from_digest(s, in->digest);
    return true;
}

void dp_step_release(struct dp_step *s)
{
    g_free(s->rows);
}
