/* A pipeline's step as papers draw it: a row a rank, unit squares with the numbers of their micro-batches. */
#include "viz/blocks.h"
#include "viz/frame.h"
#include "viz/layout.h"
#include "viz/notes.h"
#include "viz/words.h"

#include <math.h>
#include <stdlib.h>

/* Units of the pen. */
#define MIN_UNIT    6.0 /* width of a unit; what then has no room is left out */
#define MIN_ROW     12.0
#define MIN_CELL    18.0 /* height that is taken where units are narrower */
#define MAX_CELL    92.0
#define TALLEST     2.4 /* times the width of a unit, a cell */
#define ROW_PART    0.88 /* of a row, its cell */
#define NOTE_HEIGHT 20.0 /* above the rows */
#define CELL_GAP    1.0
#define LABEL_AIR   2.0
#define BAR         3.0 /* width of an update that takes no time */
#define MIN_TEXT    7.0
#define MAX_TEXT    24.0
#define SMALL_TEXT  12.0 /* what is smaller is rather stacked */
#define STACK_LINES 2.8 /* ems of height that two lines need */
#define WIDER       1.6 /* times as large as the others are labels of cells as much wider */
#define TEXT_PART   0.5 /* of a cell's height */
#define SMALL_PART  0.6 /* of a text, a version's */
#define SPARE_ABOVE 0.4

struct grid {
    struct frame frame;
    const struct figure_options *o;
    const struct tables *t;
    const struct pipeline_times *p;
    struct blocks blocks;
    double x0, y0, unit, row, cell; /* left and upper edge, width of a unit, distance and height of rows */
    double ns_per_px;               /* time in a unit of the pen */
    double shown_ns;                /* of the pipeline's time */
    double bottom;
    uint32_t rows; /* ranks that are shown */
    struct font font;
};

static double x_of(const struct grid *g, int64_t ns)
{
    return g->x0 + CLAMP((double)ns, 0, g->shown_ns) / g->ns_per_px;
}

static double y_of(const struct grid *g, uint32_t rank)
{
    return g->y0 + g->row * (g->o->ranks_up ? g->rows - 1 - rank : rank);
}

/* --- what is said */

static char *headline(const struct grid *g, bool brief)
{
    const struct pipeline_times *p = g->p;
    const uint32_t micro = p->n_micro / p->n_rounds;
    const struct language *l = g->frame.pen.lang;
    g_autofree char *schedule = pen_one_line(g->t->schedule ? g->t->schedule : word(l, "grid.pipeline"));
    char bubble[32];

    return say(l, brief ? "grid.headline-brief" : "grid.headline", "schedule", schedule, "ranks", count(p->n_ranks),
               "micro", count(micro), "percent", words_percent(100 * pipeline_bubble_of_total(p), bubble), NULL);
}

static char *caption(const struct grid *g, const struct figure_input *in)
{
    char unit[32];
    const struct language *l = g->frame.pen.lang;
    g_autofree char *origin = words_origin(&g->frame.pen, in, in->analysis->median_step);
    g_autofree char *about = say(l, "grid.unit", "time", format_duration(g->p->unit_ns, unit), NULL);

    return g_strconcat(origin, " · ", about, g->o->late ? " · " : "", g->o->late ? word(l, "grid.late") : "", NULL);
}

static bool has_kind(const struct pipeline_times *p, unsigned kind)
{
    for (size_t i = 0; i < p->first[p->n_ranks]; i++)
        if (p->actions[i].kind == kind)
            return true;
    return false;
}

static const struct {
    uint8_t kind;
    const char *key;
} kinds[] = {
    {OP_FWD, "legend.forward"},
    {OP_BWD, "legend.backward"},
    {OP_BWD_INPUT, "legend.input-gradient"},
    {OP_BWD_WEIGHT, "legend.weight-gradient"},
    {OP_RECOMPUTE, "legend.recompute"},
    {OP_OPTIM, "legend.update"},
};

