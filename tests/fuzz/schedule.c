/* A schedule's file: what can be read is whole, comes to its end, and is read again from what is written of
 * it. */
#include "plan/schedule.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_name[] = "schedule";

static void read_again(const struct actions *a)
{
    g_autoptr(GString) out = g_string_new(NULL), twice = g_string_new(NULL);
    struct actions b;
    GError *error = NULL;
    actions_write_csv(a, out);
    g_assert_true(fuzz_settled(actions_read_csv(out->str, out->len, "again.csv", &b, &error), &error));
    actions_write_csv(&b, twice);
    g_assert_true(g_string_equal(out, twice));
    actions_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct actions a;
    GError *error = NULL;
    if (fuzz_settled(actions_read_csv((const char *)data, n, "fuzz.csv", &a, &error), &error)) {
        g_assert_true(actions_check(&a, NULL));
        read_again(&a);
        actions_release(&a);
    }
    return 0;
}
