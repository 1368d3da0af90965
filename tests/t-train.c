/* Training split over ranks against the same training on one: the split must not show in any number. */
#include <math.h>
#include <string.h>

#include "exec/exec.h"
#include "plan/mode.h"
#include "profile/trace.h"
#include "tests/norm-rule.h"
#include "tests/pairs.h"
#include "tests/tap.h"

enum { STEPS = 3 };

struct setup {
    const char *model;
    const struct mode *mode;
    uint32_t ranks, batch, accumulate;
    uint8_t overlap, algo, dtype, optimizer;
    bool bucket_view, first_iteration;
    uint64_t bucket_bytes;
    unsigned jitter; /* 0: none */
    uint32_t warmup, data_step;
    double lr, clip_norm;
};

/* What a run leaves: losses, a hash of the weights, the gradients of its first step. */
struct result {
    struct model *model;
    struct plan plan;
    double loss[STEPS];
    uint64_t weight_hash;
    bool bucket_view;
    double *grad; /* by parameter, in definition order */
    uint32_t looks;
};

static double number(const struct model *model, const void *cells, uint64_t i)
{
    return model->dtype == DTYPE_F32 ? (double)((const float *)cells)[i] : ((const double *)cells)[i];
}

/* Copies of one value must hold the same bits on all ranks. */
static void check_equal(struct result *r, uint8_t cls, void *(*cell)(void *, uint32_t), void *engine)
{
    const struct plan *plan = &r->plan;
    for (uint32_t i = 0; i < plan->n_values; i++)
        for (uint32_t j = 0; j < i; j++) {
            const struct value *a = &plan->values[i], *b = &plan->values[j];
            if (a->cls == cls && b->cls == cls && a->root == i && b->root == j && a->index == b->index)
                g_assert_cmpmem(cell(engine, i), a->bytes, cell(engine, j), b->bytes);
        }
}

/* The root of a class and index on rank 0. */
static void *find(const struct result *r, uint8_t cls, uint32_t index, void *(*cell)(void *, uint32_t),
                  void *engine)
{
    for (uint32_t i = 0; i < r->plan.n_values; i++) {
        const struct value *v = &r->plan.values[i];
        if (v->cls == cls && v->root == i && v->rank == 0 && v->index == index)
            return cell(engine, i);
    }
    g_assert_not_reached();
}

/* The gradients as the optimizer sees them: in the buckets, in bucket order, or by layer. */
static void keep_gradients(struct result *r, void *(*cell)(void *, uint32_t), void *engine)
{
    const struct tables *t = &r->plan.t;
    g_autofree const char **at = g_new(const char *, t->n_params);
    for (uint32_t p = 0; p < t->n_params && !r->bucket_view; p++) {
        const struct param *param = &r->model->params[p];
        at[p] = (char *)find(r, VALUE_GRAD, param->layer, cell, engine) +
                param->offset * dtype_bytes(r->model->dtype);
    }
    for (uint32_t b = 0; b < t->n_buckets && r->bucket_view; b++) {
        const char *next = find(r, VALUE_BUCKET, b, cell, engine);
        for (uint32_t i = 0; i < t->buckets[b].n_params; i++) {
            uint32_t p = t->bucket_params[t->buckets[b].first_param + i];
            at[p] = next;
            next += t->params[p].bytes;
        }
    }
    uint64_t n = 0;
    r->grad = g_new0(double, r->model->numel);
    for (uint32_t p = 0; p < t->n_params; p++)
        for (uint64_t i = 0; i < r->model->params[p].numel; i++)
            r->grad[n++] = number(r->model, at[p], i);
}

static void look(void *user, uint32_t step, bool measured, void *(*cell)(void *, uint32_t), void *engine)
{
    struct result *r = user;
    r->looks++;
    check_equal(r, VALUE_WEIGHT, cell, engine);
    check_equal(r, VALUE_MOMENT, cell, engine);
    check_equal(r, VALUE_VARIANCE, cell, engine);
    check_equal(r, r->bucket_view ? VALUE_BUCKET : VALUE_GRAD, cell, engine);
    if (measured && step == 0)
        keep_gradients(r, cell, engine);
}

static struct model *load(const struct setup *s)
{
    GError *error = NULL;
    struct model_override small = {
        .layers = 2, .d = 16, .heads = 2, .ff = 32, .vocab = 50, .seq = 6, .dtype = s->dtype};
    if (strcmp(s->model, "mlp") == 0)
        small.heads = small.ff = 0;
    struct model *model = model_load(s->model, &small, &error);
    g_assert_no_error(error);
    return model;
}

