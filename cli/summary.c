#include "cli/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/balance.h"
#include "config.h"
#include "plan/schedule.h"
#include "plan/split.h"
#include "profile/facts.h"
#include "profile/trace.h"

static void row(GPtrArray *rows, const char *key, const char *format, ...) G_GNUC_PRINTF(3, 4);
static void row(GPtrArray *rows, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_ptr_array_add(rows, g_strdup(key));
    g_ptr_array_add(rows, g_strdup_vprintf(format, args));
    va_end(args);
}

static char *processor_name(void)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents("/proc/cpuinfo", &text, NULL, NULL))
        return NULL;
    char *at = strstr(text, "model name");
    char *colon = at ? strchr(at, ':') : NULL;
    return colon ? g_strstrip(g_strndup(colon + 1, strcspn(colon + 1, "\n"))) : NULL;
}

static void number_row(GPtrArray *rows, const char *key, double x)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    row(rows, key, "%s", g_ascii_formatd(number, sizeof number, "%.10g", x));
}

/* What defines the work beyond the shape of batch and buckets; what was left alone is not spoken of. */
static void add_training(GPtrArray *rows, const struct job *job, const struct options *o)
{
    const struct shape *shape = &job->shape;
    row(rows, "optimizer", "%s", optimizer_name(shape->optimizer));
    if (shape->accumulate > 1)
        row(rows, "accumulate", "%" PRIu32, shape->accumulate);
    if (job->clip_norm > 0)
        number_row(rows, "clip_grad_norm", job->clip_norm);
    if (shape->bucket_view)
        row(rows, "gradient_as_bucket_view", "yes");
    if (shape->first_iteration)
        row(rows, "first_iteration", "yes");
    if (!job->engine->real)
        return;
    if (job->momentum > 0)
        number_row(rows, "momentum", job->momentum);
    if (o->given[OPTION_DATA])
        row(rows, "data", "%s", option_text(o, OPTION_DATA, ""));
    number_row(rows, "lr", job->lr);
    number_row(rows, "seed", option_number(o, OPTION_SEED, 1));
}

static void add_machine(GPtrArray *rows)
{
    g_autofree char *name = processor_name();
    row(rows, "cores", "%u", g_get_num_processors());
    if (name)
        row(rows, "processor", "%s", name);
}

/* What may differ between runs that are compared, and tells them apart. */
static void add_circumstances(GPtrArray *rows)
{
    static const char *const commits[] = {"GITHUB_SHA", "CI_COMMIT_SHA"};
    double load;
    for (unsigned i = 0; i < G_N_ELEMENTS(commits); i++)
        if (g_getenv(commits[i]) && *g_getenv(commits[i])) {
            row(rows, "commit", "%s", g_getenv(commits[i]));
            break;
        }
    /* A name says whose machine it is; a checksum only whether it is the same. */
    g_autofree char *host = g_compute_checksum_for_string(G_CHECKSUM_SHA256, g_get_host_name(), -1);
    row(rows, "host", "%.12s", host);
    if (getloadavg(&load, 1) == 1)
        number_row(rows, "load", round(100 * load) / 100);
}

/* Sizes laid over the model's, and which file that is where it is no built-in one. */
static void add_model(GPtrArray *rows, const struct job *job, const struct options *o)
{
    const struct model_override *over = &job->model->override;
    const struct {
        const char *key;
        uint32_t size;
    } sizes[] = {{"layers", over->layers},
                 {"d_model", over->d},
                 {"heads", over->heads},
                 {"ff", over->ff},
                 {"vocab", over->vocab}};
    row(rows, "seq_len", "%" PRIu32, job->model->dims.seq);
    row(rows, "dtype", "%s", dtype_name(job->model->dtype));
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++)
        if (sizes[i].size)
            row(rows, sizes[i].key, "%" PRIu32, sizes[i].size);
    if (strpbrk(option_text(o, OPTION_MODEL, ""), "/.")) {
        g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, job->model->ini, -1);
        row(rows, "model_sha256", "%s", sum);
    }
}