static void legend(struct grid *g)
{
    struct legend_entry entries[G_N_ELEMENTS(kinds) + HUES + 4];
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    const struct pen *p = &g->frame.pen;
    const bool by_kind = g->o->color_by == COLOR_BY_KIND;
    unsigned n = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (has_kind(g->p, kinds[i].kind) && (by_kind || kinds[i].kind == OP_OPTIM))
            entries[n++] = (struct legend_entry){.text = word(p->lang, kinds[i].key),
                                                 .shade = block_kind_shade(p->palette, kinds[i].kind, 0, 1)};
    if (by_kind && g->blocks.per_rank > 1) {
        const uint32_t last = g->blocks.per_rank - 1;
        entries[n++] = (struct legend_entry){.text = word(p->lang, "grid.first-stage"),
                                             .shade = block_kind_shade(p->palette, OP_FWD, 0, last + 1)};
        entries[n++] = (struct legend_entry){.text = word(p->lang, last == 1 ? "grid.second-stage" : "grid.last-stage"),
                                             .shade = block_kind_shade(p->palette, OP_FWD, last, last + 1)};
    }
    n += blocks_legend(p, g->o->color_by == COLOR_BY_STAGE ? g->p->n_stages : g->p->n_micro, texts, &entries[n]);
    if (g->p->idle_ns > 0)
        entries[n++] = (struct legend_entry){.text = word(p->lang, "legend.bubble"), .shade = pen_shade(p, ROLE_BUBBLE)};
    if (!g->p->asynchronous)
        entries[n++] =
            (struct legend_entry){.text = word(p->lang, "legend.flush"), .shade = pen_shade(p, ROLE_INK), .line = true};
    frame_legend(&g->frame, n, entries);
    if (g->p->asynchronous && !g->o->no_legend) {
        g_autofree char *about =
            pen_ellipsize(p, &p->small, word(p->lang, "grid.versions"), g->frame.x1 - g->frame.x0);
        frame_text(&g->frame, g->frame.x0, g->frame.y0 + 11, &p->small, ALIGN_LEFT, ROLE_MUTED, about);
        g->frame.y0 += 22;
    }
}

/* --- what stands where */

/* From the first action's start to the last end of anything. */
static int64_t span_of(const struct pipeline_times *p)
{
    int64_t end_ns = p->start_ns + p->makespan_ns;

    for (size_t i = 0; i < p->first[p->n_ranks]; i++)
        end_ns = MAX(end_ns, p->actions[i].end_ns);
    return end_ns - p->start_ns;
}

/* As wide as the widest label with that letter, or without one. */
static const char *widest(const struct grid *g, const char *letter, char text[static 32])
{
    char most[16];

    g_snprintf(most, sizeof most, "%u", g->p->n_micro / g->p->n_rounds - 1 + g->o->count_from);
    for (char *c = most; *c; c++)
        *c = '0';
    g_snprintf(text, 32, "%s%s", letter, most);
    return text;
}

/* One size for all labels: the letter goes where it would have to be too small. */
static double text_size(const struct grid *g)
{
    const char *const letters[] = {has_kind(g->p, OP_BWD_WEIGHT) ? "W" : "B", ""};
    const struct font one = {10, WEIGHT_NORMAL};
    const double cell = g->unit / g->blocks.per_rank - CELL_GAP - 1.5 * LABEL_AIR,
                 room = g->p->asynchronous ? (cell - BAR) / (1 + SMALL_PART) : cell;
    char text[32];

    for (unsigned i = 0; i < G_N_ELEMENTS(letters); i++) {
        const double size = room / pen_width(&g->frame.pen, &one, widest(g, letters[i], text)) * one.size;
        if (size >= (i ? MIN_TEXT : MIN_TEXT + 1))
            return CLAMP(MIN(size, g->cell * TEXT_PART), MIN_TEXT, MAX_TEXT);
    }
    return CLAMP(g->cell * TEXT_PART, MIN_TEXT, 11);
}

