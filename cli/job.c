#include "cli/job.h"

#include <math.h>
#include <string.h>

#include "cli/balance.h"
#include "cli/cli.h"
#include "cli/train.h"
#include "exec/text.h"
#include "plan/bucket.h"
#include "plan/schedule.h"
#include "profile/table.h"

/* The double reference on CPU cores needs no library: what floats need, the engine asks for when it runs
 * them. */
static bool can_run(const struct engine *e, const struct options *o, GError **why)
{
    bool reference =
        e->real && !e->devices && !strcmp(option_text(o, OPTION_DTYPE, ""), dtype_name(DTYPE_F64));
    return reference || e->probe(why);
}

bool job_pick_engine(struct job *job, const struct options *o, GError **error)
{
    const char *name = option_text(o, OPTION_BACKEND, "auto");
    g_autoptr(GString) names = g_string_new("auto");
    for (unsigned i = 0; engines[i]; i++) {
        const struct engine *e = engines[i];
        g_string_append_printf(names, ", %s", e->name);
        if (strcmp(name, e->name) && strcmp(name, "auto"))
            continue;
        GError *why = NULL;
        if (can_run(e, o, &why)) {
            job->engine = e;
            return true;
        }
        if (strcmp(name, "auto")) {
            g_propagate_error(error, why);
            return false;
        }
        g_free(job->why_not_first);
        job->why_not_first = printable(why->message);
        g_error_free(why);
    }
    return option_unknown(error, OPTION_BACKEND, name, names->str);
}

static bool pick_mode(struct job *job, const struct options *o, GError **error)
{
    const char *name = option_text(o, OPTION_MODE, mode_ddp.name);
    job->mode = mode_find(name);
    if (job->mode)
        return true;
    g_autoptr(GString) names = g_string_new(NULL);
    for (unsigned i = 0; modes[i]; i++)
        g_string_append_printf(names, "%s%s", i ? ", " : "", modes[i]->name);
    return option_unknown(error, OPTION_MODE, name, names->str);
}

/* Real, and on nothing but CPU cores: what is run there is small. */
bool job_on_cores(const struct job *job)
{
    return job->engine->real && !job->engine->devices;
}

/* Widths that nobody gave become the model's, divided. */
static bool shrink(const struct options *o, const char *name, struct model_override *over, GError **error)
{
    const uint32_t n = option_number(o, OPTION_SHRINK, 1);
    struct model *model = n > 1 ? model_load(name, over, error) : NULL;
    if (n > 1 && !model)
        return false;
    if (n > 1 && !over->d)
        over->d = model->dims.d / n;
    if (n > 1 && !over->ff && model->dims.ff)
        over->ff = model->dims.ff / n;
    const bool good = n == 1 || (over->d && (!model->dims.ff || over->ff) &&
                                 (!model->dims.heads || over->d % model->dims.heads == 0));
    if (!good)
        g_set_error(
            error, OPTION_ERROR, 0,
            "--shrink %u leaves model %s a width of %u for %u heads, give a smaller one, or --d-model and "
            "--heads",
            n, model->name, over->d, model->dims.heads);
    model_free(model);
    return good;
}

static bool pick_model(struct job *job, const struct options *o, GError **error)
{
    struct model_override over = {.layers = option_number(o, OPTION_LAYERS, 0),
                                  .d = option_number(o, OPTION_D_MODEL, 0),
                                  .heads = option_number(o, OPTION_HEADS, 0),
                                  .ff = option_number(o, OPTION_FF, 0),
                                  .vocab = option_number(o, OPTION_VOCAB, 0),
                                  .seq = option_number(o, OPTION_SEQ_LEN, 0)};
    const char *dtype = option_text(o, OPTION_DTYPE, dtype_name(DTYPE_F32));
    over.dtype = (uint8_t)dtype_find(dtype);
    const unsigned foreign = !job->engine->real ? DTYPES : job->engine->devices ? DTYPE_F64 : DTYPE_TF32;
    if (over.dtype == DTYPES || over.dtype == foreign)
        return option_unknown(error, OPTION_DTYPE, dtype,
                              foreign == DTYPES       ? "f32, f64 or tf32"
                              : foreign == DTYPE_TF32 ? "f32 or f64 on CPU cores"
                                                      : "f32 or tf32 on GPUs");
    const char *name = option_text(o, OPTION_MODEL, job_on_cores(job) ? "mini" : "bert-base");
    job->shrink = option_number(o, OPTION_SHRINK, 1);
    return shrink(o, name, &over, error) && (job->model = model_load(name, &over, error));
}

