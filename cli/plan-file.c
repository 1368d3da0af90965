#include "cli/plan-file.h"

#include "cli/cli.h"
#include "cli/input.h"

/* What `run` and `plan` have in common defines the plan, but for these. */
static bool defines_plan(enum option_id id)
{
    return id != OPTION_OUTPUT && id != OPTION_MOMENTUM && id != OPTION_CLIP_GRAD_NORM &&
           option_listed(option_specs[id].commands, "plan");
}

static bool check_options(const struct options *o, const char *path, GError **error)
{
    for (unsigned id = 0; id < N_OPTIONS; id++)
        if (o->given[id] && defines_plan(id)) {
            g_set_error(error, OPTION_ERROR, 0, "--%s: the plan in %s says it, leave it out", option_name(id),
                        file_name(path));
            return false;
        }
    if (!o->given[OPTION_COSTS])
        return true;
    g_set_error(
        error, OPTION_ERROR, 0,
        "--%s: the plan in %s is run as it is, not without overlap first; --%s keeps what it took, and "
        "--%s measured:FILE reads that, too",
        option_name(OPTION_COSTS), file_name(path), option_name(OPTION_TRACE), option_name(OPTION_COST));
    return false;
}

static bool read_plan(struct job *job, const char *path, GError **error)
{
    gsize bytes;
    struct plan *plan = g_new0(struct plan, 1);
    g_autofree char *text = file_read(path, &bytes, error);
    if (!text || !plan_read_json(text, bytes, file_name(path), plan, &job->model, error)) {
        g_free(plan);
        return false;
    }
    job->given = plan;
    job->file = g_strdup(file_name(path));
    job->checksum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)text, bytes);
    if (plan_seal(plan, error))
        return true;
    g_prefix_error(error, "%s: ", job->file);
    return false;
}

static bool has_kind(const struct plan *plan, unsigned kind)
{
    for (uint32_t i = 0; i < plan->n_ops; i++)
        if (plan->ops[i].tag.kind == kind)
            return true;
    return false;
}

/* What the plan shows of the shape that it is of. */
static void fill_shape(struct job *job)
{
    /* A mode that this program does not know is no hindrance: a plan is all that running it needs. */
    static const struct mode other = {.name = "plan", .summary = "a plan from a file"};
    const struct plan *plan = job->given;
    const struct mode *mode = plan->t.mode ? mode_find(plan->t.mode) : NULL;
    job->mode = mode ? mode : &other;
    job->shape = (struct shape){.model = job->model,
                                .ranks = plan->t.n_ranks,
                                .optimizer = plan->optimizer,
                                .accumulate = plan->t.stages ? 1 : plan->n_micro,
                                .clip = has_kind(plan, OP_NORM)};
    job->shape.batch = plan_batch(plan);
}

/* Of a number that the plan has use for but does not say: given if and only if it does. */
static bool pick_number(const struct job *job, const struct options *o, enum option_id id, bool used,
                        const char *what, double *out, GError **error)
{
    *out = option_number(o, id, 0);
    if (used && job->engine->real && !(*out > 0))
        g_set_error(error, OPTION_ERROR, 0, "the plan in %s %s: say which with --%s", job->file, what,
                    option_name(id));
    else if (!used && *out > 0)
        g_set_error(error, OPTION_ERROR, 0, "--%s: the plan in %s has no use for it, leave it out",
                    option_name(id), job->file);
    else
        return true;
    return false;
}

static bool pick_training(struct job *job, const struct options *o, GError **error)
{
    job->lr = job_lr(o, job->given->optimizer);
    return pick_number(job, o, OPTION_MOMENTUM, job->given->optimizer == OPTIMIZER_MOMENTUM,
                       "steps with a momentum", &job->momentum, error) &&
           pick_number(job, o, OPTION_CLIP_GRAD_NORM, job->shape.clip, "clips gradients to a norm",
                       &job->clip_norm, error);
}

static bool check_executable(const struct job *job, GError **error)
{
    if (!job->model) {
        g_set_error(
            error, OPTION_ERROR, 0,
            "%s was written by a version that left out the model's text, and is of no built-in model: it can "
            "only be simulated, give --backend sim",
            job->file);
        return false;
    }
    if (!job->model->executable || plan_check_run(job->given, job->model, error))
        return true;
    g_prefix_error(error, "%s cannot be run: ", job->file);
    return false;
}

bool plan_file_open(struct job *job, const char *path, const struct options *o, GError **error)
{
    *job = (struct job){0};
    if (!check_options(o, path, error) || !job_pick_engine(job, o, error) || !read_plan(job, path, error))
        return false;
    fill_shape(job);
    /* Of a mode of its own a plan has the options of the known ones. */
    const char *mode = job->mode->check ? job->mode->name : mode_ddp.name;
    return options_check(o, mode, job->engine->name, error) &&
           (!job->engine->real || check_executable(job, error)) && pick_training(job, o, error) &&
           job_pick_prices(job, o, error);
}