void summary_init(struct summary *s, const struct job *job, const struct options *o)
{
    const struct shape *shape = &job->shape;
    s->option_rows = g_ptr_array_new_with_free_func(g_free);
    s->environment_rows = g_ptr_array_new_with_free_func(g_free);
    row(s->option_rows, "batch", "%" PRIu32, shape->batch);
    if (job->given) {
        g_autofree char *name = g_filename_display_basename(job->file);
        row(s->option_rows, "plan", "%s", name);
        row(s->option_rows, "plan_sha256", "%s", job->checksum);
    }
    if (job->model)
        add_model(s->option_rows, job, o);
    if (job->mode == &mode_pipeline && !job->given) {
        row(s->option_rows, "schedule", "%s", shape->schedule ? shape->schedule->name : "file");
        row(s->option_rows, "chunks", "%" PRIu32, shape->chunks);
        row(s->option_rows, "stages_per_rank", "%" PRIu32, shape->stages_per_rank);
        row(s->option_rows, "checkpoint", "%s", checkpoint_name(shape->checkpoint));
        row(s->option_rows, "split", "%s", shape->split->name);
        if (shape->rounds > 1)
            row(s->option_rows, "chain", "%" PRIu32, shape->rounds);
    }
    if (job->mode->has_buckets && !job->given) {
        row(s->option_rows, "bucket_bytes", "%" PRIu64, shape->bucket_bytes);
        row(s->option_rows, "first_bucket_bytes", "%" PRIu64, shape->first_bucket_bytes);
        row(s->option_rows, "overlap", "%s", overlap_name(shape->overlap));
        row(s->option_rows, "allreduce", "%s", allreduce_name(shape->algo));
    }
    if (job->mode == &mode_dp && !job->given) {
        row(s->option_rows, "gather", "%s", gather_name(shape->gather));
        row(s->option_rows, "loss_reduction", "%s", shape->loss_sum ? "sum" : "mean");
        if (shape->gil)
            row(s->option_rows, "gil", "yes");
    }
    add_training(s->option_rows, job, o);
    row(s->environment_rows, "program", "parprof %s", PACKAGE_VERSION);
    if (job->engine->real) {
        add_machine(s->environment_rows);
        add_circumstances(s->environment_rows);
    }
    g_ptr_array_add(s->option_rows, NULL);
    g_ptr_array_add(s->environment_rows, NULL);
    s->options = (const char *const *)s->option_rows->pdata;
    s->environment = (const char *const *)s->environment_rows->pdata;
}

char **summary_circumstances(void)
{
    GPtrArray *rows = g_ptr_array_new();
    add_machine(rows);
    add_circumstances(rows);
    g_ptr_array_add(rows, NULL);
    return (char **)g_ptr_array_free(rows, FALSE);
}

void summary_release(struct summary *s)
{
    g_ptr_array_unref(s->option_rows);
    g_ptr_array_unref(s->environment_rows);
}

static void head_ranks(const struct job *job, const struct options *o, const struct trace *trace,
                       GString *out)
{
    uint32_t ranks = job->shape.ranks;
    const char *threads = trace_label_value(trace, "threads");
    g_string_append(out, "parprof: ");
    if (job->engine->devices) {
        const char *gpus = trace_label_value(trace, "gpus");
        g_string_append_printf(out, "running on %s\n", gpus ? gpus : "GPUs");
        return;
    }
    if (job->engine->real) {
        /* What to do about it comes after a semicolon; here the program has done something about it. */
        if (!o->given[OPTION_BACKEND] && job->why_not_first)
            g_string_append_printf(out, "no GPU (%.*s), ", (int)strcspn(job->why_not_first, ";"),
                                   job->why_not_first);
        g_string_append_printf(out, "running on CPU: %s\n", threads);
        return;
    }
    if (job->why_not_first)
        g_string_append_printf(out, "cannot run here (%s), ", job->why_not_first);
    g_string_append_printf(out, "simulated on %s: %" PRIu32 " rank%s", job->cluster->name, ranks,
                           ranks == 1 ? "" : "s");
    const uint32_t devices = job->cluster->nodes * job->cluster->devices;
    if (ranks > devices)
        g_string_append_printf(out, ", more than its %" PRIu32 " devices: taken as linked alike", devices);
    g_string_append_c(out, '\n');
}

static void head_optimizer(const struct job *job, GString *out)
{
    static const char *const names[OPTIMIZERS] = {
        [OPTIMIZER_SGD] = "SGD", [OPTIMIZER_MOMENTUM] = "SGD", [OPTIMIZER_ADAM] = "Adam"};
    g_string_append_printf(out, ", %s", names[job->shape.optimizer]);
    if (job->shape.optimizer == OPTIMIZER_MOMENTUM && job->momentum > 0)
        g_string_append_printf(out, " with momentum %g", job->momentum);
    else if (job->shape.optimizer == OPTIMIZER_MOMENTUM)
        g_string_append(out, " with a momentum");
    if (job->shape.clip && !(job->clip_norm > 0))
        g_string_append(out, ", gradients clipped");
    else if (job->shape.clip)
        g_string_append_printf(out, ", gradients clipped to a norm of %g", job->clip_norm);
    if (job->shape.first_iteration)
        g_string_append(out, ", the first iteration");
    g_string_append_c(out, '\n');
}

static void head_plan(const struct job *job, GString *out)
{
    const struct tables *t = &job->given->t;
    g_autofree char *name = g_filename_display_name(job->file);
    g_string_append_printf(out, "plan %s: mode %s, %" PRIu32 " operations\n", name,
                           t->mode ? t->mode : "unknown", job->given->n_ops);
    if (!job->model)
        g_string_append_printf(out, "model %s, of which it says too little to be run; batch %" PRIu32,
                               t->model ? t->model : "unknown", job->shape.batch);
    if (!job->model)
        head_optimizer(job, out);
}

