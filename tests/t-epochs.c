/* What training over epochs stands on: runs that take up where another ended, against one run of all steps;
 * and plans of what losses need alone, against the first step of training. */
#include <string.h>

#include "exec/exec.h"
#include "exec/state.h"
#include "plan/schedule.h"
#include "plan/split.h"
#include "profile/trace.h"
#include "tests/tap.h"

enum { STEPS = 6 };

struct setup {
    const char *name, *model;
    const struct mode *mode;
    uint32_t ranks, batch;
    uint8_t optimizer;
    const char *schedule;
    uint32_t chunks, per_rank;
    uint8_t overlap, algo, gather;
    bool clip, bucket_view, sum;
};

static const struct setup setups[] = {
    {"single", "mini", &mode_single, 1, 5, OPTIMIZER_SGD},
    {"single-adam", "gpt2", &mode_single, 1, 4, OPTIMIZER_ADAM},
    {"ddp", "mini", &mode_ddp, 3, 7, OPTIMIZER_ADAM, .overlap = OVERLAP_OPTIMIZER, .clip = false},
    {"ddp-whole", "bert-base", &mode_ddp, 2, 4, OPTIMIZER_MOMENTUM, .algo = ALLREDUCE_TREE, .clip = true},
    {"ddp-view", "gpt2", &mode_ddp, 2, 6, OPTIMIZER_ADAM, .bucket_view = true},
    {"dp-logits", "transformer-lm", &mode_dp, 3, 7, OPTIMIZER_ADAM, .gather = GATHER_LOGITS},
    {"dp-loss", "mini", &mode_dp, 2, 5, OPTIMIZER_MOMENTUM, .gather = GATHER_LOSS},
    {"naive", "mini", &mode_pipeline, 2, 6, OPTIMIZER_SGD, "naive", 3, 1},
    {"gpipe", "transformer-lm", &mode_pipeline, 3, 7, OPTIMIZER_ADAM, "gpipe", 4, 1, .clip = true},
    {"1f1b-tied", "gpt2", &mode_pipeline, 3, 8, OPTIMIZER_ADAM, "1f1b", 4, 1},
    {"interleaved", "mini", &mode_pipeline, 2, 8, OPTIMIZER_MOMENTUM, "interleaved", 4, 2},
    {"zbv", "gpt2", &mode_pipeline, 2, 8, OPTIMIZER_ADAM, "zbv", 4, 2},
    {"dualpipev", "mini", &mode_pipeline, 2, 8, OPTIMIZER_SGD, "dualpipev", 4, 2},
    {"pipedream", "mini", &mode_pipeline, 2, 6, OPTIMIZER_ADAM, "pipedream", 3, 1},
};

static struct model *load(const struct setup *s)
{
    GError *error = NULL;
    struct model_override small = {
        .layers = 6, .d = 16, .heads = 2, .ff = 32, .vocab = 50, .seq = 6, .dtype = DTYPE_F64};
    struct model *model = model_load(s->model, &small, &error);
    g_assert_no_error(error);
    return model;
}

static void make(const struct setup *s, const struct model *model, bool forward_only, struct plan *plan)
{
    GError *error = NULL;
    const struct shape shape = {.model = model,
                                .ranks = s->ranks,
                                .batch = s->batch,
                                .optimizer = s->optimizer,
                                .overlap = s->overlap ? s->overlap : OVERLAP_BACKWARD,
                                .algo = s->algo ? s->algo : ALLREDUCE_RING,
                                .bucket_bytes = 3000,
                                .first_bucket_bytes = 3000,
                                .gather = s->gather,
                                .clip = s->clip,
                                .bucket_view = s->bucket_view,
                                .schedule = s->schedule ? schedule_find(s->schedule) : NULL,
                                .chunks = s->chunks,
                                .stages_per_rank = s->per_rank,
                                .split = split_rules[0],
                                .forward_only = forward_only};
    plan_make(s->mode, &shape, plan, &error);
    g_assert_no_error(error);
    plan_place(plan);
}

struct taught {
    double loss[STEPS];
    uint32_t n, begun;
};

static void begun(void *user)
{
    struct taught *t = user;
    t->begun++;
}

static void learned(void *user, double loss)
{
    struct taught *t = user;
    g_assert_cmpuint(t->n, <, STEPS);
    t->loss[t->n++] = loss;
}

