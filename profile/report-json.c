#include <inttypes.h>
#include <math.h>

#include "base/json.h"
#include "profile/fingerprint.h"
#include "profile/import.h"
#include "profile/memory.h"
#include "profile/report-device.h"
#include "profile/report-pipeline.h"
#include "profile/traffic.h"

/* A member of the outermost object starts a line; the schema is the first. */
static void member(GString *out, const char *key)
{
    g_string_append(out, ",\n ");
    json_string(out, key);
    g_string_append(out, ": ");
}

static void string_pairs(GString *out, const char *key, const char *const *pairs)
{
    if (!pairs || !pairs[0])
        return;
    member(out, key);
    for (size_t i = 0; pairs[i]; i += 2) {
        g_string_append(out, i ? ", " : "{");
        json_string(out, pairs[i]);
        g_string_append(out, ": ");
        json_string(out, pairs[i + 1]);
    }
    g_string_append(out, "}");
}

static void labels(const struct trace *trace, GString *out)
{
    if (!trace->n_labels)
        return;
    member(out, "labels");
    for (uint32_t i = 0; i < trace->n_labels; i++) {
        g_string_append(out, i ? ", " : "{");
        json_string(out, trace->labels[i].key);
        g_string_append(out, ": ");
        json_string(out, trace->labels[i].value);
    }
    g_string_append(out, "}");
}

/* One number a step and rank, which stands at `offset` in its partition. */
static void sample(GString *out, const struct analysis *a, const char *before, const char *key, size_t offset)
{
    g_string_append_printf(out, "%s\n  \"%s\": [", before, key);
    for (uint32_t step = 0; step < a->n_steps; step++) {
        g_string_append(out, step ? ", [" : "[");
        for (uint32_t rank = 0; rank < a->n_ranks; rank++) {
            const struct partition *p = &a->partition[(gsize)step * a->n_ranks + rank];
            g_string_append_printf(out, "%s%" PRId64, rank ? ", " : "",
                                   *(const int64_t *)((const char *)p + offset));
        }
        g_string_append(out, "]");
    }
    g_string_append(out, "]");
}

static void bubbles(const struct trace *trace, GString *out)
{
    g_autofree int64_t *idle_ns = pipeline_bubbles(trace);
    if (!idle_ns)
        return;
    g_string_append(out, ",\n  \"bubble_ns\": [");
    for (uint32_t step = 0; step < trace->n_steps; step++) {
        g_string_append(out, step ? ", [" : "[");
        for (uint32_t rank = 0; rank < trace->t.n_ranks; rank++)
            g_string_append_printf(out, "%s%" PRId64, rank ? ", " : "",
                                   idle_ns[(gsize)step * trace->t.n_ranks + rank]);
        g_string_append(out, "]");
    }
    g_string_append(out, "]");
}

static void samples(const struct trace *trace, const struct analysis *a, GString *out)
{
    member(out, "samples");
    sample(out, a, "{", "step_ns", offsetof(struct partition, window_ns));
    sample(out, a, ",", "compute_ns", offsetof(struct partition, compute_ns));
    sample(out, a, ",", "comm_ns", offsetof(struct partition, comm_ns));
    sample(out, a, ",", "exposed_comm_ns", offsetof(struct partition, exposed_comm_ns));
    sample(out, a, ",", "exposed_copy_ns", offsetof(struct partition, exposed_copy_ns));
    sample(out, a, ",", "idle_ns", offsetof(struct partition, idle_ns));
    if (a->pipeline)
        bubbles(trace, out);
    g_string_append(out, "}");
}

static void step(const struct analysis *a, GString *out)
{
    member(out, "step_ns");
    json_member_int(out, "{", "median", a->median_ns);
    if (a->n_steps >= CI95_SAMPLES)
        g_string_append_printf(out, ", \"ci95\": [%" PRId64 ", %" PRId64 "]", a->ci95_ns[0], a->ci95_ns[1]);
    json_member_int(out, ", ", "min", a->min_ns);
    json_member_int(out, ", ", "max", a->max_ns);
    g_string_append(out, "}");
    member(out, "median_step");
    g_string_append_printf(out, "%" PRIu32, a->median_step);
    member(out, "slowest_rank");
    g_string_append_printf(out, "%" PRIu32, a->slowest_rank);
}

