/* Backward in two parts against backward in one, and the ops that update weights from several ranks'
 * gradients: each op of a hand-made step on its own memory, which is not a number until it is written. */
#include <math.h>

#include "tests/hand-plan.h"
#include "tests/step.h"
#include "tests/tap.h"

enum { SAMPLES = 3, RANKS = 3 };

/* A step with everything once more, in parts. */
struct split {
    struct step s;
    uint32_t *pending, *dx, *dw;                 /* values, per layer */
    uint32_t *act, *saved;                       /* what RECOMPUTE writes */
    uint32_t *backward, *input, *weight, *again; /* ops, per layer */
    uint32_t norms, norm, total, stash;          /* values */
    uint32_t norm_op, clip_op, total_op, stash_op;
};

static uint32_t copy_value(struct split *x, uint32_t of)
{
    const struct value v = x->s.plan.values[of];
    return step_value(&x->s, v.cls, v.index, v.bytes);
}

static void add_values(struct split *x)
{
    const struct model *m = x->s.model;
    uint32_t **tables[] = {&x->pending,  &x->dx,    &x->dw,     &x->act,  &x->saved,
                           &x->backward, &x->input, &x->weight, &x->again};
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
        *tables[i] = g_new0(uint32_t, m->n_layers);
    for (uint32_t l = 0; l < m->n_layers; l++) {
        x->pending[l] =
            step_value(&x->s, VALUE_PENDING, l, layer_pending_numel(m, l, SAMPLES) * dtype_bytes(m->dtype));
        x->dx[l] = l ? copy_value(x, x->s.delta[l - 1]) : 0;
        x->dw[l] = copy_value(x, x->s.grad[l]);
        x->act[l] = copy_value(x, x->s.act[l]);
        x->saved[l] = copy_value(x, x->s.saved[l]);
    }
    x->norms = step_value(&x->s, VALUE_NORMS, 0, RANKS * sizeof(double));
    x->norm = step_value(&x->s, VALUE_NORM, 0, 2 * sizeof(double));
    x->total = step_value(&x->s, VALUE_LOSS, 0, sizeof(double));
    x->stash = copy_value(x, x->s.weight[0]);
    x->s.plan.values[x->stash].version = 1;
}

static void begin_op(struct split *x, unsigned kind, uint32_t layer, uint32_t *op)
{
    struct step *s = &x->s;
    *op = step_op(s, kind, layer);
    plan_access(&s->plan, s->weight[step_owner(s, layer)], ACCESS_READ);
    plan_access(&s->plan, layer ? s->act[layer - 1] : s->input, ACCESS_READ);
}

static void add_backward(struct split *x, uint32_t l)
{
    struct step *s = &x->s;
    for (unsigned part = l ? 0 : 1; part < 2; part++) {
        begin_op(x, part ? OP_BWD_WEIGHT : OP_BWD_INPUT, l, part ? &x->weight[l] : &x->input[l]);
        plan_access(&s->plan, s->saved[l], ACCESS_READ);
        plan_access(&s->plan, s->delta[l], ACCESS_READ);
        if (!part)
            plan_access(&s->plan, x->dx[l], ACCESS_WRITE);
        if (l)
            plan_access(&s->plan, x->pending[l], part ? ACCESS_READ : ACCESS_WRITE);
        if (part)
            plan_access(&s->plan, x->dw[step_owner(s, l)], ACCESS_WRITE);
        plan_access(&s->plan, s->scratch, ACCESS_WRITE);
    }
}

static void add_ops(struct split *x)
{
    struct step *s = &x->s;
    const uint32_t n = s->model->n_layers;
    for (uint32_t l = 0; l < n; l++) {
        x->backward[l] = s->backward + n - 1 - l;
        add_backward(x, l);
        begin_op(x, OP_RECOMPUTE, l, &x->again[l]);
        plan_access(&s->plan, x->act[l], ACCESS_WRITE);
        plan_access(&s->plan, x->saved[l], ACCESS_WRITE);
        plan_access(&s->plan, s->scratch, ACCESS_WRITE);
    }
    x->norm_op = step_op(s, OP_NORM, 0);
    plan_access(&s->plan, plan_add_view(&s->plan, x->norms, sizeof(double), sizeof(double)), ACCESS_WRITE);
    for (uint32_t l = 0; l < n; l++)
        plan_access(&s->plan, s->grad[l], ACCESS_READ);
    x->clip_op = step_op(s, OP_CLIP, 0);
    plan_access(&s->plan, x->norm, ACCESS_WRITE);
    plan_access(&s->plan, x->norms, ACCESS_READ);
    x->total_op = step_op(s, OP_TOTAL, 0);
    plan_access(&s->plan, x->norms, ACCESS_READ);
    plan_access(&s->plan, x->total, ACCESS_WRITE);
    x->stash_op = step_op(s, OP_STASH, 0);
    plan_access(&s->plan, s->weight[0], ACCESS_READ);
    plan_access(&s->plan, x->stash, ACCESS_WRITE);
}

