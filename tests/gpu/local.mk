# For a machine with a GPU; elsewhere they are skipped.
if HAVE_CUDA
GPU_TESTS = %D%/kernels
check_PROGRAMS += $(GPU_TESTS)
TESTS += $(GPU_TESTS)
%C%_kernels_SOURCES = %D%/kernels.c %D%/kernels.h %D%/kernels-layers.c %D%/kernels-rows.c %D%/kernels-vectors.c \
	%D%/machine.c %D%/machine.h
%C%_kernels_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
%C%_kernels_LDFLAGS = $(AM_LDFLAGS) -Wl,--as-needed $(CUDA_RUNPATH)
%C%_kernels_DEPENDENCIES = $(CUDA_KERNEL_OBJECTS) libkernels.a $(CUDA_BUILT_LIBS)
%C%_kernels_LDADD = $(CUDA_KERNEL_OBJECTS) libkernels.a $(CUDA_LIBS) -lstdc++ -lm
else
EXTRA_DIST += %D%/kernels.c %D%/kernels.h %D%/kernels-layers.c %D%/kernels-rows.c %D%/kernels-vectors.c %D%/machine.c \
	%D%/machine.h
endif
