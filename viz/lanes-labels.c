#include "viz/lanes-labels.h"

#include <math.h>

#include "profile/kernel-name.h"
#include "viz/blocks.h"

#define LABEL_AIR 2.0  /* left and right of a label together */
#define RUN_GAP   3.0  /* no more than that between cells of a run */
#define TEXT_PART 0.72 /* of a lane's height, a label at most */

/* Sizes of labels. */
#define LARGEST     20.0
#define EASY        15.0 /* a form that reaches it is taken before one that only reaches the smallest */
#define SMALLEST    14.0
#define LEAST_ROOM  (SMALLEST / 3) /* no label is narrower */
#define LEFT_OUT    0.05 /* of the cells with room for a label, for which the others need not be smaller */
#define MUCH_FASTER 0.5  /* of the mean length of the cells of a kind */

/* What stands on the cells of a kind; a kind without a size has not been chosen for. */
enum form { FORM_NAME, FORM_STACKED, FORM_NUMBER, FORM_NONE };

#define NAMES  3     /* with the letter, from long to short */
#define NUMBER NAMES /* without it */

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
static void name_layers(const struct pen *p, const struct tables *t, const struct cell *c,
                        char *names[NUMBER + 1])
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
        names[NUMBER] = g_strdup(kind);
    } else if (block_numbered(from)) {
        names[0] = g_strconcat(kind, short_from, micro, NULL);
        names[1] = g_strdup(names[0]);
        names[2] = g_strconcat(kind, short_from, NULL);
        names[NUMBER] = g_strdup(short_from);
    } else {
        g_autofree char *whole = g_strconcat(kind, " ", from, micro, NULL);
        names[0] = pen_one_line(whole);
        names[1] = g_strconcat(kind, " ", short_from, micro, NULL);
        names[2] = g_strconcat(kind, " ", short_from, NULL);
        names[NUMBER] = g_strdup(short_from);
    }
}

/* The names of a compute cell, and its number. */
static void name_compute(const struct pen *p, const struct tables *t, const struct cell *c,
                         char *names[NUMBER + 1])
{
    const char *kind = label_of(p, c->kind);
    const uint32_t from = p->look->count_from;

    if (t->n_stages && c->micro != OP_NONE && c->kind != OP_LOSS) {
        for (unsigned i = 0; i < NAMES; i++)
            names[i] = g_strdup_printf("%s%u", kind, c->micro + from);
        names[NUMBER] = g_strdup_printf("%u", c->micro + from);
    } else if ((c->kind == OP_FWD || c->kind == OP_BWD) && !t->n_stages && c->first < t->n_layers &&
               c->last < t->n_layers) {
        name_layers(p, t, c, names);
    } else if (c->kind == OP_OPTIM && c->first < t->n_buckets) {
        names[0] = g_strdup_printf("%s %u", kind, c->first + from);
        names[1] = g_strdup_printf("%u", c->first + from);
        names[2] = g_strdup(names[1]);
        names[NUMBER] = g_strdup(names[1]);
    } else {
        char micro[16];
        names[0] = g_strconcat(kind, micro_suffix(p, c, micro), NULL);
        names[1] = g_strdup(kind);
        names[2] = g_strdup(kind);
        names[NUMBER] = g_strdup(kind);
    }
}

/* The names of a communication: "bucket 3 · 25.0 MiB". */
static void name_comm(const struct pen *p, const struct tables *t, const struct cell *c,
                      char *names[NUMBER + 1])
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

static void free_names(char *names[NUMBER + 1])
{
    for (unsigned i = 0; i <= NUMBER; i++)
        g_free(names[i]);
}

char *lanes_name(const struct pen *p, const struct tables *t, const struct cell *c, bool comm)
{
    char *names[NUMBER + 1] = {0};

    if (comm && c->kind == OP_ALLREDUCE && c->first < t->n_buckets)
        return say(p->lang, "timeline.bucket-name", "n", count((uint64_t)c->first + p->look->count_from),
                   NULL);
    (comm ? name_comm : name_compute)(p, t, c, names);
    char *name = g_steal_pointer(&names[0]);
    free_names(names);
    return name;
}

