/* The loop of DDP's processes, and where in it all-reduce has its place. */
#include "viz/figure.h"

#include "viz/ddp-times.h"
#include "viz/ladder.h"
#include "viz/layout.h"
#include "viz/words.h"

#define GUTTER       156.0
#define BESIDE_WIDTH 980.0 /* from which the places stand beside the loop */
#define STACKED      400.0 /* height from which they stand below it, else nowhere */
#define BETWEEN      28.0
#define LOOP_PART    0.6 /* of the width */
#define MOST_COLUMNS 4
#define BOX_PART     0.78 /* of a column: loops have the rest */
#define BAR_GAP      40.0 /* from which a bar of all-reduce has room between rows */
#define LOOP         14.0 /* from a box to its loop */
#define MOST_LANE    56.0
#define LEAST_LANE   17.0
#define JOIN         1.0

enum { DATA, MODEL, GRADIENTS, AVERAGED, UPDATED, ROWS };

struct scene {
    struct frame frame;
    struct ladder ladder;
    struct ddp_times times[DDP_PLACES];
    enum ddp_place own;
    uint32_t n_ranks;
    int64_t phase_ns[PHASES]; /* -1: unknown */
};

/* --- the loop */

/* Steps of the figure: a row of boxes each, with what leads to it; then the way back, then the places of all-reduce. */
enum { STEP_LOOP = ROWS, STEP_PLACES };

static void paint_box(const struct scene *s, uint32_t row, uint32_t column)
{
    static const struct {
        const char *key, *second;
        enum role role;
    } rows[ROWS] = {{"ddp.data", NULL, ROLE_INPUT},
                    {"ddp.model", NULL, ROLE_OPTIMIZER},
                    {"ddp.gradients", NULL, ROLE_BACKWARD},
                    {"ddp.averaged", "ddp.gradients", ROLE_COMM},
                    {"ddp.updated", "ddp.model", ROLE_OPTIMIZER}};
    const struct pen *p = &s->frame.pen;
    const char *const text = word(p->lang, rows[row].key);

    ladder_box(&s->ladder, row, column, pen_shade(p, rows[row].role), 1, &text,
               rows[row].second ? word(p->lang, rows[row].second) : NULL);
}

static void paint_bar(const struct scene *s, double x0, double x1, double y, double height)
{
    const struct pen *p = &s->frame.pen;
    const struct shade shade = pen_shade(p, ROLE_COMM);
    const struct font font = {MIN(p->strong.size, height / 1.3), WEIGHT_BOLD};
    const char *text = word(p->lang, "op.all-reduce");

    pen_box(p, x0, y, x1 - x0, height, shade);
    if (pen_width(p, &font, text) <= x1 - x0 - FRAME_AIR)
        pen_label(p, (x0 + x1) / 2, y + height / 2, height, &font, shade, false, text);
    pen_span(p, x0, y, x1 - x0, height, text, word(language_standard(), "op.all-reduce"), OP_NONE, "");
}

/* All processes meet in it. */
static void paint_all_reduce(const struct scene *s)
{
    const struct ladder *l = &s->ladder;
    const struct pen *p = &s->frame.pen;
    const double y0 = ladder_row(l, GRADIENTS) + l->box, y1 = ladder_row(l, AVERAGED), gap = y1 - y0;
    const double height = p->ops->cells ? DRAW_LINE : gap * 0.44, y = y0 + (p->ops->cells ? DRAW_LINE : (gap - height) / 2);
    const double x0 = ladder_middle(l, 0) - l->width / 2, x1 = ladder_middle(l, l->n_columns - 1) + l->width / 2;

    pen_belong_rest(p); /* it needs all ranks */
    pen_belong_step(p, AVERAGED);
    for (uint32_t c = 0; c < l->n_columns; c++) {
        const double x = ladder_middle(l, c);
        if (gap < BAR_GAP) {
            ladder_arrow(l, GRADIENTS, c, c, pen_color(p, ROLE_INK), false);
            continue;
        }
        ladder_line_to(p, x, y0 + 1, x, y - 1, pen_color(p, ROLE_INK), false);
        ladder_line_to(p, x, y + height + 1, x, y1 - 1, pen_color(p, ROLE_INK), false);
    }
    if (gap >= BAR_GAP)
        paint_bar(s, x0, x1, y, height);
    pen_belong_rank_only(p);
}

