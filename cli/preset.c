#include "cli/preset.h"

#include <math.h>
#include <string.h>

#include "base/ini.h"
#include "plan/mode.h"

#define FOLDER "presets"
#define STEP   "step-"

static bool read_step(struct ini *ini, const char *group, struct preset_step *s, GError **error)
{
    const struct {
        const char *key;
        double max, *value;
    } numbers[] = {{"forward", 1, &s->forward},
                   {"backward", 1, &s->backward},
                   {"communication", 1, &s->comm},
                   {"optimizer", 1, &s->optimizer},
                   {"efficiency", 1, &s->efficiency},
                   {"published-total", 1, &s->published_total},
                   {"published-percent", 100, &s->published_percent}};

    for (unsigned i = 0; i < G_N_ELEMENTS(numbers); i++)
        if (!ini_double(ini, group, numbers[i].key, 0, numbers[i].max, NULL, numbers[i].value, error))
            return false;
    if (s->forward + s->backward + s->comm + s->optimizer <= 0) {
        ini_error(ini, group, NULL, error, "all parts of the step are 0, write what they are of it");
        return false;
    }
    return ini_string(ini, group, "name", NULL, &s->name, error);
}

static bool read_steps(struct ini *ini, struct preset *p, GError **error)
{
    const uint32_t one = 1;
    g_auto(GStrv) groups = ini_groups(ini);

    p->steps = g_new0(struct preset_step, g_strv_length(groups));
    for (unsigned i = 0; groups[i]; i++)
        if (g_str_has_prefix(groups[i], STEP) && !read_step(ini, groups[i], &p->steps[p->n_steps++], error))
            return false;
    return !p->n_steps || (ini_string(ini, "preset", "mode", mode_ddp.name, &p->mode, error) &&
                           ini_string(ini, "preset", "model", NULL, &p->model, error) &&
                           ini_uint(ini, "preset", "ranks", 1, UINT32_MAX, &one, &p->ranks, error) &&
                           ini_string(ini, "preset", "source", NULL, &p->source, error) &&
                           ini_string(ini, "preset", "computed", NULL, &p->computed, error));
}

static bool read_options(struct ini *ini, struct preset *p, GError **error)
{
    g_auto(GStrv) keys = ini_keys(ini, "options");
    GPtrArray *pairs = g_ptr_array_new();
    bool ok = true;

    for (unsigned i = 0; ok && keys[i]; i++) {
        char *value = NULL;
        ok = ini_string(ini, "options", keys[i], NULL, &value, error);
        if (ok && !strcmp(keys[i], option_name(OPTION_PRESET))) {
            ini_error(ini, "options", keys[i], error, "a preset holds no other, write its options here");
            ok = false;
        }
        if (ok)
            g_ptr_array_add(pairs, g_strdup(keys[i]));
        if (value)
            g_ptr_array_add(pairs, value);
    }
    g_ptr_array_add(pairs, NULL);
    p->options = (char **)g_ptr_array_free(pairs, FALSE);
    return ok;
}

/* It becomes part of a file's name. */
static bool read_name(struct ini *ini, struct preset *p, GError **error)
{
    if (!ini_string(ini, "preset", "name", NULL, &p->name, error))
        return false;
    if (!strchr(p->name, '/'))
        return true;
    ini_error(ini, "preset", "name", error, "name is '%s', write one without /", p->name);
    return false;
}

struct preset *preset_load(const char *name, GError **error)
{
    struct ini *ini = ini_load(FOLDER, name, error);
    struct preset *p = g_new0(struct preset, 1);
    bool ok = ini && read_name(ini, p, error) &&
              ini_string(ini, "preset", "summary", "", &p->summary, error) && read_options(ini, p, error) &&
              read_steps(ini, p, error) && ini_done(ini, error);

    if (!ok)
        g_clear_pointer(&p, preset_free);
    ini_free(ini);
    return p;
}

void preset_free(struct preset *p)
{
    if (!p)
        return;
    for (uint32_t i = 0; i < p->n_steps; i++)
        g_free(p->steps[i].name);
    g_free(p->steps);
    g_strfreev(p->options);
    g_free(p->name);
    g_free(p->summary);
    g_free(p->mode);
    g_free(p->model);
    g_free(p->source);
    g_free(p->computed);
    g_free(p);
}

char **preset_list(void)
{
    return ini_list(FOLDER);
}

bool preset_apply(const struct preset *p, struct options *o, GError **error)
{
    for (char **pair = p->options; *pair; pair += 2)
        if (!options_preset(o, pair[0], pair[1], error)) {
            g_prefix_error(error, "preset %s: ", p->name);
            return false;
        }
    return true;
}

static double hidden(const struct preset_step *s)
{
    return s->efficiency * fmin(s->backward, s->comm);
}

double preset_total(const struct preset_step *s)
{
    return 1 - hidden(s) / (s->forward + s->backward + s->comm + s->optimizer);
}

static int64_t to_ns(double part)
{
    return llround(part * 1e9);
}

static char *group_text(const struct preset_step *s)
{
    char efficiency[G_ASCII_DTOSTR_BUF_SIZE], total[G_ASCII_DTOSTR_BUF_SIZE];

    g_ascii_formatd(efficiency, sizeof efficiency, "%.2f", s->efficiency);
    g_ascii_formatd(total, sizeof total, "%.3f", s->published_total);
    return g_strdup_printf("%s · efficiency of overlap %s · published with overlap %s", s->name, efficiency,
                           total);
}

static struct digest_row row(const struct preset_step *s, const char *overlap, double hides)
{
    const int64_t phase_ns[] = {[PHASE_FORWARD] = to_ns(s->forward),
                                [PHASE_BACKWARD] = to_ns(s->backward),
                                [PHASE_COMM] = to_ns(s->comm),
                                [PHASE_OPTIMIZER] = to_ns(s->optimizer)};
    struct digest_row r = {
        .name = g_strdup(overlap), .group = group_text(s), .measured = hides == 0, .predicted_step_ns = -1};
    struct partition *p = &r.partition;

    memcpy(r.phase_ns, phase_ns, sizeof r.phase_ns);
    p->comm_ns = phase_ns[PHASE_COMM];
    p->hidden_comm_ns = to_ns(hides);
    p->exposed_comm_ns = p->comm_ns - p->hidden_comm_ns;
    p->compute_ns = phase_ns[PHASE_FORWARD] + phase_ns[PHASE_BACKWARD] + phase_ns[PHASE_OPTIMIZER];
    r.step_ns = p->window_ns = p->compute_ns + p->exposed_comm_ns;
    return r;
}

void preset_digest(const struct preset *p, struct digest *d)
{
    *d = (struct digest){.published = true,
                         .mode = g_strdup(p->mode),
                         .model = g_strdup(p->model),
                         .n_ranks = p->ranks,
                         .labels = g_new0(char *, 5),
                         .options = g_new0(char *, 1),
                         .environment = g_new0(char *, 1),
                         .n_rows = 2 * p->n_steps,
                         .rows = g_new0(struct digest_row, 2 * (gsize)p->n_steps)};
    d->labels[0] = g_strdup("source");
    d->labels[1] = g_strdup(p->source);
    d->labels[2] = g_strdup("with overlap");
    d->labels[3] = g_strdup(p->computed);
    for (uint32_t i = 0; i < p->n_steps; i++) {
        d->rows[2 * i] = row(&p->steps[i], overlap_name(OVERLAP_NONE), 0);
        d->rows[2 * i + 1] = row(&p->steps[i], overlap_name(OVERLAP_BACKWARD), hidden(&p->steps[i]));
    }
}
