#include "cli/notes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/memory.h"

enum { SHOWN_BYTES = 50 }; /* as much as "0.1 kB" rounds */

struct extra {
    const char *name;
    int64_t bytes;
};

static char *size_text(uint64_t bytes)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    const bool large = bytes >= 1048576 / 20; /* 0.05 MiB */
    g_ascii_formatd(text, sizeof text, "%.1f", large ? (double)bytes / 1048576 : (double)bytes / 1e3);
    return g_strdup_printf("%s %s", text, large ? "MiB" : "kB");
}

static int largest_first(const void *a, const void *b)
{
    const struct extra *x = a, *y = b;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static const char *category(const struct job *job, const struct trace *trace, unsigned cls)
{
    if (cls != VALUE_MOMENT)
        return trace->memory_names[cls];
    return job->shape.optimizer == OPTIMIZER_ADAM ? "Adam moments" : "momentum";
}

/* Adam's two moments are one. */
static unsigned differences(const struct job *job, const struct trace *trace, uint32_t other,
                            struct extra *extra)
{
    const uint64_t *first = trace->memory_bytes, *with = trace->memory_bytes + (gsize)other * trace->n_memory;
    unsigned n = 0;
    for (unsigned cls = 0; cls < VALUE_CLASSES; cls++)
        if (cls != VALUE_VARIANCE)
            extra[n++] = (struct extra){category(job, trace, cls), (int64_t)(first[cls] - with[cls])};
        else
            extra[n - 1].bytes += (int64_t)(first[cls] - with[cls]);
    qsort(extra, n, sizeof *extra, largest_first);
    return n;
}

/* Of what is positive, or of what is negative; `before` goes before the first. */
static void list(const struct extra *extra, unsigned n, int sign, const char *before, GString *out)
{
    for (unsigned i = 0; i < n; i++)
        if (sign * extra[i].bytes >= SHOWN_BYTES) {
            g_autofree char *size = size_text((uint64_t)(sign * extra[i].bytes));
            g_string_append_printf(out, "%s%s %s", before, extra[i].name, size);
            before = ", ";
        }
}

static uint64_t gathered_bytes(const struct job *job)
{
    const struct model *m = job->model;
    return layer_out_numel(m, m->n_layers - 1, job->shape.batch) * dtype_bytes(m->dtype);
}

static void print_memory(const struct job *job, const struct trace *trace, GString *out)
{
    struct extra extra[VALUE_CLASSES];
    uint32_t other = 1;
    if (!trace->memory_bytes || trace->n_memory != VALUE_CLASSES || trace->t.n_ranks < 2)
        return;
    for (uint32_t rank = 2; rank < trace->t.n_ranks; rank++)
        if (memory_peak(trace, rank) > memory_peak(trace, other))
            other = rank;
    const unsigned n = differences(job, trace, other, extra);
    g_string_append_printf(out, "rank 0 extra, to rank %" PRIu32 " at their peaks: ", other);
    list(extra, n, 1, "", out);
    list(extra, n, -1, "; less ", out);
    if (trace->memory_measured) {
        const int64_t more = (int64_t)(trace->memory_measured[0] - trace->memory_measured[other]);
        g_autofree char *size = size_text((uint64_t)ABS(more));
        g_string_append_printf(out, "; measured %s%s in all", size, more < 0 ? " less" : "");
    }
    if (!job->given && job->shape.gather == GATHER_LOGITS) {
        g_autofree char *size = size_text(gathered_bytes(job));
        g_string_append_printf(out, "; gathered logits are %s", size);
    }
    g_string_append_c(out, '\n');
}

/* Only the last rank that has samples can have others than the first. */
static void print_weights(const struct shape *s, GString *out)
{
    uint32_t n = 0;
    while (n < s->ranks && chunk_size(s->batch, s->ranks, n))
        n++;
    const uint32_t most = chunk_size(s->batch, s->ranks, 0), least = chunk_size(s->batch, s->ranks, n - 1);
    if (s->gather == GATHER_LOSS && !s->loss_sum && least < most) {
        const double mean = s->batch / (double)n;
        g_string_append_printf(out,
                               "note: the loss is the mean of %" PRIu32
                               " ranks' means, not that of the samples: one of rank %" PRIu32
                               " counts %.3g times as much as in that, of the others %.3g times\n",
                               n, n - 1, mean / least, mean / most);
    }
    if (n < s->ranks)
        g_string_append_printf(out,
                               "note: %" PRIu32 " samples in chunks of %" PRIu32 " are for %" PRIu32
                               " ranks: %" PRIu32 " of %" PRIu32 " take no part\n",
                               s->batch, most, n, s->ranks - n, s->ranks);
}

void notes_print(const struct job *job, const struct trace *trace, GString *out)
{
    if (job->mode != &mode_dp)
        return;
    print_memory(job, trace, out);
    if (!job->given)
        print_weights(&job->shape, out);
}
