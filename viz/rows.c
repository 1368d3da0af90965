#include "viz/rows.h"

#include "viz/palette.h"

/* What collecting needs to look up.  Freed with it. */
struct collector {
    const struct trace *trace;
    uint32_t step;
    int64_t start_ns, end_ns;        /* of the step; absolute */
    struct row *rows, **row_of_lane; /* NULL: not shown */
    GArray **waits;                  /* of each row, struct interval in any order */
    int64_t *gang_start_ns;          /* arrival of its last member; gangs at or above n_ops are ignored */
    uint32_t *span_step;             /* of each span */
    const char **kernel;             /* of each op that is one kernel, its name; else NULL */
    uint32_t *block;                 /* per layer, the first layer of its block */
    uint32_t n_micro;
};

static bool of_step(const struct collector *c, const struct trace_op *op)
{
    return op->tag.step == c->step && op->lane < c->trace->t.n_lanes;
}

static bool find_step(struct collector *c)
{
    c->start_ns = INT64_MAX;
    c->end_ns = INT64_MIN;
    for (size_t i = 0; i < c->trace->n_ops; i++) {
        const struct trace_op *op = &c->trace->ops[i];
        if (!of_step(c, op))
            continue;
        c->start_ns = MIN(c->start_ns, op->start_ns);
        c->end_ns = MAX(c->end_ns, op->end_ns);
    }
    return c->start_ns < c->end_ns;
}

static void find_gangs(struct collector *c)
{
    const struct trace *t = c->trace;

    c->gang_start_ns = g_new(int64_t, t->n_ops);
    for (size_t i = 0; i < t->n_ops; i++)
        c->gang_start_ns[i] = INT64_MIN;
    for (size_t i = 0; i < t->n_ops; i++) {
        const struct trace_op *op = &t->ops[i];
        if (of_step(c, op) && op->tag.gang < t->n_ops)
            c->gang_start_ns[op->tag.gang] = MAX(c->gang_start_ns[op->tag.gang], op->start_ns);
    }
}

static void find_kernels(struct collector *c)
{
    const struct trace *t = c->trace;
    g_autofree uint8_t *spans = g_new0(uint8_t, t->n_ops + 1);

    c->kernel = g_new0(const char *, t->n_ops + 1);
    for (size_t i = 0; i < t->n_spans; i++) {
        const struct trace_span *s = &t->spans[i];
        if (s->op >= t->n_ops)
            continue;
        c->kernel[s->op] = spans[s->op] ? NULL : s->name;
        spans[s->op] = 1;
    }
}

static void index_trace(struct collector *c, struct step_rows *out)
{
    const struct trace *t = c->trace;

    c->row_of_lane = g_new0(struct row *, t->t.n_lanes);
    for (uint32_t l = 0; l < t->t.n_lanes; l++)
        for (uint32_t r = 0; r < out->n; r++)
            if (out->rows[r].rank == t->t.lanes[l].rank)
                c->row_of_lane[l] = &out->rows[r];
    c->block = g_new(uint32_t, t->t.n_layers);
    for (uint32_t i = 0; i < t->t.n_layers; i++)
        c->block[i] = i && g_str_equal(t->t.layers[i].block, t->t.layers[i - 1].block) ? c->block[i - 1] : i;
    find_gangs(c);
    find_kernels(c);
}

static enum role role_of(unsigned kind)
{
    switch (kind) {
    case OP_INPUT:
    case OP_COPY:
        return ROLE_INPUT;
    case OP_LOSS:
        return ROLE_LOSS;
    case OP_PACK:
    case OP_UNPACK:
        return ROLE_PACK;
    case OP_RECOMPUTE:
    case OP_KERNEL:
        return ROLE_RECOMPUTE;
    case OP_BWD_INPUT:
        return ROLE_INPUT_GRADIENT;
    case OP_BWD_WEIGHT:
        return ROLE_WEIGHT_GRADIENT;
    default:
        break;
    }
    switch (op_phase(kind)) {
    case PHASE_FORWARD:
        return ROLE_FORWARD;
    case PHASE_BACKWARD:
        return ROLE_BACKWARD;
    case PHASE_COMM:
        return ROLE_COMM;
    default:
        return ROLE_OPTIMIZER;
    }
}

static bool of_micro_batch(unsigned kind)
{
    return kind == OP_FWD || kind == OP_LOSS || kind == OP_BWD || kind == OP_BWD_INPUT ||
           kind == OP_BWD_WEIGHT || kind == OP_RECOMPUTE;
}

