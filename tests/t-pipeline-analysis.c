/* What the analysis says of pipelines, against published makespans, bubbles and peaks, and sums by hand. */
#include <math.h>
#include <string.h>

#include "profile/export.h"
#include "profile/report.h"
#include "tests/pipe-trace.h"
#include "tests/strict-json.h"
#include "tests/tap.h"

#define FREE "F=1,B=1,W=1,C=0,FB=3"

static void open(struct trace *trace, struct analysis *a)
{
    GError *error = NULL;
    analyze(trace, a, &error);
    g_assert_no_error(error);
    g_assert_nonnull(a->pipeline);
}

/* Costs of ops are rounded to ns. */
static void near(double got, double wanted)
{
    if (fabs(got - wanted) > 1e-4 * wanted)
        g_error("%g is not %g", got, wanted);
}

/* Huang et al. (GPipe), Narayanan et al. (1F1B, interleaved), Qi et al. (zero bubble), DeepSeek (DualPipeV),
 * all timed without hops: makespan, micro-batches of a stage that are in flight on each rank. */
static const struct {
    struct pipe_case c;
    double makespan, period; /* ms; period 0: one round */
    uint32_t in_flight[4];
} published[] = {
    {{"naive", FREE, 4, 1, 8, 1, 0}, 96, 0, {1, 1, 1, 1}},
    {{"gpipe", FREE, 4, 1, 8, 1, 0}, 33, 0, {8, 8, 8, 8}},
    {{"1f1b", FREE, 4, 1, 8, 1, 0}, 33, 0, {4, 3, 2, 1}},
    {{"1f1b", FREE, 4, 1, 8, 2, 0}, 66, 33, {4, 3, 2, 1}},
    {{"interleaved", FREE, 4, 2, 8, 1, 0}, 28.5, 0, {11, 9, 7, 5}},
    {{"looped-bfs", FREE, 4, 2, 8, 1, 0}, 28.5, 0, {16, 16, 16, 16}},
    {{"zb1p", FREE, 4, 1, 8, 1, 0}, 27, 0, {4, 4, 4, 4}},
    {{"zb1p", FREE, 4, 1, 8, 2, 0}, 54, 27, {4, 4, 4, 4}},
    {{"zb2p", FREE, 4, 1, 8, 2, 0}, 51, 24, {7, 7, 7, 7}},
    {{"zbv", FREE, 4, 2, 8, 1, 0}, 25.5, 0, {8, 8, 8, 8}},
    {{"dualpipev", FREE, 4, 2, 8, 1, 0}, 27, 0, {9, 9, 9, 9}},
    {{"pipedream", FREE, 4, 1, 8, 1, 0}, 33, 0, {4, 3, 2, 1}},
    {{"gpipe", FREE, 4, 1, 8, 1, CHECKPOINT_ALWAYS}, 41, 0, {1, 1, 1, 1}},
};

static void test_published(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(published); i++) {
        struct trace trace;
        struct analysis a;
        pipe_simulate(&published[i].c, &trace);
        open(&trace, &a);
        const struct pipeline_times *p = a.pipeline;
        g_test_message("%s", published[i].c.schedule);
        near((double)p->makespan_ns / 1e6, published[i].makespan);
        near((double)p->unit_ns / 1e6, 1);
        if (published[i].period > 0)
            near((double)p->period_ns / 1e6, published[i].period);
        else
            g_assert_cmpint(p->period_ns, ==, -1);
        for (uint32_t r = 0; r < 4; r++) {
            g_assert_cmpuint(p->ranks[r].in_flight, ==, published[i].in_flight[r]);
            near(pipeline_in_flight(&p->ranks[r]),
                 (double)published[i].in_flight[r] / published[i].c.per_rank);
            g_assert_cmpint(p->ranks[r].exposed_send_ns, <=, 100);
        }
        g_assert_true(p->asynchronous == !strcmp(published[i].c.schedule, "pipedream"));
        analysis_release(&a);
        trace_release(&trace);
    }
}

