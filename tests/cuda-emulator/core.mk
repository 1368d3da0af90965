# What local.mk needs to know of the emulator's core: its files, and how kernels are compiled for the host.
EMULATOR_CORE = %D%/emulator.cpp %D%/memory.cpp %D%/check.cpp %D%/fiber.cpp %D%/streams.cpp %D%/launch.cpp
EMULATOR_CUDART = %D%/cudart.cpp %D%/cudart-memory.cpp %D%/cudart-streams.cpp
EMULATOR_DEVICE = %D%/device/support.cpp
EXTRA_DIST += %D%/machine.h %D%/cudart.h %D%/versions-cudart.map %D%/device/cuda_runtime.h %D%/device/fiber.h \
	%D%/device/dynamic-shared.sh $(EMULATOR_DEVICE)
# Objects of kernels: their symbols are seen, their accesses and alignments watched.  They are linked without -fsanitize,
# with support.cpp's object, compiled as the emulator's own, and with what dynamic-shared.sh makes of all of them.  Their
# host code is called only where no nvcc is: there the module is linked with them.
EMULATED_CXXFLAGS = -include cuda_runtime.h -std=c++20 -O2 -g -fPIC -pthread $(EMULATED_FLAGS) \
	-fsanitize=thread -fsanitize=alignment -I$(srcdir)/tests/cuda-emulator/device -I$(srcdir) -I. \
	$(CUDA_CPPFLAGS)

# bugs.sh: what the emulator says of programs with known bugs.
EXTRA_DIST += %D%/bugs.cu %D%/bugs.cpp %D%/bugs.sh
if HAVE_CUDA
EMULATED_BUGS = %D%/bugs.emu $(EMULATOR_DEVICE:.cpp=.emu)
%D%/bugs.s: %D%/device/dynamic-shared.sh $(EMULATED_BUGS)
	$(AM_V_GEN)sh $(srcdir)/%D%/device/dynamic-shared.sh $(EMULATED_BUGS) >$@
%D%/libbugs.so: $(EMULATED_BUGS) %D%/bugs.s %D%/libemulator.so
	$(EMULATOR_V)$(CXX) -shared -o $@ $(EMULATED_BUGS) %D%/bugs.s %D%/libemulator.so -Wl,-rpath,'$$ORIGIN' \
		-Wl,-Bsymbolic -Wl,-z,lazy
%D%/bugs: %D%/bugs.cpp %D%/libbugs.so $(EMULATOR_LIBS)
	$(EMULATOR_V)$(CXX) -std=c++20 -O1 -g -Wall $(CUDA_CPPFLAGS) -o $@ $(srcdir)/%D%/bugs.cpp $(CUDA_RUNPATH) $(CUDA_LIBS)
check_SCRIPTS += %D%/bugs
TESTS += %D%/bugs.sh
CLEANFILES += %D%/bugs %D%/bugs.s %D%/libbugs.so %D%/bugs.emu
endif
