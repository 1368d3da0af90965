/* The collector on the libcupti of this machine: traces, or says why not. */
#include "profile/collect.h"

#include "tests/tap.h"

#ifdef TEST_CUPTI

#include <string.h>
#include <cuda_runtime_api.h>

static void test_open(void)
{
    GError *error = NULL;
    int driver = 0;
    g_assert_cmpint(cudaDriverGetVersion(&driver), ==, cudaSuccess);
    g_assert_true(g_str_has_prefix(collect_version(), "CUPTI 1"));
    bool ok = collect_open(&error);
    if (ok) {
        g_assert_no_error(error);
        g_assert_cmpint(driver, >, 0);
    } else {
        g_test_message("%s", error->message);
        g_assert_error(error, COLLECT_ERROR, COLLECT_ERROR_REFUSED);
        if (!driver) {
            g_assert_nonnull(strstr(error->message, "999"));
            g_assert_nonnull(strstr(error->message, "there is no NVIDIA driver"));
        }
        g_error_free(error);
    }
    collect_push(0, 0, "F layer0");
    collect_pop();
    collect_close();
    collect_close();
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/collect-here/open", test_open);
    return g_test_run();
}

#else

int main(void)
{
    g_print("1..0 # SKIP built without CUDA\n");
    return 0;
}

#endif