static void causes(const struct causes *c, GString *out)
{
    g_string_append(out, ", \"causes_ns\": ");
    for (unsigned cause = 0; cause < CAUSES; cause++)
        json_member_int(out, cause ? ", " : "{", cause_name(cause), c->ns[cause]);
    g_string_append(out, "}");
    if (c->late_rank != OP_NONE)
        g_string_append_printf(out, ", \"late_rank\": %" PRIu32, c->late_rank);
}

/* What the step's numbers are of: its slowest rank. */
static const struct partition *slowest(const struct analysis *a)
{
    return &a->partition[(gsize)a->median_step * a->n_ranks + a->slowest_rank];
}

static void partition(const struct analysis *a, GString *out)
{
    const struct partition *p = slowest(a);
    json_member_int(out, "{", "compute", p->compute_ns);
    json_member_int(out, ", ", "exposed_comm", p->exposed_comm_ns);
    json_member_int(out, ", ", "exposed_copy", p->exposed_copy_ns);
    json_member_int(out, ", ", "idle", p->idle_ns);
    json_member_int(out, ", ", "span", p->window_ns);
    g_string_append(out, "}");
}

static void overlap(const struct analysis *a, GString *out)
{
    const struct partition *p = slowest(a);
    if (p->comm_ns == 0)
        return;
    member(out, "overlap");
    json_member_int(out, "{", "comm_ns", p->comm_ns);
    json_member_int(out, ", ", "hidden_ns", p->hidden_comm_ns);
    json_member_int(out, ", ", "exposed_ns", p->exposed_comm_ns);
    if (a->transfer_ns || a->wait_ns) {
        json_member_int(out, ", ", "transfer_ns", a->transfer_ns);
        json_member_int(out, ", ", "wait_ns", a->wait_ns);
    }
    g_string_append(out, ", \"percent\": ");
    json_double(out, (double)p->hidden_comm_ns / (double)p->comm_ns * 100);
    causes(&a->causes[a->slowest_rank], out);
    if (!isnan(a->slowdown_percent)) {
        g_string_append(out, ", \"compute_slowdown_percent\": ");
        json_double(out, a->slowdown_percent);
    }
    g_string_append(out, "}");
}

static void launches(const struct analysis *a, GString *out)
{
    if (a->launch_wait_ns < 0)
        return;
    member(out, "launches");
    json_member_int(out, "{", "wait_ns", a->launch_wait_ns);
    g_string_append(out, ", \"percent\": ");
    json_double(out, report_launch_percent(a));
    g_string_append_printf(out, ", \"bound\": %s}", analysis_launch_bound(a) ? "true" : "false");
}

static void records(const struct trace *trace, GString *out)
{
    const char *before = "{";
    for (unsigned i = 0; i < REPORT_RECORDS; i++) {
        uint64_t n;
        if (!report_fact(trace, report_records[i].fact, &n))
            continue;
        if (*before == '{')
            member(out, "records");
        g_string_append_printf(out, "%s\"%s\": %" PRIu64, before, report_records[i].key, n);
        before = ", ";
    }
    g_string_append(out, *before == ',' ? "}" : "");
}

static void phases(const struct analysis *a, GString *out)
{
    for (unsigned phase = 0; phase < PHASES; phase++)
        json_member_int(out, phase ? ", " : "{", phase_name(phase), a->phase_ns[phase]);
    g_string_append(out, "}");
}

