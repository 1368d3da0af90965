#include "sim/cost-model.h"

struct cost_split {
    struct cost_model model; /* first */
    const struct cost_model *comm, *rest;
    char name[200];
};

static bool split_price(const struct cost_model *model, const struct cost_key *key, struct cost *out,
                        GError **error)
{
    const struct cost_split *s = (const struct cost_split *)model;
    const struct cost_model *part = op_lane_class(key->kind) == LANE_COMM ? s->comm : s->rest;
    return part->price(part, key, out, error);
}

struct cost_model *cost_split_new(const struct cost_model *comm, const struct cost_model *rest)
{
    struct cost_split *s = g_new(struct cost_split, 1);
    *s = (struct cost_split){.model = {.price = split_price}, .comm = comm, .rest = rest};
    g_snprintf(s->name, sizeof s->name, "%s, collectives by %s", rest->name, comm->name);
    s->model.name = s->name;
    return &s->model;
}
