# Names in reports without LLVM's symbolizer.  What is freed is used again after 32 MiB, not 256: pages touched for the first
# time were a third of some tests.  strstr does not measure the whole text each time.
ASAN_OPTIONS = allow_addr2line=1:quarantine_size_mb=32:intercept_strstr=0
TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
AM_TESTS_ENVIRONMENT = \
	G_TEST_SRCDIR='$(abs_top_srcdir)/tests'; export G_TEST_SRCDIR; \
	srcdir='$(abs_top_srcdir)'; export srcdir; \
	PARPROF='$(abs_top_builddir)/parprof'; export PARPROF; \
	ASAN_OPTIONS='$(ASAN_OPTIONS)'; export ASAN_OPTIONS; \
	LSAN_OPTIONS='suppressions=$(abs_top_srcdir)/tests/lsan.supp:print_suppressions=0'; export LSAN_OPTIONS; \
	TSAN_OPTIONS='suppressions=$(abs_top_srcdir)/tests/tsan.supp'; export TSAN_OPTIONS; \
	SANITIZED='$(SANITIZE)'; export SANITIZED; \
	LC_ALL=C.UTF-8; export LC_ALL;

# A test program is tests/NAME.c, linked with everything; a shell test is tests/NAME.sh.  Both speak TAP.
# Without a thread, of which the thread sanitizer has nothing to say; of shell tests, with none that the others have not.
SEQUENTIAL_TESTS = \
	%D%/t-advice \
	%D%/t-analyze \
	%D%/t-backward \
	%D%/t-bucket \
	%D%/t-build \
	%D%/t-cause \
	%D%/t-cluster \
	%D%/t-cost \
	%D%/t-data \
	%D%/t-ddp \
	%D%/t-digest \
	%D%/t-edges \
	%D%/t-export \
	%D%/t-files \
	%D%/t-flow \
	%D%/t-gate \
	%D%/t-golden \
	%D%/t-grid \
	%D%/t-history \
	%D%/t-hops \
	%D%/t-huge \
	%D%/t-import \
	%D%/t-profiler \
	%D%/t-json \
	%D%/t-kernels-models \
	%D%/t-lang \
	%D%/t-layers \
	%D%/t-look \
	%D%/t-lower \
	%D%/t-dense \
	%D%/t-marks \
	%D%/t-measurement \
	%D%/t-model \
	%D%/t-nccl \
	%D%/t-optim \
	%D%/t-paper \
	%D%/t-pipeline \
	%D%/t-pipeline-analysis \
	%D%/t-place \
	%D%/t-plan \
	%D%/t-plan-io \
	%D%/t-patience \
	%D%/t-points \
	%D%/t-preset \
	%D%/t-price \
	%D%/t-report \
	%D%/t-report-json \
	%D%/t-schedule \
	%D%/t-schedule-csv \
	%D%/t-seal \
	%D%/t-series \
	%D%/t-sim \
	%D%/t-sim-ddp \
	%D%/t-split \
	%D%/t-stages \
	%D%/t-stats \
	%D%/t-sweep \
	%D%/t-trace \
	%D%/t-traffic \
	%D%/t-trend \
	%D%/t-verdict \
	%D%/t-layout \
	%D%/t-viz \
	%D%/t-viz-figures \
	%D%/t-where
UNIT_TESTS = \
	%D%/t-balance \
	%D%/t-collect \
	%D%/t-collect-here \
	%D%/t-collectives \
	%D%/t-comm \
	%D%/t-deltas \
	%D%/t-dp \
	%D%/t-draw \
	%D%/t-draw-files \
	%D%/t-epochs \
	%D%/t-exec \
	%D%/t-kernels \
	%D%/t-memory \
	%D%/t-run \
	%D%/t-text \
	%D%/t-train \
	%D%/t-train-modes
# The longest begin, so that none is left over alone.
CUDA_SHELL_TESTS = \
	%D%/cuda-modes.sh \
	%D%/cuda-faults.sh \
	%D%/cuda-ddp.sh \
	%D%/cuda-gpu-run.sh \
	%D%/cuda-kernels.sh \
	%D%/cuda-output.sh \
	%D%/cuda-waits.sh \
	%D%/cuda-comm.sh \
	%D%/cuda-clumsy.sh \
	%D%/cuda-emulator.sh \
	%D%/cuda-headers.sh
# All that is about the CUDA module.
CUDA_TESTS = \
	$(CUDA_SHELL_TESTS) \
	%D%/cuda-emulator/bugs.sh \
	%D%/doctor.sh \
	%D%/t-collect \
	%D%/t-collect-here
SHELL_TESTS = \
	$(CUDA_SHELL_TESTS) \
	%D%/cli.sh \
	%D%/look.sh \
	%D%/epochs.sh \
	%D%/doctor.sh \
	%D%/sweep.sh
