/* tests/cuda-emulator/cudart-memory.cpp -- libcudart.so.13: memory, copies and sets. */
#include "cudart.h"

#include <cstring>

using namespace emu;
using namespace cudart;

namespace {

cudaError_t get(const char *call, int device, void **out, size_t bytes)
{
    implicit_sync(call);
    if (const cudaError_t dead = sticky(current_device()))
        return dead;
    if (!out)
        return cudaErrorInvalidValue;
    *out = nullptr;
    return bytes ? allocate(device, bytes, out) : cudaSuccess;
}

/* Freed even after the device died: then nothing runs there any more. */
cudaError_t put(const char *call, bool pinned, void *p)
{
    if (!p)
        return cudaSuccess;
    implicit_sync(call);
    int owner;
    if (!in_region(p, &owner) || pinned != (owner < 0)) {
        complain("%s of %s", call, describe(p).c_str());
        return cudaErrorInvalidValue;
    }
    cudaError_t status = cudaSuccess;
    for (int device = 0; device < int(gpus()); device++)
        if (pinned || device == owner)
            if (const cudaError_t e = device_rest(device))
                status = e;
    if (const cudaError_t e = release(owner, p)) {
        complain("%s of %s, where no block begins", call, describe(p).c_str());
        return e;
    }
    return status;
}

enum class Place { device, pinned, pageable };

Place place_of(const void *p)
{
    int device;
    return !in_region(p, &device) ? Place::pageable : device < 0 ? Place::pinned : Place::device;
}

bool allowed(cudaMemcpyKind kind, Place to, Place from)
{
    const bool to_device = to == Place::device, from_device = from == Place::device;
    switch (kind) {
    case cudaMemcpyHostToHost:
        return !to_device && !from_device;
    case cudaMemcpyHostToDevice:
        return to_device && !from_device;
    case cudaMemcpyDeviceToHost:
        return !to_device && from_device;
    case cudaMemcpyDeviceToDevice:
        return to_device && from_device;
    default:
        return kind == cudaMemcpyDefault;
    }
}

/* sync: a call that returns when the host's side is done with; the bytes of pageable memory are taken at the call. */
cudaError_t copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream, bool sync)
{
    const Place target = place_of(to), source = place_of(from);
    if (bytes == 0)
        return cudaSuccess;
    if (!to || !from || !allowed(kind, target, source))
        return cudaErrorInvalidValue;
    Task task;
    task.kind = Kind::copy;
    task.bytes = bytes;
    Allocation a, b;
    a.device = b.device = -1;
    for (const auto &[p, place, write, found] :
         {std::tuple{static_cast<const void *>(to), target, true, &a}, std::tuple{from, source, false, &b}}) {
        if (place == Place::pageable)
            continue;
        if (!find(p, bytes, found)) {
            complain("a copy of %zu bytes %s %s", bytes, write ? "to" : "from", describe(p).c_str());
            return cudaErrorInvalidValue;
        }
        task.ranges.push_back({p, bytes, write});
    }
    if (target == Place::device && source == Place::device)
        task.copy_kind = cudaMemcpyDeviceToDevice;
    else if (target == Place::device)
        task.copy_kind = cudaMemcpyHostToDevice;
    else
        task.copy_kind = source == Place::device ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
    if (a.device >= 0 && b.device >= 0 && a.device != b.device) {
        task.source_device = b.device;
        task.target_device = a.device;
    }
    static const char *const names[] = {"copy HtoH", "copy HtoD", "copy DtoH", "copy DtoD"};
    task.name = task.source_device >= 0 ? "copy PtoP" : names[task.copy_kind];
    if (source == Place::pageable) {
        const auto staged = std::make_shared<std::vector<char>>(static_cast<const char *>(from),
                                                                static_cast<const char *>(from) + bytes);
        task.run = [=] { memcpy(to, staged->data(), bytes); };
    } else {
        task.run = [=] { memmove(to, from, bytes); };
    }
    const cudaError_t status = enqueue(stream, std::move(task));
    if (status)
        return status;
    const bool waits = target == Place::pageable || (sync && (target == Place::pinned || source == Place::pinned));
    return waits ? drain(stream) : cudaSuccess;
}

