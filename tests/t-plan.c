/* The plans of the modes: what they hold, in which order, and that nothing in them is superfluous or missing.
 */
#include <string.h>

#include "plan/mode.h"
#include "tests/plans.h"
#include "tests/tap.h"

static const char tiny[] =
    "[model]\nname = tiny\ntask = tokens\nlayers = 2\nd-model = 8\nheads = 2\nff = 16\n"
    "vocab = 11\nseq-len = 4\npositions = 4\n"
    "[embeddings]\nkind = embedding\n[layer]\nkind = encoder\n[head]\nkind = head\n";

static struct model *tiny_model(void)
{
    g_autoptr(GError) error = NULL;
    struct model *model = model_parse(tiny, "tiny.ini", NULL, &error);
    g_assert_no_error(error);
    return model;
}

static void make(const struct mode *mode, const struct shape *shape, struct plan *plan)
{
    g_autoptr(GError) error = NULL;
    plan_make(mode, shape, plan, &error);
    g_assert_no_error(error);
    g_assert_true(plan->sealed);
}

/* Calls f with every shape of interest. */
static void for_shapes(void (*f)(const struct shape *, const struct plan *))
{
    struct model *model = tiny_model();
    static const uint64_t limits[] = {0, 300, 2000, 1 << 20};
    for (uint32_t ranks = 1; ranks <= 4; ranks++)
        for (uint32_t extra = 0; extra < 3; extra++)
            for (uint8_t overlap = 0; overlap < OVERLAPS; overlap++)
                for (uint8_t algo = 0; algo < ALLREDUCES; algo++)
                    for (size_t i = 0; i < G_N_ELEMENTS(limits); i++) {
                        struct shape shape = {.model = model,
                                              .ranks = ranks,
                                              .batch = 2 * ranks - 1 + extra,
                                              .overlap = overlap,
                                              .algo = algo,
                                              .bucket_bytes = limits[i],
                                              .first_bucket_bytes = limits[i] / 2};
                        struct plan plan;
                        shape.batch = MAX(shape.batch, ranks);
                        make(&mode_ddp, &shape, &plan);
                        f(&shape, &plan);
                        plan_release(&plan);
                    }
    model_free(model);
}

static const struct value *value_of(const struct plan *plan, uint32_t op, uint32_t access)
{
    return &plan->values[plan->accesses[plan->ops[op].first_access + access].value];
}

static uint32_t rank_of(const struct plan *plan, uint32_t op)
{
    return plan->t.lanes[plan->ops[op].lane].rank;
}

static bool is_comm(unsigned kind)
{
    return op_phase(kind) == PHASE_COMM;
}

/* --- the split of the batch */

static void test_chunks(void)
{
    static const struct {
        uint32_t batch, ranks, sizes[8];
    } cases[] = {
        {8, 4, {2, 2, 2, 2}},
        {10, 4, {3, 3, 3, 1}},
        {5, 4, {2, 2, 1, 0}},
        {6, 5, {2, 2, 2, 0, 0}},
        {20, 8, {3, 3, 3, 3, 3, 3, 2, 0}},
        {1, 1, {1}},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        for (uint32_t r = 0; r < cases[i].ranks; r++)
            g_assert_cmpuint(chunk_size(cases[i].batch, cases[i].ranks, r), ==, cases[i].sizes[r]);
    g_assert_cmpuint(chunk_size(UINT32_MAX, 2, 1), ==, UINT32_MAX / 2);
}

static void check_split(const struct shape *shape, const struct plan *plan)
{
    double share = 0;
    uint32_t samples = 0;
    for (uint32_t r = 0; r < shape->ranks; r++) {
        share += plan->rank_share[r];
        samples += plan->rank_rows[r];
        g_assert_cmpfloat_with_epsilon(plan->rank_share[r] * shape->batch, plan->rank_rows[r], 1e-9);
    }
    g_assert_cmpfloat_with_epsilon(share, 1, 1e-12);
    g_assert_cmpuint(samples, ==, shape->batch);
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        if (v->cls == VALUE_INPUT)
            g_assert_cmpuint(v->bytes, ==, 4 * 2 * plan->rank_rows[v->rank] * shape->model->dims.seq);
        if (v->cls == VALUE_ACT)
            g_assert_cmpuint(v->bytes, ==,
                             4 * layer_out_numel(shape->model, v->index, plan->rank_rows[v->rank]));
    }
}

