#include "profile/measurement.h"

#include <string.h>

#include "base/decimal.h"
#include "profile/facts.h"
#include "profile/read.h"

#define SCHEMA "parprof.report/"

void measurement_free(struct measurement *s)
{
    if (!s)
        return;
    g_free(s->name);
    g_free(s->time);
    g_free(s->verdict);
    g_free(s->why_not);
    g_free(s->trace);
    fingerprint_release(&s->fingerprint);
    for (unsigned m = 0; m < METRICS; m++)
        g_free(s->x[m]);
    g_free(s);
}

bool measurement_is_reference(const struct measurement *m)
{
    static const char *const bad[] = {"slower", "incomparable"};
    for (unsigned i = 0; m->verdict && i < G_N_ELEMENTS(bad); i++)
        if (!strcmp(m->verdict, bad[i]))
            return false;
    return !m->why_not;
}

/* A member of "samples": a list a step of a number a rank. */
struct steps {
    GArray *most, *sum; /* doubles, a step each; NULL: not there */
    uint32_t ranks;
};

enum { STEP_NS, COMM_NS, EXPOSED_NS, IDLE_NS, BUBBLE_NS, LISTS };
static const char *const list_keys[LISTS] = {"step_ns", "comm_ns", "exposed_comm_ns", "idle_ns", "bubble_ns"};

struct reader {
    struct json *j;
    struct steps lists[LISTS];
    double planned, measured; /* peak bytes; -1: unknown */
    struct fingerprint fingerprint;
    char *trace;
};

static void steps_clear(struct steps *s)
{
    g_clear_pointer(&s->most, g_array_unref);
    g_clear_pointer(&s->sum, g_array_unref);
    s->ranks = 0;
}

static void read_step(struct json *j, struct steps *s)
{
    double most = 0, sum = 0;
    uint32_t ranks = 0;
    for (json_array(j); json_element(j); ranks++) {
        const double x = (double)json_i64(j, 0, TIME_MAX);
        most = MAX(most, x);
        sum += x;
    }
    if (json_cut(j) || json_bad(j))
        return;
    if (!ranks || (s->most->len && ranks != s->ranks)) {
        json_fail(j, "a step with samples of %u ranks, should be as many as in the others", ranks);
        return;
    }
    s->ranks = ranks;
    g_array_append_val(s->most, most);
    g_array_append_val(s->sum, sum);
}

static void read_steps(struct json *j, struct steps *s)
{
    steps_clear(s);
    s->most = g_array_new(FALSE, FALSE, sizeof(double));
    s->sum = g_array_new(FALSE, FALSE, sizeof(double));
    for (json_array(j); json_element(j);)
        read_step(j, s);
}

static void read_samples(struct reader *r)
{
    json_object(r->j);
    for (const char *key; (key = json_key(r->j));) {
        unsigned i = 0;
        while (i < LISTS && strcmp(key, list_keys[i]))
            i++;
        if (i < LISTS)
            read_steps(r->j, &r->lists[i]);
        else
            json_skip(r->j);
    }
}

static double most_bytes(struct json *j)
{
    double most = -1;
    for (json_array(j); json_element(j);) {
        const double bytes = (double)json_u64(j, UINT64_MAX);
        most = MAX(most, bytes);
    }
    return most;
}

static void read_memory(struct reader *r)
{
    json_object(r->j);
    for (const char *key; (key = json_key(r->j));) {
        if (!strcmp(key, "peak_bytes"))
            r->planned = most_bytes(r->j);
        else if (!strcmp(key, "measured_bytes"))
            r->measured = most_bytes(r->j);
        else
            json_skip(r->j);
    }
}

static void read_members(struct reader *r)
{
    json_object(r->j);
    for (const char *key; (key = json_key(r->j));) {
        if (!strcmp(key, "samples"))
            read_samples(r);
        else if (!strcmp(key, "memory"))
            read_memory(r);
        else if (!strcmp(key, "fingerprint"))
            fingerprint_read(r->j, &r->fingerprint);
        else if (!strcmp(key, "trace"))
            read_text(r->j, &r->trace);
        else
            json_skip(r->j);
    }
    if (!r->lists[STEP_NS].most)
        json_fail(r->j, "\"samples\" of \"%s\" is missing: a report that is compared has it",
                  list_keys[STEP_NS]);
    for (unsigned i = 0; i < LISTS; i++)
        if (r->lists[i].most && r->lists[STEP_NS].most &&
            r->lists[i].most->len != r->lists[STEP_NS].most->len)
            json_fail(r->j, "\"%s\" has %u steps, \"step_ns\" has %u", list_keys[i], r->lists[i].most->len,
                      r->lists[STEP_NS].most->len);
}

static void take(struct measurement *s, unsigned metric, GArray *list)
{
    if (!list)
        return;
    s->n[metric] = list->len;
    s->x[metric] = g_memdup2(list->data, list->len * sizeof(double));
}

static void take_overlap(struct measurement *s, const struct steps *comm, const struct steps *exposed)
{
    if (!comm->sum || !exposed->sum)
        return;
    s->x[METRIC_OVERLAP] = g_new(double, comm->sum->len);
    for (guint i = 0; i < comm->sum->len; i++) {
        const double all = g_array_index(comm->sum, double, i), open = g_array_index(exposed->sum, double, i);
        if (all > 0)
            s->x[METRIC_OVERLAP][s->n[METRIC_OVERLAP]++] = 100 * (1 - open / all);
    }
}

