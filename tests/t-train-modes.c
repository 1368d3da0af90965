/* Training in a pipeline against the same training on one rank: neither schedule, stages, micro-batches nor
 * what is recomputed must show in any number; and without a flush against a model that steps one mini-batch
 * after another.
 * t-train-modes --cuda=GPUS [TEST OPTION]...: in a pipeline or by DataParallel on so many GPUs, which ranks
 * share where they are fewer; alone on CPU cores all the same. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/cuda.h"
#include "exec/exec.h"
#include "plan/schedule.h"
#include "plan/split.h"
#include "profile/trace.h"
#include "tests/norm-rule.h"
#include "tests/pairs.h"
#include "tests/step.h"
#include "tests/tap.h"

enum { STEPS = 3 };

static uint32_t gpus; /* 0: CPU cores */

struct setup {
    const char *model, *schedule, *split;
    uint32_t ranks, per_rank, chunks, batch, rounds;
    uint8_t checkpoint, dtype, optimizer;
    unsigned jitter; /* 0: none */
    double clip_norm;
    uint8_t gather; /* DataParallel, which has no schedule */
    bool sum;
};

/* Parameters in definition order, at the end of the last step. */
struct result {
    struct model *model;
    struct plan plan;
    double loss[STEPS], *grad, *weight;
    bool every; /* keep those of any step */
};

static double number(const struct model *model, const void *cells, uint64_t i)
{
    return model->dtype == DTYPE_F64 ? ((const double *)cells)[i] : (double)((const float *)cells)[i];
}

/* The root of the layer on the rank that has it, of the weights those that stay. */
static const char *find(const struct result *r, uint8_t cls, uint32_t layer, void *(*cell)(void *, uint32_t),
                        void *engine)
{
    for (uint32_t i = 0; i < r->plan.n_values; i++) {
        const struct value *v = &r->plan.values[i];
        if (v->cls == cls && v->root == i && v->index == layer && v->flags & VALUE_LIVE_OUT)
            return cell(engine, i);
    }
    g_assert_not_reached();
}

static double *gather(const struct result *r, uint8_t cls, void *(*cell)(void *, uint32_t), void *engine)
{
    const struct model *m = r->model;
    double *out = g_new(double, m->numel), *next = out;
    for (uint32_t p = 0; p < m->n_params; p++) {
        const char *at =
            find(r, cls, m->params[p].layer, cell, engine) + m->params[p].offset * dtype_bytes(m->dtype);
        for (uint64_t i = 0; i < m->params[p].numel; i++)
            *next++ = number(m, at, i);
    }
    return out;
}

static void look(void *user, uint32_t step, bool measured, void *(*cell)(void *, uint32_t), void *engine)
{
    struct result *r = user;
    if (!measured || (step + 1 < STEPS && !r->every))
        return;
    g_free(r->grad);
    g_free(r->weight);
    r->grad = gather(r, VALUE_GRAD, cell, engine);
    r->weight = gather(r, VALUE_WEIGHT, cell, engine);
}

static struct model *load(const struct setup *s)
{
    GError *error = NULL;
    struct model_override small = {.layers = 6,
                                   .d = 16,
                                   .heads = 2,
                                   .ff = 32,
                                   .vocab = 50,
                                   .seq = 6,
                                   .dtype = gpus ? DTYPE_F32 : s->dtype};
    if (strcmp(s->model, "mlp") == 0)
        small.heads = small.ff = 0;
    struct model *model = model_load(s->model, &small, &error);
    g_assert_no_error(error);
    return model;
}

/* One rank alone, in as many micro-batches as there are ranks with samples, which count as their losses do.
 */
static void weigh(const struct setup *s, struct plan *plan)
{
    if (s->schedule || plan->t.n_ranks > 1)
        return;
    plan->micro_weight = g_new(double, plan->n_micro);
    for (uint32_t i = 0; i < plan->n_micro; i++)
        plan->micro_weight[i] = s->gather == GATHER_LOSS && !s->sum ? 1.0 / plan->n_micro
                                                                    : plan->micro_rows[i] / (double)s->batch;
    plan->loss_scale = s->sum ? s->batch : 1;
}

