/* tests/cuda-train.c -- cuda-train CASE...: trains on GPUs, split over ranks, and alone on the CPU, and
 * compares losses, gradients and weights.  A case is RANKS:GPUS:OVERLAP:ALGO:BUCKET_BYTES[:OPTION]...,
 * options momentum, adam, view, clip, accumulate, tf32, traced.  Cases that this machine has not the GPUs for
 * are an error.  Exit status 1: numbers differ. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exec/cuda.h"
#include "exec/exec.h"
#include "plan/mode.h"
#include "profile/trace.h"
#include "tests/norm-rule.h"
#include "tests/pairs.h"

enum { STEPS = 2 };

struct setup {
    uint32_t ranks, devices, batch;
    uint8_t overlap, algo, dtype, optimizer;
    uint64_t bucket_bytes;
    uint32_t accumulate;
    bool view, clip, traced;
};

/* What a run leaves: losses of the measured steps, gradients and weights of rank 0 at the end of the first of
 * them. */
struct result {
    struct model *model;
    struct plan plan;
    const struct setup *setup;
    double loss[STEPS];
    float *grad, *weight;
    bool unequal; /* ranks do not hold the same weights */
};

static const void *find(const struct result *r, uint8_t cls, uint32_t rank, uint32_t index,
                        void *(*cell)(void *, uint32_t), void *engine)
{
    for (uint32_t i = 0; i < r->plan.n_values; i++) {
        const struct value *v = &r->plan.values[i];
        if (v->cls == cls && v->root == i && v->rank == rank && v->index == index)
            return cell(engine, i);
    }
    g_assert_not_reached();
}

/* Parameters as one array, in the order of the model. */
static float *gather(const struct result *r, uint8_t cls, uint32_t rank, void *(*cell)(void *, uint32_t),
                     void *engine)
{
    const struct tables *t = &r->plan.t;
    float *out = g_new(float, r->model->numel), *next = out;
    g_autofree const char **at = g_new(const char *, t->n_params);
    for (uint32_t p = 0; p < t->n_params && cls != VALUE_BUCKET; p++)
        at[p] = (const char *)find(r, cls, rank, r->model->params[p].layer, cell, engine) +
                r->model->params[p].offset * sizeof(float);
    for (uint32_t b = 0; b < t->n_buckets && cls == VALUE_BUCKET; b++) {
        const char *cells = find(r, cls, rank, b, cell, engine);
        for (uint32_t i = 0; i < t->buckets[b].n_params; i++) {
            uint32_t p = t->bucket_params[t->buckets[b].first_param + i];
            at[p] = cells;
            cells += t->params[p].bytes;
        }
    }
    for (uint32_t p = 0; p < t->n_params; p++, next += r->model->params[p - 1].numel)
        memcpy(next, at[p], r->model->params[p].numel * sizeof(float));
    return out;
}

static void look(void *user, uint32_t step, bool measured, void *(*cell)(void *, uint32_t), void *engine)
{
    struct result *r = user;
    (void)step;
    for (uint32_t rank = 1; rank < r->setup->ranks; rank++) {
        g_autofree float *own = gather(r, VALUE_WEIGHT, rank, cell, engine);
        g_autofree float *first = gather(r, VALUE_WEIGHT, 0, cell, engine);
        r->unequal = r->unequal || memcmp(own, first, r->model->numel * sizeof(float)) != 0;
    }
    if (measured && !r->grad) {
        r->grad = gather(r, r->setup->view ? VALUE_BUCKET : VALUE_GRAD, 0, cell, engine);
        r->weight = gather(r, VALUE_WEIGHT, 0, cell, engine);
    }
}

static bool train(const struct engine *engine, const struct mode *mode, const struct setup *s, bool at_rest,
                  struct result *r, GError **error)
{
    struct model_override small = {
        .layers = 1, .d = 16, .heads = 2, .ff = 32, .vocab = 50, .seq = 6, .dtype = s->dtype};
    *r = (struct result){.setup = s, .model = model_load("mini", &small, error)};
    if (!r->model)
        return false;
    struct shape shape = {.model = r->model,
                          .ranks = s->ranks,
                          .batch = s->batch,
                          .overlap = s->overlap,
                          .algo = s->algo,
                          .optimizer = s->optimizer,
                          .accumulate = s->accumulate,
                          .clip = s->clip,
                          .bucket_view = s->view,
                          .bucket_bytes = s->bucket_bytes,
                          .first_bucket_bytes = s->bucket_bytes,
                          .devices = s->devices};
    if (!plan_make(mode, &shape, &r->plan, error))
        return false;
    plan_place(&r->plan);
    struct run run = {.plan = &r->plan,
                      .model = r->model,
                      .warmup = 1,
                      .steps = STEPS,
                      .seed = 11,
                      .lr = s->optimizer == OPTIMIZER_ADAM ? 1e-3 : 0.1,
                      .momentum = 0.9,
                      .clip_norm = s->clip ? 0.3 : 0,
                      .untraced = !s->traced,
                      .timeout_s = 60,
                      .observe = at_rest ? look : NULL,
                      .user = r};
    struct trace trace;
    trace_init(&trace);
    bool ok = engine->run(&run, &trace, error);
    if (ok)
        memcpy(r->loss, trace.loss, sizeof r->loss);
    trace_release(&trace);
    return ok;
}