static void take_lists(struct measurement *s, struct reader *r)
{
    struct steps *bubble = &r->lists[BUBBLE_NS];
    const double bytes = r->measured >= 0 ? r->measured : r->planned;
    for (guint i = 0; bubble->sum && i < bubble->sum->len; i++)
        g_array_index(bubble->sum, double, i) /= bubble->ranks;
    take(s, METRIC_STEP, r->lists[STEP_NS].most);
    take(s, METRIC_EXPOSED_COMM, r->lists[EXPOSED_NS].most);
    take(s, METRIC_IDLE, r->lists[IDLE_NS].most);
    take(s, METRIC_BUBBLE, bubble->sum);
    take_overlap(s, &r->lists[COMM_NS], &r->lists[EXPOSED_NS]);
    if (bytes >= 0) {
        s->x[METRIC_MEMORY] = g_memdup2(&bytes, sizeof bytes);
        s->n[METRIC_MEMORY] = 1;
    }
}

static void take_parts(struct measurement *s, const struct digest *d)
{
    static const unsigned phases[] = {[MEASUREMENT_FORWARD] = PHASE_FORWARD,
                                      [MEASUREMENT_BACKWARD] = PHASE_BACKWARD,
                                      [MEASUREMENT_OPTIMIZER] = PHASE_OPTIMIZER};
    const struct digest_row *row = d->n_rows ? &d->rows[d->n_rows - 1] : NULL;
    s->has_parts = row && row->partition.window_ns > 0;
    if (!s->has_parts)
        return;
    s->part_ns[MEASUREMENT_STEP] = row->step_ns;
    s->part_ns[MEASUREMENT_EXPOSED] = row->partition.exposed_comm_ns;
    for (unsigned i = MEASUREMENT_FORWARD; i <= MEASUREMENT_OPTIMIZER; i++) {
        s->part_ns[i] = row->phase_ns[phases[i]];
        s->has_parts = s->has_parts && s->part_ns[i] >= 0;
    }
}

static bool counts(const struct digest *d, const char *fact)
{
    const char *text = digest_label(d->environment, fact);
    uint64_t n;
    return text && decimal_uint(text, 1, UINT64_MAX, &n);
}

/* A software power cap is the device's normal state under load, and no label. */
static char *find_why_not(const struct digest *d)
{
    const char *clocks = digest_label(d->labels, LABEL_CLOCKS), *partial = digest_label(d->labels, "partial");
    if (partial)
        return g_strdup_printf("it failed: %s", partial);
    if (d->cancelled)
        return g_strdup("it was interrupted");
    if (clocks)
        return g_strdup_printf("its clocks were held down (%s); let the device cool, and run it again",
                               clocks);
    if (digest_label(d->labels, LABEL_UNTIMED))
        return g_strdup_printf("events of it have no time that can be read (%s)",
                               digest_label(d->labels, LABEL_UNTIMED));
    if (counts(d, FACT_DROPPED) || counts(d, FACT_ZERO))
        return g_strdup(
            "CUPTI dropped records of it, so that its times have holes; run it again, with fewer steps");
    return NULL;
}

struct measurement *measurement_later(char *schema, const char *name)
{
    struct measurement *s = g_new0(struct measurement, 1);
    s->name = g_strdup(name);
    s->why_not = g_strdup_printf("it is of a later version (%s); compare with a newer parprof", schema);
    s->fingerprint = (struct fingerprint){g_new0(char *, 1), g_new0(char *, 1)};
    g_free(schema);
    return s;
}

static struct measurement *make(struct reader *r, const struct digest *d, const char *name)
{
    struct measurement *s = g_new0(struct measurement, 1);
    s->name = g_strdup(name);
    s->simulated = d->simulated;
    s->shared = digest_label(d->labels, LABEL_RANKS) != NULL;
    s->why_not = find_why_not(d);
    if (r->fingerprint.must)
        s->fingerprint =
            (struct fingerprint){g_steal_pointer(&r->fingerprint.must), g_steal_pointer(&r->fingerprint.may)};
    else
        fingerprint_make(&s->fingerprint, d);
    s->trace = g_steal_pointer(&r->trace);
    take_lists(s, r);
    take_parts(s, d);
    return s;
}

struct measurement *measurement_of_report(const char *text, size_t n, const char *name, GError **error)
{
    struct digest digest;
    struct measurement *s = NULL;
    char *later = read_later_schema(text, n, SCHEMA);
    if (later)
        return measurement_later(later, name);
    if (!digest_read(text, n, name, &digest, error))
        return NULL;
    struct reader r = {.j = json_open(text, n, name), .planned = -1, .measured = -1};
    read_members(&r);
    if (json_close(r.j, error))
        s = make(&r, &digest, name);
    for (unsigned i = 0; i < LISTS; i++)
        steps_clear(&r.lists[i]);
    fingerprint_release(&r.fingerprint);
    g_free(r.trace);
    digest_release(&digest);
    return s;
}