static const struct engine *engine_of(const struct plan *plan)
{
    return gpus && strcmp(plan->t.mode, mode_single.name) ? &cuda_engine : &cpu_engine;
}

/* NCCL wherever each rank has a GPU: the caption says who moved what. */
static void check_way(const struct plan *plan, const struct trace *trace)
{
    bool apart = false;
    for (uint32_t g = 0; g < plan->n_gangs; g++)
        apart = apart || plan->gangs[g].n > 1;
    const char *way = NULL;
    for (uint32_t i = 0; i < trace->n_labels; i++)
        way = strcmp(trace->labels[i].key, "link") ? way : trace->labels[i].value;
    if (engine_of(plan) == &cuda_engine && apart)
        g_assert_cmpint(!strcmp(way, "NCCL"), ==, plan->t.n_ranks <= gpus);
}

static void run(const struct setup *s, const struct mode *mode, const struct shape *shape, uint32_t steps,
                struct result *r)
{
    GError *error = NULL;
    plan_make(mode, shape, &r->plan, &error);
    g_assert_no_error(error);
    weigh(s, &r->plan);
    plan_place(&r->plan);
    struct run run = {.plan = &r->plan,
                      .model = r->model,
                      .warmup = 1,
                      .steps = steps,
                      .seed = 11,
                      .lr = s->optimizer == OPTIMIZER_ADAM ? 1e-3 : 0.1,
                      .momentum = 0.9,
                      .clip_norm = s->clip_norm,
                      .untraced = true,
                      .timeout_s = 60,
                      .observe = look,
                      .user = r};
    struct trace trace;
    trace_init(&trace);
    g_assert_true(plan_check_run(&r->plan, r->model, &error));
    g_assert_no_error(error);
    engine_of(&r->plan)->run(&run, &trace, &error);
    g_assert_no_error(error);
    check_way(&r->plan, &trace);
    memcpy(r->loss, trace.loss, MIN(steps, STEPS) * sizeof *r->loss);
    trace_release(&trace);
}

static struct shape shape_of(const struct setup *s, const struct model *model)
{
    return (struct shape){.model = model,
                          .ranks = s->ranks,
                          .devices = gpus,
                          .batch = s->batch,
                          .algo = s->ranks <= gpus ? ALLREDUCE_WHOLE : ALLREDUCE_RING,
                          .optimizer = s->optimizer,
                          .clip = s->clip_norm > 0,
                          .schedule = s->schedule ? schedule_find(s->schedule) : NULL,
                          .split = s->split ? split_find(s->split) : NULL,
                          .gather = s->gather,
                          .loss_sum = s->sum,
                          .chunks = s->chunks,
                          .stages_per_rank = s->per_rank,
                          .checkpoint = s->checkpoint,
                          .rounds = s->rounds};
}

static void train(const struct setup *s, struct result *r)
{
    *r = (struct result){.model = load(s)};
    const struct shape shape = shape_of(s, r->model);
    if (s->jitter) {
        g_autofree char *text = g_strdup_printf("%u", s->jitter);
        g_setenv("PARPROF_JITTER", text, TRUE);
    }
    g_setenv("PARPROF_POISON", "1", TRUE);
    run(s, s->schedule ? &mode_pipeline : &mode_dp, &shape, STEPS, r);
    g_unsetenv("PARPROF_JITTER");
    g_unsetenv("PARPROF_POISON");
}

static uint32_t ranks_with_samples(const struct setup *s)
{
    uint32_t n = 0;
    while (n < s->ranks && chunk_size(s->batch, s->ranks, n))
        n++;
    return n;
}

/* Chained steps are so many steps more, whose losses count together. */
static void train_alone(const struct setup *s, struct result *r)
{
    *r = (struct result){.model = load(s)};
    const struct shape shape = {.model = r->model,
                                .ranks = 1,
                                .batch = s->batch,
                                .accumulate = s->schedule ? 1 : ranks_with_samples(s),
                                .optimizer = s->optimizer,
                                .clip = s->clip_norm > 0};
    run(s, &mode_single, &shape, STEPS, r);
}