static void test_split(void)
{
    for_shapes(check_split);
}

/* --- what a rank does, in order */

/* Every rank computes F of all layers, loss, B of all layers, and a step at the very end. */
static void check_compute(const struct shape *shape, const struct plan *plan)
{
    for (uint32_t rank = 0; rank < shape->ranks; rank++) {
        uint32_t forward = 0, backward = shape->model->n_layers, last = OP_NONE;
        double shares[2] = {0, 0};
        for (uint32_t i = 0; i < plan->n_ops; i++) {
            const struct op *op = &plan->ops[i];
            if (rank_of(plan, i) != rank || plan->t.lanes[op->lane].cls != LANE_COMPUTE)
                continue;
            last = i;
            if (op->tag.kind == OP_FWD) {
                g_assert_cmpuint(op->tag.layer0, ==, forward++);
                shares[0] += plan->costs[op->cost].share;
            } else if (op->tag.kind == OP_LOSS) {
                g_assert_cmpuint(forward, ==, shape->model->n_layers);
                g_assert_cmpuint(backward, ==, shape->model->n_layers);
            } else if (op->tag.kind == OP_BWD) {
                g_assert_cmpuint(op->tag.layer0, ==, --backward);
                shares[1] += plan->costs[op->cost].share;
            }
        }
        g_assert_cmpuint(backward, ==, 0);
        g_assert_cmpint(plan->ops[last].tag.kind, ==, OP_OPTIM);
        for (unsigned i = 0; i < 2; i++)
            g_assert_cmpfloat_with_epsilon(shares[i], plan->rank_rows[rank] ? 1 : 0, 1e-12);
    }
}

/* Every gradient goes once into its bucket, right after its layer's backward, and once back. */
static void check_copies(const struct shape *shape, const struct plan *plan)
{
    g_autofree uint8_t *packed = g_new0(uint8_t, plan->n_values), *unpacked = g_new0(uint8_t, plan->n_values);
    uint32_t backward = OP_NONE, copies = 0;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const struct op *op = &plan->ops[i];
        bool pack = op->tag.kind == OP_PACK;
        if (op->tag.kind == OP_BWD)
            backward = op->tag.layer0;
        if (!pack && op->tag.kind != OP_UNPACK)
            continue;
        for (uint32_t a = 0; a < op[1].first_access - op->first_access; a += 2) {
            const struct value *from = value_of(plan, i, a), *to = value_of(plan, i, a + 1);
            const struct value *grad = pack ? from : to, *bucket = pack ? to : from;
            g_assert_cmpint(grad->cls, ==, VALUE_GRAD);
            g_assert_cmpint(bucket->cls, ==, VALUE_BUCKET);
            g_assert_cmpuint(bucket->index, ==, op->tag.bucket);
            g_assert_cmpuint(grad->bytes, ==, bucket->bytes);
            g_assert_cmpuint(grad->index, >=, op->tag.layer0);
            g_assert_cmpuint(grad->index, <, op->tag.layer1);
            g_assert_true(!pack || grad->index == backward);
            uint8_t *seen = pack ? packed : unpacked;
            g_assert_cmpuint(seen[grad - plan->values]++, ==, 0);
            copies++;
        }
    }
    g_assert_cmpuint(copies, ==, 2 * shape->ranks * shape->model->n_params);
}

/* PyTorch launches bucket after bucket, each as its last gradient is in place or, without overlap, after
 * backward. */
static void check_launches(const struct shape *shape, const struct plan *plan)
{
    for (uint32_t rank = 0; rank < shape->ranks; rank++) {
        uint32_t bucket = 0, last_pack[64], last_copy_in = OP_NONE;
        for (uint32_t i = 0; i < plan->n_ops; i++)
            if (rank_of(plan, i) == rank && plan->ops[i].tag.kind == OP_PACK)
                last_copy_in = last_pack[plan->ops[i].tag.bucket] = i;
        for (uint32_t i = 0; i < plan->n_ops; i++) {
            const struct op *op = &plan->ops[i];
            if (rank_of(plan, i) != rank || !is_comm(op->tag.kind))
                continue;
            bool first = op->tag.coll == bucket;
            g_assert_cmpuint(op->tag.coll, ==, op->tag.bucket);
            g_assert_cmpuint(op->tag.bucket, ==, first ? bucket : bucket - 1);
            bucket += first;
            g_assert_cmpuint(op[1].first_dep - op->first_dep, ==, first);
            if (first)
                g_assert_cmpuint(plan->deps[op->first_dep], ==,
                                 shape->overlap != OVERLAP_NONE ? last_pack[op->tag.bucket] : last_copy_in);
        }
        g_assert_cmpuint(bucket, ==,
                         shape->algo != ALLREDUCE_WHOLE && shape->ranks == 1 ? 0 : plan->t.n_buckets);
    }
}

