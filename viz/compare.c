/* Steps of the same work on one axis, aligned at their start: each rank's rows below each other, and what
 * differs. */
#include "viz/figure.h"

#include <math.h>
#include <stdlib.h>

#include "profile/where.h"
#include "viz/compare-marks.h"
#include "viz/frame.h"
#include "viz/lanes.h"
#include "viz/rows.h"
#include "viz/words.h"

#define MIN_LANE  20.0
#define MAX_LANE  56.0
#define WORDS     34.0 /* height of what differs, in words */
#define STRIP     26.0 /* below a row: how much later than the first its rank ends */
#define BELOW     9.0  /* the first row, which has no strip */
#define BETWEEN   3.0  /* a rank's lanes */
#define APART     12.0 /* ranks */
#define MAX_NAME  170.0
#define MAX_STEPS 6
#define MAX_RUNS  8 /* of ranks that are not shown, in words */

struct step_side {
    const struct trace *trace;
    const struct analysis *analysis;
    char *name;
    struct step_rows rows;
    GArray **deltas; /* of each row to the first step's: struct delta; NULL: it is the first */
};

struct scene {
    struct frame frame;
    struct step_side sides[MAX_STEPS]; /* the first is what the others are compared with */
    uint32_t n, shown;                 /* steps, ranks */
    bool telling; /* of the ranks, the first, the slowest and what differs most are shown */
    bool comm;
    double lane, top;
    struct axis axis;
    struct lane_labels labels;
    struct where where;           /* of the last step over the first */
    bool known;                   /* there is a difference, and it is known where */
    const struct delta *greatest; /* of the ranks that are shown; NULL: none */
    bool longer, shorter;         /* some cell is */
};

static char *computation(const struct scene *s, const struct where_item *item)
{
    const struct pen *p = &s->frame.pen;
    static const char *const phases[PHASES] = {"phase.forward", "phase.backward", "phase.comm",
                                               "phase.optimizer"};
    g_autofree char *layers = where_layers(&s->where, item), *rank = pen_rank(p, s->where.rank);

    if (item->what == WHERE_THROUGHOUT)
        return say(p->lang,
                   item->alike >= s->where.t.n_ranks ? "compare.all-computation" : "compare.computation-of",
                   "rank", rank, NULL);
    if (item->phase >= PHASES)
        return g_strdup(layers ? layers : word(p->lang, "lane.compute"));
    return layers ? say(p->lang, "compare.phase-of", "phase", word(p->lang, phases[item->phase]), "layers",
                        layers, NULL)
                  : g_strdup(word(p->lang, phases[item->phase]));
}

/* What an item is called. */
static char *called(const struct scene *s, const struct where_item *item)
{
    const struct pen *p = &s->frame.pen;
    g_autofree char *peer = item->peer == OP_NONE ? NULL : pen_rank(p, item->peer);

    switch (item->what) {
    case WHERE_BUCKET:
        return say(p->lang, "compare.bucket", "n", count(item->bucket + p->look->count_from), NULL);
    case WHERE_MESSAGE:
        return say(p->lang, "compare.messages", "rank", peer, NULL);
    case WHERE_PEER:
        return say(p->lang, "compare.waiting", "rank", peer, NULL);
    case WHERE_BUCKETS:
        return g_strdup(word(p->lang, "compare.buckets"));
    case WHERE_MESSAGES:
    case WHERE_COMM:
        return g_strdup(word(p->lang, "legend.comm"));
    case WHERE_PEERS:
        return g_strdup(word(p->lang, "compare.waiting-all"));
    case WHERE_COPIES:
        return g_strdup(word(p->lang, "compare.copies"));
    case WHERE_IDLING:
        return g_strdup(word(p->lang, "compare.idle"));
    default:
        return computation(s, item);
    }
}

