#include "profile/interval.h"

#include <stdbool.h>
#include <stdlib.h>

#include <glib.h>

void intervals_release(struct intervals *set)
{
    g_free(set->v);
    *set = (struct intervals){0};
}

void intervals_add(struct intervals *set, int64_t start_ns, int64_t end_ns)
{
    if (start_ns >= end_ns)
        return;
    struct interval *last = set->n ? &set->v[set->n - 1] : NULL;
    if (last && start_ns <= last->end_ns) {
        last->end_ns = MAX(last->end_ns, end_ns);
        return;
    }
    if (set->n == set->room) {
        set->room += set->room / 2 + 16;
        set->v = g_renew(struct interval, set->v, set->room);
    }
    set->v[set->n++] = (struct interval){start_ns, end_ns};
}

static int by_start(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

struct intervals intervals_of(struct interval *v, size_t n)
{
    struct intervals set = {0};
    size_t ordered = 1; /* mostly all are */
    while (ordered < n && v[ordered - 1].start_ns <= v[ordered].start_ns)
        ordered++;
    if (ordered < n)
        qsort(v, n, sizeof *v, by_start);
    for (size_t i = 0; i < n; i++)
        intervals_add(&set, v[i].start_ns, v[i].end_ns);
    return set;
}

void intervals_unite(struct intervals *set, const struct intervals *other)
{
    if (!other->n)
        return;
    struct intervals both = {0};
    for (size_t i = 0, j = 0; i < set->n || j < other->n;) {
        bool own = j == other->n || (i < set->n && set->v[i].start_ns <= other->v[j].start_ns);
        const struct interval *next = own ? &set->v[i++] : &other->v[j++];
        intervals_add(&both, next->start_ns, next->end_ns);
    }
    intervals_release(set);
    *set = both;
}

struct intervals intervals_minus(const struct intervals *a, const struct intervals *b)
{
    struct intervals rest = {0};

    for (size_t i = 0, j = 0; i < a->n; i++) {
        struct interval v = a->v[i];
        for (; j < b->n && b->v[j].end_ns <= v.start_ns; j++)
            ;
        for (size_t k = j; k < b->n && b->v[k].start_ns < v.end_ns; k++) {
            intervals_add(&rest, v.start_ns, b->v[k].start_ns);
            v.start_ns = b->v[k].end_ns;
        }
        intervals_add(&rest, v.start_ns, v.end_ns);
    }
    return rest;
}

int64_t intervals_length(const struct intervals *set)
{
    int64_t length = 0;
    for (size_t i = 0; i < set->n; i++)
        length += set->v[i].end_ns - set->v[i].start_ns;
    return length;
}

int64_t intervals_common(const struct intervals *a, const struct intervals *b)
{
    int64_t length = 0;
    for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
        int64_t start = MAX(a->v[i].start_ns, b->v[j].start_ns);
        int64_t end = MIN(a->v[i].end_ns, b->v[j].end_ns);
        if (start < end)
            length += end - start;
        if (a->v[i].end_ns < b->v[j].end_ns)
            i++;
        else
            j++;
    }
    return length;
}

int64_t intervals_within(const struct intervals *set, int64_t start_ns, int64_t end_ns)
{
    size_t low = 0, high = set->n;
    int64_t length = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->v[middle].end_ns <= start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i < set->n && start_ns < end_ns && set->v[i].start_ns < end_ns; i++)
        length += MIN(set->v[i].end_ns, end_ns) - MAX(set->v[i].start_ns, start_ns);
    return length;
}

int64_t intervals_gap(const struct intervals *set, int64_t start_ns, int64_t end_ns)
{
    return start_ns < end_ns ? end_ns - start_ns - intervals_within(set, start_ns, end_ns) : 0;
}
