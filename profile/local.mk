libparprof_a_SOURCES += %D%/clock.h %D%/trace.h %D%/interval.h %D%/analyze.h %D%/report.h %D%/export.h %D%/json.h \
	%D%/trace.c %D%/costs.c %D%/interval.c %D%/analyze.c %D%/json.c
