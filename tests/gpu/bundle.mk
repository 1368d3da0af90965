# What tests/gpu/bundle puts together: the program, its CUDA module and the kernels' test, linked to find their libraries
# in the folder lib beside them.
GPU_BUNDLE = %D%/bundle %D%/run %D%/step_torch.py
EXTRA_DIST += $(GPU_BUNDLE)
if HAVE_NVCC
BUNDLED = -Wl,-rpath,'$$ORIGIN/lib'
EXTRA_PROGRAMS += gpu-bundle/parprof gpu-bundle/parprof-cuda.so gpu-bundle/kernels
gpu_bundle_parprof_SOURCES = main.c
gpu_bundle_parprof_LDFLAGS = $(AM_LDFLAGS) $(BUNDLED)
gpu_bundle_parprof_LDADD = $(CORE_LIBS)
gpu_bundle_parprof_cuda_so_SOURCES = $(parprof_cuda_so_SOURCES)
gpu_bundle_parprof_cuda_so_CPPFLAGS = $(parprof_cuda_so_CPPFLAGS)
gpu_bundle_parprof_cuda_so_CFLAGS = $(parprof_cuda_so_CFLAGS)
gpu_bundle_parprof_cuda_so_LDFLAGS = $(AM_LDFLAGS) -shared $(BUNDLED)
gpu_bundle_parprof_cuda_so_DEPENDENCIES = $(parprof_cuda_so_DEPENDENCIES)
gpu_bundle_parprof_cuda_so_LDADD = $(parprof_cuda_so_LDADD)
endif
