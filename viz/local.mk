libparprof_a_SOURCES += %D%/blocks.h %D%/build.h %D%/critical.h %D%/curves.h %D%/draw-text.h %D%/draw.h %D%/figure.h %D%/frame.h %D%/grid.h %D%/lang.h %D%/lanes-labels.h %D%/lanes.h %D%/layout.h %D%/notes.h \
	%D%/palette.h %D%/pen.h %D%/rows-dense.h %D%/rows.h %D%/scale.h %D%/sweep-bars.h %D%/tape.h %D%/timeline.h %D%/trend-runs.h %D%/words.h %D%/blocks.c %D%/breakdown.c %D%/buckets.c %D%/compare.c %D%/build.c %D%/critical.c %D%/curves.c \
	%D%/draw-text.c %D%/draw.c %D%/figure.c %D%/frame.c %D%/grid-labels.c %D%/grid-paint.c %D%/grid.c %D%/lang.c %D%/lanes-labels.c %D%/lanes-legend.c %D%/lanes.c %D%/layout.c %D%/memory.c %D%/notes.c %D%/overlap.c %D%/palette.c %D%/pen.c \
	%D%/rows-dense.c %D%/rows-reduce.c %D%/rows.c %D%/scale.c %D%/sweep-bars.c %D%/sweep.c %D%/tape.c %D%/timeline-paint.c %D%/timeline.c %D%/words-sweep.c %D%/words.c \
	%D%/ladder.h %D%/ladder.c %D%/hops.h %D%/hops.c %D%/growth.h %D%/growth.c %D%/allreduce.c %D%/dp-step.h %D%/dp-step.c %D%/dp.c \
	%D%/ddp-times.h %D%/ddp-times.c %D%/ddp.c %D%/trend-runs.c %D%/trend.c %D%/deltas.h %D%/deltas.c %D%/compare-marks.h %D%/compare-marks.c
DATA_FILES += %D%/lang/en.ini %D%/lang/ko.ini
# Pango is opened at run time, when a figure is drawn: linking it would cost every start of the program.
module_PROGRAMS += parprof-cairo.so
parprof_cairo_so_SOURCES = %D%/draw-cairo.h %D%/draw-svg.h %D%/svg-put.h %D%/draw-cairo.c %D%/draw-cairo-text.c \
	%D%/draw-svg.c %D%/svg-put.c %D%/svg-texts.c
parprof_cairo_so_CPPFLAGS = $(AM_CPPFLAGS) $(DRAW_CFLAGS)
parprof_cairo_so_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
parprof_cairo_so_LDFLAGS = $(AM_LDFLAGS) -shared
parprof_cairo_so_LDADD = $(DRAW_LIBS) $(GLIB_LIBS)
