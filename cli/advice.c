#include "cli/advice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/balance.h"
#include "cli/stand-in.h"
#include "exec/host.h"
#include "plan/schedule.h"
#include "plan/split.h"
#include "profile/memory.h"
#include "profile/report-text.h"

/* What is changed: NULL and 0 leave it as it is. */
struct change {
    enum topic topic;
    const struct mode *of; /* jobs of this mode */
    const struct mode *mode;
    uint32_t chunks, batch; /* factors */
    const char *split;
    bool never; /* no checkpoints */
    const struct schedule *schedule;
    uint32_t stages;
};

static const struct change changes[] = {
    {.topic = TOPIC_MODE, .of = &mode_dp, .mode = &mode_ddp},
    {.topic = TOPIC_MICRO, .of = &mode_pipeline, .chunks = 2},
    {.topic = TOPIC_MICRO, .of = &mode_pipeline, .chunks = 4},
    {.topic = TOPIC_BATCH, .of = &mode_pipeline, .chunks = 2, .batch = 2},
    {.topic = TOPIC_SPLIT, .of = &mode_pipeline, .split = "even"},
    {.topic = TOPIC_SPLIT, .of = &mode_pipeline, .split = "balanced"},
    {.topic = TOPIC_CHECKPOINT, .of = &mode_pipeline, .never = true},
};
static const uint32_t stages_tried[] = {1, 2, 4};

struct search {
    struct advice *advice;
    const struct job *job;
    const struct options *options;
    const struct outcome *base;
    double held; /* samples whose activations are held at most */
    unsigned assumed;
    struct stand_in prices;
    GArray *found; /* struct suggestion */
};

static double in_flight(const struct outcome *o)
{
    const struct pipeline_times *p = o->analysis.pipeline;
    double most = 0;
    for (uint32_t r = 0; p && r < p->n_ranks; r++)
        most = MAX(most, pipeline_in_flight(&p->ranks[r]));
    return most;
}

static double held_samples(const struct outcome *o, const struct shape *shape)
{
    return shape->chunks ? in_flight(o) * chunk_size(shape->batch, shape->chunks, 0) : 0;
}

static uint64_t peak_bytes(const struct outcome *o, uint64_t *of_all)
{
    uint64_t most = 0, all = 0;
    for (uint32_t r = 0; o->trace.memory_bytes && r < o->trace.t.n_ranks; r++) {
        const uint64_t bytes = memory_peak(&o->trace, r);
        most = MAX(most, bytes);
        all += bytes;
    }
    *of_all = all;
    return most;
}

/* --- the change as a shape, and as options */

/* False: it is what the job does, or something else than training as the job does. */
static bool apply(const struct change *c, struct job *job)
{
    struct shape *s = &job->shape;
    const bool asynchronous = s->schedule && s->schedule->asynchronous;
    if (c->of != job->mode)
        return false;
    job->mode = c->mode ? c->mode : job->mode;
    s->batch *= MAX(c->batch, 1);
    s->chunks *= MAX(c->chunks, 1);
    if (c->mode)
        s->gil = false;
    if (c->split && !strcmp(s->split->name, c->split))
        return false;
    if (c->split)
        s->split = split_find(c->split);
    if (c->never && s->checkpoint == CHECKPOINT_NEVER)
        return false;
    if (c->never)
        s->checkpoint = CHECKPOINT_NEVER;
    if (!c->schedule)
        return !c->mode || !s->loss_sum;
    if (c->schedule->asynchronous != asynchronous ||
        (c->schedule == s->schedule && c->stages == MAX(s->stages_per_rank, 1)))
        return false;
    s->schedule = c->schedule;
    s->actions = NULL;
    s->stages_per_rank = c->stages;
    return c->schedule->stages ? c->schedule->stages == c->stages : c->stages > 1 || !c->schedule->several;
}

static void add_number(GString *text, enum option_id id, uint32_t n)
{
    g_string_append_printf(text, " --%s %" PRIu32, option_name(id), n);
}

/* What a schedule from a file has said until now. */
static void add_sizes(const struct search *s, const struct shape *shape, GString *text)
{
    const enum option_id ids[] = {OPTION_RANKS, OPTION_CHUNKS};
    const uint32_t values[] = {shape->ranks, shape->chunks};
    for (unsigned i = 0; i < G_N_ELEMENTS(ids) && s->job->actions; i++)
        if (!s->options->given[ids[i]])
            add_number(text, ids[i], values[i]);
    if (s->job->actions && !s->options->given[OPTION_BATCH])
        add_number(text, OPTION_BATCH, shape->batch);
}

