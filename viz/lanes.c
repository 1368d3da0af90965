#include "viz/lanes.h"

#include "viz/palette.h"

#define CELL_GAP   0.8 /* between cells that are wide enough to spare it */
#define LABEL_AIR  3.0 /* left and right of a label together */
#define MIN_WIDTH  0.5 /* of anything drawn */
#define RUN_GAP    3.0 /* no more than that between cells of a run */
#define MARK_SIZE  6.0
#define MARK_APART 5.0 /* marks nearer than that to the one before are left out */

static const struct font label_font = {13, WEIGHT_NORMAL};

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

#define NAMES 3

/* "·1" for micro-batch 1 where there are several. */
static const char *micro_suffix(const struct cell *c, char text[static 16])
{
    *text = '\0';
    if (c->micro != OP_NONE)
        g_snprintf(text, 16, "·%u", c->micro);
    return text;
}

/* A run of layers: "F embeddings", "F emb"; both "F3" for "layer3"; the shortest without the micro-batch. */
static void name_layers(const struct tables *t, const struct cell *c, char *names[NAMES])
{
    const char *kind = op_label(c->kind), *from = t->layers[c->first].block, *to = t->layers[c->last].block;
    char short_from[20], short_to[20], micro[16];

    block_short(from, short_from);
    block_short(to, short_to);
    micro_suffix(c, micro);
    if (!g_str_equal(from, to)) {
        names[0] = g_strdup_printf("%s %s–%s%s", kind, short_from, short_to, micro);
        names[1] = g_strconcat(kind, micro, NULL);
        names[2] = g_strdup(kind);
    } else if (block_numbered(from)) {
        names[0] = g_strconcat(kind, short_from, micro, NULL);
        names[1] = g_strdup(names[0]);
        names[2] = g_strconcat(kind, short_from, NULL);
    } else {
        g_autofree char *whole = g_strconcat(kind, " ", from, micro, NULL);
        names[0] = pen_one_line(whole);
        names[1] = g_strconcat(kind, " ", short_from, micro, NULL);
        names[2] = g_strconcat(kind, " ", short_from, NULL);
    }
}

/* The names of a compute cell, from long to short. */
static void name_compute(const struct tables *t, const struct cell *c, char *names[NAMES])
{
    const char *kind = op_label(c->kind);

    if (t->n_stages && c->micro != OP_NONE && c->kind != OP_LOSS) {
        names[0] = g_strdup_printf("%s%u", kind, c->micro);
        names[1] = g_strdup_printf("%u", c->micro);
        names[2] = g_strdup(names[1]);
    } else if ((c->kind == OP_FWD || c->kind == OP_BWD) && !t->n_stages && c->first < t->n_layers &&
               c->last < t->n_layers) {
        name_layers(t, c, names);
    } else if (c->kind == OP_OPTIM && c->first < t->n_buckets) {
        names[0] = g_strdup_printf("%s %u", kind, c->first);
        names[1] = g_strdup_printf("%u", c->first);
        names[2] = g_strdup(names[1]);
    } else {
        char micro[16];
        names[0] = g_strconcat(kind, micro_suffix(c, micro), NULL);
        names[1] = g_strdup(kind);
        names[2] = g_strdup(kind);
    }
}

static bool label_compute(const struct pen *p, const struct axis *a, const struct tables *t,
                          const struct cell *c, const struct lane_style *s, double y)
{
    const struct extent e = extent_of(a, c->start_ns, c->end_ns);
    char *names[NAMES];

    if (c->role == ROLE_PACK || c->role == ROLE_INPUT || !cell_is_itself(c) || e.w <= LABEL_AIR)
        return false;
    name_compute(t, c, names);
    const char *text = pen_fit(p, &label_font, NAMES, (const char *const *)names, e.w - LABEL_AIR);
    if (text)
        pen_text(p, e.x + e.w / 2, y + s->lane / 2, &label_font, ALIGN_CENTER,
                 palette_text_on(color_of(s, c->role)), text);
    for (unsigned i = 0; i < NAMES; i++)
        g_free(names[i]);
    return text;
}

/* A text on a plain ground, whatever hatch or line lies below. */
static void paint_chip(const struct pen *p, double x, double y, double lane, uint32_t ground,
                       const char *text)
{
    const double w = pen_width(p, &label_font, text) + 2, h = MIN(label_font.size + 4, lane);

    pen_box(p, x - w / 2, y + (lane - h) / 2, w, h, ground);
    pen_text(p, x, y + lane / 2, &label_font, ALIGN_CENTER, palette_text_on(ground), text);
}

