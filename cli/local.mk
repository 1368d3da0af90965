libparprof_a_SOURCES += %D%/cli.h %D%/options.def %D%/options.h %D%/output.h %D%/job.h %D%/predict.h %D%/summary.h \
	%D%/main.c %D%/options.c %D%/output.c %D%/job.c %D%/predict.c %D%/summary.c %D%/engines.c \
	%D%/run.c %D%/plan.c %D%/list.c