/* at_rest: looks at every step, which keeps the walker from running ahead. */
static void train(const struct setup *s, bool at_rest, struct result *r)
{
    GError *error = NULL;
    *r = (struct result){.model = load(s), .bucket_view = s->bucket_view};
    struct shape shape = {.model = r->model,
                          .ranks = s->ranks,
                          .batch = s->batch,
                          .overlap = s->overlap,
                          .algo = s->algo,
                          .optimizer = s->optimizer,
                          .accumulate = s->accumulate,
                          .clip = s->clip_norm > 0,
                          .bucket_view = s->bucket_view,
                          .first_iteration = s->first_iteration,
                          .bucket_bytes = s->bucket_bytes,
                          .first_bucket_bytes = s->bucket_bytes};
    plan_make(s->mode, &shape, &r->plan, &error);
    g_assert_no_error(error);
    plan_place(&r->plan);
    struct run run = {.plan = &r->plan,
                      .model = r->model,
                      .warmup = s->warmup,
                      .steps = STEPS,
                      .seed = 11,
                      .lr = s->lr,
                      .momentum = 0.9,
                      .clip_norm = s->clip_norm,
                      .data_step = s->data_step,
                      .observe = at_rest ? look : NULL,
                      .user = r};
    struct trace trace;
    trace_init(&trace);
    if (s->jitter) {
        g_autofree char *text = g_strdup_printf("%u", s->jitter);
        g_setenv("PARPROF_JITTER", text, TRUE);
    }
    cpu_engine.run(&run, &trace, &error);
    g_unsetenv("PARPROF_JITTER");
    g_assert_no_error(error);
    g_assert_cmpuint(trace.n_steps, ==, STEPS);
    g_assert_cmpuint(r->looks, ==, at_rest ? s->warmup + STEPS : 0);
    memcpy(r->loss, trace.loss, sizeof r->loss);
    r->weight_hash = trace.weight_hash[0];
    for (uint32_t i = 1; i < s->ranks; i++)
        g_assert_cmpuint(trace.weight_hash[i], ==, r->weight_hash);
    trace_release(&trace);
}

static void release(struct result *r)
{
    g_free(r->grad);
    plan_release(&r->plan);
    model_free(r->model);
}

static void compare(const struct result *got, const struct result *single, double loss_error,
                    double grad_error, double all_error)
{
    const struct model *model = single->model;
    for (unsigned i = 0; i < STEPS; i++) {
        g_assert_cmpfloat(single->loss[i], >, 0);
        g_assert_cmpfloat(fabs(got->loss[i] - single->loss[i]), <=, loss_error * fabs(single->loss[i]));
    }
    g_autofree char *off = norm_rule(model, got->grad, single->grad, grad_error, all_error);
    if (off)
        g_error("gradient: %s", off);
}

static void check_split(const struct setup *split)
{
    struct setup alone = *split;
    struct result single, got, ahead;
    bool f32 = split->dtype == DTYPE_F32;
    alone.mode = &mode_single;
    alone.ranks = alone.accumulate = 1;
    alone.bucket_view = alone.first_iteration = false;
    train(&alone, true, &single);
    train(split, true, &got);
    compare(&got, &single, f32 ? 1e-5 : 1e-12, f32 ? 1e-5 : 1e-12, f32 ? 1e-7 : 1e-14);
    train(split, false, &ahead);
    g_assert_cmpmem(ahead.loss, sizeof ahead.loss, got.loss, sizeof got.loss);
    g_assert_cmpuint(ahead.weight_hash, ==, got.weight_hash);
    release(&single);
    release(&got);
    release(&ahead);
}

static const struct setup base = {.model = "mini",
                                  .mode = &mode_ddp,
                                  .ranks = 2,
                                  .batch = 4,
                                  .algo = ALLREDUCE_RING,
                                  .warmup = 1,
                                  .lr = 0.1};

/* --- every option with every other */

enum { OVERLAP, BUCKETS, RANKS, ACCUMULATE, OPTIMIZER, VIEW, CLIP, ALGO, FACTORS };
static const uint8_t levels[FACTORS] = {OVERLAPS, 3, 4, 3, OPTIMIZERS, 2, 2, ALLREDUCES - 1};