static void check_rank(const struct shape *shape, const struct plan *plan)
{
    check_compute(shape, plan);
    check_copies(shape, plan);
    check_launches(shape, plan);
}

static void test_rank(void)
{
    for_shapes(check_rank);
}

/* Two ranks with PyTorch's default buckets. */
static struct shape usual_shape(const struct model *model)
{
    return (struct shape){.model = model,
                          .ranks = 2,
                          .batch = 8,
                          .overlap = OVERLAP_BACKWARD,
                          .algo = ALLREDUCE_RING,
                          .bucket_bytes = 25 << 20,
                          .first_bucket_bytes = 1 << 20};
}

static void test_tables(void)
{
    struct model *model = model_load("bert-base", NULL, NULL);
    struct shape shape = usual_shape(model);
    struct plan plan;
    make(&mode_ddp, &shape, &plan);
    const struct tables *t = &plan.t;
    g_assert_cmpstr(t->mode, ==, "ddp");
    g_assert_cmpstr(t->model, ==, "bert-base");
    g_assert_cmpuint(t->n_buckets, ==, 14);
    g_assert_cmpuint(t->buckets[0].bytes, ==, 2371596);
    g_assert_cmpuint(t->buckets[13].bytes, ==, 90660864);
    g_assert_cmpstr(t->params[t->buckets[0].closed_by].name, ==, "pooler.weight");
    g_assert_cmpuint(t->buckets[13].closed_by, ==, 0);
    g_assert_cmpuint(t->params[200].bucket, ==, 0);
    g_assert_cmpuint(t->params[0].bucket, ==, 13);
    g_assert_cmpuint(t->bucket_params[0], ==, 200);
    for (uint32_t i = 0; i < t->n_buckets; i++)
        for (uint32_t k = 0; k < t->buckets[i].n_params; k++)
            g_assert_cmpuint(t->params[t->bucket_params[t->buckets[i].first_param + k]].bucket, ==, i);
    plan_release(&plan);
    shape.ranks = 1;
    make(&mode_single, &shape, &plan);
    g_assert_cmpuint(plan.t.n_buckets, ==, 0);
    g_assert_cmpuint(plan.t.params[3].bucket, ==, OP_NONE);
    g_assert_cmpuint(plan.n_ops, ==, 1 + 27 + 1 + 27 + 1);
    plan_release(&plan);
    model_free(model);
}

/* --- nothing may be left out: without a dependency the plan is refused, or another path does its work */

static void check_deps(const struct shape *shape, const struct plan *sealed)
{
    if (shape->batch % 2 || shape->bucket_bytes != 2000)
        return;
    unsigned needed = 0;
    for (uint32_t d = 0; d < sealed->n_deps; d++) {
        struct plan plan;
        mode_ddp.build(shape, (plan_init(&plan), &plan));
        if (shape->algo != ALLREDUCE_WHOLE) {
            struct plan lowered;
            g_assert_true(plan_lower_allreduce(&plan, shape->algo, 4, &lowered, NULL));
            plan_release(&plan);
            plan = lowered;
        }
        plans_drop_dep(&plan, d);
        g_autoptr(GError) error = NULL;
        bool ok = plan_seal(&plan, &error);
        g_assert_true(ok == plans_ordered(&plan));
        needed += !ok;
        plan_release(&plan);
    }
    /* The input; each bucket's launch and copy-out.  Without overlap the first launch stands for all, and so
     * does the first copy-out, which waits for the last all-reduce. */
    uint32_t buckets = shape->overlap != OVERLAP_NONE ? sealed->t.n_buckets : 1;
    if (shape->ranks > 1 || shape->algo == ALLREDUCE_WHOLE)
        g_assert_cmpuint(needed, ==, shape->ranks * (1 + 2 * buckets));
}