/* "backward of layer3 12.3 ms longer · waiting for rank 2 1.0 ms longer · rest 0.1 ms shorter"; g_free. */
static char *differences(const struct scene *s, const struct language *l)
{
    const unsigned n = s->known ? where_main_items(&s->where) : 0;
    int64_t left_ns = s->where.step_ns[1] - s->where.step_ns[0];
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i <= n && s->known; i++) {
        char time[32];
        const int64_t ns = i < n ? s->where.items[i].ns : left_ns;
        g_autofree char *part = i < n ? called(s, &s->where.items[i]) : g_strdup(word(l, "breakdown.rest"));
        g_autofree char *one = say(l, ns > 0 ? "compare.part-longer" : "compare.part-shorter", "part", part,
                                   "time", format_duration(llabs(ns), time), NULL);
        if (ns)
            g_string_append_printf(text, "%s%s", text->len ? " · " : "", one);
        left_ns -= ns;
    }
    return g_string_free(text, FALSE);
}

static char *message(const struct scene *s, const struct language *l)
{
    const struct step_side *first = &s->sides[0], *last = &s->sides[s->n - 1];
    const int64_t ns = last->analysis->median_ns - first->analysis->median_ns;
    char time[32], percent[32];

    words_percent(100 * fabs((double)ns) / (double)MAX(1, first->analysis->median_ns), percent);
    return say(l,
               ns > 0   ? "compare.longer"
               : ns < 0 ? "compare.shorter"
                        : "compare.equal",
               "last", last->name, "first", first->name, "time", format_duration(llabs(ns), time), "percent",
               percent, NULL);
}

/* --- what stands where */

/* What a step has above or below a lane for bars. */
static double band(const struct scene *s)
{
    return s->frame.pen.ops->cells ? 0 : MARKS_BAND;
}

static double rank_height(const struct scene *s)
{
    const double strip = STRIP + band(s) * (s->comm ? 2 : 1);

    return s->n * ((s->comm ? 2 * s->lane : s->lane) + BETWEEN) + BELOW + (s->n - 1) * strip + APART;
}

/* As many ranks as have room, at most all. */
static bool divide_height(struct scene *s)
{
    const uint32_t ranks = s->sides[0].trace->t.n_ranks, lanes = s->n * (s->comm ? 2 : 1);
    const double all = s->frame.y1 - s->frame.y0 - s->frame.axis - WORDS;

    for (s->shown = MIN(ranks, (uint32_t)MAX(0, all / MIN_LANE)); s->shown; s->shown--) {
        const double room = (all - (s->shown < ranks ? FRAME_NOTE : 0)) / s->shown;
        s->lane = 0;
        s->lane = MIN(MAX_LANE, (room - rank_height(s)) / lanes);
        if (s->lane >= MIN_LANE)
            break;
    }
    s->top = s->frame.y0 + WORDS;
    return s->shown;
}

static void find_deltas(struct scene *s, struct step_side *side)
{
    const struct step_rows *first = &s->sides[0].rows;

    side->deltas = g_new(GArray *, first->n);
    for (uint32_t r = 0; r < first->n; r++) {
        side->deltas[r] = deltas_find(&first->rows[r], &side->rows.rows[r], first->span_ns);
        for (unsigned i = 0; i < side->deltas[r]->len; i++) {
            const int64_t ns = g_array_index(side->deltas[r], struct delta, i).ns;
            s->longer |= ns > 0;
            s->shorter |= ns < 0;
        }
    }
}

static void collect(struct scene *s)
{
    const uint32_t n = s->sides[0].trace->t.n_ranks;
    g_autofree uint32_t *ranks = g_new(uint32_t, n);

    for (uint32_t i = 0; i < n; i++)
        ranks[i] = i;
    for (uint32_t i = 0; i < s->n; i++) {
        rows_collect(&s->sides[i].rows, s->sides[i].trace, s->sides[i].analysis->median_step, n, ranks);
        if (i)
            find_deltas(s, &s->sides[i]);
    }
}

/* --- which ranks */

/* How much a rank's greatest difference is, of all sides. */
static int64_t differs_ns(const struct scene *s, uint32_t rank)
{
    int64_t most = 0;

    for (uint32_t i = 1; i < s->n; i++) {
        const GArray *deltas = s->sides[i].deltas[rank];
        most = MAX(most, deltas->len ? llabs(g_array_index(deltas, struct delta, 0).ns) : 0);
    }
    return most;
}

