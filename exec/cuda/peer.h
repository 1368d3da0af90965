/* exec/cuda/peer.h -- the memory of one GPU from another: access, copies and additions, and whether they
 * arrive right. */
#ifndef EXEC_CUDA_PEER_H
#define EXEC_CUDA_PEER_H

#include <cuda_runtime_api.h>

#include "exec/cuda/module.h"
#include "kernels/cuda.h"

/* Where work is queued, for calls and for messages about them. */
struct site {
    struct k_cuda_stream *k;
    cudaStream_t stream;
    uint32_t rank, device;
};

struct peers {
    uint32_t n;   /* greatest number of a device in use, plus one */
    bool *used;   /* by device */
    bool *direct; /* [a * n + b]: kernels on a reach memory of b */
};

/* Enables access between all devices of the ranks that can have it.  Changes the current device.  close also
 * after a failed open; access stays enabled. */
bool peers_open(struct peers *, const uint32_t *device, uint32_t n_ranks, GError **);
bool peers_direct(const struct peers *, uint32_t device, uint32_t from);
void peers_close(struct peers *);

/* Queue at the site, whose device is `to`'s.  staging: of the same device and size; NULL where it reads
 * `from` itself. */
bool peers_copy(const struct site *, const void *from, uint32_t from_device, void *to, uint64_t bytes,
                GError **);
bool peers_add(const struct site *, const void *from, uint32_t from_device, void *to, uint64_t bytes,
               void *staging, GError **);

/* From each device in use to each, itself too, known numbers are copied and added, and compared.  sites: by
 * device; without k: not tried.  Changes the current device. */
bool peers_check(const struct peers *, const struct site *sites, GError **);

bool site_check(const struct site *, const char *call, int status,
                GError **); /* status is 0, or an error of the call */

#endif