static void release(struct result *r)
{
    g_free(r->grad);
    g_free(r->weight);
    plan_release(&r->plan);
    model_free(r->model);
}

static double *widened(const float *x, uint64_t n)
{
    double *wide = g_new(double, n);
    for (uint64_t i = 0; i < n; i++)
        wide[i] = (double)x[i];
    return wide;
}

static bool close_to(const char *what, const struct model *model, const float *got, const float *want,
                     double own_error, double all_error)
{
    g_autofree double *left = widened(got, model->numel), *right = widened(want, model->numel);
    g_autofree char *off = norm_rule(model, left, right, own_error, all_error);
    if (off)
        fprintf(stderr, "%s: %s\n", what, off);
    return !off;
}

static bool same_losses(const struct result *got, const struct result *want, double error)
{
    for (unsigned i = 0; i < STEPS; i++)
        if (!(want->loss[i] > 0 && fabs(got->loss[i] - want->loss[i]) <= error * want->loss[i])) {
            fprintf(stderr, "loss of step %u is %.9g, not %.9g\n", i, got->loss[i], want->loss[i]);
            return false;
        }
    return true;
}

static bool parse(const char *text, struct setup *s)
{
    g_auto(GStrv) words = g_strsplit(text, ":", -1);
    if (g_strv_length(words) < 5)
        return false;
    *s = (struct setup){.ranks = (uint32_t)atoi(words[0]),
                        .devices = (uint32_t)atoi(words[1]),
                        .batch = 2 * (uint32_t)atoi(words[0]) + 1,
                        .overlap = OVERLAPS,
                        .algo = ALLREDUCES,
                        .dtype = DTYPE_F32,
                        .bucket_bytes = g_ascii_strtoull(words[4], NULL, 10),
                        .accumulate = 1};
    for (uint8_t i = 0; i < OVERLAPS; i++)
        s->overlap = strcmp(words[2], overlap_name(i)) == 0 ? i : s->overlap;
    for (uint8_t i = 0; i < ALLREDUCES; i++)
        s->algo = strcmp(words[3], i == ALLREDUCE_WHOLE ? "nccl" : allreduce_name(i)) == 0 ? i : s->algo;
    for (unsigned i = 5; words[i]; i++) {
        s->view = s->view || strcmp(words[i], "view") == 0;
        s->clip = s->clip || strcmp(words[i], "clip") == 0;
        s->traced = s->traced || strcmp(words[i], "traced") == 0;
        s->accumulate = strcmp(words[i], "accumulate") == 0 ? 2 : s->accumulate;
        s->dtype = strcmp(words[i], "tf32") == 0 ? DTYPE_TF32 : s->dtype;
        s->optimizer = strcmp(words[i], "adam") == 0       ? OPTIMIZER_ADAM
                       : strcmp(words[i], "momentum") == 0 ? OPTIMIZER_MOMENTUM
                                                           : s->optimizer;
    }
    return s->ranks && s->overlap < OVERLAPS && s->algo < ALLREDUCES;
}

/* Adam turns the rounding of a gradient near 0 into a whole step, so that its weights say nothing. */
static bool same(const struct setup *s, const struct result *got, const struct result *ahead,
                 const struct result *want)
{
    const struct model *model = want->model;
    bool tf32 = s->dtype == DTYPE_TF32;
    double loss_error = tf32 ? 1e-2 : 1e-5, own_error = tf32 ? 5e-2 : 2e-5, all_error = tf32 ? 1e-2 : 1e-6;
    if (got->unequal)
        fprintf(stderr, "the ranks' weights differ\n");
    bool steady = memcmp(got->loss, ahead->loss, sizeof got->loss) == 0;
    if (!steady)
        fprintf(stderr, "running ahead of the devices changes losses\n");
    return !got->unequal && steady && same_losses(got, want, loss_error) &&
           close_to("gradient", model, got->grad, want->grad, own_error, all_error) &&
           (s->optimizer == OPTIMIZER_ADAM ||
            close_to("weight", model, got->weight, want->weight, own_error, all_error));
}

