/* viz/timeline.h -- what figure timeline places (timeline.c) and paints (timeline-paint.c).  Lengths are units of the pen. */
#ifndef VIZ_TIMELINE_H
#define VIZ_TIMELINE_H

#include "viz/frame.h"
#include "viz/lanes.h"
#include "viz/rows.h"

/* The same step with another overlap: two lanes of its slowest rank. */
struct timeline_other {
    const struct variant *variant;
    struct step_rows rows;
    char *name;
    double y;
};

struct timeline {
    const struct figure_input *in;
    struct frame frame;
    uint32_t step;
    bool comm, zoomed;
    int64_t from_ns, to_ns; /* what is shown of the step */
    uint32_t shown;         /* ranks */
    double lane;            /* height */
    struct step_rows ranks;
    struct timeline_other *others;
    uint32_t n_others;
    struct axis axis;
    struct lane_labels labels;
    double spare; /* height that the lanes leave */
    double notes_y, ranks_y, hidden_y, saved_y, axis_y;
};

#define TIMELINE_GUTTER_GAP 12.0
#define TIMELINE_TICK_GAP   90.0
#define TIMELINE_HIDDEN     20.0 /* "6 of 64 ranks shown" */
#define TIMELINE_SAVED      50.0 /* what overlap saved, and its bracket */
#define TIMELINE_GAP_PART   0.45 /* of a lane's height */
#define TIMELINE_AIR        8.0

struct lane_style timeline_style(const struct timeline *);       /* of ranks */
struct lane_style timeline_other_style(const struct timeline *); /* of other steps */

/* What stands to the right of a lane at that time: "12.3 ms exposed"; NULL: nothing.  g_free. */
char *timeline_beside(const struct timeline *, const struct step_rows *, const struct row *, const struct analysis *,
                      int64_t *at_ns);
char *timeline_step_text(const struct timeline *, const struct step_rows *); /* "step 59.2 ms"; g_free */

/* All but title, legend and caption. */
void timeline_paint(const struct timeline *);

#endif
