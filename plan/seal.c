#include "plan/seal.h"

struct seal_lane {
    uint32_t rank, cls;
    uint32_t last; /* its last op so far, or OP_NONE */
};

struct seal {
    struct plan *plan;
    GError **error;
    struct huge_arena arena;
    struct seal_links links;
    bool views; /* some value is one */
    struct seal_lane *lanes;
    uint8_t kind_cls[OP_KINDS];
};

bool seal_refuse(const struct plan *plan, uint32_t op, GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *what = g_strdup_vprintf(format, args), *text = plan_op_text(plan, op);
    va_end(args);
    g_set_error(error, PLAN_ERROR, PLAN_ERROR_INVALID, "%s: %s", text, what);
    return false;
}

#define refuse(s, op, ...) seal_refuse((s)->plan, (op), (s)->error, __VA_ARGS__)

/* --- what each op names: it exists and belongs together */

static bool check_lanes(const struct seal *s)
{
    const struct plan *plan = s->plan;
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        if (plan->t.lanes[i].rank >= plan->t.n_ranks || plan->t.lanes[i].cls >= LANE_CLASSES) {
            g_set_error(s->error, PLAN_ERROR, PLAN_ERROR_INVALID,
                        "lane %u is of rank %u and class %u, but there are %u ranks and %u classes", i,
                        plan->t.lanes[i].rank, plan->t.lanes[i].cls, plan->t.n_ranks, LANE_CLASSES);
            return false;
        }
    return true;
}

/* The first op that accesses a value is named, or none where no op does. */
static bool refuse_value(const struct seal *s, uint32_t value, const char *what)
{
    const struct plan *plan = s->plan;
    for (uint32_t id = 0; id < plan->n_ops; id++)
        for (uint32_t i = plan->ops[id].first_access; i < plan->ops[id + 1].first_access; i++)
            if (plan->accesses[i].value == value)
                return refuse(s, id, "accesses value %u, %s", value, what);
    g_set_error(s->error, PLAN_ERROR, PLAN_ERROR_INVALID, "value %u, which no op accesses: %s", value, what);
    return false;
}

static bool check_view(struct seal *s, uint32_t i)
{
    const struct plan *plan = s->plan;
    const struct value *v = &plan->values[i];
    if (v->root >= plan->n_values || plan->values[v->root].root != v->root)
        return refuse_value(s, i, "which is a view of something that is no root");
    const struct value *root = &plan->values[v->root];
    if (v->rank != root->rank)
        return refuse_value(s, i, "which is of a wrong rank or class");
    if (v->offset > root->bytes || v->bytes > root->bytes - v->offset)
        return refuse_value(s, i, "which lies outside its root");
    s->views |= v->root != i;
    return true;
}

static bool check_values(struct seal *s)
{
    const struct plan *plan = s->plan;
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        if ((v->root != i || v->offset) && !check_view(s, i))
            return false;
        if (v->rank >= plan->t.n_ranks || v->cls >= VALUE_CLASSES)
            return refuse_value(s, i, "which is of a wrong rank or class");
    }
    return true;
}

static bool is_message(unsigned kind)
{
    return kind == OP_SEND || kind == OP_RECV || kind == OP_RECV_ADD;
}

static bool check_tag(const struct seal *s, uint32_t id)
{
    const struct plan *plan = s->plan;
    const struct op_tag *tag = &plan->ops[id].tag;
    if ((tag->layer0 == LAYER_NONE) != (tag->layer1 == LAYER_NONE) ||
        (tag->layer0 != LAYER_NONE && (tag->layer0 >= tag->layer1 || tag->layer1 > plan->t.n_layers)))
        return refuse(s, id, "layers %u to %u, but there are %u", tag->layer0, tag->layer1, plan->t.n_layers);
    if (tag->bucket != OP_NONE && tag->bucket >= plan->t.n_buckets)
        return refuse(s, id, "bucket %u, but there are %u", tag->bucket, plan->t.n_buckets);
    if (plan->t.n_stages && tag->stage != STAGE_NONE && tag->stage >= plan->t.n_stages)
        return refuse(s, id, "stage %u, but there are %u", tag->stage, plan->t.n_stages);
    if (tag->gang != OP_NONE && tag->gang >= plan->n_gangs)
        return refuse(s, id, "gang %u, but there are %u", tag->gang, plan->n_gangs);
    if (is_message(tag->kind) && tag->gang == OP_NONE)
        return refuse(s, id, "is in no gang, so it has no peer");
    if (tag->coll != OP_NONE && tag->coll >= plan->n_colls)
        return refuse(s, id, "collective %u, but there are %u", tag->coll, plan->n_colls);
    return true;
}

static bool check_deps(const struct seal *s, uint32_t id, uint32_t rank)
{
    const struct plan *plan = s->plan;
    for (uint32_t i = plan->ops[id].first_dep; i < plan->ops[id + 1].first_dep; i++) {
        const uint32_t on = plan->deps[i];
        if (on >= id)
            return refuse(s, id, "depends on op %u, which does not come before it", on);
        if (s->lanes[s->links.nodes[on].lane].rank != rank)
            return refuse(s, id, "depends on op %u of rank %u, only gangs cross ranks", on,
                          seal_rank(plan, on));
    }
    return true;
}

