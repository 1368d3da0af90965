/* Plans that are written and read again: what comes back is the plan, runs as the plan does, and what
 * somebody broke in between is refused. */
#include <string.h>

#include "exec/exec.h"
#include "plan/mode.h"
#include "profile/export.h"
#include "profile/trace.h"
#include "sim/cost-model.h"
#include "sim/sim.h"
#include "tests/tap.h"

static struct model *load(const char *name, const struct model_override *over)
{
    g_autoptr(GError) error = NULL;
    struct model *model = model_load(name, over, &error);
    g_assert_no_error(error);
    return model;
}

static struct model *tiny(uint8_t dtype)
{
    const struct model_override over = {
        .layers = 1, .d = 8, .heads = 2, .ff = 8, .vocab = 11, .seq = 4, .dtype = dtype};
    return load("mini", &over);
}

/* A model with a tied head and fused products. */
static struct model *tied(void)
{
    const struct model_override over = {.layers = 1, .d = 8, .heads = 2, .ff = 8, .vocab = 11, .seq = 4};
    return load("gpt2", &over);
}

static struct model *bag(void)
{
    const struct model_override over = {.layers = 2, .d = 8, .vocab = 11, .seq = 4};
    return load("mlp", &over);
}

static void make(const struct mode *mode, const struct shape *shape, struct plan *plan)
{
    g_autoptr(GError) error = NULL;
    plan_make(mode, shape, plan, &error);
    g_assert_no_error(error);
}

static char *written(const struct plan *plan)
{
    GString *out = g_string_new(NULL);
    plan_write_json(plan, out);
    return g_string_free(out, FALSE);
}

static void read_back(const char *text, struct plan *plan, struct model **model)
{
    g_autoptr(GError) error = NULL;
    plan_read_json(text, strlen(text), "plan.json", plan, model, &error);
    g_assert_no_error(error);
    g_assert_false(plan->sealed);
    plan_seal(plan, &error);
    g_assert_no_error(error);
}

/* Calls f with every shape that options can ask for; or with the whole all-reduce alone, and one lowering. */
static void for_shapes(const struct model *model, bool every,
                       void (*f)(const struct mode *, const struct shape *))
{
    for (uint32_t bits = 0; bits < 1 << 4; bits++)
        for (uint8_t optimizer = 0; optimizer < OPTIMIZERS; optimizer++) {
            struct shape shape = {.model = model,
                                  .ranks = 1,
                                  .batch = 5,
                                  .accumulate = bits & 1 ? 2 : 1,
                                  .clip = bits & 2,
                                  .optimizer = optimizer,
                                  .bucket_bytes = 600,
                                  .first_bucket_bytes = 100};
            if (!(bits >> 2))
                f(&mode_single, &shape);
            shape.ranks = 3;
            shape.batch = 8; /* 3, 3, 2 */
            shape.bucket_view = bits & 4;
            shape.first_iteration = bits & 8;
            shape.devices = bits & 4 ? 2 : 0;
            shape.node_devices = bits & 8 ? 1 : 0;
            for (shape.algo = 0; shape.algo < (every ? ALLREDUCES : ALLREDUCE_RING + 1); shape.algo++)
                for (shape.overlap = 0; shape.overlap < OVERLAPS; shape.overlap++)
                    if (mode_ddp.check(&shape, NULL))
                        f(&mode_ddp, &shape);
        }
}

static void for_all(void (*f)(const struct mode *, const struct shape *))
{
    struct model *models[] = {tiny(DTYPE_F32), tiny(DTYPE_F64), tied(), bag()};
    for (size_t i = 0; i < G_N_ELEMENTS(models); i++) {
        for_shapes(models[i], i == 0, f);
        model_free(models[i]);
    }
}

/* --- what comes back */

