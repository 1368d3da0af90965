#include "profile/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/memory.h"
#include "profile/table.h"
#include "profile/traffic.h"

#define BUCKET_ROWS  16
#define NAME_COLUMNS 28

const char *report_overlap(const struct report *r)
{
    for (const char *const *o = r->options; o && o[0]; o += 2)
        if (strcmp(o[0], "overlap") == 0)
            return o[1];
    return NULL;
}

bool report_compares(const struct report *r)
{
    const char *overlap = report_overlap(r);
    return r->unoverlapped && r->unoverlapped_analysis && !(overlap && strcmp(overlap, "none") == 0);
}

double report_error_percent(const struct report *r)
{
    double measured = (double)r->analysis->median_ns;
    return ((double)r->predicted_analysis->median_ns - measured) / measured * 100;
}

/* As many decimals as leave three digits of the step, but at least one: the same in both tables. */
static int decimals(const struct report *r)
{
    int64_t step_ns = r->analysis->median_ns;
    return step_ns >= 10000000 ? 1 : step_ns >= 1000000 ? 2 : 3;
}

static char *number(const char *format, double x)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    return g_strdup(g_ascii_formatd(text, sizeof text, format, x));
}

static char *ms(int64_t ns, int digits)
{
    const char *const formats[] = {"%.0f", "%.1f", "%.2f", "%.3f"};
    return number(formats[digits], (double)ns / 1e6);
}

/* "-1.8 %" with a minus as wide as a digit, and no negative zero. */
static char *percent(double x)
{
    g_autofree char *text = number("%.1f", fabs(x));
    return g_strdup_printf("%s%s %%", x < 0 && strcmp(text, "0.0") ? "−" : "", text);
}

/* "layer6.feed_forward.out" for its weight; the middle of a long name gives way. */
static char *closed_by(const struct trace *trace, const struct bucket_row *bucket)
{
    if (bucket->closed_by >= trace->t.n_params)
        return g_strdup("rest");
    char *name = printable(trace->t.params[bucket->closed_by].name);
    if (g_str_has_suffix(name, ".weight"))
        name[strlen(name) - strlen(".weight")] = '\0';
    glong length = g_utf8_strlen(name, -1);
    if (length <= NAME_COLUMNS)
        return name;
    g_autofree char *whole = name, *head = g_utf8_substring(name, 0, NAME_COLUMNS / 2 - 1);
    g_autofree char *tail = g_utf8_substring(name, length - NAME_COLUMNS / 2, length);
    return g_strdup_printf("%s…%s", head, tail);
}

static bool reduced(const struct report *r)
{
    for (uint32_t i = 0; i < r->analysis->n_buckets; i++)
        if (r->analysis->buckets[i].rank != OP_NONE)
            return true;
    return false;
}

struct exposure {
    int64_t exposed_ns;
    uint32_t bucket;
};

static int most_exposed(const void *a, const void *b)
{
    const struct exposure *x = a, *y = b;
    if (x->exposed_ns != y->exposed_ns)
        return x->exposed_ns > y->exposed_ns ? -1 : 1;
    return (x->bucket > y->bucket) - (x->bucket < y->bucket);
}

/* Which buckets are shown: all, or the first, the last and the most exposed ones.  Returns the largest
 * exposed time of those that are not. */
static int64_t choose_buckets(const struct analysis *a, bool *shown)
{
    uint32_t n = a->n_buckets, left = BUCKET_ROWS - 2;
    for (uint32_t i = 0; i < n; i++)
        shown[i] = n <= BUCKET_ROWS || i == 0 || i == n - 1;
    if (n <= BUCKET_ROWS)
        return 0;
    struct exposure *order = g_new(struct exposure, n);
    for (uint32_t i = 0; i < n; i++)
        order[i] = (struct exposure){a->buckets[i].exposed_ns, i};
    qsort(order, n, sizeof *order, most_exposed);
    uint32_t at = 0;
    for (; left; at++) {
        left -= !shown[order[at].bucket];
        shown[order[at].bucket] = true;
    }
    while (at < n - 1 && shown[order[at].bucket])
        at++;
    int64_t next_ns = order[at].exposed_ns;
    g_free(order);
    return next_ns;
}