/* Of 1F1B with p ranks and m micro-batches: (p-1)/(m+p-1) of the whole, (p-1)/m of the work. */
static void test_bubbles(void)
{
    static const uint32_t sizes[][2] = {{2, 4}, {4, 4}, {4, 8}, {8, 16}};
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        const double p = sizes[i][0], m = sizes[i][1];
        struct trace trace;
        struct analysis a;
        pipe_simulate(&(struct pipe_case){"1f1b", FREE, sizes[i][0], 1, sizes[i][1], 1, 0}, &trace);
        open(&trace, &a);
        near(pipeline_bubble_of_total(a.pipeline), (p - 1) / (m + p - 1));
        near(pipeline_bubble_of_ideal(a.pipeline), (p - 1) / m);
        for (uint32_t r = 0; r < sizes[i][0]; r++) /* a rank begins r units late, and is over 2r early */
            near((double)(a.pipeline->ranks[r].end_ns - a.pipeline->ranks[r].start_ns) / 1e6,
                 3 * (m + p - 1) - 3 * r);
        analysis_release(&a);
        trace_release(&trace);
    }
}

/* Each op of communication takes its 0.3 ms at most, however early it is posted. */
static void check_transfers(const struct trace *trace, const struct analysis *a)
{
    for (uint32_t r = 0; r < a->n_ranks; r++) {
        const struct partition *p = &a->partition[r];
        int64_t most_ns = 0, posted_ns = 0;
        for (size_t i = 0; i < trace->n_ops; i++) {
            const struct trace_op *op = &trace->ops[i];
            const bool own = trace->t.lanes[op->lane].rank == r && op_phase(op->tag.kind) == PHASE_COMM;
            most_ns += own ? 300000 : 0;
            posted_ns += own ? op->end_ns - op->start_ns : 0;
        }
        g_assert_cmpint(p->comm_ns, <=, most_ns);
        g_assert_cmpint(p->comm_ns, >, 0);
        g_assert_cmpint(posted_ns, >, p->comm_ns);
        g_assert_cmpint(p->exposed_comm_ns, <=, p->comm_ns);
        g_assert_cmpint(p->compute_ns + p->exposed_comm_ns + p->exposed_copy_ns + p->idle_ns, ==,
                        p->window_ns);
    }
}

static void test_sums(void)
{
    for (const struct schedule *const *s = schedules; *s; s++) {
        struct trace trace;
        struct analysis a;
        const uint32_t per_rank = (*s)->stages ? (*s)->stages : (*s)->several ? 2 : 1;
        pipe_simulate(&(struct pipe_case){(*s)->name, "F=1,B=1.2,W=0.9,C=0.3", 4, per_rank, 8,
                                          (*s)->asynchronous ? 1 : 2, 0},
                      &trace);
        open(&trace, &a);
        const struct pipeline_times *p = a.pipeline;
        int64_t busy_ns = 0, idle_ns = 0, exposed_ns = 0, stages_ns = 0;
        for (uint32_t r = 0; r < p->n_ranks; r++) {
            const struct pipeline_rank *own = &p->ranks[r];
            g_assert_cmpint(own->busy_ns + own->update_ns + own->idle_ns, ==, p->makespan_ns);
            g_assert_cmpint(own->exposed_send_ns, <=, own->idle_ns);
            busy_ns += own->busy_ns;
            idle_ns += own->idle_ns;
            exposed_ns += own->exposed_send_ns;
        }
        for (uint32_t i = 0; i < p->n_stages; i++)
            stages_ns += p->stage_ns[i];
        g_assert_cmpint(busy_ns, ==, p->busy_ns);
        g_assert_cmpint(idle_ns, ==, p->idle_ns);
        g_assert_cmpint(exposed_ns, ==, p->exposed_send_ns);
        g_assert_cmpint(stages_ns, ==, busy_ns);
        g_assert_cmpint(exposed_ns, >, 0);
        check_transfers(&trace, &a);
        analysis_release(&a);
        trace_release(&trace);
    }
}

