/* tests/cuda-emulator/device/fiber.h -- what host-compiled kernels and the emulator say to each other. */
#ifndef EMULATOR_DEVICE_FIBER_H
#define EMULATOR_DEVICE_FIBER_H

#include <vector_types.h>

#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)

/* For kernels, by way of device/cuda_runtime.h.  The indexes are functions, which no access is seen of, and constant for a
 * thread. */
namespace emulated {

uint3 thread_index() __attribute__((const));
uint3 block_index() __attribute__((const));
dim3 block_size() __attribute__((const));
dim3 grid_size() __attribute__((const));

/* The threads of the block, or of the mask, meet; the place tells one meeting from another. */
void barrier(const char *file, int line);
enum class Warp { sync, xor_, up, down, index, ballot };
/* A shuffle exchanges `bytes` <= 8 at `value`; of a vote, the result is the mask of lanes whose *value is not 0. */
void warp(Warp, unsigned mask, void *value, size_t bytes, int argument, int width, const char *file, int line);

/* A kernel has touched memory: checked; does not return if the access must not happen. */
void access(const void *p, size_t bytes, bool write);
void access_atomic(const void *p, size_t bytes);
void fence(); /* other blocks may see what was written: races between blocks are no longer looked for in this launch */
void misaligned(const void *p, const char *type, const char *file, unsigned line) __attribute__((noreturn));
uint64_t time_ns();

/* What a library of kernels exports, as emulated_kernels(). */
struct Kernel {
    const void *function;
    void (*call)(void **arguments);
    unsigned n; /* arguments, and their sizes in bytes */
    const size_t *sizes;
    const Kernel *next;
};
struct Shared {
    char *begin, *end;          /* all variables in shared memory, of all kernels, of the calling thread */
    char *dynamic, *dynamic_end; /* within: what extern __shared__ names */
};
struct Library {
    const Kernel *first;
    Shared (*shared)();
};

} // namespace emulated

namespace emu {

/* Who touched four bytes within a launch. */
struct Touch {
    uint32_t launch, block; /* of shared memory, launch is the run of the block; 0: never touched */
    uint32_t thread;
    uint16_t block_phase, warp_phase;
};
Touch *touches(const void *p, bool write); /* of device or pinned memory; p in a region */

} // namespace emu

#pragma GCC visibility pop

#endif
