#include <string.h>

#include "exec/cuda/run.h"

/* The units in which pinned buffers are cut: a line of the cache. */
#define PINNED_ALIGN ((size_t)64)

static uint64_t add_sizes(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void *address(const struct cuda *c, uint32_t value)
{
    const struct value *v = &c->plan->values[value];
    return c->ranks[v->rank].arena + c->plan->place[v->root] + v->offset;
}

/* --- arenas */

static bool too_big(const struct cuda *c, uint32_t rank, uint64_t need, uint64_t free, GError **error)
{
    const struct gpu_device *device = &c->devices[c->ranks[rank].device];
    g_set_error(error, ENGINE_ERROR, ENGINE_ERROR_TOO_BIG,
                "%u rank%s on GPU %u need%s %" G_GUINT64_FORMAT " MiB, and %" G_GUINT64_FORMAT
                " MiB of its memory are free; try fewer ranks a GPU, a smaller batch or a smaller model",
                device->ranks, device->ranks == 1 ? "" : "s", c->ranks[rank].device,
                device->ranks == 1 ? "s" : "", (need >> 20) + 1, free >> 20);
    return false;
}

static uint64_t needed_on(const struct cuda *c, uint32_t device)
{
    uint64_t need = 0;
    for (uint32_t i = 0; i < c->plan->t.n_ranks; i++)
        if (c->ranks[i].device == device)
            need = add_sizes(need, c->plan->arena_bytes[i]);
    return need;
}

static bool open_arena(struct cuda *c, uint32_t rank, GError **error)
{
    struct gpu_rank *r = &c->ranks[rank];
    const uint64_t bytes = c->plan->arena_bytes[rank];
    size_t free = 0, all = 0;
    if (!cuda_use(c, rank, error) || !cuda_ok(c, cudaMemGetInfo(&free, &all), "cudaMemGetInfo", rank, error))
        return false;
    /* The first rank of a device looks whether all of them fit. */
    if (r->share == 0 && needed_on(c, r->device) > free)
        return too_big(c, rank, needed_on(c, r->device), free, error);
    if (!bytes)
        return true;
    const int status = cudaMalloc((void **)&r->arena, (size_t)bytes);
    if (status == cudaErrorMemoryAllocation && bytes > free)
        return too_big(c, rank, bytes, free, error);
    return cuda_ok(c, status, "cudaMalloc", rank, error);
}

/* --- pinned buffers */

static size_t whole_lines(uint64_t bytes)
{
    return ((size_t)bytes + PINNED_ALIGN - 1) / PINNED_ALIGN * PINNED_ALIGN;
}

/* Gives the op its buffers, from `at` bytes on, once they are there; where the next one's begin. */
static size_t cut_pinned(struct cuda *c, uint32_t id, size_t at)
{
    const struct op *op = &c->plan->ops[id];
    struct gpu_op *o = &c->ops[id];
    if (op->tag.kind == OP_INPUT) {
        const uint64_t bytes = c->plan->values[c->plan->accesses[op->first_access].value].bytes;
        for (unsigned i = 0; i < PINNED_SLOTS; i++) {
            if (c->pinned)
                o->pinned[i] = c->pinned + at;
            at += whole_lines(bytes);
        }
    } else if (op->tag.kind == OP_LOSS) {
        if (c->pinned)
            o->losses = (double *)(c->pinned + at);
        at += whole_lines((c->run->ahead + c->run->steps + UINT64_C(1)) * sizeof(double));
    }
    return at;
}

static bool open_pinned(struct cuda *c, GError **error)
{
    size_t bytes = 0, at = 0;
    for (uint32_t i = 0; i < c->plan->n_ops; i++)
        bytes = cut_pinned(c, i, bytes);
    if (!bytes)
        return true;
    if (!cuda_ok(c, cudaHostAlloc((void **)&c->pinned, bytes, cudaHostAllocPortable), "cudaHostAlloc", 0,
                 error))
        return false;
    memset(c->pinned, 0, bytes);
    for (uint32_t i = 0; i < c->plan->n_ops; i++)
        at = cut_pinned(c, i, at);
    return true;
}

/* --- what is there before the first step */

static bool is_live_in(const struct plan *plan, uint32_t value)
{
    const struct value *v = &plan->values[value];
    return v->flags & VALUE_LIVE_IN && v->root == value && v->bytes;
}

static bool put_layer(struct cuda *c, uint32_t layer, GError **error)
{
    bool made = false;
    for (uint32_t i = 0; i < c->plan->n_values; i++) {
        const struct value *v = &c->plan->values[i];
        if (v->cls != VALUE_WEIGHT || v->index != layer || !is_live_in(c->plan, i))
            continue;
        if (!made && !state_put(c->run->begin, v, c->staging))
            data_init_layer(c->run->model, layer, c->run->seed, c->staging);
        made = true;
        if (!cuda_use(c, v->rank, error) ||
            !cuda_ok(c, cudaMemcpy(address(c, i), c->staging, v->bytes, cudaMemcpyHostToDevice), "cudaMemcpy",
                     v->rank, error))
            return false;
    }
    return true;
}

static int set_live(struct cuda *c, uint32_t value)
{
    const struct value *v = &c->plan->values[value];
    return state_put(c->run->begin, v, c->staging)
               ? cudaMemcpy(address(c, value), c->staging, v->bytes, cudaMemcpyHostToDevice)
               : cudaMemset(address(c, value), 0, v->bytes);
}

/* What is no weight is 0 at first, or what it was. */
static bool set_others(struct cuda *c, GError **error)
{
    for (uint32_t i = 0; i < c->plan->n_values; i++) {
        const struct value *v = &c->plan->values[i];
        if (v->cls == VALUE_WEIGHT || !is_live_in(c->plan, i))
            continue;
        if (!cuda_use(c, v->rank, error) ||
            !cuda_ok(c, set_live(c, i), "cudaMemcpy", v->rank, error))
            return false;
    }
    return true;
}

bool cuda_memory_fill(struct cuda *c, int byte, GError **error)
{
    for (uint32_t i = 0; i < c->plan->t.n_ranks; i++) {
        const size_t bytes = (size_t)c->plan->arena_bytes[i];
        if (!cuda_use(c, i, error) ||
            (bytes && !cuda_ok(c, cudaMemset(c->ranks[i].arena, byte, bytes), "cudaMemset", i, error)) ||
            !cuda_ok(c, cudaDeviceSynchronize(), "cudaDeviceSynchronize", i, error))
            return false;
    }
    return true;
}

bool cuda_memory_place(struct cuda *c, GError **error)
{
    for (uint32_t layer = 0; layer < c->plan->t.n_layers; layer++)
        if (!put_layer(c, layer, error))
            return false;
    if (!set_others(c, error))
        return false;
    /* Neither is there when the calls return, and our streams do not wait for the default one. */
    for (uint32_t i = 0; i < c->plan->t.n_ranks; i++)
        if (!cuda_use(c, i, error) || !cuda_ok(c, cudaDeviceSynchronize(), "cudaDeviceSynchronize", i, error))
            return false;
    return true;
}

/* --- the whole */

bool cuda_memory_open(struct cuda *c, GError **error)
{
    const struct plan *plan = c->plan;
    uint64_t largest = 0;
    for (uint32_t i = 0; i < plan->t.n_ranks; i++)
        if (!open_arena(c, i, error))
            return false;
    for (uint32_t i = 0; i < plan->n_values; i++)
        if (plan->values[i].cls == VALUE_WEIGHT)
            largest = MAX(largest, plan->values[i].bytes);
    c->staging = g_malloc((size_t)largest);
    c->mem = g_new(void *, plan->n_accesses);
    for (uint32_t i = 0; i < plan->n_accesses; i++)
        c->mem[i] = address(c, plan->accesses[i].value);
    return open_pinned(c, error);
}

/* The mirror takes host memory only where something was copied to. */
void *cuda_memory_cell(struct cuda *c, uint32_t value)
{
    const struct value *v = &c->plan->values[value];
    struct gpu_rank *r = &c->ranks[v->rank];
    if (!r->mirror)
        r->mirror = g_malloc((size_t)c->plan->arena_bytes[v->rank]);
    char *copy = r->mirror + c->plan->place[v->root] + v->offset;
    GError *error = NULL;
    if (v->bytes && cuda_use(c, v->rank, &error))
        cuda_ok(c, cudaMemcpy(copy, address(c, value), v->bytes, cudaMemcpyDeviceToHost), "cudaMemcpy",
                v->rank, &error);
    if (error && !c->failed_cell)
        c->failed_cell = error;
    else
        g_clear_error(&error);
    return copy;
}

void cuda_memory_close(struct cuda *c)
{
    for (uint32_t i = 0; i < c->plan->t.n_ranks; i++) {
        (void)cuda_use(c, i, NULL); /* after a failure everything fails, and is to be let go all the same */
        if (c->ranks[i].arena)
            cudaFree(c->ranks[i].arena);
        g_free(c->ranks[i].mirror);
    }
    if (c->pinned)
        cudaFreeHost(c->pinned);
    g_free(c->staging);
    g_free(c->mem);
}
