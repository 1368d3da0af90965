libparprof_a_SOURCES += %D%/bom.h %D%/data.h %D%/decimal.h %D%/huge.h %D%/ini.h %D%/json-text.h %D%/json.h %D%/thread.h %D%/decimal.c \
	%D%/huge.c %D%/ini.c %D%/json-read.c %D%/json-text.c %D%/json-write.c
# Data built into the program: every room adds its files to DATA_FILES.
DATA_FILES =
EXTRA_DIST += %D%/embed.awk $(DATA_FILES)
CLEANFILES += %D%/data.c
nodist_libparprof_a_SOURCES = %D%/data.c
%D%/data.c: %D%/embed.awk $(DATA_FILES)
	$(AM_V_GEN)$(MKDIR_P) %D% && \
		(cd $(srcdir) && $(AWK) -f base/embed.awk $(DATA_FILES)) > $@.tmp && mv $@.tmp $@
