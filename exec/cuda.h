/* exec/cuda.h -- between the program and parprof-cuda.so, the module that knows CUDA, cuBLAS, NCCL and CUPTI.
 *
 * The program has none of these libraries; it opens the module when a GPU is asked for, and never closes it.
 * The module exports one symbol, parprof_cuda, a cuda_module_open; all that it needs of the program comes in
 * one struct.
 */
#ifndef EXEC_CUDA_H
#define EXEC_CUDA_H

#include "exec/backend.h"
#include "exec/compute.h"
#include "exec/data.h"
#include "exec/state.h"
#include "exec/workers.h"
#include "profile/trace.h"

/* Both sides are built together; another one's module is refused. */
#define CUDA_MODULE_ABI    3
#define CUDA_MODULE_SYMBOL "parprof_cuda"

struct cuda_host {
    uint32_t abi;
#define HOST(type, name, parameters, arguments) type(*name) parameters;
#include "exec/cuda/host.def"
#undef HOST
};

enum cuda_health { CUDA_GOOD, CUDA_BAD, CUDA_UNTRIED };

struct cuda_module {
    uint32_t abi;
    const char *version; /* of parprof */
    const char *built; /* "code for sm_75 sm_80 ..." */
    /* Whether a run is possible; the error is the first layer that is missing and what to do.  From one
     * thread. */
    bool (*probe)(GError **);
    uint32_t (*devices)(void); /* that are visible; 0 unless the probe succeeded */
    /* Whether a run of so many ranks by this all-reduce is possible; only after the probe. */
    bool (*check)(const struct plan *, GError **);
    /* Every layer of the stack, from the libraries to a kernel that CUPTI records and an all-reduce of NCCL.
     */
    void (*examine)(void (*say)(void *user, const char *layer, enum cuda_health, const char *text),
                    void *user);
    /* Labels for captions and facts about the machine, before a run; and what became of clocks and
     * temperatures, after it. */
    void (*describe)(const struct run *, struct trace *);
    void (*conclude)(const struct run *, struct trace *);
    const struct backend_ops *backend;
    void (*release)(void); /* lets CUPTI go; nothing may be run after it */
};

typedef const struct cuda_module *cuda_module_open(const struct cuda_host *);

/* cuda.c: opens the module.  NULL with the reason; an error of ENGINE_ERROR_UNAVAILABLE. */
const struct cuda_module *cuda_open(GError **);
/* Before main returns: what the module holds of CUPTI goes before CUDA's own handlers take CUDA down. Nothing
 * if it was never opened. */
void cuda_release(void);

#endif