/* The stages a rank that a schedule gets where only its name is typed. */
static uint32_t stages_else(const struct search *s, const struct schedule *schedule)
{
    return option_number(s->options, OPTION_STAGES_PER_RANK, job_default_stages(schedule));
}

static void add_schedule(const struct search *s, const struct change *c, const struct shape *shape,
                         GString *text)
{
    if (c->schedule != s->job->shape.schedule)
        g_string_append_printf(text, " --%s %s", option_name(OPTION_SCHEDULE), c->schedule->name);
    if (c->stages != stages_else(s, c->schedule))
        add_number(text, OPTION_STAGES_PER_RANK, c->stages);
    add_sizes(s, shape, text);
}

/* Options that the other mode refuses must go. */
static void add_mode(const struct search *s, const struct change *c, GString *text)
{
    g_string_append_printf(text, " --%s %s", option_name(OPTION_MODE), c->mode->name);
    for (unsigned id = 0; id < N_OPTIONS; id++)
        if (s->options->given[id] && !option_listed(option_specs[id].modes, c->mode->name))
            g_string_append_printf(text, " without --%s", option_name(id));
}

static char *options_text(const struct search *s, const struct change *c, const struct shape *shape)
{
    GString *text = g_string_new(NULL);
    if (c->mode)
        add_mode(s, c, text);
    if (c->schedule)
        add_schedule(s, c, shape, text);
    if (c->chunks) {
        add_number(text, OPTION_CHUNKS, shape->chunks);
        /* Not given, there would be more samples with more micro-batches. */
        if (c->batch || !s->options->given[OPTION_BATCH])
            add_number(text, OPTION_BATCH, shape->batch);
    }
    if (c->split)
        g_string_append_printf(text, " --%s %s", option_name(OPTION_SPLIT), c->split);
    if (c->never)
        g_string_append_printf(text, " --%s %s", option_name(OPTION_CHECKPOINT),
                               checkpoint_name(CHECKPOINT_NEVER));
    g_string_erase(text, 0, 1);
    return g_string_free(text, FALSE);
}

/* --- trying it */

/* Only of CPU cores is it known how much memory there is. */
static bool memory_fits(const struct job *job, uint64_t bytes, bool if_unknown)
{
    return job_on_cores(job) ? bytes <= host_memory_available() : if_unknown;
}

static bool saves(const struct search *s, int64_t equal_ns)
{
    const int64_t step_ns = s->advice->step_ns;
    return equal_ns <= step_ns - (step_ns * ADVICE_PERCENT + 99) / 100;
}

static void keep(struct search *s, const struct change *c, const struct job *other, int64_t equal_ns)
{
    struct outcome o;
    uint64_t all;
    s->assumed = 0;
    if (!predict(other, &other->shape, &s->prices.model, &o, NULL))
        return;
    struct suggestion found = {.topic = c->topic,
                               .times = MAX(c->batch, 1),
                               .step_ns = o.analysis.median_ns,
                               .equal_ns = equal_ns,
                               .in_flight = in_flight(&o),
                               .holds_more = held_samples(&o, &other->shape) > s->held * 1.001,
                               .peak_bytes = peak_bytes(&o, &all),
                               .assumed = s->assumed};
    if (memory_fits(s->job, all, c->topic != TOPIC_CHECKPOINT)) {
        found.options = options_text(s, c, &other->shape);
        g_array_append_val(s->found, found);
    }
    outcome_release(&o);
}

static void try_change(struct search *s, const struct change *c)
{
    struct job other = *s->job;
    int64_t step_ns;
    const uint64_t ops = s->base->trace.n_ops / MAX(s->base->trace.n_steps, 1) * MAX(c->chunks, 1);
    other.layer_ns = NULL;
    if (ops > ADVICE_OPS || !apply(c, &other))
        return;
    if (balance(&other, &s->prices.model, NULL) &&
        predict_step_ns(&other, &other.shape, &s->prices.model, &step_ns) &&
        saves(s, step_ns / MAX(c->batch, 1)))
        keep(s, c, &other, step_ns / MAX(c->batch, 1));
    g_free(other.layer_ns);
}

/* More stages a rank than the schedule is for is a matter of its own. */
static void try_schedule(struct search *s, const struct schedule *schedule, uint32_t stages)
{
    const bool usual =
        stages == job_default_stages(schedule) || stages == MAX(s->job->shape.stages_per_rank, 1);
    const struct change c = {.topic = usual ? TOPIC_SCHEDULE : TOPIC_STAGES,
                             .of = &mode_pipeline,
                             .schedule = schedule,
                             .stages = stages};
    try_change(s, &c);
}

