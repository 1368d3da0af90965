#include <stdlib.h>
#include <string.h>

#include "profile/report-text.h"

/* Without overlap everything but waiting has one reason. */
enum { REASON_NO_OVERLAP = CAUSES, REASONS };

struct part {
    int64_t ns;
    unsigned reason; /* enum cause, or REASON_NO_OVERLAP */
};

static int by_size(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return (x->reason > y->reason) - (x->reason < y->reason);
}

/* What all communication but waiting is exposed for, where nothing could have hidden it; NULL: something
 * could. */
static const char *begins_after(const struct report *r)
{
    const char *overlap = report_overlap(r);
    if (!g_strcmp0(r->trace->t.mode, "dp"))
        return "because DataParallel never computes beside it";
    return overlap && strcmp(overlap, "none") == 0 ? "because without overlap it begins after backward"
                                                   : NULL;
}

/* What is seen of the causes at that many decimals, in falling order; how many parts. */
static unsigned split(const struct report *r, const struct causes *causes, struct part parts[static REASONS])
{
    const bool apart = begins_after(r) != NULL;
    int64_t least_ns = 500000;
    unsigned n = 0;
    for (int i = text_decimals(r); i > 0; i--)
        least_ns /= 10;
    for (unsigned reason = 0; reason < REASONS; reason++)
        parts[reason] = (struct part){0, reason};
    for (unsigned c = 0; c < CAUSES; c++)
        parts[apart && c != CAUSE_LATE_PEER ? (unsigned)REASON_NO_OVERLAP : c].ns += causes->ns[c];
    qsort(parts, REASONS, sizeof *parts, by_size);
    while (n < REASONS && parts[n].ns >= least_ns)
        n++;
    return n;
}

/* "bucket 3 (embeddings.word) and 2 more", by what a cause costs each and named as in the table of buckets;
 * *plural: whether there are more. */
static char *subject(const struct report *r, unsigned cause, bool *plural)
{
    const struct analysis *a = r->analysis;
    const struct tables *t = &r->trace->t;
    const struct causes *rows = &a->bucket_causes[(gsize)a->slowest_rank * (a->n_buckets + 1)];
    uint32_t most = 0, others = 0;
    for (uint32_t i = 0; i <= a->n_buckets; i++) {
        most = rows[i].ns[cause] > rows[most].ns[cause] ? i : most;
        others += rows[i].ns[cause] > 0;
    }
    others--;
    *plural = others > 0;
    g_autofree char *more = others ? g_strdup_printf(" and %u more", others) : g_strdup("");
    if (most == a->n_buckets)
        return g_strconcat(a->n_buckets ? "communication outside the buckets" : "it", more, NULL);
    uint32_t param = t->buckets[most].closed_by;
    g_autofree char *name = param == OP_NONE ? g_strdup("rest") : text_param(r->trace, param);
    return g_strdup_printf("bucket %u (%s)%s", most, name, more);
}

static void explain(const struct report *r, unsigned reason, GString *out)
{
    static const char *const verbs[CAUSES][2] = {
        [CAUSE_LATE_LAUNCH] = {"waits until an earlier bucket is ready",
                               "wait until an earlier bucket is ready"},
        [CAUSE_QUEUE] = {"queues behind an earlier collective", "queue behind an earlier collective"},
        [CAUSE_END_OF_BACKWARD] = {"is ready only at the end of backward",
                                   "are ready only at the end of backward"},
        [CAUSE_BANDWIDTH] = {"takes longer than the computation beside it",
                             "take longer than the computation beside them"},
    };
    const struct causes *all = &r->analysis->causes[r->analysis->slowest_rank];
    bool plural;
    if (reason == REASON_NO_OVERLAP) {
        g_string_append(out, begins_after(r));
    } else if (reason == CAUSE_LATE_PEER) {
        const bool alone = all->late_rank_ns == all->ns[CAUSE_LATE_PEER];
        g_string_append_printf(out,
                               alone ? "waiting for rank %u" : "waiting for other ranks, rank %u most of all",
                               all->late_rank);
    } else {
        g_autofree char *what = subject(r, reason, &plural);
        g_string_append_printf(out, "because %s %s", what, verbs[reason][plural]);
    }
}

void report_why(const struct report *r, GString *out)
{
    const struct analysis *a = r->analysis;
    const int64_t exposed_ns =
        a->partition[(gsize)a->median_step * a->n_ranks + a->slowest_rank].exposed_comm_ns;
    struct part parts[REASONS];
    const unsigned n = split(r, &a->causes[a->slowest_rank], parts);
    g_autofree char *all = text_ms(exposed_ns, text_decimals(r));
    if (!exposed_ns)
        g_string_append(out, "nothing exposed: computation hides all of it");
    else if (!n)
        g_string_append_printf(out, "next to nothing exposed: %" G_GINT64_FORMAT " ns", exposed_ns);
    else
        g_string_append_printf(out, "%s ms exposed%s", all, n > 1 ? ":" : "");
    for (unsigned i = 0; i < n; i++) {
        g_autofree char *part = text_ms(parts[i].ns, text_decimals(r));
        g_string_append_printf(out, "%s%s%s", i ? ", " : " ", n > 1 ? part : "", n > 1 ? " " : "");
        explain(r, parts[i].reason, out);
    }
    g_string_append(out, ".\n");
}
