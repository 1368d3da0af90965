/* An all-reduce hop by hop: who sends which chunk to whom, how many bytes, how long; and how the bytes on the busiest link
 * grow with the ranks. */
#include "viz/figure.h"

#include <string.h>

#include "profile/traffic.h"
#include "viz/growth.h"
#include "viz/hops.h"
#include "viz/ladder.h"
#include "viz/layout.h"
#include "viz/words.h"

#define GUTTER       168.0
#define GUTTER_CELLS 160.0
#define MOST_COLUMNS 16
#define LEAST_HEIGHT 330.0 /* of the curves */
#define PANEL_AIR    36.0

struct scene {
    struct frame frame;
    struct ladder ladder;
    struct hops hops;
    uint32_t rows; /* one a hop, one of the result */
};

static struct shade chunk_shade(const struct scene *s, const struct hop_move *m)
{
    return palette_hue(s->frame.pen.palette, m->chunk == OP_NONE ? s->hops.ranks[m->from] : m->chunk);
}

static char *chunk_name(const struct scene *s, const struct hop_move *m)
{
    return m->chunk == OP_NONE ? g_strdup("")
                               : g_strdup_printf("c%s", count((uint64_t)m->chunk + s->frame.pen.look->count_from));
}

/* "c2: 0+1", "c2: 2/4", "c2"; a sum of all parts is called Σ.  The last one may be "". */
static void name_move(const struct scene *s, const struct hop_move *m, char *texts[3])
{
    const uint32_t n = s->hops.n, from = s->frame.pen.look->count_from;
    g_autofree char *chunk = chunk_name(s, m);
    g_autoptr(GString) sum = g_string_new(NULL);
    const char *between = *chunk ? ": " : "";

    for (uint32_t i = 0; i < MIN(n, HOPS_NAMED) && m->n_summed < n; i++)
        if (m->summed >> i & 1)
            g_string_append_printf(sum, "%s%s", sum->len ? "+" : "", count((uint64_t)s->hops.ranks[i] + from));
    if (m->n_summed == n)
        g_string_append(sum, "Σ");
    texts[0] = sum->len ? g_strconcat(chunk, between, sum->str, NULL) : g_strdup(chunk);
    texts[1] = m->n_summed && m->n_summed < n ? g_strdup_printf("%s%s%u/%u", chunk, between, m->n_summed, n) : g_strdup(chunk);
    texts[2] = g_steal_pointer(&chunk);
}

static void paint_sender(const struct scene *s, const struct hop_move *m)
{
    char *texts[3], bytes[32];
    const uint32_t rank = s->hops.ranks[m->from], column = ladder_column(&s->ladder, m->from);
    const double x = ladder_middle(&s->ladder, column);

    name_move(s, m, texts);
    ladder_box(&s->ladder, m->hop, column, chunk_shade(s, m), 3, (const char *const *)texts, NULL);
    if (ladder_rank(&s->ladder, column) != OP_NONE) {
        const char *number = count(m->hop + 1);
        g_autofree char *step = say(s->frame.pen.lang, "allreduce.step", "n", number, NULL),
                        *english = say(language_standard(), "allreduce.step", "n", number, NULL),
                        *about = g_strdup_printf("%s · %s", texts[0], format_bytes(m->bytes, bytes));
        pen_span(&s->frame.pen, x - s->ladder.width / 2, ladder_row(&s->ladder, m->hop), s->ladder.width, s->ladder.box,
                 step, english, rank, about);
    }
    for (unsigned i = 0; i < 3; i++)
        g_free(texts[i]);
}

/* Places of boxes and arrows that are drawn: hops of members that are left out would lie over each other. */
struct drawn {
    bool *boxes, *arrows;
};

