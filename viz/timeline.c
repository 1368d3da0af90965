/* One step over time: what computes, what communicates beside it, and what that saved. */
#include "viz/timeline.h"

#include "viz/critical.h"
#include "viz/layout.h"
#include "viz/notes.h"
#include "viz/words.h"

/* Units of the pen. */
#define NOTE_HEIGHT 34.0 /* flags above the lanes */
#define GAP         10.0
#define MIN_LANE    20.0 /* a text and some air */
#define EASY_LANE   26.0 /* where not all ranks fit anyway */
#define MAX_LANE    58.0
/* Parts of a lane's height. */
#define STRIP_PART   0.3
#define OTHER_PART   0.8 /* a lane of a step with another overlap */
#define OTHER_STRIP  3.0
#define SPARE_ABOVE  0.4   /* of the height that is left over */
#define MAX_NAME     140.0 /* of an overlap */
#define LEGEND_RANKS 8
#define MUTED        0.4 /* strength of its colours */

struct lane_style timeline_style(const struct timeline *s)
{
    return (struct lane_style){s->lane, s->lane * STRIP_PART, 1, s->comm, true, true, &s->labels};
}

struct lane_style timeline_other_style(const struct timeline *s)
{
    return (struct lane_style){s->lane * OTHER_PART,
                               OTHER_STRIP,
                               s->frame.pen.ops->cells ? 1 : MUTED,
                               true,
                               false,
                               false,
                               &s->labels};
}

/* --- what stands where, from top to bottom */

/* What there is to compare with. */
static void list_others(struct timeline *s)
{
    const struct figure_input *in = s->in;

    s->others = g_new0(struct timeline_other, in->n_others);
    for (uint32_t i = 0; s->comm && !s->zoomed && i < in->n_others; i++) {
        const struct variant *v = &in->others[i];
        struct timeline_other *other = &s->others[s->n_others];
        if (v->trace == in->trace || !v->analysis->n_steps ||
            !rows_collect(&other->rows, v->trace, v->analysis->median_step, 1, &v->analysis->slowest_rank))
            continue;
        g_autofree char *name = words_overlap(s->frame.pen.lang, v->name);
        other->name = pen_ellipsize(&s->frame.pen, &s->frame.pen.strong, name, MAX_NAME);
        other->variant = v;
        s->n_others++;
    }
}

static void drop_last_other(struct timeline *s)
{
    struct timeline_other *other = &s->others[--s->n_others];

    rows_release(&other->rows);
    g_free(other->name);
}

/* Lane heights that `ranks` ranks and the other steps take together. */
static double lanes_needed(const struct timeline *s, uint32_t ranks)
{
    const double rank = (s->comm ? 2 + STRIP_PART : 1) + TIMELINE_GAP_PART,
                 other = 2 * OTHER_PART + TIMELINE_GAP_PART;

    return ranks * rank - TIMELINE_GAP_PART + s->n_others * other - (s->n_others ? TIMELINE_GAP_PART : 0);
}

/* Chooses how many ranks are shown, and the height of a lane; drops other steps that have no room.  False:
 * not even one rank fits. */
static bool divide_height(struct timeline *s)
{
    const uint32_t n = s->in->trace->t.n_ranks;
    double room = s->frame.y1 - s->frame.y0 - NOTE_HEIGHT - s->frame.axis - GAP;

    room -= (s->n_others ? TIMELINE_SAVED : 0) + s->n_others * OTHER_STRIP;
    s->shown = n;
    s->lane = room / lanes_needed(s, n);
    if (s->lane < MIN_LANE && n > 1) {
        room -= TIMELINE_HIDDEN;
        s->shown = 1;
        while (s->shown + 1 < n && lanes_needed(s, s->shown + 1) * EASY_LANE <= room)
            s->shown++;
        s->lane = room / lanes_needed(s, s->shown);
    }
    if (s->lane < MIN_LANE && s->n_others) {
        drop_last_other(s);
        return divide_height(s);
    }
    s->lane = MIN(s->lane, s->comm ? MAX_LANE : 2 * MAX_LANE);
    s->spare = room - s->lane * lanes_needed(s, s->shown);
    return s->lane >= MIN_LANE;
}

