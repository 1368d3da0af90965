// tests/cuda-emulator/nvml.cpp -- libnvidia-ml: clocks and temperatures of emulated GPUs, which are nobody's.
// EMULATOR_NVML_REASONS=BITS: why clocks are low; EMULATOR_NO_NVML: not initialised.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emulator.h"

#pragma GCC visibility push(default)
extern "C" {
#include "exec/cuda/nvml.h"
}

enum { NOT_INITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_FOUND = 6 };

struct nvmlDevice_st {
    int device;
};
static nvmlDevice_st devices[16];

#define BEGIN(name)                                                                                          \
    emu::Call call(name, emu::Layer::library);                                                               \
    if (call.fault)                                                                                          \
        return call.fault;

extern "C" {

int nvmlInit_v2(void)
{
    BEGIN("nvmlInit_v2")
    for (int i = 0; i < 16; i++)
        devices[i].device = i;
    return emu::option("NO_NVML") ? int(NOT_INITIALIZED) : int(NVML_SUCCESS);
}

int nvmlShutdown(void)
{
    BEGIN("nvmlShutdown")
    return NVML_SUCCESS;
}

int nvmlSystemGetDriverVersion(char *out, unsigned bytes)
{
    BEGIN("nvmlSystemGetDriverVersion")
    snprintf(out, bytes, "580.0 (emulated)");
    return NVML_SUCCESS;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvmlDevice_st **out)
{
    BEGIN("nvmlDeviceGetHandleByPciBusId_v2")
    char own[32];
    for (unsigned i = 0; i < emu::gpus(); i++)
        if (cudaDeviceGetPCIBusId(own, sizeof own, int(i)) == cudaSuccess && strcasecmp(own, bus) == 0) {
            *out = &devices[i];
            return NVML_SUCCESS;
        }
    return NOT_FOUND;
}

int nvmlDeviceGetClockInfo(nvmlDevice_st *, int clock, unsigned *mhz)
{
    BEGIN("nvmlDeviceGetClockInfo")
    *mhz = clock == NVML_CLOCK_SM ? 1000 : 2000;
    return NVML_SUCCESS;
}

int nvmlDeviceGetMaxClockInfo(nvmlDevice_st *, int clock, unsigned *mhz)
{
    BEGIN("nvmlDeviceGetMaxClockInfo")
    *mhz = clock == NVML_CLOCK_SM ? 1500 : 2000;
    return NVML_SUCCESS;
}

int nvmlDeviceGetTemperature(nvmlDevice_st *, int, unsigned *celsius)
{
    BEGIN("nvmlDeviceGetTemperature")
    *celsius = 40;
    return NVML_SUCCESS;
}

int nvmlDeviceGetPowerUsage(nvmlDevice_st *, unsigned *milliwatt)
{
    BEGIN("nvmlDeviceGetPowerUsage")
    *milliwatt = 100000;
    return NVML_SUCCESS;
}

int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_st *, unsigned *milliwatt)
{
    BEGIN("nvmlDeviceGetEnforcedPowerLimit")
    *milliwatt = 500000;
    return NVML_SUCCESS;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_st *, unsigned long long *bits)
{
    BEGIN("nvmlDeviceGetCurrentClocksThrottleReasons")
    const char *reasons = emu::option("NVML_REASONS");
    *bits = reasons ? strtoull(reasons, nullptr, 0) : uint64_t(NVML_REASON_IDLE);
    return NVML_SUCCESS;
}

int nvmlDeviceGetViolationStatus(nvmlDevice_st *, int, nvml_violation *out)
{
    BEGIN("nvmlDeviceGetViolationStatus")
    *out = {1, 0};
    return NVML_SUCCESS;
}

int nvmlDeviceGetP2PStatus(nvmlDevice_st *, nvmlDevice_st *, int, int *status)
{
    BEGIN("nvmlDeviceGetP2PStatus")
    *status = NVML_P2P_OK;
    return NVML_SUCCESS;
}

int nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_st *, nvmlDevice_st *, int *level)
{
    BEGIN("nvmlDeviceGetTopologyCommonAncestor")
    *level = NVML_TOPOLOGY_NODE;
    return NVML_SUCCESS;
}

} // extern "C"