static bool place(struct grid *g, GError **error)
{
    const struct frame *f = &g->frame;
    const int64_t span_ns = span_of(g->p);
    g_autofree char *rank = pen_rank(&f->pen, g->p->n_ranks - 1);

    g->x0 = f->x0 + pen_width(&f->pen, &f->pen.strong, rank) + 1.5 * FRAME_AIR;
    const double width = f->x1 - BAR - g->x0, unit_ns = (double)MAX(g->p->unit_ns, 1);
    g->shown_ns = MIN((double)span_ns, width / MIN_UNIT * unit_ns);
    g->ns_per_px = g->shown_ns / width;
    g->unit = unit_ns / g->ns_per_px;
    const double room = f->y1 - f->y0 - f->axis - NOTE_HEIGHT;
    g->rows = (uint32_t)MIN(g->p->n_ranks, MAX(room / (f->pen.ops->cells ? DRAW_LINE + 1 : MIN_ROW), 0));
    if (!g->rows || g->unit <= 0 || span_ns <= 0) {
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "figure grid: %s",
                    span_ns <= 0 ? "nothing in the step takes time; there is nothing to draw"
                                 : "no room for a row; use a higher canvas");
        return false;
    }
    g->cell = MIN(room / g->rows * ROW_PART, MIN(MAX(g->unit * TALLEST, MIN_CELL), MAX_CELL));
    g->row = MIN(room / g->rows, g->cell / ROW_PART);
    if (g->cell > MIN_CELL) { /* whole numbers are shorter, and sharper */
        g->cell = floor(g->cell);
        g->row = floor(g->row);
    }
    g->y0 = floor(f->y0 + NOTE_HEIGHT + (room - g->row * g->rows) * SPARE_ABOVE);
    g->bottom = g->y0 + g->row * (g->rows - 1) + g->cell;
    g->font = (struct font){text_size(g), WEIGHT_NORMAL};
    return true;
}

/* --- paint */

struct box {
    double x, y, w, h;
    uint32_t rank;
    struct shade shade;
    size_t block;
};

/* Boxes of a rank and a colour follow each other, which makes them one path. */
static int by_color(gconstpointer a, gconstpointer b)
{
    const struct box *x = a, *y = b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->shade.color != y->shade.color)
        return x->shade.color < y->shade.color ? -1 : 1;
    if (x->shade.hatch != y->shade.hatch)
        return x->shade.hatch < y->shade.hatch ? -1 : 1;
    return (x->block > y->block) - (x->block < y->block);
}

static bool box_of(const struct grid *g, size_t i, struct box *box)
{
    const struct block *b = &g->blocks.v[i];
    const double x = x_of(g, b->start_ns), half = g->cell / 2;

    if (b->action->rank >= g->rows || (double)b->start_ns >= g->shown_ns + 1)
        return false;
    *box = (struct box){.x = x,
                        .y = y_of(g, b->action->rank),
                        .w = x_of(g, b->end_ns) - x,
                        .h = g->cell,
                        .rank = b->action->rank,
                        .shade = b->shade,
                        .block = i};
    if (b->half != HALF_NONE)
        box->h = half;
    if (b->half == HALF_LOWER)
        box->y += half;
    if (b->action->stage == STAGE_NONE)
        box->w = MAX(box->w, BAR);
    else if (box->w > 4 * CELL_GAP)
        box->w -= CELL_GAP;
    return box->w >= 0.1 && b->end_ns >= 0;
}

static void paint_gap(const struct grid *g, uint32_t rank, int64_t start_ns, int64_t end_ns)
{
    const double x = x_of(g, start_ns), w = x_of(g, end_ns) - x;

    if (w < 0.5)
        return;
    pen_box(&g->frame.pen, x, y_of(g, rank), w, g->cell, pen_shade(&g->frame.pen, ROLE_BUBBLE));
}

