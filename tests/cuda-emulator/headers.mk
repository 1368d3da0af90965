# Stand-ins for NVIDIA's headers, for configure --with-cuda=emulator; where the real ones are, tests/cuda-headers.sh compares.
STAND_INS = %D%/headers/cublas_v2.h %D%/headers/cuda.h %D%/headers/cuda_runtime_api.h %D%/headers/cupti.h \
	%D%/headers/driver_types.h %D%/headers/nccl.h %D%/headers/nvtx3/nvToolsExt.h %D%/headers/vector_functions.h \
	%D%/headers/vector_types.h
EXTRA_DIST += %D%/headers.mk $(STAND_INS) %D%/agree.awk %D%/agree.cpp
if HAVE_NVCC
AGREE = %D%/agree-stand-in %D%/agree-real
check_DATA += $(AGREE)
CLEANFILES += $(AGREE) %D%/agree-names.h
%D%/agree-names.h: $(STAND_INS) %D%/agree.awk
	$(AM_V_GEN)$(MKDIR_P) $(@D) && for h in $(STAND_INS); do cat $(srcdir)/$$h; done | \
		$(AWK) -f $(srcdir)/%D%/agree.awk >$@
%D%/agree-stand-in: %D%/agree.cpp %D%/agree-names.h
	$(EMULATOR_V)$(CXX) -std=c++20 -w -I%D% -isystem $(srcdir)/%D%/headers -o $@ $(srcdir)/%D%/agree.cpp
%D%/agree-real: %D%/agree.cpp %D%/agree-names.h
	$(EMULATOR_V)$(CXX) -std=c++20 -w -I%D% $(CUDA_CPPFLAGS) -o $@ $(srcdir)/%D%/agree.cpp
endif