static void check_round_trip(const struct mode *mode, const struct shape *shape)
{
    g_autoptr(GError) error = NULL;
    struct plan plan, again;
    struct model *model;
    make(mode, shape, &plan);
    g_autofree char *text = written(&plan);
    read_back(text, &again, &model);
    g_autofree char *twice = written(&again);
    g_assert_cmpstr(text, ==, twice);
    g_assert_cmpuint(again.n_colls, ==, plan.n_colls);
    g_assert_cmpuint(again.n_micro, ==, plan.n_micro);
    g_assert_cmpuint(again.optimizer, ==, plan.optimizer);
    g_assert_cmpmem(again.rank_share, again.t.n_ranks * sizeof(double), plan.rank_share,
                    plan.t.n_ranks * sizeof(double));
    g_assert_cmpmem(again.order, again.n_ops * 4, plan.order, plan.n_ops * 4);
    for (uint32_t i = 0; i < plan.t.n_layers; i++) {
        g_assert_cmpuint(again.t.layers[i].first_param, ==, plan.t.layers[i].first_param);
        g_assert_cmpuint(again.t.layers[i].n_params, ==, plan.t.layers[i].n_params);
    }
    for (uint32_t i = 0; i < plan.t.n_buckets; i++)
        g_assert_cmpuint(again.t.buckets[i].closed_by, ==, plan.t.buckets[i].closed_by);
    g_assert_nonnull(model);
    g_assert_cmpstr(model->ini, ==, shape->model->ini);
    g_assert_cmpuint(model->dims.seq, ==, shape->model->dims.seq);
    plan_check_run(&again, model, &error);
    g_assert_no_error(error);
    model_free(model);
    plan_release(&plan);
    plan_release(&again);
}

static void test_round_trip(void)
{
    for_all(check_round_trip);
}

/* Fields that no mode fills yet come back too. */
static void test_all_fields(void)
{
    struct model *model = tiny(DTYPE_F32), *read;
    struct shape shape = {.model = model, .ranks = 2, .batch = 2, .bucket_bytes = 600};
    struct plan plan, again;
    make(&mode_ddp, &shape, &plan);
    for (uint32_t i = 0; i < plan.t.n_lanes; i++)
        plan.t.lanes[i].node = plan.t.lanes[i].rank;
    plan.t.lanes[1].peer = 1;
    plan.costs[0].gemms[0] = (struct gemm){1, 2, 3, UINT32_MAX};
    plan.costs[0].gemms[1] = (struct gemm){6, 7, 8, 9};
    for (unsigned i = 0; i < COST_GEMMS; i++)
        plan.costs[1].gemms[i] = (struct gemm){i + 1, 2, 3, 4};
    plan.costs[1].share = 0.1 + 0.2;
    plan.costs[2].members = plan.costs[2].nodes = 2;
    plan.costs[3].flops = UINT64_MAX;
    plan.values[0].micro = 3;
    g_autofree char *text = written(&plan);
    read_back(text, &again, &read);
    g_autofree char *twice = written(&again);
    g_assert_cmpstr(text, ==, twice);
    g_assert_cmpuint(again.t.lanes[again.t.n_lanes - 1].node, ==, 1);
    g_assert_cmpuint(again.t.lanes[1].peer, ==, 1);
    g_assert_cmpuint(again.costs[0].gemms[0].batch, ==, UINT32_MAX);
    g_assert_cmpuint(again.costs[0].gemms[1].n, ==, 7);
    g_assert_cmpuint(again.costs[1].gemms[COST_GEMMS - 1].m, ==, COST_GEMMS);
    g_assert_cmpfloat(again.costs[1].share, ==, 0.1 + 0.2);
    g_assert_cmpuint(again.costs[2].nodes, ==, 2);
    g_assert_cmpuint(again.costs[3].flops, ==, UINT64_MAX);
    g_assert_cmpuint(again.values[0].micro, ==, 3);
    plan_release(&plan);
    plan_release(&again);
    model_free(model);
    model_free(read);
}

/* Members of an object may stand in any order: here ops before what they name, and the schema last. */
static void test_any_order(void)
{
    struct model *model = tiny(DTYPE_F32), *read;
    struct shape shape = {
        .model = model, .ranks = 2, .batch = 4, .algo = ALLREDUCE_RING, .bucket_bytes = 600};
    struct plan plan, again;
    make(&mode_ddp, &shape, &plan);
    g_autofree char *text = written(&plan);
    const char *buckets = strstr(text, "\"buckets\""), *ops = strstr(text, "\"ops\""),
               *end = strrchr(text, '}');
    g_autofree char *turned = g_strdup_printf("{%.*s,%.*s%.*s", (int)(end - ops), ops, (int)(ops - buckets),
                                              buckets, (int)(buckets - text - 1), text + 1);
    *strrchr(turned, ',') = '}';
    read_back(turned, &again, &read);
    g_autofree char *twice = written(&again);
    g_assert_cmpstr(text, ==, twice);
    plan_release(&plan);
    plan_release(&again);
    model_free(model);
    model_free(read);
}

/* --- how it runs */

