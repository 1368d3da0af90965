#include "viz/lanes.h"

#include "viz/palette.h"

#define CELL_GAP   0.8 /* between cells that are wide enough to spare it */
#define LABEL_AIR  5.0 /* left and right of a label together */
#define MIN_WIDTH  0.5 /* of anything drawn */
#define MARK_SIZE  6.0
#define MARK_APART 5.0 /* marks nearer than that to the one before are left out */

static const struct font label_font = {13, WEIGHT_NORMAL}, legend_font = {14, WEIGHT_NORMAL};

double lanes_height(const struct lane_style *s)
{
    return s->comm ? 2 * s->lane + s->strip : s->lane;
}

double lanes_comm_y(const struct lane_style *s, double y)
{
    return y + s->lane + s->strip;
}

/* Where something lies on the axis. */
struct extent {
    double x, w;
};

static struct extent extent_of(const struct axis *a, int64_t start_ns, int64_t end_ns)
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

static uint32_t color_of(const struct lane_style *s, enum role role)
{
    return palette_tint(palette_color(role), s->strength);
}

/* The label of a compute cell, long and short: "F embeddings", "F emb"; "F3" both for "layer3". */
static void name_compute(const struct tables *t, const struct cell *c, char *texts[2])
{
    const char *kind = op_label(c->kind);
    char from[20], to[20];

    if (c->first >= t->n_layers || c->last >= t->n_layers) {
        texts[0] = g_strdup(kind);
        texts[1] = g_strdup(kind);
        return;
    }
    const char *block = t->layers[c->first].block;
    const bool run = !g_str_equal(block, t->layers[c->last].block);
    block_short(block, from);
    block_short(t->layers[c->last].block, to);
    if (run)
        texts[0] = g_strdup_printf("%s %s–%s", kind, from, to);
    else
        texts[0] = g_strdup_printf(block_numbered(block) ? "%s%s" : "%s %s", kind,
                                   block_numbered(block) ? from : block);
    texts[1] = run ? g_strdup(kind) : g_strdup_printf(block_numbered(block) ? "%s%s" : "%s %s", kind, from);
}

static void paint_compute(const struct pen *p, const struct axis *a, const struct tables *t,
                          const struct cell *c, const struct lane_style *s, double y)
{
    const struct extent e = extent_of(a, c->start_ns, c->end_ns);
    const uint32_t color = color_of(s, c->role);
    char *texts[2];

    pen_box(p, e.x, y, e.w, s->lane, color);
    if (c->role == ROLE_PACK || c->role == ROLE_INPUT || !cell_is_itself(c) || e.w <= LABEL_AIR)
        return;
    name_compute(t, c, texts);
    for (unsigned i = 0; i < 2; i++) {
        char *whole = pen_ellipsize(p, &label_font, texts[i], 1e9); /* made valid */
        g_free(texts[i]);
        texts[i] = whole;
    }
    const char *text = pen_fit(p, &label_font, 2, (const char *const *)texts, e.w - LABEL_AIR);
    if (text)
        pen_text(p, e.x + e.w / 2, y + s->lane / 2, &label_font, ALIGN_CENTER, palette_text_on(color), text);
    g_free(texts[0]);
    g_free(texts[1]);
}

static void paint_intervals(const struct pen *p, const struct axis *a, const GArray *intervals, double y,
                            double h, uint32_t color, bool hatch)
{
    for (unsigned i = 0; i < intervals->len; i++) {
        const struct interval *v = &g_array_index(intervals, struct interval, i);
        const struct extent e = extent_of(a, v->start_ns, v->end_ns);
        if (hatch)
            pen_hatch(p, e.x, y, e.w, h, color);
        else
            pen_box(p, e.x, y, e.w, h, color);
    }
}

static void label_comm(const struct pen *p, const struct axis *a, const struct tables *t,
                       const struct cell *c, const struct lane_style *s, double y)
{
    const struct extent e = extent_of(a, c->start_ns, c->end_ns);
    const uint32_t color = color_of(s, ROLE_COMM);
    char bytes[32], texts[3][64];
    const char *const candidates[] = {texts[0], texts[1], texts[2]};
    const bool known = c->first < t->n_buckets;

    if (!cell_is_itself(c) || e.w <= LABEL_AIR)
        return;
    if (known) {
        format_bytes(t->buckets[c->first].bytes, bytes);
        g_snprintf(texts[0], sizeof texts[0], "bucket %u · %s", c->first, bytes);
        g_snprintf(texts[1], sizeof texts[1], "%u · %s", c->first, bytes);
        g_snprintf(texts[2], sizeof texts[2], "%u", c->first);
    } else {
        g_strlcpy(texts[0], op_label(c->kind), sizeof texts[0]);
    }
    const char *text = pen_fit(p, &label_font, known ? 3 : 1, candidates, e.w - LABEL_AIR);
    if (!text)
        return;
    /* a plain ground, whatever hatch or line lies below */
    const double w = pen_width(p, &label_font, text) + 4, h = MIN(label_font.size + 4, s->lane);
    pen_box(p, e.x + (e.w - w) / 2, y + (s->lane - h) / 2, w, h, color);
    pen_text(p, e.x + e.w / 2, y + s->lane / 2, &label_font, ALIGN_CENTER, palette_text_on(color), text);
}

/* From where a bucket became ready, at the lower edge of the compute lane, to where its communication starts.
 * Buckets start in the order in which they are launched, so the lines fan out and never cross. */
