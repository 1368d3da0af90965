#include "exec/cuda/times.h"
#include "profile/facts.h"

static const uint8_t span_classes[LANE_CLASSES] = {SPAN_COMPUTE, SPAN_COMM, SPAN_COPY, SPAN_HOST};

/* --- taking */

static bool take(struct cuda *c, struct trace *trace, GError **error)
{
    struct times *t = c->times;
    if (!cuda_own_error(collect_take(&t->collected, error), error))
        return false;
    t->taken = true;
    collect_facts(&t->collected.counts, trace);
    for (uint32_t rank = 0; rank < c->plan->t.n_ranks; rank++)
        t->host_lane[rank] = trace_add_lane(trace, &(struct lane){.name = "launch",
                                                                  .rank = rank,
                                                                  .device = c->ranks[rank].device,
                                                                  .peer = OP_NONE,
                                                                  .cls = LANE_HOST});
    return true;
}

/* Records come by step, then op. */
static void find_step(struct cuda *c, uint32_t step)
{
    struct times *t = c->times;
    for (uint32_t i = 0; i < c->plan->n_ops; i++)
        t->records[i] = (struct op_records){0};
    for (; t->next_record < t->collected.n && t->collected.records[t->next_record].step <= step;
         t->next_record++) {
        const struct collect_record *r = &t->collected.records[t->next_record];
        if (r->step != step || r->op >= c->plan->n_ops)
            continue;
        if (!t->records[r->op].n++)
            t->records[r->op].first = t->next_record;
    }
}

/* --- an op */

struct summary {
    int64_t start_ns, end_ns, busy_ns; /* of what the device did; start INT64_MAX: nothing */
    int64_t launch_ns;                 /* of the first launch; INT64_MIN: none */
    uint64_t own, other, elsewhere;    /* kernels of ours, of libraries; records on other lanes */
};

static struct summary summarize(const struct cuda *c, uint32_t op)
{
    const struct op_records at = c->times->records[op];
    struct summary s = {INT64_MAX, INT64_MIN, 0, INT64_MIN, 0, 0, 0};
    for (size_t i = at.first; i < at.first + at.n; i++) {
        const struct collect_record *r = &c->times->collected.records[i];
        if (r->kind == COLLECT_LAUNCH) {
            s.launch_ns = s.launch_ns == INT64_MIN ? r->start_ns : MIN(s.launch_ns, r->start_ns);
            continue;
        }
        s.start_ns = MIN(s.start_ns, r->start_ns);
        s.end_ns = MAX(s.end_ns, r->end_ns);
        s.busy_ns += r->end_ns - r->start_ns;
        s.elsewhere += r->lane != c->plan->ops[op].lane;
        if (r->kind == COLLECT_KERNEL)
            *(k_cuda_owns(r->name) ? &s.own : &s.other) += 1;
    }
    return s;
}

static void note_odd(struct cuda *c, uint32_t op, const char *format, uint64_t found, uint64_t expected)
{
    struct times *t = c->times;
    g_autofree char *what = g_strdup_printf(format, found, expected);
    if (!t->odd_ops++)
        t->odd = g_strdup_printf("%s %s", c->ops[op].name, what);
}

/* Ours, kernel by kernel; a library launches as many as it likes, but for a product one at least. */
static void compare(struct cuda *c, uint32_t op, const struct summary *s)
{
    const struct k_cuda_counts expected = c->ops[op].launched;
    if (s->own != expected.own)
        note_odd(c, op,
                 "has records of %" G_GUINT64_FORMAT " own kernels, of which %" G_GUINT64_FORMAT
                 " were launched",
                 s->own, expected.own);
    else if (s->other < (expected.products > 0))
        note_odd(c, op,
                 "has records of %" G_GUINT64_FORMAT " kernels of libraries for %" G_GUINT64_FORMAT
                 " products",
                 s->other, expected.products);
    else if (s->elsewhere)
        note_odd(c, op,
                 "has %" G_GUINT64_FORMAT " records of %" G_GUINT64_FORMAT " lanes that are not its own",
                 s->elsewhere, 1);
}

/* When its lane began with it: nothing before it on the lane or that it depends on was left, and it was
 * launched. */
static int64_t begun_ns(const struct cuda *c, uint32_t op, const struct summary *s,
                        const struct timing *timing)
{
    const struct plan *plan = c->plan;
    int64_t ns = MAX(c->times->lane_end_ns[plan->ops[op].lane], s->launch_ns);
    for (uint32_t d = plan->ops[op].first_dep; d < plan->ops[op + 1].first_dep; d++)
        ns = MAX(ns, timing->end_ns[plan->deps[d]]);
    return ns;
}

/* Of a gang that transfers, of all its members: the least that one was busy, and when the last one's work
 * ended. */
static struct interval gang_work(const struct cuda *c, uint32_t op)
{
    const struct gang *gang = &c->plan->gangs[c->plan->ops[op].tag.gang];
    struct interval work = {INT64_MAX, INT64_MIN};
    for (uint32_t i = 0; i < gang->n; i++) {
        const struct summary s = summarize(c, c->plan->gang_ops[gang->first + i]);
        if (s.end_ns == INT64_MIN)
            continue;
        work.start_ns = MIN(work.start_ns, s.busy_ns);
        work.end_ns = MAX(work.end_ns, s.end_ns);
    }
    return work;
}

