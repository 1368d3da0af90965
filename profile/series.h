/* profile/series.h -- what a sweep found: points of one or more swept options, and what came out at each. */
#ifndef PROFILE_SERIES_H
#define PROFILE_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

struct series_point {
    char **values;  /* an axis each, as given: "25"; g_strfreev */
    char *why_not;  /* NULL: it has numbers */
    bool measured;  /* false: simulated */
    int64_t step_ns, compute_ns, comm_ns, hidden_ns, exposed_ns, idle_ns; /* slowest rank, median step */
    int64_t predicted_ns; /* what the simulator expected of one that was run; -1: unknown */
    uint64_t peak_bytes;  /* the most of any rank */
};

struct series {
    char *title;           /* "bert-base, ddp, 8 ranks, dgx-h100": what all points share */
    uint32_t n_axes, n_points;
    char **axes;           /* names of options, "bucket-mb"; g_strfreev */
    struct series_point *points; /* the last axis varies fastest */
    uint32_t best;         /* the shortest step, the first such; UINT32_MAX: no point has numbers */
};

void series_find_best(struct series *);
char *series_place(const struct series *, uint32_t point); /* "ranks 8, bucket-mb 25"; g_free */
void series_print(const struct series *, GString *out); /* a table for people, the best point marked */
void series_json(const struct series *, GString *out);  /* parprof.sweep/1 */
bool series_read(const char *text, size_t n, const char *name, struct series *, GError **);
void series_release(struct series *);

#endif
