#include "profile/report-pipeline.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "profile/memory.h"
#include "profile/report-text.h"
#include "profile/table.h"

#define RANK_ROWS 16
#define MIB       1048576.0

static double percent_of(int64_t part_ns, int64_t whole_ns)
{
    return whole_ns > 0 ? 100 * (double)part_ns / (double)whole_ns : 0;
}

/* "0", "0, 7"; with more than four, "0, 4, ..., 28" */
static char *stages_text(const struct tables *t, uint32_t rank)
{
    GString *text = g_string_new(NULL);
    uint32_t n = 0, last = 0;
    for (uint32_t s = 0; s < t->n_stages; s++) {
        if (t->stages[s].rank != rank)
            continue;
        if (n++ < 3)
            g_string_append_printf(text, "%s%" PRIu32, n > 1 ? ", " : "", s);
        last = s;
    }
    if (n > 3)
        g_string_append_printf(text, n > 4 ? ", …, %" PRIu32 : ", %" PRIu32, last);
    return g_string_free(text, FALSE);
}

/* "layer1" where the stage has that block's first layer, or its last one; else "layer1.attention". */
static char *layer_text(const struct tables *t, uint32_t layer, bool whole)
{
    return printable(whole ? t->layers[layer].block : t->layers[layer].name);
}

static void append_layers(const struct tables *t, const struct stage_row *s, GString *text)
{
    const uint32_t first = s->layer0, last = s->layer1 - 1, n = t->n_layers;
    if (s->layer0 >= s->layer1 || s->layer1 > n)
        return;
    const bool begins = first == 0 || strcmp(t->layers[first].block, t->layers[first - 1].block),
               ends = last == n - 1 || strcmp(t->layers[last].block, t->layers[last + 1].block);
    g_autofree char *from = layer_text(t, first, begins), *to = layer_text(t, last, ends);
    g_string_append(text, text->len ? ", " : "");
    g_string_append_printf(text, strcmp(from, to) ? "%s–%s" : "%s", from, to);
}

/* Of the rank's first two stages. */
static char *layers_text(const struct tables *t, uint32_t rank)
{
    GString *text = g_string_new(NULL);
    uint32_t n = 0;
    for (uint32_t s = 0; s < t->n_stages; s++) {
        if (t->stages[s].rank != rank)
            continue;
        if (++n <= 2)
            append_layers(t, &t->stages[s], text);
    }
    if (n > 2)
        g_string_append(text, ", …");
    return g_string_free(text, FALSE);
}

static void add_rank(const struct report *r, uint32_t rank, struct table *table)
{
    const struct pipeline_times *p = r->analysis->pipeline;
    const struct pipeline_rank *own = &p->ranks[rank];
    const int digits = text_decimals(r);
    table_cell(table, g_strdup_printf("%" PRIu32, rank));
    table_cell(table, stages_text(&r->trace->t, rank));
    table_cell(table, layers_text(&r->trace->t, rank));
    table_cell(table, text_ms(own->busy_ns, digits));
    table_cell(table, text_ms(own->end_ns - own->start_ns, digits));
    table_cell(table, text_percent(percent_of(own->idle_ns, p->makespan_ns)));
    table_cell(table, text_number("%.4g", pipeline_in_flight(own)));
    if (r->trace->memory_bytes)
        table_cell(table, text_number("%.1f", (double)memory_peak(r->trace, rank) / MIB));
    table_end_row(table, NULL);
}

static void print_ranks(const struct report *r, GString *out)
{
    const uint32_t n = r->analysis->n_ranks;
    struct table table;
    table_init(&table, ">rank", "<stages", "<layers", ">busy", ">span", ">bubble", ">in flight", NULL);
    if (r->trace->memory_bytes)
        table_column(&table, '>', g_strdup("MiB"));
    table_end_row(&table, "   ms; micro-batches whose activations are held");
    for (uint32_t rank = 0; rank < n; rank++)
        if (n <= RANK_ROWS || rank < RANK_ROWS - 1 || rank == n - 1)
            add_rank(r, rank, &table);
    table_print(&table, out);
    table_release(&table);
    if (n > RANK_ROWS)
        g_string_append_printf(out, "ranks %d to %" PRIu32 " are left out\n", RANK_ROWS - 1, n - 2);
}