/* Uneven wherever that is possible: ranks and micro-batches with more, less and no samples. */
static void check_combination(const uint8_t *level)
{
    static const uint64_t buckets[] = {0, 5000, 25 << 20};
    static const uint32_t batches[] = {5, 7, 7, 9};
    struct setup s = base;
    s.overlap = level[OVERLAP];
    s.bucket_bytes = buckets[level[BUCKETS]];
    s.ranks = level[RANKS] + 1u;
    s.batch = batches[level[RANKS]];
    s.accumulate = level[ACCUMULATE] + 1u;
    s.optimizer = level[OPTIMIZER];
    s.bucket_view = level[VIEW];
    s.clip_norm = level[CLIP] ? 0.3 : 0;
    s.algo = (uint8_t)(level[ALGO] + ALLREDUCE_RING);
    s.lr = s.optimizer == OPTIMIZER_ADAM ? 1e-3 : 0.1;
    s.jitter = g_test_slow() ? level[BUCKETS] + 1u : 0;
    g_test_message("overlap %u, bucket %u, ranks %u, accumulate %u, optimizer %u, view %u, clip %u, algo %u",
                   level[0], level[1], s.ranks, s.accumulate, level[4], level[5], level[6], s.algo);
    check_split(&s);
}

static struct pairs array = {.n = FACTORS, .levels = levels};

/* Combination `id`; false for one that is refused. */
static bool combination(uint32_t id, uint8_t *level)
{
    pairs_combination(&array, id, level);
    return !(level[OVERLAP] == OVERLAP_OPTIMIZER && level[CLIP]);
}

/* Overlap x buckets x ranks x algorithm, all of them, the rest at its first level. */
static void check_algorithms(void)
{
    static const unsigned crossed[] = {OVERLAP, BUCKETS, RANKS, ALGO};
    uint32_t n = 1;
    for (unsigned k = 0; k < G_N_ELEMENTS(crossed); k++)
        n *= levels[crossed[k]];
    for (uint32_t id = 0; id < n; id++) {
        uint8_t level[FACTORS] = {0};
        for (uint32_t k = 0, rest = id; k < G_N_ELEMENTS(crossed); rest /= levels[crossed[k++]])
            level[crossed[k]] = (uint8_t)(rest % levels[crossed[k]]);
        check_combination(level);
    }
}

/* Few that have every pair: always the combination with the most new pairs. */
static void check_pairs(uint32_t n)
{
    uint8_t level[FACTORS];
    for (unsigned most = 1; most;) {
        uint32_t best = 0;
        most = 0;
        for (uint32_t id = 0; id < n; id++)
            if (combination(id, level) && pairs_new(&array, level, false) > most) {
                most = pairs_new(&array, level, false);
                best = id;
            }
        combination(best, level);
        if (most) {
            pairs_new(&array, level, true);
            check_combination(level);
        }
    }
}

/* Slow: every combination of the options before CLIP, each with another of the rest. */
static void test_split(void)
{
    uint32_t n = 1, before = 1;
    uint8_t level[FACTORS];
    for (unsigned f = 0; f < FACTORS; f++) {
        n *= levels[f];
        before *= f < CLIP ? levels[f] : 1;
    }
    if (!g_test_slow()) {
        check_pairs(n);
        return;
    }
    for (uint32_t id = 0; id < before; id++) {
        if (!combination(id + before * (5 * id % (n / before)), level))
            level[CLIP] = 0;
        check_combination(level);
    }
    check_algorithms();
}

static void test_first_iteration(void)
{
    struct setup s = base;
    s.first_iteration = true;
    for (s.ranks = 1; s.ranks <= 4; s.ranks++)
        for (s.accumulate = 1; s.accumulate <= 2; s.accumulate++) {
            s.batch = 2 * s.ranks + 1;
            s.jitter = s.accumulate - 1;
            s.algo = (uint8_t)s.ranks;
            check_split(&s);
        }
}

static void test_split_f64(void)
{
    struct setup s = base;
    s.dtype = DTYPE_F64;
    s.overlap = OVERLAP_BACKWARD;
    s.bucket_bytes = 9000;
    check_split(&s);
    s.ranks = 4;
    s.batch = 5; /* 2, 2, 1 and none */
    check_split(&s);
}

static void test_split_classes(void)
{
    struct setup s = base;
    s.model = "bert-base";
    s.ranks = 3;
    s.batch = 8;
    s.overlap = OVERLAP_BACKWARD;
    s.bucket_bytes = 20000;
    check_split(&s);
}

