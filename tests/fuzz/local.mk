# Targets for hostile files: tests/fuzz/NAME.c reads one and uses what it says; tests/fuzz/NAME/ is its corpus.
# `make check` replays the corpora; `make fuzz`, configured with CC=clang --enable-fuzzer, looks for more.
FUZZ_TARGETS = cluster cost model plan profiler report schedule trace
FUZZ_REPLAYS = %D%/replay-cluster %D%/replay-cost %D%/replay-model %D%/replay-plan %D%/replay-profiler %D%/replay-report \
	%D%/replay-schedule %D%/replay-trace
%C%_replay_cluster_SOURCES = %D%/cluster.c %D%/replay.c
%C%_replay_cost_SOURCES = %D%/cost.c %D%/replay.c
%C%_replay_model_SOURCES = %D%/model.c %D%/replay.c
%C%_replay_plan_SOURCES = %D%/plan.c %D%/replay.c
%C%_replay_profiler_SOURCES = %D%/profiler.c %D%/replay.c tests/draw-list.c
%C%_replay_report_SOURCES = %D%/report.c %D%/replay.c tests/draw-list.c
%C%_replay_schedule_SOURCES = %D%/schedule.c %D%/replay.c
%C%_replay_trace_SOURCES = %D%/trace.c %D%/replay.c tests/draw-list.c
if !TSAN
check_PROGRAMS += $(FUZZ_REPLAYS)
TESTS += $(FUZZ_REPLAYS)
endif
EXTRA_DIST += %D%/draw.h %D%/fuzz.h %D%/use-trace.h %D%/cluster %D%/cost %D%/model %D%/plan %D%/profiler %D%/report %D%/schedule %D%/trace

FUZZERS = %D%/fuzz-cluster %D%/fuzz-cost %D%/fuzz-model %D%/fuzz-plan %D%/fuzz-profiler %D%/fuzz-report \
	%D%/fuzz-schedule %D%/fuzz-trace
%C%_fuzz_cluster_SOURCES = %D%/cluster.c
%C%_fuzz_cost_SOURCES = %D%/cost.c
%C%_fuzz_model_SOURCES = %D%/model.c
%C%_fuzz_plan_SOURCES = %D%/plan.c
%C%_fuzz_profiler_SOURCES = %D%/profiler.c tests/draw-list.c
%C%_fuzz_report_SOURCES = %D%/report.c tests/draw-list.c
%C%_fuzz_schedule_SOURCES = %D%/schedule.c
%C%_fuzz_trace_SOURCES = %D%/trace.c tests/draw-list.c
%C%_fuzz_cluster_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_fuzz_cost_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_fuzz_model_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_fuzz_plan_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_fuzz_profiler_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_fuzz_report_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_fuzz_schedule_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
%C%_fuzz_trace_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
EXTRA_PROGRAMS += $(FUZZERS)
CLEANFILES += $(FUZZERS)
FUZZ_SECONDS = 60
.PHONY: fuzz
fuzz: $(FUZZERS)
	for name in $(FUZZ_TARGETS); do \
		$(MKDIR_P) fuzz-found/$$name && LSAN_OPTIONS='suppressions=$(abs_top_srcdir)/tests/lsan.supp' \
			tests/fuzz/fuzz-$$name -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 \
			-artifact_prefix=fuzz-found/$$name- fuzz-found/$$name '$(abs_top_srcdir)/tests/fuzz/'$$name || exit 1; \
	done