/* Rank 0 sends two micro-batches, of which the second is in transfer while rank 1 computes; back, a transfer
 * is waited for only from where the rank's optimizer ended, and one that something else outlasts not at all.
 */
static void by_hand(struct trace *trace, int64_t other_ready_ns)
{
    pipe_begin(trace);
    pipe_add(trace, OP_FWD, 0, 0, 0, OP_NONE, 0, 0, 10);
    pipe_add(trace, OP_SEND, 2, 0, 0, 0, 10, 10, 14);
    pipe_add(trace, OP_FWD, 0, 0, 1, OP_NONE, 0, 10, 20);
    pipe_add(trace, OP_SEND, 2, 0, 1, 1, 20, 20, 24);
    pipe_add(trace, OP_OPTIM, 0, 0, OP_NONE, OP_NONE, 20, 20, 36);
    pipe_add(trace, OP_RECV, 1, 1, 0, 2, 10, 10, 38);
    pipe_add(trace, OP_BWD, 0, 0, 0, OP_NONE, 38, 38, 48);
    pipe_add(trace, OP_RECV, 1, 1, 1, 3, 38, 38, 60);
    pipe_add(trace, OP_BWD, 0, 0, 1, OP_NONE, MAX(60, other_ready_ns), MAX(60, other_ready_ns), 70);
    pipe_add(trace, OP_RECV, 4, 0, 0, 0, 0, 2, 14);
    pipe_add(trace, OP_FWD, 3, 1, 0, OP_NONE, 14, 14, 24);
    pipe_add(trace, OP_RECV, 4, 0, 1, 1, 14, 14, 24);
    pipe_add(trace, OP_BWD, 3, 1, 0, OP_NONE, 24, 24, 34);
    pipe_add(trace, OP_SEND, 5, 1, 0, 2, 34, 34, 38);
    pipe_add(trace, OP_FWD, 3, 1, 1, OP_NONE, 24, 34, 44);
    pipe_add(trace, OP_BWD, 3, 1, 1, OP_NONE, 44, 44, 54);
    pipe_add(trace, OP_SEND, 5, 1, 1, 3, 54, 54, 60);
    trace_finish(trace);
}

static void test_exposed_sends(void)
{
    struct trace trace;
    struct analysis a;
    by_hand(&trace, 0);
    open(&trace, &a);
    /* rank 0: [36, 38) before B0, [54, 60) before B1; rank 1: [10, 14) before F0 */
    g_assert_cmpint(a.pipeline->ranks[0].exposed_send_ns, ==, 2 + 6);
    g_assert_cmpint(a.pipeline->ranks[1].exposed_send_ns, ==, 4);
    g_assert_cmpint(a.pipeline->exposed_send_ns, ==, 12);
    g_assert_cmpint(a.pipeline->makespan_ns, ==, 70);
    g_assert_cmpint(a.pipeline->ranks[0].update_ns, ==, 16);
    g_assert_cmpint(a.pipeline->ranks[0].busy_ns, ==, 40);
    g_assert_cmpint(a.pipeline->ranks[0].idle_ns, ==, 14);
    g_assert_cmpint(a.pipeline->unit_ns, ==, 10);
    analysis_release(&a);
    trace_release(&trace);
    by_hand(&trace, 62);
    open(&trace, &a);
    g_assert_cmpint(a.pipeline->ranks[0].exposed_send_ns, ==, 2);
    analysis_release(&a);
    trace_release(&trace);
}

static void check_partition(const struct partition *p, int64_t compute, int64_t comm, int64_t exposed,
                            int64_t idle)
{
    g_assert_cmpint(p->compute_ns, ==, compute);
    g_assert_cmpint(p->comm_ns, ==, comm);
    g_assert_cmpint(p->exposed_comm_ns, ==, exposed);
    g_assert_cmpint(p->hidden_comm_ns, ==, comm - exposed);
    g_assert_cmpint(p->idle_ns, ==, idle);
    g_assert_cmpint(p->compute_ns + p->exposed_comm_ns + p->exposed_copy_ns + p->idle_ns, ==, p->window_ns);
}

