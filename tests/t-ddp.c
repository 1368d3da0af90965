/* What the options of DDP make of the plan: what is reduced when, copied, stepped and broadcast, in which
 * order. */
#include <string.h>

#include "plan/mode.h"
#include "tests/tap.h"

static const char tiny[] =
    "[model]\nname=tiny\nlayers=2\nd-model=8\nheads=2\nff=12\nvocab=11\nseq-len=3\npositions=3\n"
    "task=tokens\nactivation=gelu\n[embeddings]\nkind=embedding\n[layer]\nkind=encoder\n"
    "[head]\nkind=head\n";

static struct model *load(const char *text)
{
    GError *error = NULL;
    struct model *model =
        text ? model_parse(text, "tiny.ini", NULL, &error) : model_load("bert-base", NULL, &error);
    g_assert_no_error(error);
    return model;
}

static void make(const struct shape *shape, struct plan *plan)
{
    GError *error = NULL;
    plan_make(&mode_ddp, shape, plan, &error);
    g_assert_no_error(error);
}

static struct shape base(const struct model *model)
{
    return (struct shape){.model = model,
                          .ranks = 3,
                          .batch = 7,
                          .overlap = OVERLAP_BACKWARD,
                          .bucket_bytes = 2000,
                          .first_bucket_bytes = 1000};
}

static uint32_t rank_of(const struct plan *plan, uint32_t op)
{
    return plan->t.lanes[plan->ops[op].lane].rank;
}

static uint32_t count(const struct plan *plan, unsigned kind, uint32_t rank)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->n_ops; i++)
        n += plan->ops[i].tag.kind == kind && rank_of(plan, i) == rank;
    return n;
}

/* The first op of a kind at or after `from`, on a rank. */
static uint32_t next(const struct plan *plan, unsigned kind, uint32_t rank, uint32_t from)
{
    for (uint32_t i = from; i < plan->n_ops; i++)
        if (plan->ops[i].tag.kind == kind && rank_of(plan, i) == rank)
            return i;
    return OP_NONE;
}

static const struct value *value_of(const struct plan *plan, uint32_t op, uint32_t access)
{
    return &plan->values[plan->accesses[plan->ops[op].first_access + access].value];
}

static uint32_t n_accesses(const struct plan *plan, uint32_t op)
{
    return plan->ops[op + 1].first_access - plan->ops[op].first_access;
}

/* --- every combination is a legal plan, with every element stepped once */

/* Bytes of the weights that a rank's OPTIM ops update, each once, with the gradients and moments beside them.
 */
static void check_steps(const struct shape *shape, const struct plan *plan)
{
    g_autofree uint8_t *stepped = g_new0(uint8_t, plan->n_values * (gsize)4096);
    uint32_t a_piece = 2u + shape->optimizer;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        if (plan->ops[i].tag.kind != OP_OPTIM)
            continue;
        g_assert_cmpuint(n_accesses(plan, i) % a_piece, ==, shape->clip ? 1 : 0);
        for (uint32_t a = 0; a + a_piece <= n_accesses(plan, i); a += a_piece) {
            const struct value *weight = value_of(plan, i, a), *grad = value_of(plan, i, a + 1);
            g_assert_cmpint(weight->cls, ==, VALUE_WEIGHT);
            g_assert_cmpint(grad->cls, ==, shape->bucket_view ? VALUE_BUCKET : VALUE_GRAD);
            g_assert_cmpuint(grad->bytes, ==, weight->bytes);
            for (uint32_t m = 0; m < shape->optimizer; m++) {
                const struct value *moment = value_of(plan, i, a + 2 + m);
                g_assert_cmpint(moment->cls, ==, VALUE_MOMENT + (int)m);
                g_assert_cmpuint(moment->index, ==, weight->index);
                g_assert_cmpuint(moment->offset, ==, weight->offset);
                g_assert_cmpuint(moment->bytes, ==, weight->bytes);
            }
            for (uint64_t k = weight->offset; k < weight->offset + weight->bytes; k += 4)
                g_assert_cmpuint(stepped[weight->root * (gsize)4096 + k / 4]++, ==, 0);
            bytes += weight->bytes;
        }
    }
    g_assert_cmpuint(bytes, ==, 4 * shape->model->numel * shape->ranks);
}