static void release(struct result *r)
{
    g_free(r->grad);
    g_free(r->weight);
    plan_release(&r->plan);
    model_free(r->model);
}

static void compare(const struct model *model, const double *got, const double *want, double own_error,
                    double all_error)
{
    g_autofree char *off = norm_rule(model, got, want, own_error, all_error);
    if (off)
        g_error("%s", off);
}

static void check(const struct setup *s)
{
    const bool f32 = s->dtype == DTYPE_F32 || gpus;
    const double loss_error = f32 ? 1e-5 : 1e-11, own = f32 ? 3e-5 : 1e-10, all = f32 ? 1e-6 : 1e-12;
    struct result alone, got;
    g_test_message(
        "%s %s: %u ranks, %u a rank, %u chunks of %u, checkpoint %s, split %s, optimizer %u, clip %g",
        s->model, s->schedule, s->ranks, s->per_rank, s->chunks, s->batch, checkpoint_name(s->checkpoint),
        s->split, s->optimizer, s->clip_norm);
    train_alone(s, &alone);
    train(s, &got);
    for (unsigned i = 0; i < STEPS; i++)
        g_assert_cmpfloat(fabs(got.loss[i] - alone.loss[i]), <=, loss_error * fabs(alone.loss[i]));
    compare(alone.model, got.grad, alone.grad, own, all);
    compare(alone.model, got.weight, alone.weight, own, all);
    release(&alone);
    release(&got);
}

/* --- every schedule with every other choice */

static const struct {
    const char *name;
    uint32_t per_rank;
} orders[] = {{"1f1b", 1},        {"naive", 1},       {"naive", 2},      {"gpipe", 1},
              {"gpipe-torch", 1}, {"interleaved", 2}, {"looped-bfs", 2}, {"zb1p", 1},
              {"zb1p", 2},        {"zb2p", 1},        {"zbv", 2},        {"dualpipev", 2}};
static const char *const models[] = {"mini", "gpt2", "mlp", "transformer-lm", "bert-base"};
static const char *const splits[] = {"even", "bytes", "balanced"};

enum { ORDER, MODEL, CHECKPOINT, SPLIT, RANKS, UNEVEN, OPTIMIZER, CLIP, FACTORS };
static const uint8_t levels[FACTORS] = {
    G_N_ELEMENTS(orders), G_N_ELEMENTS(models), CHECKPOINTS, G_N_ELEMENTS(splits), 3, 2, OPTIMIZERS, 2};

static void check_combination(const uint8_t *level, unsigned jitter)
{
    struct setup s = {.model = models[level[MODEL]],
                      .schedule = orders[level[ORDER]].name,
                      .split = splits[level[SPLIT]],
                      .ranks = level[RANKS] + 2u,
                      .per_rank = orders[level[ORDER]].per_rank,
                      .checkpoint = level[CHECKPOINT],
                      .dtype = level[UNEVEN] ? DTYPE_F64 : DTYPE_F32,
                      .optimizer = level[OPTIMIZER],
                      .jitter = jitter,
                      .clip_norm = level[CLIP] ? 0.3 : 0};
    s.chunks = 2 * s.ranks;
    s.batch = s.chunks * 2 - level[UNEVEN];
    check(&s);
}

static struct pairs array = {.n = FACTORS, .levels = levels};

/* Few that have every pair, the best of a sample at a time. */
static void test_pairs(void)
{
    uint8_t level[FACTORS];
    const uint32_t n = pairs_combinations(&array);
    uint32_t misses = 0;
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    for (unsigned k = 0; misses < 20; k++) {
        uint32_t best = 0;
        unsigned most = 0;
        for (unsigned i = 0; i < 3000; i++) {
            const uint32_t id = (uint32_t)g_rand_int_range(random, 0, (gint32)n);
            pairs_combination(&array, id, level);
            const unsigned pairs = pairs_new(&array, level, false);
            if (pairs > most) {
                most = pairs;
                best = id;
            }
        }
        misses += most == 0;
        pairs_combination(&array, best, level);
        if (most) {
            pairs_new(&array, level, true);
            check_combination(level, k % 3 + 1);
        }
    }
    g_assert_cmpuint(pairs_left(&array), ==, 0);
}