static void paint_bubble(const struct grid *g, uint32_t r)
{
    int64_t end_ns = 0;

    for (size_t i = g->p->first[r]; i < g->p->first[r + 1]; i++) {
        paint_gap(g, r, end_ns, MIN(g->blocks.v[i].start_ns, g->p->makespan_ns));
        end_ns = MAX(end_ns, g->blocks.v[i].end_ns);
    }
    paint_gap(g, r, end_ns, g->p->makespan_ns);
}

/* What the bar of an update before it takes of a box. */
static double bar_over(const struct grid *g, const struct box *box)
{
    const struct block *b = &g->blocks.v[box->block];
    const bool first = box->block == g->p->first[b->action->rank];

    if (first || b[-1].action->stage != STAGE_NONE)
        return 0;
    return MAX(0, MAX(x_of(g, b[-1].end_ns), x_of(g, b[-1].start_ns) + BAR) - box->x);
}

/* The letter over the number, each larger than both beside one another could be; of all cells alike. */
static bool stack(const struct grid *g, const struct box *box, double x, double room, const char *letter,
                  const char *number)
{
    const struct pen *p = &g->frame.pen;
    const struct font one = {10, WEIGHT_NORMAL};
    const char *widest_letter = has_kind(g->p, OP_BWD_WEIGHT) ? "W" : "B";
    const double wide = MAX(pen_width(p, &one, widest_letter), pen_width(p, &one, number)),
                 size = MIN(MIN(room / wide * one.size, box->h / STACK_LINES), MAX_TEXT), y = box->y + box->h / 2;
    const struct font font = {size, WEIGHT_NORMAL};

    if (p->ops->cells || size < SMALL_TEXT)
        return false;
    pen_label(p, x, y - size * 0.65, size * 1.2, &font, box->shade, false, letter);
    pen_label(p, x, y + size * 0.65, size * 1.2, &font, box->shade, false, number);
    return true;
}

/* "F3", and its weights' version beside it where these change. */
static void label(const struct grid *g, const struct box *box)
{
    const struct pen *p = &g->frame.pen;
    const struct pipeline_action *a = g->blocks.v[box->block].action;
    const double wide = CLAMP(box->w * g->blocks.per_rank / g->unit, 1, WIDER);
    const struct font font = {MIN(MIN(g->font.size * wide, MAX_TEXT), box->h * 0.6), WEIGHT_NORMAL},
                      small = {font.size * SMALL_PART, WEIGHT_NORMAL};
    const double bar = bar_over(g, box), room = box->w - bar - LABEL_AIR;
    char text[32], version[16], number[16];

    if (a->stage == STAGE_NONE || font.size < MIN_TEXT)
        return;
    const bool letter = pen_width(p, &font, widest(g, op_label(a->kind), text)) <= room;
    g_snprintf(text, sizeof text, "%s%u", letter ? op_label(a->kind) : "",
               a->micro % MAX(g->p->n_micro / g->p->n_rounds, 1) + g->o->count_from);
    if (a->kind == OP_LOSS)
        g_strlcpy(text, op_label(a->kind), sizeof text);
    g_snprintf(version, sizeof version, "v%u", a->version);
    g_snprintf(number, sizeof number, "%s", text + strcspn(text, "0123456789"));
    if (font.size < SMALL_TEXT && *number && !g->p->asynchronous && stack(g, box, box->x + bar + (box->w - bar) / 2, room, op_label(a->kind), number))
        return;
    if (pen_width(p, &font, text) > room)
        return;
    const double w = pen_width(p, &font, text), v = pen_width(p, &small, version);
    const bool both = g->p->asynchronous && a->kind == OP_FWD && w + v <= room;
    const double x = box->x + bar + (box->w - bar - w - (both ? v : 0)) / 2, y = box->y + box->h / 2;
    const uint32_t ink = palette_text_on(box->shade.color);
    if (box->shade.hatch != HATCH_NONE)
        pen_box(p, x - 2, y - font.size * 0.65, w + (both ? v : 0) + 4, MIN(box->h, font.size * 1.3),
                (struct shade){box->shade.color, HATCH_NONE, 0});
    pen_text(p, x + w / 2, y, &font, ALIGN_CENTER, ink, text);
    if (both)
        pen_text(p, x + w + v / 2, y + font.size * 0.3, &small, ALIGN_CENTER, ink, version);
}