static bool check_place(const struct seal *s, uint32_t id)
{
    const struct plan *plan = s->plan;
    const struct op *op = &plan->ops[id];
    if (op->tag.kind >= OP_KINDS || op->lane >= plan->t.n_lanes || op->cost >= plan->n_costs)
        return refuse(s, id, "kind %u, lane %u and cost %u, but there are %u, %u and %u of them",
                      op->tag.kind, op->lane, op->cost, OP_KINDS, plan->t.n_lanes, plan->n_costs);
    if (s->lanes[op->lane].cls != s->kind_cls[op->tag.kind])
        return refuse(s, id, "runs on a %s lane, but its kind belongs on a %s lane",
                      lane_class_name(s->lanes[op->lane].cls), lane_class_name(s->kind_cls[op->tag.kind]));
    return true;
}

/* Most gangs are a pair, seen to be right when its second member comes by. */
static void join(struct seal *s, uint32_t id, uint32_t g)
{
    struct plan *plan = s->plan;
    struct seal_meet *meet = &s->links.meets[g];
    const uint32_t n = ++plan->gangs[g].n;
    plan->n_gang_ops++;
    if (n <= 2)
        seal_meet(plan, id, n == 1, meet);
    else
        meet->state = MEET_OTHERS;
}

static void link_op(struct seal *s, uint32_t id)
{
    const struct op *op = &s->plan->ops[id];
    struct seal_node *nodes = s->links.nodes;
    uint32_t *last = &s->lanes[op->lane].last;
    *(*last == OP_NONE ? &s->links.first[op->lane] : &nodes[*last].next) = id;
    *last = id;
    nodes[id] = (struct seal_node){OP_NONE, op->lane, op->first_dep, op->tag.gang};
    if (op->tag.gang != OP_NONE)
        join(s, id, op->tag.gang);
}

static bool check_op(struct seal *s, struct hazards *hazards, uint32_t id)
{
    if (!check_place(s, id))
        return false;
    const uint32_t rank = s->lanes[s->plan->ops[id].lane].rank;
    if (!check_deps(s, id, rank) || !check_tag(s, id))
        return false;
    link_op(s, id);
    return hazards_op(hazards, id, rank, s->error);
}

static bool check_ops(struct seal *s)
{
    struct hazards *hazards = hazards_new(s->plan, s->links.nodes, s->views, &s->arena);
    bool ok = true;
    for (uint32_t i = 0; i < s->plan->n_ops && ok; i++)
        ok = check_op(s, hazards, i);
    ok = ok && hazards_judge(hazards, s->plan, s->error);
    hazards_free(hazards);
    return ok;
}

static bool has_empty_gang(const struct plan *plan)
{
    for (uint32_t g = 0; g < plan->n_gangs; g++)
        if (plan->gangs[g].n == 0)
            return true;
    return false;
}

static void begin(struct seal *s)
{
    struct plan *plan = s->plan;
    plan_drop_order(plan);
    g_clear_pointer(&plan->clocks, g_free);
    g_clear_pointer(&plan->clock_lane, g_free);
    plan->n_gang_ops = 0;
    for (uint32_t g = 0; g < plan->n_gangs; g++)
        plan->gangs[g].n = 0;
    const gsize n_nodes = (gsize)plan->n_ops + 1;
    huge_arena_init(&s->arena, huge_arena_bytes(n_nodes, sizeof *s->links.nodes) +
                                   huge_arena_bytes(plan->n_gangs, sizeof *s->links.meets) +
                                   hazards_bytes(plan));
    s->links.nodes = huge_arena_take(&s->arena, n_nodes, sizeof *s->links.nodes);
    s->links.meets = huge_arena_take(&s->arena, plan->n_gangs, sizeof *s->links.meets);
    s->links.nodes[plan->n_ops] = (struct seal_node){.first_dep = plan->n_deps};
    s->links.first = g_new(uint32_t, (gsize)plan->t.n_lanes + 1);
    s->lanes = g_new(struct seal_lane, (gsize)plan->t.n_lanes + 1);
    for (uint32_t i = 0; i < plan->t.n_lanes; i++) {
        s->lanes[i] = (struct seal_lane){plan->t.lanes[i].rank, plan->t.lanes[i].cls, OP_NONE};
        s->links.first[i] = OP_NONE;
    }
    for (unsigned i = 0; i < OP_KINDS; i++)
        s->kind_cls[i] = (uint8_t)op_lane_class(i);
}

static bool find_order(struct seal *s)
{
    struct plan *plan = s->plan;
    plan_make_order(plan);
    return (!has_empty_gang(plan) || seal_gangs(plan, s->error)) && seal_order(plan, &s->links, s->error);
}

bool plan_seal(struct plan *plan, GError **error)
{
    struct seal s = {.plan = plan, .error = error};
    begin(&s);
    plan->sealed = check_lanes(&s) && check_values(&s) && check_ops(&s) && find_order(&s);
    huge_arena_release(&s.arena);
    g_free(s.links.first);
    g_free(s.lanes);
    return plan->sealed;
}