SEQUENTIAL_SHELL_TESTS = \
	%D%/look-options.sh \
	%D%/gate.sh \
	%D%/gallery.sh \
	%D%/ci.sh \
	%D%/processes.sh \
	%D%/render.sh \
	%D%/compare.sh \
	%D%/grid.sh \
	%D%/help.sh \
	%D%/layering.sh
%C%_t_build_SOURCES = %D%/t-build.c %D%/draw-list.c %D%/scene.c
%C%_t_deltas_SOURCES = %D%/t-deltas.c %D%/draw-list.c %D%/scene.c
%C%_t_cause_SOURCES = %D%/t-cause.c %D%/plans.c
# The collector is a part of the module; here it is linked with a libcupti of our own, and with the real one.
%C%_t_collect_SOURCES = %D%/t-collect.c
%C%_t_collect_here_SOURCES = %D%/t-collect-here.c
COLLECT_CPPFLAGS =
COLLECT_LIBS =
if HAVE_CUDA
%C%_t_collect_SOURCES += %D%/fake-cupti.c $(CUPTI_SOURCES)
%C%_t_collect_here_SOURCES += $(CUPTI_SOURCES)
COLLECT_CPPFLAGS += $(CUDA_CPPFLAGS) -DTEST_CUPTI
COLLECT_LIBS += $(CUDA_RUNPATH) $(CUDA_LIBS)
EXTRA_%C%_t_collect_here_DEPENDENCIES = $(CUDA_BUILT_LIBS)
endif
# They are compiled otherwise once the tree is configured otherwise.
$(%C%_t_collect_OBJECTS) $(%C%_t_collect_here_OBJECTS): config.status
%C%_t_collect_CPPFLAGS = $(AM_CPPFLAGS) $(COLLECT_CPPFLAGS)
%C%_t_collect_here_CPPFLAGS = $(AM_CPPFLAGS) $(COLLECT_CPPFLAGS)
%C%_t_collect_here_LDADD = $(LDADD) $(COLLECT_LIBS)
%C%_t_dp_SOURCES = %D%/t-dp.c %D%/plans.c
%C%_t_draw_files_SOURCES = %D%/t-draw-files.c %D%/scene.c
%C%_t_draw_SOURCES = %D%/t-draw.c %D%/scene.c viz/draw-svg.c viz/svg-put.c viz/svg-texts.c
%C%_t_grid_SOURCES = %D%/t-grid.c %D%/draw-list.c
%C%_t_import_SOURCES = %D%/t-import.c %D%/draw-list.c %D%/scene.c
%C%_t_edges_SOURCES = %D%/t-edges.c %D%/draw-list.c %D%/scene.c %D%/subject.c
%C%_t_golden_SOURCES = %D%/t-golden.c %D%/draw-list.c %D%/scene.c %D%/subject.c
%C%_t_look_SOURCES = %D%/t-look.c %D%/draw-list.c %D%/scene.c %D%/subject.c
%C%_t_dense_SOURCES = %D%/t-dense.c %D%/draw-list.c
%C%_t_marks_SOURCES = %D%/t-marks.c %D%/draw-list.c %D%/scene.c %D%/subject.c
%C%_t_trend_SOURCES = %D%/t-trend.c %D%/draw-list.c %D%/scene.c %D%/subject.c
%C%_t_place_SOURCES = %D%/t-place.c %D%/plans.c
%C%_t_plan_SOURCES = %D%/t-plan.c %D%/plans.c
%C%_t_report_SOURCES = %D%/t-report.c %D%/report-run.c
%C%_t_report_json_SOURCES = %D%/t-report-json.c %D%/report-run.c
%C%_t_seal_SOURCES = %D%/t-seal.c %D%/plans.c
%C%_t_gate_SOURCES = %D%/t-gate.c %D%/trial.c
%C%_t_verdict_SOURCES = %D%/t-verdict.c %D%/trial.c
%C%_t_layout_SOURCES = %D%/t-layout.c %D%/draw-list.c %D%/scene.c
%C%_t_viz_SOURCES = %D%/t-viz.c %D%/draw-list.c %D%/scene.c
%C%_t_viz_figures_SOURCES = %D%/t-viz-figures.c %D%/draw-list.c

