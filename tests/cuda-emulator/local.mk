# Stand-ins for the CUDA libraries, for tests only, in the folder that with-emulator names to the loader.  Never sanitized:
# the module's real counterparts are not either, and a library of a process without the sanitizer's runtime could not be.
include tests/cuda-emulator/core.mk
include tests/cuda-emulator/headers.mk
EMULATOR_NCCL = %D%/nccl.cpp %D%/nccl-issue.cpp %D%/nccl-join.cpp %D%/nccl-move.cpp
EMULATOR_CPP = $(EMULATOR_CORE) $(EMULATOR_CUDART) $(EMULATOR_DEVICE) %D%/cuda.cpp %D%/cublas.cpp %D%/cupti.cpp \
	$(EMULATOR_NCCL) %D%/nvml.cpp
EXTRA_DIST += %D%/core.mk $(EMULATOR_CORE) $(EMULATOR_CUDART) %D%/cuda.cpp %D%/cublas.cpp %D%/cupti.cpp $(EMULATOR_NCCL) \
	%D%/nccl-ranks.h %D%/nvml.cpp %D%/emulator.h %D%/selftest.c %D%/versions-cublas.map %D%/versions-cupti.map %D%/versions-plain.map \
	%D%/with-emulator

if HAVE_CUDA
EMULATOR_LIBS = %D%/libemulator.so %D%/libcudart.so.13 %D%/libcuda.so.1 %D%/libcublas.so.13 %D%/libcupti.so.13 \
	%D%/libnccl.so.2 %D%/libnvidia-ml.so.1 %D%/libemulated-kernels.so
EMULATOR_CXXFLAGS = -std=c++20 -O2 -g -fPIC -fvisibility=hidden -Wall -Wextra -pthread -I$(srcdir)/tests/cuda-emulator \
	-I$(srcdir) -I. $(CUDA_CPPFLAGS)
EMULATED_OBJECTS = $(CUDA_KERNELS:.cu=.emu) $(EMULATOR_DEVICE:.cpp=.emu)
EMULATOR_LINK = $(EMULATOR_V)$(CXX) -shared -pthread -Wl,-z,defs -Wl,-rpath,'$$ORIGIN' -o $@ -Wl,-soname,$(@F)
EMULATOR_V = $(EMULATOR_V_@AM_V@)
EMULATOR_V_ = $(EMULATOR_V_@AM_DEFAULT_V@)
EMULATOR_V_0 = @echo "  CXX     " $@;
EMULATOR_V_1 =

SUFFIXES += .cpp .emu
.cpp.emu:
	$(EMULATOR_V)$(MKDIR_P) $(@D)/$(DEPDIR) && $(CXX) $(EMULATOR_CXXFLAGS) \
		-MD -MP -MF $(@D)/$(DEPDIR)/$(*F).emu.Po -MT $@ -c -o $@ $<
.cu.emu:
	$(EMULATOR_V)$(MKDIR_P) $(@D)/$(DEPDIR) && $(CXX) $(EMULATED_CXXFLAGS) \
		-MD -MP -MF $(@D)/$(DEPDIR)/$(*F).emu.Po -MT $@ -c -o $@ -x c++ $<
-include %D%/$(DEPDIR)/*.emu.Po
-include %D%/device/$(DEPDIR)/*.emu.Po
-include kernels/cuda/$(DEPDIR)/*.emu.Po

%D%/libemulator.so: $(EMULATOR_CORE:.cpp=.emu)
	$(EMULATOR_LINK) $(EMULATOR_CORE:.cpp=.emu) -ldl
%D%/libcudart.so.13: $(EMULATOR_CUDART:.cpp=.emu) %D%/libemulator.so %D%/versions-cudart.map
	$(EMULATOR_LINK) $(EMULATOR_CUDART:.cpp=.emu) %D%/libemulator.so -ldl \
		-Wl,--version-script=$(srcdir)/%D%/versions-cudart.map
%D%/libcuda.so.1: %D%/cuda.emu %D%/libemulator.so
	$(EMULATOR_LINK) %D%/cuda.emu %D%/libemulator.so
%D%/libcublas.so.13: %D%/cublas.emu %D%/libemulator.so %D%/versions-cublas.map
	$(EMULATOR_LINK) %D%/cublas.emu %D%/libemulator.so -Wl,--version-script=$(srcdir)/%D%/versions-cublas.map
%D%/libcupti.so.13: %D%/cupti.emu %D%/libemulator.so %D%/versions-cupti.map
	$(EMULATOR_LINK) %D%/cupti.emu %D%/libemulator.so -Wl,--version-script=$(srcdir)/%D%/versions-cupti.map
%D%/libnccl.so.2: $(EMULATOR_NCCL:.cpp=.emu) %D%/libcudart.so.13 %D%/versions-plain.map
	$(EMULATOR_LINK) $(EMULATOR_NCCL:.cpp=.emu) %D%/libemulator.so %D%/libcudart.so.13 \
		-Wl,--version-script=$(srcdir)/%D%/versions-plain.map
%D%/libnvidia-ml.so.1: %D%/nvml.emu %D%/libcudart.so.13 %D%/versions-plain.map
	$(EMULATOR_LINK) %D%/nvml.emu %D%/libemulator.so %D%/libcudart.so.13 \
		-Wl,--version-script=$(srcdir)/%D%/versions-plain.map
%D%/device/dynamic-shared.s: %D%/device/dynamic-shared.sh $(EMULATED_OBJECTS)
	$(AM_V_GEN)sh $(srcdir)/%D%/device/dynamic-shared.sh $(EMULATED_OBJECTS) >$@
%D%/libemulated-kernels.so: $(EMULATED_OBJECTS) %D%/device/dynamic-shared.s %D%/libcudart.so.13 %D%/libcublas.so.13
	$(EMULATOR_LINK) $(EMULATED_OBJECTS) %D%/device/dynamic-shared.s %D%/libemulator.so %D%/libcudart.so.13 \
		%D%/libcublas.so.13 -Wl,-Bsymbolic

check_PROGRAMS += %D%/selftest
%C%_selftest_SOURCES = %D%/selftest.c
%C%_selftest_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
%C%_selftest_LDFLAGS = $(AM_LDFLAGS) $(CUDA_RUNPATH)
%C%_selftest_LDADD = $(CUDA_LIBS) -lm
%C%_selftest_DEPENDENCIES = $(EMULATOR_LIBS)
CLEANFILES += $(EMULATOR_LIBS) %D%/device/dynamic-shared.s %D%/device/$(DEPDIR)/*.emu.Po $(EMULATOR_CPP:.cpp=.emu) $(CUDA_KERNELS:.cu=.emu) %D%/$(DEPDIR)/*.emu.Po \
	kernels/cuda/$(DEPDIR)/*.emu.Po
endif