static void bandwidth(const struct trace *trace, const struct bucket_times *t, uint32_t bucket, GString *out)
{
    double algorithm, bus;
    uint64_t ns;
    if (bucket_bandwidth(t, trace->t.buckets[bucket].bytes, &algorithm, &bus)) {
        json_member_int(out, ", ", "transfer_ns", t->transfer_ns);
        g_string_append(out, ", \"algbw_bytes_per_s\": ");
        json_double(out, algorithm);
        g_string_append(out, ", \"busbw_bytes_per_s\": ");
        json_double(out, bus);
    }
    if (report_nccl_estimate(trace, bucket, &ns))
        g_string_append_printf(out, ", \"nccl_estimate_ns\": %" PRIu64, ns);
}

static void bucket_times(const struct trace *trace, const struct analysis *a, uint32_t bucket, GString *out)
{
    const struct bucket_times *t = &a->buckets[bucket];
    if (t->rank == OP_NONE)
        return;
    g_string_append_printf(out, ", \"rank\": %" PRIu32, t->rank);
    json_member_int(out, ", ", "ready_ns", t->ready_ns);
    json_member_int(out, ", ", "launch_ns", t->launch_ns);
    json_member_int(out, ", ", "start_ns", t->start_ns);
    json_member_int(out, ", ", "end_ns", t->end_ns);
    json_member_int(out, ", ", "hidden_ns", t->hidden_ns);
    json_member_int(out, ", ", "exposed_ns", t->exposed_ns);
    json_member_int(out, ", ", "copied_ns", t->copied_ns);
    bandwidth(trace, t, bucket, out);
    causes(&a->bucket_causes[(gsize)t->rank * (a->n_buckets + 1) + bucket], out);
}

static void buckets(const struct trace *trace, const struct analysis *a, GString *out)
{
    const struct tables *t = &trace->t;
    if (!t->n_buckets)
        return;
    member(out, "buckets");
    for (uint32_t i = 0; i < t->n_buckets; i++) {
        const struct bucket_row *row = &t->buckets[i];
        g_string_append_printf(out, "%s\n  {\"index\": %" PRIu32 ", \"bytes\": %" PRIu64 ", \"params\": [",
                               i ? "," : "[", i, row->bytes);
        for (uint32_t k = 0; k < row->n_params; k++) {
            g_string_append(out, k ? ", " : "");
            json_string(out, t->params[t->bucket_params[row->first_param + k]].name);
        }
        g_string_append(out, "]");
        if (row->closed_by < t->n_params) {
            g_string_append(out, ", \"closed_by\": ");
            json_string(out, t->params[row->closed_by].name);
        }
        if (a)
            bucket_times(trace, a, i, out);
        g_string_append(out, "}");
    }
    g_string_append(out, "]");
}

static void traffic(const struct trace *trace, GString *out)
{
    struct traffic t;
    if (!traffic_count(trace, &t))
        return;
    member(out, "traffic");
    traffic_json(&t, out);
    traffic_release(&t);
}

static void training(const struct trace *trace, GString *out)
{
    if (trace->loss) {
        member(out, "loss");
        g_string_append(out, "[");
        for (uint32_t i = 0; i < trace->n_steps; i++) {
            g_string_append(out, i ? ", " : "");
            json_double(out, trace->loss[i]);
        }
        g_string_append(out, "]");
    }
    if (trace->weight_hash) {
        bool equal = true;
        for (uint32_t rank = 1; rank < trace->t.n_ranks; rank++)
            equal = equal && trace->weight_hash[rank] == trace->weight_hash[0];
        member(out, "weights_equal");
        g_string_append(out, equal ? "true" : "false");
    }
}

static void epochs(const struct report *r, GString *out)
{
    if (!r->training)
        return;
    member(out, "training");
    training_json(r->training, out);
}

static void prediction(const struct report *r, GString *out)
{
    if (!r->predicted_analysis || r->trace->simulated)
        return;
    member(out, "prediction");
    json_member_int(out, "{", "step_ns", r->predicted_analysis->median_ns);
    if (r->analysis->median_ns) {
        g_string_append(out, ", \"error_percent\": ");
        json_double(out, report_error_percent(r->predicted_analysis, r->analysis));
    }
    g_string_append(out, "}");
}