static void poison(struct split *x, uint32_t value)
{
    memset(x->s.cell[value], 0xff, x->s.plan.values[value].bytes);
}

/* Cells of the values that were added. */
static void add_cells(struct split *x, uint32_t first)
{
    struct step *s = &x->s;
    s->cell = g_renew(void *, s->cell, s->plan.n_values);
    for (uint32_t v = first; v < s->plan.n_values; v++) {
        const struct value *value = &s->plan.values[v];
        if (value->root != v) {
            s->cell[v] = (char *)s->cell[value->root] + value->offset;
            continue;
        }
        s->cell[v] = g_aligned_alloc(value->bytes + STEP_FENCE, 1, 64);
        poison(x, v);
        memset((char *)s->cell[v] + value->bytes, STEP_FENCE_BYTE, STEP_FENCE);
    }
}

static void split_open(struct split *x, const struct model *model, const struct k_table *k)
{
    *x = (struct split){0};
    step_open(&x->s, model, k, SAMPLES, 1, 0.1);
    const uint32_t first = x->s.plan.n_values;
    add_values(x);
    add_ops(x);
    add_cells(x, first);
    for (uint32_t l = 0; l < model->n_layers; l++) {
        double *w = x->s.cell[x->s.weight[l]];
        for (uint64_t i = 0; i < model->layers[l].numel; i++)
            w[i] = 0.4 * sin(0.7 * (double)i + 1.3 * l) + (i % 3 == 0);
    }
    data_fill(model, 3, 1, 0, SAMPLES, x->s.cell[x->s.input]);
}

static void split_close(struct split *x)
{
    uint32_t *tables[] = {x->pending,  x->dx,    x->dw,     x->act,  x->saved,
                          x->backward, x->input, x->weight, x->again};
    step_close(&x->s);
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
        g_free(tables[i]);
}

static void run(struct split *x, uint32_t op)
{
    poison(x, x->s.scratch);
    step_run(&x->s, op, op + 1);
}

static bool is_finite(const struct split *x, uint32_t value)
{
    const double *v = x->s.cell[value];
    for (uint64_t i = 0; i < x->s.plan.values[value].bytes / sizeof(double); i++)
        if (!isfinite(v[i]))
            return false;
    return true;
}

static void assert_same(const struct split *x, uint32_t layer, const char *what, uint32_t a, uint32_t b)
{
    if (!is_finite(x, a) || memcmp(x->s.cell[a], x->s.cell[b], x->s.plan.values[a].bytes))
        g_error("%s: %s differs", x->s.model->layers[layer].name, what);
}

/* What both gradients of a layer are added to, or what shows if they are not written. */
static void begin_gradients(struct split *x, uint32_t layer, bool accumulate)
{
    struct step *s = &x->s;
    const uint32_t owner = step_owner(s, layer), of[] = {s->grad[owner], x->dw[owner]},
                   ops[] = {x->backward[layer], x->weight[layer]};
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t access = s->plan.ops[ops[i] + 1].first_access - 2;
        s->plan.accesses[access].mode = accumulate ? ACCESS_UPDATE : ACCESS_WRITE;
        poison(x, of[i]);
        for (uint64_t j = 0; j < s->model->layers[owner].numel && accumulate; j++)
            ((double *)s->cell[of[i]])[j] = cos(0.3 * (double)j);
    }
}

/* Weight gradients come when all input gradients are done, so that only what is kept for them is there. */
static void check_split(struct split *x, bool accumulate)
{
    struct step *s = &x->s;
    const uint32_t n = s->model->n_layers;
    step_run(s, 0, s->backward);
    for (uint32_t l = n; l-- > 1;) {
        poison(x, x->pending[l]);
        poison(x, x->dx[l]);
        begin_gradients(x, l, false);
        run(x, x->backward[l]);
        run(x, x->input[l]);
        assert_same(x, l, "input gradient", x->dx[l], s->delta[l - 1]);
    }
    for (uint32_t l = 0; l < n; l++) {
        const uint32_t owner = step_owner(s, l);
        begin_gradients(x, l, accumulate);
        run(x, x->backward[l]);
        run(x, x->weight[l]);
        assert_same(x, l, "weight gradient", x->dw[owner], s->grad[owner]);
    }
}

