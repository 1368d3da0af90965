#include "viz/lanes.h"

#include <math.h>
#include <string.h>

#include "profile/kernel-name.h"
#include "viz/blocks.h"
#include "viz/lanes-labels.h"

#define CELL_GAP    0.8 /* between cells that are wide enough to spare it */
#define MIN_WIDTH   0.5 /* of anything drawn */
#define TOUCHING    0.01
#define MOST_JOINED 24.0 /* width from which on a box of cells that look like one takes no more of them */
#define SEAM        1.0  /* alike shares overlap so far: the ground would show between edges within a pixel */
#define MARK_SIZE   6.0
#define MARK_APART  5.0 /* marks nearer than that to the one before are left out */

#define CRITICAL 3.0 /* thickness of the bar over what is on the critical path */
#define MIN_SPAN 1.5 /* width of what can be pointed at */

double lanes_height(const struct lane_style *s)
{
    return s->comm ? 2 * s->lane + s->strip : s->lane;
}

double lanes_comm_y(const struct lane_style *s, double y)
{
    return y + s->lane + s->strip;
}

struct extent lanes_extent(const struct axis *a, int64_t start_ns, int64_t end_ns)
{
    struct extent e = {axis_x(a, start_ns), 0};

    e.w = axis_x(a, end_ns) - e.x;
    if (e.w > 4 * CELL_GAP)
        e.w -= CELL_GAP;
    if (e.w < MIN_WIDTH) {
        e.w = MIN_WIDTH;
        e.x = MIN(e.x, a->x1 - MIN_WIDTH);
    }
    return e;
}

static struct shade shade_of(const struct pen *p, const struct lane_style *s, enum role role)
{
    return palette_tint(p->palette, pen_shade(p, role), s->strength);
}

void lanes_belong(const struct pen *p, const struct tables *t, const struct cell *c)
{
    const bool of_bucket =
        !t->n_stages && (c->role == ROLE_COMM || c->kind == OP_OPTIM) && c->first < t->n_buckets;

    pen_belong(p, KEY_MICRO, c->micro == OP_NONE ? DRAW_NONE : (int64_t)c->micro);
    pen_belong(p, KEY_BUCKET, of_bucket ? (int64_t)c->first : DRAW_NONE);
    pen_belong(p, KEY_PHASE, op_phase(c->kind) == PHASE_NONE ? DRAW_NONE : (int64_t)op_phase(c->kind));
    pen_belong(p, KEY_TIME, c->start_ns);
}

struct shade lanes_shade(const struct pen *p, const struct tables *t, const struct lane_style *s,
                         const struct cell *c)
{
    const uint32_t number = lanes_number(p, t, c);

    if (number != OP_NONE)
        return palette_tint(p->palette,
                            c->role == ROLE_COMM ? palette_hue(p->palette, number)
                                                 : block_number_shade(p->palette, c->kind, number),
                            s->strength);
    return palette_tint(p->palette, pen_shade(p, (enum role)c->role),
                        s->strength * (p->look->color_by == COLOR_BY_KIND ? 1 : LANES_OTHERS));
}

/* Whether two boxes without a gap between them would look like one, and may come together in a build. */
static bool alike(const struct cell *c, struct shade x, const struct cell *next, struct shade y)
{
    return !c->share && !next->share && x.color == y.color && x.hatch == HATCH_NONE &&
           y.hatch == HATCH_NONE && c->role == next->role && c->kind == next->kind &&
           c->micro == next->micro && c->role != ROLE_COMM && c->kind != OP_OPTIM;
}

/* Whether what follows a share is as high, but for a line's width. */
static bool goes_on(const struct cell *c, const struct cell *end, double lane)
{
    for (const struct cell *next = c + 1; next < end && next->share > 0 && next->start_ns <= c->end_ns;
         next++)
        if (next->start_ns == c->end_ns && next->role == c->role)
            return fabs(next->share - c->share) * lane < 1 && fabs(next->below - c->below) * lane < 1;
    return false;
}

