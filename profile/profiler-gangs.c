#include "profile/profiler-gangs.h"

#include "profile/stats.h"

static int by_collective(const void *a, const void *b)
{
    const struct profiler_work *x = *(struct profiler_work *const *)a, *y = *(struct profiler_work *const *)b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->event->start_ns > y->event->start_ns) - (x->event->start_ns < y->event->start_ns);
}

static GPtrArray *collectives(GArray *work)
{
    GPtrArray *found = g_ptr_array_new();
    for (guint i = 0; i < work->len; i++) {
        struct profiler_work *w = &g_array_index(work, struct profiler_work, i);
        if (w->event->kind == PROFILER_COMM)
            g_ptr_array_add(found, w);
    }
    g_ptr_array_sort(found, by_collective);
    return found;
}

static bool match(const GPtrArray *found, uint32_t n_ranks, guint begin, guint end)
{
    const guint n = (end - begin) / n_ranks;
    for (guint i = begin; i < end; i++) {
        const struct profiler_work *w = found->pdata[i],
                                   *first = found->pdata[begin + (i - begin) % MAX(n, 1)];
        if (n * n_ranks != end - begin || w->rank != (i - begin) / n || w->kind != first->kind)
            return false;
    }
    return true;
}

/* Members of a collective end together.  Where they end further apart than it takes, half of the time at
 * least, the ranks' clocks do not show the same time, and who waited for whom cannot be told. */
static bool clocks_agree(const GPtrArray *found, uint32_t n_ranks, guint begin, guint n)
{
    g_autoptr(GArray) spreads = g_array_new(FALSE, FALSE, sizeof(double)),
                      shortest = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint k = 0; k < n; k++) {
        int64_t first = INT64_MAX, last = INT64_MIN, least = INT64_MAX;
        for (guint rank = 0; rank < n_ranks; rank++) {
            const struct profiler_event *e =
                ((const struct profiler_work *)found->pdata[begin + rank * n + k])->event;
            first = MIN(first, e->end_ns);
            last = MAX(last, e->end_ns);
            least = MIN(least, e->end_ns - e->start_ns);
        }
        const double spread = (double)(last - first), transfer = (double)least;
        g_array_append_val(spreads, spread);
        g_array_append_val(shortest, transfer);
    }
    return stats_median((const double *)(void *)spreads->data, n) <=
           stats_median((const double *)(void *)shortest->data, n);
}

bool profiler_gangs(GArray *work, uint32_t n_ranks)
{
    g_autoptr(GPtrArray) found = collectives(work);
    bool all = true;
    for (guint begin = 0, end; begin < found->len; begin = end) {
        const uint32_t step = ((const struct profiler_work *)found->pdata[begin])->step;
        for (end = begin; end < found->len && ((const struct profiler_work *)found->pdata[end])->step == step;
             end++)
            ;
        const guint n = (end - begin) / n_ranks;
        const bool together =
            n_ranks > 1 && match(found, n_ranks, begin, end) && clocks_agree(found, n_ranks, begin, n);
        for (guint i = begin; i < end; i++) {
            struct profiler_work *w = found->pdata[i];
            w->coll = together ? begin + (i - begin) % n : i;
            w->gang = together ? w->coll : OP_NONE;
        }
        all &= together;
    }
    return all;
}
