/* sim/cluster.h -- a machine to simulate: devices and the link between them.  Read from an INI file.
 * Rates of links are Gb/s (bits, per direction and device), of memory GB/s, of arithmetic TFLOP/s. */
#ifndef SIM_CLUSTER_H
#define SIM_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "sim/nccl.h"

struct cluster {
    char *name, *summary;
    char *source;     /* where the numbers come from */
    uint32_t nodes;   /* 1 if the file does not say */
    uint32_t devices; /* of one node */
    double f32_tflops, f64_tflops;
    double tf32_tflops; /* of products; 0: as f32 */
    double memory_gbs;
    double memory_gib;         /* of a device; 0: unknown */
    double launch_us;          /* one kernel's launch overhead */
    double efficiency;         /* of the peak that large products reach, in (0, 1] */
    uint32_t sms;              /* multiprocessors, or cores; 0: unknown */
    double link_gbps, link_us; /* between any two devices of a node: beta, alpha */
    bool link_shared;          /* one bus for all devices of a node (PCIe), else a link each (NVLink) */
    double net_gbps, net_us;   /* between nodes: what one network card carries each way; 0: one node only */
    uint32_t net_cards;        /* of a node; device i sends and receives through card i mod cards */
    bool nccl_known;           /* the file has what NCCL's rule needs: */
    struct nccl_topo nccl;     /* ranks and nodes are filled in by whoever asks */
};

/* `name` is a built-in cluster's name or a file's path (it has a slash or ends in .ini).  Errors name file
 * and line.
 *
 * The file: [cluster] with name, summary, source, devices and, if there are several, nodes; [device] with
 * f32-tflops, f64-tflops, memory-gbs, launch-us, efficiency and, if known, sms, tf32-tflops and memory-gib;
 * [link] with gbps, us and, for a bus, shared = node (else device); with several nodes, [network] with gbps,
 * us, cards; and maybe [nccl] with arch (volta, ampere, hopper, blackwell), channels, intra-gbs, inter-gbs
 * (several nodes), path (nvlink, pci), cpu (intel, amd) and nvls (yes, no). */
struct cluster *cluster_load(const char *name, GError **);
struct cluster *cluster_parse(const char *text, const char *file, GError **);
void cluster_free(struct cluster *);
char **cluster_list(void); /* g_strfreev */

#endif
