/* The stages of a DataParallel step as boxes: what each rank has between them, and who moves what to whom. */
#include "viz/figure.h"

#include "viz/dp-step.h"
#include "viz/ladder.h"
#include "viz/layout.h"
#include "viz/words.h"

#define GUTTER       172.0
#define GUTTER_CELLS 150.0
#define BESIDE_WIDTH 980.0 /* from which forward and backward stand side by side */
#define BETWEEN      28.0
#define MOST_COLUMNS 4

/* What is in a row's boxes. */
enum what {
    DATA,
    DATA_PART,
    MODEL,
    OUTPUTS_PART,
    OUTPUTS,
    LOSS,
    LOSS_PART,
    LOSSES,
    DELTAS,
    DELTAS_PART,
    GO,
    GO_PART,
    GRADIENT,
    GRADIENTS,
    UPDATED
};

/* Boxes of rank 0 or of all, and the stage that follows. */
struct rung {
    uint8_t what; /* enum what */
    bool all;
    uint8_t after; /* enum dp_stage; of the last one DP_STAGES */
};

static const struct rung forward[] = {{DATA, false, DP_SCATTER},      {DATA_PART, true, DP_BROADCAST},
                                      {MODEL, true, DP_FORWARD},      {OUTPUTS_PART, true, DP_GATHER},
                                      {OUTPUTS, false, DP_LOSS},      {LOSS, false, DP_STAGES}};
static const struct rung forward_inside[] = {{DATA, false, DP_SCATTER},      {DATA_PART, true, DP_BROADCAST},
                                             {MODEL, true, DP_FORWARD},      {OUTPUTS_PART, true, DP_RANK_LOSS},
                                             {LOSS_PART, true, DP_GATHER},   {LOSSES, false, DP_LOSS},
                                             {LOSS, false, DP_STAGES}};
static const struct rung backward[] = {{DELTAS, false, DP_SCATTER_GRADIENT}, {DELTAS_PART, true, DP_BACKWARD},
                                       {GRADIENT, true, DP_REDUCE},          {GRADIENTS, false, DP_STEP},
                                       {UPDATED, false, DP_STAGES}};
static const struct rung backward_inside[] = {{GO, false, DP_SCATTER_GRADIENT}, {GO_PART, true, DP_BACKWARD},
                                              {GRADIENT, true, DP_REDUCE},      {GRADIENTS, false, DP_STEP},
                                              {UPDATED, false, DP_STAGES}};

struct half {
    const struct rung *rungs;
    uint32_t n;
    const char *name; /* key of the language */
    uint32_t first;   /* number of its first stage */
    struct ladder ladder;
};

struct scene {
    struct frame frame;
    struct dp_step step;
    struct half halves[2];
};

static enum role role_of(enum what what)
{
    static const uint8_t roles[] = {[DATA] = ROLE_INPUT,         [DATA_PART] = ROLE_INPUT,
                                    [MODEL] = ROLE_OPTIMIZER,    [OUTPUTS_PART] = ROLE_FORWARD,
                                    [OUTPUTS] = ROLE_FORWARD,    [LOSS] = ROLE_LOSS,
                                    [LOSS_PART] = ROLE_LOSS,     [LOSSES] = ROLE_LOSS,
                                    [DELTAS] = ROLE_BACKWARD,    [DELTAS_PART] = ROLE_BACKWARD,
                                    [GO] = ROLE_BACKWARD,        [GO_PART] = ROLE_BACKWARD,
                                    [GRADIENT] = ROLE_BACKWARD,  [GRADIENTS] = ROLE_BACKWARD,
                                    [UPDATED] = ROLE_OPTIMIZER};

    return roles[what];
}

static const char *word_of(const struct language *l, enum what what)
{
    return what == MODEL     ? word(l, "dp.model")
           : what == UPDATED ? word(l, "dp.updated")
           : what == LOSS || what == LOSS_PART || what == LOSSES ? word(l, "op.loss")
                                                                 : NULL;
}

