/* PyTorch's buckets, against lists that PyTorch itself produced and against the rule spelled out. */
#include <string.h>

#include "plan/bucket.h"
#include "plan/mode.h"
#include "plan/model.h"
#include "tests/tap.h"

#define MIB ((uint64_t)1 << 20)

/* Sizes in definition order, in elements of 4 bytes. */
struct sizes {
    uint64_t bytes[256];
    uint32_t n;
};

static void add(struct sizes *s, uint64_t numel)
{
    g_assert_cmpuint(s->n, <, G_N_ELEMENTS(s->bytes));
    s->bytes[s->n++] = 4 * numel;
}

static struct sizes bert(void)
{
    struct sizes s = {.n = 0};
    struct model *model = model_load("bert-base", NULL, NULL);
    for (uint32_t i = 0; i < model->n_params; i++)
        add(&s, model->params[i].numel);
    model_free(model);
    return s;
}

static void add_conv_norm(struct sizes *s, uint64_t out, uint64_t in, uint64_t k)
{
    add(s, out * in * k * k);
    add(s, out);
    add(s, out);
}

/* torchvision's ResNets in definition order: a block's downsample comes last. */
static struct sizes resnet(const unsigned *blocks, bool bottleneck)
{
    struct sizes s = {.n = 0};
    uint64_t in = 64;
    add_conv_norm(&s, 64, 3, 7);
    for (unsigned stage = 0; stage < 4; stage++)
        for (unsigned i = 0; i < blocks[stage]; i++) {
            uint64_t w = (uint64_t)64 << stage, out = bottleneck ? 4 * w : w;
            if (bottleneck) {
                add_conv_norm(&s, w, in, 1);
                add_conv_norm(&s, w, w, 3);
                add_conv_norm(&s, out, w, 1);
            } else {
                add_conv_norm(&s, w, in, 3);
                add_conv_norm(&s, w, w, 3);
            }
            if (i == 0 && (stage > 0 || bottleneck))
                add_conv_norm(&s, out, in, 1);
            in = out;
        }
    add(&s, 1000 * in);
    add(&s, 1000);
    return s;
}

static uint32_t assign(const struct sizes *s, uint64_t first, uint64_t limit, struct bucket_row *buckets)
{
    uint64_t bytes[256];
    uint32_t ids[256], members[256];
    for (uint32_t i = 0; i < s->n; i++) {
        ids[i] = s->n - 1 - i;
        bytes[i] = s->bytes[ids[i]];
    }
    return bucket_assign(s->n, bytes, ids, first, limit, buckets, members);
}

static void expect(const struct sizes *s, uint64_t first, uint64_t limit, const uint64_t *want, uint32_t n)
{
    struct bucket_row buckets[256];
    g_assert_cmpuint(assign(s, first, limit, buckets), ==, n);
    for (uint32_t i = 0; i < n; i++)
        g_assert_cmpuint(buckets[i].bytes, ==, want[i]);
}

static void test_bert(void)
{
    struct sizes s = bert();
    uint64_t want[14] = {2371596};
    for (unsigned i = 1; i <= 12; i++)
        want[i] = 28351488;
    want[13] = 90660864;
    expect(&s, BUCKET_FIRST_BYTES_DEFAULT, BUCKET_BYTES_DEFAULT, want, 14);
    static const struct {
        uint64_t mib;
        uint32_t n, n_small_first; /* with the same limit for the first bucket; with one of 1 MiB */
    } counts[] = {{0, 201, 201}, {1, 75, 75}, {5, 37, 38}, {10, 25, 25},
                  {25, 13, 14},  {50, 7, 8},  {100, 4, 5}, {200, 2, 3}};
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
        struct bucket_row buckets[256];
        g_assert_cmpuint(assign(&s, counts[i].mib * MIB, counts[i].mib * MIB, buckets), ==, counts[i].n);
        if (counts[i].mib)
            g_assert_cmpuint(assign(&s, MIB, counts[i].mib * MIB, buckets), ==, counts[i].n_small_first);
    }
}