/* Of those that are not chosen, the one that differs most; the lowest among equals. */
static uint32_t differs_most(const struct scene *s, const bool *chosen)
{
    const uint32_t n = s->sides[0].rows.n;
    uint32_t most = n;

    for (uint32_t r = 0; r < n; r++)
        if (!chosen[r] && (most == n || differs_ns(s, r) > differs_ns(s, most)))
            most = r;
    return most;
}

/* Those that are shown before the others, each in the order of ranks. */
static void show_first(struct step_side *side, const bool *chosen)
{
    const uint32_t n = side->rows.n;
    struct row *rows = g_new(struct row, n);
    GArray **deltas = side->deltas ? g_new(GArray *, n) : NULL;

    for (uint32_t pass = 0, to = 0; pass < 2; pass++)
        for (uint32_t r = 0; r < n; r++) {
            if (chosen[r] != !pass)
                continue;
            rows[to] = side->rows.rows[r];
            if (deltas)
                deltas[to] = side->deltas[r];
            to++;
        }
    g_free(side->rows.rows);
    g_free(side->deltas);
    side->rows.rows = rows;
    side->deltas = deltas;
}

/* The rank that the difference is told of, the one that differs most, the slowest, the first, and what
 * differs most of the others. */
static void choose_ranks(struct scene *s)
{
    const uint32_t n = s->sides[0].rows.n, slowest = s->sides[s->n - 1].analysis->slowest_rank;
    g_autofree bool *chosen = g_new0(bool, n);

    for (uint32_t i = 0, shown = 0; shown < s->shown; i++) {
        const uint32_t rank = i == 0   ? s->known ? s->where.rank : slowest
                              : i == 2 ? slowest
                              : i == 3 ? 0
                                       : differs_most(s, chosen);
        shown += !chosen[rank];
        chosen[rank] = true;
    }
    s->telling = s->shown > 1 && chosen[0] && chosen[slowest];
    for (uint32_t i = 0; i < s->n; i++)
        show_first(&s->sides[i], chosen);
    for (uint32_t i = 1; i < s->n; i++)
        for (uint32_t r = 0; r < s->shown; r++) {
            const GArray *deltas = s->sides[i].deltas[r];
            const struct delta *most = deltas->len ? &g_array_index(deltas, struct delta, 0) : NULL;
            s->greatest =
                most && (!s->greatest || llabs(most->ns) > llabs(s->greatest->ns)) ? most : s->greatest;
        }
}

/* "1–6, 8, 10–13" of the ranks that are not shown; g_free. */
static char *hidden_ranks(const struct scene *s)
{
    const struct step_rows *rows = &s->sides[0].rows;
    const uint32_t from = s->frame.pen.first_rank + s->frame.pen.look->count_from;
    GString *text = g_string_new(NULL);
    unsigned runs = 0;

    for (uint32_t i = s->shown, end; i < rows->n; i = end) {
        for (end = i + 1; end < rows->n && rows->rows[end].rank == rows->rows[end - 1].rank + 1;)
            end++;
        if (runs++ == MAX_RUNS) {
            g_string_append(text, ", …");
            break;
        }
        g_string_append_printf(text, "%s%u", text->len ? ", " : "", rows->rows[i].rank + from);
        if (end > i + 1)
            g_string_append_printf(text, "–%u", rows->rows[end - 1].rank + from);
    }
    return g_string_free(text, FALSE);
}

static void release(struct step_side *side)
{
    for (uint32_t r = 0; r < side->rows.n && side->deltas; r++)
        g_array_unref(side->deltas[r]);
    g_free(side->deltas);
    rows_release(&side->rows);
    g_free(side->name);
}

/* "" where the sides are of different ranks of a job. */
static char *rank_name(const struct scene *s, uint32_t rank)
{
    for (uint32_t i = 1; i < s->n; i++)
        if (s->sides[i].trace->first_rank != s->sides[0].trace->first_rank)
            return g_strdup("");
    return pen_rank(&s->frame.pen, rank);
}

