/* A file of measured costs: what can be read prices its own keys, and others of their kind, and is written
 * again. */
#include "plan/cost.h"

#include "profile/import.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_name[] = "cost";

static void price(void *user, const struct cost_key *key, const struct cost *cost, uint32_t samples)
{
    const struct cost_model *model = user;
    struct cost_key other = *key;
    struct cost priced;
    GError *error = NULL;
    g_assert_true(samples > 0 && cost->work_ns >= 0 && cost->work_ns <= cost->alone_ns);
    other.bytes = key->bytes / 2 + 1;
    if (fuzz_settled(model->price(model, &other, &priced, &error), &error))
        g_assert_true(priced.work_ns >= 0 && priced.work_ns <= priced.alone_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    GError *error = NULL;
    struct cost_table *table = cost_table_new();
    g_autoptr(GString) out = g_string_new(NULL);
    fuzz_settled(import_kind((const char *)data, n, "fuzz.json", &error), &error);
    if (fuzz_settled(import_costs((const char *)data, n, "fuzz.json", table, &error), &error)) {
        cost_table_each(table, price, (void *)cost_table_model(table));
        export_costs(table, "fuzz", out);
    }
    cost_table_free(table);
    return 0;
}
