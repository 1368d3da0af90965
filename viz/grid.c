/* A pipeline's step as papers draw it: a row a rank, unit squares with the numbers of their micro-batches. */
#include "viz/grid.h"

#include <math.h>

#include "viz/layout.h"
#include "viz/words.h"

/* Units of the pen. */
#define MIN_UNIT    6.0 /* width of a unit; what then has no room is left out */
#define MIN_ROW     12.0
#define MIN_CELL    18.0         /* height that is taken where units are narrower, in characters */
#define FEW_STAGES  PRINT_STAGES /* of a rank */
#define TWO_LINES   56.0         /* ... and elsewhere: letter over number, which narrow cells have room for */
#define MAX_CELL    92.0
#define TALLEST     2.4  /* times the width of a unit, a cell */
#define ROW_PART    0.88 /* of a row, its cell */
#define SPARE_ABOVE 0.4

/* --- what is said */

static char *headline(const struct grid *g, bool brief)
{
    const struct pipeline_times *p = g->p;
    const uint32_t micro = p->n_micro / p->n_rounds;
    const struct language *l = g->frame.pen.lang;
    g_autofree char *schedule = pen_one_line(g->t->schedule ? g->t->schedule : word(l, "grid.pipeline"));
    char bubble[32];

    return say(l, brief ? "grid.headline-brief" : "grid.headline", "schedule", schedule, "ranks",
               count(p->n_ranks), "micro", count(micro), "percent",
               words_percent(100 * pipeline_bubble_of_total(p), bubble), NULL);
}

static char *caption(const struct grid *g, const struct figure_input *in)
{
    char unit[32];
    const struct language *l = g->frame.pen.lang;
    g_autofree char *origin = words_origin(&g->frame.pen, in, in->analysis->median_step);
    g_autofree char *about = say(l, "grid.unit", "time", format_duration(g->p->unit_ns, unit), NULL);

    return g_strconcat(origin, " · ", about, g->o->late ? " · " : "", g->o->late ? word(l, "grid.late") : "",
                       NULL);
}

bool grid_has_kind(const struct pipeline_times *p, unsigned kind)
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

/* A few by name, of more the first and the last. */
static unsigned stages_legend(const struct grid *g, struct legend_entry entries[static FEW_STAGES])
{
    const struct pen *p = &g->frame.pen;
    const uint32_t all = g->blocks.per_rank, last = all - 1, step = all > FEW_STAGES ? last : 1;
    unsigned n = 0;

    for (uint32_t i = 0; i < all; i += step) {
        const char *text = i == 0      ? word(p->lang, "grid.first-stage")
                           : i == 1    ? word(p->lang, "grid.second-stage")
                           : i == last ? word(p->lang, "grid.last-stage")
                                       : word(p->lang, "grid.third-stage");
        entries[n++] =
            (struct legend_entry){.text = text, .shade = block_kind_shade(p->palette, OP_FWD, i, all)};
    }
    return n;
}

static void legend(struct grid *g)
{
    struct legend_entry entries[G_N_ELEMENTS(kinds) + HUES + FEW_STAGES + 2];
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    const struct pen *p = &g->frame.pen;
    const bool by_kind = g->o->color_by == COLOR_BY_KIND;
    unsigned n = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (grid_has_kind(g->p, kinds[i].kind) && (by_kind || kinds[i].kind == OP_OPTIM))
            entries[n++] = (struct legend_entry){.text = word(p->lang, kinds[i].key),
                                                 .shade = block_kind_shade(p->palette, kinds[i].kind, 0, 1)};
    if (by_kind && g->blocks.per_rank > 1)
        n += stages_legend(g, &entries[n]);
    n += blocks_legend(p, g->o->color_by == COLOR_BY_STAGE ? g->p->n_stages : g->p->n_micro, texts,
                       &entries[n]);
    if (g->p->idle_ns > 0)
        entries[n++] =
            (struct legend_entry){.text = word(p->lang, "legend.bubble"), .shade = pen_shade(p, ROLE_BUBBLE)};
    if (!g->p->asynchronous)
        entries[n++] = (struct legend_entry){
            .text = word(p->lang, "legend.flush"), .shade = pen_shade(p, ROLE_INK), .line = true};
    frame_legend(&g->frame, n, entries);
    if (g->p->asynchronous && !g->o->no_legend) {
        g_autofree char *about =
            pen_ellipsize(p, &p->small, word(p->lang, "grid.versions"), g->frame.x1 - g->frame.x0);
        frame_text(&g->frame, g->frame.x0, g->frame.y0 + 11, &p->small, ALIGN_LEFT, ROLE_MUTED, about);
        g->frame.y0 += 22;
    }
}

/* --- what stands where */

int64_t grid_span_ns(const struct pipeline_times *p)
{
    int64_t end_ns = p->start_ns + p->makespan_ns;

    for (size_t i = 0; i < p->first[p->n_ranks]; i++)
        end_ns = MAX(end_ns, p->actions[i].end_ns);
    return end_ns - p->start_ns;
}

static bool place(struct grid *g, GError **error)
{
    const struct frame *f = &g->frame;
    const int64_t span_ns = grid_span_ns(g->p);
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
    const double least = f->pen.ops->cells ? MIN_CELL : TWO_LINES;
    g->cell = MIN(room / g->rows * ROW_PART, MIN(MAX(g->unit * TALLEST, least), MAX_CELL));
    g->row = MIN(room / g->rows, g->cell / ROW_PART);
    if (g->cell > MIN_CELL) { /* whole numbers are shorter, and sharper */
        g->cell = floor(g->cell);
        g->row = floor(g->row);
    }
    g->y0 = floor(f->y0 + NOTE_HEIGHT + (room - g->row * g->rows) * SPARE_ABOVE);
    g->bottom = g->y0 + g->row * (g->rows - 1) + g->cell;
    grid_measure(g);
    return true;
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
        grid_paint(&g);
    blocks_release(&g.blocks);
    return ok;
}

const struct figure figure_grid = {
    .name = "grid",
    .summary = "a pipeline's step as papers draw it: unit squares with the numbers of micro-batches",
    .draw = draw_grid,
};
