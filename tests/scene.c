#include "tests/scene.h"

#include <math.h>
#include <string.h>

enum { COMPUTE, COMM, COPY, LANES };

struct maker {
    const struct scene_spec *spec;
    struct trace *trace;
    int64_t *free_ns;  /* of each lane */
    int64_t *ready_ns; /* [bucket * ranks + rank] */
    uint32_t gang, step, micro;
    GRand *rand;
};

struct scene_spec scene_bert(void)
{
    return (struct scene_spec){.mode = "ddp",
                               .model = "bert-base",
                               .block = "layer",
                               .ranks = 4,
                               .layers = 12,
                               .buckets = 13,
                               .hops = 6,
                               .steps = 1,
                               .overlap = true,
                               .simulated = true,
                               .layer_ns = 3500000,
                               .bucket_ns = 15000000,
                               .seed = 1};
}

/* embeddings, two layers a block, head */
static uint32_t count_layers(const struct scene_spec *s)
{
    return 2 * s->layers + 2;
}

static void make_tables(const struct scene_spec *s, struct tables *t)
{
    const uint32_t n = count_layers(s);

    t->mode = tables_intern(t, s->mode);
    t->model = tables_intern(t, s->model);
    t->n_ranks = s->ranks;
    t->n_lanes = LANES * s->ranks;
    t->lanes = g_new0(struct lane, t->n_lanes);
    for (uint32_t l = 0; l < t->n_lanes; l++) {
        static const uint8_t classes[] = {LANE_COMPUTE, LANE_COMM, LANE_COPY};
        const uint8_t cls = classes[l % LANES];
        t->lanes[l] =
            (struct lane){tables_intern(t, lane_class_name(cls)), l / LANES, l / LANES, OP_NONE, cls};
    }
    t->n_layers = n;
    t->layers = g_new0(struct layer_row, n);
    for (uint32_t i = 0; i < n; i++) {
        g_autofree char *block = i == 0       ? g_strdup("embeddings")
                                 : i == n - 1 ? g_strdup("classifier")
                                              : g_strdup_printf("%s%u", s->block, (i - 1) / 2);
        t->layers[i].name = t->layers[i].block = tables_intern(t, block);
    }
    t->n_buckets = s->buckets;
    t->buckets = g_new0(struct bucket_row, s->buckets);
    for (uint32_t i = 0; i < s->buckets; i++)
        t->buckets[i] = (struct bucket_row){.bytes = (25 << 20) + 7919 * i, .closed_by = OP_NONE};
}

/* Two a layer, each bucket's over the layers between it and the one before, or of the last of these. */
static void make_params(const struct scene_spec *s, struct tables *t)
{
    const uint32_t n = count_layers(s);
    GArray *params = g_array_new(FALSE, FALSE, sizeof(struct param_row));
    uint32_t layer = n, bucket = 0;

    for (uint32_t i = n; i-- > 0 && s->buckets;)
        for (; bucket < s->buckets && (n - i) * s->buckets >= (bucket + 1) * n; bucket++) {
            const uint32_t from = layer > i ? layer : i + 1, each = 2 * (from - i);
            t->buckets[bucket].first_param = params->len;
            t->buckets[bucket].n_params = each;
            for (uint32_t k = 0; k < each; k++) {
                const uint32_t of = from - 1 - k / 2;
                g_autofree char *name = g_strdup_printf("%s.%s", t->layers[of].name, k % 2 ? "weight" : "bias");
                const struct param_row row = {tables_intern(t, name), t->buckets[bucket].bytes / each, of, bucket};
                g_array_append_val(params, row);
            }
            layer = i;
        }
    t->n_params = params->len;
    t->bucket_params = g_new0(uint32_t, t->n_params);
    for (uint32_t i = 0; i < t->n_params; i++)
        t->bucket_params[i] = i;
    t->params = (struct param_row *)(void *)g_array_free(params, t->n_params == 0);
}

static int64_t vary(struct maker *m, int64_t ns)
{
    return ns + (int64_t)((double)ns * m->spec->jitter * g_rand_double(m->rand));
}

