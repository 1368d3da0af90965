# Stand-ins for the CUDA libraries, for tests only, in the folder that with-emulator names to the loader.  Never sanitized:
# the module's real counterparts are not either, and a library of a process without the sanitizer's runtime could not be.
EMULATOR_CORE = %D%/emulator.cpp %D%/memory.cpp %D%/check.cpp
EMULATOR_CUDART = %D%/cudart.cpp
EMULATOR_SOURCES = $(EMULATOR_CORE) $(EMULATOR_CUDART) %D%/cuda.cpp %D%/cublas.cpp %D%/cupti.cpp %D%/nccl.cpp %D%/nvml.cpp
EMULATOR_MAPS = %D%/versions-cublas.map %D%/versions-cupti.map %D%/versions-plain.map
EXTRA_DIST += %D%/selftest.c $(EMULATOR_SOURCES) $(EMULATOR_MAPS) %D%/emulator.h %D%/with-emulator

if HAVE_CUDA
EMULATOR_LIBRARIES = %D%/libemulator.so %D%/libcudart.so.13 %D%/libcuda.so.1 %D%/libcublas.so.13 %D%/libcupti.so.13 \
	%D%/libnccl.so.2 %D%/libnvidia-ml.so.1 %D%/libemulated-kernels.so
EMULATOR_CXXFLAGS = -std=c++20 -O2 -g -fPIC -fvisibility=hidden -Wall -Wextra -pthread -I$(srcdir)/tests/cuda-emulator \
	-I$(srcdir) -I. $(CUDA_CPPFLAGS)
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
	$(EMULATOR_V)$(MKDIR_P) $(@D)/$(DEPDIR) && $(CXX) $(EMULATOR_CXXFLAGS) $(EMULATED_CXXFLAGS) \
		-MD -MP -MF $(@D)/$(DEPDIR)/$(*F).emu.Po -MT $@ -c -o $@ -x c++ $<
-include %D%/$(DEPDIR)/*.emu.Po
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
%D%/libnccl.so.2: %D%/nccl.emu %D%/libcudart.so.13 %D%/versions-plain.map
	$(EMULATOR_LINK) %D%/nccl.emu %D%/libemulator.so %D%/libcudart.so.13 \
		-Wl,--version-script=$(srcdir)/%D%/versions-plain.map
%D%/libnvidia-ml.so.1: %D%/nvml.emu %D%/libcudart.so.13 %D%/versions-plain.map
	$(EMULATOR_LINK) %D%/nvml.emu %D%/libemulator.so %D%/libcudart.so.13 \
		-Wl,--version-script=$(srcdir)/%D%/versions-plain.map
%D%/libemulated-kernels.so: $(CUDA_KERNELS:.cu=.emu) %D%/libemulator.so
	$(EMULATOR_LINK) $(CUDA_KERNELS:.cu=.emu) %D%/libemulator.so

check_PROGRAMS += %D%/selftest
%C%_selftest_SOURCES = %D%/selftest.c
%C%_selftest_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
%C%_selftest_LDFLAGS = $(AM_LDFLAGS) $(CUDA_RUNPATH)
%C%_selftest_LDADD = $(CUDA_LIBS) -lm
%C%_selftest_DEPENDENCIES = $(EMULATOR_LIBRARIES)
CLEANFILES += $(EMULATOR_LIBRARIES) $(EMULATOR_SOURCES:.cpp=.emu) $(CUDA_KERNELS:.cu=.emu) %D%/$(DEPDIR)/*.emu.Po \
	kernels/cuda/$(DEPDIR)/*.emu.Po
endif