/* "[B/4, S]" */
static char *symbolic(const struct scene *s, enum what what, uint32_t rank)
{
    const struct dp_step *d = &s->step;
    const bool part = what == DATA_PART || what == OUTPUTS_PART || what == DELTAS_PART;
    g_autofree char *batch = part ? g_strdup_printf("B/%s", count(d->n_ranks)) : g_strdup("B");

    switch (what) {
    case DATA:
    case DATA_PART:
        return g_strdup_printf("[%s, S]", batch);
    case OUTPUTS:
    case OUTPUTS_PART:
    case DELTAS:
    case DELTAS_PART:
        return g_strdup_printf(d->per_token ? "[%s, S, C]" : "[%s, C]", batch);
    case LOSSES:
    case GO:
        return g_strdup_printf("[%s]", count(d->n_ranks));
    case GRADIENT:
        return g_strdup_printf("g%s", count((uint64_t)rank + s->frame.pen.look->count_from));
    case GRADIENTS:
        return g_strdup("Σ g");
    case MODEL:
    case UPDATED:
        return g_strdup("W");
    default:
        return g_strdup("[1]");
    }
}

/* "[32, 128]"; NULL: unknown, or nothing new. */
static char *real(const struct scene *s, enum what what, uint32_t rank)
{
    const struct dp_step *d = &s->step;
    const bool part = what == DATA_PART || what == OUTPUTS_PART || what == DELTAS_PART;
    const uint64_t batch = part ? d->rows[rank] : d->batch;
    char size[32];

    if (what == MODEL || what == UPDATED || what == GRADIENT || what == GRADIENTS)
        return d->weights ? g_strdup(format_bytes(d->weights, size)) : NULL;
    if (!d->batch || !d->seq || role_of(what) == ROLE_LOSS)
        return NULL;
    if (what == DATA || what == DATA_PART)
        return g_strdup_printf("[%s, %s]", count(batch), count(d->seq));
    if (!d->classes || what >= GO)
        return NULL;
    return d->per_token ? g_strdup_printf("[%s, %s, %s]", count(batch), count(d->seq), count(d->classes))
                        : g_strdup_printf("[%s, %s]", count(batch), count(d->classes));
}

/* Steps of the figure: a rung each, of both halves. */
static int64_t step_of(const struct scene *s, const struct half *h, uint32_t row)
{
    return (int64_t)row + (h == &s->halves[1] ? s->halves[0].n : 0);
}

static void paint_box(const struct scene *s, const struct half *h, uint32_t row, uint32_t column)
{
    const struct rung *r = &h->rungs[row];
    const struct shade shade = pen_shade(&s->frame.pen, role_of(r->what));
    const char *name = word_of(s->frame.pen.lang, r->what);
    const uint32_t rank = ladder_rank(&h->ladder, column);
    g_autofree char *symbol = symbolic(s, r->what, rank), *size = rank == OP_NONE ? NULL : real(s, r->what, rank);
    const char *const texts[] = {name ? name : symbol, symbol};

    ladder_box(&h->ladder, row, column, shade, 2, texts, size || !name ? size : symbol);
}

/* From rank 0 to the column or back, or down the column; it comes with what it leads to. */
static void paint_arrow(const struct scene *s, const struct half *h, uint32_t row, uint32_t column)
{
    const enum dp_stage stage = h->rungs[row].after;
    const bool out = stage == DP_SCATTER || stage == DP_BROADCAST || stage == DP_SCATTER_GRADIENT,
               in = stage == DP_GATHER || stage == DP_REDUCE;
    const uint32_t color = pen_color(&s->frame.pen, out || in ? ROLE_INK : ROLE_MUTED);

    if (column == 0 || h->rungs[row].all || out)
        ladder_arrow(&h->ladder, row, out ? 0 : column, in ? 0 : column, color, false);
}