/* Appends to a lane: starts when the lane is free and it is ready. */
static int64_t add(struct maker *m, struct op_tag tag, uint32_t lane, int64_t ready_ns, int64_t ns)
{
    struct trace_op op = {.tag = tag, .lane = lane, .cost = OP_NONE, .ready_ns = ready_ns, .work_ns = -1};

    op.start_ns = MAX(ready_ns, m->free_ns[lane]);
    op.end_ns = m->free_ns[lane] = op.start_ns + ns;
    trace_add_op(m->trace, &op);
    return op.end_ns;
}

static struct op_tag tag_of(const struct maker *m, uint8_t kind)
{
    return (struct op_tag){.kind = kind,
                           .layer0 = LAYER_NONE,
                           .layer1 = LAYER_NONE,
                           .bucket = OP_NONE,
                           .gang = OP_NONE,
                           .coll = OP_NONE,
                           .step = m->step};
}

static int64_t add_layer(struct maker *m, uint32_t rank, uint8_t kind, uint32_t layer, int64_t ns)
{
    struct op_tag tag = tag_of(m, kind);

    tag.layer0 = (uint16_t)layer;
    tag.layer1 = (uint16_t)(layer + 1);
    tag.micro = m->micro;
    return add(m, tag, rank * LANES + COMPUTE, 0, vary(m, ns));
}

static void compute_micro_batch(struct maker *m, uint32_t rank)
{
    const struct scene_spec *s = m->spec;
    const uint32_t n = count_layers(s), lane = rank * LANES;
    const double slow = 1 + (rank == s->ranks - 1 ? s->skew : 0);
    const int64_t ns = (int64_t)((double)s->layer_ns * slow);
    const bool last = m->micro + 1 >= s->micro;
    uint32_t bucket = 0;

    m->free_ns[lane + COMPUTE] = add(m, tag_of(m, OP_INPUT), lane + COPY, m->free_ns[lane + COMPUTE], ns / 4);
    for (uint32_t i = 0; i < n; i++)
        add_layer(m, rank, OP_FWD, i, i == n - 1 ? ns / 4 : ns);
    add(m, tag_of(m, OP_LOSS), lane + COMPUTE, 0, ns / 8);
    for (uint32_t i = n; i-- > 0;) {
        int64_t end = add_layer(m, rank, OP_BWD, i, i == n - 1 ? ns / 2 : 2 * ns);
        for (; last && bucket < s->buckets && (n - i) * s->buckets >= (bucket + 1) * n; bucket++) {
            struct op_tag tag = tag_of(m, OP_PACK);
            tag.bucket = bucket;
            end = add(m, tag, lane + COMPUTE, end, ns / 16);
            m->ready_ns[bucket * s->ranks + rank] = end;
        }
    }
}

static void compute_rank(struct maker *m, uint32_t rank)
{
    m->micro = 0;
    do
        compute_micro_batch(m, rank);
    while (++m->micro < m->spec->micro);
}

/* Ends everywhere at once; compute waits for it. */
static void broadcast(struct maker *m)
{
    for (uint32_t r = 0; r < m->spec->ranks; r++) {
        struct op_tag tag = tag_of(m, OP_BROADCAST);
        tag.gang = tag.coll = 1u << 20;
        m->free_ns[r * LANES + COMPUTE] = add(m, tag, r * LANES + COMM, 0, m->spec->bucket_ns);
    }
}

static void reduce(struct maker *m, uint32_t bucket)
{
    const struct scene_spec *s = m->spec;

    for (uint32_t hop = 0; hop < s->hops; hop++, m->gang++) {
        int64_t last = INT64_MIN;
        for (uint32_t r = 0; r < s->ranks; r++) {
            const int64_t ready = m->ready_ns[bucket * s->ranks + r];
            last = MAX(last, MAX(ready, m->free_ns[r * LANES + COMM]));
        }
        const int64_t end = last + vary(m, s->bucket_ns / s->hops);
        for (uint32_t r = 0; r < s->ranks; r++) {
            struct op_tag tag = tag_of(m, hop < s->hops / 2 ? OP_EXCHANGE_ADD : OP_EXCHANGE);
            const int64_t ready = m->ready_ns[bucket * s->ranks + r];
            tag.bucket = tag.coll = bucket;
            tag.gang = m->gang;
            tag.hop = (uint16_t)hop;
            add(m, tag, r * LANES + COMM, ready, end - MAX(ready, m->free_ns[r * LANES + COMM]));
        }
    }
}

