/* tests/fuzz/fuzz.h -- what a target defines, and replay.c or libFuzzer calls. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

extern const char fuzz_name[]; /* of the corpus: tests/fuzz/NAME/ */

/* Reads what may be anything, and uses what comes of it: a result or an error, never both or neither.  Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* After a reader: it must have said what is wrong, if anything. */
static inline bool fuzz_settled(bool ok, GError **error)
{
    g_assert_true(ok == !*error);
    g_assert_true(ok || *(*error)->message);
    g_clear_error(error);
    return ok;
}

#endif
