libparprof_a_SOURCES += %D%/options.def %D%/advice.h %D%/attempts.h %D%/balance.h %D%/child.h %D%/child-guard.h %D%/cli.h %D%/execute.h %D%/figures.h %D%/files.h %D%/frames.h %D%/history-file.h %D%/input.h %D%/interrupt.h %D%/sides.h \
	%D%/job.h %D%/notes.h %D%/options.h %D%/output.h %D%/patience.h %D%/plan-file.h %D%/points.h %D%/processes.h %D%/predict.h %D%/preset.h %D%/prices.h \
	%D%/samples.h %D%/stand-in.h %D%/summary.h %D%/train.h %D%/verdicts.h %D%/advice.c %D%/attempts.c %D%/balance.c %D%/child.c %D%/child-guard.c %D%/commands.c %D%/doctor.c %D%/engines.c %D%/execute.c %D%/figures.c %D%/files.c %D%/frames.c %D%/gate.c %D%/compare.c %D%/help.c %D%/history.c %D%/history-file.c %D%/sides.c %D%/input.c %D%/interrupt.c %D%/job-pipeline.c %D%/job.c %D%/side-traces.h %D%/side-traces.c %D%/exhaust.h %D%/exhaust.c \
	%D%/list.c %D%/main.c %D%/notes.c %D%/options.c %D%/output.c %D%/patience.c %D%/plan-file.c %D%/plan.c %D%/points.c %D%/predict.c \
	%D%/preset.c %D%/processes.c %D%/prices.c %D%/published.c %D%/render.c %D%/run.c %D%/samples.c %D%/stand-in.c %D%/summary.c %D%/train.c %D%/verdicts.c %D%/sweep.c
DATA_FILES += %D%/presets/ddp-paper.ini %D%/presets/pipe-tutorial.ini %D%/presets/tunib-ddp.ini \
	%D%/presets/tunib-dp.ini