/* Ops of one action follow each other on their lane, and are one cell whatever lies between them. */
static bool same_action(GArray *cells, const struct cell *cell)
{
    struct cell *last = cells->len ? &g_array_index(cells, struct cell, cells->len - 1) : NULL;

    if (!last || last->kind != cell->kind || last->first != cell->first || last->micro != cell->micro ||
        cell->first == OP_NONE)
        return false;
    last->end_ns = MAX(last->end_ns, cell->end_ns);
    return true;
}

static void add_compute(const struct collector *c, GArray *cells, const struct trace_op *op)
{
    const uint32_t n = c->trace->t.n_layers;
    const struct op_tag *tag = &op->tag;
    struct cell cell = {.start_ns = op->start_ns - c->start_ns,
                        .end_ns = op->end_ns - c->start_ns,
                        .first = LAYER_NONE,
                        .last = LAYER_NONE,
                        .micro = c->n_micro > 1 && of_micro_batch(tag->kind) ? tag->micro : OP_NONE,
                        .role = (uint8_t)role_of(tag->kind),
                        .kind = tag->kind,
                        .name = c->kernel[op - c->trace->ops]};

    if (c->trace->t.n_stages) {
        if (op_phase(tag->kind) == PHASE_OPTIMIZER)
            cell.role = ROLE_UPDATE;
        cell.first = cell.last = tag->stage < c->trace->t.n_stages ? tag->stage : OP_NONE;
        if (same_action(cells, &cell))
            return;
    } else if (tag->kind == OP_OPTIM)
        cell.first = cell.last = tag->bucket < c->trace->t.n_buckets ? tag->bucket : OP_NONE;
    else if (tag->layer0 < tag->layer1 && tag->layer1 <= n) {
        cell.first = c->block[tag->layer0];
        cell.last = c->block[tag->layer1 - 1];
    }
    g_array_append_val(cells, cell);
}

static void include(GArray *intervals, int64_t start_ns, int64_t end_ns)
{
    const struct interval one = {start_ns, end_ns};

    g_array_append_val(intervals, one);
}

static struct intervals united(GArray *intervals)
{
    return intervals_of((struct interval *)(void *)intervals->data, intervals->len);
}

/* The collective that a hop is part of; bare sends and receives are of none. */
static uint8_t comm_kind(const struct op_tag *tag)
{
    static const uint8_t kinds[COLLECTIVES] = {
        [COLLECTIVE_ALLREDUCE] = OP_ALLREDUCE, [COLLECTIVE_BROADCAST] = OP_BROADCAST,
        [COLLECTIVE_REDUCE] = OP_REDUCE,       [COLLECTIVE_SCATTER] = OP_SCATTER,
        [COLLECTIVE_GATHER] = OP_GATHER,       [COLLECTIVE_ALLGATHER] = OP_ALLGATHER};

    const bool bare = (tag->kind == OP_SEND || tag->kind == OP_RECV) && tag->coll == OP_NONE;

    if (bare || tag->kind == OP_COMM || op_collective(tag->kind) != COLLECTIVES)
        return tag->kind;
    return kinds[MIN(tag->collective, COLLECTIVES - 1)];
}

/* Hops of one collective follow one another on their lane. */
static void add_comm(const struct collector *c, struct row *row, const struct trace_op *op)
{
    const struct op_tag *tag = &op->tag;
    struct cell cell = {.start_ns = op->start_ns - c->start_ns,
                        .end_ns = op->end_ns - c->start_ns,
                        .first = tag->bucket,
                        .last = tag->coll,
                        .micro = OP_NONE,
                        .role = ROLE_COMM,
                        .kind = comm_kind(tag),
                        .name = c->kernel[op - c->trace->ops]};
    struct cell *before = row->comm->len ? &g_array_index(row->comm, struct cell, row->comm->len - 1) : NULL;

    if (before && before->first == cell.first && before->last == cell.last) {
        before->start_ns = MIN(before->start_ns, cell.start_ns);
        before->end_ns = MAX(before->end_ns, cell.end_ns);
        before->kind = cell.kind == OP_ALLREDUCE ? cell.kind : before->kind;
        before->name = NULL; /* hops */
    } else {
        struct ready_mark mark = {CLAMP(op->ready_ns - c->start_ns, 0, cell.start_ns), cell.start_ns,
                                  tag->bucket};
        g_array_append_val(row->comm, cell);
        if (tag->bucket < c->trace->t.n_buckets)
            g_array_append_val(row->marks, mark);
    }
    if (tag->gang < c->trace->n_ops)
        include(c->waits[row - c->rows], op->start_ns - c->start_ns,
                MIN(c->gang_start_ns[tag->gang], op->end_ns) - c->start_ns);
    row->comm_end_ns = MAX(row->comm_end_ns, op->end_ns - c->start_ns);
}