static void simulate(const struct plan *plan, const struct cost_model *costs, GString *out)
{
    g_autoptr(GError) error = NULL;
    struct run run = {.plan = plan, .costs = costs, .steps = 1};
    struct trace trace;
    trace_init(&trace);
    sim_engine.run(&run, &trace, &error);
    g_assert_no_error(error);
    export_chrome(&trace, out);
    trace_release(&trace);
}

static struct cost_model *costs;

static void check_simulation(const struct mode *mode, const struct shape *shape)
{
    struct plan plan, again;
    struct model *model;
    make(mode, shape, &plan);
    g_autofree char *text = written(&plan);
    read_back(text, &again, &model);
    g_autoptr(GString) one = g_string_new(NULL), other = g_string_new(NULL);
    simulate(&plan, costs, one);
    simulate(&again, costs, other);
    g_assert_cmpstr(one->str, ==, other->str);
    plan_release(&plan);
    plan_release(&again);
    model_free(model);
}

static void test_simulation(void)
{
    g_autoptr(GError) error = NULL;
    struct cluster *cluster = cluster_load("dgx-h100x4", &error);
    g_assert_no_error(error);
    costs = cost_analytic_new(cluster, &error);
    g_assert_no_error(error);
    struct model *model = tiny(DTYPE_F32);
    for_shapes(model, true, check_simulation);
    model_free(model);
    cost_model_free(costs);
    cluster_free(cluster);
}

enum { STEPS = 3 };

struct trained {
    double loss[STEPS];
    uint64_t hash[3];
};

static struct trained train(struct plan *plan, const struct model *model)
{
    g_autoptr(GError) error = NULL;
    struct trained out = {0};
    struct trace trace;
    plan_place(plan);
    struct run run = {.plan = plan,
                      .model = model,
                      .steps = STEPS,
                      .seed = 7,
                      .lr = 0.1,
                      .momentum = 0.9,
                      .clip_norm = 0.5};
    trace_init(&trace);
    cpu_engine.run(&run, &trace, &error);
    g_assert_no_error(error);
    memcpy(out.loss, trace.loss, sizeof out.loss);
    memcpy(out.hash, trace.weight_hash, plan->t.n_ranks * sizeof *out.hash);
    trace_release(&trace);
    return out;
}

static void test_training(void)
{
    static const struct {
        uint8_t dtype, optimizer, overlap, algo;
        bool view, first, clip;
        uint32_t accumulate;
    } cases[] = {
        {DTYPE_F32, OPTIMIZER_SGD, OVERLAP_BACKWARD, ALLREDUCE_RING, false, false, false, 1},
        {DTYPE_F64, OPTIMIZER_ADAM, OVERLAP_OPTIMIZER, ALLREDUCE_TREE, false, false, false, 2},
        {DTYPE_F32, OPTIMIZER_MOMENTUM, OVERLAP_BACKWARD, ALLREDUCE_ALL_TO_ALL, true, false, true, 2},
        {DTYPE_F64, OPTIMIZER_SGD, OVERLAP_NONE, ALLREDUCE_REDUCE_BROADCAST, false, true, true, 1},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct model *model = tiny(cases[i].dtype), *read;
        struct shape shape = {.model = model,
                              .ranks = 3,
                              .batch = 8,
                              .overlap = cases[i].overlap,
                              .algo = cases[i].algo,
                              .bucket_bytes = 600,
                              .first_bucket_bytes = 100,
                              .optimizer = cases[i].optimizer,
                              .accumulate = cases[i].accumulate,
                              .clip = cases[i].clip,
                              .bucket_view = cases[i].view,
                              .first_iteration = cases[i].first};
        struct plan plan, again;
        make(&mode_ddp, &shape, &plan);
        g_autofree char *text = written(&plan);
        read_back(text, &again, &read);
        struct trained a = train(&plan, model), b = train(&again, read);
        g_assert_cmpmem(&a, sizeof a, &b, sizeof b);
        g_assert_cmpfloat(a.loss[0], >, 0);
        g_assert_cmpuint(a.hash[0], ==, a.hash[2]);
        plan_release(&plan);
        plan_release(&again);
        model_free(model);
        model_free(read);
    }
}

/* --- files of version 0.1, which had no model and no micro-batches */

static char *file_text(const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "fuzz", "plan", name, NULL);
    char *text;
    g_file_get_contents(path, &text, NULL, &error);
    g_assert_no_error(error);
    return text;
}