static uint64_t mib(const struct options *o, enum option_id id, uint64_t fallback)
{
    return o->given[id] ? (uint64_t)floor(option_number(o, id, 0) * 1048576) : fallback;
}

double job_lr(const struct options *o, unsigned optimizer)
{
    return option_number(o, OPTION_LR, optimizer == OPTIMIZER_ADAM ? 1e-3 : 0.1);
}

static bool pick_optimizer(struct job *job, const struct options *o, GError **error)
{
    const char *name = option_text(o, OPTION_OPTIMIZER, optimizer_name(OPTIMIZER_SGD));
    bool adam = !strcmp(name, optimizer_name(OPTIMIZER_ADAM));
    if (!adam && strcmp(name, optimizer_name(OPTIMIZER_SGD)))
        return option_unknown(error, OPTION_OPTIMIZER, name, "sgd or adam");
    if (adam && o->given[OPTION_MOMENTUM]) {
        g_set_error(error, OPTION_ERROR, 0, "--%s belongs to --%s sgd; adam has its own: leave it out",
                    option_name(OPTION_MOMENTUM), option_name(OPTION_OPTIMIZER));
        return false;
    }
    job->momentum = option_number(o, OPTION_MOMENTUM, 0);
    job->clip_norm = option_number(o, OPTION_CLIP_GRAD_NORM, 0);
    job->shape.optimizer = adam ? OPTIMIZER_ADAM : job->momentum > 0 ? OPTIMIZER_MOMENTUM : OPTIMIZER_SGD;
    job->shape.clip = job->clip_norm > 0;
    job->lr = job_lr(o, job->shape.optimizer);
    return true;
}

static uint32_t devices_of(const struct job *job)
{
    return job->engine->devices ? job->engine->devices() : 0;
}

/* Whether the engine's own library can reduce: it wants a device for each rank. */
static bool has_whole(const struct job *job)
{
    return job->engine->algos & 1u << ALLREDUCE_WHOLE &&
           (!job->engine->devices || job->shape.ranks <= devices_of(job));
}

/* What costs least on the busiest link: a ring goes through one card of each node, the whole through all. */
static unsigned best_algo(const struct job *job, const struct options *o)
{
    const struct cluster *c = job->cluster;
    bool whole = job->engine->devices
                     ? has_whole(job)
                     : prices_want_whole(o) || (c && c->net_cards > 1 && job->shape.ranks > c->devices);
    return whole ? ALLREDUCE_WHOLE : ALLREDUCE_RING;
}

static bool pick_algo(struct job *job, const struct options *o, GError **error)
{
    const char *text = option_text(o, OPTION_ALLREDUCE, "auto");
    const char *own = job->engine->devices ? "nccl" : allreduce_name(ALLREDUCE_WHOLE);
    g_autoptr(GString) names = g_string_new("auto");
    job->shape.algo = (uint8_t)best_algo(job, o);
    if (!strcmp(text, "auto") || (!strcmp(text, "nccl") && !job->engine->devices && prices_want_whole(o)))
        return true;
    if (!strcmp(text, own) && job->engine->devices && !has_whole(job)) {
        g_set_error(error, OPTION_ERROR, 0,
                    "--allreduce nccl: %u ranks need %u GPUs, %u visible; NCCL takes one rank a GPU: try "
                    "--allreduce ring, "
                    "or --ranks %u",
                    job->shape.ranks, job->shape.ranks, devices_of(job), devices_of(job));
        return false;
    }
    for (unsigned algo = 0; algo < ALLREDUCES; algo++) {
        if (!(job->engine->algos & 1u << algo) || (algo == ALLREDUCE_WHOLE && !has_whole(job)))
            continue;
        const char *name = algo == ALLREDUCE_WHOLE ? own : allreduce_name(algo);
        job->shape.algo = (uint8_t)algo;
        if (!strcmp(text, name))
            return true;
        g_string_append_printf(names, ", %s", name);
    }
    return option_unknown(error, OPTION_ALLREDUCE, text, names->str);
}

static unsigned overlap_find(const char *name)
{
    unsigned overlap = 0;
    while (overlap < OVERLAPS && strcmp(name, overlap_name(overlap)))
        overlap++;
    return overlap;
}