static void check_counts(const struct shape *shape, const struct plan *plan)
{
    uint32_t buckets = plan->t.n_buckets, micro = MAX(shape->accumulate, 1);
    for (uint32_t r = 0; r < shape->ranks; r++) {
        g_assert_cmpuint(count(plan, OP_INPUT, r), ==, micro);
        g_assert_cmpuint(count(plan, OP_LOSS, r), ==, micro);
        g_assert_cmpuint(count(plan, OP_FWD, r), ==, micro * shape->model->n_layers);
        g_assert_cmpuint(count(plan, OP_BWD, r), ==, micro * shape->model->n_layers);
        g_assert_cmpuint(count(plan, OP_ALLREDUCE, r), ==, buckets);
        g_assert_cmpuint(count(plan, OP_UNPACK, r), ==, shape->bucket_view ? 0 : buckets);
        g_assert_cmpuint(count(plan, OP_OPTIM, r), ==, shape->overlap == OVERLAP_OPTIMIZER ? buckets : 1);
        g_assert_cmpuint(count(plan, OP_NORM, r), ==, shape->clip);
    }
}

/* All combinations; f sees each plan. */
static void for_shapes(void (*f)(const struct shape *, const struct plan *))
{
    struct model *model = load(tiny);
    for (uint32_t i = 0; i < OVERLAPS * OPTIMIZERS * 2 * 2 * 2 * 3; i++) {
        struct shape shape = base(model);
        struct plan plan;
        uint32_t n = i;
        shape.overlap = n % OVERLAPS, n /= OVERLAPS;
        shape.optimizer = n % OPTIMIZERS, n /= OPTIMIZERS;
        shape.bucket_view = n % 2, n /= 2;
        shape.first_iteration = n % 2, n /= 2;
        shape.clip = n % 2 && shape.overlap != OVERLAP_OPTIMIZER, n /= 2;
        shape.accumulate = n;
        make(&shape, &plan);
        f(&shape, &plan);
        plan_release(&plan);
    }
    model_free(model);
}

static void test_steps(void)
{
    for_shapes(check_steps);
}

static void test_counts(void)
{
    for_shapes(check_counts);
}

/* --- accumulate */

static void test_accumulate(void)
{
    static const uint32_t rows[3][3] = {{1, 1, 1}, {1, 1, 1}, {1, 0, 0}}; /* 7: 3, 3, 1 */
    struct model *model = load(tiny);
    struct shape shape = base(model);
    struct plan plan;
    shape.accumulate = 3;
    make(&shape, &plan);
    g_assert_cmpuint(plan.n_micro, ==, 3);
    for (uint32_t r = 0; r < 3; r++)
        for (uint32_t m = 0; m < 3; m++)
            g_assert_cmpuint(plan.micro_rows[r * 3 + m], ==, rows[r][m]);
    for (uint32_t i = 0; i < plan.n_ops; i++) {
        const struct op *op = &plan.ops[i];
        uint32_t grad = op->first_access + (op->tag.layer0 ? 5 : 4), micro = op->tag.micro;
        if (op->tag.kind == OP_BWD) {
            g_assert_cmpint(plan.values[plan.accesses[grad].value].cls, ==, VALUE_GRAD);
            g_assert_cmpint(plan.accesses[grad].mode, ==, micro ? ACCESS_UPDATE : ACCESS_WRITE);
        }
        if (op->tag.kind == OP_PACK)
            g_assert_cmpuint(micro, ==, 2);
        if (op->tag.kind == OP_INPUT || op->tag.kind == OP_LOSS)
            g_assert_cmpuint(value_of(&plan, i, op->tag.kind == OP_INPUT ? 0 : 3)->micro, ==, micro);
    }
    plan_release(&plan);
    model_free(model);
}

/* --- the optimizer beside the all-reduces */