static void add_bucket(const struct report *r, uint32_t i, const char *mib_format, int digits,
                       struct table *table)
{
    const struct bucket_row *row = &r->trace->t.buckets[i];
    const struct bucket_times *t = &r->analysis->buckets[i];
    table_cell(table, g_strdup_printf("%u", i));
    table_cell(table, number(mib_format, (double)row->bytes / 1048576.0));
    table_cell(table, closed_by(r->trace, row));
    const int64_t times_ns[] = {t->ready_ns, t->start_ns, t->end_ns, t->hidden_ns, t->exposed_ns};
    for (unsigned k = 0; k < G_N_ELEMENTS(times_ns); k++)
        table_cell(table, t->rank == OP_NONE ? g_strdup("-") : ms(times_ns[k], digits));
    table_end_row(table, NULL);
}

static void print_buckets(const struct report *r, GString *out)
{
    const struct trace *trace = r->trace;
    uint32_t n = r->analysis->n_buckets, left_out = 0;
    if (!reduced(r))
        return;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < n; i++)
        least = MIN(least, trace->t.buckets[i].bytes);
    const char *mib_format = least >= 104858 ? "%.1f" : "%.4f";
    bool *shown = g_new(bool, n);
    int64_t next_ns = choose_buckets(r->analysis, shown);
    struct table table;
    table_init(&table, "<bucket", ">MiB", "<closed by", ">ready", ">start", ">end", ">hidden", ">exposed",
               NULL);
    table_end_row(&table, "   ms from start of backward");
    for (uint32_t i = 0; i < n; i++) {
        if (shown[i])
            add_bucket(r, i, mib_format, decimals(r), &table);
        left_out += !shown[i];
    }
    table_print(&table, out);
    table_release(&table);
    if (left_out) {
        g_autofree char *next = ms(next_ns, decimals(r));
        g_string_append_printf(out, "%u other buckets, each exposed for %s ms at most, are left out\n",
                               left_out, next);
    }
    g_free(shown);
}

static void add_phases(struct table *table, const char *name, const struct analysis *a, int digits,
                       const char *note)
{
    const struct partition *p = &a->partition[(gsize)a->median_step * a->n_ranks + a->slowest_rank];
    const int64_t times_ns[] = {a->phase_ns[PHASE_FORWARD],   a->phase_ns[PHASE_BACKWARD],
                                a->phase_ns[PHASE_COMM],      p->exposed_comm_ns,
                                a->phase_ns[PHASE_OPTIMIZER], a->median_ns};
    table_cell(table, printable(name));
    for (unsigned k = 0; k < G_N_ELEMENTS(times_ns); k++)
        table_cell(table, ms(times_ns[k], digits));
    table_end_row(table, note);
}

static char *run_note(const struct report *r)
{
    if (r->trace->simulated)
        return g_strdup(" ms  simulated");
    if (!r->predicted_analysis || r->analysis->median_ns == 0)
        return g_strdup(" ms  measured");
    g_autofree char *step = ms(r->predicted_analysis->median_ns, decimals(r));
    g_autofree char *error = percent(report_error_percent(r));
    return g_strdup_printf(" ms  measured (predicted %s, %s)", step, error);
}

static void print_phases(const struct report *r, GString *out)
{
    const char *overlap = report_overlap(r);
    struct table table;
    table_init(&table, "<", ">FWD", ">BWD", ">COMM", ">exposed", ">OPT", ">step", NULL);
    table_end_row(&table, NULL);
    if (report_compares(r))
        add_phases(&table, "none", r->unoverlapped_analysis, decimals(r),
                   r->trace->simulated          ? " ms  simulated"
                   : r->unoverlapped->simulated ? " ms  predicted"
                                                : " ms  measured");
    g_autofree char *note = run_note(r);
    add_phases(&table, overlap ? overlap : r->trace->t.mode, r->analysis, decimals(r), note);
    table_print(&table, out);
    table_release(&table);
}