/* As high as its share of the time, on what is below it: its area is its time. */
static void paint_share(const struct pen *p, const struct axis *a, const struct tables *t,
                        const struct cell *c, const struct cell *end, const struct lane_style *s, double y)
{
    const double x = axis_x(a, c->start_ns), w = axis_x(a, c->end_ns) - x, h = s->lane * c->share,
                 top = y + s->lane * (1 - c->below) - h;

    if (c->role == ROLE_EXPOSED)
        pen_hatch(p, x, top, w, h, shade_of(p, s, ROLE_EXPOSED));
    else
        pen_box(p, x, top, w + (goes_on(c, end, s->lane) ? SEAM : 0), h, lanes_shade(p, t, s, c));
}

static void paint_cells(const struct pen *p, const struct axis *a, const struct tables *t,
                        const GArray *cells, const struct lane_style *s, double y)
{
    for (unsigned i = 0; i < cells->len; i++) {
        const struct cell *c = &g_array_index(cells, struct cell, i);
        struct extent e = lanes_extent(a, c->start_ns, c->end_ns);
        const struct shade shade = lanes_shade(p, t, s, c);
        while (i + 1 < cells->len && e.w < MOST_JOINED && c->end_ns == c[1].start_ns &&
               alike(c, shade, c + 1, lanes_shade(p, t, s, c + 1))) {
            const struct extent next = lanes_extent(a, c[1].start_ns, c[1].end_ns);
            if (next.x - (e.x + e.w) > TOUCHING)
                break;
            e.w = next.x + next.w - e.x;
            c++, i++;
        }
        lanes_belong(p, t, c);
        if (c->share > 0)
            paint_share(p, a, t, c, &g_array_index(cells, struct cell, cells->len), s, y);
        else
            pen_box(p, e.x, y, e.w, s->lane, shade);
    }
}

/* Over cells, the last of which is what each belongs to. */
static void paint_intervals(const struct pen *p, const struct axis *a, const struct tables *t,
                            const GArray *cells, const struct intervals *set, double y, double h,
                            struct shade shade, bool hatch)
{
    unsigned last = 0;

    for (size_t i = 0; i < set->n; i++) {
        while (last + 1 < cells->len &&
               g_array_index(cells, struct cell, last + 1).start_ns < set->v[i].end_ns)
            last++;
        struct extent e = lanes_extent(a, set->v[i].start_ns, set->v[i].end_ns);
        if (cells->len) {
            const struct cell *c = &g_array_index(cells, struct cell, last);
            lanes_belong(p, t, c);
            if (c->end_ns > set->v[i].end_ns) /* no air within a cell */
                e.w = MAX(MIN_WIDTH, axis_x(a, set->v[i].end_ns) - e.x);
        }
        if (hatch)
            pen_hatch(p, e.x, y, e.w, h, shade);
        else
            pen_box(p, e.x, y, e.w, h, shade);
    }
}

/* From where a bucket became ready, at the lower edge of the compute lane, to where its communication starts.
 * Buckets start in the order in which they are launched, so the lines fan out and never cross. */
static void paint_marks(const struct pen *p, const struct axis *a, const GArray *marks,
                        const struct lane_style *s, double y)
{
    const uint32_t color = pen_color(p, ROLE_INK);
    const double size = MIN(MARK_SIZE, s->strip), half = size * 0.6;
    double before = -MARK_APART;

    for (unsigned i = 0; i < marks->len; i++) {
        const struct ready_mark *m = &g_array_index(marks, struct ready_mark, i);
        const double x = axis_x(a, m->ready_ns), start = axis_x(a, m->start_ns);
        if (i && x - before < MARK_APART && before - x < MARK_APART)
            continue;
        before = x;
        pen_belong(p, KEY_BUCKET, m->bucket);
        pen_belong(p, KEY_PHASE, PHASE_COMM);
        pen_belong(p, KEY_TIME, m->start_ns);
        pen_line(p, x, y, start, y + s->strip, color, 1, false);
        pen_mark(p, CLAMP(x, a->x0 + half, a->x1 - half), y, size, color);
    }
}

