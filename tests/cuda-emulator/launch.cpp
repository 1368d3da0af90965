/* tests/cuda-emulator/launch.cpp -- from the module's registered stub to the host-compiled kernel, and its launch. */
#include "machine.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <dlfcn.h>
#include <map>
#include <unistd.h>

namespace emu {

namespace {

struct Registry {
    std::mutex lock;
    bool loaded = false;
    std::map<std::string, Kernel> by_name;
    std::map<const void *, Kernel *> by_function;
    std::map<const void *, std::string> stubs;
};

Registry &registry()
{
    static Registry &r = *new Registry;
    return r;
}

void load_library(Registry &r, const std::string &path, bool needed)
{
    void *library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        if (needed || access(path.c_str(), F_OK) == 0)
            complain("kernels: %s", dlerror());
        return;
    }
    const auto kernels = reinterpret_cast<emulated::Library (*)()>(dlsym(library, "emulated_kernels"));
    if (!kernels) {
        complain("kernels: %s", dlerror());
        return;
    }
    const emulated::Library l = kernels();
    for (const emulated::Kernel *k = l.first; k; k = k->next) {
        Dl_info info;
        if (!dladdr(k->function, &info) || !info.dli_sname || info.dli_saddr != k->function) {
            complain("kernels: %s: a kernel without a symbol", path.c_str());
            continue;
        }
        Kernel &kernel = r.by_name[info.dli_sname];
        kernel.name = info.dli_sname;
        kernel.code = k;
        kernel.library = l;
        r.by_function[k->function] = &kernel;
    }
}

/* The lock is held. */
void load(Registry &r)
{
    if (r.loaded)
        return;
    r.loaded = true;
    Dl_info self;
    if (dladdr(reinterpret_cast<const void *>(&registry), &self)) {
        const std::string path = self.dli_fname;
        load_library(r, path.substr(0, path.rfind('/') + 1) + "libemulated-kernels.so", false);
    }
    for (std::string all = option("KERNELS") ? option("KERNELS") : ""; !all.empty();) {
        const size_t colon = all.find(':');
        load_library(r, all.substr(0, colon), true);
        all = colon == std::string::npos ? "" : all.substr(colon + 1);
    }
}

/* Arguments are copied when a kernel is launched. */
struct Arguments {
    std::vector<std::unique_ptr<max_align_t[]>> copies;
    std::vector<void *> pointers;
    Arguments(const emulated::Kernel &k, void **from)
    {
        for (unsigned i = 0; i < k.n; i++) {
            copies.emplace_back(new max_align_t[k.sizes[i] / sizeof(max_align_t) + 1]);
            pointers.push_back(copies.back().get());
            memcpy(pointers.back(), from[i], k.sizes[i]);
        }
    }
};

cudaError_t check_shape(const Kernel &k, dim3 grid, dim3 block, size_t shared)
{
    const uint64_t threads = uint64_t(block.x) * block.y * block.z;
    if (threads == 0 || threads > 1024 || block.x > 1024 || block.y > 1024 || block.z > 64 || grid.x == 0 || grid.y == 0 ||
        grid.z == 0 || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
        return cudaErrorInvalidConfiguration;
    if (shared > size_t(k.max_dynamic))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

} // namespace

std::string pretty(const std::string &mangled)
{
    int status;
    char *text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
    if (!text)
        return mangled;
    std::string name = text;
    free(text);
    /* Without parameters, which begin at the last parenthesis of depth 0, and without the type that a template returns. */
    int depth = 0;
    for (size_t i = name.size(); i-- > 0;) {
        depth += name[i] == ')' ? 1 : name[i] == '(' ? -1 : 0;
        if (name[i] == '(' && depth == 0) {
            name.resize(i);
            break;
        }
    }
    return name.starts_with("void ") ? name.substr(5) : name;
}

void register_stub(const void *stub, const char *name)
{
    std::lock_guard hold(registry().lock);
    registry().stubs[stub] = name;
}

Kernel *find_kernel(const void *function)
{
    Registry &r = registry();
    std::lock_guard hold(r.lock);
    load(r);
    if (const auto direct = r.by_function.find(function); direct != r.by_function.end())
        return direct->second;
    const auto stub = r.stubs.find(function);
    if (stub == r.stubs.end())
        return nullptr;
    const auto kernel = r.by_name.find(stub->second);
    if (kernel == r.by_name.end()) {
        complain("kernels: none is compiled for the host under the name %s", stub->second.c_str());
        return nullptr;
    }
    return &kernel->second;
}

bool is_own(const Task &task)
{
    Registry &r = registry();
    std::lock_guard hold(r.lock);
    return r.by_name.contains(task.name);
}

cudaError_t launch(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream)
{
    Kernel *k = find_kernel(function);
    if (!k)
        return cudaErrorInvalidDeviceFunction;
    if (const cudaError_t wrong = check_shape(*k, grid, block, shared))
        return wrong;
    Task task;
    task.name = k->name;
    task.grid = grid;
    task.block = block;
    task.dynamic_shared = shared;
    const auto copies = std::make_shared<Arguments>(*k->code, arguments);
    const int device = stream_device(stream);
    task.run = [k, copies, device, task] {
        if (!run_grid(*k, task, copies->pointers.data()))
            fail_device(device, cudaErrorIllegalAddress);
    };
    return enqueue(stream, std::move(task));
}

} // namespace emu