static void print_saving(const struct report *r, GString *out)
{
    int64_t apart_ns = r->unoverlapped_analysis->median_ns, saved_ns = apart_ns - r->analysis->median_ns;
    g_autofree char *saved = ms(ABS(saved_ns), decimals(r));
    g_autofree char *part = percent(apart_ns ? fabs((double)saved_ns) / (double)apart_ns * 100 : 0);
    g_string_append_printf(out, "; %s %s ms (%s)", saved_ns < 0 ? "costs" : "saves", saved, part);
}

/* Worth a line where it is more than noise. */
static void print_wait(const struct report *r, GString *out)
{
    const struct analysis *a = r->analysis;
    if (a->wait_ns * 20 <= a->transfer_ns)
        return;
    g_autofree char *wait = ms(a->wait_ns, decimals(r)), *transfer = ms(a->transfer_ns, decimals(r));
    g_string_append_printf(out, "COMM of rank %u is %s ms of transfer and %s ms of waiting for other ranks\n",
                           a->slowest_rank, transfer, wait);
}

static void print_overlap(const struct report *r, GString *out)
{
    const struct analysis *a = r->analysis;
    const struct partition *p = &a->partition[(gsize)a->median_step * a->n_ranks + a->slowest_rank];
    if (a->n_ranks == 1 && a->n_buckets) {
        g_string_append(out, "one rank: nothing to communicate\n");
    } else if (p->comm_ns > 0) {
        g_autofree char *part = percent((double)p->hidden_comm_ns / (double)p->comm_ns * 100);
        g_string_append_printf(out, "%s of communication hidden", part);
        if (report_compares(r))
            print_saving(r, out);
        g_string_append(out, ".\n");
        print_wait(r, out);
    }
}

static char *loss_text(double loss)
{
    if (!isfinite(loss))
        return g_strdup("not finite");
    return number(fabs(loss) >= 1 || loss == 0 ? "%.2f" : "%.3g", loss);
}

/* Ranks whose weights are not those of rank 0, named up to a few. */
static void print_differing(const struct trace *trace, uint32_t differ, GString *out)
{
    enum { NAMED = 8 };
    uint32_t named = 0;
    g_string_append_printf(out, "*** WEIGHTS DIFFER: %u of %u ranks do not hold the weights of rank 0 (",
                           differ, trace->t.n_ranks);
    for (uint32_t rank = 1; rank < trace->t.n_ranks && named < NAMED; rank++)
        if (trace->weight_hash[rank] != trace->weight_hash[0])
            g_string_append_printf(out, "%s%u", named++ ? ", " : differ == 1 ? "rank " : "ranks ", rank);
    g_string_append(out, named < differ ? ", ...): " : "): ");
    g_string_append(out, "they no longer train one model. The numbers above are of a broken run. ***\n");
}

static void print_training(const struct trace *trace, GString *out)
{
    uint32_t differ = 0;
    for (uint32_t rank = 1; trace->weight_hash && rank < trace->t.n_ranks; rank++)
        differ += trace->weight_hash[rank] != trace->weight_hash[0];
    if (trace->loss && trace->n_steps) {
        double last_loss = trace->loss[trace->n_steps - 1];
        g_autofree char *first = loss_text(trace->loss[0]), *last = loss_text(last_loss);
        g_string_append_printf(out, "loss %s", first);
        if (trace->n_steps > 1)
            g_string_append_printf(out, " → %s", last);
        if (!isfinite(last_loss))
            g_string_append(out, " (training diverged; try a smaller --lr)");
        g_string_append(out, trace->weight_hash && trace->t.n_ranks > 1 && !differ ? "; " : "\n");
    }
    if (trace->weight_hash && trace->t.n_ranks > 1 && !differ)
        g_string_append(out, "weights equal on all ranks\n");
    if (differ)
        print_differing(trace, differ, out);
}

void report_print(const struct report *r, GString *out)
{
    if (r->analysis) {
        print_buckets(r, out);
        print_phases(r, out);
        print_overlap(r, out);
        traffic_print(r->trace, out);
    }
    memory_print(r->trace, out);
    print_training(r->trace, out);
    if (r->trace->cancelled)
        g_string_append_printf(out, "interrupted: only %u step%s measured\n", r->trace->n_steps,
                               r->trace->n_steps == 1 ? "" : "s");
}