static void place_rows(struct timeline *s)
{
    const struct lane_style style = timeline_style(s), muted = timeline_other_style(s);
    double y = s->frame.y0 + s->spare * SPARE_ABOVE;

    s->notes_y = y;
    y += NOTE_HEIGHT;
    s->ranks_y = y;
    y += s->shown * (lanes_height(&style) + s->lane * TIMELINE_GAP_PART) - s->lane * TIMELINE_GAP_PART;
    s->hidden_y = y;
    y += s->shown < s->in->trace->t.n_ranks ? TIMELINE_HIDDEN : 0;
    s->saved_y = y;
    y += s->n_others ? TIMELINE_SAVED : 0;
    for (uint32_t i = 0; i < s->n_others; i++) {
        s->others[i].y = y + (i ? s->lane * TIMELINE_GAP_PART : 0);
        y = s->others[i].y + lanes_height(&muted);
    }
    s->axis_y = y;
}

/* The first, the last and some between, as far from each other; in place of the nearest of them the slowest.
 */
static void choose_ranks(const struct timeline *s, uint32_t *ranks)
{
    const uint64_t n = s->in->trace->t.n_ranks, slowest = s->in->analysis->slowest_rank,
                   steps = MAX(1, s->shown - 1);

    for (uint32_t i = 0; i < s->shown; i++)
        ranks[i] = (uint32_t)((i * (n - 1) + steps / 2) / steps);
    uint64_t nearest = (slowest * steps + (n - 1) / 2) / MAX(1, n - 1) % s->shown;
    if (s->shown > 2 && slowest && slowest < n - 1)
        nearest = CLAMP(nearest, 1, s->shown - 2);
    ranks[nearest] = (uint32_t)slowest;
}

static void collect(struct timeline *s)
{
    const struct figure_input *in = s->in;
    g_autofree uint32_t *ranks = g_new(uint32_t, s->shown);

    choose_ranks(s, ranks);
    for (uint32_t i = 0; s->frame.pen.look->ranks_up && i < s->shown / 2; i++) {
        const uint32_t rank = ranks[i];
        ranks[i] = ranks[s->shown - 1 - i];
        ranks[s->shown - 1 - i] = rank;
    }
    rows_collect(&s->ranks, in->trace, s->step, s->shown, ranks);
    if (s->frame.pen.look->critical)
        critical_mark(&s->ranks, in->trace, s->step);
    rows_clip(&s->ranks, s->from_ns, s->to_ns);
}

/* --- what stands where, from left to right */

static bool bubbles(const struct timeline *s)
{
    return s->in->analysis->pipeline && s->in->trace->t.n_ranks > 1;
}

char *timeline_beside(const struct timeline *s, const struct step_rows *rows, const struct row *row,
                      const struct analysis *a, int64_t *at_ns)
{
    const struct language *l = s->frame.pen.lang;
    const uint32_t step = rows == &s->ranks ? s->step : a->median_step;
    char time[32];

    if ((!s->comm && !bubbles(s)) || (rows == &s->ranks && s->to_ns < rows->span_ns))
        return NULL;
    /* Right of the line at the end of the step, which ranks share; of others, of what is there. */
    *at_ns = rows == &s->ranks ? rows->span_ns : MAX(row->comm_end_ns, row->backward_end_ns);
    if (a->pipeline)
        return step != a->median_step
                   ? NULL
                   : say(l, "timeline.bubble", "time",
                         format_duration(a->pipeline->ranks[row->rank].idle_ns, time), NULL);
    const struct partition *p = &a->partition[(size_t)step * a->n_ranks + row->rank];
    return say(l, "timeline.exposed", "time", format_duration(p->exposed_comm_ns, time), NULL);
}

char *timeline_step_text(const struct timeline *s, const struct step_rows *rows)
{
    char time[32];

    return say(s->frame.pen.lang, "timeline.step", "time", format_duration(rows->span_ns, time), NULL);
}

/* The axis ends where a text that begins at that time still fits to the right. */
static void make_room(struct timeline *s, int64_t at_ns, const char *text)
{
    const struct frame *f = &s->frame;
    const double room = f->x1 - s->axis.x0 - TIMELINE_AIR - pen_width(&f->pen, &f->pen.strong, text);

    if (at_ns > s->axis.from_ns)
        s->axis.x1 =
            MIN(s->axis.x1, s->axis.x0 + room * (double)s->axis.span_ns / (double)(at_ns - s->axis.from_ns));
}