/* Both ends of the messages are there in [10, 14), [20, 24), [34, 38) and [54, 60); of a last all-reduce from
 * 72 on, for which rank 1 waits from 62.  Rank 0 computes in [0, 36), [38, 48) and [60, 70), rank 1 in [14,
 * 54). */
static void test_waiting_is_idle(void)
{
    struct trace trace;
    struct analysis a;
    by_hand(&trace, 0);
    pipe_add(&trace, OP_ALLREDUCE, 1, STAGE_NONE, OP_NONE, 9, 72, 72, 80);
    pipe_add(&trace, OP_ALLREDUCE, 4, STAGE_NONE, OP_NONE, 9, 62, 62, 80);
    trace_finish(&trace);
    open(&trace, &a);
    check_partition(&a.partition[0], 56, 18 + 8, 2 + 6 + 8, 6 + 2);
    check_partition(&a.partition[1], 40, 18 + 8, 4 + 6 + 8, 8 + 12);
    g_assert_cmpuint(a.slowest_rank, ==, 0);
    g_assert_cmpint(a.phase_ns[PHASE_COMM], ==, 26);
    g_assert_cmpint(a.transfer_ns, ==, 26);
    g_assert_cmpint(a.wait_ns, ==, 24 + 16);
    for (uint32_t r = 0; r < 2; r++)
        g_assert_cmpint(a.causes[r].ns[CAUSE_LATE_PEER], ==, 0);
    analysis_release(&a);
    trace.t.n_stages = 0; /* of no pipeline: as communication, for which a cause is sought */
    g_assert_true(analyze(&trace, &a, NULL));
    check_partition(&a.partition[0], 56, 50 + 8, 2 + 12 + 8, 2);
    g_assert_cmpint(a.causes[0].ns[CAUSE_LATE_PEER], ==, 6);
    analysis_release(&a);
    trace.t.n_stages = 2;
    trace_release(&trace);
}

/* What of a message's bar is waiting is marked in it, and nowhere else. */
static void test_waits_in_file(void)
{
    static const int64_t wanted[][3] = {
        {2, 10, 34}, {2, 38, 54}, {5, 2, 10}, {5, 14, 20}}; /* thread, from, to */
    struct trace trace;
    g_autoptr(GString) text = g_string_new(NULL);
    by_hand(&trace, 0);
    export_chrome(&trace, text);
    struct strict_json *json = strict_json_parse(text->str);
    const struct strict_json *events = strict_json_get(json, "traceEvents");
    unsigned found = 0;
    int64_t from = -1;
    for (size_t i = 0; i < strict_json_length(events); i++) {
        const struct strict_json *e = strict_json_at(events, i), *ts = strict_json_get(e, "ts");
        const char *phase = strict_json_string_of(e, "ph");
        const int64_t at = ts ? llround(g_ascii_strtod(ts->text, NULL) * 1000) : 0;
        if (!strcmp(phase, "B")) {
            g_assert_cmpstr(strict_json_string_of(e, "name"), ==, "waits");
            from = at;
        } else if (!strcmp(phase, "E")) {
            g_assert_cmpuint(found, <, G_N_ELEMENTS(wanted));
            g_assert_cmpint(strict_json_integer(e, "tid"), ==, wanted[found][0]);
            g_assert_cmpint(from, ==, wanted[found][1]);
            g_assert_cmpint(at, ==, wanted[found][2]);
            found++;
        }
    }
    g_assert_cmpuint(found, ==, G_N_ELEMENTS(wanted));
    strict_json_free(json);
    trace_release(&trace);
}

