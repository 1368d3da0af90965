#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "cli/attempts.h"
#include "cli/cli.h"
#include "cli/execute.h"
#include "cli/figures.h"
#include "cli/output.h"
#include "cli/points.h"
#include "profile/memory.h"
#include "profile/series.h"

/* Simulated points are taken by any thread, real ones by one after all of these: nothing disturbs them. */
struct sweep_job {
    struct points points;
    struct series series;
    bool *real; /* a point each: left for later */
    atomic_uint next, done;
    atomic_bool extended; /* a point had more ranks than its cluster has devices */
    bool progress, named; /* named: the title has the GPUs */
};

static uint64_t most_memory(const struct trace *trace)
{
    uint64_t most = 0;
    for (uint32_t r = 0; trace->memory_bytes && r < trace->t.n_ranks; r++)
        most = MAX(most, memory_peak(trace, r));
    return most;
}

static void take_numbers(struct series_point *point, const struct outcome *outcome,
                         const struct outcome *predicted)
{
    const struct analysis *a = &outcome->analysis;
    const struct partition *p = &a->partition[(gsize)a->median_step * a->n_ranks + a->slowest_rank];
    g_clear_pointer(&point->why_not, g_free);
    point->measured = !outcome->trace.simulated;
    point->step_ns = a->median_ns;
    point->compute_ns = p->compute_ns;
    point->comm_ns = p->comm_ns;
    point->hidden_ns = p->hidden_comm_ns;
    point->exposed_ns = p->exposed_comm_ns;
    point->idle_ns = p->idle_ns;
    point->predicted_ns = predicted ? predicted->analysis.median_ns : -1;
    point->peak_bytes = most_memory(&outcome->trace);
}

/* What all points share, from one of them. */
static char *describe(const struct points *p, const struct job *job)
{
    bool varies[N_OPTIONS] = {false};
    for (unsigned a = 0; a < p->n_axes; a++)
        varies[p->axis[a]] = true;
    GString *out = g_string_new(NULL);
    if (!varies[OPTION_MODEL])
        g_string_append_printf(out, "%s, ", job->model->name);
    if (!varies[OPTION_MODE])
        g_string_append_printf(out, "%s, ", job->mode->name);
    if (!varies[OPTION_RANKS])
        g_string_append_printf(out, "%u rank%s, ", job->shape.ranks, job->shape.ranks == 1 ? "" : "s");
    const bool same = p->base.given[OPTION_BATCH] || !(varies[OPTION_RANKS] || varies[OPTION_CHUNKS] ||
                                                       varies[OPTION_MODE] || varies[OPTION_BACKEND]);
    if (!varies[OPTION_BATCH] && same)
        g_string_append_printf(out, "batch %u, ", job->shape.batch);
    if (!varies[OPTION_BACKEND] && job->engine->real)
        g_string_append_printf(out, "measured on %s", job->engine->name);
    else if (!varies[OPTION_BACKEND])
        g_string_append_printf(out, "simulated%s%s", varies[OPTION_CLUSTER] ? "" : " on ",
                               varies[OPTION_CLUSTER] ? "" : job->cluster->name);
    else
        g_string_truncate(out, out->len - 2);
    return g_string_free(out, FALSE);
}

static bool simulate_point(const struct job *job, struct series_point *point, GError **error)
{
    struct outcome outcome;
    if (!predict(job, &job->shape, job->costs, &outcome, error))
        return false;
    take_numbers(point, &outcome, NULL);
    outcome_release(&outcome);
    return true;
}

static void name_gpus(struct sweep_job *s, const struct trace *trace)
{
    const char *gpus = trace_label_value(trace, "gpus");
    if (!gpus || s->named || !s->series.title)
        return;
    g_autofree char *title = s->series.title;
    s->series.title = g_strdup_printf("%s, %s", title, gpus);
    s->named = true;
}

static bool run_point(struct sweep_job *s, struct job *job, const struct options *o,
                      struct series_point *point, GError **error)
{
    struct attempts attempts;
    bool ok = attempts_make(&attempts, job, o, error);
    const struct attempt *main = attempts.n ? attempts_main(&attempts) : NULL;
    if (main) {
        name_gpus(s, &main->outcome.trace);
        take_numbers(point, &main->outcome, main->predicted.there ? &main->predicted : NULL);
    }
    attempts_release(&attempts);
    return ok;
}

static void try_point(struct sweep_job *s, uint32_t i, bool real_too)
{
    struct series_point *point = &s->series.points[i];
    struct options o;
    struct job job = {0};
    GError *error = NULL;
    bool ok = points_options(&s->points, i, &o, &error) && job_open(&job, &o, &error);
    if (ok && i == 0 && !s->series.title)
        s->series.title = describe(&s->points, &job);
    s->real[i] = ok && job.engine->real;
    if (ok && job.cluster && job.shape.ranks > job.cluster->nodes * job.cluster->devices)
        s->extended = true;
    if (ok && !s->real[i])
        ok = simulate_point(&job, point, &error);
    else if (ok && real_too)
        ok = run_point(s, &job, &o, point, &error);
    if (!ok) {
        g_free(point->why_not);
        point->why_not = g_strdup(error->message);
    }
    g_clear_error(&error);
    job_release(&job);
    options_release(&o);
}

static void show_progress(struct sweep_job *s)
{
    unsigned done = ++s->done;
    if (s->progress)
        fprintf(stderr, done < s->points.n ? "\rpoint %u of %u " : "\r\033[K", done, s->points.n);
}

