#include "exec/cuda/sm-split.h"

#include <cuda.h>
#include <glib.h>
#include <stdbool.h>

/* The driver's functions, asked of the runtime: nothing links the driver's library, which is absent without a
 * GPU. */
#define DRIVER_FUNCTIONS(X)                                                                                  \
    X(cuDeviceGet)                                                                                           \
    X(cuDeviceGetDevResource)                                                                                \
    X(cuDevSmResourceSplitByCount)                                                                           \
    X(cuDevResourceGenerateDesc)                                                                             \
    X(cuGreenCtxCreate)                                                                                      \
    X(cuGreenCtxDestroy)                                                                                     \
    X(cuGreenCtxStreamCreate)

struct driver {
#define FUNCTION(name) __typeof__(&name) name;
    DRIVER_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

struct sm_split {
    struct driver driver;
    uint32_t parts, a_part, of;
    CUgreenCtx *contexts; /* by part */
};

static void *entry_point(const char *name)
{
    const unsigned since = 12050; /* the CUDA version of which these functions are asked */
    enum cudaDriverEntryPointQueryResult found;
    void *function = NULL;
    if (cudaGetDriverEntryPointByVersion(name, &function, since, cudaEnableDefault, &found) != cudaSuccess ||
        found != cudaDriverEntryPointSuccess)
        return NULL;
    return function;
}

static bool find_driver(struct driver *driver)
{
#define FIND(name)                                                                                           \
    if (!(driver->name = (__typeof__(driver->name))entry_point(#name)))                                      \
        return false;
    DRIVER_FUNCTIONS(FIND)
#undef FIND
    return true;
}

/* The largest equal groups: the driver rounds up what it is asked for, so it is asked for whole alignments.
 */
static bool cut(struct sm_split *split, CUdevice device, CUdevResource *groups)
{
    CUdevResource whole;
    if (split->driver.cuDeviceGetDevResource(device, &whole, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS)
        return false;
    const unsigned step = MAX(whole.sm.smCoscheduledAlignment, 1),
                   least = MAX(whole.sm.minSmPartitionSize, step);
    split->of = whole.sm.smCount;
    for (unsigned count = whole.sm.smCount / split->parts / step * step; count >= least; count -= step) {
        unsigned n = split->parts;
        if (split->driver.cuDevSmResourceSplitByCount(groups, &n, &whole, NULL, 0, count) == CUDA_SUCCESS &&
            n == split->parts) {
            split->a_part = groups[0].sm.smCount;
            return true;
        }
    }
    return false;
}

/* Costs are measured before the run that they predict: what was refused once is not tried again, lest one has
 * parts and the other has not. */
static bool create(struct sm_split *split, CUdevice device, CUdevResource *groups)
{
    static bool refused;
    for (uint32_t i = 0; i < split->parts && !refused; i++) {
        CUdevResourceDesc description;
        refused = split->driver.cuDevResourceGenerateDesc(&description, &groups[i], 1) != CUDA_SUCCESS ||
                  split->driver.cuGreenCtxCreate(&split->contexts[i], description, device,
                                                 CU_GREEN_CTX_DEFAULT_STREAM) != CUDA_SUCCESS;
    }
    return !refused;
}

struct sm_split *sm_split_open(uint32_t device, uint32_t parts)
{
    CUdevice handle;
    struct sm_split *split = g_new0(struct sm_split, 1);
    CUdevResource *groups = g_new0(CUdevResource, parts);
    split->parts = parts;
    split->contexts = g_new0(CUgreenCtx, parts);
    const bool done = find_driver(&split->driver) &&
                      split->driver.cuDeviceGet(&handle, (int)device) == CUDA_SUCCESS &&
                      cut(split, handle, groups) && create(split, handle, groups);
    g_free(groups);
    if (done)
        return split;
    sm_split_close(split);
    return NULL;
}

int sm_split_stream(const struct sm_split *split, uint32_t part, int priority, cudaStream_t *stream)
{
    return (int)split->driver.cuGreenCtxStreamCreate(stream, split->contexts[part], CU_STREAM_NON_BLOCKING,
                                                     priority);
}

void sm_split_count(const struct sm_split *split, uint32_t *a_part, uint32_t *of)
{
    *a_part = split->a_part;
    *of = split->of;
}

void sm_split_close(struct sm_split *split)
{
    if (!split)
        return;
    for (uint32_t i = 0; i < split->parts; i++)
        if (split->contexts[i])
            split->driver.cuGreenCtxDestroy(split->contexts[i]);
    g_free(split->contexts);
    g_free(split);
}