static void place_columns(struct scene *s)
{
    const struct pen *p = &s->frame.pen;
    double names = 0, beside = 0, ranks = 0;
    int64_t most_ns = 1;

    for (uint32_t i = 0; i < s->n; i++) {
        const struct step_side *side = &s->sides[i];
        names = MAX(names, pen_width(p, &p->strong, side->name));
        most_ns = MAX(most_ns, side->rows.span_ns);
        for (uint32_t r = 0; r < s->shown; r++) {
            char text[40];
            g_autofree char *rank = rank_name(s, side->rows.rows[r].rank);
            compare_signed(side->rows.rows[r].end_ns - s->sides[0].rows.rows[r].end_ns, text);
            beside = MAX(beside, pen_width(p, &p->strong, text));
            ranks = MAX(ranks, pen_width(p, &p->strong, rank));
        }
    }
    s->axis = (struct axis){0, most_ns, s->frame.x0 + ranks + names + 3 * FRAME_AIR, 0};
    s->axis.x1 = MAX(s->axis.x0 + 20, s->frame.x1 - beside - FRAME_AIR);
    for (uint32_t i = 0; i < s->n; i++)
        rows_simplify(&s->sides[i].rows, axis_ns_per_unit(&s->axis));
}

static void choose_labels(struct scene *s)
{
    struct lane_rows groups[MAX_STEPS];

    for (uint32_t i = 0; i < s->n; i++)
        groups[i] = (struct lane_rows){&s->sides[i].trace->t, s->sides[i].rows.rows, s->shown, s->lane};
    s->labels = lanes_choose_labels(&s->frame.pen, &s->axis, s->n, groups);
}

/* --- paint */

/* A bracket from where the first step's rank ends to where this one's does; what it takes of the line. */
static void paint_difference(const struct scene *s, int64_t first_ns, int64_t ns, double y,
                             struct marks_place *place)
{
    const struct frame *f = &s->frame;
    const struct pen *p = &f->pen;
    const double x0 = axis_x(&s->axis, MIN(first_ns, ns)), x1 = axis_x(&s->axis, MAX(first_ns, ns));
    const uint32_t ink = pen_color(p, ROLE_INK);
    char text[40];

    if (first_ns == ns)
        return;
    pen_belong(p, KEY_TIME, MAX(first_ns, ns));
    pen_line(p, x0, y, x1, y, ink, 2, false);
    pen_line(p, x0, y - 5, x0, y + 5, ink, 2, false);
    pen_line(p, x1, y - 5, x1, y + 5, ink, 2, false);
    frame_text(f, x1 + FRAME_AIR, y, &p->strong, ALIGN_LEFT, ROLE_INK, compare_signed(ns - first_ns, text));
    place->taken0 = x0;
    place->taken1 = x1 + FRAME_AIR + pen_width(p, &p->strong, text);
}

/* What is other than in the first step, below the lanes that begin at y. */
static void paint_differences(const struct scene *s, const struct step_side *side, uint32_t r, double y)
{
    const struct row *row = &side->rows.rows[r];
    const double end = y + (s->comm ? 2 * s->lane + BETWEEN : s->lane),
                 words = end + (s->comm ? band(s) : 0) + STRIP / 2;
    struct marks_place place = {
        .axis = &s->axis, .compute_y = y - band(s) + 1, .comm_y = end + 1, .words_y = words};

    pen_belong_rest(&s->frame.pen);
    pen_belong(&s->frame.pen, KEY_PHASE, s->n);
    paint_difference(s, s->sides[0].rows.rows[r].end_ns, row->end_ns, words, &place);
    compare_marks_paint(&s->frame, &side->trace->t, side->deltas[r], s->greatest, row->rank, &place);
    pen_belong_rank_only(&s->frame.pen);
}