static void *simulate_points(void *user)
{
    struct sweep_job *s = user;
    for (uint32_t i; (i = s->next++) < s->points.n && !execute_cancelled();) {
        try_point(s, i, false);
        if (!s->real[i])
            show_progress(s);
    }
    return NULL;
}

static void simulate_all(struct sweep_job *s)
{
    pthread_t threads[64];
    unsigned n = MIN(MIN(g_get_num_processors(), G_N_ELEMENTS(threads)), s->points.n), started = 0;
    while (started + 1 < n && !thread_start(&threads[started], NULL, simulate_points, s))
        started++;
    simulate_points(s);
    for (unsigned t = 0; t < started; t++)
        pthread_join(threads[t], NULL);
}

static void run_all(struct sweep_job *s)
{
    for (uint32_t i = 0; i < s->points.n; i++)
        if (s->real[i] && !execute_cancelled()) {
            try_point(s, i, true);
            show_progress(s);
        }
}

/* A point is one that an interrupt came before, until it has been tried. */
static void begin_series(struct sweep_job *s)
{
    struct series *series = &s->series;
    series->n_axes = s->points.n_axes;
    series->axes = g_new0(char *, series->n_axes + 1);
    for (unsigned a = 0; a < series->n_axes; a++)
        series->axes[a] = g_strdup(option_name(s->points.axis[a]));
    series->n_points = s->points.n;
    series->points = g_new0(struct series_point, series->n_points);
    for (uint32_t i = 0; i < series->n_points; i++)
        series->points[i] = (struct series_point){
            .values = points_values(&s->points, i), .why_not = g_strdup("interrupted"), .predicted_ns = -1};
}

/* One that explains the failure of all. */
static bool any_good(const struct series *series, GError **error)
{
    if (series->best != UINT32_MAX || execute_cancelled())
        return true;
    g_set_error(error, OPTION_ERROR, 0, "no point of the sweep could be had: %s", series->points[0].why_not);
    return false;
}

static bool write_series(const struct series *series, const struct options *o, struct drawing *drawing,
                         GError **error)
{
    const char *figure = drawing->path, *report = option_text(o, OPTION_REPORT, NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    if (report) {
        series_json(series, text);
        if (!output_write(report, text->str, text->len, error))
            return false;
    }
    struct figure_input input = {.series = series};
    if (figure && !drawing_write(drawing, &input, error))
        return false;
    if (!o->given[OPTION_QUIET]) {
        g_autofree char *names = figure ? drawing_names(drawing) : NULL;
        g_string_truncate(text, 0);
        series_print(series, text);
        if (figure || report)
            g_string_append_printf(text, "wrote %s%s%s\n", names ? names : "", figure && report ? ", " : "",
                                   report ? report : "");
        fputs(text->str, !g_strcmp0(figure, "-") || !g_strcmp0(report, "-") ? stderr : stdout);
    }
    return true;
}

static bool check_outputs(const struct options *o, struct drawing *drawing, GError **error)
{
    const char *report = option_text(o, OPTION_REPORT, NULL);
    if (!drawing_check(drawing, o, &figure_sweep, "parprof-sweep.svg", error))
        return false;
    if (output_same(drawing->path, report)) {
        g_set_error_literal(error, OPTION_ERROR, 0,
                            "--output and --report would overwrite each other: name a file each");
        return false;
    }
    return !report || output_check(report, error);
}

static void extend_title(struct series *series)
{
    char *title = series->title;
    series->title =
        g_strdup_printf("%s, with more ranks than devices, taken as linked alike", title ? title : "sweep");
    g_free(title);
}

static bool sweep(struct sweep_job *s, struct drawing *drawing, GError **error)
{
    execute_catch_interrupt();
    begin_series(s);
    simulate_all(s);
    if (memchr(s->real, true, s->points.n) && !drawing_ready(drawing, error))
        return false;
    run_all(s);
    series_find_best(&s->series);
    if (s->extended)
        extend_title(&s->series);
    return any_good(&s->series, error) && write_series(&s->series, &s->points.base, drawing, error);
}

/* Of a batch that nobody gives each number of micro-batches has another one. */
static bool check_batch(const struct points *p, GError **error)
{
    for (unsigned a = 0; a < p->n_axes; a++)
        if (p->axis[a] == OPTION_CHUNKS && !p->base.given[OPTION_BATCH]) {
            g_set_error(error, OPTION_ERROR, 0,
                        "--%s: each number of micro-batches would train another batch; give --%s too",
                        option_name(OPTION_CHUNKS), option_name(OPTION_BATCH));
            return false;
        }
    return true;
}

static bool sweep_command(const struct options *o, int *status, GError **error)
{
    struct sweep_job s = {.progress = isatty(STDERR_FILENO) && !o->given[OPTION_QUIET]};
    struct drawing drawing;
    bool ok = points_init(&s.points, o, error) && check_batch(&s.points, error) &&
              check_outputs(&s.points.base, &drawing, error);
    if (ok) {
        s.real = g_new0(bool, s.points.n);
        ok = sweep(&s, &drawing, error);
        if (ok && execute_cancelled())
            *status = EXIT_INTERRUPTED;
        series_release(&s.series);
        g_free(s.real);
    }
    points_release(&s.points);
    return ok;
}

const struct command command_sweep = {
    "sweep", "run or simulate every combination of lists and ranges of options", sweep_command, NULL, 0, 0};
