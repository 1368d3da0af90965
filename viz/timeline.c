/* One step over time: what computes, what communicates beside it, and what that saved. */
#include "viz/figure.h"

#include "viz/lanes.h"
#include "viz/layout.h"
#include "viz/palette.h"
#include "viz/pen.h"
#include "viz/rows.h"
#include "viz/words.h"

/* Units of the pen. */
#define SIDE         24.0
#define TITLE_HEIGHT 48.0
#define LEGEND_LINE  22.0
#define NOTE_HEIGHT  30.0 /* flags above the lanes */
#define FLAG_TEXT    13.0 /* middle of their text, from the top of the notes */
#define HIDDEN_LINE  20.0 /* "6 of 64 ranks shown" */
#define SAVED_HEIGHT 50.0 /* what overlap saved, and its bracket */
#define AXIS_HEIGHT  30.0
#define CAPTION_LINE 18.0
#define FOOT         12.0
#define GAP          10.0
#define GUTTER_GAP   12.0
#define MIN_LANE     20.0 /* a text and some air */
#define EASY_LANE    26.0 /* where not all ranks fit anyway */
#define MAX_LANE     58.0
#define TICK_GAP     90.0
/* Parts of a lane's height. */
#define STRIP_PART  0.3
#define GAP_PART    0.45
#define OTHER_PART  0.8 /* a lane of a step with another overlap */
#define OTHER_STRIP 3.0
#define TEXT_AIR    8.0
#define SPARE_ABOVE 0.4   /* of the height that is left over */
#define MAX_NAME    120.0 /* of an overlap */
#define MUTED       0.4   /* strength of its colours */

static const struct font title_font = {24, WEIGHT_BOLD}, strong_font = {14, WEIGHT_BOLD},
                         text_font = {13, WEIGHT_NORMAL};

/* The same step with another overlap: two lanes of its slowest rank. */
struct other {
    const struct variant *variant;
    struct step_rows rows;
    char *name;
    double y;
};

struct scene {
    const struct figure_input *in;
    struct pen pen;
    char **caption;
    bool comm;
    uint32_t shown; /* ranks */
    double lane;    /* height */
    struct step_rows ranks;
    struct other *others;
    uint32_t n_others;
    struct axis axis;
    double spare; /* height that the lanes leave */
    double legend_y, notes_y, ranks_y, hidden_y, saved_y, axis_y;
};

static struct lane_style rank_style(const struct scene *s)
{
    return (struct lane_style){s->lane, s->lane * STRIP_PART, 1, s->comm, true};
}

static struct lane_style other_style(const struct scene *s)
{
    return (struct lane_style){s->lane * OTHER_PART, OTHER_STRIP, MUTED, true, false};
}

/* --- what stands where, from top to bottom */

/* What there is to compare with. */
static void list_others(struct scene *s)
{
    const struct figure_input *in = s->in;

    s->others = g_new0(struct other, in->n_others);
    for (uint32_t i = 0; s->comm && i < in->n_others; i++) {
        const struct variant *v = &in->others[i];
        struct other *other = &s->others[s->n_others];
        if (v->trace == in->trace || !v->analysis->n_steps ||
            !rows_collect(&other->rows, v->trace, v->analysis->median_step, 1, &v->analysis->slowest_rank))
            continue;
        g_autofree char *name = words_overlap(v->name);
        other->name = pen_ellipsize(&s->pen, &strong_font, name, MAX_NAME);
        other->variant = v;
        s->n_others++;
    }
}

static void drop_last_other(struct scene *s)
{
    struct other *other = &s->others[--s->n_others];

    rows_release(&other->rows);
    g_free(other->name);
}

/* Lane heights that `ranks` ranks and the other steps take together. */
static double lanes_needed(const struct scene *s, uint32_t ranks)
{
    const double rank = (s->comm ? 2 + STRIP_PART : 1) + GAP_PART, other = 2 * OTHER_PART + GAP_PART;

    return ranks * rank - GAP_PART + s->n_others * other - (s->n_others ? GAP_PART : 0);
}

/* Chooses how many ranks are shown, and the height of a lane; drops other steps that have no room.  False:
 * not even one rank fits. */