static void test_old(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *single = file_text("single-0.1.json"), *ddp = file_text("ddp-0.1.json");
    struct model *model = load("mlp", NULL), *read;
    struct shape shape = {.model = model,
                          .ranks = 2,
                          .batch = 8,
                          .overlap = OVERLAP_BACKWARD,
                          .algo = ALLREDUCE_RING,
                          .bucket_bytes = 25 << 20,
                          .first_bucket_bytes = 1 << 20,
                          .optimizer = OPTIMIZER_ADAM,
                          .accumulate = 2,
                          .clip = true};
    struct plan plan, old;
    make(&mode_ddp, &shape, &plan);
    read_back(ddp, &old, &read);
    g_assert_nonnull(read);
    g_assert_cmpstr(read->ini, ==, model->ini);
    g_assert_cmpuint(old.n_micro, ==, 2);
    g_assert_cmpuint(old.optimizer, ==, OPTIMIZER_ADAM);
    g_assert_cmpuint(old.n_colls, ==, plan.n_colls);
    g_assert_cmpmem(old.micro_rows, 16, plan.micro_rows, 16);
    g_assert_cmpuint(old.n_ops, ==, plan.n_ops);
    g_assert_cmpuint(old.n_accesses, ==, plan.n_accesses);
    for (uint32_t i = 0; i < plan.n_accesses; i++) {
        g_assert_cmpuint(old.accesses[i].value, ==, plan.accesses[i].value);
        g_assert_cmpuint(old.accesses[i].mode, ==, plan.accesses[i].mode);
    }
    plan_check_run(&old, read, &error);
    g_assert_no_error(error);
    plan_release(&old);
    model_free(read);
    read_back(single, &old, &read);
    g_assert_nonnull(read);
    plan_release(&old);
    model_free(read);
    /* One that differs from the built-in model in what no table shows. */
    g_auto(GStrv) parts = g_strsplit(single, "bag d512 v8192 s32", -1);
    g_assert_cmpuint(g_strv_length(parts), >, 1);
    g_autofree char *longer = g_strjoinv("bag d512 v8192 s64", parts);
    read_back(longer, &old, &read);
    g_assert_null(read);
    plan_release(&old);
    plan_release(&plan);
    model_free(model);
}

/* --- what is refused */

static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    g_assert_nonnull(at);
    return g_strdup_printf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static char *tiny_text(void)
{
    struct model *model = tiny(DTYPE_F32);
    struct shape shape = {.model = model,
                          .ranks = 2,
                          .batch = 4,
                          .overlap = OVERLAP_BACKWARD,
                          .algo = ALLREDUCE_RING,
                          .bucket_bytes = 600};
    struct plan plan;
    make(&mode_ddp, &shape, &plan);
    char *text = written(&plan);
    plan_release(&plan);
    model_free(model);
    return text;
}