static void test_deps(void)
{
    for_shapes(check_deps);
}

/* --- the ring, run with numbers */

static double *cell(double *const *memory, const struct plan *plan, uint32_t value)
{
    return memory[plan->values[value].root] + plan->values[value].offset / 4;
}

static void run_exchange(const struct plan *plan, const struct gang *gang, double *const *memory)
{
    g_autofree double **sent = g_new0(double *, gang->n);
    g_assert_cmpuint(gang->shift, ==, 1);
    for (uint32_t m = 0; m < gang->n; m++) {
        uint32_t op = plan->gang_ops[gang->first + m];
        uint32_t value = plan->accesses[plan->ops[op].first_access].value;
        sent[m] = g_memdup2(cell(memory, plan, value), plan->values[value].bytes / 4 * sizeof(double));
    }
    for (uint32_t m = 0; m < gang->n; m++) {
        const struct op *op = &plan->ops[plan->gang_ops[gang->first + m]];
        uint32_t value = plan->accesses[op->first_access + 1].value;
        double *to = cell(memory, plan, value);
        for (uint64_t i = 0; i < plan->values[value].bytes / 4; i++)
            to[i] = (op->tag.kind == OP_EXCHANGE_ADD ? to[i] : 0) + sent[(m + gang->n - 1) % gang->n][i];
    }
    for (uint32_t m = 0; m < gang->n; m++)
        g_free(sent[m]);
}

/* Rank r holds (r+1)^2 / 3 plus the element's number; afterwards all hold the same bits, and the sum. */
static void check_ring(const struct shape *shape, const struct plan *plan)
{
    if (shape->algo != ALLREDUCE_RING || shape->ranks == 1)
        return;
    g_autofree double **memory = g_new0(double *, plan->n_values);
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        if (v->root != i || v->cls != VALUE_BUCKET)
            continue;
        memory[i] = g_new(double, v->bytes / 4);
        for (uint64_t k = 0; k < v->bytes / 4; k++)
            memory[i][k] = (double)k + (v->rank + 1) * (v->rank + 1) / 3.0;
    }
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const struct op *op = &plan->ops[plan->order[i]];
        if (op->tag.gang != OP_NONE && plan->gang_ops[plan->gangs[op->tag.gang].first] == plan->order[i])
            run_exchange(plan, &plan->gangs[op->tag.gang], memory);
    }
    const double n = shape->ranks, thirds = n * (n + 1) * (2 * n + 1) / 18;
    const double *first[64] = {NULL};
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        if (!memory[i])
            continue;
        for (uint64_t k = 0; k < v->bytes / 4; k++)
            g_assert_cmpfloat_with_epsilon(memory[i][k], (double)k * n + thirds, 1e-9);
        if (first[v->index])
            g_assert_cmpmem(first[v->index], v->bytes * 2, memory[i], v->bytes * 2);
        first[v->index] = memory[i];
    }
    for (uint32_t i = 0; i < plan->n_values; i++)
        g_free(memory[i]);
}

static void test_ring_sums(void)
{
    for_shapes(check_ring);
}

/* 2(n-1) hops a bucket and rank; each rank sends every chunk but one twice. */
static void check_hops(const struct shape *shape, const struct plan *plan)
{
    uint32_t n = shape->ranks;
    if (shape->algo != ALLREDUCE_RING)
        return;
    g_assert_cmpuint(plan->n_gangs, ==, plan->t.n_buckets * 2 * (n - 1));
    g_assert_cmpuint(plan->n_colls, ==, plan->t.n_buckets);
    g_autofree uint64_t *sent = g_new0(uint64_t, plan->t.n_buckets);
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const struct op *op = &plan->ops[i];
        g_assert_cmpint(op->tag.kind, !=, OP_ALLREDUCE);
        if (!is_comm(op->tag.kind))
            continue;
        g_assert_cmpint(op->tag.algo, ==, ALLREDUCE_RING);
        g_assert_cmpint(op->tag.kind, ==, op->tag.hop < n - 1 ? OP_EXCHANGE_ADD : OP_EXCHANGE);
        g_assert_cmpuint(plan->gangs[op->tag.gang].n, ==, n);
        g_assert_cmpuint(value_of(plan, i, 0)->bytes, ==, op->tag.bytes);
        uint64_t elems = plan->t.buckets[op->tag.bucket].bytes / 4, chunk = op->tag.chunk;
        g_assert_cmpuint(value_of(plan, i, 1)->offset, ==, chunk * elems / n * 4);
        g_assert_cmpuint(value_of(plan, i, 1)->bytes, ==, ((chunk + 1) * elems / n - chunk * elems / n) * 4);
        /* A rank begins with the chunk of its own number. */
        g_assert_true(op->tag.hop || (chunk + 1) % n == rank_of(plan, i));
        const struct cost_key *key = &plan->costs[op->cost];
        g_assert_cmpuint(key->bytes, ==, op->tag.bytes);
        g_assert_cmpuint(key->members, ==, n);
        sent[op->tag.bucket] += op->tag.bytes;
    }
    for (uint32_t b = 0; b < plan->t.n_buckets; b++)
        g_assert_cmpuint(sent[b], ==, 2 * (n - 1) * plan->t.buckets[b].bytes);
}

