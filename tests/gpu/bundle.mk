# What tests/gpu/bundle puts together: the program, its CUDA module and the tests for GPUs, linked once more so that they
# find their libraries, and these theirs, in the folder lib beside them.
GPU_BUNDLE = %D%/bundle %D%/run %D%/step_torch.py
EXTRA_DIST += $(GPU_BUNDLE)
.PHONY: bundled clean-bundle
if HAVE_NVCC
BUNDLE_LINK = $(AM_V_CCLD)$(MKDIR_P) gpu-bundle && $(CCLD) $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -s \
	-Wl,--as-needed -Wl,--disable-new-dtags -Wl,-rpath,'$$ORIGIN/lib' -o $@
bundled: gpu-bundle/parprof gpu-bundle/parprof-cuda.so gpu-bundle/kernels gpu-bundle/records
gpu-bundle/parprof: parprof
	$(BUNDLE_LINK) $(parprof_OBJECTS) $(parprof_LDADD)
gpu-bundle/parprof-cuda.so: parprof-cuda.so
	$(BUNDLE_LINK) -shared $(parprof_cuda_so_OBJECTS) $(parprof_cuda_so_LDADD)
gpu-bundle/kernels: %D%/kernels
	$(BUNDLE_LINK) $(%C%_kernels_OBJECTS) $(%C%_kernels_LDADD)
gpu-bundle/records: %D%/records
	$(BUNDLE_LINK) $(%C%_records_OBJECTS) $(%C%_records_LDADD)
else
bundled:
	@echo "this tree has no code for GPUs: configure --with-cuda where nvcc is" >&2; exit 1
endif
clean-bundle:
	rm -rf gpu-bundle
clean-local: clean-bundle