/* "none,backward": each once. */
static bool pick_overlaps(struct job *job, const struct options *o, GError **error)
{
    const char *list = option_text(o, OPTION_OVERLAP, overlap_name(OVERLAP_BACKWARD));
    g_auto(GStrv) names = g_strsplit(list, ",", -1);
    for (unsigned i = 0; names[i]; i++) {
        unsigned overlap = overlap_find(names[i]);
        if (overlap == OVERLAPS)
            return option_unknown(error, OPTION_OVERLAP, list,
                                  "none, backward or optimizer, or several of them with commas");
        if (memchr(job->overlaps, (int)overlap, job->n_overlaps)) {
            g_set_error(error, OPTION_ERROR, 0, "--overlap names '%s' twice: leave one out", names[i]);
            return false;
        }
        job->overlaps[job->n_overlaps++] = (uint8_t)overlap;
    }
    job->shape.overlap = job->overlaps[job->n_overlaps - 1];
    return true;
}

struct shape job_shape(const struct job *job, unsigned overlap)
{
    struct shape shape = job->shape;
    shape.overlap = (uint8_t)overlap;
    return shape;
}

static bool check_shapes(const struct job *job, GError **error)
{
    for (unsigned i = 0; i < job->n_overlaps; i++) {
        struct shape shape = job_shape(job, job->overlaps[i]);
        if (!job->mode->check(&shape, error))
            return false;
    }
    return true;
}

/* Two to four on CPU cores, four simulated, as many as there are GPUs, or two that share one. */
uint32_t job_default_ranks(const struct job *job)
{
    if (job->mode == &mode_single)
        return 1;
    if (job->engine->devices)
        return MAX(2, devices_of(job));
    return job->engine->real ? CLAMP(g_get_num_processors() / 2, 2, 4)
                             : MIN(4, job->cluster->nodes * job->cluster->devices);
}

static bool pick_dp(struct job *job, const struct options *o, GError **error)
{
    const char *gather = option_text(o, OPTION_GATHER, gather_name(GATHER_LOGITS)),
               *reduction = option_text(o, OPTION_LOSS_REDUCTION, "mean");
    struct shape *s = &job->shape;
    while (s->gather < GATHERS && strcmp(gather, gather_name(s->gather)))
        s->gather++;
    if (s->gather == GATHERS)
        return option_unknown(error, OPTION_GATHER, gather, "logits or loss");
    s->loss_sum = !strcmp(reduction, "sum");
    s->gil = o->given[OPTION_GIL];
    if (s->gil && g_str_has_prefix(option_text(o, OPTION_COST, ""), PRICES_MEASURED)) {
        g_set_error(error, OPTION_ERROR, 0,
                    "--gil: measured costs do not say what of them is launching; take --cost analytic");
        return false;
    }
    return s->loss_sum || !strcmp(reduction, "mean") ||
           option_unknown(error, OPTION_LOSS_REDUCTION, reduction, "mean or sum");
}

/* Samples where nobody says: some for each rank, or, in a pipeline, for each micro-batch. */
static uint32_t default_batch(const struct job *job)
{
    const uint32_t each = job_on_cores(job) ? 4 : 32;
    if (job->mode == &mode_pipeline)
        return job->shape.chunks * (job_on_cores(job) ? 2 : 8);
    return job->shape.ranks * each;
}

static bool pick_shape(struct job *job, const struct options *o, GError **error)
{
    struct shape *s = &job->shape;
    s->model = job->model;
    if (job->mode == &mode_pipeline && !job_pick_pipeline(job, o, error))
        return false;
    if (job->mode != &mode_pipeline)
        s->ranks = option_number(o, OPTION_RANKS, job_default_ranks(job));
    s->batch = option_number(o, OPTION_BATCH, default_batch(job));
    s->bucket_bytes = mib(o, OPTION_BUCKET_MB, BUCKET_BYTES_DEFAULT);
    s->first_bucket_bytes =
        mib(o, OPTION_FIRST_BUCKET_MB, mib(o, OPTION_BUCKET_MB, BUCKET_FIRST_BYTES_DEFAULT));
    s->accumulate = option_number(o, OPTION_ACCUMULATE, 1);
    s->devices = job->engine->devices ? devices_of(job) : option_number(o, OPTION_DEVICES, 0);
    s->bucket_view = o->given[OPTION_GRADIENT_AS_BUCKET_VIEW];
    s->first_iteration = o->given[OPTION_FIRST_ITERATION];
    if (s->first_iteration && o->given[OPTION_OVERLAP]) {
        g_set_error_literal(
            error, OPTION_ERROR, 0,
            "--first-iteration has one bucket and nothing to overlap it with: leave --overlap out");
        return false;
    }
    return pick_dp(job, o, error) && pick_optimizer(job, o, error) && pick_algo(job, o, error) &&
           pick_overlaps(job, o, error) && check_shapes(job, error);
}