static bool check_case(const struct setup *s, GError **error)
{
    struct setup alone = *s;
    struct result want = {0}, got = {0}, ahead = {0};
    alone.ranks = alone.devices = alone.accumulate = 1;
    alone.view = false;
    alone.algo = ALLREDUCE_RING;
    alone.dtype = DTYPE_F32;
    bool ok = train(&cpu_engine, &mode_single, &alone, true, &want, error) &&
              train(&cuda_engine, &mode_ddp, s, true, &got, error) &&
              train(&cuda_engine, &mode_ddp, s, false, &ahead, error) && same(s, &got, &ahead, &want);
    release(&want);
    release(&got);
    release(&ahead);
    return ok;
}

/* --- cases */

enum { PLACES, OVERLAP, ALGO, BUCKETS, OPTIMIZER, VIEW, CLIP, ACCUMULATE, DTYPE, FACTORS };
static const uint8_t levels[FACTORS] = {5, OVERLAPS, ALLREDUCES, 3, OPTIMIZERS, 2, 2, 2, 2};
static const char *const places[] = {"2:2", "2:1", "3:3", "4:2", "4:1"};

static struct pairs array = {.n = FACTORS, .levels = levels};

/* Case `id`, mixed radix; false for one that is refused: NCCL with two ranks on a GPU, clipping before all is
 * reduced. */
static bool decode(uint32_t id, uint8_t *level)
{
    pairs_combination(&array, id, level);
    bool shared = places[level[PLACES]][0] != places[level[PLACES]][2];
    return !(shared && level[ALGO] == ALLREDUCE_WHOLE) &&
           !(level[CLIP] && level[OVERLAP] == OVERLAP_OPTIMIZER);
}

static void print_case(const uint8_t *level)
{
    static const char *const buckets[] = {"0", "5000", "26214400"}, *const optimizers[] = {"", ":momentum",
                                                                                           ":adam"};
    printf("%s:%s:%s:%s%s%s%s%s%s\n", places[level[PLACES]], overlap_name(level[OVERLAP]),
           level[ALGO] == ALLREDUCE_WHOLE ? "nccl" : allreduce_name(level[ALGO]), buckets[level[BUCKETS]],
           optimizers[level[OPTIMIZER]], level[VIEW] ? ":view" : "", level[CLIP] ? ":clip" : "",
           level[ACCUMULATE] ? ":accumulate" : "", level[DTYPE] ? ":tf32" : "");
}

/* Few that have every pair: always the case with the most new pairs. */
static void print_pairs(uint32_t n)
{
    uint8_t level[FACTORS];
    for (unsigned most = 1; most;) {
        uint32_t best = 0;
        most = 0;
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t id = (uint32_t)((uint64_t)i * 7919 % n); /* so that what is free varies */
            if (decode(id, level) && pairs_new(&array, level, false) > most) {
                most = pairs_new(&array, level, false);
                best = id;
            }
        }
        if (!most)
            return;
        decode(best, level);
        pairs_new(&array, level, true);
        print_case(level);
    }
}

/* Every place, overlap, algorithm and bucket size, each with another of the rest. */
static void print_all(uint32_t n)
{
    const uint32_t crossed = 5u * OVERLAPS * ALLREDUCES * 3;
    uint8_t level[FACTORS];
    for (uint32_t id = 0; id < crossed; id++) {
        bool legal = decode(id + crossed * (5 * id % (n / crossed)), level);
        level[CLIP] = legal ? level[CLIP] : 0;
        if (legal || places[level[PLACES]][0] == places[level[PLACES]][2] || level[ALGO] != ALLREDUCE_WHOLE)
            print_case(level);
    }
}

static void print_cases(bool all)
{
    uint32_t n = 1;
    for (unsigned f = 0; f < FACTORS; f++)
        n *= levels[f];
    if (all)
        print_all(n);
    else
        print_pairs(n);
}

int main(int argc, char **argv)
{
    int status = argc > 1 ? 0 : 2;
    if (argc > 1 && strcmp(argv[1], "--cases") == 0) {
        print_cases(argc > 2);
        return 0;
    }
    for (int i = 1; i < argc; i++) {
        g_autoptr(GError) error = NULL;
        struct setup s;
        if (!parse(argv[i], &s)) {
            fprintf(stderr, "cuda-train: %s is no case\n", argv[i]);
            return 2;
        }
        if (!check_case(&s, &error)) {
            fprintf(stderr, "cuda-train: %s: %s\n", argv[i],
                    error ? error->message : "differs from one rank on the CPU");
            status = 1;
        }
    }
    cuda_release();
    return status;
}