static int shortest_first(gconstpointer a, gconstpointer b)
{
    const struct suggestion *x = a, *y = b;
    if (x->equal_ns != y->equal_ns)
        return x->equal_ns < y->equal_ns ? -1 : 1;
    if (x->peak_bytes != y->peak_bytes)
        return x->peak_bytes < y->peak_bytes ? -1 : 1;
    return strcmp(x->options, y->options);
}

void advice_find(struct advice *advice, const struct job *job, const struct options *options,
                 const struct outcome *base, const struct cost_model *costs)
{
    struct search s = {.advice = advice, .job = job, .options = options, .base = base};
    uint64_t all;
    *advice = (struct advice){0};
    if (base->analysis.median_ns <= 0) /* nothing can be shorter */
        return;
    *advice = (struct advice){.step_ns = base->analysis.median_ns,
                              .in_flight = in_flight(base),
                              .peak_bytes = peak_bytes(base, &all)};
    s.held = held_samples(base, &job->shape);
    s.found = g_array_new(FALSE, FALSE, sizeof(struct suggestion));
    stand_in_init(&s.prices, job, costs, &base->trace, &s.assumed);
    for (unsigned i = 0; i < G_N_ELEMENTS(changes); i++)
        try_change(&s, &changes[i]);
    for (unsigned i = 0; schedules[i]; i++)
        for (unsigned k = 0; k < G_N_ELEMENTS(stages_tried); k++)
            try_schedule(&s, schedules[i], stages_tried[k]);
    g_array_sort(s.found, shortest_first);
    advice->n = s.found->len;
    advice->list = (struct suggestion *)(void *)g_array_free(s.found, FALSE);
}

void advice_release(struct advice *advice)
{
    for (uint32_t i = 0; i < advice->n; i++)
        g_free(advice->list[i].options);
    g_free(advice->list);
    *advice = (struct advice){0};
}

/* --- saying it */

static void print_memory(const struct advice *a, const struct suggestion *s, GString *out)
{
    g_autofree char *held = text_number("%.4g", s->in_flight), *instead = text_number("%.4g", a->in_flight),
                    *mib = text_number("%.1f", (double)s->peak_bytes / 1048576),
                    *instead_mib = text_number("%.1f", (double)a->peak_bytes / 1048576);
    g_string_append_printf(out, "; peak activations %s micro-batches instead of %s, %s MiB instead of %s",
                           held, instead, mib, instead_mib);
}

static void print_one(const struct advice *a, const struct suggestion *s, bool first, GString *out)
{
    const double change = ((double)s->equal_ns / (double)a->step_ns - 1) * 100;
    g_autofree char *step = text_ms(s->step_ns, 1), *equal = text_ms(s->equal_ns, 1),
                    *instead = text_ms(a->step_ns, 1), *percent = text_percent(change);
    g_string_append_printf(out, "%s (%s%s", s->options, first ? "predicted " : "", step);
    if (first)
        g_string_append(out, " ms");
    if (s->times > 1)
        g_string_append_printf(out, " for %" PRIu32 " times the samples, %s for as many as now", s->times,
                               equal);
    if (first)
        g_string_append_printf(out, " instead of %s", instead);
    g_string_append_printf(out, ", %s", percent);
    assumptions_print(s->assumed, out);
    if (s->holds_more)
        print_memory(a, s, out);
    g_string_append_c(out, ')');
}

/* How often a topic was shown: once, or once more for what needs no more memory. */
static bool is_shown(const struct suggestion *s, unsigned *shown)
{
    enum { NOTHING, MORE_ONLY, DONE };
    if (shown[s->topic] == DONE || (shown[s->topic] == MORE_ONLY && s->holds_more))
        return false;
    shown[s->topic] = s->holds_more ? MORE_ONLY : DONE;
    return true;
}

bool advice_print(const struct advice *a, GString *out)
{
    unsigned shown[TOPICS] = {0}, n = 0, of = 0;
    const struct suggestion **list = g_new(const struct suggestion *, a->n + 1);
    for (uint32_t i = 0; i < a->n && of < ADVICE_SHOWN; i++)
        if (is_shown(&a->list[i], shown))
            list[of++] = &a->list[i];
    for (; n < of; n++) {
        g_string_append(out, n == 0 ? "try " : n + 1 < of ? ", " : " or ");
        print_one(a, list[n], n == 0, out);
    }
    g_string_append(out, of ? "\n" : "");
    g_free(list);
    return of > 0;
}