static void make_room_for_step(struct timeline *s, const struct step_rows *rows, const struct analysis *a)
{
    g_autofree char *step = timeline_step_text(s, rows);

    if (rows != &s->ranks || s->to_ns >= rows->span_ns)
        make_room(s, rows->span_ns, step);
    for (uint32_t i = 0; i < rows->n; i++) {
        int64_t at_ns;
        g_autofree char *beside = timeline_beside(s, rows, &rows->rows[i], a, &at_ns);
        if (beside)
            make_room(s, at_ns, beside);
    }
}

static double gutter_width(const struct timeline *s)
{
    const struct pen *p = &s->frame.pen;
    g_autofree char *rank = pen_rank(p, s->in->trace->t.n_ranks - 1);
    double w = MAX(pen_width(p, &p->text, word(p->lang, "lane.compute")),
                   pen_width(p, &p->text, word(p->lang, "lane.comm")));

    w += TIMELINE_GUTTER_GAP + pen_width(p, &p->strong, rank);
    for (uint32_t i = 0; i < s->n_others; i++)
        w = MAX(w, MAX(pen_width(p, &p->strong, s->others[i].name),
                       pen_width(p, &p->text, word(p->lang, "figure.predicted"))));
    return w;
}

static void place_axis(struct timeline *s)
{
    const double least = s->frame.x0 + 40;
    int64_t to_ns = s->to_ns;

    for (uint32_t i = 0; i < s->n_others; i++)
        to_ns = MAX(to_ns, s->others[i].rows.span_ns);
    s->axis = (struct axis){s->from_ns, to_ns - s->from_ns,
                            s->frame.x0 + gutter_width(s) + TIMELINE_GUTTER_GAP, s->frame.x1};
    make_room_for_step(s, &s->ranks, s->in->analysis);
    for (uint32_t i = 0; i < s->n_others; i++)
        make_room_for_step(s, &s->others[i].rows, s->others[i].variant->analysis);
    s->axis.x1 = MAX(s->axis.x1, MAX(least, s->axis.x0 + 20));
}

static void place_columns(struct timeline *s)
{
    place_axis(s);
    rows_simplify(&s->ranks, axis_ns_per_unit(&s->axis));
    for (uint32_t i = 0; i < s->n_others; i++)
        rows_simplify(&s->others[i].rows, axis_ns_per_unit(&s->axis));
}

static void choose_labels(struct timeline *s)
{
    g_autofree struct lane_rows *groups = g_new(struct lane_rows, 1 + s->n_others);

    groups[0] = (struct lane_rows){&s->in->trace->t, s->ranks.rows, s->ranks.n, s->lane};
    for (uint32_t i = 0; i < s->n_others; i++) {
        const struct timeline_other *other = &s->others[i];
        groups[1 + i] = (struct lane_rows){&other->variant->trace->t, other->rows.rows, other->rows.n,
                                           s->lane * OTHER_PART};
    }
    s->labels = lanes_choose_labels(&s->frame.pen, &s->axis, 1 + s->n_others, groups);
}

/* --- the whole */

/* What a few ranks and the slowest show stands for all. */
static void legend(struct timeline *s)
{
    const struct trace *t = s->in->trace;
    const uint32_t few = MIN(t->t.n_ranks, LEGEND_RANKS), slowest = s->in->analysis->slowest_rank;
    uint32_t ranks[LEGEND_RANKS + 1];
    struct legend_entry entries[LANES_LEGEND_MAX];
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    struct timeline trial = *s; /* the axis as these ranks would have it */
    struct step_rows rows;

    for (uint32_t i = 0; i < few; i++)
        ranks[i] = i;
    ranks[few] = slowest;
    rows_collect(&rows, t, s->step, few + (slowest >= few), ranks);
    if (s->frame.pen.look->critical)
        critical_mark(&rows, t, s->step);
    rows_clip(&rows, s->from_ns, s->to_ns);
    trial.ranks = rows;
    place_axis(&trial);
    const double ns_per_unit = axis_ns_per_unit(&trial.axis);
    rows_simplify(&rows, ns_per_unit);
    const unsigned n = lanes_legend(&s->frame.pen, &rows, &t->t, ns_per_unit, s->comm, texts, entries);
    frame_legend(&s->frame, n, entries);
    rows_release(&rows);
}

