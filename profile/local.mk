libparprof_a_SOURCES += %D%/clock.h %D%/trace.h %D%/gang.h %D%/interval.h %D%/index.h %D%/reduction.h %D%/cause.h \
	%D%/analyze.h %D%/memory.h %D%/table.h %D%/traffic.h %D%/report.h %D%/report-text.h \
	%D%/json.h %D%/export.h \
	%D%/trace.c %D%/gang.c %D%/costs.c %D%/interval.c %D%/index.c %D%/reduction.c %D%/cause.c %D%/analyze.c \
	%D%/memory.c %D%/table.c %D%/traffic.c %D%/report.c %D%/report-json.c %D%/report-text.c %D%/why.c \
	%D%/json.c %D%/export-chrome.c