/* Cells too narrow for their names: one name for all of them. */
static void label_run(const struct pen *p, const struct axis *a, const struct cell *first,
                      const struct cell *last, const struct lane_style *s, double y)
{
    char micro[16];
    g_autofree char *whole = g_strconcat(phase_name(op_phase(first->kind)), micro_suffix(first, micro), NULL);
    g_autofree char *brief = g_strconcat(op_label(first->kind), micro, NULL);
    const char *const texts[] = {whole, brief, op_label(first->kind)};
    const struct extent e = extent_of(a, first->start_ns, last->end_ns);
    const char *text = pen_fit(p, &label_font, G_N_ELEMENTS(texts), texts, e.w - LABEL_AIR);

    if (text)
        paint_chip(p, e.x + e.w / 2, y, s->lane, color_of(s, first->role), text);
}

/* A run is of one role, but for what is packed in between. */
static void label_runs(const struct pen *p, const struct axis *a, const struct tables *t, const GArray *cells,
                       const struct lane_style *s, double y)
{
    const double gap_ns = RUN_GAP * axis_ns_per_unit(a);

    for (unsigned i = 0, end; i < cells->len; i = end) {
        const struct cell *first = &g_array_index(cells, struct cell, i), *last = first;
        bool labelled = label_compute(p, a, t, first, s, y);
        for (end = i + 1; end < cells->len; end++) {
            const struct cell *c = &g_array_index(cells, struct cell, end);
            if ((double)(c->start_ns - c[-1].end_ns) > gap_ns ||
                (c->role != first->role && c->role != ROLE_PACK) ||
                (c->role == first->role && c->micro != first->micro))
                break;
            labelled |= label_compute(p, a, t, c, s, y);
            if (c->role == first->role)
                last = c;
        }
        if (!labelled && last != first && first->role != ROLE_PACK)
            label_run(p, a, first, last, s, y);
    }
}

static void paint_cells(const struct pen *p, const struct axis *a, const GArray *cells,
                        const struct lane_style *s, double y)
{
    for (unsigned i = 0; i < cells->len; i++) {
        const struct cell *c = &g_array_index(cells, struct cell, i);
        const struct extent e = extent_of(a, c->start_ns, c->end_ns);
        pen_box(p, e.x, y, e.w, s->lane, color_of(s, c->role));
    }
}

static void paint_intervals(const struct pen *p, const struct axis *a, const struct intervals *set, double y,
                            double h, uint32_t color, bool hatch)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct extent e = extent_of(a, set->v[i].start_ns, set->v[i].end_ns);
        if (hatch)
            pen_hatch(p, e.x, y, e.w, h, color);
        else
            pen_box(p, e.x, y, e.w, h, color);
    }
}

/* Where the label of a communication goes: beside the waiting that it may begin with. */
static struct extent label_extent(const struct axis *a, const struct row *row, const struct cell *c)
{
    int64_t start_ns = c->start_ns;

    for (size_t i = 0; i < row->waits.n && row->waits.v[i].start_ns <= c->start_ns; i++)
        start_ns = MAX(start_ns, row->waits.v[i].end_ns);
    return extent_of(a, MIN(start_ns, c->end_ns), c->end_ns);
}

static void label_comm(const struct pen *p, const struct axis *a, const struct tables *t,
                       const struct row *row, const struct cell *c, const struct lane_style *s, double y)
{
    const struct extent e = label_extent(a, row, c);
    char bytes[32], texts[3][64];
    const char *const candidates[] = {texts[0], texts[1], texts[2]};

    if (!cell_is_itself(c) || e.w <= LABEL_AIR)
        return;
    if (c->kind == OP_ALLREDUCE && c->first < t->n_buckets) {
        format_bytes(t->buckets[c->first].bytes, bytes);
        g_snprintf(texts[0], sizeof texts[0], "bucket %u · %s", c->first, bytes);
        g_snprintf(texts[1], sizeof texts[1], "%u · %s", c->first, bytes);
        g_snprintf(texts[2], sizeof texts[2], "%u", c->first);
    } else if (t->n_stages && c->first == OP_NONE && c->micro != OP_NONE) {
        g_snprintf(texts[0], sizeof texts[0], c->kind == OP_SEND ? "%u→%u" : "%u←%u", c->micro, c->last);
        g_snprintf(texts[1], sizeof texts[1], "%u", c->micro);
        g_strlcpy(texts[2], texts[1], sizeof texts[2]);
    } else {
        g_strlcpy(texts[0], op_label(c->kind), sizeof texts[0]);
        g_strlcpy(texts[1], c->kind == OP_BROADCAST ? "bcast" : texts[0], sizeof texts[1]);
        g_strlcpy(texts[2], texts[1], sizeof texts[2]);
    }
    const char *text = pen_fit(p, &label_font, G_N_ELEMENTS(candidates), candidates, e.w - LABEL_AIR);
    if (text)
        paint_chip(p, e.x + e.w / 2, y, s->lane, color_of(s, ROLE_COMM), text);
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
    paint_cells(p, a, row->comm, s, y);
    paint_intervals(p, a, &row->gaps, y, s->lane, palette_color(ROLE_LANE), false);
    paint_intervals(p, a, &row->waits, y, s->lane, color_of(s, ROLE_WAIT), false);
    paint_intervals(p, a, &row->exposed, y, s->lane, color_of(s, ROLE_EXPOSED), true);
}