/* Each schedule once, with the other choices in turn. */
static void test_orders(void)
{
    for (uint32_t id = 0; id < G_N_ELEMENTS(orders); id++) {
        uint8_t level[FACTORS];
        for (unsigned f = 0; f < FACTORS; f++)
            level[f] = (uint8_t)((id + id / levels[f]) % levels[f]);
        check_combination(level, id % 3 + 1);
    }
}

/* Slow: all of them but optimizers and clipping, which take turns, with three seeds of delays. */
static void test_all(void)
{
    uint8_t level[FACTORS];
    uint32_t n = 1;
    for (unsigned f = 0; f < OPTIMIZER; f++)
        n *= levels[f];
    if (!g_test_slow()) {
        g_test_skip("only with -m slow");
        return;
    }
    for (uint32_t id = 0; id < 3 * n; id++) {
        pairs_combination(&array, id % n, level);
        level[OPTIMIZER] = (uint8_t)(id % OPTIMIZERS);
        level[CLIP] = id / OPTIMIZERS % 2;
        check_combination(level, id / n + 1);
    }
}

static const struct setup base = {
    .model = "mini", .schedule = "1f1b", .split = "even", .ranks = 2, .per_rank = 1, .chunks = 4, .batch = 8};

/* One rank, one chunk, a stage a layer. */
static void test_edges(void)
{
    struct setup s = base;
    s.dtype = DTYPE_F64;
    s.ranks = 1;
    check(&s);
    s.chunks = 1;
    check(&s);
    s.schedule = "zb1p";
    check(&s);
    s.model = "mlp"; /* its first stage is a layer without input gradient */
    s.ranks = s.chunks = s.batch = 8;
    check(&s);
    s.schedule = "naive";
    s.chunks = 3;
    check(&s);
}

/* PyTorch's tutorial: 20 samples in 8 chunks are 7, all recomputed. */
static void test_tutorial(void)
{
    struct setup s = base;
    struct result r;
    s.model = "transformer-lm";
    s.schedule = "gpipe-torch";
    s.split = "tutorial";
    s.chunks = 8;
    s.batch = 20;
    s.checkpoint = CHECKPOINT_EXCEPT_LAST;
    s.clip_norm = 0.5;
    check(&s);
    train(&s, &r);
    static const uint32_t rows[] = {3, 3, 3, 3, 3, 3, 2};
    uint32_t recomputed = 0;
    g_assert_cmpuint(r.plan.n_micro, ==, 7);
    g_assert_cmpmem(r.plan.micro_rows, sizeof rows, rows, sizeof rows);
    for (uint32_t i = 0; i < r.plan.n_ops; i++)
        recomputed += r.plan.ops[i].tag.kind == OP_RECOMPUTE;
    g_assert_cmpuint(recomputed, ==, 7 * r.model->n_layers);
    release(&r);
}

/* Steps that are chained are steps: the losses of two count half each. */
static void test_chained(void)
{
    struct setup s = base;
    struct result chained, plain;
    static const char *const names[] = {"1f1b", "zb2p"};
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        s.schedule = names[i];
        s.dtype = DTYPE_F64;
        s.optimizer = OPTIMIZER_ADAM;
        s.rounds = 2;
        s.jitter = i + 1;
        train(&s, &chained);
        plain = (struct result){.model = load(&s)};
        const struct shape alone = {
            .model = plain.model, .ranks = 1, .batch = s.batch, .optimizer = s.optimizer};
        run(&s, &mode_single, &alone, 2 * STEPS, &plain);
        g_clear_pointer(&plain.weight, g_free);
        g_clear_pointer(&plain.grad, g_free);
        g_assert_cmpfloat(fabs(chained.loss[0] - (plain.loss[0] + plain.loss[1]) / 2), <=,
                          (gpus ? 1e-5 : 1e-12) * plain.loss[0]);
        release(&plain);
        release(&chained);
    }
}

