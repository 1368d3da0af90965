/* A model's file: what can be read can be planned, unless it is too large, which is said. */
#include "plan/mode.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_name[] = "model";

enum { LAYERS_MAX = 100 };

static void plan(const struct mode *mode, const struct model *model, uint32_t ranks)
{
    GError *error = NULL;
    struct shape shape = {.model = model,
                          .ranks = ranks,
                          .batch = 2 * ranks,
                          .overlap = OVERLAP_BACKWARD,
                          .algo = ALLREDUCE_RING,
                          .bucket_bytes = 1 << 20};
    struct plan made;
    if (fuzz_settled(plan_make(mode, &shape, &made, &error), &error)) {
        g_assert_true(plan_check_model(&made, model, NULL) && plan_check_run(&made, model, NULL));
        plan_release(&made);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    GError *error = NULL;
    g_autofree char *text = g_strndup((const char *)data, n);
    struct model *model = model_parse(text, "fuzz.ini", NULL, &error);
    if (fuzz_settled(model, &error) && model->n_layers <= LAYERS_MAX) {
        plan(&mode_single, model, 1);
        plan(&mode_ddp, model, 2);
    }
    model_free(model);
    return 0;
}