void lanes_paint(const struct pen *p, const struct axis *a, const struct tables *t, const struct row *row,
                 const struct lane_style *s, double y)
{
    const struct extent track = {a->x0, axis_x(a, row->end_ns) - a->x0};
    const double comm_y = lanes_comm_y(s, y);

    pen_box(p, track.x, y, track.w, s->lane, palette_color(ROLE_LANE));
    paint_cells(p, a, row->copies, s, y);
    paint_cells(p, a, row->compute, s, y);
    if (s->comm) {
        pen_box(p, track.x, comm_y, track.w, s->lane, palette_color(ROLE_LANE));
        paint_comm(p, a, row, s, comm_y);
    }
    if (s->comm && s->marks && row->backward_end_ns) {
        const double x = axis_x(a, row->backward_end_ns);
        pen_line(p, x, y, x, comm_y + s->lane, palette_color(ROLE_INK), 1.5, true);
    }
    /* Labels last: where one lies on the line, its ground covers the line. */
    label_runs(p, a, t, row->compute, s, y);
    if (s->comm && s->marks)
        paint_marks(p, a, row->marks, s, y + s->lane);
    for (unsigned i = 0; s->comm && i < row->comm->len; i++)
        label_comm(p, a, t, row, &g_array_index(row->comm, struct cell, i), s, comm_y);
}

/* What is thinner than a unit cannot be told by its colour anyway. */
uint32_t legend_of(const struct step_rows *rows, double ns_per_unit, bool marks)
{
    uint32_t set = 0;

    for (uint32_t r = 0; r < rows->n; r++) {
        const struct row *row = &rows->rows[r];
        const GArray *cells[] = {row->copies, row->compute, row->comm};
        for (unsigned k = 0; k < G_N_ELEMENTS(cells); k++)
            for (unsigned i = 0; i < cells[k]->len; i++) {
                const struct cell *c = &g_array_index(cells[k], struct cell, i);
                const bool seen = c->role == ROLE_COMM || (double)(c->end_ns - c->start_ns) >= ns_per_unit;
                set |= seen ? 1u << c->role : 0;
            }
        set |= row->waits.n ? 1u << ROLE_WAIT : 0;
        set |= row->exposed.n ? 1u << ROLE_EXPOSED : 0;
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
    {ROLE_INPUT_GRADIENT, "I input gradient"},
    {ROLE_WEIGHT_GRADIENT, "W weight gradient"},
    {ROLE_RECOMPUTE, "R forward again"},
    {ROLE_PACK, "pack, unpack"},
    {LEGEND_READY, "bucket ready"},
    {ROLE_COMM, "communication"},
    {ROLE_WAIT, "waits for peers"},
    {ROLE_EXPOSED, "exposed communication"},
    {ROLE_OPTIMIZER, "optimizer step"},
    {ROLE_UPDATE, "optimizer"},
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
    const double size = label_font.size, air = 6, apart = 20;
    unsigned lines = 1;
    double at = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(entries); i++) {
        if (!(set & 1u << entries[i].role))
            continue;
        const double w = size + air + pen_width(p, &label_font, entries[i].text);
        if (at > 0 && at + w > width) {
            lines++;
            at = 0;
        }
        const double top = y + (lines - 1) * line;
        if (paint) {
            paint_swatch(p, entries[i].role, x + at, top + (line - size) / 2, size);
            pen_text(p, x + at + size + air, top + line / 2, &label_font, ALIGN_LEFT, palette_color(ROLE_INK),
                     entries[i].text);
        }
        at += w + apart;
    }
    return lines;
}