/* --- kernels are counted as launches on a GPU */

static unsigned launches;
#define COUNTED(name, n, call, ...)                                                                          \
    static int counted_##name(__VA_ARGS__)                                                                   \
    {                                                                                                        \
        launches += (n);                                                                                     \
        return k_ref_f64.name call;                                                                          \
    }
COUNTED(gemm, 1, (s, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), void *s, int ta, int tb, size_t m,
        size_t n, size_t k, double alpha, const void *a, size_t lda, const void *b, size_t ldb, double beta,
        void *c, size_t ldc)
COUNTED(bias_grad, 1, (s, r, n, dy, ld, db, acc), void *s, size_t r, size_t n, const void *dy, size_t ld,
        void *db, int acc)
COUNTED(add_norm_grad, (ds != NULL) + (dg != NULL), (s, r, d, o, sum, g, mean, rstd, plus, ds, dg, db, acc),
        void *s, size_t r, size_t d, const void *o, const void *sum, const void *g, const void *mean,
        const void *rstd, const void *plus, void *ds, void *dg, void *db, int acc)
COUNTED(attention_grad, 5, (s, b, h, q, dh, drop, o, qkv, probs, dropped, dprobs, dqkv), void *s, size_t b,
        size_t h, size_t q, size_t dh, const struct k_dropout *drop, const void *o, const void *qkv,
        const void *probs, void *dropped, void *dprobs, void *dqkv)
COUNTED(dropout, 1, (s, r, n, drop, from, to), void *s, size_t r, size_t n, const struct k_dropout *drop,
        const void *from, void *to)
COUNTED(bias_act_grad, 1, (s, a, r, n, dy, from, dx, db, acc), void *s, int a, size_t r, size_t n,
        const void *dy, const void *from, void *dx, void *db, int acc)
COUNTED(tanh_grad, 1, (s, n, dy, y, dx), void *s, size_t n, const void *dy, const void *y, void *dx)
COUNTED(scale_copy, 1, (s, n, scale, from, to), void *s, size_t n, double scale, const void *from, void *to)
COUNTED(zero, 1, (s, n, to), void *s, size_t n, void *to)

static struct k_table counting(void)
{
    struct k_table k = k_ref_f64;
    k.gemm = counted_gemm, k.bias_grad = counted_bias_grad, k.add_norm_grad = counted_add_norm_grad;
    k.attention_grad = counted_attention_grad, k.dropout = counted_dropout;
    k.bias_act_grad = counted_bias_act_grad, k.tanh_grad = counted_tanh_grad;
    k.scale_copy = counted_scale_copy, k.zero = counted_zero;
    return k;
}

static unsigned launches_of(struct split *x, uint32_t op)
{
    launches = 0;
    run(x, op);
    return launches;
}

static void check_counts(struct split *x)
{
    const struct model *m = x->s.model;
    for (uint32_t l = 0; l < m->n_layers; l++)
        begin_gradients(x, l, false);
    for (uint32_t l = 1; l < m->n_layers; l++) {
        g_assert_cmpuint(launches_of(x, x->input[l]), ==, layer_input_kernels(m, l));
        g_assert_cmpuint(launches_of(x, x->weight[l]), ==, layer_weight_kernels(m, l));
    }
    g_assert_cmpuint(layer_input_kernels(m, 0), ==, 0);
    g_assert_cmpuint(layer_weight_kernels(m, 0), ==, layer_backward_kernels(m, 0));
}

/* --- recomputation */

static void check_again(struct split *x)
{
    for (uint32_t l = 0; l < x->s.model->n_layers; l++) {
        run(x, x->again[l]);
        assert_same(x, l, "output", x->act[l], x->s.act[l]);
        g_assert_cmpmem(x->s.cell[x->saved[l]], x->s.plan.values[x->saved[l]].bytes, x->s.cell[x->s.saved[l]],
                        x->s.plan.values[x->s.saved[l]].bytes);
    }
}