static bool divide_height(struct scene *s, double legend)
{
    const uint32_t n = s->in->trace->t.n_ranks;
    const double fixed = TITLE_HEIGHT + legend + NOTE_HEIGHT + AXIS_HEIGHT + GAP + FOOT +
                         CAPTION_LINE * g_strv_length(s->caption);
    double room = s->pen.height - fixed - (s->n_others ? SAVED_HEIGHT : 0) - s->n_others * OTHER_STRIP;

    s->shown = n;
    s->lane = room / lanes_needed(s, n);
    if (s->lane < MIN_LANE && n > 1) {
        room -= HIDDEN_LINE;
        s->shown = 1;
        while (s->shown + 1 < n && lanes_needed(s, s->shown + 1) * EASY_LANE <= room)
            s->shown++;
        s->lane = room / lanes_needed(s, s->shown);
    }
    if (s->lane < MIN_LANE && s->n_others) {
        drop_last_other(s);
        return divide_height(s, legend);
    }
    s->lane = MIN(s->lane, s->comm ? MAX_LANE : 2 * MAX_LANE);
    s->spare = room - s->lane * lanes_needed(s, s->shown);
    return s->lane >= MIN_LANE;
}

static void place_rows(struct scene *s, double legend)
{
    const struct lane_style style = rank_style(s), muted = other_style(s);
    double y = TITLE_HEIGHT;

    s->legend_y = y;
    y += legend + s->spare * SPARE_ABOVE;
    s->notes_y = y;
    y += NOTE_HEIGHT;
    s->ranks_y = y;
    y += s->shown * (lanes_height(&style) + s->lane * GAP_PART) - s->lane * GAP_PART;
    s->hidden_y = y;
    y += s->shown < s->in->trace->t.n_ranks ? HIDDEN_LINE : 0;
    s->saved_y = y;
    y += s->n_others ? SAVED_HEIGHT : 0;
    for (uint32_t i = 0; i < s->n_others; i++) {
        s->others[i].y = y + (i ? s->lane * GAP_PART : 0);
        y = s->others[i].y + lanes_height(&muted);
    }
    s->axis_y = y;
}

static double rank_y(const struct scene *s, uint32_t i)
{
    const struct lane_style style = rank_style(s);

    return s->ranks_y + i * (lanes_height(&style) + s->lane * GAP_PART);
}

/* The first ranks, and the slowest in place of the last of them if it is beyond. */
static bool collect(struct scene *s, GError **error)
{
    const struct figure_input *in = s->in;
    g_autofree uint32_t *ranks = g_new(uint32_t, s->shown);

    for (uint32_t i = 0; i < s->shown; i++)
        ranks[i] = i;
    if (in->analysis->slowest_rank >= s->shown)
        ranks[s->shown - 1] = in->analysis->slowest_rank;
    if (!rows_collect(&s->ranks, in->trace, in->analysis->median_step, s->shown, ranks)) {
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT,
                    "figure timeline: nothing in step %u of the trace takes time; there is nothing to draw",
                    in->analysis->median_step);
        return false;
    }
    return true;
}

/* --- what stands where, from left to right */

static const struct partition *partition_of(const struct analysis *a, uint32_t rank)
{
    return &a->partition[(size_t)a->median_step * a->n_ranks + rank];
}

static void exposed_text(const struct analysis *a, uint32_t rank, char text[static 64])
{
    char number[32];

    if (a->pipeline) {
        g_snprintf(text, 64, "bubble %s", format_duration(a->pipeline->ranks[rank].idle_ns, number));
        return;
    }
    g_snprintf(text, 64, "%s exposed", format_duration(partition_of(a, rank)->exposed_comm_ns, number));
}

/* Right of the line at the end of the step, which ranks share; of others, of what is there. */
static int64_t exposed_at_ns(const struct scene *s, const struct step_rows *rows, const struct row *row)
{
    return rows == &s->ranks ? rows->span_ns : MAX(row->comm_end_ns, row->backward_end_ns);
}

/* The axis ends where a text that begins at that time still fits to the right. */
static void make_room(struct scene *s, int64_t at_ns, const char *text)
{
    const double room = s->pen.width - SIDE - s->axis.x0 - TEXT_AIR - pen_width(&s->pen, &strong_font, text);

    if (at_ns > 0)
        s->axis.x1 = MIN(s->axis.x1, s->axis.x0 + room * (double)s->axis.span_ns / (double)at_ns);
}

static void make_room_beside(struct scene *s, const struct step_rows *rows, const struct analysis *a)
{
    for (uint32_t i = 0; s->comm && i < rows->n; i++) {
        char text[64];
        exposed_text(a, rows->rows[i].rank, text);
        make_room(s, exposed_at_ns(s, rows, &rows->rows[i]), text);
    }
}

