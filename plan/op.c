#include "plan/op.h"

static const struct {
    const char *name, *label, *description;
    enum lane_class lane;
    enum phase phase;
} kinds[OP_KINDS] = {
#define OP(name, label, lane, phase, description) {#name, label, description, LANE_##lane, PHASE_##phase},
#include "plan/op.def"
#undef OP
};

const char *op_label(unsigned kind)
{
    return kind < OP_KINDS ? kinds[kind].label : "?";
}

const char *op_name(unsigned kind)
{
    return kind < OP_KINDS ? kinds[kind].name : "?";
}

const char *op_description(unsigned kind)
{
    return kind < OP_KINDS ? kinds[kind].description : "?";
}

enum lane_class op_lane_class(unsigned kind)
{
    return kind < OP_KINDS ? kinds[kind].lane : LANE_CLASSES;
}

enum phase op_phase(unsigned kind)
{
    return kind < OP_KINDS ? kinds[kind].phase : PHASES;
}

const char *phase_name(unsigned phase)
{
    static const char *const names[PHASES] = {"forward", "backward", "comm", "optimizer"};
    return phase < PHASES ? names[phase] : "?";
}

const char *allreduce_name(unsigned algo)
{
    static const char *const names[ALLREDUCES] = {"whole", "ring", "tree", "reduce-broadcast", "all-to-all"};
    return algo < ALLREDUCES ? names[algo] : "?";
}

static const uint8_t collective_kinds[COLLECTIVES] = {
    [COLLECTIVE_ALLREDUCE] = OP_ALLREDUCE, [COLLECTIVE_BROADCAST] = OP_BROADCAST,
    [COLLECTIVE_REDUCE] = OP_REDUCE,       [COLLECTIVE_SCATTER] = OP_SCATTER,
    [COLLECTIVE_GATHER] = OP_GATHER,       [COLLECTIVE_ALLGATHER] = OP_ALLGATHER};

const char *collective_name(unsigned collective)
{
    return collective < COLLECTIVES ? op_label(collective_kinds[collective]) : "?";
}

enum collective op_collective(unsigned kind)
{
    unsigned i = 0;
    while (i < COLLECTIVES && collective_kinds[i] != kind)
        i++;
    return (enum collective)i;
}

const char *lane_class_name(unsigned lane_class)
{
    static const char *const names[LANE_CLASSES] = {"compute", "comm", "copy", "host"};
    return lane_class < LANE_CLASSES ? names[lane_class] : "?";
}

void tables_init(struct tables *t)
{
    *t = (struct tables){.strings = g_string_chunk_new(1024)};
}

void tables_release(struct tables *t)
{
    g_free(t->lanes);
    g_free(t->layers);
    g_free(t->params);
    g_free(t->buckets);
    g_free(t->bucket_params);
    g_free(t->stages);
    g_clear_pointer(&t->strings, g_string_chunk_free);
    *t = (struct tables){0};
}

const char *tables_intern(struct tables *t, const char *s)
{
    return s ? g_string_chunk_insert_const(t->strings, s) : NULL;
}

#define COPY_ROWS(to, from, rows, n) ((to)->rows = g_memdup2((from)->rows, (gsize)(n) * sizeof *(from)->rows))

void tables_copy(struct tables *to, const struct tables *from)
{
    *to = *from;
    to->strings = g_string_chunk_new(1024);
    to->mode = tables_intern(to, from->mode);
    to->model = tables_intern(to, from->model);
    to->schedule = tables_intern(to, from->schedule);
    COPY_ROWS(to, from, lanes, from->n_lanes);
    COPY_ROWS(to, from, layers, from->n_layers);
    COPY_ROWS(to, from, params, from->n_params);
    COPY_ROWS(to, from, buckets, from->n_buckets);
    COPY_ROWS(to, from, bucket_params, from->n_params);
    COPY_ROWS(to, from, stages, from->n_stages);
    for (uint32_t i = 0; i < to->n_lanes; i++)
        to->lanes[i].name = tables_intern(to, from->lanes[i].name);
    for (uint32_t i = 0; i < to->n_layers; i++) {
        to->layers[i].name = tables_intern(to, from->layers[i].name);
        to->layers[i].block = tables_intern(to, from->layers[i].block);
    }
    for (uint32_t i = 0; i < to->n_params; i++)
        to->params[i].name = tables_intern(to, from->params[i].name);
}
