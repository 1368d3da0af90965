/* Replays a corpus without a fuzzer: every file, the file cut anywhere, and with bytes flipped. */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/tap.h"

enum { ALL_CUTS_BYTES = 4096, CUTS = 200, FLIPS = 100 };

/* On the heap at its exact size: what is read behind the end is seen by the address sanitizer. */
static void one(const char *bytes, gsize n)
{
    g_autofree uint8_t *copy = g_memdup2(bytes, n);
    LLVMFuzzerTestOneInput(n ? copy : (const uint8_t *)"", n);
}

static void replay(gconstpointer path)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *bytes = NULL;
    gsize n;
    g_file_get_contents(path, &bytes, &n, &error);
    g_assert_no_error(error);
    one(bytes, n);
    const gsize step = n < ALL_CUTS_BYTES ? 1 : n / CUTS;
    for (gsize cut = 0; cut < n; cut += step)
        one(bytes, cut);
    g_autoptr(GRand) rand = g_rand_new_with_seed((guint32)n);
    for (unsigned i = 0; n && i < FLIPS; i++) {
        g_autofree char *flipped = g_memdup2(bytes, n);
        for (int flips = g_rand_int_range(rand, 1, 4); flips > 0; flips--)
            flipped[g_rand_int_range(rand, 0, (gint32)n)] ^= (char)(1 << g_rand_int_range(rand, 0, 8));
        one(flipped, n);
    }
}

static int by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_autofree char *folder = g_test_build_filename(G_TEST_DIST, "fuzz", fuzz_name, NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_assert_nonnull(dir);
    for (const char *name; (name = g_dir_read_name(dir));)
        g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, by_name);
    g_assert_cmpuint(names->len, >, 0);
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *test = g_strdup_printf("/fuzz/%s/%s", fuzz_name, (char *)names->pdata[i]);
        g_test_add_data_func_full(test, g_build_filename(folder, names->pdata[i], NULL), replay, g_free);
        g_free(names->pdata[i]);
    }
    return g_test_run();
}
