libparprof_a_SOURCES += %D%/op.def %D%/layer.def \
	%D%/op.h %D%/cost.h %D%/plan.h %D%/model.h %D%/mode.h %D%/bucket.h %D%/engine.h %D%/ini.h \
	%D%/build.h %D%/gangs.h %D%/seal.h \
	%D%/op.c %D%/plan.c %D%/cost.c %D%/ini.c %D%/layer.c %D%/model.c %D%/bucket.c %D%/engine.c %D%/build.c %D%/mode.c \
	%D%/mode-single.c %D%/mode-ddp.c %D%/gangs.c %D%/lower.c %D%/seal.c %D%/hazards.c %D%/place.c %D%/write.c %D%/write-json.c
libparprof_a_SOURCES += %D%/engine.c

# Data built into the program: every room adds its files to DATA_FILES and to data.gresource.xml.
DATA_FILES = data.gresource.xml %D%/models/bert-base.ini %D%/models/mini.ini
EXTRA_DIST += $(DATA_FILES)
CLEANFILES += %D%/resources.c
nodist_libparprof_a_SOURCES = %D%/resources.c
%D%/resources.c: $(DATA_FILES)
	$(AM_V_GEN)$(MKDIR_P) %D% && $(GLIB_COMPILE_RESOURCES) --sourcedir=$(srcdir) --target=$@ \
		--generate-source --internal --manual-register --c-name=parprof_data $(srcdir)/data.gresource.xml