static void paint_rank(const struct scene *s, uint32_t r, double y)
{
    const struct frame *f = &s->frame;
    const struct pen *p = &f->pen;
    const struct lane_style style = {s->lane, s->comm ? BETWEEN : 0, 1, s->comm, false, true, &s->labels};
    const double high = (s->comm ? 2 * s->lane : s->lane) + BETWEEN, strip = STRIP + (s->comm ? band(s) : 0);
    g_autofree char *rank = rank_name(s, s->sides[0].rows.rows[r].rank);

    pen_group_rank(p, s->sides[0].rows.rows[r].rank);
    frame_text(f, f->x0, y + s->lane / 2, &p->strong, ALIGN_LEFT, ROLE_INK, rank);
    for (uint32_t i = 0; i < s->n; y += high + (i++ ? strip : BELOW)) {
        const struct step_side *side = &s->sides[i];
        const struct pen part = pen_fix(p, KEY_PHASE, i); /* --build phase: side by side, then what differs */
        y += i ? band(s) : 0;
        frame_text(f, s->axis.x0 - FRAME_AIR, y + s->lane / 2, &p->strong, ALIGN_RIGHT,
                   i ? ROLE_INK : ROLE_MUTED, side->name);
        lanes_paint(&part, &s->axis, &side->trace->t, &side->rows.rows[r], &style, y);
        if (i)
            paint_differences(s, side, r, y);
    }
    pen_group_end(p);
}

static void paint_hidden(const struct scene *s, double y)
{
    const struct frame *f = &s->frame;
    const struct pen *p = &f->pen;
    const uint32_t n = s->sides[0].rows.n;
    g_autofree char *name = pen_rank_name(p, word(p->lang, "memory-figure.rank-names")),
                    *which = hidden_ranks(s);
    g_autofree char *whole =
        say(p->lang, s->telling ? "compare.hidden-ranks-differ" : "compare.hidden-ranks", "n",
            count(n - s->shown), "all", count(n), "name", name, "which", which, NULL);
    g_autofree char *text = pen_ellipsize(p, &p->small, whole, f->x1 - f->x0 - 4);

    if (!p->look->transparent)
        pen_box(p, f->x0, y, pen_width(p, &p->small, text) + 3, FRAME_NOTE - 3,
                pen_shade(p, ROLE_BACKGROUND));
    frame_text(f, f->x0, y + FRAME_NOTE / 2 - 1, &p->small, ALIGN_LEFT, ROLE_MUTED, text);
}

static void paint(const struct scene *s)
{
    const struct frame *f = &s->frame;
    const struct pen *p = &f->pen;
    const struct unit unit = unit_of_time((double)s->axis.span_ns);
    const struct scale scale = {0, (double)s->axis.span_ns / unit.size, s->axis.x0, s->axis.x1, false};
    const uint32_t ranks = s->sides[0].trace->t.n_ranks;
    const double end = s->top + s->shown * rank_height(s) + (s->shown < ranks ? FRAME_NOTE : 0);
    g_autofree char *whole = differences(s, p->lang),
                    *words = pen_ellipsize(p, &p->strong, whole, f->x1 - f->x0);

    pen_belong_rest(p);
    pen_belong(p, KEY_PHASE, s->n);
    frame_text(f, f->x0, f->y0 + WORDS / 2 - 3, &p->strong, ALIGN_LEFT, ROLE_INK, words);
    pen_belong_rank_only(p);
    frame_axis(f, &scale, unit.name, s->top - 4, end);
    for (uint32_t r = 0; r < s->shown; r++)
        paint_rank(s, r, s->top + (p->look->ranks_up ? s->shown - 1 - r : r) * rank_height(s));
    if (s->shown < ranks)
        paint_hidden(s, end - FRAME_NOTE);
}