static void test_refused(void)
{
    static const struct {
        const char *from, *to, *error;
    } cases[] = {
        {"parprof.plan/1", "parprof.plan/2", "parprof.plan/2"},
        {"\"schema\"", "\"scheme\"", "no plan"},
        {"\"ranks\":2", "\"ranks\":0", "ranks"},
        {"\"ranks\":2", "\"ranks\":4097", "4096"},
        {"\"ranks\":2", "\"ranks\":3", "each of 3 ranks"},
        {"\"ranks\":2", "\"ranks\":1", "lane 3 is of rank 1"},
        {"\"samples\":[2,2]", "\"samples\":[2,3]", "its micro-batches"},
        {"\"samples\":[2,2]", "\"samples\":[2]", "each of 2 ranks"},
        {"\"share\":[0.5", "\"share\":[1.5", "from 0 to 1"},
        {"\"optimizer\":\"sgd\"", "\"optimizer\":\"lion\"", "lion"},
        {"[model]\\n", "[module]\\n", "no group [model]"},
        {"\"heads\":2", "\"heads\":3", "heads"},
        {"\"heads\":2", "\"heads\":4", "shape"},
        {"\"d_model\":8", "\"d_model\":16", "parameter 0"},
        {"\"layers\":1,", "\"layers\":2,", "number of layers"},
        {"\"dtype\":\"f32\"", "\"dtype\":\"f64\"", "parameter 0"},
        {"\"dtype\":\"f32\"", "\"dtype\":\"f16\"", "f16"},
        {"{\"index\":1,\"name\"", "{\"index\":2,\"name\"", "row 1 says that it is index 2"},
        {"\"layer\":0", "\"layer\":70", "layer 70"},
        {"\"layer\":1", "\"layer\":3", "they stand in the order"},
        {"\"bucket\":1", "\"bucket\":0", "bucket 1"},
        {"\"closed_by\":\"", "\"closed_by\":\"x", "closed by"},
        {"\"class\":\"comm\"", "\"class\":\"rail\"", "rail"},
        {"\"device\":1", "\"device\":2", "device 2"},
        {"\"root\":", "\"root\":999", "no root"},
        {"\"offset\":0", "\"offset\":99999999", "outside its root"},
        {"\"class\":\"weight\",\"rank\":0", "\"class\":\"weight\"", "no class or no rank"},
        {"\"bytes\":", "\"bytes\":-", "bytes"},
        {"\"bytes\":", "\"bytes\":9999999999999999999", "bytes"},
        {"\"members\":1", "\"members\":0", "0 members"},
        {"\"cost\":1,\"kind\"", "\"cost\":1,\"skind\"", "no \"kind\""},
        {",\"r\"]", ",\"x\"]", "an access"},
        {",\"r\"]", ",\"r\",1]", "an access"},
        {"\"kind\":\"LOSS\",\"lane\"", "\"kind\":\"FWD\",\"lane\"", "shape"},
        {"\"kind\":\"FWD\",\"layer0\"", "\"kind\":\"FORWARD\",\"layer0\"", "FORWARD"},
    };
    g_autofree char *text = tiny_text();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *broken = replaced(text, cases[i].from, cases[i].to);
        struct plan plan;
        struct model *model;
        g_assert_false(plan_read_json(broken, strlen(broken), "p.json", &plan, &model, &error));
        g_assert_nonnull(error);
        if (!strstr(error->message, cases[i].error))
            g_error("%s: %s", cases[i].to, error->message);
        g_assert_true(g_str_has_prefix(error->message, "p.json:"));
        g_assert_null(model);
    }
}

/* Nothing that is cut is a plan. */
static void test_cut(void)
{
    g_autofree char *text = tiny_text();
    size_t n = strlen(text);
    while (text[n - 1] != '}')
        n--;
    for (size_t i = 0; i < n; i += i < 2000 || i + 200 > n ? 1 : 97) {
        g_autoptr(GError) error = NULL;
        struct plan plan;
        struct model *model;
        g_assert_false(plan_read_json(text, i, "p.json", &plan, &model, &error));
        g_assert_nonnull(error);
    }
}

/* What can be read but not proved. */
static void test_illegal(void)
{
    static const struct {
        const char *from, *to, *error;
    } cases[] = {
        {"\"deps\":[0]", "\"deps\":[]", "op "},
        {"\"deps\":[0]", "\"deps\":[5000]", "depends on op 5000"},
        {"\"access\":[[", "\"access\":[[9", "value"},
        {"\"collectives\":", "\"collectives\":0,\"was\":", "collective"},
    };
    g_autofree char *text = tiny_text();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *broken = replaced(text, cases[i].from, cases[i].to);
        struct plan plan;
        struct model *model;
        g_assert_true(plan_read_json(broken, strlen(broken), "p.json", &plan, &model, &error));
        if (plan_seal(&plan, &error))
            g_error("%s: passes", cases[i].to);
        g_assert_error(error, PLAN_ERROR, PLAN_ERROR_INVALID);
        if (!strstr(error->message, cases[i].error))
            g_error("%s: %s", cases[i].to, error->message);
        plan_release(&plan);
        model_free(model);
    }
}

/* --- what kernels may be given */

static uint32_t find_op(const struct plan *plan, unsigned kind)
{
    for (uint32_t i = 0; i < plan->n_ops; i++)
        if (plan->ops[i].tag.kind == kind)
            return i;
    g_assert_not_reached();
}

static struct value *value_of(const struct plan *plan, unsigned kind, uint32_t access)
{
    return &plan->values[plan->accesses[plan->ops[find_op(plan, kind)].first_access + access].value];
}

/* The plan was sealed; what follows is what sealing would let pass. */
static void check_refused(struct plan *plan, const struct model *model, const char *what)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(plan_check_run(plan, model, &error));
    g_assert_error(error, PLAN_ERROR, PLAN_ERROR_INVALID);
    if (!strstr(error->message, what))
        g_error("%s: %s", what, error->message);
}