/* A plan for more devices than there are begins anew with the first. */
bool job_shares_devices(const struct job *job)
{
    const struct tables *t = job->given ? &job->given->t : NULL;
    const uint32_t n = MAX(devices_of(job), 1);
    if (!job->engine->devices)
        return false;
    for (uint32_t i = 0; t && i < t->n_lanes; i++)
        for (uint32_t j = 0; j < i; j++)
            if (t->lanes[i].device % n == t->lanes[j].device % n && t->lanes[i].rank != t->lanes[j].rank)
                return true;
    return !t && job->shape.ranks > n;
}

/* Memory is made to look like a network; between GPUs there is one. */
static bool pick_link(struct job *job, const struct options *o, GError **error)
{
    if (!job->engine->real)
        return true;
    if (job_on_cores(job))
        return option_link(o, "10,20", &job->link_gbps, &job->link_us, error);
    if (job_shares_devices(job))
        return option_link(o, "200,5", &job->link_gbps, &job->link_us, error);
    if (!o->given[OPTION_LINK])
        return true;
    g_set_error(error, OPTION_ERROR, 0,
                "--%s: %u rank%s a GPU each, whose links are real; give more --%s than GPUs, or leave it out",
                option_name(OPTION_LINK), job->shape.ranks, job->shape.ranks == 1 ? " has" : "s have",
                option_name(OPTION_RANKS));
    return false;
}

/* Once: the shape wants it before the prices do. */
static bool pick_machine(struct job *job, const struct options *o, GError **error)
{
    if (job->cluster || job->engine->real)
        return true;
    job->cluster = cluster_load(option_text(o, OPTION_CLUSTER, "a100x4"), error);
    if (job->cluster && job->cluster->nodes > 1)
        job->shape.node_devices = job->cluster->devices;
    return job->cluster;
}

bool job_pick_prices(struct job *job, const struct options *o, GError **error)
{
    if (!pick_machine(job, o, error))
        return false;
    if (job->engine->real)
        return pick_link(job, o, error);
    bool good = prices_open(&job->prices, o, job->cluster, error);
    job->costs = job->prices.model;
    job->sharing.cluster = job->cluster;
    return good && sharing_interference(&job->sharing, option_text(o, OPTION_INTERFERENCE, "none"), error);
}

bool job_open(struct job *job, const struct options *o, GError **error)
{
    *job = (struct job){0};
    return pick_mode(job, o, error) && job_pick_engine(job, o, error) &&
           options_check(o, job->mode->name, job->engine->name, error) && pick_model(job, o, error) &&
           pick_machine(job, o, error) && pick_shape(job, o, error) && job_pick_prices(job, o, error) &&
           (!job->costs || balance(job, job->costs, error)) && train_pick(job, o, error);
}

bool job_open_text(struct job *job, const struct options *o, GError **error)
{
    if (!job->text && o->given[OPTION_DATA])
        job->text = text_open(option_text(o, OPTION_DATA, NULL), job->model, job->training.epochs > 0, error);
    return job->text || !o->given[OPTION_DATA];
}

struct plan *job_plan(const struct job *job, const struct shape *shape, struct plan *own, GError **error)
{
    if (job->given)
        return job->given;
    return plan_make(job->mode, shape, own, error) ? own : NULL;
}

void job_plan_release(const struct job *job, struct plan *own)
{
    if (!job->given)
        plan_release(own);
}

void job_release(struct job *job)
{
    if (job->given)
        plan_release(job->given);
    g_clear_pointer(&job->given, g_free);
    if (job->actions)
        actions_release(job->actions);
    g_clear_pointer(&job->actions, g_free);
    g_clear_pointer(&job->file, g_free);
    g_clear_pointer(&job->checksum, g_free);
    g_clear_pointer(&job->text, text_close);
    g_clear_pointer(&job->model, model_free);
    prices_release(&job->prices);
    g_clear_pointer(&job->cluster, cluster_free);
    g_clear_pointer(&job->rank_speed, g_free);
    g_clear_pointer(&job->layer_ns, g_free);
    g_clear_pointer(&job->why_not_first, g_free);
}
