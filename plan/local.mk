libparprof_a_SOURCES += %D%/op.def %D%/layer.def \
	%D%/bucket.h %D%/build.h %D%/cost.h %D%/data.h %D%/engine.h %D%/gangs.h %D%/ini.h %D%/mode.h %D%/model.h %D%/op.h \
	%D%/plan.h %D%/seal.h %D%/bucket.c %D%/build.c %D%/cost.c %D%/engine.c %D%/gangs.c %D%/hazards.c \
	%D%/ini.c %D%/layer.c %D%/liveness.c %D%/lower.c %D%/mode-ddp.c %D%/mode-single.c %D%/mode.c %D%/model.c %D%/op.c \
	%D%/bucket.h %D%/build.h %D%/cost.h %D%/data.h %D%/ddp.h %D%/engine.h %D%/gangs.h %D%/ini.h %D%/mode.h %D%/model.h %D%/op.h \
	%D%/plan.h %D%/seal.h %D%/bucket.c %D%/build.c %D%/build-optim.c %D%/cost.c %D%/ddp-buckets.c %D%/ddp-first.c %D%/engine.c %D%/gangs.c %D%/hazards.c \
	%D%/ini.c %D%/layer.c %D%/lower.c %D%/mode-ddp.c %D%/mode-single.c %D%/mode.c %D%/model.c %D%/op.c \
	%D%/bucket.h %D%/build.h %D%/cost.h %D%/data.h %D%/engine.h %D%/gangs.h %D%/ini.h %D%/lower.h %D%/mode.h %D%/model.h %D%/op.h \
	%D%/plan.h %D%/seal.h %D%/bucket.c %D%/build.c %D%/cost.c %D%/engine.c %D%/gangs.c %D%/hazards.c \
	%D%/ini.c %D%/layer.c %D%/lower.c %D%/lower-all-to-all.c %D%/lower-ring.c %D%/lower-star.c %D%/lower-tree.c %D%/mode-ddp.c %D%/mode-single.c %D%/mode.c %D%/model.c %D%/op.c \
	%D%/bucket.h %D%/build.h %D%/cost.h %D%/data.h %D%/ddp.h %D%/engine.h %D%/gangs.h %D%/ini.h %D%/mode.h %D%/model.h %D%/model-layers.h %D%/op.h \
	%D%/plan.h %D%/seal.h %D%/bucket.c %D%/build.c %D%/build-optim.c %D%/cost.c %D%/ddp-buckets.c %D%/ddp-first.c %D%/engine.c %D%/gangs.c %D%/hazards.c \
	%D%/ini.c %D%/layer.c %D%/lower.c %D%/mode-ddp.c %D%/mode-single.c %D%/mode.c %D%/model.c %D%/model-layers.c %D%/op.c \
	%D%/place.c %D%/plan.c %D%/seal.c %D%/write-json.c %D%/write.c

# Data built into the program: every room adds its files to DATA_FILES.
DATA_FILES = %D%/models/bert-base.ini %D%/models/gpt2.ini %D%/models/mini.ini %D%/models/mlp.ini \
	%D%/models/resnet18.ini %D%/models/resnet50.ini %D%/models/transformer-lm.ini
EXTRA_DIST += %D%/embed.awk $(DATA_FILES)
CLEANFILES += %D%/data.c
nodist_libparprof_a_SOURCES = %D%/data.c
%D%/data.c: %D%/embed.awk $(DATA_FILES)
	$(AM_V_GEN)$(MKDIR_P) %D% && \
		(cd $(srcdir) && $(AWK) -f plan/embed.awk $(DATA_FILES)) > $@.tmp && mv $@.tmp $@
