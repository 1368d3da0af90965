#include "profile/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/memory.h"
#include "profile/report-device.h"
#include "profile/report-pipeline.h"
#include "profile/report-text.h"
#include "profile/table.h"
#include "profile/traffic.h"

#define BUCKET_ROWS 16

const char *report_overlap(const struct report *r)
{
    for (const char *const *o = r->options; o && o[0]; o += 2)
        if (strcmp(o[0], "overlap") == 0)
            return o[1];
    return NULL;
}

struct variant report_run(const struct report *r)
{
    const char *overlap = report_overlap(r);
    return (struct variant){overlap ? overlap : r->trace->t.mode, r->trace, r->analysis,
                            r->predicted_analysis};
}

double report_error_percent(const struct analysis *predicted, const struct analysis *measured)
{
    double ns = (double)measured->median_ns;
    return ((double)predicted->median_ns - ns) / ns * 100;
}

const struct variant *report_baseline(const struct report *r)
{
    const char *overlap = report_overlap(r);
    for (uint32_t i = 0; i < r->n_others && !(overlap && strcmp(overlap, "none") == 0); i++)
        if (strcmp(r->others[i].name, "none") == 0)
            return &r->others[i];
    return NULL;
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

/* Its bandwidths, and where that is a column, how long NCCL expects it to take. */
static void add_bandwidth(const struct report *r, uint32_t i, bool estimates, struct table *table)
{
    double algorithm, bus;
    uint64_t ns;
    bool known = bucket_bandwidth(&r->analysis->buckets[i], r->trace->t.buckets[i].bytes, &algorithm, &bus);
    table_cell(table, known ? text_number("%.1f", algorithm / 1e9) : g_strdup("-"));
    table_cell(table, known ? text_number("%.1f", bus / 1e9) : g_strdup("-"));
    if (estimates)
        table_cell(table, report_nccl_estimate(r->trace, i, &ns) && ns <= G_MAXINT64
                              ? text_ms((int64_t)ns, text_decimals(r))
                              : g_strdup("-"));
}

/* What columns there are beside those of every run. */
struct columns {
    bool bandwidths, estimates;
};

static struct columns choose_columns(const struct report *r)
{
    uint64_t ns;
    struct columns c = {.bandwidths = !r->trace->simulated && report_on_devices(r->trace)};
    for (uint32_t i = 0; c.bandwidths && i < r->analysis->n_buckets; i++)
        c.estimates = c.estimates || report_nccl_estimate(r->trace, i, &ns);
    return c;
}

/* "rank 0, the slowest". */
static char *bucket_ranks(const struct analysis *a)
{
    bool elsewhere = false;
    for (uint32_t i = 0; i < a->n_buckets; i++)
        elsewhere |= a->buckets[i].rank != OP_NONE && a->buckets[i].rank != a->slowest_rank;
    return g_strdup_printf("rank %u, the slowest%s", a->slowest_rank,
                           elsewhere ? ", or where it ends last" : "");
}

static void begin_buckets(const struct analysis *a, struct table *table, struct columns c)
{
    table_init(table, "<bucket", ">MiB", "<closed by", ">ready", ">start", ">end", ">hidden", ">exposed",
               NULL);
    if (c.bandwidths) {
        table_column(table, '>', g_strdup("algbw"));
        table_column(table, '>', g_strdup("busbw"));
    }
    if (c.estimates)
        table_column(table, '>', g_strdup("NCCL"));
    g_autofree char *ranks = bucket_ranks(a);
    g_autofree char *note = g_strconcat("   ms from start of backward, on ", ranks,
                                        c.bandwidths ? "; GB/s of the transfer without waiting" : "",
                                        c.estimates ? "; ms that NCCL expects" : "", NULL);
    table_end_row(table, note);
}

static void add_bucket(const struct report *r, uint32_t i, const char *mib_format, struct columns columns,
                       struct table *table)
{
    const int digits = text_decimals(r);
    const struct bucket_row *row = &r->trace->t.buckets[i];
    const struct bucket_times *t = &r->analysis->buckets[i];
    table_cell(table, g_strdup_printf("%u", i));
    table_cell(table, text_number(mib_format, (double)row->bytes / 1048576.0));
    table_cell(table, row->closed_by < r->trace->t.n_params ? text_param(r->trace, row->closed_by)
                                                            : g_strdup("rest"));
    const int64_t times_ns[] = {t->ready_ns, t->start_ns, t->end_ns, t->hidden_ns, t->exposed_ns};
    for (unsigned k = 0; k < G_N_ELEMENTS(times_ns); k++)
        table_cell(table, t->rank == OP_NONE ? g_strdup("-") : text_ms(times_ns[k], digits));
    if (columns.bandwidths)
        add_bandwidth(r, i, columns.estimates, table);
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
    const struct columns columns = choose_columns(r);
    struct table table;
    begin_buckets(r->analysis, &table, columns);
    for (uint32_t i = 0; i < n; i++) {
        if (shown[i])
            add_bucket(r, i, mib_format, columns, &table);
        left_out += !shown[i];
    }
    table_print(&table, out);
    table_release(&table);
    if (left_out) {
        g_autofree char *next = text_ms(next_ns, text_decimals(r));
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
        table_cell(table, text_ms(times_ns[k], digits));
    table_end_row(table, note);
}

/* How a row came about. */
static char *row_note(const struct report *r, const struct variant *v)
{
    if (r->trace->simulated)
        return g_strdup(" ms  simulated");
    if (v->trace->simulated)
        return g_strdup(" ms  predicted");
    if (!v->predicted || v->analysis->median_ns == 0)
        return g_strdup(" ms  measured");
    g_autofree char *step = text_ms(v->predicted->median_ns, text_decimals(r));
    const double off = report_error_percent(v->predicted, v->analysis);
    g_autofree char *error = text_percent(off);
    return g_strdup_printf(" ms  measured (predicted %s, %s%s)", step, off >= 0.05 ? "+" : "", error);
}

static void add_variant(struct table *table, const struct report *r, const struct variant *v)
{
    g_autofree char *note = row_note(r, v);
    add_phases(table, v->name, v->analysis, text_decimals(r), note);
}

static void print_phases(const struct report *r, GString *out)
{
    const struct variant run = report_run(r);
    struct table table;
    table_init(&table, "<", ">FWD", ">BWD", ">COMM", ">exposed", ">OPT", ">step", NULL);
    table_end_row(&table, NULL);
    for (uint32_t i = 0; i < r->n_others; i++)
        add_variant(&table, r, &r->others[i]);
    add_variant(&table, r, &run);
    table_print(&table, out);
    table_release(&table);
}

/* A prediction that misses the step by more says nothing of the step without overlap either. */
#define PREDICTION_TRUSTED_PERCENT 20

static void print_saving(const struct report *r, const struct variant *none, GString *out)
{
    int64_t apart_ns = none->analysis->median_ns, saved_ns = apart_ns - r->analysis->median_ns;
    g_autofree char *saved = text_ms(ABS(saved_ns), text_decimals(r));
    g_autofree char *part = text_percent(apart_ns ? fabs((double)saved_ns) / (double)apart_ns * 100 : 0);
    /* What a model of the machine says is no measurement of what overlap costs. */
    const bool guessed = none->trace->simulated && !r->trace->simulated;
    const double error = r->predicted_analysis ? report_error_percent(r->predicted_analysis, r->analysis) : 0;
    if (guessed && fabs(error) > PREDICTION_TRUSTED_PERCENT)
        g_string_append(out, "; the prediction is too far off to say what overlap saves");
    else if (guessed && saved_ns < 0)
        g_string_append_printf(out, "; %s ms (%s) above the prediction without overlap, which is too low",
                               saved, part);
    else
        g_string_append_printf(out, "; %s %s ms (%s)%s", saved_ns < 0 ? "costs" : "saves", saved, part,
                               guessed ? " of the predicted" : "");
}

/* Worth a line where it is more than noise. */
static void print_wait(const struct report *r, GString *out)
{
    const struct analysis *a = r->analysis;
    if (a->wait_ns * 20 <= a->transfer_ns)
        return;
    g_autofree char *wait = text_ms(a->wait_ns, text_decimals(r)),
                    *transfer = text_ms(a->transfer_ns, text_decimals(r));
    g_string_append_printf(out,
                           "COMM of rank %u is %s ms of transfer and %s ms of waiting for other ranks.\n",
                           a->slowest_rank, transfer, wait);
}

static void print_overlap(const struct report *r, GString *out)
{
    const struct analysis *a = r->analysis;
    const struct partition *p = &a->partition[(gsize)a->median_step * a->n_ranks + a->slowest_rank];
    const struct variant *none = report_baseline(r);
    if (a->n_ranks == 1 && a->n_buckets) {
        g_string_append(out, "one rank: nothing to communicate\n");
    } else if (p->comm_ns > 0) {
        g_autofree char *part = text_percent((double)p->hidden_comm_ns / (double)p->comm_ns * 100);
        g_string_append_printf(out, "%s of communication hidden", part);
        if (none)
            print_saving(r, none, out);
        g_string_append(out, ".\n");
        report_why(r, out);
        print_wait(r, out);
    }
}

static char *loss_text(double loss)
{
    if (!isfinite(loss))
        return g_strdup("not finite");
    return text_number(fabs(loss) >= 1 || loss == 0 ? "%.2f" : "%.3g", loss);
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

static void print_loss(const struct report *r, GString *out)
{
    const struct trace *trace = r->trace;
    double first = trace->loss[0], last = trace->loss[trace->n_steps - 1];
    g_autofree char *from = loss_text(first), *to = loss_text(last);
    if (r->training)
        g_string_append(out, "the last epoch's last steps: ");
    g_string_append_printf(out, "loss %s", from);
    if (trace->n_steps > 1)
        g_string_append_printf(out, " → %s", to);
    if (!isfinite(last)) {
        g_string_append(out, " (training diverged; try a smaller --lr)");
    } else if (r->tokens && isfinite(first)) {
        g_autofree char *before = text_perplexity(first), *after = text_perplexity(last);
        g_string_append_printf(out, " (perplexity %s", before);
        g_string_append_printf(out, trace->n_steps > 1 ? " → %s)" : ")", after);
    }
}

static double relative(double a, double b)
{
    double d = memcmp(&a, &b, sizeof a) ? fabs(a / b - 1) : 0;
    return isfinite(d) ? d : INFINITY;
}

/* Each overlap trains from the same weights on the same data, so that only rounding may set them apart. */
static void print_losses(const struct report *r, GString *out)
{
    double most = 0;
    uint32_t compared = 0;
    for (uint32_t i = 0; i < r->n_others; i++) {
        const struct trace *other = r->others[i].trace;
        const uint32_t steps = other->loss ? MIN(other->n_steps, r->trace->n_steps) : 0;
        for (uint32_t step = 0; step < steps; step++, compared++)
            most = MAX(most, relative(other->loss[step], r->trace->loss[step]));
    }
    if (!compared || isinf(most))
        return;
    g_autofree char *apart = text_number("%.1e", most);
    if (most > 0)
        g_string_append_printf(out, "; losses differ by up to %s between overlaps", apart);
    else
        g_string_append(out, "; losses equal in every overlap");
}

static void print_training(const struct report *r, GString *out)
{
    const struct trace *trace = r->trace;
    const bool loss = trace->loss && trace->n_steps, weights = trace->weight_hash && trace->t.n_ranks > 1;
    uint32_t differ = 0;
    for (uint32_t rank = 1; weights && rank < trace->t.n_ranks; rank++)
        differ += trace->weight_hash[rank] != trace->weight_hash[0];
    if (r->training)
        training_print(r->training, r->tokens, out);
    if (loss) {
        print_loss(r, out);
        print_losses(r, out);
    }
    if (weights && !differ)
        g_string_append(out, loss ? "; weights equal on all ranks" : "weights equal on all ranks");
    if (loss || (weights && !differ))
        g_string_append_c(out, '\n');
    if (differ)
        print_differing(trace, differ, out);
}

void report_print(const struct report *r, GString *out)
{
    if (r->analysis) {
        print_buckets(r, out);
        print_phases(r, out);
        if (r->analysis->pipeline)
            report_pipeline(r, out);
        else
            print_overlap(r, out);
        traffic_print(r->trace, out);
    }
    report_device(r, out);
    memory_print(r->trace, out);
    print_training(r, out);
    if (r->trace->cancelled)
        g_string_append_printf(out, "interrupted: only %u step%s measured\n", r->trace->n_steps,
                               r->trace->n_steps == 1 ? "" : "s");
}