static void step_text(const struct step_rows *rows, char text[static 64])
{
    char number[32];

    g_snprintf(text, 64, "step %s", format_duration(rows->span_ns, number));
}

static void make_room_for_step(struct scene *s, const struct step_rows *rows, const struct analysis *a)
{
    char step[64];

    step_text(rows, step);
    make_room(s, rows->span_ns, step);
    make_room_beside(s, rows, a);
}

static double gutter_width(const struct scene *s)
{
    char rank[32];
    double w = pen_width(&s->pen, &text_font, lane_class_name(LANE_COMPUTE)) + GUTTER_GAP;

    g_snprintf(rank, sizeof rank, "rank %u", s->in->trace->t.n_ranks - 1);
    w += pen_width(&s->pen, &strong_font, rank);
    for (uint32_t i = 0; i < s->n_others; i++)
        w = MAX(w, MAX(pen_width(&s->pen, &strong_font, s->others[i].name),
                       pen_width(&s->pen, &text_font, "predicted")));
    return w;
}

static void place_columns(struct scene *s)
{
    int64_t span_ns = s->ranks.span_ns;

    for (uint32_t i = 0; i < s->n_others; i++)
        span_ns = MAX(span_ns, s->others[i].rows.span_ns);
    s->axis = (struct axis){span_ns, SIDE + gutter_width(s) + GUTTER_GAP, s->pen.width - SIDE};
    make_room_for_step(s, &s->ranks, s->in->analysis);
    for (uint32_t i = 0; i < s->n_others; i++)
        make_room_for_step(s, &s->others[i].rows, s->others[i].variant->analysis);
    rows_simplify(&s->ranks, axis_ns_per_unit(&s->axis));
    for (uint32_t i = 0; i < s->n_others; i++)
        rows_simplify(&s->others[i].rows, axis_ns_per_unit(&s->axis));
}

/* --- paint */

static void text_at(const struct scene *s, double x, double y, const struct font *font, enum align align,
                    enum role role, const char *text)
{
    pen_text(&s->pen, x, y, font, align, palette_color(role), text);
}

static void paint_axis(const struct scene *s)
{
    const struct axis *a = &s->axis;
    const int64_t tick = axis_tick_ns(a, TICK_GAP), last = a->span_ns;
    const uint32_t grid = palette_color(ROLE_GRID);
    const double y = s->axis_y + AXIS_HEIGHT / 2 + 3;

    for (int64_t at = 0; at <= last; at += tick) {
        char text[32];
        const double x = axis_x(a, at);
        axis_tick_text(a->span_ns, tick, at, text);
        pen_line(&s->pen, x, s->ranks_y - 4, x, s->axis_y + 5, grid, 1, false);
        const double half = pen_width(&s->pen, &text_font, text) / 2;
        text_at(s, MIN(x, s->pen.width - half - 1), y, &text_font, ALIGN_CENTER, ROLE_MUTED, text);
        if (at > last - tick)
            break;
    }
    pen_line(&s->pen, a->x0, s->axis_y + 2, a->x1, s->axis_y + 2, palette_color(ROLE_MUTED), 1, false);
    g_autofree char *title = g_strdup_printf("time, %s", axis_unit(a->span_ns));
    text_at(s, SIDE, y, &text_font, ALIGN_LEFT, ROLE_MUTED, title);
}

/* To the right of a lane, on a plain ground. */
static void paint_beside(const struct scene *s, int64_t at_ns, double middle, enum role role,
                         const char *text)
{
    const double x = axis_x(&s->axis, at_ns) + TEXT_AIR, h = strong_font.size + 4;

    pen_box(&s->pen, x - 3, middle - h / 2, pen_width(&s->pen, &strong_font, text) + 6, h,
            palette_color(ROLE_BACKGROUND));
    text_at(s, x, middle, &strong_font, ALIGN_LEFT, role, text);
}

static void paint_exposed(const struct scene *s, const struct step_rows *rows, uint32_t i,
                          const struct analysis *a, const struct lane_style *style, double y, enum role role)
{
    const struct row *row = &rows->rows[i];
    char text[64];

    exposed_text(a, row->rank, text);
    paint_beside(s, exposed_at_ns(s, rows, row), lanes_comm_y(style, y) + style->lane / 2, role, text);
}