check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(SHELL_TESTS)
if !TSAN
check_PROGRAMS += $(SEQUENTIAL_TESTS)
TESTS += $(SEQUENTIAL_SHELL_TESTS) $(UNIT_TESTS) $(SEQUENTIAL_TESTS)
else
TESTS += $(UNIT_TESTS)
endif
EXTRA_DIST += $(SHELL_TESTS) $(SEQUENTIAL_SHELL_TESTS) %D%/check-drawn.h %D%/check-trace.h %D%/cuda.sh %D%/data/echo-allreduce.txt \
	%D%/data/megatron-steps.txt %D%/draw-list.h %D%/draw-scene.h %D%/fake-cupti.c %D%/fake-cupti.h %D%/files/v0.1/plan.json %D%/files/v0.1/report-cpu.json \
	%D%/files/v0.1/report-sim.json %D%/files/v0.1/trace-cpu.json %D%/files/v0.1/trace-sim.json \
	%D%/files/v0.2/costs.json %D%/files/v0.2/plan.json %D%/files/v0.2/report.json %D%/files/v0.2/sweep.json \
	%D%/files/v0.2/trace.json %D%/golden/encoder-torch.py %D%/golden/encoder-torch.txt \
	%D%/golden/stats-scipy.py %D%/golden/stats-scipy.txt %D%/golden/optim-torch.py %D%/golden/optim-torch.txt %D%/golden/figures %D%/golden/pipeline %D%/hand-digest.h %D%/hand-plan.h %D%/lsan.supp %D%/noise.h %D%/norm-rule.h %D%/operand.h %D%/pairs.h \
	%D%/paper.h %D%/pipe-trace.h %D%/plans.h %D%/report-run.h %D%/runs.h %D%/same-digest.h %D%/scene.h %D%/small-trace.h %D%/step.h %D%/strict-json.h %D%/subject.h %D%/svg-read.h \
	%D%/tap.h %D%/tap.sh %D%/timing-plan.h %D%/trial.h %D%/tolerance.h %D%/tsan.supp %D%/unit-trace.h %D%/work-trace.h
LDADD = $(CORE_LIBS)
# Driven by cuda-*.sh on emulated GPUs.
check_PROGRAMS += %D%/cuda-train
EXTRA_DIST += %D%/cuda-comm.c
if HAVE_CUDA
check_PROGRAMS += %D%/cuda-comm
%C%_cuda_comm_SOURCES = %D%/cuda-comm.c exec/cuda/nccl.c exec/cuda/nccl-check.c exec/cuda/nccl-clique.c \
	exec/cuda/nccl-gang.c exec/cuda/p2p.c exec/cuda/probe.c exec/cuda/peer.c
%C%_cuda_comm_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
%C%_cuda_comm_LDFLAGS = $(AM_LDFLAGS) $(CUDA_RUNPATH)
EXTRA_%C%_cuda_comm_DEPENDENCIES = $(CUDA_KERNEL_OBJECTS) $(CUDA_BUILT_LIBS)
%C%_cuda_comm_LDADD = $(CUDA_KERNEL_OBJECTS) $(LDADD) $(CUDA_LIBS) -lstdc++ -lm
endif

# Programs that only measure; built when asked for.
BENCHES = %D%/accuracy %D%/bench-plan %D%/bench-pipeline %D%/bench-compute %D%/bench-allreduce %D%/bench-draw
%C%_bench_draw_SOURCES = %D%/bench-draw.c %D%/scene.c
EXTRA_PROGRAMS += $(BENCHES)
CLEANFILES += $(BENCHES)
EXTRA_DIST += %D%/bench/run %D%/bench/predict %D%/bench/broken_barh.py %D%/bench/ddp_torch.py %D%/bench/allreduce_mpi.c
.PHONY: bench
bench: parprof $(module_PROGRAMS) $(BENCHES)
	PARPROF='$(abs_top_builddir)/parprof' builddir='$(abs_top_builddir)' srcdir='$(abs_top_srcdir)' \
		bash $(srcdir)/tests/bench/run

# How often the gates err, and find: printed, not judged.
%C%_gate_power_SOURCES = %D%/gate-power.c %D%/trial.c
EXTRA_PROGRAMS += %D%/gate-power
CLEANFILES += %D%/gate-power
.PHONY: gate-power
gate-power: parprof %D%/gate-power
	PARPROF='$(abs_top_builddir)/parprof' %D%/gate-power

# What takes minutes: every combination instead of every pair.
LONG_TESTS = %D%/t-look %D%/t-verdict %D%/t-train %D%/t-train-modes
LONG_ENVIRONMENT = srcdir='$(abs_top_srcdir)' PARPROF='$(abs_top_builddir)/parprof'
.PHONY: check-long
check-long: $(LONG_TESTS) $(check_PROGRAMS)
	for test in ddp modes faults waits; do env $(LONG_ENVIRONMENT) LONG=1 $(SHELL) $(srcdir)/tests/cuda-$$test.sh || exit 1; done
	for test in $(LONG_TESTS); do G_TEST_SRCDIR='$(abs_top_srcdir)/tests' $$test -m slow || exit 1; done

include tests/gpu/bundle.mk
include tests/fuzz/local.mk
include tests/cuda-emulator/local.mk
include tests/gpu/local.mk
