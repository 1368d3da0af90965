libparprof_a_SOURCES += %D%/options.def %D%/cli.h %D%/files.h %D%/job.h %D%/options.h %D%/output.h \
	%D%/predict.h %D%/summary.h %D%/engines.c %D%/files.c %D%/help.c %D%/render.c %D%/sweep.c %D%/job.c %D%/list.c %D%/main.c %D%/options.c \
	%D%/output.c %D%/plan.c %D%/predict.c %D%/run.c %D%/summary.c
