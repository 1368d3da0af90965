#include "profile/digest-buckets.h"

#include <string.h>

#include "profile/cause.h"

static struct digest_bucket make_bucket(const struct report *r, uint32_t i)
{
    const struct analysis *a = r->analysis;
    struct digest_bucket b = {
        .bytes = r->trace->t.buckets[i].bytes, .rank = OP_NONE, .causes = {.late_rank = OP_NONE}};
    if (!a || a->buckets[i].rank == OP_NONE)
        return b;
    const struct bucket_times *t = &a->buckets[i];
    b.rank = t->rank;
    b.ready_ns = t->ready_ns;
    b.launch_ns = t->launch_ns;
    b.start_ns = t->start_ns;
    b.end_ns = t->end_ns;
    b.hidden_ns = t->hidden_ns;
    b.exposed_ns = t->exposed_ns;
    b.copied_ns = t->copied_ns;
    b.causes = a->bucket_causes[(gsize)t->rank * (a->n_buckets + 1) + i];
    b.causes.late_rank_ns = 0;
    return b;
}

void digest_make_buckets(struct digest *d, const struct report *r)
{
    const struct analysis *a = r->analysis;
    d->backward_ns = a && a->backward_end_ns > a->backward_start_ns ? a->backward_end_ns - a->backward_start_ns : -1;
    d->n_buckets = r->trace->t.n_buckets;
    if (!d->n_buckets)
        return;
    d->buckets = g_new(struct digest_bucket, d->n_buckets);
    for (uint32_t i = 0; i < d->n_buckets; i++)
        d->buckets[i] = make_bucket(r, i);
}

/* From the start of backward; what is ready before it is negative. */
static int64_t time_of(struct json *j)
{
    return json_i64(j, -TIME_MAX, TIME_MAX);
}

static void read_causes(struct json *j, struct causes *causes)
{
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        unsigned c = 0;
        while (c < CAUSES && strcmp(key, cause_name(c)))
            c++;
        if (c < CAUSES)
            causes->ns[c] = json_i64(j, 0, TIME_MAX);
        else
            json_skip(j);
    }
}

static void read_bucket(struct json *j, struct digest_bucket *b)
{
    const struct {
        const char *key;
        int64_t *ns;
    } times[] = {{"ready_ns", &b->ready_ns},  {"launch_ns", &b->launch_ns}, {"start_ns", &b->start_ns},
                 {"end_ns", &b->end_ns},      {"hidden_ns", &b->hidden_ns}, {"exposed_ns", &b->exposed_ns},
                 {"copied_ns", &b->copied_ns}};
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        unsigned i = 0;
        while (i < G_N_ELEMENTS(times) && strcmp(key, times[i].key))
            i++;
        if (i < G_N_ELEMENTS(times))
            *times[i].ns = time_of(j);
        else if (!strcmp(key, "bytes"))
            b->bytes = json_u64(j, UINT64_MAX);
        else if (!strcmp(key, "rank"))
            b->rank = json_u32(j, 0, PLAN_RANKS_MAX);
        else if (!strcmp(key, "causes_ns"))
            read_causes(j, &b->causes);
        else if (!strcmp(key, "late_rank"))
            b->causes.late_rank = json_u32(j, 0, PLAN_RANKS_MAX);
        else
            json_skip(j);
    }
}

void digest_read_buckets(struct json *j, struct digest *d)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(struct digest_bucket));
    for (json_array(j); json_element(j);) {
        struct digest_bucket b = {.rank = OP_NONE, .causes = {.late_rank = OP_NONE}};
        read_bucket(j, &b);
        g_array_append_val(all, b);
    }
    g_free(d->buckets);
    d->n_buckets = all->len;
    d->buckets = (struct digest_bucket *)(void *)g_array_free(all, all->len == 0);
}