static void test_hops(void)
{
    for_shapes(check_hops);
}

static void test_lower_odd_bytes(void)
{
    struct plan plan, lowered;
    plan_init(&plan);
    plan.t.n_ranks = 2;
    plan_add_cost(&plan, &(struct cost_key){.members = 2});
    plan_add_gang(&plan, 0);
    struct op_tag tag = {.kind = OP_ALLREDUCE,
                         .layer0 = LAYER_NONE,
                         .layer1 = LAYER_NONE,
                         .chunk = LAYER_NONE,
                         .hop = LAYER_NONE,
                         .bucket = OP_NONE,
                         .bytes = 10};
    for (uint32_t r = 0; r < 2; r++) {
        uint32_t value =
            plan_add_value(&plan, &(struct value){.bytes = 10, .rank = r, .flags = VALUE_LIVE_IN});
        plan_add_op(&plan, plan_add_lane(&plan, &(struct lane){"comm", r, r, OP_NONE, LANE_COMM}), &tag, 0);
        plan_access(&plan, value, ACCESS_UPDATE);
    }
    g_autoptr(GError) error = NULL;
    plan.n_colls = 1;
    g_assert_false(plan_lower_allreduce(&plan, ALLREDUCE_RING, 4, &lowered, &error));
    g_assert_nonnull(strstr(error->message, "op 0 (all-reduce, rank 0) reduces 10 bytes"));
    g_assert_true(plan_lower_allreduce(&plan, ALLREDUCE_RING, 2, &lowered, NULL));
    g_assert_true(plan_seal(&lowered, NULL));
    plan_release(&lowered);
    g_assert_true(plan_lower_allreduce(&plan, ALLREDUCE_WHOLE, 4, &lowered, NULL));
    g_assert_cmpuint(lowered.n_ops, ==, 2);
    g_assert_cmpuint(lowered.n_gangs, ==, 1);
    plan_release(&lowered);
    plan_release(&plan);
}

/* --- memory */

static void check_place(const struct shape *shape, const struct plan *sealed)
{
    struct plan plan = *sealed;
    plan.place = plan.arena_bytes = NULL;
    plan.clocks = plan.clock_lane = NULL;
    plan_place(&plan);
    g_autofree uint64_t *memory = g_new(uint64_t, (gsize)shape->ranks * VALUE_CLASSES);
    plan_memory(&plan, memory, NULL);
    for (uint32_t rank = 0; rank < shape->ranks; rank++) {
        const uint64_t *by_class = &memory[(gsize)rank * VALUE_CLASSES];
        uint64_t end = 0, peak = 0;
        for (uint32_t i = 0; i < plan.n_values; i++) {
            const struct value *v = &plan.values[i];
            if (v->root != i || v->rank != rank)
                continue;
            g_assert_cmpuint(plan.place[i] % 64, ==, 0);
            end = MAX(end, plan.place[i] + v->bytes);
        }
        for (unsigned cls = 0; cls < VALUE_CLASSES; cls++)
            peak += by_class[cls];
        g_assert_cmpuint(end, <=, plan.arena_bytes[rank]);
        g_assert_cmpuint(peak, <=, plan.arena_bytes[rank]);
        g_assert_cmpuint(by_class[VALUE_WEIGHT], ==, 4 * shape->model->numel);
    }
    g_free(plan.place);
    g_free(plan.arena_bytes);
}

