/* sim/cluster.h -- a machine to simulate: devices and the link between them.  Read from an INI file.
 * Rates of links are Gb/s (bits, per direction and device), of memory GB/s, of arithmetic TFLOP/s. */
#ifndef SIM_CLUSTER_H
#define SIM_CLUSTER_H

#include <stdint.h>

#include <glib.h>

struct cluster {
    char *name, *summary;
    char *source;               /* where the numbers come from */
    uint32_t devices;           /* devices of one node */
    double f32_tflops, f64_tflops;
    double memory_gbs;
    double launch_us;           /* one kernel's launch overhead */
    double efficiency;          /* of the peak that large products reach, in (0, 1] */
    double link_gbps, link_us;  /* between any two devices: beta, alpha */
};

/* `name` is a built-in cluster's name or a file's path (it has a slash or ends in .ini).  Errors name file and line.
 *
 * The file: [cluster] with name, summary, source, devices; [device] with f32-tflops, f64-tflops, memory-gbs, launch-us,
 * efficiency; [link] with gbps, us. */
struct cluster *cluster_load(const char *name, GError **);
struct cluster *cluster_parse(const char *text, const char *file, GError **);
void cluster_free(struct cluster *);
char **cluster_list(void); /* g_strfreev */

#endif
