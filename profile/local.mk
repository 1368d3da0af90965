libparprof_a_SOURCES += %D%/collect.h %D%/compare-out.h %D%/analyze.h %D%/cause.h %D%/clock.h %D%/cost-rows.h %D%/digest-buckets.h %D%/digest.h %D%/export-fields.h %D%/export.h %D%/facts.h %D%/fingerprint.h \
	%D%/gang.h %D%/gate.h %D%/import-tables.h %D%/import.h %D%/index.h %D%/interval.h %D%/kernel-name.h %D%/launch.h %D%/memory.h %D%/metric.def %D%/metric.h %D%/pipeline.h %D%/profiler-events.h %D%/profiler-steps.h %D%/read.h \
	%D%/reduction.h %D%/report-device.h %D%/report-pipeline.h %D%/report-text.h %D%/report.h %D%/measurement.h %D%/series.h %D%/slowdown.h %D%/stats.h %D%/table.h %D%/trace.h %D%/traffic.h %D%/training.h %D%/verdict.h %D%/wander.h \
	%D%/analyze.c %D%/cause.c %D%/compare-json.c %D%/compare-markup.c %D%/compare-text.c %D%/cost-rows.c %D%/costs.c %D%/digest-buckets.c %D%/digest-device.c %D%/digest.c %D%/export-chrome.c %D%/export-header.c %D%/fingerprint.c %D%/gang.c %D%/gate.c \
	%D%/import-costs.c %D%/import-profiler.c %D%/import-tables.c %D%/import-trace.c %D%/index.c %D%/interval.c %D%/kernel-name.c %D%/launch.c %D%/memory.c %D%/metric.c \
	%D%/pipeline.c %D%/profiler-events.c %D%/profiler-steps.c %D%/read.c %D%/report-pipeline.c %D%/reduction.c %D%/report-device.c %D%/report-json.c %D%/report-text.c %D%/report.c %D%/measurement.c %D%/measurement-history.c %D%/series-json.c \
	%D%/series.c %D%/slowdown.c %D%/stats.c %D%/stats-paired.c %D%/stats-rank.c %D%/table.c %D%/trace.c %D%/traffic.c %D%/training.c %D%/verdict.c %D%/wander.c %D%/why.c %D%/where.h %D%/where-names.h %D%/where-walk.h %D%/where-names.c %D%/where.c %D%/where-walk.c %D%/where-words.c
# Of the module parprof-cuda.so.
CUPTI_SOURCES = %D%/collect-cupti.h %D%/collect-cupti.c %D%/collect-mark.c %D%/collect-records.c %D%/collect-refusal.c
