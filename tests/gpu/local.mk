# For a machine with a GPU; elsewhere they are skipped.
GPU_FILES = %D%/kernels.c %D%/kernels.h %D%/kernels-layers.c %D%/kernels-rows.c %D%/kernels-vectors.c %D%/machine.c \
	%D%/machine.h %D%/records.c
EXTRA_DIST += $(GPU_FILES)
if HAVE_CUDA
GPU_TESTS = %D%/kernels
check_PROGRAMS += $(GPU_TESTS) %D%/records
if HAVE_NVCC
TESTS += $(GPU_TESTS)
endif
GPU_LINK = $(AM_LDFLAGS) -Wl,--as-needed $(CUDA_RUNPATH)
GPU_BUILT = $(CUDA_KERNEL_OBJECTS) libkernels.a $(CUDA_BUILT_LIBS)
%C%_kernels_SOURCES = %D%/kernels.c %D%/kernels.h %D%/kernels-layers.c %D%/kernels-rows.c %D%/kernels-vectors.c \
	%D%/machine.c %D%/machine.h
%C%_kernels_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
%C%_kernels_LDFLAGS = $(GPU_LINK)
%C%_kernels_DEPENDENCIES = $(GPU_BUILT)
%C%_kernels_LDADD = $(CUDA_KERNEL_OBJECTS) libkernels.a $(CUDA_LIBS) -lstdc++ -lm
# Driven by run: what CUPTI records.
%C%_records_SOURCES = %D%/records.c $(CUPTI_SOURCES)
%C%_records_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
%C%_records_LDFLAGS = $(GPU_LINK)
%C%_records_DEPENDENCIES = $(GPU_BUILT) libparprof.a
%C%_records_LDADD = $(CUDA_KERNEL_OBJECTS) $(CORE_LIBS) $(CUDA_LIBS) -lstdc++
endif