/* From the updated model back to the one of the next step. */
static void paint_loop(const struct scene *s, uint32_t column)
{
    const struct ladder *l = &s->ladder;
    const struct pen *p = &s->frame.pen;
    const double y0 = ladder_row(l, MODEL) + l->box / 2, y1 = ladder_row(l, UPDATED) + l->box / 2;
    const double edge = ladder_middle(l, column) + l->width / 2, x = edge + MIN(LOOP, (l->column - l->width) * 0.7);
    const uint32_t color = pen_color(p, ROLE_MUTED);

    if (ladder_rank(l, column) == OP_NONE)
        return;
    pen_line(p, edge, y1, x, y1, color, 2, false);
    pen_line(p, x, y1, x, y0, color, 2, false);
    ladder_line_to(p, x, y0, edge + 1, y0, color, false);
}

static void paint_column(const struct scene *s, uint32_t column)
{
    const struct pen *p = &s->frame.pen;

    ladder_begin_column(&s->ladder, column);
    ladder_name(&s->ladder, column);
    for (uint32_t row = 0; row < ROWS; row++) {
        pen_belong_step(p, row);
        if (row && row != AVERAGED)
            ladder_arrow(&s->ladder, row - 1, column, column, pen_color(p, ROLE_INK), false);
        paint_box(s, row, column);
    }
    pen_belong_step(p, STEP_LOOP);
    paint_loop(s, column);
    ladder_end_column(&s->ladder, column);
}

static void paint_stages(const struct scene *s)
{
    static const struct {
        const char *key;
        enum phase phase;
    } stages[] = {{"ddp.forward", PHASE_FORWARD},
                  {"ddp.backward", PHASE_BACKWARD},
                  {"ddp.all-reduce", PHASE_COMM},
                  {"ddp.update", PHASE_OPTIMIZER}};
    const struct pen *p = &s->frame.pen;

    for (uint32_t row = 0; row < G_N_ELEMENTS(stages); row++) {
        char time[32];
        const int64_t ns = s->phase_ns[stages[row].phase];
        g_autofree char *name = g_strdup_printf("%s %s", count(row + 1), word(p->lang, stages[row].key));
        pen_belong_step(p, row + 1);
        ladder_beside(&s->ladder, row, name, ns >= 0 ? format_duration(ns, time) : NULL);
    }
    pen_belong_step(p, DRAW_NONE);
}

/* --- where all-reduce is */

static void paint_phase(const struct scene *s, const struct intervals *v, const struct scale *scale, double y, double height,
                        struct shade shade, const char *const *texts)
{
    for (size_t i = 0; i < v->n;) {
        const double x0 = scale_at(scale, (double)v->v[i].start_ns);
        double x1 = scale_at(scale, (double)v->v[i].end_ns);
        for (i++; i < v->n && scale_at(scale, (double)v->v[i].start_ns) - x1 < JOIN; i++)
            x1 = scale_at(scale, (double)v->v[i].end_ns);
        if (x1 - x0 >= JOIN / 2)
            frame_bar(&s->frame, x0, x1, y, height, shade, false, 2, texts);
    }
}

static void paint_place(const struct scene *s, enum ddp_place place, const struct scale *scale, double y, double line, double lane)
{
    static const char *const keys[] = {"ddp.after", "ddp.beside-backward", "ddp.beside-optimizer"};
    static const enum role roles[PHASES] = {ROLE_FORWARD, ROLE_BACKWARD, ROLE_COMM, ROLE_OPTIMIZER};
    const struct pen *p = &s->frame.pen;
    const struct ddp_times *t = &s->times[place];
    const char *const texts[PHASES][2] = {{word(p->lang, "phase.forward"), "F"},
                                          {word(p->lang, "phase.backward"), "B"},
                                          {word(p->lang, "op.all-reduce"), word(p->lang, "op.all-reduce")},
                                          {word(p->lang, "phase.optimizer"), word(p->lang, "op.step")}};
    char time[32];
    const char *order = t->drawn ? "" : word(p->lang, "ddp.order");
    g_autofree char *known = t->step_ns < 0 ? g_strdup(order)
                                            : g_strconcat(format_duration(t->step_ns, time), t->drawn ? "" : ", ", order, NULL);
    g_autofree char *whole = g_strdup_printf("%s · %s", word(p->lang, keys[place]), known);
    g_autofree char *title = pen_ellipsize(p, &p->strong, whole, scale->at1 - scale->at0);

    frame_text(&s->frame, scale->at0, y + line / 2, &p->strong, ALIGN_LEFT, place == s->own || s->own == DDP_PLACES ? ROLE_INK : ROLE_MUTED,
               title);
    for (unsigned i = 0; i < PHASES; i++) {
        const struct shade full = pen_shade(p, roles[i]);
        paint_phase(s, &t->phase[i], scale, y + line + (i == PHASE_COMM ? lane + 2 : 0), lane,
                    t->drawn ? full : palette_tint(p->palette, full, 0.6), texts[i]);
    }
}