/* What a block says when it is pointed at. */
static void add_span(const struct grid *g, const struct box *b)
{
    const struct pipeline_action *a = g->blocks.v[b->block].action;
    char time[32];

    if (a->stage == STAGE_NONE || a->kind == OP_LOSS)
        return;
    g_autofree char *tag = g_strdup_printf("%s%u", op_label(a->kind),
                                           a->micro % MAX(g->p->n_micro / g->p->n_rounds, 1) + g->o->count_from);
    g_autofree char *stage = g->p->n_stages > g->p->n_ranks
                                 ? say(g->frame.pen.lang, "legend.stage", "n", count(a->stage + g->o->count_from), NULL)
                                 : g_strdup("");
    g_autofree char *about = g_strconcat(stage, *stage ? " · " : "", format_duration(a->end_ns - a->start_ns, time), NULL);
    pen_span(&g->frame.pen, b->x, b->y, b->w, b->h, tag, a->rank, about);
}

static void paint_boxes(const struct grid *g, const struct box *boxes, guint n)
{
    for (int updates = 0; updates < 2; updates++) /* bars lie over the cells that they touch */
        for (guint i = 0; i < n; i++)
            if ((g->blocks.v[boxes[i].block].action->stage == STAGE_NONE) == updates)
                pen_box(&g->frame.pen, boxes[i].x, boxes[i].y, boxes[i].w, boxes[i].h, boxes[i].shade);
    for (guint i = 0; i < n; i++)
        label(g, &boxes[i]);
    for (guint i = 0; i < n; i++)
        add_span(g, &boxes[i]);
}

static void paint_name(const struct grid *g, uint32_t rank)
{
    const struct pen *p = &g->frame.pen;
    const struct font small = {g->row * 0.9, WEIGHT_BOLD};
    g_autofree char *name = pen_rank(p, rank);

    frame_text(&g->frame, g->frame.x0, y_of(g, rank) + g->cell / 2, g->row < p->strong.size * 1.2 ? &small : &p->strong,
               ALIGN_LEFT, ROLE_INK, name);
}

static void paint_ranks(const struct grid *g)
{
    g_autoptr(GArray) boxes = g_array_new(FALSE, FALSE, sizeof(struct box));
    struct box box;

    for (size_t i = 0; i < g->blocks.n; i++)
        if (box_of(g, i, &box))
            g_array_append_val(boxes, box);
    g_array_sort(boxes, by_color);
    const struct box *all = (const struct box *)(void *)boxes->data;
    for (uint32_t r = 0, i = 0, end; r < g->rows; r++, i = end) {
        for (end = i; end < boxes->len && all[end].rank == r; end++)
            ;
        pen_group_rank(&g->frame.pen, r);
        paint_name(g, r);
        paint_bubble(g, r);
        paint_boxes(g, all + i, end - i);
    }
    pen_group_end(&g->frame.pen);
}

/* Whether all ranks are over with a round before the next one begins. */
static bool flushed_together(const struct pipeline_times *p, uint32_t round)
{
    for (size_t i = 0; i < p->first[p->n_ranks]; i++)
        if (p->actions[i].stage != STAGE_NONE && p->actions[i].round > round &&
            p->actions[i].start_ns < p->round_end_ns[round])
            return false;
    return true;
}

static void paint_flush_line(const struct grid *g, int64_t end_ns, double y0, double y1)
{
    const int64_t ns = end_ns - g->p->start_ns;
    const double x = x_of(g, ns) - CELL_GAP / 2;

    if ((double)ns <= g->shown_ns)
        pen_line(&g->frame.pen, x, y0, x, y1, pen_color(&g->frame.pen, ROLE_INK), 1.5, true);
}