/* When all members of its gang are there. */
static int64_t together_ns(const struct collector *c, const struct trace_op *op)
{
    const uint32_t gang = op->tag.gang;
    return CLAMP(gang < c->trace->n_ops ? c->gang_start_ns[gang] : op->start_ns, op->start_ns, op->end_ns);
}

/* A message between stages: its transfer alone, as whoever receives it waits for it from long before.  The
 * channels of a rank are one row, in which what is beside another is cut. */
static void add_message(const struct collector *c, struct row *row, const struct trace_op *op)
{
    const struct op_tag *tag = &op->tag;
    const struct cell cell = {.start_ns = together_ns(c, op) - c->start_ns,
                              .end_ns = op->end_ns - c->start_ns,
                              .first = OP_NONE,
                              .last = c->trace->t.lanes[op->lane].peer,
                              .micro = tag->micro,
                              .role = ROLE_COMM,
                              .kind = tag->kind};

    g_array_append_val(row->comm, cell);
    row->comm_end_ns = MAX(row->comm_end_ns, cell.end_ns);
}

static bool is_message(const struct collector *c, const struct op_tag *tag)
{
    return c->trace->t.n_stages && tag->algo == ALLREDUCE_WHOLE &&
           (tag->kind == OP_SEND || tag->kind == OP_RECV);
}

static bool is_backward(unsigned kind)
{
    return kind == OP_BWD || kind == OP_BWD_INPUT || kind == OP_BWD_WEIGHT || kind == OP_PACK;
}

static void add_op(const struct collector *c, const struct trace_op *op)
{
    struct row *row = c->row_of_lane[op->lane];
    const unsigned cls = c->trace->t.lanes[op->lane].cls;
    const int64_t end_ns = op->end_ns - c->start_ns;

    if (!row || cls == LANE_HOST)
        return;
    row->end_ns = MAX(row->end_ns, end_ns);
    if (is_backward(op->tag.kind))
        row->backward_end_ns = MAX(row->backward_end_ns, end_ns);
    if (cls == LANE_COMM && is_message(c, &op->tag))
        add_message(c, row, op);
    else if (cls == LANE_COMM)
        add_comm(c, row, op);
    else
        add_compute(c, cls == LANE_COPY ? row->copies : row->compute, op);
}

/* As the analysis has it: a span of no op belongs to the step of the span before it on its lane. */
static void find_span_steps(struct collector *c)
{
    const struct trace *t = c->trace;

    c->span_step = g_new(uint32_t, t->n_spans);
    for (size_t i = 0; i < t->n_spans; i++) {
        const struct trace_span *s = &t->spans[i];
        if (s->op < t->n_ops)
            c->span_step[i] = t->ops[s->op].tag.step;
        else
            c->span_step[i] = i && t->spans[i - 1].lane == s->lane ? c->span_step[i - 1] : 0;
    }
}

static int64_t moving_ns(const struct collector *c, const struct trace_span *s)
{
    const struct trace_op *op = s->op < c->trace->n_ops ? &c->trace->ops[s->op] : NULL;
    return op ? CLAMP(together_ns(c, op), s->start_ns, s->end_ns) : s->start_ns;
}

/* waits: whether what waits for peers is busy. */
static struct intervals busy(const struct collector *c, const struct row *row, unsigned cls, bool waits)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct interval));

    for (size_t i = 0; i < c->trace->n_spans; i++) {
        const struct trace_span *s = &c->trace->spans[i];
        if (s->cls == cls && c->span_step[i] == c->step && s->lane < c->trace->t.n_lanes &&
            c->row_of_lane[s->lane] == row)
            include(all, (waits ? s->start_ns : moving_ns(c, s)) - c->start_ns, s->end_ns - c->start_ns);
    }
    return united(all);
}

static void find_intervals(const struct collector *c, struct row *row)
{
    g_autoptr(GArray) cells = g_array_new(FALSE, FALSE, sizeof(struct interval));
    struct intervals comm = busy(c, row, SPAN_COMM, true), compute = busy(c, row, SPAN_COMPUTE, true),
                     moves = busy(c, row, SPAN_COMM, !c->trace->t.n_stages);

    for (unsigned i = 0; i < row->comm->len; i++)
        include(cells, g_array_index(row->comm, struct cell, i).start_ns,
                g_array_index(row->comm, struct cell, i).end_ns);
    struct intervals whole = united(cells);
    row->gaps = intervals_minus(&whole, &comm);
    row->exposed = intervals_minus(&moves, &compute); /* in a pipeline as in the analysis, not of waiting */
    row->waits = united(c->waits[row - c->rows]);
    intervals_release(&moves);
    intervals_release(&whole);
    intervals_release(&comm);
    intervals_release(&compute);
}