static void paint_column(const struct scene *s, uint32_t column)
{
    const struct pen *p = &s->frame.pen;

    ladder_begin_column(&s->halves[0].ladder, column);
    for (unsigned i = 0; i < G_N_ELEMENTS(s->halves); i++) {
        const struct half *h = &s->halves[i];
        pen_belong_step(p, DRAW_NONE);
        ladder_name(&h->ladder, column);
        for (uint32_t row = 0; row < h->n; row++) {
            pen_belong_step(p, step_of(s, h, row));
            if (column == 0 || h->rungs[row].all)
                paint_box(s, h, row, column);
            if (row + 1 == h->n)
                break;
            pen_belong_step(p, step_of(s, h, row + 1));
            paint_arrow(s, h, row, column);
        }
    }
    ladder_end_column(&s->halves[0].ladder, column);
}

static void paint_stage(const struct scene *s, const struct half *h, uint32_t row)
{
    static const char *const keys[] = {"dp.scatter",          "dp.broadcast", "dp.forward", "dp.rank-loss", "dp.gather", "dp.loss",
                                       "dp.scatter-gradient", "dp.backward",  "dp.reduce",  "dp.step"};
    const struct pen *p = &s->frame.pen;
    const enum dp_stage stage = h->rungs[row].after;
    const bool mean = stage == DP_LOSS && s->step.loss_inside;
    char time[32], bytes[32];
    const char *key = mean ? "dp.mean" : keys[stage], *number = count(h->first + row);
    g_autofree char *name = g_strdup_printf("%s %s", number, word(p->lang, key)),
                    *english = g_strdup_printf("%s %s", number, word(language_standard(), key));
    g_autoptr(GString) numbers = g_string_new(NULL);
    g_autofree char *brief = NULL;
    const double y = ladder_row(&h->ladder, row) + h->ladder.box;

    if (s->step.ns[stage] >= 0)
        g_string_append(numbers, format_duration(s->step.ns[stage], time));
    brief = g_strdup(numbers->str);
    if (s->step.bytes[stage])
        g_string_append_printf(numbers, "%s%s", numbers->len ? " · " : "", format_bytes(s->step.bytes[stage], bytes));
    const char *const both[] = {numbers->str, brief};
    ladder_beside(&h->ladder, row, name, numbers->len ? pen_fit(p, &p->small, 2, both, h->ladder.gutter - FRAME_AIR) : NULL);
    pen_span(p, h->ladder.x0, y, h->ladder.gutter, h->ladder.pitch - h->ladder.box, name, english, OP_NONE, numbers->str);
}

static void paint_half(const struct scene *s, const struct half *h)
{
    const struct frame *f = &s->frame;
    g_autofree char *name = pen_ellipsize(&f->pen, &f->pen.strong, word(f->pen.lang, h->name), h->ladder.gutter - FRAME_AIR);

    frame_text(f, h->ladder.x0, ladder_head(&h->ladder), &f->pen.strong, ALIGN_LEFT, ROLE_MUTED, name);
    for (uint32_t row = 0; row + 1 < h->n; row++) {
        pen_belong_step(&f->pen, step_of(s, h, row + 1));
        paint_stage(s, h, row);
    }
    pen_belong_step(&f->pen, DRAW_NONE);
}

static bool lay_out(struct scene *s, GError **error)
{
    struct frame *f = &s->frame;
    const bool beside = f->x1 - f->x0 >= BESIDE_WIDTH;
    const double gutter = f->pen.ops->cells ? GUTTER_CELLS : GUTTER, y1 = f->y1 - FRAME_AIR / 2, middle = (f->x0 + f->x1) / 2;
    const double part = (s->halves[0].n + 1.0) / (s->halves[0].n + s->halves[1].n + 2.0);
    const double split = f->y0 + (f->pen.ops->cells ? DRAW_LINE * (double)(int)((y1 - f->y0) * part / DRAW_LINE) : (y1 - f->y0) * part);

    for (unsigned i = 0; i < 2; i++) {
        struct half *h = &s->halves[i];
        const double x0 = beside && i ? middle + BETWEEN / 2 : f->x0, x1 = beside && !i ? middle - BETWEEN / 2 : f->x1;
        const double top = !beside && i ? split : f->y0, end = !beside && !i ? split : y1;
        if (!ladder_make(&h->ladder, f, x0, x1, top, end, gutter, s->step.n_ranks, MOST_COLUMNS, h->n) ||
            h->ladder.rows < h->n)
            return frame_no_room(&f->pen, "dp", "its stages", error);
        if (beside && i && s->halves[0].ladder.pitch < h->ladder.pitch) { /* alike in both */
            h->ladder.pitch = s->halves[0].ladder.pitch;
            h->ladder.box = s->halves[0].ladder.box;
        }
    }
    return true;
}

