/* tests/cuda-emulator/device/support.cpp -- linked into every library of kernels, itself compiled without any sanitizer: the
 * callbacks of -fsanitize=thread and -fsanitize=alignment, all hidden, and what the library says of itself. */
#include "tests/cuda-emulator/device/fiber.h"

#include <link.h>

/* Made by dynamic-shared.sh, at the same place as all that kernels declare extern __shared__. */
extern constinit thread_local char emulated_dynamic_shared[];
extern constinit thread_local char emulated_dynamic_shared_end[];

namespace emulated {

constinit const Kernel *first_kernel;

namespace {

Shared shared()
{
    Shared s{nullptr, nullptr, emulated_dynamic_shared, emulated_dynamic_shared_end};
    dl_iterate_phdr(
        [](dl_phdr_info *info, size_t, void *user) {
            Shared &found = *static_cast<Shared *>(user);
            for (unsigned i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) &h = info->dlpi_phdr[i];
                char *data = static_cast<char *>(info->dlpi_tls_data);
                if (h.p_type != PT_TLS || !data || found.dynamic < data || found.dynamic >= data + h.p_memsz)
                    continue;
                found.begin = data;
                found.end = data + h.p_memsz;
            }
            return 0;
        },
        &s);
    return s;
}

} // namespace
} // namespace emulated

extern "C" __attribute__((visibility("default"))) emulated::Library emulated_kernels()
{
    return {emulated::first_kernel, emulated::shared};
}

extern "C" {

#define ACCESS(n)                                                                                                      \
    void __tsan_read##n(void *p) { emulated::access(p, n, false); }                                                    \
    void __tsan_write##n(void *p) { emulated::access(p, n, true); }                                                    \
    void __tsan_volatile_read##n(void *p) { emulated::access(p, n, false); }                                           \
    void __tsan_volatile_write##n(void *p) { emulated::access(p, n, true); }                                           \
    void __tsan_unaligned_read##n(void *p) { emulated::access(p, n, false); }                                          \
    void __tsan_unaligned_write##n(void *p) { emulated::access(p, n, true); }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
void __tsan_read_range(void *p, unsigned long n) { emulated::access(p, n, false); }
void __tsan_write_range(void *p, unsigned long n) { emulated::access(p, n, true); }
void __tsan_vptr_update(void **, void *) {}
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}

/* What gcc passes for a type mismatch: where, of which type, its alignment. */
struct place {
    const char *file;
    unsigned line, column;
};
struct type {
    unsigned short kind, info;
    char name[1];
};
struct mismatch {
    place where;
    const type *of;
    unsigned char log_alignment, check;
};
void __ubsan_handle_type_mismatch_v1(const mismatch *m, void *p)
{
    emulated::misaligned(p, m->of->name, m->where.file, m->where.line);
}
void __ubsan_handle_type_mismatch_v1_abort(const mismatch *m, void *p)
{
    emulated::misaligned(p, m->of->name, m->where.file, m->where.line);
}

} // extern "C"
