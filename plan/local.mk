libparprof_a_SOURCES += %D%/op.def %D%/layer.def \
	%D%/op.h %D%/cost.h %D%/plan.h %D%/model.h %D%/mode.h %D%/bucket.h %D%/engine.h %D%/ini.h \
	%D%/op.c %D%/plan.c
libparprof_a_SOURCES += %D%/cost.c
