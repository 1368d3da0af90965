#include "cli/prices.h"

#include <string.h>

#include "cli/input.h"
#include "profile/import.h"

/* A table's model under a name that says where its numbers come from. */
struct measured {
    struct cost_model model; /* first */
    const struct cost_model *table;
    char name[200];
};

/* What else can be done about an op that was not measured. */
static void add_hint(GError *error, const struct cost_key *key)
{
    char *plain = error->message;
    error->message = op_lane_class(key->kind) == LANE_COMM
                         ? g_strdup_printf("%s, or price communication by --%s alpha-beta", plain,
                                           option_name(OPTION_COMM_MODEL))
                         : g_strdup_printf("%s: the same --%s, --%s and samples a rank (--%s, --%s)", plain,
                                           option_name(OPTION_MODEL), option_name(OPTION_SEQ_LEN),
                                           option_name(OPTION_BATCH), option_name(OPTION_RANKS));
    g_free(plain);
}

static bool measured_price(const struct cost_model *model, const struct cost_key *key, struct cost *out,
                           GError **error)
{
    const struct cost_model *table = ((const struct measured *)model)->table;
    if (table->price(table, key, out, error))
        return true;
    if (error && *error)
        add_hint(*error, key);
    return false;
}

static struct cost_model *measured_new(struct prices *prices, const char *path, GError **error)
{
    gsize bytes;
    g_autofree char *text = file_read(path, &bytes, error);
    if (!text)
        return NULL;
    struct cost_table *table = cost_table_new();
    if (!import_costs(text, bytes, file_name(path), table, error)) {
        cost_table_free(table);
        return NULL;
    }
    if (!prices->tables)
        prices->tables = g_ptr_array_new_with_free_func((GDestroyNotify)cost_table_free);
    g_ptr_array_add(prices->tables, table);
    struct measured *m = g_new(struct measured, 1);
    *m = (struct measured){.model = {.price = measured_price}, .table = cost_table_model(table)};
    g_autofree char *base = g_path_get_basename(file_name(path));
    g_snprintf(m->name, sizeof m->name, "measured in %s", base);
    m->model.name = m->name;
    return &m->model;
}

static void refuse(enum option_id id, const char *text, const char *known, GError **error)
{
    g_set_error(error, OPTION_ERROR, 0, "--%s takes %s, not '%s'", option_name(id), known, text);
}

static struct cost_model *rest_new(struct prices *prices, const struct options *o,
                                   const struct cluster *cluster, GError **error)
{
    const char *cost = option_text(o, OPTION_COST, "analytic");
    if (g_str_has_prefix(cost, "unit") && (!cost[4] || cost[4] == ':'))
        return cost_unit_new(cost[4] ? cost + 5 : "", error);
    if (g_str_has_prefix(cost, PRICES_MEASURED))
        return measured_new(prices, cost + strlen(PRICES_MEASURED), error);
    if (!strcmp(cost, "analytic"))
        return cost_analytic_new(cluster, error);
    refuse(OPTION_COST, cost, "analytic, unit:F=1,B=1,W=1,C=0 or measured:FILE", error);
    return NULL;
}

static struct cost_model *comm_new(struct prices *prices, const struct options *o,
                                   const struct cluster *cluster, GError **error)
{
    const char *comm = option_text(o, OPTION_COMM_MODEL, "");
    if (!strcmp(comm, "nccl"))
        return cost_nccl_new(cluster, error);
    if (!strcmp(comm, "alpha-beta"))
        return cost_analytic_new(cluster, error);
    if (g_str_has_prefix(comm, PRICES_MEASURED))
        return measured_new(prices, comm + strlen(PRICES_MEASURED), error);
    refuse(OPTION_COMM_MODEL, comm, "alpha-beta, nccl or measured:FILE", error);
    return NULL;
}

bool prices_want_whole(const struct options *o)
{
    return !strcmp(option_text(o, OPTION_COMM_MODEL, ""), "nccl");
}

bool prices_open(struct prices *prices, const struct options *o, const struct cluster *cluster,
                 GError **error)
{
    const char *by = option_text(o, OPTION_COMM_MODEL, option_text(o, OPTION_COST, "analytic"));
    *prices = (struct prices){.of_links = !strcmp(by, "analytic") || !strcmp(by, "alpha-beta")};
    struct cost_model *rest = rest_new(prices, o, cluster, error);
    if (!rest || !o->given[OPTION_COMM_MODEL]) {
        prices->model = rest;
        return rest;
    }
    prices->rest = rest;
    prices->comm = comm_new(prices, o, cluster, error);
    if (prices->comm)
        prices->model = cost_split_new(prices->comm, prices->rest);
    return prices->model;
}

void prices_release(struct prices *prices)
{
    g_clear_pointer(&prices->model, cost_model_free);
    g_clear_pointer(&prices->comm, cost_model_free);
    g_clear_pointer(&prices->rest, cost_model_free);
    g_clear_pointer(&prices->tables, g_ptr_array_unref);
}