static bool nameless(const struct cell *c)
{
    return c->role == ROLE_PACK || c->role == ROLE_INPUT || !cell_is_itself(c);
}

/* A cell of any lane of the figure. */
struct subject {
    const struct cell *cell;
    const struct tables *t;
};

struct choice {
    const struct pen *p;
    const struct axis *a;
    const GArray *subjects; /* struct subject */
    double lane;            /* height of the lowest */
    struct lane_labels *labels;
};

static const struct subject *subject_at(const struct choice *l, unsigned i)
{
    return &g_array_index(l->subjects, struct subject, i);
}

static double width_of(const struct choice *l, const struct subject *s)
{
    return lanes_extent(l->a, s->cell->start_ns, s->cell->end_ns).w;
}

/* Of a micro-batch of a pipeline, as all of which look. */
static bool of_pipeline(const struct tables *t, const struct cell *c)
{
    return t->n_stages && c->micro != OP_NONE && c->kind != OP_LOSS;
}

/* A layer without a number, as embeddings, whose name is longer and which is often short. */
static bool is_odd(const struct subject *s)
{
    const struct cell *c = s->cell;

    return !s->t->n_stages && c->first < s->t->n_layers && c->kind != OP_OPTIM &&
           !block_numbered(s->t->layers[c->first].block);
}

/* The greatest size at which a form of the cell's name fits; 0: at none that could be read. */
static double size_of(const struct choice *l, const struct subject *s, enum form form)
{
    const struct font font = {LARGEST, WEIGHT_NORMAL};
    const struct cell *c = s->cell;
    const double room = width_of(l, s) - LABEL_AIR;
    char *names[NUMBER + 1] = {0};

    if (room < LEAST_ROOM)
        return 0;
    name_compute(l->p, s->t, c, names);
    double width = pen_width(l->p, &font, names[form == FORM_NAME ? NAMES - 1 : NUMBER]);
    if (form == FORM_NAME)
        width = MIN(width, pen_width(l->p, &font, names[0]));
    else if (form == FORM_STACKED)
        width = of_pipeline(s->t, c) ? MAX(width, pen_width(l->p, &font, label_of(l->p, c->kind))) : INFINITY;
    free_names(names);
    return LARGEST * room / MAX(width, 1);
}

