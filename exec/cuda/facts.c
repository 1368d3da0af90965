/* What reports and captions say about the machine.  What nobody tells is absent. */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "exec/cuda/comm.h"
#include "exec/cuda/module.h"
#include "exec/cuda/nvml.h"
#include "profile/collect.h"
#include "profile/facts.h"

extern char **environ;

static void fact(struct trace *trace, const char *key, const char *format, ...) G_GNUC_PRINTF(3, 4);

static void fact(struct trace *trace, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    trace_fact_text(trace, key, text);
}

/* By number of the GPU: how many ranks it has. */
static uint32_t *count_ranks(const struct plan *plan, uint32_t n_devices)
{
    uint32_t *ranks = g_new0(uint32_t, n_devices);
    for (uint32_t i = 0; i < plan->t.n_ranks; i++)
        ranks[cuda_device_of(plan, i)]++;
    return ranks;
}

/* --- captions */

/* "2 x NVIDIA H200", in the order in which the names come first. */
static char *name_gpus(const uint32_t *ranks, uint32_t n_devices)
{
    GString *text = g_string_new(NULL);
    g_autofree struct cudaDeviceProp *p = g_new0(struct cudaDeviceProp, n_devices);
    for (uint32_t i = 0; i < n_devices; i++)
        if (ranks[i] && cudaGetDeviceProperties(&p[i], (int)i))
            strcpy(p[i].name, "unnamed GPU");
    for (uint32_t i = 0; i < n_devices; i++) {
        uint32_t equal = 0;
        for (uint32_t j = 0; ranks[i] && j < n_devices; j++)
            if (ranks[j] && !strcmp(p[i].name, p[j].name)) {
                if (j < i)
                    break;
                equal++;
            }
        if (equal)
            g_string_append_printf(text, "%s%u × %s", text->len ? ", " : "", equal, p[i].name);
    }
    return g_string_free(text, FALSE);
}

static void label_ranks(const struct plan *plan, const uint32_t *ranks, uint32_t n_devices,
                        struct trace *trace)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < n_devices; i++)
        used += ranks[i] > 0;
    if (used == plan->t.n_ranks)
        return;
    g_autofree char *text =
        g_strdup_printf("%u ranks share %u GPU%s", plan->t.n_ranks, used, used == 1 ? "" : "s");
    trace_label_text(trace, LABEL_RANKS, text);
}

enum way { WAY_NONE, WAY_OWN, WAY_NCCL };

static enum way way_of(const struct plan *plan)
{
    enum way way = WAY_NONE;
    g_autofree uint32_t *device = g_new(uint32_t, plan->t.n_ranks);
    for (uint32_t i = 0; i < plan->t.n_ranks; i++)
        device[i] = cuda_device_of(plan, i);
    g_autofree bool *taken = comm_nccl_gangs(plan, device);
    for (uint32_t g = 0; g < plan->n_gangs; g++)
        if (plan->gangs[g].n > 1) {
            if (taken[g])
                return WAY_NCCL;
            way = WAY_OWN;
        }
    return way;
}