static void paint_rank(const struct scene *s, uint32_t i)
{
    const struct lane_style style = rank_style(s);
    const struct row *row = &s->ranks.rows[i];
    const double y = rank_y(s, i), right = s->axis.x0 - GUTTER_GAP;
    char rank[32];

    g_snprintf(rank, sizeof rank, "rank %u", row->rank);
    text_at(s, SIDE, y + s->lane / 2, &strong_font, ALIGN_LEFT, ROLE_INK, rank);
    text_at(s, right, y + s->lane / 2, &text_font, ALIGN_RIGHT, ROLE_MUTED, lane_class_name(LANE_COMPUTE));
    if (s->comm)
        text_at(s, right, lanes_comm_y(&style, y) + s->lane / 2, &text_font, ALIGN_RIGHT, ROLE_MUTED,
                lane_class_name(LANE_COMM));
    lanes_paint(&s->pen, &s->axis, &s->in->trace->t, row, &style, y);
    if (s->comm)
        paint_exposed(s, &s->ranks, i, s->in->analysis, &style, y, ROLE_INK);
}

static void paint_hidden(const struct scene *s)
{
    const uint32_t n = s->in->trace->t.n_ranks;
    char text[96];

    if (s->shown == n)
        return;
    g_snprintf(text, sizeof text, "%u of %u ranks shown; rank %u is the slowest", s->shown, n,
               s->in->analysis->slowest_rank);
    pen_box(&s->pen, SIDE, s->hidden_y + 4, pen_width(&s->pen, &text_font, text) + 3, HIDDEN_LINE - 4,
            palette_color(ROLE_BACKGROUND));
    text_at(s, SIDE, s->hidden_y + HIDDEN_LINE / 2 + 2, &text_font, ALIGN_LEFT, ROLE_MUTED, text);
}

/* The line on which a flag hangs ends above the lanes; from there lanes_paint goes on. */
static void paint_pole(const struct scene *s, double x, double bottom, bool dashed)
{
    pen_line(&s->pen, x, s->notes_y + 4, x, bottom, palette_color(ROLE_INK), 1.5, dashed);
}

/* Flags: the end of backward to the left of its pole, the end of the step to the right. */
static void paint_notes(const struct scene *s)
{
    const double y = s->notes_y + FLAG_TEXT, step_x = axis_x(&s->axis, s->ranks.span_ns);
    const int64_t back_ns = s->ranks.rows[0].backward_end_ns;
    char number[32], step[64], back[64];

    step_text(&s->ranks, step);
    text_at(s, step_x + TEXT_AIR, y, &strong_font, ALIGN_LEFT, ROLE_INK, step);
    paint_pole(s, step_x, s->n_others ? s->others[0].y : s->hidden_y, false);
    if (back_ns <= 0)
        return;
    const double x = axis_x(&s->axis, back_ns);
    g_snprintf(back, sizeof back, "end of backward %s", format_duration(back_ns, number));
    const char *const texts[] = {back, "end of backward", "backward"};
    const char *text = pen_fit(&s->pen, &strong_font, G_N_ELEMENTS(texts), texts, x - TEXT_AIR - SIDE);
    if (text)
        text_at(s, x - TEXT_AIR, y, &strong_font, ALIGN_RIGHT, ROLE_INK, text);
    paint_pole(s, x, s->ranks_y, true);
}

/* A bracket from the end of the step to where the first other one ends, and what that means. */
static void paint_saved(const struct scene *s)
{
    const struct other *other = &s->others[0];
    const int64_t with = s->ranks.span_ns, without = other->rows.span_ns;
    const double x0 = axis_x(&s->axis, MIN(with, without)), x1 = axis_x(&s->axis, MAX(with, without));
    const double y = s->saved_y + SAVED_HEIGHT - 14;
    const uint32_t color = palette_color(ROLE_INK);
    char whole[128], brief[128];
    const char *const texts[] = {whole, brief};

    words_saved(other->variant->name, other->variant->trace->simulated && !s->in->trace->simulated, with,
                without, whole, brief);
    /* over the bracket, or before it: nowhere else is it clear of the line at the end of the step */
    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
        const double w = pen_width(&s->pen, &strong_font, texts[i]);
        const bool over = w <= x1 - x0 - 2 * TEXT_AIR;
        if (!over && w > x0 - TEXT_AIR - SIDE)
            continue;
        text_at(s, over ? (x0 + x1) / 2 : x0 - TEXT_AIR, y - 17, &strong_font,
                over ? ALIGN_CENTER : ALIGN_RIGHT, ROLE_INK, texts[i]);
        break;
    }
    pen_line(&s->pen, x0, y, x1, y, color, 2, false);
    pen_line(&s->pen, x0, y - 5, x0, y + 5, color, 2, false);
    pen_line(&s->pen, x1, y - 5, x1, y + 5, color, 2, false);
}