static int64_t optimize(struct maker *m, uint32_t rank)
{
    const struct scene_spec *s = m->spec;
    const uint32_t lane = rank * LANES + COMPUTE, parts = s->by_bucket ? s->buckets : 1;
    int64_t end = 0;

    for (uint32_t b = 0; b < s->buckets; b++)
        add(m, tag_of(m, OP_UNPACK), lane, m->free_ns[rank * LANES + COMM], s->layer_ns / 32);
    for (uint32_t b = 0; b < parts; b++) {
        struct op_tag tag = tag_of(m, OP_OPTIM);
        tag.bucket = s->by_bucket ? b : OP_NONE;
        end = add(m, tag, lane, 0, vary(m, 4 * s->layer_ns / parts));
    }
    return end;
}

static void make_step(struct maker *m)
{
    const struct scene_spec *s = m->spec;

    if (s->broadcast)
        broadcast(m);
    for (uint32_t r = 0; r < s->ranks; r++)
        compute_rank(m, r);
    for (uint32_t r = 0; r < s->ranks && !s->overlap; r++)
        for (uint32_t b = 0; b < s->buckets; b++)
            m->ready_ns[b * s->ranks + r] = m->free_ns[r * LANES + COMPUTE];
    for (uint32_t b = 0; b < s->buckets; b++)
        reduce(m, b);
    int64_t end = 0;
    for (uint32_t r = 0; r < s->ranks; r++)
        end = MAX(end, optimize(m, r));
    for (uint32_t l = 0; l < LANES * s->ranks; l++)
        m->free_ns[l] = end;
}

int64_t scene_pick(int64_t low, int64_t high)
{
    return (int64_t)((double)low * pow((double)high / (double)low, g_test_rand_double()));
}

struct scene_spec scene_random(void)
{
    struct scene_spec s = scene_bert();
    s.ranks = (uint32_t)scene_pick(1, 12);
    s.layers = (uint32_t)g_test_rand_int_range(0, 30);
    s.buckets = g_test_rand_int_range(0, 5) ? (uint32_t)scene_pick(1, 60) : 0;
    s.hops = (uint32_t)g_test_rand_int_range(1, 5);
    s.steps = (uint32_t)g_test_rand_int_range(1, 4);
    s.micro = (uint32_t)g_test_rand_int_range(0, 4);
    s.by_bucket = s.buckets && g_test_rand_bit();
    s.broadcast = g_test_rand_bit();
    s.overlap = g_test_rand_int_range(0, 4);
    s.simulated = g_test_rand_bit();
    s.layer_ns = scene_pick(40, 100000000000);
    s.bucket_ns = scene_pick(MAX(1, s.layer_ns / 100), s.layer_ns * 30);
    s.skew = g_test_rand_bit() * g_test_rand_double();
    s.jitter = g_test_rand_bit() * g_test_rand_double();
    s.seed = (uint32_t)g_test_rand_int();
    return s;
}

void scene_make(const struct scene_spec *s, struct trace *trace)
{
    struct maker m = {.spec = s, .trace = trace, .rand = g_rand_new_with_seed(s->seed)};

    trace_init(trace);
    make_tables(s, &trace->t);
    make_params(s, &trace->t);
    trace->simulated = s->simulated;
    trace->n_steps = s->steps;
    m.free_ns = g_new0(int64_t, LANES * s->ranks);
    m.ready_ns = g_new0(int64_t, (gsize)s->buckets * s->ranks + 1);
    for (m.step = 0; m.step < s->steps; m.step++)
        make_step(&m);
    trace_label(trace, "engine", "%s", s->simulated ? "sim" : "cpu");
    trace_label(trace, "link", "paced to 10 Gb/s, 20 µs");
    trace_label(trace, "cost", "analytic on a100x4");
    trace_finish(trace);
    g_free(m.free_ns);
    g_free(m.ready_ns);
    g_rand_free(m.rand);
}