static void print_bubble(const struct report *r, GString *out)
{
    const struct pipeline_times *p = r->analysis->pipeline;
    const int digits = text_decimals(r);
    g_autofree char *makespan = text_ms(p->makespan_ns, digits), *period = text_ms(p->period_ns, digits),
                    *total = text_percent(100 * pipeline_bubble_of_total(p)),
                    *ideal = text_percent(100 * pipeline_bubble_of_ideal(p));
    g_string_append_printf(out, "makespan %s ms without the optimizer", makespan);
    if (p->period_ns >= 0)
        g_string_append_printf(out, ", %" PRIu32 " steps, the last ends %s ms after the one before it",
                               p->n_rounds, period);
    g_string_append_printf(
        out, "; bubble %s of the makespan (idle/total), %s of the computation (idle/ideal).\n", total, ideal);
}

static void print_sends(const struct report *r, GString *out)
{
    const struct pipeline_times *p = r->analysis->pipeline;
    uint32_t most = 0;
    for (uint32_t rank = 1; rank < p->n_ranks; rank++)
        if (p->ranks[rank].exposed_send_ns > p->ranks[most].exposed_send_ns)
            most = rank;
    if (p->exposed_send_ns <= 0)
        return;
    g_autofree char *sum = text_ms(p->exposed_send_ns, text_decimals(r)),
                    *worst = text_ms(p->ranks[most].exposed_send_ns, text_decimals(r)),
                    *part = text_percent(percent_of(p->exposed_send_ns, p->idle_ns));
    g_string_append_printf(out,
                           "exposed sends: ranks idle for %s ms (%s of the bubble) while what they wait for "
                           "is on its way, rank %" PRIu32 " most, for %s ms.\n",
                           sum, part, most, worst);
}

/* Worth a line where stages differ. */
static void print_slowest(const struct report *r, GString *out)
{
    const struct pipeline_times *p = r->analysis->pipeline;
    const uint32_t s = p->slowest_stage;
    const double excess = pipeline_stage_excess(p);
    if (excess < 0.5)
        return;
    g_autofree char *time = text_ms(p->stage_ns[s] / p->n_micro, text_decimals(r)),
                    *over = text_percent(excess);
    g_string_append_printf(
        out, "slowest stage: %" PRIu32 " of rank %" PRIu32 ", %s ms a micro-batch, %s over the mean.\n", s,
        r->trace->t.stages[s].rank, time, over);
}

void report_pipeline(const struct report *r, GString *out)
{
    print_ranks(r, out);
    print_bubble(r, out);
    print_sends(r, out);
    print_slowest(r, out);
}

/* --- JSON */

/* A number a rank, which stands at `offset`. */
static void json_ranks(GString *out, const struct pipeline_times *p, const char *key, size_t offset)
{
    g_string_append_printf(out, ",\n  \"%s\": [", key);
    for (uint32_t r = 0; r < p->n_ranks; r++)
        g_string_append_printf(out, "%s%" PRId64, r ? ", " : "",
                               *(const int64_t *)((const char *)&p->ranks[r] + offset));
    g_string_append(out, "]");
}

static void json_in_flight(GString *out, const struct pipeline_times *p)
{
    g_string_append(out, ",\n  \"span_ns\": [");
    for (uint32_t r = 0; r < p->n_ranks; r++)
        g_string_append_printf(out, "%s%" PRId64, r ? ", " : "", p->ranks[r].end_ns - p->ranks[r].start_ns);
    g_string_append(out, "],\n  \"in_flight\": [");
    for (uint32_t r = 0; r < p->n_ranks; r++)
        g_string_append_printf(out, "%s%" PRIu32, r ? ", " : "", p->ranks[r].in_flight);
    g_string_append(out, "],\n  \"in_flight_micro_batches\": [");
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        g_string_append(out, r ? ", " : "");
        json_double(out, pipeline_in_flight(&p->ranks[r]));
    }
    g_string_append(out, "]");
}