/* Steps are counted from 1, as --step does. */
static bool fail_empty(const struct timeline *s, GError **error)
{
    const struct figure_input *in = s->in;
    const char *file = in->file ? in->file : "the trace";
    const uint32_t n = in->analysis->n_steps;
    struct step_rows rows;

    for (uint32_t i = 0; i < n; i++)
        if (rows_collect(&rows, in->trace, i, 0, NULL)) {
            rows_release(&rows);
            g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT,
                        "figure timeline: in step %u of the %u of %s nothing takes time; in step %u "
                        "something does: draw it by --step %u",
                        s->step + 1, n, file, i + 1, i + 1);
            return false;
        }
    g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT,
                "figure timeline: nothing takes time in %s, which has %u step%s; %s", file, n,
                n == 1 ? "" : "s", in->trace->simulated ? "give costs above zero" : "draw another trace");
    return false;
}

/* What of the step is asked for. */
static bool choose_window(struct timeline *s, const struct figure_options *o, GError **error)
{
    struct step_rows rows;
    char time[32], from[32];

    if (!rows_collect(&rows, s->in->trace, s->step, 0, NULL))
        return fail_empty(s, error);
    s->from_ns = o->from_ns;
    s->to_ns = o->to_ns > 0 ? MIN(o->to_ns, rows.span_ns) : rows.span_ns;
    s->zoomed = s->from_ns > 0 || s->to_ns < rows.span_ns;
    const bool ok = s->from_ns < s->to_ns;
    if (!ok)
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT,
                    "figure timeline: the step lasts %s, and nothing of it is from %s on and before --to",
                    format_duration(rows.span_ns, time), format_duration(s->from_ns, from));
    rows_release(&rows);
    return ok;
}

static bool drawable(struct timeline *s, const struct figure_options *o, GError **error)
{
    const struct figure_input *in = s->in;
    const struct analysis *a = in->analysis;

    if (!in->trace || !a) {
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "figure timeline needs a trace; %s",
                    in->series ? "a sweep has none" : "a report has no spans");
        return false;
    }
    if (!(a->n_steps && a->median_step < a->n_steps && a->n_ranks && a->n_ranks == in->trace->t.n_ranks)) {
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT,
                    "figure timeline: the trace has no complete step to draw; record one at least");
        return false;
    }
    if (o->step > a->n_steps) {
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "figure timeline: the trace has %u step%s, not %u",
                    a->n_steps, a->n_steps == 1 ? "" : "s", o->step);
        return false;
    }
    if (o->critical && !g_strcmp0(in->trace->t.mode, "profile")) {
        g_set_error(
            error, DRAW_ERROR, DRAW_ERROR_INPUT,
            "figure timeline: a profile does not say what waits for what, so it has no critical path");
        return false;
    }
    s->step = o->step ? o->step - 1 : a->median_step;
    return choose_window(s, o, error);
}

static void begin(struct timeline *s, const struct pen *pen)
{
    g_autofree char *title = words_headline(pen, s->in, pen->width - 48),
                    *caption = words_origin(pen, s->in, s->step);

    s->frame = frame_begin(pen, title, title, caption);
}

static bool draw_timeline(const struct figure_input *in, const struct pen *pen, GError **error)
{
    struct timeline s = {.in = in};

    if (!drawable(&s, pen->look, error))
        return false;
    s.comm = rows_communicate(in->trace, s.step);
    begin(&s, pen);
    list_others(&s);
    legend(&s);
    const bool ok = divide_height(&s) || frame_no_room(pen, "timeline", "a lane", error);
    if (ok) {
        collect(&s);
        place_rows(&s);
        place_columns(&s);
        choose_labels(&s);
        timeline_paint(&s);
    }
    rows_release(&s.ranks);
    while (s.n_others)
        drop_last_other(&s);
    g_free(s.others);
    return ok;
}

const struct figure figure_timeline = {
    .name = "timeline",
    .summary = "one step: computation and communication of every rank over time, and what overlap saved",
    .draw = draw_timeline,
};
