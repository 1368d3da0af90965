#include "profile/traffic.h"

#include <inttypes.h>

#include "profile/gang.h"
#include "base/json.h"

enum { GROWTH = 2 };

static bool counts(const struct trace_op *op)
{
    return op->tag.step == 0 && op->tag.algo != ALLREDUCE_WHOLE && op->tag.bucket != OP_NONE &&
           op_phase(op->tag.kind) == PHASE_COMM;
}

static uint32_t rank_of(const struct trace *trace, const struct trace_op *op)
{
    return trace->t.lanes[op->lane].rank;
}

/* The next member receives what an exchange sends; all-to-all shifts by more, but there all send the same. */
static void count_gang(const struct trace *trace, const struct trace_op *const *members, size_t n,
                       struct traffic *t)
{
    for (size_t i = 0; i < n; i++) {
        const struct op_tag *tag = &members[i]->tag;
        uint32_t rank = rank_of(trace, members[i]);
        if (tag->kind == OP_RECV || tag->kind == OP_RECV_ADD) {
            t->received[rank] += tag->bytes;
            continue;
        }
        t->sent[rank] += tag->bytes;
        if (tag->kind != OP_SEND)
            t->received[rank_of(trace, members[(i + 1) % n])] += tag->bytes;
    }
}

static void find_busiest(struct traffic *t)
{
    for (uint32_t i = 0; i < t->n_ranks; i++)
        if (MAX(t->sent[i], t->received[i]) > t->busiest_bytes) {
            t->busiest_bytes = MAX(t->sent[i], t->received[i]);
            t->busiest_rank = i;
        }
}

bool traffic_count(const struct trace *trace, struct traffic *t)
{
    size_t n;
    const struct trace_op **members = gang_members(trace, &n);
    *t = (struct traffic){.algo = ALLREDUCE_WHOLE, .n_ranks = trace->t.n_ranks};
    t->sent = g_new0(uint64_t, t->n_ranks);
    t->received = g_new0(uint64_t, t->n_ranks);
    for (size_t i = 0, end; i < n; i = end) {
        end = gang_end(members, n, i);
        if (!counts(members[i]))
            continue;
        t->algo = members[i]->tag.algo;
        count_gang(trace, &members[i], end - i, t);
    }
    g_free(members);
    if (t->algo == ALLREDUCE_WHOLE) {
        traffic_release(t);
        return false;
    }
    for (uint32_t i = 0; i < trace->t.n_buckets; i++)
        t->gradient_bytes += trace->t.buckets[i].bytes;
    find_busiest(t);
    return true;
}

void traffic_release(struct traffic *t)
{
    g_free(t->sent);
    g_free(t->received);
    *t = (struct traffic){0};
}

static uint64_t times(uint64_t bytes, uint64_t factor)
{
    uint64_t product;
    return __builtin_mul_overflow(bytes, factor, &product) ? UINT64_MAX : product;
}

uint64_t traffic_busiest_bytes(enum allreduce algo, uint32_t ranks, uint64_t bytes)
{
    if (ranks < 2)
        return 0;
    switch (algo) {
    case ALLREDUCE_TREE:
        return times(bytes, g_bit_storage(ranks - 1));
    case ALLREDUCE_REDUCE_BROADCAST:
    case ALLREDUCE_ALL_TO_ALL:
        return times(bytes, ranks - 1);
    default: /* 2 (n-1) bytes / n, without the product's overflow */
        return times(bytes / ranks, 2 * (uint64_t)(ranks - 1)) + bytes % ranks * 2 * (ranks - 1) / ranks;
    }
}

static const char *factor_text(enum allreduce algo)
{
    switch (algo) {
    case ALLREDUCE_TREE:
        return "⌈log₂ n⌉ times";
    case ALLREDUCE_REDUCE_BROADCAST:
    case ALLREDUCE_ALL_TO_ALL:
        return "n−1 times";
    default:
        return "2(n−1)/n of";
    }
}

/* Larger clusters to compare with: the next two powers of 8. */
static void larger(uint32_t ranks, uint32_t *more)
{
    uint32_t n = 8;
    while (n <= ranks && n < 1u << 24)
        n *= 8;
    for (unsigned i = 0; i < GROWTH; i++, n *= 8)
        more[i] = n;
}

static char *mib(uint64_t bytes)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    return g_strdup(g_ascii_formatd(text, sizeof text, "%.1f", (double)bytes / (1 << 20)));
}

void traffic_print(const struct trace *trace, GString *out)
{
    struct traffic t;
    uint32_t more[GROWTH];
    if (!traffic_count(trace, &t))
        return;
    g_autofree char *now = mib(t.busiest_bytes);
    g_string_append_printf(out, "%s: the busiest link carries %s MiB a step, %s the gradients",
                           allreduce_name(t.algo), now, factor_text(t.algo));
    larger(t.n_ranks, more);
    for (unsigned i = 0; i < GROWTH; i++) {
        g_autofree char *then = mib(traffic_busiest_bytes(t.algo, more[i], t.gradient_bytes));
        g_string_append_printf(out, i ? ", with %" PRIu32 " %s" : "; with %" PRIu32 " ranks %s MiB", more[i],
                               then);
    }
    g_string_append(out, "\n");
    traffic_release(&t);
}

static void append_list(GString *out, const char *key, const uint64_t *bytes, uint32_t n)
{
    g_string_append_printf(out, ", \"%s\": [", key);
    for (uint32_t i = 0; i < n; i++)
        g_string_append_printf(out, "%s%" PRIu64, i ? ", " : "", bytes[i]);
    g_string_append(out, "]");
}

void traffic_json(const struct traffic *t, GString *out)
{
    uint32_t more[GROWTH];
    g_string_append(out, "{\"algo\": ");
    json_string(out, allreduce_name(t->algo));
    g_string_append_printf(
        out, ", \"gradient_bytes\": %" PRIu64 ", \"busiest_rank\": %" PRIu32 ", \"busiest_bytes\": %" PRIu64,
        t->gradient_bytes, t->busiest_rank, t->busiest_bytes);
    append_list(out, "sent_bytes", t->sent, t->n_ranks);
    append_list(out, "received_bytes", t->received, t->n_ranks);
    larger(t->n_ranks, more);
    for (unsigned i = 0; i < GROWTH; i++)
        g_string_append_printf(out, "%s{\"ranks\": %" PRIu32 ", \"busiest_bytes\": %" PRIu64 "}",
                               i ? ", " : ", \"growth\": [", more[i],
                               traffic_busiest_bytes(t->algo, more[i], t->gradient_bytes));
    g_string_append(out, "]}");
}
