#include "exec/arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plan/engine.h"

#define POISON 0xff /* not a number in any IEEE format, -1 as a token */

bool arenas_open(struct arenas *a, const struct plan *plan, GError **error)
{
    *a = (struct arenas){plan, g_new0(char *, plan->t.n_ranks)};
    for (uint32_t i = 0; i < plan->t.n_ranks; i++) {
        uint64_t bytes = plan->arena_bytes[i];
        if (!bytes)
            continue;
        void *p = bytes > SIZE_MAX
                      ? MAP_FAILED
                      : mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) {
            g_set_error(error, ENGINE_ERROR, ENGINE_ERROR_FAILED,
                        "cannot allocate %" G_GUINT64_FORMAT
                        " bytes for rank %u: %s; try fewer ranks or a smaller batch",
                        bytes, i, g_strerror(errno));
            return false;
        }
        a->base[i] = p;
    }
    return true;
}

void arenas_close(struct arenas *a)
{
    for (uint32_t i = 0; a->base && i < a->plan->t.n_ranks; i++)
        if (a->base[i])
            munmap(a->base[i], (size_t)a->plan->arena_bytes[i]);
    g_free(a->base);
}

void *arenas_cell(const struct arenas *a, uint32_t value)
{
    const struct value *v = &a->plan->values[value];
    return a->base[v->rank] + a->plan->place[v->root] + v->offset;
}

uint64_t arenas_touched(const struct arenas *a, uint32_t rank, uint64_t offset, uint64_t bytes)
{
    enum { PAGES = 4096 }; /* asked for at once */
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), touched = 0, end = offset + bytes;
    unsigned char resident[PAGES];
    for (uint64_t at = offset / page * page; at < end; at += PAGES * page) {
        uint64_t piece = MIN(end - at, PAGES * page);
        if (mincore(a->base[rank] + at, (size_t)piece, resident))
            return touched;
        for (uint64_t i = 0; i * page < piece; i++)
            if (resident[i] & 1)
                touched += MIN(end, at + (i + 1) * page) - MAX(offset, at + i * page);
    }
    return touched;
}

void arenas_poison_all(const struct arenas *a)
{
    for (uint32_t i = 0; i < a->plan->t.n_ranks; i++)
        if (a->base[i])
            memset(a->base[i], POISON, (size_t)a->plan->arena_bytes[i]);
}

void arenas_poison_roots(const struct arenas *a)
{
    for (uint32_t i = 0; i < a->plan->n_values; i++) {
        const struct value *v = &a->plan->values[i];
        if (v->root == i && !(v->flags & VALUE_LIVE_IN) && v->bytes)
            memset(arenas_cell(a, i), POISON, (size_t)v->bytes);
    }
}

bool arenas_poisoned(bool *on, GError **error)
{
    const char *text = g_getenv("PARPROF_POISON");
    *on = text && !strcmp(text, "1");
    if (!text || *on || !strcmp(text, "0"))
        return true;
    g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                "PARPROF_POISON is \"%s\", set it to 1, or to 0, or unset it", text);
    return false;
}
