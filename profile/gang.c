#include "profile/gang.h"

#include <stdlib.h>

static int compare_gang_ops(const void *a, const void *b)
{
    const struct trace_op *x = *(const struct trace_op *const *)a, *y = *(const struct trace_op *const *)b;
    if (x->tag.step != y->tag.step)
        return x->tag.step < y->tag.step ? -1 : 1;
    if (x->tag.gang != y->tag.gang)
        return x->tag.gang < y->tag.gang ? -1 : 1;
    return (x > y) - (x < y);
}

const struct trace_op **gang_members(const struct trace *trace, size_t *n)
{
    const struct trace_op **members = g_new(const struct trace_op *, trace->n_ops);
    *n = 0;
    for (size_t i = 0; i < trace->n_ops; i++)
        if (trace->ops[i].tag.gang != OP_NONE)
            members[(*n)++] = &trace->ops[i];
    if (*n)
        qsort(members, *n, sizeof *members, compare_gang_ops);
    return members;
}

size_t gang_end(const struct trace_op *const *members, size_t n, size_t begin)
{
    size_t end = begin + 1;
    while (end < n && members[end]->tag.step == members[begin]->tag.step &&
           members[end]->tag.gang == members[begin]->tag.gang)
        end++;
    return end;
}

int64_t *gang_arrivals(const struct trace *trace)
{
    size_t n;
    const struct trace_op **members = gang_members(trace, &n);
    int64_t *arrivals_ns = g_new(int64_t, trace->n_ops);
    for (size_t i = 0; i < trace->n_ops; i++)
        arrivals_ns[i] = trace->ops[i].start_ns;
    for (size_t i = 0, end; i < n; i = end) {
        int64_t last_ns = members[i]->start_ns;
        end = gang_end(members, n, i);
        for (size_t j = i + 1; j < end; j++)
            last_ns = MAX(last_ns, members[j]->start_ns);
        for (size_t j = i; j < end; j++)
            arrivals_ns[members[j] - trace->ops] = last_ns;
    }
    g_free(members);
    return arrivals_ns;
}
