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

/* --- arenas */

#define ALIGNMENT ((size_t)64)

size_t huge_arena_bytes(size_t n, size_t bytes_each)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, bytes_each, &bytes) || bytes > SIZE_MAX - ALIGNMENT)
        g_error("an array of %zu elements of %zu bytes does not fit into memory", n, bytes_each);
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Returns what is usable of it. */
static char *add_block(struct huge_arena *arena, size_t bytes)
{
    char *block = huge_alloc(bytes + ALIGNMENT, 1);
    memcpy(block, &arena->blocks, sizeof arena->blocks);
    arena->blocks = block;
    return block + ALIGNMENT;
}

void huge_arena_init(struct huge_arena *arena, size_t bytes)
{
    *arena = (struct huge_arena){.left = bytes};
    arena->at = add_block(arena, bytes);
}

void *huge_arena_take(struct huge_arena *arena, size_t n, size_t bytes_each)
{
    const size_t bytes = huge_arena_bytes(n, bytes_each);
    if (bytes > arena->left)
        return add_block(arena, bytes);
    char *taken = arena->at;
    arena->at += bytes;
    arena->left -= bytes;
    return taken;
}

void huge_arena_release(struct huge_arena *arena)
{
    while (arena->blocks) {
        void *block = arena->blocks;
        memcpy(&arena->blocks, block, sizeof arena->blocks);
        g_free(block);
    }
}
