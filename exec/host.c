#include "exec/host.h"

#include <sched.h>
#include <sys/resource.h>
#include <string.h>

#define CPUS_MAX 8192

static bool read_text(const char *path, char **text)
{
    return g_file_get_contents(path, text, NULL, NULL);
}

/* The first CPU of the mask that shares the core of `cpu`, by the kernel's list ("0-1" or "0,64"). */
static int core_leader(const cpu_set_t *mask, size_t size, int cpu)
{
    g_autofree char *path =
        g_strdup_printf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    g_autofree char *text = NULL;
    if (!read_text(path, &text))
        return cpu;
    for (char *p = text; g_ascii_isdigit(*p);) {
        guint64 first = g_ascii_strtoull(p, &p, 10);
        guint64 last = *p == '-' ? g_ascii_strtoull(p + 1, &p, 10) : first;
        for (guint64 i = first; i <= last && i < CPUS_MAX; i++)
            if (CPU_ISSET_S((int)i, size, mask))
                return (int)i;
        if (*p == ',')
            p++;
    }
    return cpu;
}

int *host_cpus(uint32_t *n)
{
    cpu_set_t *mask = CPU_ALLOC(CPUS_MAX);
    size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
    CPU_ZERO_S(size, mask);
    *n = 0;
    int *cpus = NULL;
    if (sched_getaffinity(0, size, mask) == 0) {
        int count = CPU_COUNT_S(size, mask);
        cpus = g_new(int, count + 1);
        uint32_t further = 0;
        int *siblings = g_new(int, count + 1);
        for (int i = 0; i < CPUS_MAX; i++) {
            if (!CPU_ISSET_S(i, size, mask))
                continue;
            if (core_leader(mask, size, i) == i)
                cpus[(*n)++] = i;
            else
                siblings[further++] = i;
        }
        memcpy(cpus + *n, siblings, further * sizeof *siblings);
        *n += further;
        g_free(siblings);
    }
    CPU_FREE(mask);
    return cpus;
}

static uint32_t count_lanes(const struct plan *plan, enum lane_class cls)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        n += plan->t.lanes[i].cls == cls;
    return n;
}

static int compute_cpu(const struct plan *plan, uint32_t rank, const int *cpu_of_lane)
{
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        if (plan->t.lanes[i].rank == rank && plan->t.lanes[i].cls == LANE_COMPUTE)
            return cpu_of_lane[i];
    return -1;
}

void host_place(const struct plan *plan, const int *cpus, uint32_t n_cpus, int *cpu_of_lane)
{
    uint32_t compute = count_lanes(plan, LANE_COMPUTE), next_compute = 0, next_comm = compute;
    bool pinned = compute <= n_cpus, own_comm = compute + count_lanes(plan, LANE_COMM) <= n_cpus;
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        cpu_of_lane[i] = pinned && plan->t.lanes[i].cls == LANE_COMPUTE ? cpus[next_compute++] : -1;
    for (uint32_t i = 0; i < plan->t.n_lanes; i++) {
        if (plan->t.lanes[i].cls == LANE_COMM && own_comm)
            cpu_of_lane[i] = cpus[next_comm++];
        else if (plan->t.lanes[i].cls != LANE_COMPUTE)
            cpu_of_lane[i] = compute_cpu(plan, plan->t.lanes[i].rank, cpu_of_lane);
    }
}

/* The number after `key`; false if the text does not have it (a limit may read "max"). */
static bool number_after(const char *text, const char *key, uint64_t *out)
{
    const char *p = strstr(text, key);
    if (!p)
        return false;
    p += strlen(key);
    p += strspn(p, " \t");
    if (!g_ascii_isdigit(*p))
        return false;
    *out = g_ascii_strtoull(p, NULL, 10);
    return true;
}

static bool read_number(const char *dir, const char *file, uint64_t *out)
{
    g_autofree char *path = g_build_filename(dir, file, NULL);
    g_autofree char *text = NULL;
    return read_text(path, &text) && number_after(text, "", out);
}

/* What one control group leaves; file pages that nobody uses count as free, the kernel gives them back. */
static uint64_t group_available(const char *dir, const char *max_file, const char *used_file,
                                const char *stat_key)
{
    uint64_t max, used, inactive = 0;
    if (!read_number(dir, max_file, &max) || !read_number(dir, used_file, &used))
        return UINT64_MAX;
    g_autofree char *path = g_build_filename(dir, "memory.stat", NULL);
    g_autofree char *text = NULL;
    if (read_text(path, &text))
        number_after(text, stat_key, &inactive);
    used -= MIN(used, inactive);
    return max > used ? max - used : 0;
}

/* Our own group and those above it (version 2), or the one mounted where version 1 is. */
static uint64_t groups_available(void)
{
    uint64_t available = group_available("/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                         "memory.usage_in_bytes", "total_inactive_file");
    g_autofree char *text = NULL;
    if (!read_text("/proc/self/cgroup", &text))
        return available;
    const char *own = strstr(text, "0::/");
    if (!own)
        return available;
    own += strlen("0::");
    g_autofree char *path = g_strndup(own, strcspn(own, "\n"));
    for (;;) {
        g_autofree char *dir = g_build_filename("/sys/fs/cgroup", path, NULL);
        available = MIN(available, group_available(dir, "memory.max", "memory.current", "inactive_file"));
        char *slash = strrchr(path, '/');
        if (!slash)
            return available;
        *slash = '\0';
    }
}

uint64_t host_memory_available(void)
{
    uint64_t kib, available = UINT64_MAX;
    g_autofree char *text = NULL;
    if (read_text("/proc/meminfo", &text) && number_after(text, "MemAvailable:", &kib) &&
        kib < UINT64_MAX / 1024)
        available = kib * 1024;
    return MIN(available, groups_available());
}

uint64_t host_address_space_left(void)
{
    struct rlimit limit;
    uint64_t used_kib = 0;
    g_autofree char *text = NULL;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    if (read_text("/proc/self/status", &text))
        number_after(text, "VmSize:", &used_kib);
    return limit.rlim_cur > used_kib * 1024 ? limit.rlim_cur - used_kib * 1024 : 0;
}