static void label_link(const struct run *run, struct trace *trace)
{
    char rate[G_ASCII_DTOSTR_BUF_SIZE], latency[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(rate, sizeof rate, "%.6g", run->link_gbps);
    g_ascii_formatd(latency, sizeof latency, "%.6g", run->link_us);
    enum way way = way_of(run->plan);
    g_autofree char *text =
        way == WAY_NONE      ? NULL
        : way == WAY_NCCL    ? g_strdup("NCCL")
        : run->link_gbps > 0 ? g_strdup_printf("own copies, paced to %s Gb/s, %s µs", rate, latency)
        : run->link_us > 0   ? g_strdup_printf("own copies, paced to %s µs, no faster", latency)
                             : g_strdup("own copies, not paced");
    if (text)
        trace_label_text(trace, "link", text);
}

/* --- versions and settings */

char *cuda_driver_release(void)
{
    char text[96] = "";
    struct nvml n;
    bool known = nvml_open(&n) && n.SystemGetDriverVersion &&
                 n.SystemGetDriverVersion(text, sizeof text) == NVML_SUCCESS && *text;
    nvml_close(&n);
    return known ? g_strdup(text) : NULL;
}

static void add_versions(struct trace *trace)
{
    int driver = 0, runtime = 0, part[3] = {0};
    g_autofree char *release = cuda_driver_release(), *nccl = comm_nccl_version(NULL);
    if (!cudaDriverGetVersion(&driver))
        fact(trace, "driver", "%s%sCUDA %d.%d", release ? release : "", release ? ", " : "", driver / 1000,
             driver % 1000 / 10);
    if (!cudaRuntimeGetVersion(&runtime))
        fact(trace, "cuda runtime", "%d.%d", runtime / 1000, runtime % 1000 / 10);
    if (!cublasGetProperty(MAJOR_VERSION, &part[0]) && !cublasGetProperty(MINOR_VERSION, &part[1]) &&
        !cublasGetProperty(PATCH_LEVEL, &part[2]))
        fact(trace, "cublas", "%d.%d.%d", part[0], part[1], part[2]);
    if (nccl)
        trace_fact_text(trace, "nccl", nccl);
    trace_fact_text(trace, "cupti", collect_version());
}

/* All that may change what CUDA and NCCL do. */
static void add_variables(struct trace *trace)
{
    for (char **v = environ; *v; v++) {
        const char *value = strchr(*v, '=');
        if (!value || (!g_str_has_prefix(*v, "CUDA_") && !g_str_has_prefix(*v, "NCCL_")))
            continue;
        g_autofree char *name = g_strndup(*v, (gsize)(value - *v));
        trace_fact_text(trace, name, value + 1);
    }
    if (!g_getenv("CUDA_DEVICE_MAX_CONNECTIONS"))
        trace_fact_text(trace, "CUDA_DEVICE_MAX_CONNECTIONS", "not set");
}

/* --- GPUs */

/* Since the driver was loaded: how long the clocks were held down. */
struct held {
    bool known[2];
    uint64_t ns[2];
};
enum { HELD_BY_POWER, HELD_BY_HEAT };

static struct held held_at_start[64];

static struct held read_held(const struct nvml *n, struct nvmlDevice_st *device)
{
    static const int policies[] = {[HELD_BY_POWER] = NVML_POLICY_POWER, [HELD_BY_HEAT] = NVML_POLICY_THERMAL};
    struct held held = {0};
    for (unsigned i = 0; n->DeviceGetViolationStatus && i < G_N_ELEMENTS(policies); i++) {
        struct nvml_violation v = {0};
        held.known[i] = n->DeviceGetViolationStatus(device, policies[i], &v) == NVML_SUCCESS;
        held.ns[i] = v.violation_ns;
    }
    return held;
}

static void gpu_fact(struct trace *trace, uint32_t device, const char *what, const char *when,
                     const char *text)
{
    g_autofree char *key = g_strdup_printf("gpu %u %s%s%s", device, what, *when ? " " : "", when);
    trace_fact_text(trace, key, text);
}

static void append_clock(GString *text, const struct nvml *n, struct nvmlDevice_st *device, int clock,
                         const char *name)
{
    unsigned now = 0, most = 0;
    if (!n->DeviceGetClockInfo || n->DeviceGetClockInfo(device, clock, &now) != NVML_SUCCESS)
        return;
    g_string_append_printf(text, "%s%s %u", text->len ? ", " : "", name, now);
    if (n->DeviceGetMaxClockInfo && n->DeviceGetMaxClockInfo(device, clock, &most) == NVML_SUCCESS)
        g_string_append_printf(text, " of %u", most);
    g_string_append(text, " MHz");
}

static void add_clocks(struct trace *trace, const struct nvml *n, struct nvmlDevice_st *device, uint32_t i,
                       const char *when)
{
    g_autoptr(GString) text = g_string_new(NULL);
    append_clock(text, n, device, NVML_CLOCK_SM, "SM");
    append_clock(text, n, device, NVML_CLOCK_MEM, "memory");
    if (text->len)
        gpu_fact(trace, i, "clocks", when, text->str);
}

static void add_heat(struct trace *trace, const struct nvml *n, struct nvmlDevice_st *device, uint32_t i,
                     const char *when)
{
    unsigned celsius = 0, milliwatt = 0, most = 0;
    g_autoptr(GString) power = g_string_new(NULL);
    if (n->DeviceGetTemperature &&
        n->DeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &celsius) == NVML_SUCCESS) {
        g_autofree char *text = g_strdup_printf("%u °C", celsius);
        gpu_fact(trace, i, "temperature", when, text);
    }
    if (!n->DeviceGetPowerUsage || n->DeviceGetPowerUsage(device, &milliwatt) != NVML_SUCCESS)
        return;
    g_string_append_printf(power, "%u", (milliwatt + 500) / 1000);
    if (n->DeviceGetEnforcedPowerLimit && n->DeviceGetEnforcedPowerLimit(device, &most) == NVML_SUCCESS)
        g_string_append_printf(power, " of %u", (most + 500) / 1000);
    g_string_append(power, " W");
    gpu_fact(trace, i, "power", when, power->str);
}

