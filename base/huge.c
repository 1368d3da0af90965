#include "base/huge.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <glib.h>

#define PAGE  ((size_t)2 << 20)
#define LARGE (PAGE / 8) /* the small pages of as much cost more than one large page */

void *huge_alloc(size_t n, size_t bytes_each)
{
    size_t bytes;
    if (__builtin_mul_overflow(MAX(n, 1), bytes_each, &bytes) || bytes > SIZE_MAX - PAGE)
        g_error("cannot allocate %zu times %zu bytes", n, bytes_each);
    if (bytes < LARGE)
        return g_malloc(bytes);
    bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    void *p = aligned_alloc(PAGE, bytes);
    if (!p)
        g_error("cannot allocate %zu bytes", bytes);
    madvise(p, bytes, MADV_HUGEPAGE); /* where it fails, pages are small */
    return p;
}

void *huge_alloc0(size_t n, size_t bytes_each)
{
    return memset(huge_alloc(n, bytes_each), 0, n * bytes_each);
}

void *huge_grow(void *p, size_t used, size_t n, size_t bytes_each)
{
    void *grown = huge_alloc(n, bytes_each);
    if (used)
        memcpy(grown, p, used * bytes_each);
    g_free(p);
    return grown;
}