static bool paint(struct scene *s, GError **error)
{
    const struct pen *p = &s->frame.pen;
    const struct legend_entry entries[] = {
        {.text = word(p->lang, "dp.data"), .shade = pen_shade(p, ROLE_INPUT)},
        {.text = word(p->lang, "dp.model"), .shade = pen_shade(p, ROLE_OPTIMIZER)},
        {.text = word(p->lang, "dp.outputs"), .shade = pen_shade(p, ROLE_FORWARD)},
        {.text = word(p->lang, "op.loss"), .shade = pen_shade(p, ROLE_LOSS)},
        {.text = word(p->lang, "dp.gradients"), .shade = pen_shade(p, ROLE_BACKWARD)}};

    frame_legend(&s->frame, G_N_ELEMENTS(entries), entries);
    if (!lay_out(s, error))
        return false;
    for (uint32_t c = 0; c < s->halves[0].ladder.n_columns; c++)
        paint_column(s, c);
    for (unsigned i = 0; i < G_N_ELEMENTS(s->halves); i++)
        paint_half(s, &s->halves[i]);
    return true;
}

static void choose_stages(struct scene *s)
{
    const bool inside = s->step.loss_inside;
    const uint32_t n = inside ? G_N_ELEMENTS(forward_inside) : G_N_ELEMENTS(forward);

    s->halves[0] = (struct half){inside ? forward_inside : forward, n, "phase.forward", 1, {0}};
    s->halves[1] = (struct half){inside ? backward_inside : backward, G_N_ELEMENTS(backward), "phase.backward", n, {0}};
}

static char *headline(const struct scene *s, const struct language *l, const struct figure_input *in)
{
    static const uint8_t moves[] = {DP_SCATTER, DP_BROADCAST, DP_GATHER, DP_SCATTER_GRADIENT, DP_REDUCE};
    int64_t ns = 0;
    char moved[32], whole[32];

    for (unsigned i = 0; i < G_N_ELEMENTS(moves); i++)
        ns += MAX(0, s->step.ns[moves[i]]);
    if (!ns)
        return say(l, "dp.headline", "n", count(s->step.n_ranks), NULL);
    return say(l, "dp.headline-times", "n", count(s->step.n_ranks), "moved", format_duration(ns, moved), "step",
               format_duration(in->analysis->median_ns, whole), NULL);
}

static char *caption(const struct scene *s, const struct pen *pen, const struct figure_input *in)
{
    g_autofree char *origin = in->trace ? words_origin(pen, in, in->analysis->median_step) : frame_origin(pen, in->digest);
    g_autofree char *symbols = say(pen->lang, s->step.loss_inside ? "dp.symbols-inside" : "dp.symbols", "n",
                                   count(s->step.n_ranks), NULL);
    return g_strdup_printf("%s · %s", symbols, origin);
}

static bool draw_dp(const struct figure_input *in, const struct pen *pen, GError **error)
{
    struct scene s = {0};

    if (!dp_step_make(&s.step, in, error))
        return false;
    choose_stages(&s);
    g_autofree char *title = headline(&s, pen->lang, in), *brief = say(pen->lang, "dp.headline", "n", count(s.step.n_ranks), NULL),
                    *origin = caption(&s, pen, in);
    s.frame = frame_begin(pen, title, brief, origin);
    const bool ok = paint(&s, error);
    dp_step_release(&s.step);
    return ok;
}

const struct figure figure_dp = {
    .name = "dp",
    .summary = "the stages of DataParallel's forward and backward: who has which tensor, and what moves it",
    .draw = draw_dp,
};
