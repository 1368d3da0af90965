/* tests/step.h -- one training step of one rank as a hand-made plan, run op after op on the calling thread.
 */
#ifndef TESTS_STEP_H
#define TESTS_STEP_H

#include <string.h>

#include "exec/compute.h"
#include "exec/data.h"

struct step {
    const struct model *model;
    struct plan plan;
    struct run run;
    uint32_t position; /* of the step in the data */
    struct compute compute;
    void **cell; /* per value; views point into their roots */
    uint32_t samples;
    uint32_t input, loss, bucket, scratch;         /* values */
    uint32_t *weight, *grad, *act, *saved, *delta; /* values, per layer */
    uint32_t backward, pack, unpack, optim;        /* ops; those before backward are forward and loss */
};

static inline uint32_t step_value(struct step *s, unsigned cls, uint32_t index, uint64_t bytes)
{
    return plan_add_value(&s->plan, &(struct value){.cls = (uint8_t)cls, .index = index, .bytes = bytes});
}

static inline uint32_t step_op(struct step *s, unsigned kind, uint32_t layer)
{
    struct op_tag tag = {.kind = (uint8_t)kind,
                         .layer0 = (uint16_t)layer,
                         .layer1 = (uint16_t)(layer + 1),
                         .bucket = OP_NONE,
                         .gang = OP_NONE,
                         .coll = OP_NONE};
    return plan_add_op(&s->plan, 0, &tag, plan_add_cost(&s->plan, &(struct cost_key){.members = 1}));
}

static inline void step_values(struct step *s)
{
    const struct model *m = s->model;
    const size_t elem = dtype_bytes(m->dtype);
    uint64_t scratch = 0;
    uint32_t **tables[] = {&s->weight, &s->grad, &s->act, &s->saved, &s->delta};
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
        *tables[i] = g_new0(uint32_t, m->n_layers);
    for (uint32_t l = 0; l < m->n_layers; l++) {
        s->weight[l] = step_value(s, VALUE_WEIGHT, l, m->layers[l].numel * elem);
        s->grad[l] = step_value(s, VALUE_GRAD, l, m->layers[l].numel * elem);
        s->act[l] = step_value(s, VALUE_ACT, l, layer_out_numel(m, l, s->samples) * elem);
        s->saved[l] = step_value(s, VALUE_SAVED, l, layer_saved_numel(m, l, s->samples) * elem);
        s->delta[l] = step_value(s, VALUE_DELTA, l, layer_out_numel(m, l, s->samples) * elem);
        scratch = MAX(scratch, layer_scratch_numel(m, l, s->samples) * elem);
    }
    s->input = step_value(s, VALUE_INPUT, 0, model_input_bytes(m, s->samples));
    s->loss = step_value(s, VALUE_LOSS, 0, sizeof(double));
    s->scratch = step_value(s, VALUE_SCRATCH, 0, scratch);
    s->bucket = step_value(s, VALUE_BUCKET, 0, m->numel * elem);
}

/* The layer whose weights a layer uses. */
static inline uint32_t step_owner(const struct step *s, uint32_t layer)
{
    return s->model->dims.tied && s->model->layers[layer].kind == LAYER_HEAD ? 0 : layer;
}

static inline void step_forward_ops(struct step *s)
{
    const uint32_t last = s->model->n_layers - 1;
    for (uint32_t l = 0; l <= last; l++) {
        step_op(s, OP_FWD, l);
        plan_access(&s->plan, s->weight[step_owner(s, l)], ACCESS_READ);
        plan_access(&s->plan, l ? s->act[l - 1] : s->input, ACCESS_READ);
        plan_access(&s->plan, s->act[l], ACCESS_WRITE);
        plan_access(&s->plan, s->saved[l], ACCESS_WRITE);
        plan_access(&s->plan, s->scratch, ACCESS_WRITE);
    }
    step_op(s, OP_LOSS, last);
    plan_access(&s->plan, s->act[last], ACCESS_READ);
    plan_access(&s->plan, s->input, ACCESS_READ);
    plan_access(&s->plan, s->delta[last], ACCESS_WRITE);
    plan_access(&s->plan, s->loss, ACCESS_WRITE);
}

static inline void step_backward_ops(struct step *s)
{
    s->backward = s->plan.n_ops;
    for (uint32_t l = s->model->n_layers; l-- > 0;) {
        step_op(s, OP_BWD, l);
        plan_access(&s->plan, s->weight[step_owner(s, l)], ACCESS_READ);
        plan_access(&s->plan, l ? s->act[l - 1] : s->input, ACCESS_READ);
        plan_access(&s->plan, s->saved[l], ACCESS_READ);
        plan_access(&s->plan, s->delta[l], ACCESS_READ);
        if (l)
            plan_access(&s->plan, s->delta[l - 1], ACCESS_WRITE);
        plan_access(&s->plan, s->grad[step_owner(s, l)],
                    l == 0 && s->model->dims.tied ? ACCESS_UPDATE : ACCESS_WRITE);
        plan_access(&s->plan, s->scratch, ACCESS_WRITE);
    }
}

