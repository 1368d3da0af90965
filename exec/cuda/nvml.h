/* exec/cuda/nvml.h -- what we use of NVIDIA's management library, declared here: its header is not installed
 * with CUDA everywhere.
 *
 * libnvidia-ml.so.1 comes with the driver and is opened at run time; a function that it lacks is NULL.
 * Numbers are those of NVIDIA's NVML API reference.
 */
#ifndef EXEC_CUDA_NVML_H
#define EXEC_CUDA_NVML_H

#include <stdbool.h>
#include <stdint.h>

struct nvmlDevice_st;

enum { NVML_SUCCESS = 0 };
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
enum { NVML_TEMPERATURE_GPU = 0 };
/* Why clocks are lower than they could be, bits. */
enum {
    NVML_REASON_IDLE = 0x1,
    NVML_REASON_APPLICATION_CLOCKS = 0x2,
    NVML_REASON_SW_POWER_CAP = 0x4,
    NVML_REASON_HW_SLOWDOWN = 0x8,
    NVML_REASON_SYNC_BOOST = 0x10,
    NVML_REASON_SW_THERMAL = 0x20,
    NVML_REASON_HW_THERMAL = 0x40,
    NVML_REASON_HW_POWER_BRAKE = 0x80
};
enum { NVML_POLICY_POWER = 0, NVML_POLICY_THERMAL = 1 };
enum { NVML_P2P_NVLINK = 2, NVML_P2P_OK = 0 };
/* How far two GPUs are apart on PCI Express. */
enum {
    NVML_TOPOLOGY_INTERNAL = 0,
    NVML_TOPOLOGY_SINGLE = 10,
    NVML_TOPOLOGY_MULTIPLE = 20,
    NVML_TOPOLOGY_HOSTBRIDGE = 30,
    NVML_TOPOLOGY_NODE = 40,
    NVML_TOPOLOGY_SYSTEM = 50
};

struct nvml_violation {
    unsigned long long reference_us, violation_ns; /* since the driver was loaded */
};

/* NVML(name, parameters): int nvml##name parameters. */
#define NVML_FUNCTIONS                                                                                       \
    NVML(Init_v2, (void))                                                                                    \
    NVML(Shutdown, (void))                                                                                   \
    NVML(SystemGetDriverVersion, (char *out, unsigned bytes))                                                \
    NVML(DeviceGetHandleByPciBusId_v2, (const char *bus, struct nvmlDevice_st **out))                        \
    NVML(DeviceGetClockInfo, (struct nvmlDevice_st *, int clock, unsigned *mhz))                             \
    NVML(DeviceGetMaxClockInfo, (struct nvmlDevice_st *, int clock, unsigned *mhz))                          \
    NVML(DeviceGetTemperature, (struct nvmlDevice_st *, int sensor, unsigned *celsius))                      \
    NVML(DeviceGetPowerUsage, (struct nvmlDevice_st *, unsigned *milliwatt))                                 \
    NVML(DeviceGetEnforcedPowerLimit, (struct nvmlDevice_st *, unsigned *milliwatt))                         \
    NVML(DeviceGetCurrentClocksThrottleReasons, (struct nvmlDevice_st *, unsigned long long *bits))          \
    NVML(DeviceGetViolationStatus, (struct nvmlDevice_st *, int policy, struct nvml_violation *))            \
    NVML(DeviceGetP2PStatus, (struct nvmlDevice_st *, struct nvmlDevice_st *, int index, int *status))       \
    NVML(DeviceGetTopologyCommonAncestor, (struct nvmlDevice_st *, struct nvmlDevice_st *, int *level))

struct nvml {
    void *library;
#define NVML(name, parameters) int(*name) parameters;
    NVML_FUNCTIONS
#undef NVML
};

/* nvml.c.  False where the library is absent or does not start; then everything in it is NULL. */
bool nvml_open(struct nvml *);
void nvml_close(struct nvml *); /* also after a failed open */
/* The device that CUDA has at this number; NULL where NVML does not know it. */
struct nvmlDevice_st *nvml_device(const struct nvml *, uint32_t device);

#endif