/* The same through the model's file and the mode's plan. */
static void expect_model(const char *name, uint64_t first, uint64_t limit, const uint64_t *want, uint32_t n)
{
    GError *error = NULL;
    struct plan plan;
    struct model *model = model_load(name, NULL, &error);
    g_assert_no_error(error);
    struct shape shape = {.model = model,
                          .ranks = 2,
                          .batch = 4,
                          .overlap = OVERLAP_BACKWARD,
                          .first_bucket_bytes = first,
                          .bucket_bytes = limit};
    plan_make(&mode_ddp, &shape, &plan, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(plan.t.n_buckets, ==, n);
    for (uint32_t i = 0; i < n; i++)
        g_assert_cmpuint(plan.t.buckets[i].bytes, ==, want[i]);
    plan_release(&plan);
    model_free(model);
}

static void test_models(void)
{
    expect_model("resnet18", MIB, 25 * MIB, (const uint64_t[]){2052000, 28852224, 15853824}, 3);
    expect_model("resnet18", MIB, 35 * MIB, (const uint64_t[]){2052000, 38297600, 6408448}, 3);
    expect_model("resnet50", MIB, 25 * MIB,
                 (const uint64_t[]){8196000, 31502336, 26255360, 26550272, 9724160}, 5);
    expect_model("resnet50", 25 * MIB, 25 * MIB, (const uint64_t[]){30257056, 26255360, 28366848, 17348864},
                 4);
    uint64_t want[14] = {2371596};
    for (unsigned i = 1; i <= 12; i++)
        want[i] = 28351488;
    want[13] = 90660864;
    expect_model("bert-base", MIB, 25 * MIB, want, 14);
}

static void test_resnet(void)
{
    static const unsigned blocks18[] = {2, 2, 2, 2}, blocks50[] = {3, 4, 6, 3};
    struct sizes r18 = resnet(blocks18, false), r50 = resnet(blocks50, true);
    g_assert_cmpuint(r18.n, ==, 62);
    g_assert_cmpuint(r50.n, ==, 161);
    /* NCCL's all-reduce sizes for the imagenet example, reported in pytorch/pytorch#48880. */
    expect(&r18, MIB, 25 * MIB, (const uint64_t[]){2052000, 28852224, 15853824}, 3);
    expect(&r18, MIB, 35 * MIB, (const uint64_t[]){2052000, 38297600, 6408448}, 3);
    expect(&r50, MIB, 25 * MIB, (const uint64_t[]){8196000, 31502336, 26255360, 26550272, 9724160}, 5);
    expect(&r50, 25 * MIB, 25 * MIB, (const uint64_t[]){30257056, 26255360, 28366848, 17348864}, 4);
}

/* Whatever the sizes: buckets cut the feed in order; each but the last reached its limit, and only with its
 * last tensor. */
static void check_rule(const uint64_t *bytes, const uint32_t *ids, uint32_t n, uint64_t first, uint64_t limit)
{
    struct bucket_row buckets[64];
    uint32_t members[64], at = 0;
    uint32_t n_buckets = bucket_assign(n, bytes, ids, first, limit, buckets, members);
    for (uint32_t i = 0; i < n_buckets; i++) {
        const struct bucket_row *b = &buckets[i];
        uint64_t sum = 0, cap = i ? limit : first;
        g_assert_cmpuint(b->first_param, ==, at);
        g_assert_cmpuint(b->n_params, >, 0);
        for (uint32_t k = 0; k < b->n_params; k++, at++) {
            g_assert_cmpuint(members[at], ==, ids[at]);
            g_assert_true(k == 0 || sum < cap);
            sum += bytes[at];
        }
        g_assert_cmpuint(b->bytes, ==, sum);
        g_assert_true(i + 1 == n_buckets || sum >= cap);
        g_assert_cmpuint(b->closed_by, ==, sum >= cap ? ids[at - 1] : OP_NONE);
    }
    g_assert_cmpuint(at, ==, n);
}

static void test_random(void)
{
    for (unsigned round = 0; round < 2000; round++) {
        uint64_t bytes[64];
        uint32_t ids[64], n = (uint32_t)g_test_rand_int_range(0, 65);
        for (uint32_t i = 0; i < n; i++) {
            bytes[i] = (uint64_t)g_test_rand_int_range(1, 50);
            ids[i] = 3 * i + 1;
        }
        check_rule(bytes, ids, n, (uint64_t)g_test_rand_int_range(0, 100),
                   (uint64_t)g_test_rand_int_range(0, 200));
    }
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/bucket/bert", test_bert);
    g_test_add_func("/bucket/resnet", test_resnet);
    g_test_add_func("/bucket/models", test_models);
    g_test_add_func("/bucket/random", test_random);
    return g_test_run();
}