static void json_stages(GString *out, const struct tables *t, const struct pipeline_times *p)
{
    g_string_append(out, ",\n  \"stages\": [");
    for (uint32_t s = 0; s < p->n_stages; s++) {
        const struct stage_row *row = &t->stages[s];
        g_string_append_printf(out, "%s{\"rank\": %" PRIu32 ", \"layer0\": %" PRIu32 ", \"layer1\": %" PRIu32,
                               s ? ", " : "", row->rank, row->layer0, row->layer1);
        json_member_int(out, ", ", "busy_ns", p->stage_ns[s]);
        g_string_append(out, "}");
    }
    g_string_append_printf(out, "],\n  \"slowest_stage\": {\"stage\": %" PRIu32, p->slowest_stage);
    json_member_int(out, ", ", "micro_batch_ns", p->stage_ns[p->slowest_stage] / p->n_micro);
    g_string_append(out, ", \"excess_percent\": ");
    json_double(out, pipeline_stage_excess(p));
    g_string_append(out, "}");
}

void pipeline_json(const struct trace *trace, const struct pipeline_times *p, GString *out)
{
    g_string_append(out, ",\n \"pipeline\": {");
    if (trace->t.schedule) {
        g_string_append(out, "\"schedule\": ");
        json_string(out, trace->t.schedule);
        g_string_append(out, ", ");
    }
    g_string_append_printf(out, "\"micro_batches\": %" PRIu32 ", \"rounds\": %" PRIu32, p->n_micro,
                           p->n_rounds);
    json_member_int(out, ", ", "unit_ns", p->unit_ns);
    json_member_int(out, ", ", "makespan_ns", p->makespan_ns);
    if (p->period_ns >= 0)
        json_member_int(out, ", ", "period_ns", p->period_ns);
    g_string_append(out, ", \"bubble_of_total\": ");
    json_double(out, pipeline_bubble_of_total(p));
    g_string_append(out, ", \"bubble_of_ideal\": ");
    json_double(out, pipeline_bubble_of_ideal(p));
    json_in_flight(out, p);
    json_ranks(out, p, "busy_ns", offsetof(struct pipeline_rank, busy_ns));
    json_ranks(out, p, "update_ns", offsetof(struct pipeline_rank, update_ns));
    json_ranks(out, p, "idle_ns", offsetof(struct pipeline_rank, idle_ns));
    json_ranks(out, p, "exposed_send_ns", offsetof(struct pipeline_rank, exposed_send_ns));
    json_stages(out, &trace->t, p);
    g_string_append(out, "}");
}

int64_t *pipeline_bubbles(const struct trace *trace)
{
    const uint32_t n_ranks = trace->t.n_ranks;
    int64_t *idle_ns = g_new0(int64_t, (gsize)trace->n_steps * n_ranks);
    struct trace step = *trace; /* its ops alone: they are ordered by step */
    for (size_t end, begin = 0; begin < trace->n_ops; begin = end) {
        const uint32_t number = trace->ops[begin].tag.step;
        for (end = begin; end < trace->n_ops && trace->ops[end].tag.step == number;)
            end++;
        step.ops = &trace->ops[begin];
        step.n_ops = end - begin;
        struct pipeline_times *p = pipeline_times_new(&step, number);
        for (uint32_t rank = 0; p && rank < n_ranks; rank++)
            idle_ns[(gsize)number * n_ranks + rank] = p->ranks[rank].idle_ns;
        if (!p)
            g_clear_pointer(&idle_ns, g_free);
        pipeline_times_free(p);
        if (!idle_ns)
            break;
    }
    return idle_ns;
}