static struct model *small(const char *name)
{
    g_autoptr(GError) error = NULL;
    const bool plain = !strcmp(name, "mlp");
    const struct model_override sizes = {.layers = 2,
                                         .d = 12,
                                         .heads = plain ? 0 : 3,
                                         .ff = plain ? 0 : 20,
                                         .vocab = 11,
                                         .seq = 5,
                                         .dtype = DTYPE_F64};
    struct model *model = model_load(name, &sizes, &error);
    g_assert_no_error(error);
    return model;
}

/* Without dropout, with it, and behind the activation too. */
static void test_model(gconstpointer name)
{
    const struct k_table k = counting();
    for (unsigned drops = 0; drops < 3; drops++) {
        struct model *model = small(name);
        struct split x;
        model->dims.dropout = drops ? 0.3 : 0;
        model->dims.drop_active = drops == 2;
        split_open(&x, model, &k);
        check_split(&x, false);
        check_split(&x, true);
        check_counts(&x);
        check_again(&x);
        split_close(&x);
        model_free(model);
    }
}

/* --- several ranks' norms, losses, and stashes */

static void test_update(void)
{
    struct model *model = small("mini");
    struct split x;
    split_open(&x, model, &k_ref_f64);
    x.s.run.clip_norm = 2;
    double *norms = x.s.cell[x.norms], *norm = x.s.cell[x.norm], squares = 0;
    norms[0] = 0.25, norms[2] = 16;
    step_run(&x.s, 0, x.s.pack);
    for (uint32_t l = 0; l < model->n_layers; l++)
        for (uint64_t i = 0; i < model->layers[l].numel; i++)
            squares += pow(((double *)x.s.cell[x.s.grad[l]])[i], 2);
    run(&x, x.norm_op);
    g_assert_cmpfloat_with_epsilon(norms[1], squares, 1e-12 * squares);
    g_assert_cmpfloat(norms[0], ==, 0.25);
    g_assert_cmpfloat(norms[2], ==, 16);
    run(&x, x.clip_op);
    g_assert_cmpfloat(norm[0], ==, norms[0] + norms[1] + norms[2]);
    g_assert_cmpfloat_with_epsilon(norm[1], 2 / (sqrt(norm[0]) + 1e-6), 1e-12);
    run(&x, x.total_op);
    g_assert_cmpfloat(*(double *)x.s.cell[x.total], ==, norm[0]);
    run(&x, x.stash_op);
    assert_same(&x, 0, "stash", x.s.weight[0], x.stash);
    split_close(&x);
    model_free(model);
}

/* --- what may run */

static bool may_run(struct split *x)
{
    return plan_check_run(&x->s.plan, x->s.model, NULL);
}

/* Every access of these ops of another mode is refused, and every one of too few bytes. */
static void test_contract(void)
{
    struct model *model = small("bert-base");
    struct split x;
    split_open(&x, model, &k_ref_f64);
    struct plan *plan = &x.s.plan;
    g_assert_true(may_run(&x));
    for (uint32_t op = x.s.optim + 1; op < plan->n_ops; op++)
        for (uint32_t a = plan->ops[op].first_access; a < plan->ops[op + 1].first_access; a++) {
            struct access *access = &plan->accesses[a];
            const struct access was = *access;
            const struct value held = plan->values[was.value];
            const bool any = plan->ops[op].tag.kind == OP_CLIP || plan->ops[op].tag.kind == OP_TOTAL;
            access->mode = was.mode == ACCESS_READ ? ACCESS_WRITE : ACCESS_READ;
            g_assert_false(may_run(&x));
            *access = was;
            /* Scratch is of the largest layer; as many norms as there are will do. */
            if (held.bytes && held.cls != VALUE_SCRATCH) {
                access->value =
                    plan_add_view(plan, held.root, held.offset, any ? sizeof(double) - 1 : held.bytes - 1);
                g_assert_false(may_run(&x));
            }
            *access = was;
        }
    plan->ops[x.input[1]].tag.layer0 = 0;
    g_assert_false(may_run(&x));
    plan->ops[x.input[1]].tag.layer0 = 1;
    plan->values[x.stash].flags = VALUE_LIVE_IN;
    g_assert_false(may_run(&x));
    plan->values[x.stash].flags = 0;
    g_assert_true(may_run(&x));
    split_close(&x);
    model_free(model);
}