static void variant(const struct variant *v, const char *before, GString *out)
{
    const struct analysis *a = v->analysis;
    const struct partition *p = slowest(a);
    g_string_append_printf(out, "%s\n  {\"overlap\": ", before);
    json_string(out, v->name);
    g_string_append_printf(out, ", \"measured\": %s", v->trace->simulated ? "false" : "true");
    json_member_int(out, ", ", "step_ns", a->median_ns);
    json_member_int(out, ", ", "exposed_comm_ns", p->exposed_comm_ns);
    if (v->predicted && !v->trace->simulated)
        json_member_int(out, ", ", "predicted_step_ns", v->predicted->median_ns);
    json_member_int(out, ", ", "comm_ns", p->comm_ns);
    json_member_int(out, ", ", "hidden_comm_ns", p->hidden_comm_ns);
    g_string_append(out, ",\n   \"partition_ns\": ");
    partition(a, out);
    g_string_append(out, ",\n   \"phases_ns\": ");
    phases(a, out);
    g_string_append(out, "}");
}

static void variants(const struct report *r, GString *out)
{
    const struct variant *none = report_baseline(r), run = report_run(r);
    if (none) {
        member(out, "unoverlapped");
        json_member_int(out, "{", "step_ns", none->analysis->median_ns);
        g_string_append_printf(out, ", \"simulated\": %s}", none->trace->simulated ? "true" : "false");
    }
    if (!r->n_others)
        return;
    member(out, "variants");
    for (uint32_t i = 0; i < r->n_others; i++)
        variant(&r->others[i], i ? "," : "[", out);
    variant(&run, ",", out);
    g_string_append(out, "]");
}

static void fingerprint(const struct report *r, GString *out)
{
    struct digest digest;
    struct fingerprint f;
    digest_make(&digest, r);
    fingerprint_make(&f, &digest);
    member(out, "fingerprint");
    fingerprint_json(&f, out);
    fingerprint_release(&f);
    digest_release(&digest);
}

static void header(const struct report *r, GString *out)
{
    const struct trace *trace = r->trace;
    g_string_append(out, "{\"schema\": \"parprof.report/1\"");
    member(out, "mode");
    json_string(out, trace->t.mode);
    if (r->backend) {
        member(out, "backend");
        json_string(out, r->backend);
    }
    member(out, "simulated");
    g_string_append(out, trace->simulated ? "true" : "false");
    if (trace->cancelled) {
        member(out, "cancelled");
        g_string_append(out, "true");
    }
    member(out, "ranks");
    g_string_append_printf(out, "%" PRIu32, trace->t.n_ranks);
    if (trace->t.model) {
        member(out, "model");
        json_string(out, trace->t.model);
    }
    if (r->trace_file) {
        member(out, "trace");
        json_string(out, r->trace_file);
    }
    string_pairs(out, "options", r->options);
    g_auto(GStrv) environment = report_environment(r);
    string_pairs(out, "environment", (const char *const *)environment);
    labels(trace, out);
    fingerprint(r, out);
}

void report_json(const struct report *r, GString *out)
{
    const struct analysis *a = r->analysis;
    header(r, out);
    if (a) {
        samples(r->trace, a, out);
        step(a, out);
        member(out, "partition_ns");
        partition(a, out);
        overlap(a, out);
        launches(a, out);
        member(out, "phases_ns");
        phases(a, out);
        if (a->backward_end_ns > a->backward_start_ns) {
            member(out, "backward_ns");
            g_string_append_printf(out, "%" PRId64, a->backward_end_ns - a->backward_start_ns);
        }
        if (a->pipeline)
            pipeline_json(r->trace, a->pipeline, out);
    }
    records(r->trace, out);
    buckets(r->trace, a, out);
    traffic(r->trace, out);
    memory_json(r->trace, out);
    training(r->trace, out);
    epochs(r, out);
    if (a) {
        prediction(r, out);
        variants(r, out);
    }
    if (r->costs) {
        member(out, "costs");
        export_cost_rows(r->costs, out);
    }
    g_string_append(out, "\n}\n");
}