/* A chunk, and where it goes: it is there with the next hop. */
static void paint_move(const struct scene *s, const struct hop_move *m, const struct drawn *drawn)
{
    const struct pen *p = &s->frame.pen;
    const uint32_t columns = s->ladder.n_columns, from = ladder_column(&s->ladder, m->from),
                   to = ladder_column(&s->ladder, m->to);
    bool *box = &drawn->boxes[m->hop * columns + from], *arrow = &drawn->arrows[(m->hop * columns + from) * columns + to];

    pen_belong_step(p, m->hop);
    if (!*box)
        paint_sender(s, m);
    pen_belong_step(p, m->hop + 1);
    if (!*arrow) {
        const uint32_t number = m->chunk == OP_NONE ? s->hops.ranks[m->from] : m->chunk;
        ladder_arrow(&s->ladder, m->hop, from, to, palette_line(p->palette, number), palette_dashed(p->palette, number));
    }
    *box = *arrow = true;
}

static void paint_column(const struct scene *s, uint32_t column, const struct drawn *drawn)
{
    static const char *const sum[] = {"Σ"};
    const struct pen *p = &s->frame.pen;

    ladder_begin_column(&s->ladder, column);
    ladder_name(&s->ladder, column);
    for (uint32_t i = 0; i < s->hops.moves->len; i++) {
        const struct hop_move *m = &g_array_index(s->hops.moves, struct hop_move, i);
        if (m->hop + 1 >= s->ladder.rows)
            break;
        if (ladder_column(&s->ladder, m->from) == column)
            paint_move(s, m, drawn);
    }
    for (uint32_t row = 0; row < s->ladder.rows; row++) {
        const bool last = row + 1 == s->rows;
        pen_belong_step(p, row);
        if (!drawn->boxes[row * s->ladder.n_columns + column])
            ladder_box(&s->ladder, row, column, pen_shade(p, last ? ROLE_INK : ROLE_LANE), last, sum, NULL);
    }
    ladder_end_column(&s->ladder, column);
}

static void paint_columns(const struct scene *s)
{
    const gsize places = (gsize)s->rows * s->ladder.n_columns;
    g_autofree bool *boxes = g_new0(bool, places), *arrows = g_new0(bool, places * s->ladder.n_columns);

    for (uint32_t c = 0; c < s->ladder.n_columns; c++)
        paint_column(s, c, &(struct drawn){boxes, arrows});
}

static void paint_sides(const struct scene *s)
{
    const struct pen *p = &s->frame.pen;

    for (uint32_t row = 0; row + 1 < s->ladder.rows; row++) {
        char bytes[32], time[32];
        const bool sum = row == s->hops.n_hops;
        const struct hop_times *hop = &s->hops.hops[MIN(row, s->hops.n_hops - 1)];
        g_autofree char *name = say(p->lang, sum ? "allreduce.sum" : hop->adds ? "allreduce.add" : "allreduce.copy", "n",
                                    count(row + 1), NULL);
        g_autofree char *numbers =
            sum ? g_strdup(format_duration(s->hops.sum_ns, time))
                : g_strdup_printf("%s · %s", format_bytes(hop->bytes, bytes), format_duration(hop->ns, time));
        pen_belong_step(p, row + 1);
        ladder_beside(&s->ladder, row, name, numbers);
    }
    pen_belong_step(p, DRAW_NONE);
}

static void paint_rest(const struct scene *s)
{
    const struct pen *p = &s->frame.pen;

    if (s->ladder.rows == s->rows)
        return;
    g_autofree char *whole = say(p->lang, "allreduce.hidden", "shown", count(s->ladder.rows - 1), "n", count(s->rows - 1), NULL);
    g_autofree char *text = pen_ellipsize(p, &p->text, whole, s->frame.x1 - s->frame.x0);
    pen_belong_rest(p);
    frame_text(&s->frame, s->frame.x0, s->frame.y1 - FRAME_NOTE / 2, &p->text, ALIGN_LEFT, ROLE_MUTED, text);
    pen_belong_rank_only(p);
}

