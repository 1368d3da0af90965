/* How layers fall into stages: the tutorial's parameters, and the best split against trying them all. */
#include <string.h>

#include "plan/split.h"
#include "tests/tap.h"

enum { STAGES = 12 };

static struct model *load(const char *name, uint32_t layers)
{
    GError *error = NULL;
    struct model *model =
        model_load(name, layers ? &(struct model_override){.layers = layers} : NULL, &error);
    g_assert_no_error(error);
    return model;
}

static void split(const struct model *model, const char *rule, const int64_t *layer_ns, uint32_t stages,
                  uint32_t *first)
{
    GError *error = NULL;
    const struct shape shape = {.model = model, .split = split_find(rule), .layer_ns = layer_ns};
    g_assert_nonnull(shape.split);
    split_layers(&shape, stages, first, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(first[0], ==, 0);
    g_assert_cmpuint(first[stages], ==, model->n_layers);
    for (uint32_t s = 0; s < stages; s++)
        g_assert_cmpuint(first[s], <, first[s + 1]);
}

static uint64_t numel(const struct model *model, uint32_t begin, uint32_t end)
{
    uint64_t n = 0;
    for (uint32_t i = begin; i < end; i++)
        n += model->layers[i].numel;
    return n;
}

/* What PyTorch's pipeline tutorial prints for its two GPUs. */
static void test_tutorial(void)
{
    struct model *model = load("transformer-lm", 0);
    uint32_t first[3];
    split(model, "tutorial", NULL, 2, first);
    g_assert_cmpuint(numel(model, first[0], first[1]), ==, 722116608);
    g_assert_cmpuint(numel(model, first[1], first[2]), ==, 722145390);
    model_free(model);
}

static void expect(const char *name, uint32_t layers, const char *rule, uint32_t stages,
                   const uint32_t *expected)
{
    struct model *model = load(name, layers);
    uint32_t first[STAGES + 1];
    split(model, rule, NULL, stages, first);
    g_test_message("%s %s %u", name, rule, stages);
    for (uint32_t s = 0; s < stages; s++)
        g_assert_cmpuint(first[s], ==, expected[s]);
    model_free(model);
}

/* Layer 0 is the embedding, block b layers 2b + 1 and 2b + 2, then what stands behind. */
static void test_blocks(void)
{
    expect("transformer-lm", 6, "even", 4, (uint32_t[]){0, 5, 9, 11});
    expect("transformer-lm", 6, "tutorial", 3, (uint32_t[]){0, 5, 9});
    expect("transformer-lm", 7, "tutorial", 3, (uint32_t[]){0, 7, 13});
    expect("transformer-lm", 7, "tutorial", 4, (uint32_t[]){0, 5, 9, 13});
    expect("transformer-lm", 2, "even", 3, (uint32_t[]){0, 2, 4}); /* 6 layers, for 2 blocks are too few */
    expect("transformer-lm", 2, "even", 6, (uint32_t[]){0, 1, 2, 3, 4, 5});
    expect("mlp", 3, "even", 3, (uint32_t[]){0, 2, 3}); /* bag, 3 dense, classifier */
    expect("resnet18", 0, "even", 4, (uint32_t[]){0, 3, 5, 7});
}

/* --- the best, by trying every split */

struct search {
    const uint64_t *weight; /* by layer */
    uint32_t n;
};

static uint64_t best(const struct search *s, uint32_t from, uint32_t stages)
{
    uint64_t sum = 0, least = UINT64_MAX;
    if (stages == 1) {
        for (uint32_t i = from; i < s->n; i++)
            sum += s->weight[i];
        return sum;
    }
    for (uint32_t i = from; i + stages <= s->n; i++) {
        sum += s->weight[i];
        least = MIN(least, MAX(sum, best(s, i + 1, stages - 1)));
    }
    return least;
}

static void check_best(const struct model *model, const char *rule, const int64_t *layer_ns,
                       const uint64_t *by_layer, uint32_t stages)
{
    const struct search s = {by_layer, model->n_layers};
    uint32_t first[STAGES + 1];
    split(model, rule, layer_ns, stages, first);
    uint64_t largest = 0;
    for (uint32_t stage = 0; stage < stages; stage++) {
        uint64_t sum = 0;
        for (uint32_t i = first[stage]; i < first[stage + 1]; i++)
            sum += by_layer[i];
        largest = MAX(largest, sum);
    }
    g_assert_cmpuint(largest, ==, best(&s, 0, stages));
}

static void test_balanced(void)
{
    struct model *model = load("transformer-lm", 5);
    g_autofree int64_t *ns = g_new(int64_t, model->n_layers);
    g_autofree uint64_t *weight = g_new(uint64_t, model->n_layers);
    for (unsigned seed = 0; seed < tap_cases(200); seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        for (uint32_t i = 0; i < model->n_layers; i++)
            weight[i] = (uint64_t)(ns[i] = g_rand_int_range(rand, 0, seed % 2 ? 10 : 1000000));
        for (uint32_t stages = 1; stages <= model->n_layers; stages++)
            check_best(model, "balanced", ns, weight, stages);
    }
    for (uint32_t i = 0; i < model->n_layers; i++)
        weight[i] = layer_forward_flops(model, i, 1) + layer_backward_flops(model, i, 1);
    for (uint32_t stages = 1; stages <= model->n_layers; stages++)
        check_best(model, "balanced", NULL, weight, stages);
    model_free(model);
}

static void test_bytes(void)
{
    static const char *const names[] = {"transformer-lm", "mini", "resnet18", "mlp"};
    for (unsigned m = 0; m < G_N_ELEMENTS(names); m++) {
        struct model *model = load(names[m], m == 0 ? 4 : 0);
        g_autofree uint64_t *weight = g_new(uint64_t, model->n_layers);
        for (uint32_t i = 0; i < model->n_layers; i++)
            weight[i] = model->layers[i].numel * 4;
        for (uint32_t stages = 1; stages <= MIN(model->n_layers, 8); stages++)
            check_best(model, "bytes", NULL, weight, stages);
        model_free(model);
    }
}

/* --- what cannot be */

static void refused(const struct model *model, const char *rule, uint32_t stages, const char *pattern)
{
    GError *error = NULL;
    uint32_t first[64];
    const struct shape shape = {.model = model, .split = split_find(rule)};
    g_assert_false(split_layers(&shape, stages, first, &error));
    if (!g_pattern_match_simple(pattern, error->message))
        g_error("'%s' does not say '%s'", error->message, pattern);
    g_error_free(error);
}

static void test_refused(void)
{
    struct model *model = load("transformer-lm", 12); /* 26 layers */
    for (const struct split_rule *const *rule = split_rules; *rule; rule++) {
        refused(model, (*rule)->name, 27,
                "27 stages*26 layers*--ranks times --stages-per-rank of at most 26*");
        refused(model, (*rule)->name, 0, "0 stages*");
    }
    /* 12 blocks: 3 each for 5 stages are used up by 4; 2 each for 7 to 11 by 6 */
    refused(model, "tutorial", 5, "--split tutorial*of 5*of at most 4");
    refused(model, "tutorial", 8, "--split tutorial*of 8*of at most 6");
    refused(model, "tutorial", 13, "--split tutorial*of 13*of at most 12");
    g_assert_null(split_find("odd"));
    model_free(model);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/split/tutorial", test_tutorial);
    g_test_add_func("/split/blocks", test_blocks);
    g_test_add_func("/split/balanced", test_balanced);
    g_test_add_func("/split/bytes", test_bytes);
    g_test_add_func("/split/refused", test_refused);
    return g_test_run();
}
