/* exec/cuda/module.h -- what the files of parprof-cuda.so share. */
#ifndef EXEC_CUDA_MODULE_H
#define EXEC_CUDA_MODULE_H

#include "exec/cuda.h"

/* host.c: once, before any service is called.  False: of another version. */
bool cuda_host_take(const struct cuda_host *);

/* probe.c: the layers below a run, from the driver up. */
bool cuda_probe(GError **);
uint32_t cuda_devices(void);
/* The GPU that a rank of the plan is put on: that of its lanes, modulo those that are visible. */
uint32_t cuda_device_of(const struct plan *, uint32_t rank);
/* examine.c */
void cuda_examine(void (*say)(void *user, const char *layer, enum cuda_health, const char *text), void *user);
/* Whether peer copies work from one device to another, each way; 0 <= a, b < cuda_devices(). */
bool cuda_peers(uint32_t a, uint32_t b);

/* facts.c: names, driver, clocks, throttling (NVML), the NCCL_ and CUDA_ variables.  conclude: after the run,
 * what has become of clocks and temperatures since. */
void cuda_describe(const struct run *, struct trace *);
void cuda_conclude(const struct run *, struct trace *);
char *cuda_driver_release(void); /* "580.65.06"; NULL where NVML does not tell; g_free */

/* backend.c */
extern const struct backend_ops backend_cuda;
bool cuda_check(const struct plan *, GError **);

/* Sets an error that names call, rank (OP_NONE: none) and device (OP_NONE: none), of ENGINE_ERROR_FAILED.
 * status is a cudaError_t or what k_cuda_text takes.  False. */
bool cuda_fail(GError **, const char *call, int status, uint32_t rank, uint32_t device);

#endif
