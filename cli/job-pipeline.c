/* What the options ask of a pipeline. */
#include <string.h>

#include "cli/input.h"
#include "cli/job.h"
#include "plan/schedule.h"
#include "plan/split.h"

uint32_t job_default_stages(const struct schedule *s)
{
    return s->stages ? s->stages : s->several ? 2 : 1;
}

static bool read_schedule(struct job *job, const char *path, GError **error)
{
    gsize bytes;
    g_autofree char *text = file_read(path, &bytes, error);
    struct actions *actions = g_new0(struct actions, 1);
    if (!text || !actions_read_csv(text, bytes, file_name(path), actions, error)) {
        g_free(actions);
        return false;
    }
    job->actions = actions;
    job->shape.actions = actions;
    job->shape.stages_per_rank = actions->n_stages / MAX(actions->n_ranks, 1);
    return true;
}

static bool pick_schedule(struct job *job, const struct options *o, GError **error)
{
    const char *name = option_text(o, OPTION_SCHEDULE, schedules[0]->name);
    struct shape *s = &job->shape;
    if (strchr(name, '/') || g_str_has_suffix(name, ".csv") || !strcmp(name, "-")) {
        if (o->given[OPTION_STAGES_PER_RANK]) {
            g_set_error(error, OPTION_ERROR, 0, "--%s: the schedule in %s says it, leave it out",
                        option_name(OPTION_STAGES_PER_RANK), file_name(name));
            return false;
        }
        return read_schedule(job, name, error);
    }
    s->schedule = schedule_find(name);
    if (!s->schedule) {
        g_autoptr(GString) names = g_string_new("a .csv file");
        for (unsigned i = 0; schedules[i]; i++)
            g_string_append_printf(names, ", %s", schedules[i]->name);
        return option_unknown(error, OPTION_SCHEDULE, name, names->str);
    }
    s->stages_per_rank = option_number(o, OPTION_STAGES_PER_RANK, job_default_stages(s->schedule));
    return true;
}

static bool pick_split(struct job *job, const struct options *o, GError **error)
{
    const char *name = option_text(o, OPTION_SPLIT, split_rules[0]->name);
    job->shape.split = split_find(name);
    if (job->shape.split)
        return true;
    g_autoptr(GString) names = g_string_new(NULL);
    for (unsigned i = 0; split_rules[i]; i++)
        g_string_append_printf(names, "%s%s", i ? ", " : "", split_rules[i]->name);
    return option_unknown(error, OPTION_SPLIT, name, names->str);
}

static bool pick_checkpoint(struct job *job, const struct options *o, GError **error)
{
    const char *name = option_text(o, OPTION_CHECKPOINT, checkpoint_name(CHECKPOINT_NEVER));
    for (unsigned i = 0; i < CHECKPOINTS; i++)
        if (!strcmp(name, checkpoint_name(i))) {
            job->shape.checkpoint = (uint8_t)i;
            return true;
        }
    return option_unknown(error, OPTION_CHECKPOINT, name, "never, except-last or always");
}

/* Before the shape: a file says how many ranks and micro-batches there are. */
bool job_pick_pipeline(struct job *job, const struct options *o, GError **error)
{
    if (!pick_schedule(job, o, error) || !pick_split(job, o, error) || !pick_checkpoint(job, o, error))
        return false;
    const struct actions *a = job->actions;
    const uint32_t ranks = option_number(o, OPTION_RANKS, a ? a->n_ranks : job_default_ranks(job));
    job->shape.ranks = ranks;
    job->shape.chunks = option_number(o, OPTION_CHUNKS, a ? a->n_micro : 2 * ranks);
    job->shape.rounds = option_number(o, OPTION_CHAIN, 1);
    return true;
}