static void paint_places(const struct scene *s, double x0, double x1, double y0, double y1)
{
    const struct pen *p = &s->frame.pen;
    const double each = (y1 - y0) / DDP_PLACES, line = p->strong.size * 1.6;
    const double lane = p->ops->cells ? DRAW_LINE : MIN(MOST_LANE, (each - line - FRAME_AIR) / 2);
    int64_t most = 0;

    for (unsigned place = 0; place < DDP_PLACES; place++)
        most = MAX(most, s->times[place].end_ns);
    if (lane < MIN(LEAST_LANE, DRAW_LINE) || most == 0)
        return;
    const struct scale scale = {0, (double)most, x0, x1, false};
    for (unsigned place = 0; place < DDP_PLACES; place++) {
        pen_belong_step(&s->frame.pen, STEP_PLACES + place);
        paint_place(s, place, &scale, y0 + place * each, line, lane);
    }
    pen_belong_step(&s->frame.pen, DRAW_NONE);
}

/* --- all of it */

static bool paint(struct scene *s, GError **error)
{
    struct frame *f = &s->frame;
    const struct pen *p = &f->pen;
    const struct legend_entry entries[] = {
        {.text = word(p->lang, "ddp.data"), .shade = pen_shade(p, ROLE_INPUT)},
        {.text = word(p->lang, "legend.forward"), .shade = pen_shade(p, ROLE_FORWARD)},
        {.text = word(p->lang, "legend.backward"), .shade = pen_shade(p, ROLE_BACKWARD)},
        {.text = word(p->lang, "op.all-reduce"), .shade = pen_shade(p, ROLE_COMM)},
        {.text = word(p->lang, "legend.optimizer"), .shade = pen_shade(p, ROLE_OPTIMIZER)}};

    frame_legend(f, G_N_ELEMENTS(entries), entries);
    const double y1 = f->y1 - FRAME_AIR / 2, height = y1 - f->y0, split = f->y0 + height * 0.6;
    const bool beside = f->x1 - f->x0 >= BESIDE_WIDTH, stacked = !beside && height >= STACKED;
    const double middle = f->x0 + (f->x1 - f->x0) * LOOP_PART;
    if (!ladder_make(&s->ladder, f, f->x0, beside ? middle : f->x1, f->y0, stacked ? split : y1, GUTTER, s->n_ranks,
                     MOST_COLUMNS, ROWS) ||
        s->ladder.rows < ROWS)
        return frame_no_room(p, "ddp", "the loop", error);
    s->ladder.width = s->ladder.column * BOX_PART;
    for (uint32_t c = 0; c < s->ladder.n_columns; c++)
        paint_column(s, c);
    paint_stages(s);
    paint_all_reduce(s);
    if (beside)
        paint_places(s, middle + BETWEEN, f->x1, f->y0, y1);
    else if (stacked)
        paint_places(s, f->x0, f->x1, split + FRAME_AIR, y1);
    return true;
}

static bool drawable(const struct figure_input *in, GError **error)
{
    const char *mode = in->trace ? in->trace->t.mode : in->digest ? in->digest->mode : NULL;
    const uint32_t ranks = in->trace ? in->trace->t.n_ranks : in->digest ? in->digest->n_ranks : 0;

    if (!in->trace && !in->digest)
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "figure ddp needs a run or a report of --mode ddp; a sweep has only totals");
    else if (g_strcmp0(mode, "ddp") || !ranks)
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "figure ddp needs a step of --mode ddp, and this one is of %s",
                    mode ? mode : "an unknown mode");
    else
        return true;
    return false;
}

static bool draw_ddp(const struct figure_input *in, const struct pen *pen, GError **error)
{
    struct scene s = {.n_ranks = in->trace ? in->trace->t.n_ranks : in->digest ? in->digest->n_ranks : 0};

    if (!drawable(in, error))
        return false;
    const struct digest *d = in->digest;
    for (unsigned i = 0; i < PHASES; i++)
        s.phase_ns[i] = in->trace ? in->analysis->phase_ns[i] : d->n_rows ? d->rows[d->n_rows - 1].phase_ns[i] : -1;
    ddp_times_make(s.times, in, &s.own);
    const char *brief = word(pen->lang, "ddp.headline");
    g_autofree char *title = in->trace ? words_headline(pen, in, pen->width - 48) : frame_headline(pen, d, brief),
                    *origin = in->trace ? words_origin(pen, in, in->analysis->median_step) : frame_origin(pen, d);
    s.frame = frame_begin(pen, title, brief, origin);
    const bool ok = paint(&s, error);
    ddp_times_release(s.times);
    return ok;
}

const struct figure figure_ddp = {
    .name = "ddp",
    .summary = "the loop of DDP's processes, and where all-reduce is for each --overlap",
    .draw = draw_ddp,
};