static void test_overlap(void)
{
    struct model *model = load(tiny);
    struct shape shape = base(model);
    struct plan plan;
    shape.overlap = OVERLAP_OPTIMIZER;
    for (int view = 0; view < 2; view++) {
        shape.bucket_view = view;
        make(&shape, &plan);
        g_assert_cmpuint(plan.t.n_buckets, >=, 3);
        uint32_t at = 0;
        for (uint32_t b = 0; b < plan.t.n_buckets; b++) {
            uint32_t step = next(&plan, OP_OPTIM, 1, at), reduce = 0;
            while (plan.ops[reduce].tag.kind != OP_ALLREDUCE || plan.ops[reduce].tag.bucket != b ||
                   rank_of(&plan, reduce) != 1)
                reduce++;
            uint32_t waits = view ? step : next(&plan, OP_UNPACK, 1, at);
            g_assert_cmpuint(plan.ops[step].tag.bucket, ==, b);
            g_assert_cmpuint(waits, ==, view ? step : step - 1);
            g_assert_cmpuint(plan.ops[waits + 1].first_dep - plan.ops[waits].first_dep, ==, 1);
            g_assert_cmpuint(plan.deps[plan.ops[waits].first_dep], ==, reduce);
            g_assert_cmpuint(n_accesses(&plan, step), ==, 2 * plan.t.buckets[b].n_params);
            at = step + 1;
        }
        plan_release(&plan);
    }
    model_free(model);
}

/* --- gradients as views of the buckets */

static void test_view(void)
{
    struct model *model = load(tiny);
    struct shape shape = base(model);
    struct plan plan;
    for (int view = 0; view < 2; view++) {
        shape.bucket_view = view;
        make(&shape, &plan);
        for (uint32_t i = 0; i < plan.n_values; i++) {
            const struct value *v = &plan.values[i];
            if (v->cls == VALUE_GRAD)
                g_assert_cmpint(v->flags, ==, view ? 0 : VALUE_LIVE_OUT);
            if (v->cls == VALUE_BUCKET)
                g_assert_cmpint(v->flags, ==, view ? VALUE_LIVE_OUT : 0);
        }
        plan_release(&plan);
    }
    model_free(model);
}

/* --- the first iteration */

static void check_weights(const struct plan *plan, uint32_t rank, uint32_t op)
{
    for (uint32_t i = 0; i < n_accesses(plan, op); i++) {
        const struct value *v = value_of(plan, op, i);
        g_assert_cmpint(v->cls, ==, VALUE_WEIGHT);
        g_assert_cmpint(v->flags & VALUE_LIVE_IN, ==, rank ? 0 : VALUE_LIVE_IN);
        g_assert_cmpint(plan->accesses[plan->ops[op].first_access + i].mode, ==,
                        rank ? ACCESS_WRITE : ACCESS_READ);
    }
}

/* bert-base: 433 MB of weights, broadcast in two: the first closes when it has 250 MiB. */
static void test_first(void)
{
    struct model *model = load(NULL);
    struct shape shape = base(model);
    struct plan plan;
    shape.first_iteration = true;
    shape.bucket_bytes = 25 << 20;
    shape.first_bucket_bytes = 1 << 20;
    make(&shape, &plan);
    g_assert_cmpuint(plan.t.n_buckets, ==, 1);
    g_assert_cmpuint(plan.t.buckets[0].n_params, ==, 201);
    g_assert_cmpuint(plan.t.buckets[0].closed_by, ==, OP_NONE);
    for (uint32_t i = 0; i < 201; i++)
        g_assert_cmpuint(plan.t.bucket_params[i], ==, i);
    for (uint32_t r = 0; r < 3; r++) {
        uint32_t op[4], at = 0;
        g_assert_cmpuint(count(&plan, OP_BROADCAST, r), ==, 4);
        for (int i = 0; i < 4; i++)
            at = (op[i] = next(&plan, OP_BROADCAST, r, at)) + 1;
        uint64_t first = plan.ops[op[0]].tag.bytes, all = 4 * model->numel;
        g_assert_cmpuint(n_accesses(&plan, op[0]) + n_accesses(&plan, op[1]), ==, 201);
        g_assert_cmpuint(first + plan.ops[op[1]].tag.bytes, ==, all);
        g_assert_cmpuint(first, >=, 250 << 20);
        g_assert_cmpuint(first - value_of(&plan, op[0], n_accesses(&plan, op[0]) - 1)->bytes, <, 250 << 20);
        check_weights(&plan, r, op[0]);
        check_weights(&plan, r, op[1]);
        g_assert_cmpuint(op[1], <, next(&plan, OP_FWD, r, 0));
        g_assert_cmpuint(plan.ops[op[2]].tag.bytes, ==, 202 * 4);
        g_assert_cmpuint(plan.ops[op[3]].tag.bytes, ==, 14 * 4);
        g_assert_cmpuint(op[2], >, next(&plan, OP_OPTIM, r, 0));
        /* Nothing is left of backward when its one bucket is reduced. */
        uint32_t reduce = next(&plan, OP_ALLREDUCE, r, 0), on = plan.deps[plan.ops[reduce].first_dep];
        g_assert_cmpint(plan.ops[on].tag.kind, ==, OP_PACK);
        g_assert_cmpuint(plan.ops[on].tag.layer0, ==, 0);
    }
    plan_release(&plan);
    model_free(model);
}

