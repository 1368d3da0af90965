/* A cluster's file: what can be read prices every kind of op, or says why not. */
#include "sim/cluster.h"

#include "sim/cost-model.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_name[] = "cluster";

static void price(const struct cost_model *model)
{
    static const uint64_t sizes[] = {0, 1, 4097, 1 << 20, UINT64_C(1) << 58};
    for (unsigned kind = 0; kind < OP_KINDS; kind++)
        for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++)
            for (uint16_t members = 1; members < 10; members += 4) {
                GError *error = NULL;
                struct cost cost;
                const struct cost_key key = {.kind = (uint8_t)kind,
                                             .shape = "attention d512 h8 s32 f32",
                                             .bytes = sizes[i],
                                             .flops = sizes[i],
                                             .rows = 32,
                                             .kernels = 7,
                                             .members = members,
                                             .nodes = members > 4 ? 2 : 1,
                                             .gemms = {{32, 512, 512, 3}}};
                if (fuzz_settled(model->price(model, &key, &cost, &error), &error))
                    g_assert_true(cost.work_ns >= 0 && cost.work_ns <= cost.alone_ns);
            }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    GError *error = NULL;
    g_autofree char *text = g_strndup((const char *)data, n);
    struct cluster *cluster = cluster_parse(text, "fuzz.ini", &error);
    if (!fuzz_settled(cluster, &error))
        return 0;
    struct cost_model *(*const models[])(const struct cluster *, GError **) = {cost_analytic_new,
                                                                               cost_nccl_new};
    for (unsigned i = 0; i < G_N_ELEMENTS(models); i++) {
        struct cost_model *model = models[i](cluster, &error);
        if (fuzz_settled(model, &error))
            price(model);
        cost_model_free(model);
    }
    cluster_free(cluster);
    return 0;
}