static void set_times(struct cuda *c, uint32_t op, const struct summary *s, const struct timing *timing)
{
    const bool gang = c->plan->ops[op].tag.gang != OP_NONE;
    const int64_t lane_end_ns = c->times->lane_end_ns[c->plan->ops[op].lane];
    int64_t start_ns = s->start_ns, end_ns = s->end_ns, work_ns = s->busy_ns;
    if (gang) {
        const struct interval all = gang_work(c, op);
        const int64_t begun = begun_ns(c, op, s, timing);
        start_ns = begun > INT64_MIN ? MIN(start_ns, begun) : start_ns;
        end_ns = end_ns == INT64_MIN ? all.end_ns : end_ns;
        work_ns = all.start_ns == INT64_MAX ? 0 : all.start_ns;
    }
    if (start_ns == INT64_MAX || end_ns == INT64_MIN)
        start_ns = end_ns = lane_end_ns;
    timing->start_ns[op] = start_ns;
    timing->end_ns[op] = MAX(end_ns, start_ns);
    timing->work_ns[op] = MIN(work_ns, timing->end_ns[op] - start_ns);
    c->times->lane_end_ns[c->plan->ops[op].lane] = timing->end_ns[op];
}

/* Run by copies of our own, which wait for the peers between kernels as NCCL's kernels do inside. */
static bool is_own_gang(const struct cuda *c, const struct op *op)
{
    return op->tag.gang != OP_NONE && !(c->nccl && comm_nccl_has(c->nccl, op->tag.gang));
}

/* Kernels and copies are the spans; of a gang of our own the whole op is one, waiting included. */
static void add_spans(const struct cuda *c, uint32_t op, size_t row, const struct timing *timing,
                      struct trace *trace)
{
    const struct op_records at = c->times->records[op];
    const uint32_t lane = c->plan->ops[op].lane;
    const struct lane *l = &c->plan->t.lanes[lane];
    const bool whole = is_own_gang(c, &c->plan->ops[op]);
    if (whole)
        trace_add_span(trace, &(struct trace_span){.start_ns = timing->start_ns[op],
                                                   .end_ns = timing->end_ns[op],
                                                   .lane = lane,
                                                   .op = (uint32_t)row,
                                                   .cls = span_classes[l->cls]});
    for (size_t i = at.first; i < at.first + at.n; i++) {
        const struct collect_record *r = &c->times->collected.records[i];
        const bool launch = r->kind == COLLECT_LAUNCH;
        if (whole && !launch)
            continue;
        trace_add_span(trace, &(struct trace_span){.start_ns = r->start_ns,
                                                   .end_ns = r->end_ns,
                                                   .lane = launch ? c->times->host_lane[l->rank] : lane,
                                                   .op = (uint32_t)row,
                                                   .cls = launch ? SPAN_HOST : span_classes[l->cls],
                                                   .name = r->name});
    }
}

/* --- a step */

/* Where lanes have not done anything yet: the first that anything did in the step. */
static void begin_lanes(struct cuda *c)
{
    int64_t first_ns = INT64_MAX;
    for (uint32_t i = 0; i < c->plan->n_ops; i++)
        first_ns = MIN(first_ns, summarize(c, i).start_ns);
    for (uint32_t i = 0; i < c->plan->t.n_lanes; i++)
        if (c->times->lane_end_ns[i] == 0 && first_ns < INT64_MAX)
            c->times->lane_end_ns[i] = first_ns;
}

static void label(struct cuda *c, struct trace *trace)
{
    const struct collect_counts *n = &c->times->collected.counts;
    const struct {
        uint64_t n;
        const char *what;
    } counts[] = {{n->dropped, "dropped"},
                  {n->zero, "without times"},
                  {n->inverted, "that end before they start"},
                  {n->unattributed, "of no operation"}};
    GString *text = g_string_new(NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(counts); i++)
        if (counts[i].n)
            g_string_append_printf(text, "%s%" G_GUINT64_FORMAT " %s", text->len ? ", " : "", counts[i].n,
                                   counts[i].what);
    if (c->times->odd_ops) {
        g_string_append_printf(text, "%sunlike what was launched in %" G_GUINT64_FORMAT " operations",
                               text->len ? ", " : "", c->times->odd_ops);
        trace_fact_text(trace, "records unlike launches", c->times->odd);
    }
    if (text->len)
        trace_label_text(trace, LABEL_RECORDS, text->str);
    g_string_free(text, TRUE);
}

bool cuda_records_gather(struct cuda *c, uint32_t step, const struct timing *timing, size_t first_row,
                         struct trace *trace, GError **error)
{
    if (!c->times->taken && !take(c, trace, error))
        return false;
    find_step(c, step);
    begin_lanes(c);
    for (uint32_t i = 0; i < c->plan->n_ops; i++) {
        const uint32_t op = c->plan->order[i];
        const struct summary s = summarize(c, op);
        compare(c, op, &s);
        set_times(c, op, &s, timing);
        add_spans(c, op, first_row + i, timing, trace);
    }
    label(c, trace);
    return true;
}