static int by_size(gconstpointer a, gconstpointer b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Sizes at which a form fits on the cells that look like that one, of those that have room for a number at
 * all. */
static GArray *list_sizes(const struct choice *l, const struct subject *like, enum form form, bool odd)
{
    const bool pipeline = of_pipeline(like->t, like->cell);
    GArray *all = g_array_new(FALSE, FALSE, sizeof(double));

    for (unsigned i = 0; i < l->subjects->len; i++) {
        const struct subject *s = subject_at(l, i);
        const bool alike = pipeline ? of_pipeline(s->t, s->cell) : s->cell->kind == like->cell->kind;
        if (!alike || is_odd(s) != odd || l->labels->of[s->cell->kind].form == FORM_NONE ||
            size_of(l, s, FORM_NUMBER) < SMALLEST)
            continue;
        const double size = size_of(l, s, form);
        g_array_append_val(all, size);
    }
    g_array_sort(all, by_size);
    return all;
}

/* The size that all of them have room for, but for a few; odd ones count where there are no others. */
static double common_size(const struct choice *l, const struct subject *like, enum form form)
{
    double size = 0;

    for (unsigned odd = 0; odd < 2 && size == 0; odd++) {
        g_autoptr(GArray) all = list_sizes(l, like, form, odd);
        if (all->len)
            size = g_array_index(all, double, (guint)(all->len * LEFT_OUT));
    }
    return size;
}

/* What a lane of that height has room for, at most. */
static double size_in(const struct pen *p, enum form form, double lane)
{
    const double most = MAX(SMALLEST, MIN(LARGEST, MIN(p->strong.size, lane * TEXT_PART)));

    return form == FORM_STACKED ? MIN(most, lane / PEN_TWO_LINES) : most;
}

/* The largest letter with its number, else one over the other, else the number. */
static struct lane_label choose_label(const struct choice *l, const struct subject *like)
{
    static const double floors[] = {EASY, SMALLEST};
    double sizes[FORM_NONE];

    for (unsigned form = 0; form < FORM_NONE; form++)
        sizes[form] = common_size(l, like, form);
    for (unsigned i = 0; i < G_N_ELEMENTS(floors); i++)
        for (unsigned form = FORM_NAME; form < FORM_NUMBER; form++)
            if (MIN(sizes[form], size_in(l->p, form, l->lane)) >= floors[i])
                return (struct lane_label){form, sizes[form]};
    return (struct lane_label){FORM_NUMBER, MAX(SMALLEST, sizes[FORM_NUMBER])};
}

/* Cells of a pipeline that are of one kind have one length: where some have no room for their number, none
 * has one.  Those of a rank that is much faster than the others do not count. */
static void leave_out(const struct choice *l)
{
    unsigned n[OP_KINDS] = {0}, narrow[OP_KINDS] = {0};
    double widths[OP_KINDS] = {0};

    for (unsigned i = 0; i < l->subjects->len; i++) {
        const struct subject *s = subject_at(l, i);
        if (!of_pipeline(s->t, s->cell))
            continue;
        n[s->cell->kind]++;
        widths[s->cell->kind] += width_of(l, s);
    }
    for (unsigned i = 0; i < l->subjects->len; i++) {
        const struct subject *s = subject_at(l, i);
        const unsigned kind = s->cell->kind;
        if (of_pipeline(s->t, s->cell) && width_of(l, s) * n[kind] >= MUCH_FASTER * widths[kind])
            narrow[kind] += size_of(l, s, FORM_NUMBER) < SMALLEST;
    }
    for (unsigned kind = 0; kind < OP_KINDS; kind++)
        if (narrow[kind] > n[kind] * LEFT_OUT)
            l->labels->of[kind] = (struct lane_label){FORM_NONE, SMALLEST};
}

/* Of all lanes, what can have a name. */
static GArray *list_subjects(unsigned n, const struct lane_rows *groups)
{
    GArray *subjects = g_array_new(FALSE, FALSE, sizeof(struct subject));

    for (unsigned i = 0; i < n; i++)
        for (uint32_t r = 0; r < groups[i].n; r++) {
            const GArray *cells = groups[i].rows[r].compute;
            for (unsigned k = 0; k < cells->len; k++) {
                const struct subject s = {&g_array_index(cells, struct cell, k), groups[i].t};
                if (s.cell->kind < OP_KINDS && !nameless(s.cell))
                    g_array_append_val(subjects, s);
            }
        }
    return subjects;
}

struct lane_labels lanes_choose_labels(const struct pen *p, const struct axis *a, unsigned n,
                                       const struct lane_rows *groups)
{
    g_autoptr(GArray) subjects = list_subjects(n, groups);
    struct lane_labels labels = {0};
    struct choice l = {p, a, subjects, INFINITY, &labels};
    const struct cell *pipeline = NULL;

    for (unsigned i = 0; i < n; i++)
        l.lane = MIN(l.lane, groups[i].lane);
    if (!p->ops->cells)
        leave_out(&l);
    for (unsigned i = 0; i < subjects->len; i++) {
        const struct subject *s = subject_at(&l, i);
        struct lane_label *label = &labels.of[s->cell->kind];
        if (label->size > 0)
            continue;
        *label = p->ops->cells                            ? (struct lane_label){FORM_NAME, SMALLEST}
                 : pipeline && of_pipeline(s->t, s->cell) ? labels.of[pipeline->kind]
                                                          : choose_label(&l, s);
        pipeline = of_pipeline(s->t, s->cell) ? s->cell : pipeline;
    }
    return labels;
}

/* The first name that fits at the larger size, else at the smaller one: rather few letters that can be read
 * from afar. */
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
                          const struct cell *c, const struct lane_style *s, double y)
{
    const struct extent e = lanes_extent(a, c->start_ns, c->end_ns);
    const double room = e.w - LABEL_AIR, x = e.x + e.w / 2, middle = y + s->lane / 2;
    char *names[NUMBER + 1] = {0};

    if (c->kind >= OP_KINDS || nameless(c) || room < LEAST_ROOM || s->labels->of[c->kind].form == FORM_NONE)
        return false;
    const struct lane_label *label = &s->labels->of[c->kind];
    const struct font font = {floor(MIN(label->size, size_in(p, label->form, s->lane))), WEIGHT_NORMAL};
    const struct shade shade = lanes_shade(p, t, s, c);
    const bool whole = label->form == FORM_NAME;
    lanes_belong(p, t, c);
    name_compute(p, t, c, names);
    const unsigned from = whole ? 0 : NUMBER, to = whole && !p->ops->cells ? NAMES : NUMBER + 1;
    g_autofree char *kernel = whole && c->first >= t->n_layers && !of_pipeline(t, c) && cell_kernel(c)
                                  ? kernel_short_name(c->name)
                                  : NULL;
    const char *text = kernel && pen_width(p, &font, kernel) <= room
                           ? kernel
                           : pen_fit(p, &font, to - from, (const char *const *)names + from, room);
    if (text && label->form == FORM_STACKED && of_pipeline(t, c))
        pen_two_lines(p, x, middle, &font, shade, label_of(p, c->kind), text);
    else if (text)
        pen_label(p, x, middle, s->lane, &font, shade, false, text);
    free_names(names);
    return text;
}