static void row_init(struct row *row, uint32_t rank)
{
    *row = (struct row){.rank = rank,
                        .copies = g_array_new(FALSE, FALSE, sizeof(struct cell)),
                        .compute = g_array_new(FALSE, FALSE, sizeof(struct cell)),
                        .comm = g_array_new(FALSE, FALSE, sizeof(struct cell)),
                        .marks = g_array_new(FALSE, FALSE, sizeof(struct ready_mark))};
}

static int by_ready_start(gconstpointer a, gconstpointer b)
{
    const struct ready_mark *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->ready_ns > y->ready_ns) - (x->ready_ns < y->ready_ns);
}

static void row_order(struct row *row)
{
    cells_order(row->copies);
    cells_order(row->compute);
    cells_order(row->comm);
    g_array_sort(row->marks, by_ready_start);
}

uint32_t rows_micro_batches(const struct trace *trace, uint32_t step)
{
    const struct collector c = {.trace = trace, .step = step};
    uint32_t last = 0;

    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct op_tag *tag = &trace->ops[i].tag;
        if (of_step(&c, &trace->ops[i]) && tag->kind == OP_FWD && tag->micro < OP_NONE - 1)
            last = MAX(last, tag->micro);
    }
    return last + 1;
}

bool rows_communicate(const struct trace *trace, uint32_t step)
{
    struct collector c = {.trace = trace, .step = step};
    bool any = false;

    find_gangs(&c);
    for (size_t i = 0; i < trace->n_ops && !any; i++) {
        const struct trace_op *op = &trace->ops[i];
        const bool moves = !is_message(&c, &op->tag) || together_ns(&c, op) < op->end_ns;
        any = of_step(&c, op) && trace->t.lanes[op->lane].cls == LANE_COMM && moves;
    }
    g_free(c.gang_start_ns);
    return any;
}

bool rows_collect(struct step_rows *out, const struct trace *trace, uint32_t step, uint32_t n_ranks,
                  const uint32_t *ranks)
{
    struct collector c = {.trace = trace, .step = step};

    *out = (struct step_rows){.n = n_ranks};
    if (!find_step(&c))
        return false;
    out->rows = g_new0(struct row, n_ranks);
    out->span_ns = c.end_ns - c.start_ns;
    c.rows = out->rows;
    c.waits = g_new(GArray *, n_ranks);
    for (uint32_t r = 0; r < n_ranks; r++) {
        row_init(&out->rows[r], ranks[r]);
        c.waits[r] = g_array_new(FALSE, FALSE, sizeof(struct interval));
    }
    index_trace(&c, out);
    c.n_micro = rows_micro_batches(trace, step);
    for (size_t i = 0; i < trace->n_ops; i++)
        if (of_step(&c, &trace->ops[i])) {
            add_op(&c, &trace->ops[i]);
            if (is_backward(trace->ops[i].tag.kind))
                out->backward_end_ns = MAX(out->backward_end_ns, trace->ops[i].end_ns - c.start_ns);
        }
    find_span_steps(&c);
    for (uint32_t r = 0; r < n_ranks; r++) {
        row_order(&out->rows[r]);
        find_intervals(&c, &out->rows[r]);
        g_array_unref(c.waits[r]);
    }
    g_free(c.waits);
    g_free(c.row_of_lane);
    g_free(c.gang_start_ns);
    g_free(c.span_step);
    g_free(c.kernel);
    g_free(c.block);
    return true;
}

void rows_release(struct step_rows *s)
{
    for (uint32_t r = 0; r < s->n && s->rows; r++) {
        GArray **all[] = {&s->rows[r].copies, &s->rows[r].compute, &s->rows[r].comm, &s->rows[r].marks};
        for (unsigned i = 0; i < G_N_ELEMENTS(all); i++)
            g_clear_pointer(all[i], g_array_unref);
        intervals_release(&s->rows[r].gaps);
        intervals_release(&s->rows[r].waits);
        intervals_release(&s->rows[r].exposed);
        intervals_release(&s->rows[r].critical);
        intervals_release(&s->rows[r].critical_comm);
    }
    g_free(s->rows);
    *s = (struct step_rows){0};
}