static void paint_comm(const struct pen *p, const struct axis *a, const struct tables *t,
                       const struct row *row, const struct lane_style *s, double y)
{
    paint_cells(p, a, t, row->comm, s, y);
    paint_intervals(p, a, t, row->comm, &row->gaps, y, s->lane, pen_shade(p, ROLE_LANE), false);
    paint_intervals(p, a, t, row->comm, &row->waits, y, s->lane, shade_of(p, s, ROLE_WAIT), false);
    paint_intervals(p, a, t, row->comm, &row->exposed, y, s->lane, shade_of(p, s, ROLE_EXPOSED), true);
    paint_intervals(p, a, t, row->comm, &row->critical_comm, y, CRITICAL, pen_shade(p, ROLE_INK), false);
}

/* What each cell says when it is pointed at: its longest name and how long it takes. */
static void add_spans(const struct pen *p, const struct axis *a, const struct tables *t,
                      const struct row *row, const GArray *cells, bool comm, const struct lane_style *s,
                      double y)
{
    const struct pen english = pen_english(p);

    for (unsigned i = 0; s->spans && i < cells->len; i++) {
        const struct cell *c = &g_array_index(cells, struct cell, i);
        const struct extent e = lanes_extent(a, c->start_ns, c->end_ns);
        char time[32], bytes[32];
        if (e.w < MIN_SPAN || !cell_is_itself(c))
            continue;
        lanes_belong(p, t, c);
        g_autofree char *kernel = cell_kernel(c) ? kernel_short_name(c->name) : NULL;
        g_autofree char *name = lanes_name(p, t, c, comm),
                        *english_name =
                            p->notes ? kernel ? g_strdup(kernel) : lanes_name(&english, t, c, comm) : NULL;
        const char *length = format_duration(c->end_ns - c->start_ns, time);
        const bool sized = comm && c->kind == OP_ALLREDUCE && c->first < t->n_buckets;
        g_autofree char *about =
            sized    ? g_strdup_printf("%s · %s", format_bytes(t->buckets[c->first].bytes, bytes), length)
            : kernel ? g_strdup_printf("%s · %s", kernel, length)
                     : g_strdup(length);
        pen_span(p, e.x, y, e.w, s->lane, name, english_name, row->rank, about);
    }
}

void lanes_paint(const struct pen *p, const struct axis *a, const struct tables *t, const struct row *row,
                 const struct lane_style *s, double y)
{
    const struct extent track = {a->x0, axis_x(a, row->end_ns) - a->x0};
    const double comm_y = lanes_comm_y(s, y);

    pen_box(p, track.x, y, track.w, s->lane, pen_shade(p, ROLE_LANE));
    paint_cells(p, a, t, row->copies, s, y);
    paint_cells(p, a, t, row->compute, s, y);
    paint_intervals(p, a, t, row->compute, &row->critical, y, CRITICAL, pen_shade(p, ROLE_INK), false);
    pen_belong_rank_only(p);
    if (s->comm) {
        pen_box(p, track.x, comm_y, track.w, s->lane, pen_shade(p, ROLE_LANE));
        paint_comm(p, a, t, row, s, comm_y);
    }
    if (s->comm && s->marks && row->backward_end_ns) {
        const double x = axis_x(a, row->backward_end_ns);
        pen_belong_rank_only(p);
        pen_belong(p, KEY_PHASE, PHASE_BACKWARD);
        pen_belong(p, KEY_TIME, row->backward_end_ns);
        pen_line(p, x, y, x, comm_y + s->lane, pen_color(p, ROLE_INK), 1.5, true);
    }
    pen_belong_rank_only(p);
    /* Labels last: where one lies on the line, its ground covers the line. */
    lanes_label_compute(p, a, t, row->compute, s, y);
    if (s->comm && s->marks)
        paint_marks(p, a, row->marks, s, y + s->lane);
    for (unsigned i = 0; s->comm && i < row->comm->len; i++)
        lanes_label_comm(p, a, t, row, &g_array_index(row->comm, struct cell, i), s, comm_y);
    add_spans(p, a, t, row, row->copies, false, s, y);
    add_spans(p, a, t, row, row->compute, false, s, y);
    if (s->comm)
        add_spans(p, a, t, row, row->comm, true, s, comm_y);
    pen_belong_rank_only(p);
}
