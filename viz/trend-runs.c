#include "viz/trend-runs.h"

#include <stdlib.h>
#include <string.h>

#include "profile/stats.h"
#include "viz/words.h"

#define REFERENCES 10 /* runs before that one is compared with, as compare does */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(struct trend_place *place)
{
    const uint32_t n = place->run->n[METRIC_STEP];
    g_autofree double *sorted = g_memdup2(place->run->x[METRIC_STEP], n * sizeof *sorted);

    qsort(sorted, n, sizeof *sorted, by_value);
    place->median = stats_median(sorted, n);
    place->low = sorted[(n - 1) / 4];
    place->high = sorted[n - 1 - (n - 1) / 4];
}

/* The last medians of a kind of work that others may be compared with. */
struct work {
    guint number;
    double medians[REFERENCES];
    unsigned n;
};

static struct work *work_of(GHashTable *works, const struct measurement *m)
{
    char *key = g_strjoinv("\x1f", m->fingerprint.must);
    struct work *work = g_hash_table_lookup(works, key);

    if (work) {
        g_free(key);
        return work;
    }
    work = g_new0(struct work, 1);
    work->number = g_hash_table_size(works);
    g_hash_table_insert(works, key, work);
    return work;
}

struct trend_place *trend_places(const struct figure_input *in, uint32_t *n)
{
    struct trend_place *places = g_new(struct trend_place, in->n_runs);
    GHashTable *works = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);

    *n = 0;
    for (uint32_t i = 0; i < in->n_runs; i++) {
        struct trend_place *place = &places[*n];
        if (!in->runs[i]->n[METRIC_STEP] || !in->runs[i]->fingerprint.must)
            continue;
        struct work *work = work_of(works, in->runs[i]);
        const unsigned before = MIN(work->n, REFERENCES);
        *place = (struct trend_place){.run = in->runs[i], .before = before, .work = work->number};
        place->series = *n ? place[-1].series + (place[-1].work != work->number) : 0;
        measure(place);
        place->base = before ? stats_median(work->medians, before) : place->median;
        if (measurement_is_reference(place->run))
            work->medians[work->n++ % REFERENCES] = place->median;
        (*n)++;
    }
    g_hash_table_unref(works);
    return places;
}

bool trend_is_new(const struct trend_place *places, uint32_t i)
{
    return i && places[i].work != places[i - 1].work;
}

char *trend_name(const struct trend_place *place, uint32_t i, const char *names)
{
    const struct measurement *run = place->run;
    const char *commit = run->fingerprint.may ? digest_label(run->fingerprint.may, "commit") : NULL;

    if (!strcmp(names, "trend.by-commit"))
        return g_strndup(commit ? commit : "?", 7);
    if (!strcmp(names, "trend.by-day"))
        return run->time && strlen(run->time) >= 10 ? g_strndup(run->time + 5, 5) : g_strdup("?");
    return g_strdup_printf("%u", i + 1);
}

const char *trend_names(const struct trend_place *places, uint32_t n)
{
    bool commits = true, days = false, times = true;

    for (uint32_t i = 0; i < n; i++) {
        const struct measurement *run = places[i].run;
        const char *commit = run->fingerprint.may ? digest_label(run->fingerprint.may, "commit") : NULL;
        commits = commits && commit && *commit;
        times = times && run->time && strlen(run->time) >= 10;
        days = days || (times && strncmp(run->time, places[0].run->time, 10));
    }
    return commits ? "trend.by-commit" : times && days ? "trend.by-day" : "trend.by-number";
}

char *trend_series_name(const struct trend_place *places, uint32_t i, const struct language *l)
{
    char *const *now = places[i].run->fingerprint.must, *const *then = places[i - 1].run->fingerprint.must;

    for (size_t k = 0; now[k]; k += 2)
        if (g_strcmp0(now[k + 1], digest_label(then, now[k])))
            return say(l, "sweep.place", "option", words_option(l, now[k]), "value",
                       words_value(l, now[k], now[k + 1]), NULL);
    return g_strdup("");
}
