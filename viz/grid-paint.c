#include "viz/grid.h"

#include <math.h>
#include <stdlib.h>

#include "viz/layout.h"
#include "viz/notes.h"

/* Units of the pen: nothing narrower is drawn. */
#define LEAST 0.3

/* A tenth is near enough, and shorter. */
static double x_of(const struct grid *g, int64_t ns)
{
    return round((g->x0 + CLAMP((double)ns, 0, g->shown_ns) / g->ns_per_px) * 10) / 10;
}

static double y_of(const struct grid *g, uint32_t rank)
{
    return g->y0 + g->row * (g->o->ranks_up ? g->rows - 1 - rank : rank);
}

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
    return box->w >= LEAST && b->end_ns >= 0;
}

static void paint_gap(const struct grid *g, uint32_t rank, int64_t start_ns, int64_t end_ns)
{
    const double x = x_of(g, start_ns), w = x_of(g, end_ns) - x;

    if (w < 0.5)
        return;
    pen_belong(&g->frame.pen, KEY_TIME, start_ns);
    pen_box(&g->frame.pen, x, y_of(g, rank), w, g->cell, pen_shade(&g->frame.pen, ROLE_BUBBLE));
}

static void paint_bubble(const struct grid *g, uint32_t r)
{
    int64_t end_ns = 0;

    pen_belong_rest(&g->frame.pen);
    for (size_t i = g->p->first[r]; i < g->p->first[r + 1]; i++) {
        paint_gap(g, r, end_ns, MIN(g->blocks.v[i].start_ns, g->p->makespan_ns));
        end_ns = MAX(end_ns, g->blocks.v[i].end_ns);
    }
    paint_gap(g, r, end_ns, g->p->makespan_ns);
    pen_belong_rank_only(&g->frame.pen);
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

/* What a block says when it is pointed at; the number only where it is not seen, so that cells that look alike are alike. */
static void add_span(const struct grid *g, const struct box *b)
{
    const struct pipeline_action *a = g->blocks.v[b->block].action;
    char time[32];

    if (a->stage == STAGE_NONE || a->kind == OP_LOSS)
        return;
    g_autofree char *tag = g_strdup_printf("%s%u", op_label(a->kind), grid_number(g, a));
    g_autofree char *stage = g->p->n_stages > g->p->n_ranks ? say(g->frame.pen.lang, "legend.stage", "n",
                                                                  count(a->stage + g->o->count_from), NULL)
                                                            : g_strdup("");
    g_autofree char *said = g_strconcat(b->numbered ? op_label(a->kind) : tag, " · ", stage, *stage ? " · " : "",
                                        format_duration(a->end_ns - a->start_ns, time), NULL);
    pen_span_said(&g->frame.pen, b->x, b->y, b->w, b->h, tag, NULL, a->rank, said);
}

static void belong(const struct grid *g, const struct box *b)
{
    const struct block *block = &g->blocks.v[b->block];
    const struct pipeline_action *a = block->action;

    pen_belong(&g->frame.pen, KEY_MICRO, a->stage == STAGE_NONE ? DRAW_NONE : (int64_t)a->micro);
    pen_belong(&g->frame.pen, KEY_PHASE, (int64_t)op_phase(a->kind));
    pen_belong(&g->frame.pen, KEY_TIME, block->start_ns);
}

static void paint_boxes(const struct grid *g, struct box *boxes, guint n)
{
    for (int updates = 0; updates < 2; updates++) /* bars lie over the cells that they touch */
        for (guint i = 0; i < n; i++)
            if ((g->blocks.v[boxes[i].block].action->stage == STAGE_NONE) == updates) {
                belong(g, &boxes[i]);
                pen_box(&g->frame.pen, boxes[i].x, boxes[i].y, boxes[i].w, boxes[i].h, boxes[i].shade);
            }
    for (guint i = 0; i < n; i++) {
        belong(g, &boxes[i]);
        boxes[i].numbered = grid_label(g, &boxes[i], bar_over(g, &boxes[i]));
    }
    for (guint i = 0; i < n; i++) {
        belong(g, &boxes[i]);
        add_span(g, &boxes[i]);
    }
    pen_belong_rank_only(&g->frame.pen);
}

static void paint_name(const struct grid *g, uint32_t rank)
{
    const struct pen *p = &g->frame.pen;
    const struct font small = {g->row * 0.9, WEIGHT_BOLD};
    g_autofree char *name = pen_rank(p, rank);

    frame_text(&g->frame, g->frame.x0, y_of(g, rank) + g->cell / 2,
               g->row < p->strong.size * 1.2 ? &small : &p->strong, ALIGN_LEFT, ROLE_INK, name);
}

static void paint_ranks(const struct grid *g)
{
    g_autoptr(GArray) boxes = g_array_new(FALSE, FALSE, sizeof(struct box));
    struct box box;

    for (size_t i = 0; i < g->blocks.n; i++)
        if (box_of(g, i, &box))
            g_array_append_val(boxes, box);
    g_array_sort(boxes, by_color);
    struct box *all = (struct box *)(void *)boxes->data;
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

    pen_belong(&g->frame.pen, KEY_TIME, ns);
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
    g_autofree char *ranks = g->rows < g->p->n_ranks ? say(l, "grid.hidden-ranks", "shown", count(g->rows),
                                                           "n", count(g->p->n_ranks), NULL)
                                                     : g_strdup("");
    g_autofree char *units =
        (double)grid_span_ns(g->p) > g->shown_ns
            ? say(l, "grid.hidden-units", "shown", count((uint64_t)(g->shown_ns / unit_ns)), "n",
                  count((uint64_t)((double)grid_span_ns(g->p) / unit_ns)), NULL)
            : g_strdup("");
    g_autofree char *text = g_strconcat(ranks, *ranks && *units ? ", " : "", units, NULL);

    frame_text(&g->frame, g->frame.x0, g->y0 - NOTE_HEIGHT / 2 - 2, &g->frame.pen.small, ALIGN_LEFT,
               ROLE_MUTED, text);
}

void grid_paint(const struct grid *g)
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