static void paint_flush(const struct grid *g, uint32_t round)
{
    const struct pipeline_times *p = g->p;
    const double air = (g->row - g->cell) / 2;

    if (flushed_together(p, round)) {
        paint_flush_line(g, p->round_end_ns[round], g->y0 - 6, g->bottom + 4);
        return;
    }
    for (uint32_t r = 0; r < g->rows; r++) {
        int64_t end_ns = INT64_MIN;
        for (size_t i = p->first[r]; i < p->first[r + 1]; i++)
            if (p->actions[i].stage != STAGE_NONE && p->actions[i].round == round)
                end_ns = MAX(end_ns, p->actions[i].end_ns);
        if (end_ns > INT64_MIN)
            paint_flush_line(g, end_ns, y_of(g, r) - air, y_of(g, r) + g->cell + air);
    }
}

static void paint_left_out(const struct grid *g)
{
    const struct language *l = g->frame.pen.lang;
    const double unit_ns = (double)MAX(g->p->unit_ns, 1);
    g_autofree char *ranks =
        g->rows < g->p->n_ranks
            ? say(l, "grid.hidden-ranks", "shown", count(g->rows), "n", count(g->p->n_ranks), NULL)
            : g_strdup("");
    g_autofree char *units = (double)span_of(g->p) > g->shown_ns
                                 ? say(l, "grid.hidden-units", "shown", count((uint64_t)(g->shown_ns / unit_ns)), "n",
                                       count((uint64_t)((double)span_of(g->p) / unit_ns)), NULL)
                                 : g_strdup("");
    g_autofree char *text = g_strconcat(ranks, *ranks && *units ? ", " : "", units, NULL);

    frame_text(&g->frame, g->frame.x0, g->y0 - NOTE_HEIGHT / 2 - 2, &g->frame.pen.small, ALIGN_LEFT, ROLE_MUTED, text);
}

static void paint(const struct grid *g)
{
    const double units = g->shown_ns / (double)MAX(g->p->unit_ns, 1), x1 = g->x0 + g->shown_ns / g->ns_per_px;
    const struct scale scale = {0, units, g->x0, x1, false};

    frame_axis(&g->frame, &scale, word(g->frame.pen.lang, "grid.units"), g->y0 - 4, g->bottom + 4);
    if (g->frame.pen.notes)
        notes_set_axis(g->frame.pen.notes, 0, g->x0, g->shown_ns, x1, g->y0 - 4);
    paint_left_out(g);
    paint_ranks(g);
    for (uint32_t round = 0; !g->p->asynchronous && round < g->p->n_rounds; round++)
        if (g->p->round_end_ns[round] > INT64_MIN)
            paint_flush(g, round);
}

static bool draw_grid(const struct figure_input *in, const struct pen *pen, GError **error)
{
    struct grid g = {.frame.pen = *pen, .o = pen->look};

    if (!in->trace || !in->analysis || !in->analysis->pipeline) {
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "figure grid needs the trace of a pipeline; %s",
                    in->trace    ? "this one has no stages: draw a timeline"
                    : in->series ? "a sweep has none"
                                 : "a report has no spans");
        return false;
    }
    g.t = &in->trace->t;
    g.p = in->analysis->pipeline;
    g_autofree char *title = headline(&g, false), *brief = headline(&g, true), *text = caption(&g, in);
    g.frame = frame_begin(pen, title, brief, text);
    blocks_make(&g.blocks, g.t, g.p, pen->palette, pen->look->color_by, pen->look->late);
    legend(&g);
    const bool ok = place(&g, error);
    if (ok)
        paint(&g);
    blocks_release(&g.blocks);
    return ok;
}

const struct figure figure_grid = {
    .name = "grid",
    .summary = "a pipeline's step as papers draw it: unit squares with the numbers of micro-batches",
    .draw = draw_grid,
};
