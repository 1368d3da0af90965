# The kernels' own library, for their own flags: loops marked simd are vectorised, products and sums fused.  What the
# compiler may not do is reorder a sum or assume that not-a-number does not occur; clang then leaves searches for a maximum
# scalar, and need not say so.
noinst_LIBRARIES += libkernels.a
libkernels_a_CFLAGS = $(AM_CFLAGS) -fopenmp-simd -ffp-contract=fast -fno-trapping-math -fno-math-errno \
	-Wno-pass-failed
libkernels_a_SOURCES = %D%/kernels.h \
	%D%/cpu/ref.h %D%/cpu/ref-f32.c %D%/cpu/ref-f64.c \
	%D%/cpu/fast.h %D%/cpu/fast-math.h %D%/cpu/dropout.h %D%/cpu/blas.c %D%/cpu/fast.c %D%/cpu/fast-activation.c \
	%D%/cpu/fast-attention.c %D%/cpu/fast-dropout.c %D%/cpu/fast-embed.c %D%/cpu/fast-loss.c %D%/cpu/fast-norm.c \
	%D%/cpu/fast-optim.c %D%/cpu/ref-optim.h %D%/cpu/total.h
# The GPU's, compiled by nvcc into parprof-cuda.so.
CUDA_KERNELS = %D%/cuda/activation.cu %D%/cuda/attention.cu %D%/cuda/bias.cu %D%/cuda/elementwise.cu %D%/cuda/embedding.cu \
	%D%/cuda/loss.cu %D%/cuda/norm.cu %D%/cuda/optimizer.cu %D%/cuda/product.cu %D%/cuda/stream.cu
EXTRA_DIST += %D%/cuda.h %D%/cuda/clock.h %D%/cuda/columns.h %D%/cuda/device.h %D%/cuda/launch.h %D%/cuda/product.h \
	%D%/cuda/table.h
# What of them is linked.  The emulator's kernels are host code in a library of their own, and so is what launches them.
if HAVE_NVCC
CUDA_KERNEL_OBJECTS = $(CUDA_KERNELS:.cu=.o)
CUDA_BUILT_LIBS =
CLEANFILES += $(CUDA_KERNEL_OBJECTS) %D%/cuda/$(DEPDIR)/*.cu.Po
-include %D%/cuda/$(DEPDIR)/*.cu.Po
else
CUDA_KERNEL_OBJECTS = tests/cuda-emulator/libemulated-kernels.so
CUDA_BUILT_LIBS = $(EMULATOR_LIBS)
endif