/* Of `ahead + steps` steps from the n-th on. */
static void run(const struct setup *s, const struct plan *plan, const struct model *model, uint32_t ahead,
                uint32_t steps, const struct state *begin, struct state *end, struct taught *t,
                struct trace *trace)
{
    GError *error = NULL;
    const struct run run = {.plan = plan,
                            .model = model,
                            .warmup = 1,
                            .ahead = ahead,
                            .steps = steps,
                            .seed = 5,
                            .lr = s->optimizer == OPTIMIZER_ADAM ? 1e-2 : 0.1,
                            .momentum = 0.9,
                            .clip_norm = s->clip ? 0.7 : 0,
                            .data_step = t->n,
                            .begin = begin,
                            .end = end,
                            .begun = begun,
                            .learned = learned,
                            .user = t};
    const uint32_t before = t->begun;
    trace_init(trace);
    cpu_engine.run(&run, trace, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(t->begun, ==, before + 1);
    g_assert_cmpuint(trace->n_steps, ==, steps);
    g_assert_cmpmem(trace->loss, steps * sizeof(double), t->loss + t->n - steps, steps * sizeof(double));
}

static void test_carried(const void *data)
{
    const struct setup *s = data;
    struct model *model = load(s);
    struct plan plan;
    struct trace whole, part;
    struct taught at_once = {0}, in_parts = {0};
    make(s, model, false, &plan);
    run(s, &plan, model, 0, STEPS, NULL, NULL, &at_once, &whole);
    struct state *first = state_new(model), *second = state_new(model);
    run(s, &plan, model, 0, 2, NULL, first, &in_parts, &part);
    trace_release(&part);
    run(s, &plan, model, 1, 1, first, second, &in_parts, &part);
    trace_release(&part);
    run(s, &plan, model, 1, 1, second, NULL, &in_parts, &part);
    g_assert_cmpuint(in_parts.n, ==, STEPS);
    g_assert_cmpmem(in_parts.loss, sizeof in_parts.loss, at_once.loss, sizeof at_once.loss);
    g_assert_true(!whole.weight_hash == !part.weight_hash);
    if (whole.weight_hash)
        g_assert_cmpmem(whole.weight_hash, s->ranks * 8, part.weight_hash, s->ranks * 8);
    g_assert_cmpuint(state_updates(second), ==, 4 * MAX(plan.n_updates, 1));
    trace_release(&whole);
    trace_release(&part);
    state_unref(first);
    state_unref(second);
    plan_release(&plan);
    model_free(model);
}

static uint64_t arena(const struct plan *plan)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan->t.n_ranks; i++)
        bytes += plan->arena_bytes[i];
    return bytes;
}

/* Without dropout the losses are those of the first step of training; nothing that is only for gradients is
 * left, and a second look changes nothing. */
static void test_forward(const void *data)
{
    static const uint8_t foreign[] = {OP_BWD,  OP_BWD_INPUT, OP_BWD_WEIGHT, OP_OPTIM, OP_NORM,     OP_CLIP,
                                      OP_PACK, OP_UNPACK,    OP_ALLREDUCE,  OP_STASH, OP_RECOMPUTE};
    const struct setup *s = data;
    struct model *model = load(s);
    model->dims.dropout = 0;
    struct plan training, forward;
    struct trace trace;
    struct taught once = {0}, twice = {0};
    GError *error = NULL;
    make(s, model, false, &training);
    make(s, model, true, &forward);
    for (uint32_t i = 0; i < forward.n_ops; i++)
        g_assert_null(memchr(foreign, forward.ops[i].tag.kind, sizeof foreign));
    plan_check_run(&forward, model, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(arena(&forward), <, arena(&training) * 3 / 4);
    run(s, &training, model, 0, 1, NULL, NULL, &once, &trace);
    trace_release(&trace);
    run(s, &forward, model, 0, 1, NULL, NULL, &twice, &trace);
    trace_release(&trace);
    g_assert_cmpfloat(once.loss[0], ==, twice.loss[0]);
    plan_release(&training);
    plan_release(&forward);
    model_free(model);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    for (unsigned i = 0; i < G_N_ELEMENTS(setups); i++) {
        g_autofree char *carried = g_strdup_printf("/epochs/carried/%s", setups[i].name),
                        *forward = g_strdup_printf("/epochs/forward/%s", setups[i].name);
        g_test_add_data_func(carried, &setups[i], test_carried);
        /* the weights of later micro-batches come from the first ones' backward */
        if (!setups[i].schedule || strcmp(setups[i].schedule, "pipedream"))
            g_test_add_data_func(forward, &setups[i], test_forward);
    }
    return g_test_run();
}