static void paint_marks(const struct pen *p, const struct axis *a, const GArray *marks,
                        const struct lane_style *s, double y)
{
    const uint32_t color = palette_color(ROLE_INK);
    const double size = MIN(MARK_SIZE, s->strip), half = size * 0.6;
    double before = -MARK_APART;

    for (unsigned i = 0; i < marks->len; i++) {
        const struct ready_mark *m = &g_array_index(marks, struct ready_mark, i);
        const double x = axis_x(a, m->ready_ns), start = axis_x(a, m->start_ns);
        if (i && x - before < MARK_APART && before - x < MARK_APART)
            continue;
        before = x;
        pen_line(p, x, y, start, y + s->strip, color, 1, false);
        pen_mark(p, CLAMP(x, a->x0 + half, a->x1 - half), y, size, color);
    }
}

static void paint_comm(const struct pen *p, const struct axis *a, const struct row *row,
                       const struct lane_style *s, double y)
{
    for (unsigned i = 0; i < row->comm->len; i++) {
        const struct cell *c = &g_array_index(row->comm, struct cell, i);
        const struct extent e = extent_of(a, c->start_ns, c->end_ns);
        pen_box(p, e.x, y, e.w, s->lane, color_of(s, ROLE_COMM));
    }
    paint_intervals(p, a, row->waits, y, s->lane, color_of(s, ROLE_WAIT), false);
    paint_intervals(p, a, row->exposed, y, s->lane, color_of(s, ROLE_EXPOSED), true);
}

void lanes_paint(const struct pen *p, const struct axis *a, const struct tables *t, const struct row *row,
                 const struct lane_style *s, double y)
{
    const struct extent track = {a->x0, axis_x(a, row->end_ns) - a->x0};
    const double comm_y = lanes_comm_y(s, y);

    pen_box(p, track.x, y, track.w, s->lane, palette_color(ROLE_LANE));
    for (unsigned i = 0; i < row->copies->len; i++)
        paint_compute(p, a, t, &g_array_index(row->copies, struct cell, i), s, y);
    for (unsigned i = 0; i < row->compute->len; i++)
        paint_compute(p, a, t, &g_array_index(row->compute, struct cell, i), s, y);
    if (!s->comm)
        return;
    pen_box(p, track.x, comm_y, track.w, s->lane, palette_color(ROLE_LANE));
    paint_comm(p, a, row, s, comm_y);
    if (s->marks && row->backward_end_ns) {
        const double x = axis_x(a, row->backward_end_ns);
        pen_line(p, x, y, x, comm_y + s->lane, palette_color(ROLE_INK), 1.5, true);
    }
    if (s->marks)
        paint_marks(p, a, row->marks, s, y + s->lane);
    for (unsigned i = 0; i < row->comm->len; i++)
        label_comm(p, a, t, &g_array_index(row->comm, struct cell, i), s, comm_y);
}

uint32_t legend_of(const struct step_rows *rows, bool marks)
{
    uint32_t set = 0;

    for (uint32_t r = 0; r < rows->n; r++) {
        const struct row *row = &rows->rows[r];
        const GArray *cells[] = {row->copies, row->compute, row->comm};
        for (unsigned k = 0; k < G_N_ELEMENTS(cells); k++)
            for (unsigned i = 0; i < cells[k]->len; i++)
                set |= 1u << g_array_index(cells[k], struct cell, i).role;
        set |= row->waits->len ? 1u << ROLE_WAIT : 0;
        set |= row->exposed->len ? 1u << ROLE_EXPOSED : 0;
        set |= marks && row->marks->len ? 1u << LEGEND_READY : 0;
    }
    return set;
}

static const struct {
    unsigned role;
    const char *text;
} entries[] = {
    {ROLE_INPUT, "input"},
    {ROLE_FORWARD, "F forward"},
    {ROLE_LOSS, "loss"},
    {ROLE_BACKWARD, "B backward"},
    {ROLE_PACK, "bucket copy"},
    {LEGEND_READY, "bucket ready"},
    {ROLE_COMM, "all-reduce"},
    {ROLE_WAIT, "waits for peers"},
    {ROLE_EXPOSED, "exposed: nothing computes"},
    {ROLE_OPTIMIZER, "optimizer step"},
};

static void paint_swatch(const struct pen *p, unsigned role, double x, double y, double size)
{
    if (role == LEGEND_READY) {
        pen_mark(p, x + size / 2, y + size / 4, size / 2, palette_color(ROLE_INK));
        return;
    }
    pen_box(p, x, y, size, size, palette_color(role == ROLE_EXPOSED ? ROLE_COMM : role));
    if (role == ROLE_EXPOSED)
        pen_hatch(p, x, y, size, size, palette_color(ROLE_EXPOSED));
}

unsigned legend_paint(const struct pen *p, uint32_t set, double x, double y, double width, double line,
                      bool paint)
{
    const double size = legend_font.size, air = 6, apart = 20;
    unsigned lines = 1;
    double at = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(entries); i++) {
        if (!(set & 1u << entries[i].role))
            continue;
        const double w = size + air + pen_width(p, &legend_font, entries[i].text);
        if (at > 0 && at + w > width) {
            lines++;
            at = 0;
        }
        const double top = y + (lines - 1) * line;
        if (paint) {
            paint_swatch(p, entries[i].role, x + at, top + (line - size) / 2, size);
            pen_text(p, x + at + size + air, top + line / 2, &legend_font, ALIGN_LEFT,
                     palette_color(ROLE_INK), entries[i].text);
        }
        at += w + apart;
    }
    return lines;
}
