#include "cli/summary.h"

#include <inttypes.h>
#include <string.h>

#include "config.h"
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

void summary_init(struct summary *s, const struct job *job, const struct options *o)
{
    const struct shape *shape = &job->shape;
    s->option_rows = g_ptr_array_new_with_free_func(g_free);
    s->environment_rows = g_ptr_array_new_with_free_func(g_free);
    row(s->option_rows, "batch", "%" PRIu32, shape->batch);
    row(s->option_rows, "seq_len", "%" PRIu32, job->model->dims.seq);
    row(s->option_rows, "dtype", "%s", dtype_name(job->model->dtype));
    if (job->mode->has_buckets) {
        row(s->option_rows, "bucket_bytes", "%" PRIu64, shape->bucket_bytes);
        row(s->option_rows, "first_bucket_bytes", "%" PRIu64, shape->first_bucket_bytes);
        row(s->option_rows, "overlap", "%s", overlap_name(shape->overlap));
        row(s->option_rows, "allreduce", "%s", allreduce_name(shape->algo));
    }
    if (job->engine->real) {
        char number[G_ASCII_DTOSTR_BUF_SIZE];
        row(s->option_rows, "optimizer", "sgd");
        row(s->option_rows, "lr", "%s",
            g_ascii_formatd(number, sizeof number, "%.10g", option_number(o, OPTION_LR, 0.1)));
        row(s->option_rows, "seed", "%.0f", option_number(o, OPTION_SEED, 1));
    }
    row(s->environment_rows, "program", "parprof %s", PACKAGE_VERSION);
    if (job->engine->real) {
        g_autofree char *name = processor_name();
        row(s->environment_rows, "cores", "%u", g_get_num_processors());
        if (name)
            row(s->environment_rows, "processor", "%s", name);
    }
    g_ptr_array_add(s->option_rows, NULL);
    g_ptr_array_add(s->environment_rows, NULL);
    s->options = (const char *const *)s->option_rows->pdata;
    s->environment = (const char *const *)s->environment_rows->pdata;
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
    if (job->engine->real) {
        g_string_append_printf(out, "%srunning on CPU: %s\n",
                               o->given[OPTION_BACKEND] ? "" : "no GPU backend in this build, ", threads);
        return;
    }
    if (job->why_not_first)
        g_string_append_printf(out, "cannot run here (%s), ", job->why_not_first);
    g_string_append_printf(out, "simulated on %s: %" PRIu32 " rank%s", job->cluster->name, ranks,
                           ranks == 1 ? "" : "s");
    if (ranks > job->cluster->devices)
        g_string_append_printf(out, ", more than its %" PRIu32 " devices: taken as linked alike",
                               job->cluster->devices);
    g_string_append_c(out, '\n');
}

static void head_model(const struct job *job, GString *out)
{
    const struct model *m = job->model;
    const struct shape *s = &job->shape;
    uint32_t most = chunk_size(s->batch, s->ranks, 0), least = chunk_size(s->batch, s->ranks, s->ranks - 1);
    g_string_append_printf(out, "model %s, %.1f M parameters, %.1f MiB gradients; batch %" PRIu32 " (",
                           m->name, m->numel / 1e6, m->numel * dtype_bytes(m->dtype) / 1048576.0, s->batch);
    if (least < most)
        g_string_append_printf(out, "%" PRIu32 " to ", least);
    g_string_append_printf(out, "%" PRIu32 " a rank), sequence %" PRIu32 ", SGD\n", most, m->dims.seq);
}

void summary_head(const struct job *job, const struct options *o, const struct trace *trace, GString *out)
{
    head_ranks(job, o, trace, out);
    head_model(job, out);
    if (!job->engine->real)
        g_string_append_printf(out, "costs %s; link %g Gb/s, %g µs\n", job->costs->name,
                               job->cluster->link_gbps, job->cluster->link_us);
    else if (job->shape.ranks > 1 && job->link_gbps > 0)
        g_string_append_printf(out, "link paced to %g Gb/s, %g µs (--link none: raw memory)\n",
                               job->link_gbps, job->link_us);
    else if (job->shape.ranks > 1)
        g_string_append(out, "link: raw memory of this machine\n");
}
