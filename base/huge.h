/* base/huge.h -- memory for large arrays, in large pages where the kernel has them: a first touch of each small page is
 * most of what a large plan would cost.  g_free. */
#ifndef BASE_HUGE_H
#define BASE_HUGE_H

#include <stddef.h>

/* Not initialised, aligned for anything; out of memory ends the program, as g_malloc does. */
void *huge_alloc(size_t n, size_t bytes_each);
void *huge_alloc0(size_t n, size_t bytes_each);
/* Moves `used` elements of p, which is freed, to room for n. */
void *huge_grow(void *p, size_t used, size_t n, size_t bytes_each);

/* Arrays that are freed together, and share large pages as far as they fit into the first so many bytes. */
struct huge_arena {
    void *blocks; /* of which each begins with where the next one is */
    char *at;
    size_t left; /* of the first */
};
void huge_arena_init(struct huge_arena *, size_t bytes);
void *huge_arena_take(struct huge_arena *, size_t n, size_t bytes_each); /* as huge_alloc, but not g_free */
void huge_arena_release(struct huge_arena *);
size_t huge_arena_bytes(size_t n, size_t bytes_each); /* what taking it takes */

#define huge_new(type, n)  ((type *)huge_alloc((n), sizeof(type)))
#define huge_new0(type, n) ((type *)huge_alloc0((n), sizeof(type)))

#endif