static void test_slowest_stage(void)
{
    struct trace trace;
    struct analysis a;
    by_hand(&trace, 0);
    open(&trace, &a);
    g_assert_cmpuint(a.pipeline->slowest_stage, ==, 0); /* equal: the first */
    near(1 + pipeline_stage_excess(a.pipeline), 1);
    analysis_release(&a);
    for (size_t i = 0; i < trace.n_ops; i++)
        if (trace.ops[i].lane == 3 && trace.ops[i].tag.kind == OP_BWD && trace.ops[i].tag.micro == 1)
            trace.ops[i].end_ns += 8;
    open(&trace, &a);
    g_assert_cmpuint(a.pipeline->slowest_stage, ==, 1);
    near(pipeline_stage_excess(a.pipeline), 100 * (48.0 / 44 - 1));
    analysis_release(&a);
    trace_release(&trace);
}

static void test_no_pipeline(void)
{
    struct trace trace;
    struct analysis a;
    by_hand(&trace, 0);
    for (size_t i = 0; i < trace.n_ops; i++)
        trace.ops[i].tag.stage = 7; /* of no table */
    g_assert_true(analyze(&trace, &a, NULL));
    g_assert_null(a.pipeline);
    analysis_release(&a);
    trace.t.n_stages = 0;
    g_assert_true(analyze(&trace, &a, NULL));
    g_assert_null(a.pipeline);
    analysis_release(&a);
    trace.t.n_stages = 2;
    trace_release(&trace);
}

static void test_report(void)
{
    struct trace trace;
    struct analysis a;
    pipe_simulate(&(struct pipe_case){"interleaved", "F=1,B=1,W=1,C=1", 4, 2, 8, 2, 0}, &trace);
    open(&trace, &a);
    const struct report report = {.trace = &trace, .analysis = &a};
    g_autoptr(GString) json = g_string_new(NULL), text = g_string_new(NULL);
    report_json(&report, json);
    struct strict_json *j = strict_json_parse(json->str);
    const struct strict_json *p = strict_json_get(j, "pipeline");
    g_assert_cmpint(strict_json_integer(p, "makespan_ns"), ==, a.pipeline->makespan_ns);
    g_assert_cmpint(strict_json_integer(p, "period_ns"), ==, a.pipeline->period_ns);
    g_assert_cmpint(strict_json_integer(p, "rounds"), ==, 2);
    g_assert_cmpuint(strict_json_length(strict_json_get(p, "in_flight")), ==, 4);
    g_assert_cmpuint(strict_json_length(strict_json_get(p, "exposed_send_ns")), ==, 4);
    g_assert_cmpuint(strict_json_length(strict_json_get(p, "stages")), ==, 8);
    strict_json_free(j);
    report_print(&report, text);
    g_assert_nonnull(strstr(text->str, "0, 4"));
    g_assert_nonnull(strstr(text->str, "2 steps, the last ends "));
    g_assert_nonnull(strstr(text->str, "(idle/total)"));
    g_assert_nonnull(strstr(text->str, "(idle/ideal)"));
    g_assert_nonnull(strstr(text->str, "exposed sends: "));
    g_assert_null(strstr(text->str, "hidden"));
    analysis_release(&a);
    trace_release(&trace);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/pipeline-analysis/published", test_published);
    g_test_add_func("/pipeline-analysis/bubbles", test_bubbles);
    g_test_add_func("/pipeline-analysis/sums", test_sums);
    g_test_add_func("/pipeline-analysis/exposed-sends", test_exposed_sends);
    g_test_add_func("/pipeline-analysis/waiting-is-idle", test_waiting_is_idle);
    g_test_add_func("/pipeline-analysis/waits-in-file", test_waits_in_file);
    g_test_add_func("/pipeline-analysis/slowest-stage", test_slowest_stage);
    g_test_add_func("/pipeline-analysis/no-pipeline", test_no_pipeline);
    g_test_add_func("/pipeline-analysis/report", test_report);
    return g_test_run();
}
