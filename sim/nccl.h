/* sim/nccl.h -- NCCL's own estimate of a collective, by which it picks algorithm and protocol: the rule of NCCL 2.30
 * (src/graph/tuning.cc), written from its description.  It selects; it is not a precise predictor. */
#ifndef SIM_NCCL_H
#define SIM_NCCL_H

#include <stdbool.h>
#include <stdint.h>

enum nccl_arch { NCCL_VOLTA, NCCL_AMPERE, NCCL_HOPPER, NCCL_BLACKWELL };
enum nccl_coll { NCCL_ALLREDUCE, NCCL_REDUCE_SCATTER, NCCL_ALLGATHER, NCCL_BROADCAST, NCCL_REDUCE };
enum nccl_algo { NCCL_TREE, NCCL_RING, NCCL_NVLS, NCCL_NVLS_TREE, NCCL_ALGOS };
enum nccl_proto { NCCL_LL, NCCL_LL128, NCCL_SIMPLE, NCCL_PROTOS };

/* What NCCL's topology search found. */
struct nccl_topo {
    uint8_t arch; /* enum nccl_arch */
    uint32_t nodes, ranks;
    uint32_t channels;
    double intra_gbs, inter_gbs; /* of a channel, GB/s */
    bool nvlink;                 /* else PCI */
    bool nvls;                   /* the switch can reduce */
    bool amd;                    /* host CPU, else Intel */
};

struct nccl_choice {
    uint8_t algo, proto;
    double us;
};

/* Time of one combination, or a negative number if it does not apply. */
double nccl_time_us(const struct nccl_topo *, enum nccl_coll, enum nccl_algo, enum nccl_proto, uint64_t bytes);
struct nccl_choice nccl_choose(const struct nccl_topo *, enum nccl_coll, uint64_t bytes);
const char *nccl_algo_name(unsigned);   /* "Ring" */
const char *nccl_proto_name(unsigned);  /* "LL128" */

#endif