static bool lay_out(struct scene *s, GError **error)
{
    struct frame *f = &s->frame;
    const bool cells = f->pen.ops->cells, curves = !cells && f->y1 - f->y0 >= LEAST_HEIGHT &&
                                                   f->x1 - f->x0 >= 2 * GROWTH_WIDTH + PANEL_AIR;
    const double y1 = f->y1 - FRAME_AIR / 2, x1 = curves ? f->x1 - GROWTH_WIDTH - PANEL_AIR : f->x1, gutter = cells ? GUTTER_CELLS : GUTTER;

    if (!ladder_make(&s->ladder, f, f->x0, x1, f->y0, y1, gutter, s->hops.n, MOST_COLUMNS, s->rows) ||
        (s->ladder.rows < s->rows && !ladder_make(&s->ladder, f, f->x0, x1, f->y0, y1 - FRAME_NOTE, gutter, s->hops.n,
                                                  MOST_COLUMNS, s->rows)))
        return frame_no_room(&f->pen, "allreduce", "two ranks and a step", error);
    if (curves) {
        pen_belong_rest(&f->pen);
        growth_paint(f, f->x1 - GROWTH_WIDTH, f->x1, f->y0, f->y1, s->hops.algo, s->hops.n, s->hops.bytes);
        pen_belong_rank_only(&f->pen);
    }
    return true;
}

static bool paint(struct scene *s, GError **error)
{
    const struct pen *p = &s->frame.pen;
    const bool chunks = s->hops.algo == ALLREDUCE_RING;
    const struct legend_entry entries[] = {
        {.text = word(p->lang, chunks ? "allreduce.legend-chunk" : "allreduce.legend-whole"),
         .shade = palette_hue(p->palette, chunks ? 1 : 2)},
        {.text = word(p->lang, "allreduce.legend-sum"), .shade = pen_shade(p, ROLE_INK)}};

    frame_legend(&s->frame, G_N_ELEMENTS(entries), entries);
    if (!lay_out(s, error))
        return false;
    paint_columns(s);
    paint_sides(s);
    paint_rest(s);
    return true;
}

static char *headline(const struct scene *s, const struct language *l, const char *key)
{
    char size[32], busiest[32];

    return say(l, key, "algo", growth_name(l, s->hops.algo), "n", count(s->hops.n), "size",
               format_bytes(s->hops.bytes, size), "steps", count(s->rows - 1), "bytes",
               format_bytes(traffic_busiest_bytes(s->hops.algo, s->hops.n, s->hops.bytes), busiest), NULL);
}

static bool drawable(const struct figure_input *in, struct hops *hops, GError **error)
{
    const char *why = NULL;

    if (!in->trace)
        why = "needs a run or its trace: reports and sweeps do not say who sends what to whom";
    else if (in->trace->t.n_ranks < 2)
        why = "needs two ranks or more: one has nobody to reduce with";
    else if (!hops_collect(hops, in->trace, in->analysis->median_step))
        why = "needs an all-reduce in hops, and the trace has none or only whole ones: run --mode ddp with --allreduce "
              "ring, tree, reduce-broadcast or all-to-all";
    if (why)
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "figure allreduce %s", why);
    return !why;
}

static bool draw_allreduce(const struct figure_input *in, const struct pen *pen, GError **error)
{
    struct scene s = {0};

    if (!drawable(in, &s.hops, error))
        return false;
    s.rows = s.hops.n_hops + (s.hops.sum_ns >= 0) + 1;
    g_autofree char *title = headline(&s, pen->lang, "allreduce.headline"),
                    *brief = headline(&s, pen->lang, "allreduce.headline-brief"),
                    *origin = words_origin(pen, in, in->analysis->median_step);
    s.frame = frame_begin(pen, title, brief, origin);
    const bool ok = paint(&s, error);
    hops_release(&s.hops);
    return ok;
}

const struct figure figure_allreduce = {
    .name = "allreduce",
    .summary = "an all-reduce step by step: who sends which chunk to whom, and how that grows with the ranks",
    .draw = draw_allreduce,
};