/* --- refusals */

static void refuses(const struct shape *shape, const char *option, const char *legal)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(mode_ddp.check(shape, &error));
    g_assert_error(error, PLAN_ERROR, PLAN_ERROR_INPUT);
    g_assert_nonnull(strstr(error->message, option));
    g_assert_nonnull(strstr(error->message, legal));
}

static void test_refusals(void)
{
    struct model *model = load(tiny);
    struct shape shape = base(model);
    shape.accumulate = 4;
    refuses(&shape, "--accumulate 4", "1 to 3");
    shape = base(model);
    shape.optimizer = OPTIMIZERS;
    refuses(&shape, "--optimizer", "sgd or adam");
    shape = base(model);
    shape.overlap = OVERLAPS;
    refuses(&shape, "--overlap", "none, backward or optimizer");
    shape.overlap = OVERLAP_OPTIMIZER;
    shape.clip = true;
    refuses(&shape, "--clip-grad-norm", "--overlap backward");
    model_free(model);
}

/* --- devices and nodes */

/* Members of an op's gang, by looking at all ops: how many nodes they sit on. */
static uint32_t count_nodes(const struct plan *plan, uint32_t gang)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < plan->n_ops; i++)
        if (plan->ops[i].tag.gang == gang)
            seen |= UINT64_C(1) << plan->t.lanes[plan->ops[i].lane].node;
    return (uint32_t)__builtin_popcountll(seen);
}

static void check_nodes(const struct shape *shape)
{
    struct plan plan;
    make(shape, &plan);
    for (uint32_t i = 0; i < plan.t.n_lanes; i++) {
        const struct lane *lane = &plan.t.lanes[i];
        g_assert_cmpuint(lane->device, ==, shape->devices ? lane->rank % shape->devices : lane->rank);
        g_assert_cmpuint(lane->node, ==, shape->node_devices ? lane->device / shape->node_devices : 0);
    }
    for (uint32_t i = 0; i < plan.n_ops; i++) {
        const struct cost_key *key = &plan.costs[plan.ops[i].cost];
        uint32_t gang = plan.ops[i].tag.gang;
        g_assert_cmpuint(MAX(key->nodes, 1), ==, gang == OP_NONE ? 1 : count_nodes(&plan, gang));
    }
    plan_release(&plan);
}

static void test_nodes(void)
{
    struct model *model = load(tiny);
    struct shape shape = base(model);
    for (unsigned round = 0; round < 200; round++) {
        shape.ranks = (uint32_t)g_test_rand_int_range(1, 8);
        shape.batch = shape.ranks;
        shape.algo = (uint8_t)g_test_rand_int_range(0, ALLREDUCES);
        shape.devices = (uint32_t)g_test_rand_int_range(0, 9);
        shape.node_devices = (uint32_t)g_test_rand_int_range(0, 5);
        shape.first_iteration = g_test_rand_bit();
        shape.overlap = shape.first_iteration ? OVERLAP_NONE : OVERLAP_BACKWARD;
        check_nodes(&shape);
    }
    GError *error = NULL;
    shape.devices = UINT32_MAX;
    g_assert_false(mode_ddp.check(&shape, &error));
    g_assert_nonnull(strstr(error->message, "4294967295 devices"));
    g_clear_error(&error);
    model_free(model);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/ddp/steps", test_steps);
    g_test_add_func("/ddp/counts", test_counts);
    g_test_add_func("/ddp/accumulate", test_accumulate);
    g_test_add_func("/ddp/overlap", test_overlap);
    g_test_add_func("/ddp/view", test_view);
    g_test_add_func("/ddp/first", test_first);
    g_test_add_func("/ddp/refusals", test_refusals);
    g_test_add_func("/ddp/nodes", test_nodes);
    return g_test_run();
}