/* --- DataParallel: even and uneven, with ranks left without samples */

static void test_data_parallel(void)
{
    static const uint32_t batches[] = {8, 7, 5, 2};
    const uint32_t n = G_N_ELEMENTS(batches) * 3 * GATHERS * 2 * G_N_ELEMENTS(models),
                   every = gpus ? 11 : 5; /* emulated ones are slow, and have seeds of their own */
    for (uint32_t id = 0; id < n; id++) {
        struct setup s = {.model = models[id % G_N_ELEMENTS(models)],
                          .ranks = id / 5 % 3 + 2,
                          .gather = (uint8_t)(id / 15 % GATHERS),
                          .sum = id / 30 % 2,
                          .batch = batches[id / 60 % 4],
                          .dtype = id % 2 ? DTYPE_F64 : DTYPE_F32,
                          .optimizer = (uint8_t)(id / 7 % OPTIMIZERS),
                          .clip_norm = id / 11 % 2 ? 0.3 : 0,
                          .jitter = id % 3 + 1};
        if (g_test_slow() || id % every == id / every % every)
            check(&s);
    }
}

/* --- four ranks that each have a GPU, where there are four: channels both ways between neighbours, tied
 * weights, a norm of all, ranks without samples */

static void test_apart(void)
{
    static const struct setup cases[] = {
        {.model = "gpt2",
         .schedule = "1f1b",
         .split = "even",
         .per_rank = 1,
         .chunks = 8,
         .batch = 15,
         .clip_norm = 0.3},
        {.model = "mini", .schedule = "dualpipev", .split = "even", .per_rank = 2, .chunks = 8, .batch = 16},
        {.model = "mini",
         .schedule = "interleaved",
         .split = "bytes",
         .per_rank = 2,
         .chunks = 4,
         .batch = 8},
        {.model = "mini", .gather = GATHER_LOGITS, .batch = 7, .clip_norm = 0.3},
        {.model = "mlp", .gather = GATHER_LOSS, .batch = 5}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct setup s = cases[i];
        s.ranks = 4;
        s.dtype = DTYPE_F32;
        check(&s);
    }
}

/* --- without a flush */

struct sequence {
    struct step step;
    struct model *model;
    double ***weight; /* [version][layer]: what a stage has after so many steps */
};

static void fill(struct sequence *q, uint32_t version, uint32_t layer)
{
    memcpy(q->step.cell[q->step.weight[layer]], q->weight[version][layer],
           q->model->layers[layer].numel * sizeof(double));
}

/* Stage s of P uses for micro-batch i the weights after max(0, i - w + 1) steps, w = min(m, P - s): 1F1B's
 * warm-up. */
static void train_in_sequence(struct sequence *q, const struct setup *s, const uint32_t *first, double lr)
{
    const uint32_t layers = q->model->n_layers, each = s->batch / s->chunks;
    step_open(&q->step, q->model, &k_ref_f64, each, 1, lr);
    q->step.run.seed = 11;
    q->weight = g_new0(double **, s->chunks + 1);
    for (uint32_t v = 0; v <= s->chunks; v++) {
        q->weight[v] = g_new0(double *, layers);
        for (uint32_t layer = 0; layer < layers; layer++)
            q->weight[v][layer] = g_new0(double, q->model->layers[layer].numel + 1);
    }
    for (uint32_t layer = 0; layer < layers; layer++)
        data_init_layer(q->model, layer, 11, q->weight[0][layer]);
    for (uint32_t i = 0; i < s->chunks; i++) {
        for (uint32_t stage = 0; stage < s->ranks; stage++) {
            const uint32_t warm_up = MIN(s->chunks, s->ranks - stage),
                           version = i >= warm_up ? i - warm_up + 1 : 0;
            for (uint32_t layer = first[stage]; layer < first[stage + 1]; layer++)
                fill(q, version, layer);
        }
        data_fill(q->model, 11, 0, i * each, each, q->step.cell[q->step.input]);
        step_run(&q->step, 0, q->step.pack);
        for (uint32_t layer = 0; layer < layers; layer++)
            for (uint64_t k = 0; k < q->model->layers[layer].numel; k++)
                q->weight[i + 1][layer][k] =
                    q->weight[i][layer][k] - lr * ((double *)q->step.cell[q->step.grad[layer]])[k];
    }
}

