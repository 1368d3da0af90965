/* profile/kernel-name.h -- names of kernels for people. */
#ifndef PROFILE_KERNEL_NAME_H
#define PROFILE_KERNEL_NAME_H

#include <glib.h>

/* Appends the function's name of a mangled one, without its types: "add_kernel" of "_Z10add_kernelPfi",
 * "cutlass::Kernel" of
 * "_ZN7cutlass6KernelI..."; any other name as it is. */
void kernel_name(const char *mangled, GString *out);
/* The last part of a demangled one, without types and arguments: "softmax_warp_forward" of "void at::native::(anonymous
 * namespace)::softmax_warp_forward<float>(float*)"; "Memcpy HtoD" of "Memcpy HtoD (Pinned -> Device)".  g_free */
char *kernel_short_name(const char *);

#endif
