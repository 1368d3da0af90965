# What local.mk needs to know of the emulator's core: its files, and how kernels are compiled for the host.
EMULATOR_CORE = %D%/emulator.cpp %D%/memory.cpp %D%/check.cpp %D%/fiber.cpp %D%/streams.cpp %D%/launch.cpp
EMULATOR_CUDART = %D%/cudart.cpp %D%/cudart-memory.cpp %D%/cudart-streams.cpp
EMULATOR_DEVICE = %D%/device/support.cpp
EXTRA_DIST += %D%/machine.h %D%/cudart.h %D%/versions-cudart.map %D%/device/cuda_runtime.h %D%/device/fiber.h \
	%D%/device/dynamic-shared.sh $(EMULATOR_DEVICE)
# Objects of kernels: their symbols are seen, their accesses and alignments watched.  They are linked without -fsanitize,
# with support.cpp's object, compiled as the emulator's own, and with what dynamic-shared.sh makes of all of them.  Their
# host code is called only where no nvcc is: there the module is linked with them.
EMULATED_CXXFLAGS = -include cuda_runtime.h -std=c++20 -O2 -g -fPIC -pthread -fno-gnu-unique -fsanitize=thread \
	--param tsan-instrument-func-entry-exit=0 -fsanitize=alignment -I$(srcdir)/tests/cuda-emulator/device -I$(srcdir) -I. \
	$(CUDA_CPPFLAGS)
