#include "viz/lanes.h"

#include <string.h>

#include "viz/blocks.h"

#define CELL_GAP   0.8 /* between cells that are wide enough to spare it */
#define LABEL_AIR  2.0 /* left and right of a label together */
#define MIN_WIDTH  0.5 /* of anything drawn */
#define TOUCHING   0.01
#define MOST_JOINED 24.0 /* width from which on a box of cells that look like one takes no more of them */
#define RUN_GAP    3.0 /* no more than that between cells of a run */
#define MARK_SIZE  6.0
#define MARK_APART 5.0 /* marks nearer than that to the one before are left out */

#define CRITICAL   3.0 /* thickness of the bar over what is on the critical path */
#define MIN_SPAN   1.5 /* width of what can be pointed at */
#define SMALLEST   13.0
#define LEAST_ROOM (SMALLEST / 3) /* no label is narrower */
#define TEXT_PART  0.62 /* of a lane's height, a label at most */
#define MOST_FIT   0.95 /* of the labels, at a size that is taken for all */
#define MANY_FIT   0.5  /* at the greatest one, at which the others are left out */

/* Of the labels of a lane, by kind. */
struct label_fonts {
    struct font best[OP_KINDS];
};

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

static struct shade shade_of(const struct pen *p, const struct lane_style *s, enum role role)
{
    return palette_tint(p->palette, pen_shade(p, role), s->strength);
}

/* What is drawn next is of that cell. */
static void belong(const struct pen *p, const struct tables *t, const struct cell *c)
{
    const bool of_bucket = !t->n_stages && (c->role == ROLE_COMM || c->kind == OP_OPTIM) && c->first < t->n_buckets;

    pen_belong(p, KEY_MICRO, c->micro == OP_NONE ? DRAW_NONE : (int64_t)c->micro);
    pen_belong(p, KEY_BUCKET, of_bucket ? (int64_t)c->first : DRAW_NONE);
    pen_belong(p, KEY_PHASE, (int64_t)op_phase(c->kind));
    pen_belong(p, KEY_TIME, c->start_ns);
}

static struct shade cell_shade(const struct pen *p, const struct tables *t, const struct lane_style *s,
                               const struct cell *c)
{
    const uint32_t number = lanes_number(p, t, c);

    if (number != OP_NONE)
        return palette_tint(p->palette,
                            c->role == ROLE_COMM ? palette_hue(p->palette, number)
                                                 : block_number_shade(p->palette, c->kind, number),
                            s->strength);
    return palette_tint(p->palette, pen_shade(p, (enum role)c->role),
                        s->strength * (p->look->color_by == COLOR_BY_KIND ? 1 : LANES_OTHERS));
}

#define NAMES 3

/* "·1" for micro-batch 1 where there are several. */
static const char *micro_suffix(const struct pen *p, const struct cell *c, char text[static 16])
{
    *text = '\0';
    if (c->micro != OP_NONE)
        g_snprintf(text, 16, "·%u", c->micro + p->look->count_from);
    return text;
}

/* What a kind is called in a cell: F, B and W in every language. */
static const char *label_of(const struct pen *p, unsigned kind)
{
    return word_or(p->lang, "op", op_label(kind));
}

