#include "tests/report-run.h"

#include "profile/facts.h"
#include "tests/small-trace.h"

void run_add(struct trace *trace, unsigned kind, uint32_t rank, uint32_t bucket, int64_t start_us,
             int64_t end_us)
{
    unsigned cls = op_lane_class(kind);
    for (uint32_t step = 0; step < trace->n_steps; step++) {
        int64_t base = step * 400000 * US;
        struct trace_op op =
            small_op(kind, small_lane(rank, cls, 0), step, base + start_us * US, base + end_us * US);
        op.tag.bucket = bucket;
        trace_add_op(trace, &op);
    }
}

static void name_params(struct trace *trace)
{
    static const char *const names[] = {"layer6.feed_forward.out.weight", "layer6.attention.norm.bias",
                                        "embedding.word.weight"};
    trace->t.n_params = 3;
    trace->t.params = g_new0(struct param_row, 3);
    trace->t.bucket_params = g_new0(uint32_t, 3);
    for (uint32_t i = 0; i < 3; i++) {
        trace->t.params[i] = (struct param_row){names[i], 100, 0, i != 0};
        trace->t.bucket_params[i] = i;
    }
    trace->t.buckets[0] = (struct bucket_row){25u << 20, 0, 1, 0};
    trace->t.buckets[1] = (struct bucket_row){3u << 20, 1, 2, OP_NONE};
}

static void make_run(struct trace *trace)
{
    small_init(trace, 2, 2);
    name_params(trace);
    trace->n_steps = 3;
    for (uint32_t rank = 0; rank < 2; rank++) {
        run_add(trace, OP_FWD, rank, OP_NONE, 0, 84100);
        run_add(trace, OP_BWD, rank, OP_NONE, 84100, 255700);
        run_add(trace, OP_ALLREDUCE, rank, 0, 132800, 153800);
        run_add(trace, OP_ALLREDUCE, rank, 1, 255700, 283900);
        run_add(trace, OP_OPTIM, rank, OP_NONE, 283900, 297900);
    }
    trace->loss = g_new(double, 3);
    trace->loss[0] = 9.01;
    trace->loss[1] = 8.9;
    trace->loss[2] = 8.74;
    trace->weight_hash = g_new0(uint64_t, 2);
    trace_label(trace, "engine", "%s", "cpu");
    trace_finish(trace);
}

void make_row(struct trace *trace, uint32_t ranks, int64_t comm_us, int64_t other_us)
{
    small_init(trace, ranks, 0);
    trace->n_steps = 1;
    trace->simulated = true;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        run_add(trace, OP_FWD, rank, OP_NONE, 0, other_us);
        if (comm_us)
            run_add(trace, OP_ALLREDUCE, rank, OP_NONE, other_us, other_us + comm_us);
        run_add(trace, OP_OPTIM, rank, OP_NONE, other_us + comm_us, 2 * other_us + comm_us);
    }
    trace_finish(trace);
}

const char *const overlapping[5] = {"batch", "8", "overlap", "backward", NULL};
const char *const apart[3] = {"overlap", "none", NULL};

void fixture_analyze(struct fixture *f)
{
    g_assert_true(analyze(&f->run, &f->run_analysis, NULL));
    g_assert_true(analyze(&f->predicted, &f->predicted_analysis, NULL));
    g_assert_true(analyze(&f->unoverlapped, &f->unoverlapped_analysis, NULL));
    f->none = (struct variant){"none", &f->unoverlapped, &f->unoverlapped_analysis, NULL};
    f->report = (struct report){.trace = &f->run,
                                .analysis = &f->run_analysis,
                                .predicted_analysis = &f->predicted_analysis,
                                .others = &f->none,
                                .n_others = 1,
                                .tokens = true,
                                .backend = "cpu",
                                .options = overlapping};
}

void fixture_init(struct fixture *f)
{
    make_run(&f->run);
    make_row(&f->predicted, 2, 92400, 100000);
    make_row(&f->unoverlapped, 2, 157100, 100000);
    fixture_analyze(f);
}

void fixture_release(struct fixture *f)
{
    analysis_release(&f->run_analysis);
    analysis_release(&f->predicted_analysis);
    analysis_release(&f->unoverlapped_analysis);
    trace_release(&f->run);
    trace_release(&f->predicted);
    trace_release(&f->unoverlapped);
}

void make_device_run(struct fixture *f)
{
    struct trace *t = &f->run;
    struct trace_span *old = t->spans;
    size_t n = t->n_spans;
    t->spans = NULL;
    t->n_spans = t->room_spans = 0;
    for (size_t i = 0; i < n; i++) {
        bool forward = t->ops[old[i].op].tag.kind == OP_FWD;
        struct trace_span first = old[i], second = old[i];
        uint32_t host = small_lane(t->t.lanes[old[i].lane].rank, LANE_HOST, 0);
        first.name = second.name = "_Z1kv";
        first.end_ns = second.start_ns = old[i].start_ns + 10000 * US;
        second.start_ns += forward ? 40000 * US : 0;
        trace_add_span(t, &first);
        trace_add_span(t, &second);
        for (unsigned k = 0; k < 2; k++) {
            struct trace_span launch = {first.start_ns, first.start_ns + (forward && k ? 45000 : 1) * US,
                                        host,           old[i].op,
                                        SPAN_HOST,      "launch"};
            trace_add_span(t, &launch);
        }
    }
    g_free(old);
    trace_finish(t);
    trace_fact_text(t, "driver", "580.65");
    trace_fact_text(t, FACT_DROPPED, "12");
    trace_fact_text(t, FACT_ZERO, "0");
    trace_fact_text(t, FACT_EARLY, "3");
    trace_fact_text(t, "nccl estimate ns of bucket 1", "25000000");
    analysis_release(&f->run_analysis);
    g_assert_true(analyze(t, &f->run_analysis, NULL));
}
