/* tests/cuda-emulator/memory.cpp -- device and pinned memory: one region of addresses a device and one for pinned memory,
 * reserved at the first allocation.  Blocks are handed out with gaps between them, and an address is used again only when
 * the region is used up, so that what runs over a block or uses it after its end is seen. */
#include "machine.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace emu {

struct Layout layout;

namespace {

constexpr size_t ALIGN = GRANULE, GAP = GRANULE;

struct Region {
    char *base;
    size_t next = 0, used = 0;
    std::map<size_t, size_t> blocks; /* live: offset to bytes */
};

struct Memory {
    std::mutex lock;
    char *base = nullptr;
    size_t region; /* bytes of each; twice a device's memory, so that addresses last */
    Region regions[MAX_GPUS + 1];
    Memory()
    {
        region = (memory_bytes() * 2 + (size_t(1) << 30) - 1) >> 30 << 30;
        const size_t all = region * (gpus() + 1);
        /* Not mmap: a sanitizer of the program would spend its time on so large a mapping. */
        const long p = syscall(SYS_mmap, nullptr, all, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
        if (p == -1) {
            perror("emulator: reserving addresses");
            _exit(86);
        }
        base = reinterpret_cast<char *>(p);
        for (unsigned i = 0; i <= gpus(); i++)
            regions[i].base = base + region * i;
        check_map(base, base + region * gpus(), all);
        layout = {base, region, all};
    }
    Region &of(int device) { return regions[device < 0 ? gpus() : unsigned(device)]; }
};

Memory &memory()
{
    static Memory &m = *new Memory;
    return m;
}

/* An offset with room, beyond all that was given out while the region lasts, then the first gap. */
bool place(const Region &r, size_t region, size_t bytes, size_t *offset)
{
    const size_t need = bytes + GAP;
    if (r.next + need <= region) {
        *offset = r.next;
        return true;
    }
    size_t at = 0;
    for (const auto &[begin, size] : r.blocks) {
        if (at + need <= begin)
            break;
        at = (begin + size + GAP + ALIGN - 1) / ALIGN * ALIGN;
    }
    *offset = at;
    return at + need <= region;
}

} // namespace

size_t memory_bytes()
{
    static const size_t bytes = option("MEMORY") ? strtoull(option("MEMORY"), nullptr, 0) : size_t(4) << 30;
    return bytes;
}

size_t memory_used(int device)
{
    std::lock_guard hold(memory().lock);
    return memory().of(device).used;
}

cudaError_t allocate(int device, size_t bytes, void **out)
{
    Memory &m = memory();
    std::lock_guard hold(m.lock);
    Region &r = m.of(device);
    size_t offset;
    if (r.used + bytes > memory_bytes() || !place(r, m.region, bytes, &offset))
        return cudaErrorMemoryAllocation;
    r.blocks[offset] = bytes;
    r.used += bytes;
    r.next = std::max(r.next, (offset + bytes + GAP + ALIGN - 1) / ALIGN * ALIGN);
    *out = r.base + offset;
    if (device < 0) /* not a number, whatever is read; a device's memory is poisoned when first touched */
        memset(*out, 0xff, bytes);
    arm(*out, bytes);
    return cudaSuccess;
}

cudaError_t release(int device, void *p)
{
    Memory &m = memory();
    std::lock_guard hold(m.lock);
    Region &r = m.of(device);
    const auto block = r.blocks.find(size_t(static_cast<char *>(p) - r.base));
    if (static_cast<char *>(p) < r.base || block == r.blocks.end())
        return cudaErrorInvalidValue;
    disarm(p, block->second);
    if (device < 0)
        memset(p, 0xff, block->second);
    r.used -= block->second;
    r.blocks.erase(block);
    return cudaSuccess;
}

bool in_region(const void *p, int *device)
{
    const size_t offset = size_t(static_cast<const char *>(p) - layout.base);
    if (!layout.base || static_cast<const char *>(p) < layout.base || offset >= layout.bytes)
        return false;
    const unsigned i = unsigned(offset / layout.region);
    *device = i == gpus() ? -1 : int(i);
    return true;
}

bool find(const void *p, size_t bytes, Allocation *out)
{
    int device;
    if (!in_region(p, &device))
        return false;
    Memory &m = memory();
    std::lock_guard hold(m.lock);
    Region &r = m.of(device);
    const size_t offset = size_t(static_cast<const char *>(p) - r.base);
    auto after = r.blocks.upper_bound(offset);
    if (after == r.blocks.begin())
        return false;
    const auto &[begin, size] = *--after;
    if (offset + bytes > begin + size || (offset == begin + size && size))
        return false;
    if (out)
        *out = {r.base + begin, size, device};
    return true;
}

bool reaches(int device, const void *p)
{
    int owner;
    return in_region(p, &owner) && (owner < 0 || owner == device || machine().peer[unsigned(device)][unsigned(owner)]);
}

std::string describe(const void *p)
{
    int device;
    char text[160];
    if (!in_region(p, &device)) {
        snprintf(text, sizeof text, "%p, which is no memory of a device", p);
        return text;
    }
    const std::string where = device < 0 ? "pinned memory" : "memory of device " + std::to_string(device);
    Allocation a;
    if (find(p, 0, &a))
        snprintf(text, sizeof text, "%p, byte %zu of %zu in %s", p, size_t(static_cast<const char *>(p) - a.base), a.bytes,
                 where.c_str());
    else
        snprintf(text, sizeof text, "%p, which is no live %s", p, where.c_str());
    return text;
}

void memory_leaks()
{
    for (int device = -1; device < int(gpus()); device++) {
        size_t n, bytes;
        {
            Memory &m = memory();
            std::lock_guard hold(m.lock);
            n = m.of(device).blocks.size();
            bytes = m.of(device).used;
        }
        if (n && device < 0)
            complain("leak: %zu blocks of pinned memory, %zu bytes", n, bytes);
        else if (n)
            complain("leak: %zu blocks of device %d, %zu bytes", n, device, bytes);
    }
}

} // namespace emu
