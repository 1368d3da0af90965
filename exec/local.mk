libparprof_a_SOURCES += %D%/arena.h %D%/backend-cpu.h %D%/backend.h %D%/comm.h %D%/compute.h %D%/cuda/host.def \
	%D%/cuda.h %D%/data.h %D%/exec.h %D%/host.h %D%/layer-call.h %D%/random.h %D%/state.h %D%/text.h %D%/walk.h %D%/words.h %D%/workers.h \
	%D%/arena.c %D%/backend-cpu.c %D%/comm-shm.c %D%/compute.c %D%/cpu.c %D%/cuda.c %D%/data.c %D%/host.c \
	%D%/layer-block.c %D%/layer-dense.c %D%/layer-embedding.c %D%/layers.c %D%/state.c %D%/text.c %D%/walk.c %D%/words.c %D%/workers.c
# The module that knows CUDA, opened when a GPU is asked for.  Its C files are of the rooms exec and profile, its kernels of
# the room kernels.
CUDA_MODULE_SOURCES = %D%/cuda/nccl-clique.h %D%/cuda/nccl-gang.h %D%/cuda/comm.h %D%/cuda/module.h %D%/cuda/nvml.h %D%/cuda/peer.h %D%/cuda/run.h \
	%D%/cuda/sm-split.h %D%/cuda/times.h %D%/cuda/backend.c %D%/cuda/nccl-check.c %D%/cuda/nccl-clique.c \
	%D%/cuda/nccl-gang.c %D%/cuda/examine.c \
	%D%/cuda/facts.c %D%/cuda/guard.c %D%/cuda/host.c %D%/cuda/issue.c %D%/cuda/lanes.c %D%/cuda/memory.c %D%/cuda/module.c \
	%D%/cuda/nccl.c %D%/cuda/nvml.c %D%/cuda/p2p.c %D%/cuda/peer.c %D%/cuda/probe.c %D%/cuda/records.c \
	%D%/cuda/sm-split.c %D%/cuda/times.c %D%/cuda/watch.c
EXTRA_DIST += $(CUDA_MODULE_SOURCES) $(CUDA_KERNELS) $(CUPTI_SOURCES)
if HAVE_CUDA
if HAVE_NVCC
module_PROGRAMS += parprof-cuda.so
else
noinst_PROGRAMS += parprof-cuda.so
endif
parprof_cuda_so_SOURCES = $(CUDA_MODULE_SOURCES) $(CUPTI_SOURCES)
parprof_cuda_so_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -DCUDA_TARGETS='"$(CUDA_TARGETS)"'
parprof_cuda_so_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
parprof_cuda_so_LDFLAGS = $(AM_LDFLAGS) -shared $(CUDA_RUNPATH)
parprof_cuda_so_DEPENDENCIES = $(CUDA_KERNEL_OBJECTS) $(CUDA_BUILT_LIBS)
parprof_cuda_so_LDADD = $(CUDA_KERNEL_OBJECTS) $(CUDA_LIBS) $(GLIB_LIBS) -lstdc++ -lm -ldl
endif