/* Micro-batches of which fewer came out than were asked for, and how they go through the stages. */
static void head_pipeline(const struct job *job, GString *out)
{
    const struct shape *s = &job->shape;
    if (job->given || job->mode != &mode_pipeline)
        return;
    const uint32_t micro = pipeline_micro(s);
    g_string_append_printf(out, "schedule %s, %" PRIu32 " micro-batches",
                           s->schedule ? s->schedule->name : "of a file", micro);
    if (micro < s->chunks)
        g_string_append_printf(out,
                               " (torch.chunk makes no more of %" PRIu32 " samples in %" PRIu32 " chunks)",
                               s->batch, s->chunks);
    g_string_append_printf(out, ", %" PRIu32 " stage%s a rank, split %s, checkpoint %s", s->stages_per_rank,
                           s->stages_per_rank == 1 ? "" : "s", s->split->name,
                           checkpoint_name(s->checkpoint));
    if (s->rounds > 1)
        g_string_append_printf(out, ", %" PRIu32 " steps chained", s->rounds);
    g_string_append_c(out, '\n');
}

static void head_model(const struct job *job, GString *out)
{
    const struct model *m = job->model;
    const struct shape *s = &job->shape;
    const bool pipeline = s->chunks > 0;
    const uint32_t parts = pipeline ? s->chunks : s->ranks;
    uint32_t most = chunk_size(s->batch, parts, 0),
             least = chunk_size(s->batch, parts, (pipeline ? pipeline_micro(s) : parts) - 1);
    bool small = m->numel < 1000000;
    g_string_append_printf(out, "model %s, %.1f %c parameters, %.1f MiB gradients; batch %" PRIu32 " (",
                           m->name, m->numel / (small ? 1e3 : 1e6), small ? 'K' : 'M',
                           m->numel * dtype_bytes(m->dtype) / 1048576.0, s->batch);
    if (least < most)
        g_string_append_printf(out, "%" PRIu32 " to ", least);
    g_string_append_printf(out, "%" PRIu32 " a %s", most, pipeline ? "micro-batch" : "rank");
    if (s->accumulate > 1)
        g_string_append_printf(out, " in %" PRIu32 " micro-batches", s->accumulate);
    g_string_append_c(out, ')');
    if (m->dims.seq > 1)
        g_string_append_printf(out, ", sequence %" PRIu32, m->dims.seq);
    if (m->dtype != DTYPE_F32)
        g_string_append_printf(out, ", %s", dtype_name(m->dtype));
    if (job->shrink > 1)
        g_string_append_printf(out, ", widths divided by %" PRIu32, job->shrink);
    head_optimizer(job, out);
}

static void head_costs(const struct job *job, GString *out)
{
    const struct cluster *c = job->cluster;
    g_string_append_printf(out, "costs %s", job->costs->name);
    if (job->model && job->model->dtype == DTYPE_TF32 && !(c->tf32_tflops > 0))
        g_string_append(out, ", which names no rate of TF32: that of f32");
    if (job->prices.of_links)
        g_string_append_printf(out, "; link %g Gb/s, %g µs", c->link_gbps, c->link_us);
    if (job->prices.of_links && c->nodes > 1)
        g_string_append_printf(out, "; between %u nodes %u x %g Gb/s, %g µs", c->nodes, c->net_cards,
                               c->net_gbps, c->net_us);
    g_string_append_c(out, '\n');
}

/* What the simulator was told of ops that disturb each other, and what was done to a run. */
static void head_shared(const struct trace *trace, GString *out)
{
    static const char *const keys[] = {"interference", "sharing", "launches", LABEL_DELAY, "times", "partial"};
    for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++)
        if (trace_label_value(trace, keys[i]))
            g_string_append_printf(out, "%s: %s\n", keys[i], trace_label_value(trace, keys[i]));
}

void summary_head(const struct job *job, const struct options *o, const struct trace *trace, GString *out)
{
    head_ranks(job, o, trace, out);
    if (job->given)
        head_plan(job, out);
    if (job->model)
        head_model(job, out);
    head_pipeline(job, out);
    balance_print(job, job->engine->real ? "measured with the even split" : job->costs->name, out);
    if (!job->engine->real) {
        head_costs(job, out);
        head_shared(trace, out);
        return;
    }
    head_shared(trace, out);
    if (job->shape.ranks == 1 || (job->engine->devices && !job_shares_devices(job)))
        return;
    if (job->link_gbps > 0 || job->link_us > 0)
        g_string_append_printf(out, "link paced to %g Gb/s, %g µs (--link none: raw memory)\n",
                               job->link_gbps, job->link_us);
    else
        g_string_append_printf(out, "link: raw memory of this %s\n",
                               job->engine->devices ? "GPU" : "machine");
}