static void test_place(void)
{
    for_shapes(check_place);
}

/* --- what is printed */

static char *json(const struct shape *shape)
{
    struct plan plan;
    GString *out = g_string_new(NULL);
    make(&mode_ddp, shape, &plan);
    plan_write_json(&plan, out);
    plan_release(&plan);
    return g_string_free(out, FALSE);
}

static void check_json(const struct shape *shape, const struct plan *plan)
{
    g_autofree char *once = json(shape), *again = json(shape);
    g_assert_cmpstr(once, ==, again);
    g_assert_true(g_str_has_prefix(once, "{\"schema\":\"parprof.plan/1\",\n"));
    g_auto(GStrv) ops = g_strsplit(once, "\n{\"op\":", -1);
    g_assert_cmpuint(g_strv_length(ops), ==, plan->n_ops + 1);
    g_auto(GStrv) values = g_strsplit(once, "\n{\"value\":", -1);
    g_assert_cmpuint(g_strv_length(values), ==, plan->n_values + 1);
    g_assert_null(strstr(once, "4294967295"));
    g_assert_null(strstr(once, "65535"));
}

static void test_json(void)
{
    for_shapes(check_json);
}

static void test_table(void)
{
    struct model *model = model_load("bert-base", NULL, NULL);
    struct shape shape = usual_shape(model);
    struct plan plan;
    g_autoptr(GString) out = g_string_new(NULL);
    make(&mode_ddp, &shape, &plan);
    plan_write_table(&plan, out);
    g_assert_nonnull(
        strstr(out->str, "mode ddp, model bert-base, 2 ranks: 413.18 MiB of gradients in 201 tensors"));
    g_assert_nonnull(strstr(out->str, "     0      2.26        4  pooler.weight\n"));
    g_assert_nonnull(strstr(out->str, "    13     86.46       "));
    g_assert_nonnull(strstr(out->str, "ring all-reduce bucket 0, 2 hops, 2.26 MiB sent"));
    plan_release(&plan);
    model_free(model);
}

/* --- what is refused */

