libparprof_a_SOURCES += %D%/options.def %D%/cli.h %D%/files.h %D%/job.h %D%/options.h %D%/output.h \
	%D%/preset.h 	%D%/predict.h %D%/summary.h %D%/engines.c %D%/files.c %D%/job.c %D%/list.c %D%/main.c %D%/options.c \
	%D%/output.c %D%/plan.c %D%/predict.c %D%/preset.c %D%/published.c %D%/run.c %D%/summary.c
DATA_FILES += %D%/presets/ddp-paper.ini