static inline void step_update_ops(struct step *s)
{
    const struct model *m = s->model;
    const size_t elem = dtype_bytes(m->dtype);
    s->pack = step_op(s, OP_PACK, 0);
    for (int unpack = 0; unpack < 2; unpack++) {
        uint64_t at = 0;
        if (unpack)
            s->unpack = step_op(s, OP_UNPACK, 0);
        for (uint32_t p = m->n_params; p-- > 0;) {
            const struct param *param = &m->params[p];
            const uint64_t bytes = param->numel * elem;
            uint32_t grad = plan_add_view(&s->plan, s->grad[param->layer], param->offset * elem, bytes);
            uint32_t slice = plan_add_view(&s->plan, s->bucket, at, bytes);
            plan_access(&s->plan, unpack ? slice : grad, ACCESS_READ);
            plan_access(&s->plan, unpack ? grad : slice, ACCESS_WRITE);
            at += bytes;
        }
    }
    s->optim = step_op(s, OP_OPTIM, 0);
    for (uint32_t l = 0; l < m->n_layers; l++) {
        if (m->layers[l].numel == 0)
            continue;
        plan_access(&s->plan, s->weight[l], ACCESS_UPDATE);
        plan_access(&s->plan, s->grad[l], ACCESS_READ);
    }
}

enum { STEP_FENCE = 64, STEP_FENCE_BYTE = 0x5a }; /* behind every cell */

/* share: the rank's part of the samples of a step, what PACK multiplies by. */
static inline void step_open(struct step *s, const struct model *model, const struct k_table *k,
                             uint32_t samples, double share, double lr)
{
    *s = (struct step){.model = model, .samples = samples};
    plan_init(&s->plan);
    s->plan.t.n_ranks = 1;
    s->plan.rank_share = g_memdup2(&share, sizeof share);
    s->plan.rank_rows = g_memdup2(&samples, sizeof samples);
    s->plan.n_micro = 1;
    s->plan.micro_rows = g_memdup2(&samples, sizeof samples);
    plan_add_lane(&s->plan, &(struct lane){.name = "compute", .peer = OP_NONE, .cls = LANE_COMPUTE});
    step_values(s);
    step_forward_ops(s);
    step_backward_ops(s);
    step_update_ops(s);
    s->run = (struct run){.plan = &s->plan, .model = model, .lr = lr};
    s->compute = (struct compute){&s->run, &s->plan, model, k};
    s->cell = g_new0(void *, s->plan.n_values);
    for (uint32_t v = 0; v < s->plan.n_values; v++) {
        const struct value *value = &s->plan.values[v];
        if (value->root != v) {
            s->cell[v] = (char *)s->cell[value->root] + value->offset;
            continue;
        }
        s->cell[v] = g_aligned_alloc(value->bytes + STEP_FENCE, 1, 64);
        memset(s->cell[v], 0xff, value->bytes); /* not a number: what is not written shows */
        memset((char *)s->cell[v] + value->bytes, STEP_FENCE_BYTE, STEP_FENCE);
    }
}

/* Makes the rank the second of two, behind one of `first` samples. */
static inline void step_follow(struct step *s, uint32_t first)
{
    const double shares[] = {0, s->plan.rank_share[0]};
    const uint32_t rows[] = {first, s->samples};
    g_free(s->plan.rank_share);
    g_free(s->plan.rank_rows);
    g_free(s->plan.micro_rows);
    s->plan.t.n_ranks = 2;
    s->plan.t.lanes[0].rank = 1;
    s->plan.rank_share = g_memdup2(shares, sizeof shares);
    s->plan.rank_rows = g_memdup2(rows, sizeof rows);
    s->plan.micro_rows = g_memdup2(rows, sizeof rows);
}

static inline void step_run(struct step *s, uint32_t first_op, uint32_t end_op)
{
    g_autofree void **mem = g_new0(void *, s->plan.n_accesses);
    for (uint32_t op = first_op; op < end_op; op++) {
        const uint32_t first = s->plan.ops[op].first_access, n = s->plan.ops[op + 1].first_access - first;
        for (uint32_t i = 0; i < n; i++)
            mem[i] = s->cell[s->plan.accesses[first + i].value];
        g_assert_cmpint(compute_op(&s->compute, NULL, op, s->position, mem), ==, 0);
    }
}

static inline double step_loss(struct step *s)
{
    step_run(s, 0, s->backward);
    return *(double *)s->cell[s->loss];
}

/* Nothing was written behind a cell. */
static inline void step_close(struct step *s)
{
    uint32_t *tables[] = {s->weight, s->grad, s->act, s->saved, s->delta};
    for (uint32_t v = 0; v < s->plan.n_values; v++) {
        if (s->plan.values[v].root != v)
            continue;
        for (int i = 0; i < STEP_FENCE; i++)
            g_assert_cmpint(((unsigned char *)s->cell[v])[s->plan.values[v].bytes + (size_t)i], ==,
                            STEP_FENCE_BYTE);
        g_aligned_free(s->cell[v]);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
        g_free(tables[i]);
    g_free(s->cell);
    plan_release(&s->plan);
}

#endif