/* A run of layers: "F embeddings", "F emb"; both "F3" for "layer3"; the shortest without the micro-batch. */
static void name_layers(const struct pen *p, const struct tables *t, const struct cell *c, char *names[NAMES])
{
    const char *kind = label_of(p, c->kind), *from = t->layers[c->first].block,
               *to = t->layers[c->last].block;
    char short_from[20], short_to[20], micro[16];

    block_short(from, short_from);
    block_short(to, short_to);
    micro_suffix(p, c, micro);
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
static void name_compute(const struct pen *p, const struct tables *t, const struct cell *c,
                         char *names[NAMES])
{
    const char *kind = label_of(p, c->kind);
    const uint32_t from = p->look->count_from;

    if (t->n_stages && c->micro != OP_NONE && c->kind != OP_LOSS) {
        names[0] = g_strdup_printf("%s%u", kind, c->micro + from);
        names[1] = g_strdup_printf("%u", c->micro + from);
        names[2] = g_strdup(names[1]);
    } else if ((c->kind == OP_FWD || c->kind == OP_BWD) && !t->n_stages && c->first < t->n_layers &&
               c->last < t->n_layers) {
        name_layers(p, t, c, names);
    } else if (c->kind == OP_OPTIM && c->first < t->n_buckets) {
        names[0] = g_strdup_printf("%s %u", kind, c->first + from);
        names[1] = g_strdup_printf("%u", c->first + from);
        names[2] = g_strdup(names[1]);
    } else {
        char micro[16];
        names[0] = g_strconcat(kind, micro_suffix(p, c, micro), NULL);
        names[1] = g_strdup(kind);
        names[2] = g_strdup(kind);
    }
}

/* The names of a communication: "bucket 3 · 25.0 MiB". */
static void name_comm(const struct pen *p, const struct tables *t, const struct cell *c, char *names[NAMES])
{
    const uint32_t from = p->look->count_from;

    if (c->kind == OP_ALLREDUCE && c->first < t->n_buckets) {
        char bytes[32];
        const char *n = count(c->first + from);
        names[0] = say(p->lang, "timeline.bucket", "n", n, "size",
                       format_bytes(t->buckets[c->first].bytes, bytes), NULL);
        names[1] = g_strdup_printf("%s · %s", n, bytes);
        names[2] = g_strdup(n);
    } else if (t->n_stages && c->first == OP_NONE && c->micro != OP_NONE) {
        names[0] = g_strdup_printf(c->kind == OP_SEND ? "%u→%u" : "%u←%u", c->micro + from, c->last + from);
        names[1] = g_strdup_printf("%u", c->micro + from);
        names[2] = g_strdup(names[1]);
    } else {
        names[0] = g_strdup(label_of(p, c->kind));
        names[1] = g_strdup(c->kind == OP_BROADCAST ? word(p->lang, "op.bcast") : names[0]);
        names[2] = g_strdup(names[1]);
    }
}

static void free_names(char *names[NAMES])
{
    for (unsigned i = 0; i < NAMES; i++)
        g_free(names[i]);
}

char *lanes_name(const struct pen *p, const struct tables *t, const struct cell *c, bool comm)
{
    char *names[NAMES];

    if (comm && c->kind == OP_ALLREDUCE && c->first < t->n_buckets)
        return say(p->lang, "timeline.bucket-name", "n", count((uint64_t)c->first + p->look->count_from), NULL);
    (comm ? name_comm : name_compute)(p, t, c, names);
    char *name = g_steal_pointer(&names[0]);
    free_names(names);
    return name;
}

static bool nameless(const struct cell *c)
{
    return c->role == ROLE_PACK || c->role == ROLE_INPUT || !cell_is_itself(c);
}

/* How many cells of that kind have room for a name. */
static unsigned count_fitting(const struct pen *p, const struct axis *a, const struct tables *t,
                              const GArray *cells, unsigned kind, const struct font *font)
{
    unsigned n = 0;

    for (unsigned i = 0; i < cells->len; i++) {
        const struct cell *c = &g_array_index(cells, struct cell, i);
        const double room = extent_of(a, c->start_ns, c->end_ns).w - LABEL_AIR;
        char *names[NAMES];
        if (c->kind != kind || nameless(c) || room < LEAST_ROOM)
            continue;
        name_compute(p, t, c, names);
        n += pen_width(p, font, names[0]) <= room || pen_width(p, font, names[NAMES - 1]) <= room;
        free_names(names);
    }
    return n;
}

/* Of a kind the greatest size at which many fit, or nearly all that fit at all, so that they look alike. */
static struct font choose_font(const struct pen *p, const struct axis *a, const struct tables *t,
                               const GArray *cells, unsigned kind, const struct lane_style *s)
{
    static const struct {
        double size, fit;
    } sizes[] = {{20, MANY_FIT}, {17, MOST_FIT}, {15, MOST_FIT}};
    const struct font least = {SMALLEST, WEIGHT_NORMAL};
    const unsigned most = p->ops->cells ? 0 : count_fitting(p, a, t, cells, kind, &least);

    for (unsigned i = 0; most && i < G_N_ELEMENTS(sizes); i++) {
        const struct font font = {sizes[i].size, WEIGHT_NORMAL};
        if (font.size <= s->lane * TEXT_PART && font.size <= p->strong.size &&
            count_fitting(p, a, t, cells, kind, &font) >= sizes[i].fit * most)
            return font;
    }
    return least;
}

static struct label_fonts choose_fonts(const struct pen *p, const struct axis *a, const struct tables *t,
                                       const GArray *cells, const struct lane_style *s)
{
    struct label_fonts f = {0};

    for (unsigned i = 0; i < cells->len; i++) {
        const struct cell *c = &g_array_index(cells, struct cell, i);
        if (c->kind < OP_KINDS && f.best[c->kind].size == 0)
            f.best[c->kind] = choose_font(p, a, t, cells, c->kind, s);
    }
    return f;
}

/* The first name that fits at the larger size, else at the smaller one: rather few letters that can be read from afar. */
static const char *fit(const struct pen *p, const struct font *best, const struct font *least, unsigned n,
                       const char *const *names, double room, const struct font **font)
{
    for (unsigned i = 0; i < 2 * n; i++) {
        *font = i < n ? best : least;
        if (pen_width(p, *font, names[i % n]) <= room)
            return names[i % n];
    }
    return NULL;
}

static bool label_compute(const struct pen *p, const struct axis *a, const struct tables *t,
                          const struct cell *c, const struct lane_style *s, const struct label_fonts *f,
                          double y)
{
    const struct extent e = extent_of(a, c->start_ns, c->end_ns);
    const struct font *font;
    char *names[NAMES];

    if (nameless(c) || e.w - LABEL_AIR < LEAST_ROOM)
        return false;
    belong(p, t, c);
    name_compute(p, t, c, names);
    const char *text =
        fit(p, &f->best[c->kind], &f->best[c->kind], NAMES, (const char *const *)names, e.w - LABEL_AIR, &font);
    if (text)
        pen_label(p, e.x + e.w / 2, y + s->lane / 2, s->lane, font, cell_shade(p, t, s, c), false, text);
    free_names(names);
    return text;
}

/* Cells too narrow for their names: one name for all of them. */
static void label_run(const struct pen *p, const struct axis *a, const struct tables *t,
                      const struct cell *first, const struct cell *last, const struct lane_style *s, double y)
{
    char micro[16];
    const char *kind = label_of(p, first->kind),
               *phase = word_or(p->lang, "phase", phase_name(op_phase(first->kind)));
    g_autofree char *whole = g_strconcat(phase, micro_suffix(p, first, micro), NULL);
    g_autofree char *brief = g_strconcat(kind, micro, NULL);
    const char *const texts[] = {whole, brief, kind};
    const struct extent e = extent_of(a, first->start_ns, last->end_ns);
    const struct font best = {MIN(p->text.size, MAX(SMALLEST, s->lane * TEXT_PART)), WEIGHT_NORMAL},
                      least = {SMALLEST, WEIGHT_NORMAL}, *font;
    const char *text = fit(p, &best, &least, G_N_ELEMENTS(texts), texts, e.w - 2 * LABEL_AIR, &font);

    belong(p, t, last);
    if (text && !first->share)
        pen_label(p, e.x + e.w / 2, y + s->lane / 2, s->lane, font, cell_shade(p, t, s, first), true, text);
}

/* A run is of one role, but for what is packed in between. */
static void label_runs(const struct pen *p, const struct axis *a, const struct tables *t, const GArray *cells,
                       const struct lane_style *s, double y)
{
    const double gap_ns = RUN_GAP * axis_ns_per_unit(a);
    const struct label_fonts f = choose_fonts(p, a, t, cells, s);

    for (unsigned i = 0, end; i < cells->len; i = end) {
        const struct cell *first = &g_array_index(cells, struct cell, i), *last = first;
        bool labelled = label_compute(p, a, t, first, s, &f, y);
        for (end = i + 1; end < cells->len; end++) {
            const struct cell *c = &g_array_index(cells, struct cell, end);
            if ((double)(c->start_ns - c[-1].end_ns) > gap_ns ||
                (c->role != first->role && c->role != ROLE_PACK) ||
                (c->role == first->role && c->micro != first->micro))
                break;
            labelled |= label_compute(p, a, t, c, s, &f, y);
            if (c->role == first->role)
                last = c;
        }
        if (!labelled && last != first && first->role != ROLE_PACK)
            label_run(p, a, t, first, last, s, y);
    }
}

/* Whether two boxes without a gap between them would look like one, and may come together in a build. */
static bool alike(const struct cell *c, struct shade x, const struct cell *next, struct shade y)
{
    return !c->share && !next->share && x.color == y.color && x.hatch == HATCH_NONE &&
           y.hatch == HATCH_NONE && c->role == next->role && c->kind == next->kind &&
           c->micro == next->micro && c->role != ROLE_COMM && c->kind != OP_OPTIM;
}

/* As high as its share of the time, on what is below it: its area is its time. */
static void paint_share(const struct pen *p, const struct axis *a, const struct tables *t,
                        const struct cell *c, const struct lane_style *s, double y)
{
    const double x = axis_x(a, c->start_ns), w = axis_x(a, c->end_ns) - x, h = s->lane * c->share,
                 top = y + s->lane * (1 - c->below) - h;

    if (c->role == ROLE_EXPOSED)
        pen_hatch(p, x, top, w, h, shade_of(p, s, ROLE_EXPOSED));
    else
        pen_box(p, x, top, w, h, cell_shade(p, t, s, c));
}

static void paint_cells(const struct pen *p, const struct axis *a, const struct tables *t, const GArray *cells,
                        const struct lane_style *s, double y)
{
    for (unsigned i = 0; i < cells->len; i++) {
        const struct cell *c = &g_array_index(cells, struct cell, i);
        struct extent e = extent_of(a, c->start_ns, c->end_ns);
        const struct shade shade = cell_shade(p, t, s, c);
        while (i + 1 < cells->len && e.w < MOST_JOINED && c->end_ns == c[1].start_ns &&
               alike(c, shade, c + 1, cell_shade(p, t, s, c + 1))) {
            const struct extent next = extent_of(a, c[1].start_ns, c[1].end_ns);
            if (next.x - (e.x + e.w) > TOUCHING)
                break;
            e.w = next.x + next.w - e.x;
            c++, i++;
        }
        belong(p, t, c);
        if (c->share > 0)
            paint_share(p, a, t, c, s, y);
        else
            pen_box(p, e.x, y, e.w, s->lane, shade);
    }
}

/* Over cells, the last of which is what each belongs to. */
static void paint_intervals(const struct pen *p, const struct axis *a, const struct tables *t, const GArray *cells,
                            const struct intervals *set, double y, double h, struct shade shade, bool hatch)
{
    unsigned last = 0;

    for (size_t i = 0; i < set->n; i++) {
        while (last + 1 < cells->len && g_array_index(cells, struct cell, last + 1).start_ns < set->v[i].end_ns)
            last++;
        struct extent e = extent_of(a, set->v[i].start_ns, set->v[i].end_ns);
        if (cells->len) {
            const struct cell *c = &g_array_index(cells, struct cell, last);
            belong(p, t, c);
            if (c->end_ns > set->v[i].end_ns) /* no air within a cell */
                e.w = MAX(MIN_WIDTH, axis_x(a, set->v[i].end_ns) - e.x);
        }
        if (hatch)
            pen_hatch(p, e.x, y, e.w, h, shade);
        else
            pen_box(p, e.x, y, e.w, h, shade);
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
    const double size = s->lane * TEXT_PART >= p->text.size ? p->text.size : SMALLEST;
    const struct font best = {size, WEIGHT_NORMAL}, least = {SMALLEST, WEIGHT_NORMAL}, *font;
    char *names[NAMES];

    if (!cell_is_itself(c) || e.w - LABEL_AIR - 3 < LEAST_ROOM)
        return;
    belong(p, t, c);
    name_comm(p, t, c, names);
    const char *text = fit(p, &best, &least, NAMES, (const char *const *)names, e.w - LABEL_AIR - 3, &font);
    if (text)
        pen_label(p, e.x + e.w / 2, y + s->lane / 2, s->lane, font, cell_shade(p, t, s, c), true, text);
    free_names(names);
}

/* From where a bucket became ready, at the lower edge of the compute lane, to where its communication starts.
 * Buckets start in the order in which they are launched, so the lines fan out and never cross. */
static void paint_marks(const struct pen *p, const struct axis *a, const GArray *marks,
                        const struct lane_style *s, double y)
{
    const uint32_t color = pen_color(p, ROLE_INK);
    const double size = MIN(MARK_SIZE, s->strip), half = size * 0.6;
    double before = -MARK_APART;

    for (unsigned i = 0; i < marks->len; i++) {
        const struct ready_mark *m = &g_array_index(marks, struct ready_mark, i);
        const double x = axis_x(a, m->ready_ns), start = axis_x(a, m->start_ns);
        if (i && x - before < MARK_APART && before - x < MARK_APART)
            continue;
        before = x;
        pen_belong(p, KEY_BUCKET, m->bucket);
        pen_belong(p, KEY_PHASE, PHASE_COMM);
        pen_belong(p, KEY_TIME, m->start_ns);
        pen_line(p, x, y, start, y + s->strip, color, 1, false);
        pen_mark(p, CLAMP(x, a->x0 + half, a->x1 - half), y, size, color);
    }
}

static void paint_comm(const struct pen *p, const struct axis *a, const struct tables *t,
                       const struct row *row, const struct lane_style *s, double y)
{
    paint_cells(p, a, t, row->comm, s, y);
    paint_intervals(p, a, t, row->comm, &row->gaps, y, s->lane, pen_shade(p, ROLE_LANE), false);
    paint_intervals(p, a, t, row->comm, &row->waits, y, s->lane, shade_of(p, s, ROLE_WAIT), false);
    paint_intervals(p, a, t, row->comm, &row->exposed, y, s->lane, shade_of(p, s, ROLE_EXPOSED), true);
    paint_intervals(p, a, t, row->comm, &row->critical_comm, y, CRITICAL, pen_shade(p, ROLE_INK), false);
}

/* What each cell says when it is pointed at: its longest name and how long it takes. */
static void add_spans(const struct pen *p, const struct axis *a, const struct tables *t,
                      const struct row *row, const GArray *cells, bool comm, const struct lane_style *s,
                      double y)
{
    const struct pen english = pen_english(p);

    for (unsigned i = 0; s->spans && i < cells->len; i++) {
        const struct cell *c = &g_array_index(cells, struct cell, i);
        const struct extent e = extent_of(a, c->start_ns, c->end_ns);
        char time[32], bytes[32];
        if (e.w < MIN_SPAN || !cell_is_itself(c))
            continue;
        belong(p, t, c);
        g_autofree char *name = lanes_name(p, t, c, comm),
                        *english_name = p->notes ? lanes_name(&english, t, c, comm) : NULL;
        const char *length = format_duration(c->end_ns - c->start_ns, time);
        const bool sized = comm && c->kind == OP_ALLREDUCE && c->first < t->n_buckets;
        g_autofree char *about =
            sized ? g_strdup_printf("%s · %s", format_bytes(t->buckets[c->first].bytes, bytes), length) : g_strdup(length);
        pen_span(p, e.x, y, e.w, s->lane, name, english_name, row->rank, about);
    }
}

void lanes_paint(const struct pen *p, const struct axis *a, const struct tables *t, const struct row *row,
                 const struct lane_style *s, double y)
{
    const struct extent track = {a->x0, axis_x(a, row->end_ns) - a->x0};
    const double comm_y = lanes_comm_y(s, y);

    pen_box(p, track.x, y, track.w, s->lane, pen_shade(p, ROLE_LANE));
    paint_cells(p, a, t, row->copies, s, y);
    paint_cells(p, a, t, row->compute, s, y);
    paint_intervals(p, a, t, row->compute, &row->critical, y, CRITICAL, pen_shade(p, ROLE_INK), false);
    pen_belong_rank_only(p);
    if (s->comm) {
        pen_box(p, track.x, comm_y, track.w, s->lane, pen_shade(p, ROLE_LANE));
        paint_comm(p, a, t, row, s, comm_y);
    }
    if (s->comm && s->marks && row->backward_end_ns) {
        const double x = axis_x(a, row->backward_end_ns);
        pen_belong_rank_only(p);
        pen_belong(p, KEY_PHASE, PHASE_BACKWARD);
        pen_belong(p, KEY_TIME, row->backward_end_ns);
        pen_line(p, x, y, x, comm_y + s->lane, pen_color(p, ROLE_INK), 1.5, true);
    }
    pen_belong_rank_only(p);
    /* Labels last: where one lies on the line, its ground covers the line. */
    label_runs(p, a, t, row->compute, s, y);
    if (s->comm && s->marks)
        paint_marks(p, a, row->marks, s, y + s->lane);
    for (unsigned i = 0; s->comm && i < row->comm->len; i++)
        label_comm(p, a, t, row, &g_array_index(row->comm, struct cell, i), s, comm_y);
    add_spans(p, a, t, row, row->copies, false, s, y);
    add_spans(p, a, t, row, row->compute, false, s, y);
    if (s->comm)
        add_spans(p, a, t, row, row->comm, true, s, comm_y);
    pen_belong_rank_only(p);
}