/* Rank 0 has the tokens and targets of all, rank 1 receives its own: tokens as tokens, targets as targets. */
static void test_received(void)
{
    struct model *model = tiny_model(DTYPE_F64);
    struct plan plan;
    const uint64_t tokens = model->dims.seq * sizeof(int32_t), all = model_input_bytes(model, 2),
                   own = model_input_bytes(model, 1), targets = own - tokens;
    begin_plan(&plan, model, 2);
    const uint32_t input[] = {
        plan_add_value(&plan, &(struct value){.bytes = all, .cls = VALUE_INPUT, .micro = OP_NONE}),
        plan_add_value(&plan, &(struct value){.bytes = own, .rank = 1, .cls = VALUE_INPUT})};
    const uint32_t fill = add_op(&plan, 2, OP_INPUT, OP_NONE, 0);
    plan.ops[fill].tag.micro = OP_NONE;
    plan_access(&plan, input[0], ACCESS_WRITE);
    const uint32_t gang = plan_add_gang(&plan, 0),
                   from_tokens = plan_add_view(&plan, input[0], tokens, tokens),
                   from_targets = plan_add_view(&plan, input[0], 2 * tokens + targets, targets),
                   astray = plan_add_view(&plan, input[0], 2 * tokens, tokens);
    const uint32_t send = add_op(&plan, COMM_LANE, OP_SEND, gang, own);
    plan_dep(&plan, fill);
    plan_access(&plan, from_tokens, ACCESS_READ);
    plan_access(&plan, from_targets, ACCESS_READ);
    add_op(&plan, LANES + COMM_LANE, OP_RECV, gang, own);
    plan_access(&plan, plan_add_view(&plan, input[1], 0, tokens), ACCESS_WRITE);
    plan_access(&plan, plan_add_view(&plan, input[1], tokens, targets), ACCESS_WRITE);
    end_plan(&plan);
    g_assert_true(plan_check_run(&plan, model, NULL));
    struct access *sent = &plan.accesses[plan.ops[send].first_access];
    sent->value = astray;
    g_assert_false(plan_check_run(&plan, model, NULL));
    sent->value = from_tokens;
    plan.values[from_tokens].cls = VALUE_ACT;
    g_assert_false(plan_check_run(&plan, model, NULL));
    plan.values[from_tokens].cls = VALUE_INPUT;
    plan.ops[fill].tag.micro = 0;
    g_assert_false(plan_check_run(&plan, model, NULL));
    plan.ops[fill].tag.micro = OP_NONE;
    g_assert_true(plan_check_run(&plan, model, NULL));
    plan_release(&plan);
    model_free(model);
}

/* Both parts' products make up backward's. */
static void test_flops(gconstpointer name)
{
    g_autoptr(GError) error = NULL;
    struct model *model = model_load(name, NULL, &error);
    g_assert_no_error(error);
    struct gemm gemms[2 * LAYER_GEMMS_MAX];
    for (uint32_t l = 0; l < model->n_layers; l++) {
        const uint64_t input = layer_input_flops(model, l, 5), weight = layer_weight_flops(model, l, 5);
        g_assert_cmpuint(input + weight, ==, layer_backward_flops(model, l, 5));
        g_assert_cmpuint(layer_input_gemms(model, l, 5, gemms) + layer_weight_gemms(model, l, 5, gemms), ==,
                         layer_backward_gemms(model, l, 5, gemms));
        if (l == 0)
            g_assert_true(input == 0 && layer_pending_numel(model, l, 5) == 0);
        else if (model->layers[l].kind != LAYER_ATTENTION)
            g_assert_cmpuint(input, ==, weight);
        else /* scores and context have no weights */
            g_assert_cmpuint(weight, ==, 8 * 5 * (uint64_t)model->dims.seq * model->dims.d * model->dims.d);
    }
    model_free(model);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_auto(GStrv) names = model_list();
    for (unsigned i = 0; names[i]; i++) {
        g_autoptr(GError) error = NULL;
        struct model *model = model_load(names[i], NULL, &error);
        g_assert_no_error(error);
        g_autofree char *split = g_strdup_printf("/backward/%s/split", names[i]),
                        *flops = g_strdup_printf("/backward/%s/flops", names[i]);
        if (model->executable)
            g_test_add_data_func(split, names[i], test_model);
        g_test_add_data_func(flops, names[i], test_flops);
        model_free(model);
    }
    g_test_add_func("/backward/update", test_update);
    g_test_add_func("/backward/contract", test_contract);
    g_test_add_func("/backward/received", test_received);
    return g_test_run();
}
