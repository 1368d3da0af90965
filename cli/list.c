#include <stdio.h>

#include "cli/cli.h"
#include "cli/preset.h"
#include "plan/engine.h"
#include "plan/mode.h"
#include "plan/model.h"
#include "plan/schedule.h"
#include "plan/split.h"
#include "profile/table.h"
#include "sim/cluster.h"
#include "viz/figure.h"

static void item(const char *name, const char *summary)
{
    printf("  %-14s %s\n", name, summary);
}

static bool list_models(GError **error)
{
    g_auto(GStrv) names = model_list();
    puts("models");
    for (unsigned i = 0; names[i]; i++) {
        struct model *model = model_load(names[i], &(struct model_override){0}, error);
        if (!model)
            return false;
        item(names[i], model->summary);
        model_free(model);
    }
    return true;
}

static bool list_clusters(GError **error)
{
    g_auto(GStrv) names = cluster_list();
    puts("clusters");
    for (unsigned i = 0; names[i]; i++) {
        struct cluster *cluster = cluster_load(names[i], error);
        if (!cluster)
            return false;
        item(names[i], cluster->summary);
        cluster_free(cluster);
    }
    return true;
}

static bool list_presets(GError **error)
{
    g_auto(GStrv) names = preset_list();
    puts("presets");
    for (unsigned i = 0; names[i]; i++) {
        struct preset *preset = preset_load(names[i], error);
        if (!preset)
            return false;
        item(names[i], preset->summary);
        preset_free(preset);
    }
    return true;
}

static void list_engines(void)
{
    puts("backends");
    for (unsigned i = 0; engines[i]; i++) {
        g_autoptr(GError) why = NULL;
        bool here = engines[i]->probe(&why);
        g_autofree char *reason = here ? NULL : printable(why->message);
        g_autofree char *text = here ? NULL : g_strdup_printf("not here: %s", reason);
        item(engines[i]->name, here ? engines[i]->summary : text);
    }
}

static bool list_command(const struct options *o, int *status, GError **error)
{
    (void)o;
    (void)status;
    puts("modes");
    for (unsigned i = 0; modes[i]; i++)
        item(modes[i]->name, modes[i]->summary);
    puts("schedules of pipelines");
    for (unsigned i = 0; schedules[i]; i++)
        item(schedules[i]->name, schedules[i]->summary);
    puts("splits of pipelines");
    for (unsigned i = 0; split_rules[i]; i++)
        item(split_rules[i]->name, split_rules[i]->summary);
    if (!list_models(error) || !list_clusters(error))
        return false;
    if (!list_presets(error))
        return false;
    puts("figures");
    for (unsigned i = 0; figures[i]; i++)
        item(figures[i]->name, figures[i]->summary);
    list_engines();
    return true;
}

const struct command command_list = {"list", "modes, schedules, models, clusters, presets, figures, backends",
                                     list_command};