static void paint_other(const struct scene *s, const struct other *other)
{
    const struct lane_style style = other_style(s);
    const struct trace *t = other->variant->trace;
    char step[64];

    text_at(s, SIDE, other->y + style.lane / 2, &strong_font, ALIGN_LEFT, ROLE_INK, other->name);
    text_at(s, SIDE, lanes_comm_y(&style, other->y) + style.lane / 2, &text_font, ALIGN_LEFT, ROLE_MUTED,
            !t->simulated             ? "measured"
            : s->in->trace->simulated ? "simulated"
                                      : "predicted");
    lanes_paint(&s->pen, &s->axis, &t->t, &other->rows.rows[0], &style, other->y);
    step_text(&other->rows, step);
    paint_beside(s, other->rows.span_ns, other->y + style.lane / 2, ROLE_MUTED, step);
    paint_exposed(s, &other->rows, 0, other->variant->analysis, &style, other->y, ROLE_MUTED);
}

static void paint(const struct scene *s)
{
    const struct pen *p = &s->pen;
    const double width = p->width - 2 * SIDE;
    g_autofree char *title = words_headline(p, s->in, &title_font, width);

    pen_box(p, 0, 0, p->width, p->height, palette_color(ROLE_BACKGROUND));
    text_at(s, SIDE, TITLE_HEIGHT / 2 + 3, &title_font, ALIGN_LEFT, ROLE_INK, title);
    legend_paint(p, legend_of(&s->ranks, axis_ns_per_unit(&s->axis), s->comm), SIDE, s->legend_y, width,
                 LEGEND_LINE, true);
    paint_axis(s);
    paint_notes(s);
    for (uint32_t i = 0; i < s->shown; i++)
        paint_rank(s, i);
    paint_hidden(s);
    for (uint32_t i = 0; i < s->n_others; i++)
        paint_other(s, &s->others[i]);
    if (s->n_others)
        paint_saved(s);
    const unsigned lines = g_strv_length(s->caption);
    for (unsigned i = 0; i < lines; i++)
        text_at(s, SIDE, p->height - FOOT - CAPTION_LINE * (lines - i - 0.5), &text_font, ALIGN_LEFT,
                ROLE_MUTED, s->caption[i]);
}

static bool drawable(const struct figure_input *in, GError **error)
{
    const struct analysis *a = in->analysis;

    if (!in->trace || !a) {
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "figure timeline needs a trace; %s",
                    in->series ? "a sweep has none" : "a report has no spans");
        return false;
    }
    if (a->n_steps && a->median_step < a->n_steps && a->n_ranks && a->n_ranks == in->trace->t.n_ranks)
        return true;
    g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT,
                "figure timeline: the trace has no complete step to draw; record one at least");
    return false;
}

static bool draw_timeline(const struct figure_input *in, const struct figure_options *o,
                          const struct draw_ops *ops, struct draw *draw, GError **error)
{
    struct scene s = {.in = in, .pen = pen_make(ops, draw, o->width, o->height)};
    const double width = s.pen.width - 2 * SIDE;

    if (!drawable(in, error))
        return false;
    s.comm = rows_communicate(in->trace, in->analysis->median_step);
    s.caption = words_caption(&s.pen, in, o, &text_font, width);
    const double legend = LEGEND_LINE * legend_paint(&s.pen, LEGEND_ALL, 0, 0, width, LEGEND_LINE, false);
    list_others(&s);
    bool ok = divide_height(&s, legend);
    if (!ok)
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT,
                    "figure timeline: %.0f x %.0f px leave no room for a lane; use a higher canvas", o->width,
                    o->height);
    ok = ok && collect(&s, error);
    if (ok) {
        place_rows(&s, legend);
        place_columns(&s);
        paint(&s);
    }
    rows_release(&s.ranks);
    while (s.n_others)
        drop_last_other(&s);
    g_free(s.others);
    g_strfreev(s.caption);
    return ok;
}

const struct figure figure_timeline = {
    .name = "timeline",
    .summary = "one step: computation and communication of every rank over time, and what overlap saved",
    .draw = draw_timeline,
};