static void test_refused(void)
{
    struct model *model = tiny_model();
    const uint64_t mib = 1 << 20;
    const struct {
        const struct mode *mode;
        struct shape shape;
        const char *want;
    } cases[] = {
        {&mode_ddp, {model, 0, 4, 0, 0, mib, mib}, "--ranks 0 is out of range, give 1 to 4096"},
        {&mode_ddp, {model, 5000, 9999, 0, 0, mib, mib}, "--ranks 5000 is out of range, give 1 to 4096"},
        {&mode_single, {model, 2, 4, 0, 0, 0, 0}, "--ranks 2, but mode single runs on one"},
        {&mode_single, {model, 1, 0, 0, 0, 0, 0}, "--batch 0 is less than"},
        {&mode_ddp, {model, 4, 3, 0, 0, mib, mib}, "--batch 3 is less than a sample a rank, give at least 4"},
        {&mode_ddp, {model, 2, UINT32_MAX, 0, 0, mib, mib}, "--batch 4294967295 is too large for model tiny"},
        {&mode_ddp,
         {model, 2, 4, OVERLAPS, 0, mib, mib},
         "--overlap is unknown, give none, backward or optimizer"},
        {&mode_ddp, {model, 2, 4, 0, ALLREDUCES, mib, mib}, "--allreduce is unknown"},
        {&mode_ddp, {model, 2, 4, 0, 0, UINT64_MAX, mib}, "--bucket-mb is out of range, give 0 to 1048576"},
        {&mode_ddp, {model, 2, 4, 0, 0, mib, UINT64_MAX}, "--first-bucket-mb is out of range"},
        {&mode_ddp, {model, 4096, 4096, 0, ALLREDUCE_RING, 0, 0}, "--ranks 4096 with 38 buckets would make"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct plan plan;
        g_autoptr(GError) error = NULL;
        if (plan_make(cases[i].mode, &cases[i].shape, &plan, &error))
            g_error("accepted, although wanted: %s", cases[i].want);
        g_assert_error(error, PLAN_ERROR, PLAN_ERROR_INPUT);
        if (!g_str_has_prefix(error->message, cases[i].want))
            g_error("said '%s', wanted '%s'", error->message, cases[i].want);
    }
    g_assert_true(mode_find("ddp") == &mode_ddp);
    g_assert_null(mode_find("dpp"));
    model_free(model);
}

/* Sealed again, the order is the same. */
static void check_order(struct plan *plan)
{
    GError *error = NULL;
    for (unsigned times = 0; times < 2; times++) {
        plan_seal(plan, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(plan->n_gang_ops, ==, plan->n_ops);
        for (uint32_t i = 0; i < plan->n_ops; i++) {
            g_assert_cmpuint(plan->order[i], ==, i);
            g_assert_cmpuint(plan->gang_ops[plan->gangs[i].first], ==, i);
        }
    }
}

/* A plan that grows beyond what was reserved, array after array, or has room for all of it, holds what was
 * added. */
static void test_reserve(gconstpointer enough)
{
    enum { OPS = 3000 };
    const struct plan_room some = {.ops = 1500, .values = 2000, .accesses = 20, .gangs = 1100},
                           all = {OPS + 16, OPS + 16, 2 * OPS + 16, OPS + 16, OPS + 16, OPS + 16};
    struct plan plan;
    plan_init(&plan);
    plan.t.n_ranks = 1;
    plan_add_lane(&plan, &(struct lane){"compute", 0, 0, OP_NONE, LANE_COMPUTE});
    plan_add_cost(&plan, &(struct cost_key){.members = 1});
    uint32_t id = plan_add_value(&plan, &(struct value){.bytes = 7, .flags = VALUE_LIVE_IN});
    for (uint32_t i = 0; i < OPS; i++) {
        if (i == 10)
            plan_reserve(&plan, enough ? &all : &some);
        const struct op_tag tag = {.kind = OP_FWD,
                                   .layer0 = LAYER_NONE,
                                   .layer1 = LAYER_NONE,
                                   .bucket = OP_NONE,
                                   .gang = i,
                                   .coll = OP_NONE};
        plan_add_gang(&plan, i);
        plan_add_op(&plan, 0, &tag, 0);
        for (uint32_t k = 0; k < i % 3; k++)
            plan_dep(&plan, i - 1 - k);
        const struct access both[] = {{id, ACCESS_READ}, {id + 1, ACCESS_WRITE}};
        id = plan_add_value(&plan, &(struct value){.bytes = i, .index = i});
        if (i % 2)
            plan_access_few(&plan, both, 2);
        for (unsigned k = 0; k < 2 && i % 2 == 0; k++)
            plan_access(&plan, both[k].value, both[k].mode);
    }
    g_assert_cmpuint(plan.values[0].bytes, ==, 7);
    for (uint32_t i = 0; i < OPS; i++) {
        const struct op *op = &plan.ops[i];
        g_assert_cmpuint(op->tag.gang, ==, i);
        g_assert_cmpuint(plan.gangs[i].shift, ==, i);
        g_assert_cmpuint(op[1].first_access, ==, 2 * i + 2);
        g_assert_cmpuint(plan.accesses[2 * i].value, ==, i);
        g_assert_cmpuint(plan.accesses[2 * i + 1].value, ==, i + 1);
        g_assert_cmpuint(plan.values[i + 1].bytes, ==, i);
        g_assert_cmpuint(plan.values[i + 1].root, ==, i + 1);
        g_assert_cmpuint(op[1].first_dep - op->first_dep, ==, i % 3);
        for (uint32_t k = 0; k < i % 3; k++)
            g_assert_cmpuint(plan.deps[op->first_dep + k], ==, i - 1 - k);
    }
    check_order(&plan);
    plan_release(&plan);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/plan/chunks", test_chunks);
    g_test_add_func("/plan/split", test_split);
    g_test_add_func("/plan/rank", test_rank);
    g_test_add_func("/plan/tables", test_tables);
    g_test_add_func("/plan/dependencies", test_deps);
    g_test_add_func("/plan/ring/sums", test_ring_sums);
    g_test_add_func("/plan/ring/hops", test_hops);
    g_test_add_func("/plan/ring/odd-bytes", test_lower_odd_bytes);
    g_test_add_func("/plan/place", test_place);
    g_test_add_func("/plan/json", test_json);
    g_test_add_func("/plan/table", test_table);
    g_test_add_func("/plan/refused", test_refused);
    g_test_add_data_func("/plan/reserve", NULL, test_reserve);
    g_test_add_data_func("/plan/reserve/enough", "", test_reserve);
    return g_test_run();
}