/* Cells too narrow for their names: one name for all of them. */
static void label_run(const struct pen *p, const struct axis *a, const struct tables *t,
                      const struct cell *first, const struct cell *last, const struct lane_style *s, double y)
{
    char micro[16];
    const char *kind = label_of(p, first->kind),
               *phase = op_phase(first->kind) == PHASE_NONE
                            ? kind
                            : word_or(p->lang, "phase", phase_name(op_phase(first->kind)));
    g_autofree char *whole = g_strconcat(phase, micro_suffix(p, first, micro), NULL);
    g_autofree char *brief = g_strconcat(kind, micro, NULL);
    const char *const texts[] = {whole, brief, kind};
    const struct extent e = lanes_extent(a, first->start_ns, last->end_ns);
    const struct font best = {MIN(p->text.size, MAX(SMALLEST, s->lane * TEXT_PART)), WEIGHT_NORMAL},
                      least = {SMALLEST, WEIGHT_NORMAL}, *font;
    const char *text = fit(p, &best, &least, G_N_ELEMENTS(texts), texts, e.w - 2 * LABEL_AIR, &font);

    lanes_belong(p, t, last);
    if (text && !first->share)
        pen_label(p, e.x + e.w / 2, y + s->lane / 2, s->lane, font, lanes_shade(p, t, s, first), true, text);
}

/* A run is of one role, but for what is packed in between. */
void lanes_label_compute(const struct pen *p, const struct axis *a, const struct tables *t,
                         const GArray *cells, const struct lane_style *s, double y)
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
            label_run(p, a, t, first, last, s, y);
    }
}

/* Where the label of a communication goes: beside the waiting that it may begin with. */
static struct extent label_extent(const struct axis *a, const struct row *row, const struct cell *c)
{
    int64_t start_ns = c->start_ns;

    for (size_t i = 0; i < row->waits.n && row->waits.v[i].start_ns <= c->start_ns; i++)
        start_ns = MAX(start_ns, row->waits.v[i].end_ns);
    return lanes_extent(a, MIN(start_ns, c->end_ns), c->end_ns);
}

void lanes_label_comm(const struct pen *p, const struct axis *a, const struct tables *t,
                      const struct row *row, const struct cell *c, const struct lane_style *s, double y)
{
    const struct extent e = label_extent(a, row, c);
    const double size = s->lane * TEXT_PART >= p->text.size ? p->text.size : SMALLEST;
    const struct font best = {size, WEIGHT_NORMAL}, least = {SMALLEST, WEIGHT_NORMAL}, *font;
    char *names[NUMBER + 1] = {0};

    if (!cell_is_itself(c) || e.w - LABEL_AIR - 3 < LEAST_ROOM)
        return;
    lanes_belong(p, t, c);
    name_comm(p, t, c, names);
    const char *text = fit(p, &best, &least, NAMES, (const char *const *)names, e.w - LABEL_AIR - 3, &font);
    if (text)
        pen_label(p, e.x + e.w / 2, y + s->lane / 2, s->lane, font, lanes_shade(p, t, s, c), true, text);
    free_names(names);
}