/* Of what the slowest rank of any side shows. */
static void legend(struct scene *s)
{
    struct legend_entry entries[LANES_LEGEND_MAX + 2];
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    struct step_rows all = {g_new(struct row, s->n), s->n, 0};

    for (uint32_t i = 0; i < s->n; i++) {
        const struct step_side *side = &s->sides[i];
        struct step_rows rows;
        rows_collect(&rows, side->trace, side->analysis->median_step, 1, &side->analysis->slowest_rank);
        rows_simplify(&rows, (double)rows.span_ns / (s->frame.x1 - s->frame.x0));
        all.rows[i] = rows.rows[0];
        all.span_ns = MAX(all.span_ns, rows.span_ns);
        g_free(rows.rows);
    }
    unsigned n = lanes_legend(&s->frame.pen, &all, &s->sides[s->n - 1].trace->t,
                              (double)all.span_ns / (s->frame.x1 - s->frame.x0), false, texts, entries);
    n +=
        s->frame.pen.ops->cells ? 0 : compare_marks_legend(&s->frame.pen, s->longer, s->shorter, &entries[n]);
    frame_legend(&s->frame, n, entries);
    rows_release(&all);
}

/* --- the whole */

static void add_side(struct scene *s, const struct pen *p, const char *name, const struct trace *trace,
                     const struct analysis *analysis)
{
    g_autofree char *whole = words_overlap(p->lang, name);

    s->sides[s->n++] =
        (struct step_side){trace, analysis, pen_ellipsize_start(p, &p->strong, whole, MAX_NAME), {0}, NULL};
    s->comm |= rows_communicate(trace, analysis->median_step);
}

static void find_where(struct scene *s)
{
    const struct step_side *first = &s->sides[0], *last = &s->sides[s->n - 1];
    const struct where_run base = {first->trace, first->analysis}, new = {last->trace, last->analysis};

    s->known = where_of_traces(&s->where, &base, 1, &new, 1, NULL) && s->where.n_items;
}

static void scene_release(struct scene *s)
{
    where_release(&s->where);
    for (uint32_t i = 0; i < s->n; i++)
        release(&s->sides[i]);
}

static bool takes_time(const struct trace *trace, const struct analysis *a)
{
    struct step_rows rows;
    const bool takes = a->n_steps && rows_collect(&rows, trace, a->median_step, 0, NULL);

    if (takes)
        rows_release(&rows);
    return takes;
}

static bool drawable(const struct figure_input *in, GError **error)
{
    const char *why =
        !in->trace || !in->analysis
            ? in->series ? "needs traces; a sweep has none" : "needs traces; a report has no spans"
        : !in->n_others ? "needs two traces at least, as in: parprof render A.json B.json --figure compare"
        : in->n_others >= MAX_STEPS ? "takes six traces at most"
                                    : NULL;

    for (uint32_t i = 0; !why && i <= in->n_others; i++)
        if (!takes_time(i ? in->others[i - 1].trace : in->trace,
                        i ? in->others[i - 1].analysis : in->analysis))
            why = "has nothing to compare: in one of the traces no op takes time";
    if (why)
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "figure compare %s", why);
    return !why;
}

static bool draw_compare(const struct figure_input *in, const struct pen *pen, GError **error)
{
    struct scene s = {.n = 0};

    if (!drawable(in, error))
        return false;
    for (uint32_t i = 0; i < in->n_others; i++)
        add_side(&s, pen, in->others[i].name, in->others[i].trace, in->others[i].analysis);
    add_side(&s, pen, in->file ? in->file : in->name ? in->name : in->trace->t.mode, in->trace, in->analysis);
    g_autofree char *what = message(&s, pen->lang), *title = frame_headline(pen, in->digest, what),
                    *origin = words_origin(pen, in, in->analysis->median_step);
    s.frame = frame_begin(pen, title, what, origin);
    find_where(&s);
    collect(&s);
    legend(&s);
    const bool ok = divide_height(&s) || frame_no_room(pen, "compare", "a rank's lanes", error);
    if (ok) {
        choose_ranks(&s);
        place_columns(&s);
        choose_labels(&s);
        paint(&s);
    }
    scene_release(&s);
    return ok;
}

const struct figure figure_compare = {
    .name = "compare",
    .summary = "steps of the same work on one axis, rank below rank, and what got longer or shorter",
    .draw = draw_compare,
};