static void test_contract(void)
{
    g_autoptr(GError) error = NULL;
    struct model *model = tiny(DTYPE_F32);
    struct shape shape = {.model = model,
                          .ranks = 2,
                          .batch = 4,
                          .overlap = OVERLAP_BACKWARD,
                          .algo = ALLREDUCE_RING,
                          .bucket_bytes = 600,
                          .accumulate = 2,
                          .optimizer = OPTIMIZER_ADAM,
                          .clip = true};
    struct plan plan;
    make(&mode_ddp, &shape, &plan);
    plan_check_run(&plan, model, &error);
    g_assert_no_error(error);

/* Changes one thing, sees it refused, and changes it back. */
#define REFUSED(lvalue, value, what)                                                                         \
    do {                                                                                                     \
        __typeof__(lvalue) *const at = &(lvalue), before = *at;                                              \
        *at = (value);                                                                                       \
        check_refused(&plan, model, what);                                                                   \
        *at = before;                                                                                        \
    } while (0)

    static const struct {
        unsigned kind;
        uint32_t accesses;
    } whole[] = {{OP_INPUT, 1}, {OP_FWD, 5}, {OP_LOSS, 4}, {OP_BWD, 7}};
    for (size_t i = 0; i < G_N_ELEMENTS(whole); i++)
        for (uint32_t k = 0; k < whole[i].accesses; k++)
            if (value_of(&plan, whole[i].kind, k)->bytes)
                REFUSED(value_of(&plan, whole[i].kind, k)->bytes,
                        value_of(&plan, whole[i].kind, k)->bytes -
                            (k == 4 && whole[i].kind == OP_FWD ? 64 : 4),
                        "");
    REFUSED(value_of(&plan, OP_PACK, 0)->bytes, 4, "equally many");
    REFUSED(value_of(&plan, OP_UNPACK, 1)->offset, 2, "");
    REFUSED(value_of(&plan, OP_NORM, 0)->bytes, 8, "it needs 16");
    REFUSED(value_of(&plan, OP_OPTIM, 2)->bytes, 4, "equally many");
    REFUSED(value_of(&plan, OP_EXCHANGE_ADD, 1)->offset, 1, "");
    REFUSED(value_of(&plan, OP_INPUT, 0)->cls, VALUE_SCRATCH, "no input");
    REFUSED(value_of(&plan, OP_INPUT, 0)->micro, 1, "no input");
    REFUSED(plan.ops[find_op(&plan, OP_FWD)].tag.micro, 2, "micro-batch 2");
    REFUSED(plan.ops[find_op(&plan, OP_FWD)].tag.layer0, LAYER_NONE, "no layer");
    REFUSED(plan.ops[find_op(&plan, OP_FWD)].tag.gang, 0, "in a gang");
    REFUSED(plan.ops[find_op(&plan, OP_EXCHANGE_ADD)].tag.gang, OP_NONE, "in no gang");
    REFUSED(plan.ops[find_op(&plan, OP_OPTIM)].tag.kind, OP_UNPACK, "");
    struct access *access = &plan.accesses[plan.ops[find_op(&plan, OP_OPTIM)].first_access];
    REFUSED(*access, ((struct access){access->value, ACCESS_READ}), "otherwise");
    access = &plan.accesses[plan.ops[find_op(&plan, OP_EXCHANGE_ADD)].first_access + 1];
    REFUSED(*access, ((struct access){access->value, ACCESS_READ}), "otherwise");
    access = &plan.accesses[plan.ops[find_op(&plan, OP_PACK)].first_access];
    REFUSED(access[1], ((struct access){access[0].value, access[1].mode}), "twice");
    REFUSED(plan.values[0].index, model->n_layers, "weights of its layer");
    REFUSED(plan.rank_rows[1], UINT32_MAX, "samples");
    REFUSED(plan.rank_rows, NULL, "samples");
    g_assert_true(plan_check_run(&plan, model, &error));
    plan_release(&plan);
    model_free(model);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/plan-io/round-trip", test_round_trip);
    g_test_add_func("/plan-io/all-fields", test_all_fields);
    g_test_add_func("/plan-io/any-order", test_any_order);
    g_test_add_func("/plan-io/simulation", test_simulation);
    g_test_add_func("/plan-io/training", test_training);
    g_test_add_func("/plan-io/old", test_old);
    g_test_add_func("/plan-io/refused", test_refused);
    g_test_add_func("/plan-io/cut", test_cut);
    g_test_add_func("/plan-io/illegal", test_illegal);
    g_test_add_func("/plan-io/contract", test_contract);
    return g_test_run();
}