cudaError_t set(void *p, int value, size_t bytes, cudaStream_t stream)
{
    if (bytes == 0)
        return cudaSuccess;
    if (!find(p, bytes)) {
        complain("a set of %zu bytes at %s", bytes, describe(p).c_str());
        return cudaErrorInvalidValue;
    }
    Task task;
    task.kind = Kind::set;
    task.name = "set";
    task.bytes = bytes;
    task.value = value;
    task.ranges = {{p, bytes, true}};
    task.run = [=] { memset(p, value, bytes); };
    return enqueue(stream, std::move(task));
}

} // namespace

API cudaMalloc(void **p, size_t bytes)
{
    BEGIN("cudaMalloc");
    return api.end(get("cudaMalloc", current_device(), p, bytes));
}

API cudaFree(void *p)
{
    BEGIN("cudaFree");
    return api.end(put("cudaFree", false, p));
}

API cudaMallocHost(void **p, size_t bytes)
{
    BEGIN("cudaMallocHost");
    return api.end(get("cudaMallocHost", -1, p, bytes));
}

API cudaHostAlloc(void **p, size_t bytes, unsigned)
{
    BEGIN("cudaHostAlloc");
    return api.end(get("cudaHostAlloc", -1, p, bytes));
}

API cudaFreeHost(void *p)
{
    BEGIN("cudaFreeHost");
    return api.end(put("cudaFreeHost", true, p));
}

API cudaHostGetDevicePointer(void **out, void *p, unsigned)
{
    BEGIN("cudaHostGetDevicePointer");
    if (place_of(p) != Place::pinned)
        return api.end(cudaErrorInvalidValue);
    *out = p;
    return api.end(cudaSuccess);
}

API cudaMemGetInfo(size_t *available, size_t *total)
{
    BEGIN("cudaMemGetInfo");
    *total = memory_bytes();
    *available = *total - memory_used(current_device());
    return api.end(sticky(current_device()));
}

API cudaPointerGetAttributes(cudaPointerAttributes *a, const void *p)
{
    BEGIN("cudaPointerGetAttributes");
    Allocation found;
    *a = {};
    if (!find(p, 0, &found)) {
        a->type = cudaMemoryTypeUnregistered;
        a->device = -2;
        return api.end(cudaSuccess);
    }
    a->type = found.device < 0 ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    a->device = found.device < 0 ? current_device() : found.device;
    a->devicePointer = const_cast<void *>(p);
    a->hostPointer = found.device < 0 ? a->devicePointer : nullptr;
    return api.end(cudaSuccess);
}

API cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    BEGIN("cudaMemcpy");
    return api.end(copy(to, from, bytes, kind, nullptr, true));
}

API cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    BEGIN("cudaMemcpyAsync");
    return api.end(copy(to, from, bytes, kind, stream, false));
}

API cudaMemcpyPeer(void *to, int, const void *from, int, size_t bytes)
{
    BEGIN("cudaMemcpyPeer");
    return api.end(copy(to, from, bytes, cudaMemcpyDeviceToDevice, nullptr, false));
}

API cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t stream)
{
    BEGIN("cudaMemcpyPeerAsync");
    int a, b;
    if (bytes && (!in_region(to, &a) || !in_region(from, &b) || a != to_device || b != from_device)) {
        complain("cudaMemcpyPeerAsync from device %d to device %d, of %s to %s", from_device, to_device,
                 describe(from).c_str(), describe(to).c_str());
        return api.end(cudaErrorInvalidValue);
    }
    return api.end(copy(to, from, bytes, cudaMemcpyDeviceToDevice, stream, false));
}

API cudaMemset(void *p, int value, size_t bytes)
{
    BEGIN("cudaMemset");
    return api.end(set(p, value, bytes, nullptr));
}

API cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream)
{
    BEGIN("cudaMemsetAsync");
    return api.end(set(p, value, bytes, stream));
}