static double *weights_of(const struct sequence *q, uint32_t version)
{
    double *out = g_new(double, q->model->numel), *next = out;
    for (uint32_t p = 0; p < q->model->n_params; p++) {
        const struct param *param = &q->model->params[p];
        memcpy(next, q->weight[version][param->layer] + param->offset, param->numel * sizeof(double));
        next += param->numel;
    }
    return out;
}

static void release_sequence(struct sequence *q, uint32_t versions)
{
    for (uint32_t v = 0; v <= versions; v++) {
        for (uint32_t layer = 0; layer < q->model->n_layers; layer++)
            g_free(q->weight[v][layer]);
        g_free(q->weight[v]);
    }
    g_free(q->weight);
    step_close(&q->step);
    model_free(q->model);
}

static void test_pipedream(void)
{
    struct setup s = base;
    GError *error = NULL;
    s.schedule = "pipedream";
    s.model = "mini";
    s.dtype = DTYPE_F64;
    for (s.ranks = 1; s.ranks <= 4; s.ranks++)
        for (s.jitter = 1; s.jitter <= (gpus ? 1 : 3); s.jitter++) {
            s.chunks = 2 * s.ranks + 1;
            s.batch = 2 * s.chunks;
            const uint32_t on = gpus;
            gpus = 0; /* the sequence is of doubles */
            struct sequence q = {.model = load(&s)};
            gpus = on;
            struct result r = {.model = load(&s), .every = true};
            const struct shape shape = shape_of(&s, r.model);
            g_autofree uint32_t *first = g_new(uint32_t, s.ranks + 1);
            g_assert_true(split_layers(&shape, s.ranks, first, &error));
            train_in_sequence(&q, &s, first, 0.1);
            g_autofree char *text = g_strdup_printf("%u", s.jitter);
            g_setenv("PARPROF_JITTER", text, TRUE);
            plan_make(&mode_pipeline, &shape, &r.plan, &error);
            g_assert_no_error(error);
            plan_place(&r.plan);
            struct run run = {.plan = &r.plan,
                              .model = r.model,
                              .steps = 1,
                              .seed = 11,
                              .lr = 0.1,
                              .observe = look,
                              .user = &r};
            struct trace trace;
            trace_init(&trace);
            engine_of(&r.plan)->run(&run, &trace, &error);
            g_assert_no_error(error);
            g_unsetenv("PARPROF_JITTER");
            trace_release(&trace);
            g_autofree double *want = weights_of(&q, s.chunks);
            compare(r.model, r.weight, want, gpus ? 3e-5 : 1e-11, gpus ? 1e-6 : 1e-13);
            release(&r);
            release_sequence(&q, s.chunks);
        }
}

int main(int argc, char **argv)
{
    if (argc > 1 && g_str_has_prefix(argv[1], "--cuda=")) {
        gpus = (uint32_t)strtoul(argv[1] + strlen("--cuda="), NULL, 10);
        argv[1] = argv[0];
        argc--, argv++;
    }
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/train-modes/edges", test_edges);
    g_test_add_func("/train-modes/tutorial", test_tutorial);
    g_test_add_func("/train-modes/chained", test_chained);
    g_test_add_func("/train-modes/pipedream", test_pipedream);
    g_test_add_func("/train-modes/data-parallel", test_data_parallel);
    g_test_add_func("/train-modes/apart", test_apart);
    g_test_add_func("/train-modes/orders", test_orders);
    g_test_add_func("/train-modes/pairs", test_pairs);
    g_test_add_func("/train-modes/all", test_all);
    return g_test_run();
}