static const struct {
    unsigned bit;
    const char *text;
    bool alarming;
} reasons[] = {
    {NVML_REASON_HW_THERMAL, "thermal slowdown", true},
    {NVML_REASON_SW_THERMAL, "thermal limit", true},
    {NVML_REASON_HW_POWER_BRAKE, "power brake", true},
    {NVML_REASON_HW_SLOWDOWN, "hardware slowdown", true},
    {NVML_REASON_SW_POWER_CAP, "power cap", false},
    {NVML_REASON_APPLICATION_CLOCKS, "application clocks", false},
    {NVML_REASON_SYNC_BOOST, "sync boost", false},
    {NVML_REASON_IDLE, "idle", false},
};

/* Appends what alarms to `alarm`. */
static void add_reasons(struct trace *trace, const struct nvml *n, struct nvmlDevice_st *device, uint32_t i,
                        const char *when, GString *alarm)
{
    unsigned long long bits = 0;
    g_autoptr(GString) text = g_string_new(NULL);
    if (!n->DeviceGetCurrentClocksThrottleReasons ||
        n->DeviceGetCurrentClocksThrottleReasons(device, &bits) != NVML_SUCCESS)
        return;
    for (unsigned j = 0; j < G_N_ELEMENTS(reasons); j++) {
        if (!(bits & reasons[j].bit))
            continue;
        g_string_append_printf(text, "%s%s", text->len ? ", " : "", reasons[j].text);
        if (reasons[j].alarming)
            g_string_append_printf(alarm, "%sGPU %u: %s", alarm->len ? ", " : "", i, reasons[j].text);
    }
    gpu_fact(trace, i, "clocks limited by", when, text->len ? text->str : "nothing");
}

static void add_held(struct trace *trace, const struct held *since, const struct held *until, uint32_t i,
                     GString *alarm)
{
    static const char *const names[] = {
        [HELD_BY_POWER] = "held down by power", [HELD_BY_HEAT] = "held down by heat"};
    for (unsigned j = 0; j < G_N_ELEMENTS(names); j++) {
        if (!since->known[j] || !until->known[j] || until->ns[j] < since->ns[j])
            continue;
        char ms[G_ASCII_DTOSTR_BUF_SIZE];
        g_ascii_formatd(ms, sizeof ms, "%.1f", (double)(until->ns[j] - since->ns[j]) / 1e6);
        g_autofree char *text = g_strdup_printf("%s ms", ms);
        gpu_fact(trace, i, names[j], "", text);
        if (j == HELD_BY_HEAT && until->ns[j] > since->ns[j])
            g_string_append_printf(alarm, "%sGPU %u: %s for %s", alarm->len ? ", " : "", i, names[j], text);
    }
}

static void add_state(struct trace *trace, const struct nvml *n, struct nvmlDevice_st *device, uint32_t i,
                      const char *when, GString *alarm)
{
    add_clocks(trace, n, device, i, when);
    add_heat(trace, n, device, i, when);
    add_reasons(trace, n, device, i, when, alarm);
}

