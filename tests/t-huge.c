/* Memory for large arrays: what is taken of an arena is its own, whatever else is taken. */
#include <stdint.h>
#include <string.h>

#include "base/huge.h"
#include "tests/tap.h"

enum { ARRAYS = 40 };

/* Every array keeps what was written into it, those that the first block has no room for too. */
static void check_arena(size_t room, size_t most)
{
    struct huge_arena arena;
    uint8_t *arrays[ARRAYS];
    size_t bytes[ARRAYS];
    huge_arena_init(&arena, room);
    for (unsigned i = 0; i < ARRAYS; i++) {
        bytes[i] = (size_t)g_test_rand_int_range(0, (gint32)most);
        arrays[i] = huge_arena_take(&arena, bytes[i], 1);
        g_assert_cmpuint((uintptr_t)arrays[i] % sizeof(uint64_t), ==, 0);
        memset(arrays[i], (int)i + 1, bytes[i]);
    }
    for (unsigned i = 0; i < ARRAYS; i++)
        for (size_t k = 0; k < bytes[i]; k++)
            g_assert_cmpuint(arrays[i][k], ==, i + 1);
    huge_arena_release(&arena);
    g_assert_null(arena.blocks);
}

static void test_arena(void)
{
    check_arena(0, 100);
    check_arena(1000, 200);
    check_arena(100000, 1000);
    check_arena(1 << 20, 100000);
}

/* What was computed to be enough is, to the byte. */
static void test_fits(void)
{
    struct huge_arena arena;
    huge_arena_init(&arena, huge_arena_bytes(7, 3) + huge_arena_bytes(0, 8) + huge_arena_bytes(9, 8));
    const char *first = huge_arena_take(&arena, 7, 3), *none = huge_arena_take(&arena, 0, 8),
               *last = huge_arena_take(&arena, 9, 8);
    g_assert_cmpuint((size_t)(none - first), ==, huge_arena_bytes(7, 3));
    g_assert_cmpuint((size_t)(last - none), ==, huge_arena_bytes(0, 8));
    g_assert_cmpuint(arena.left, ==, 0);
    huge_arena_release(&arena);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/huge/arena", test_arena);
    g_test_add_func("/huge/fits", test_fits);
    return g_test_run();
}