/* Dropout, a tied head, norms before and behind: nothing shows how the samples were split. */
static void test_split_models(void)
{
    static const char *const names[] = {"gpt2", "transformer-lm", "mlp"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        struct setup s = base;
        s.model = names[i];
        s.overlap = OVERLAP_BACKWARD;
        s.bucket_bytes = 3000;
        s.dtype = DTYPE_F64;
        for (s.ranks = 2, s.batch = 7; s.ranks <= 3; s.ranks++)
            check_split(&s);
        s.dtype = DTYPE_F32;
        s.accumulate = 2;
        check_split(&s);
        s.overlap = OVERLAP_OPTIMIZER;
        s.bucket_view = true;
        s.optimizer = OPTIMIZER_MOMENTUM;
        check_split(&s);
    }
}

/* A head that multiplies by the words, dropout keyed by sample: neither the ranks nor the micro-batches show.
 */
static void test_split_tied(void)
{
    struct setup s = base;
    s.model = "gpt2";
    s.ranks = 3;
    s.batch = 8;
    s.optimizer = OPTIMIZER_MOMENTUM;
    s.bucket_bytes = 5000;
    for (unsigned i = 0; i < 2 * OVERLAPS; i++) {
        s.overlap = (uint8_t)(i % OVERLAPS);
        s.bucket_view = i >= OVERLAPS;
        s.accumulate = i % 2 + 1;
        check_split(&s);
    }
}

/* Delays change when things happen, not one bit of what they give. */
static void test_jitter(void)
{
    struct setup s = base;
    s.ranks = 3;
    s.batch = 7;
    s.bucket_bytes = 5000;
    s.accumulate = 2;
    s.optimizer = OPTIMIZER_MOMENTUM;
    for (unsigned i = 0; i < 2 * OVERLAPS; i++) {
        struct result steady, shaken;
        s.overlap = (uint8_t)(i % OVERLAPS);
        s.bucket_view = i >= OVERLAPS;
        s.jitter = 0;
        train(&s, true, &steady);
        for (s.jitter = 1; s.jitter <= 5; s.jitter++) {
            train(&s, s.jitter & 1, &shaken);
            g_assert_cmpmem(shaken.loss, sizeof shaken.loss, steady.loss, sizeof steady.loss);
            g_assert_cmpuint(shaken.weight_hash, ==, steady.weight_hash);
            release(&shaken);
        }
        release(&steady);
    }
}

/* Warming up leaves nothing behind. */
static void check_warmup(uint8_t optimizer)
{
    struct setup s = base;
    struct result cold, warm;
    s.optimizer = optimizer;
    s.lr = 0.01;
    s.warmup = 0;
    train(&s, false, &cold);
    s.warmup = 3;
    train(&s, false, &warm);
    g_assert_cmpmem(warm.loss, sizeof warm.loss, cold.loss, sizeof cold.loss);
    g_assert_cmpuint(warm.weight_hash, ==, cold.weight_hash);
    g_assert_cmpfloat(cold.loss[STEPS - 1], !=, cold.loss[0]);
    release(&cold);
    release(&warm);
}

static void test_warmup(void)
{
    for (uint8_t i = 0; i < OPTIMIZERS; i++)
        check_warmup(i);
}

/* Step k of a run is step k + data_step of the data. */
static void test_data_position(void)
{
    struct setup s = base;
    struct result from_0, from_2;
    s.lr = 0;
    train(&s, false, &from_0);
    s.data_step = 2;
    train(&s, false, &from_2);
    g_assert_cmpfloat(from_2.loss[0], ==, from_0.loss[2]);
    g_assert_cmpfloat(from_2.loss[0], !=, from_0.loss[0]);
    release(&from_0);
    release(&from_2);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/train/split", test_split);
    g_test_add_func("/train/first-iteration", test_first_iteration);
    g_test_add_func("/train/split-f64", test_split_f64);
    g_test_add_func("/train/split-classes", test_split_classes);
    g_test_add_func("/train/split-models", test_split_models);
    g_test_add_func("/train/split-tied", test_split_tied);
    g_test_add_func("/train/jitter", test_jitter);
    g_test_add_func("/train/warmup", test_warmup);
    g_test_add_func("/train/data-position", test_data_position);
    return g_test_run();
}