static void add_gpu(struct trace *trace, uint32_t i)
{
    struct cudaDeviceProp p;
    char memory[G_ASCII_DTOSTR_BUF_SIZE], bus[32] = "";
    if (cudaGetDeviceProperties(&p, (int)i))
        return;
    g_ascii_formatd(memory, sizeof memory, "%.1f", (double)p.totalGlobalMem / (1 << 30));
    bool known = !cudaDeviceGetPCIBusId(bus, sizeof bus, (int)i);
    g_autofree char *key = g_strdup_printf("gpu %u", i);
    fact(trace, key, "%s, %d SMs, %s GiB, compute capability %d.%d%s%s", p.name, p.multiProcessorCount,
         memory, p.major, p.minor, known ? ", PCI " : "", bus);
}

/* --- between GPUs */

static const char *path_between(const struct nvml *n, struct nvmlDevice_st *a, struct nvmlDevice_st *b)
{
    int value = -1;
    if (a && b && n->DeviceGetP2PStatus &&
        n->DeviceGetP2PStatus(a, b, NVML_P2P_NVLINK, &value) == NVML_SUCCESS && value == NVML_P2P_OK)
        return "NVLink";
    if (!a || !b || !n->DeviceGetTopologyCommonAncestor ||
        n->DeviceGetTopologyCommonAncestor(a, b, &value) != NVML_SUCCESS)
        return NULL;
    return value <= NVML_TOPOLOGY_SINGLE       ? "one PCIe switch"
           : value <= NVML_TOPOLOGY_MULTIPLE   ? "several PCIe switches"
           : value <= NVML_TOPOLOGY_HOSTBRIDGE ? "PCIe host bridge"
           : value <= NVML_TOPOLOGY_NODE       ? "one socket"
                                               : "between sockets";
}

static void add_peers(struct trace *trace, const struct nvml *n, const uint32_t *ranks, uint32_t n_devices)
{
    for (uint32_t a = 0; a < n_devices; a++)
        for (uint32_t b = a + 1; b < n_devices; b++) {
            if (!ranks[a] || !ranks[b])
                continue;
            g_autofree char *key = g_strdup_printf("gpus %u and %u", a, b);
            const char *path = path_between(n, nvml_device(n, a), nvml_device(n, b));
            fact(trace, key, "%s%s%s", path ? path : "", path ? ", " : "",
                 cuda_peers(a, b) ? "peer access" : "no peer access");
        }
}

/* --- before and after */

void cuda_describe(const struct run *run, struct trace *trace)
{
    uint32_t n_devices = MAX(cuda_devices(), 1);
    g_autofree uint32_t *ranks = count_ranks(run->plan, n_devices);
    g_autofree char *names = name_gpus(ranks, n_devices);
    g_autoptr(GString) alarm = g_string_new(NULL);
    struct nvml n;
    trace_label_text(trace, "engine", "cuda");
    trace_label_text(trace, "gpus", names);
    label_ranks(run->plan, ranks, n_devices, trace);
    label_link(run, trace);
    add_versions(trace);
    add_variables(trace);
    nvml_open(&n);
    for (uint32_t i = 0; i < n_devices; i++) {
        struct nvmlDevice_st *device = ranks[i] ? nvml_device(&n, i) : NULL;
        if (ranks[i])
            add_gpu(trace, i);
        if (i < G_N_ELEMENTS(held_at_start))
            held_at_start[i] = device ? read_held(&n, device) : (struct held){0};
        if (device)
            add_state(trace, &n, device, i, "before", alarm);
    }
    add_peers(trace, &n, ranks, n_devices);
    nvml_close(&n);
}

void cuda_conclude(const struct run *run, struct trace *trace)
{
    uint32_t n_devices = MAX(cuda_devices(), 1);
    g_autofree uint32_t *ranks = count_ranks(run->plan, n_devices);
    g_autoptr(GString) alarm = g_string_new(NULL);
    struct nvml n;
    add_variables(trace); /* some are set by the run itself */
    nvml_open(&n);
    for (uint32_t i = 0; i < n_devices; i++) {
        struct nvmlDevice_st *device = ranks[i] ? nvml_device(&n, i) : NULL;
        if (!device)
            continue;
        add_state(trace, &n, device, i, "after", alarm);
        struct held held = read_held(&n, device);
        if (i < G_N_ELEMENTS(held_at_start))
            add_held(trace, &held_at_start[i], &held, i, alarm);
    }
    nvml_close(&n);
    if (alarm->len)
        trace_label_text(trace, LABEL_CLOCKS, alarm->str);
}
