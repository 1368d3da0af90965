/* Layers in the order of backward, their gradients, and the bucket that each falls into. */
#include "viz/figure.h"

#include <string.h>

#include "viz/frame.h"
#include "viz/layout.h"

#define ARROW     30.0 /* height over the lines */
#define ARROWHEAD 9.0
#define LINES     3
#define EASY      7    /* buckets a line, where there are lines left */
#define MIN_LINE  84.0
#define MAX_LINE  420.0
#define MIN_WIDTH 58.0 /* of a bucket, so that its number can be read */
#define CELL_GAP  1.5
#define LAYER_TINT 0.3
#define TWO_TEXTS 40.0 /* height of a bucket with its name and size */
#define GROUND_PART 0.42 /* of a bucket's height, the plain ground of one of two texts: it leaves the other one alone */
#define APART     3.0 /* gradients nearer than that are not told apart */
/* Parts of a line's height; the rest is apart from the next. */
#define LAYER_PART  0.26
#define GRAD_PART   0.2
#define FALL_PART   0.09
#define BUCKET_PART 0.35

/* Of --build. */
enum { STEP_LAYERS, STEP_GRADIENTS, STEP_BUCKETS };

struct piece {
    double x, w;
    uint32_t block; /* how many blocks of layers came before its last one: its place in backward */
    uint32_t line, layers; /* blocks of layers that have a gradient in it */
};

struct scene {
    struct frame frame;
    const struct tables *t;
    struct piece *pieces; /* a bucket each, in launch order */
    uint32_t n, lines;    /* how many are shown */
    double x0, top, line; /* where the buckets begin, and height of a line */
};

static uint32_t param_of(const struct tables *t, uint32_t bucket, uint32_t i)
{
    return t->bucket_params[t->buckets[bucket].first_param + i];
}

static const char *block_of(const struct tables *t, uint32_t param)
{
    return t->layers[t->params[param].layer].block;
}

/* Of its gradients; none count as one byte. */
static double bytes_of(const struct tables *t, uint32_t bucket)
{
    double bytes = 0;

    for (uint32_t i = 0; i < t->buckets[bucket].n_params; i++)
        bytes += (double)t->params[param_of(t, bucket, i)].bytes;
    return MAX(1, bytes);
}

static void count_layers(struct scene *s)
{
    const struct tables *t = s->t;
    const char *block = NULL;
    uint32_t n = 0;

    for (uint32_t b = 0; b < t->n_buckets; b++) {
        for (uint32_t i = 0; i < t->buckets[b].n_params; i++) {
            const char *own = block_of(t, param_of(t, b, i));
            n += block && strcmp(own, block);
            s->pieces[b].layers += !i || strcmp(own, block);
            block = own;
        }
        s->pieces[b].block = n;
    }
}

static void belong(const struct scene *s, uint32_t bucket, int64_t step, uint32_t block)
{
    const struct pen *p = &s->frame.pen;

    pen_belong(p, KEY_BUCKET, bucket);
    pen_belong(p, KEY_PHASE, step);
    pen_belong(p, KEY_TIME, block);
}

static uint64_t number_of(const struct pen *p, const struct tables *t, uint32_t bucket)
{
    return (uint64_t)(p->look->from_first_layer ? t->n_buckets - 1 - bucket : bucket) + p->look->count_from;
}

/* --- what stands where */

/* Places the first n buckets at that many units a byte; how many lines that takes. */
static uint32_t flow(struct scene *s, uint32_t n, double scale)
{
    const double room = s->frame.x1 - s->x0;
    uint32_t line = 0;
    double at = 0;

    for (uint32_t b = 0; b < n; b++) {
        const double w = CLAMP(scale * bytes_of(s->t, b), MIN_WIDTH, room);
        if (at > 0 && at + w > room + 1e-6) {
            line++;
            at = 0;
        }
        s->pieces[b].x = s->x0 + at;
        s->pieces[b].w = w;
        s->pieces[b].line = line;
        at += w;
    }
    return line + 1;
}

/* The greatest scale of which so many lines are enough. */
static void fill_lines(struct scene *s, uint32_t lines)
{
    double low = 0, high = 0;

    for (uint32_t b = 0; b < s->n; b++)
        high = MAX(high, (s->frame.x1 - s->x0) / bytes_of(s->t, b));
    for (unsigned i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        *(flow(s, s->n, middle) <= lines ? &low : &high) = middle;
    }
    s->lines = flow(s, s->n, low);
}

static bool place(struct scene *s)
{
    const struct frame *f = &s->frame;
    const struct pen *p = &f->pen;
    static const char *const names[] = {"buckets.layers", "buckets.gradients", "buckets.buckets"};
    const uint32_t wanted = (s->t->n_buckets + EASY - 1) / EASY;
    double gutter = 0, room = f->y1 - f->y0 - ARROW;

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
        gutter = MAX(gutter, pen_width(p, &p->strong, word(p->lang, names[i])));
    s->x0 = f->x0 + gutter + 2 * FRAME_AIR;
    if (room < MIN_LINE + FRAME_NOTE || f->x1 - s->x0 < 2 * MIN_WIDTH)
        return false;
    const uint32_t most = MIN(LINES, (uint32_t)((room - FRAME_NOTE) / MIN_LINE));
    s->n = s->t->n_buckets;
    while (flow(s, s->n, 0) > most)
        s->n--;
    fill_lines(s, CLAMP(wanted, 1, most));
    room -= s->n < s->t->n_buckets ? FRAME_NOTE : 0;
    s->line = MIN(room / s->lines, MAX_LINE);
    s->top = f->y0 + ARROW + (room - s->line * s->lines) / 3;
    return true;
}

/* --- paint */

/* A cell with the first text that fits, at the largest size. */
static void paint_cell(const struct scene *s, double x, double w, double y, double h, struct shade shade, unsigned n,
                       const char *const *texts)
{
    const struct pen *p = &s->frame.pen;
    const struct font large = {MIN(p->strong.size, h * 0.7), WEIGHT_NORMAL};
    const char *text = w > CELL_GAP ? pen_fit(p, &large, n, texts, w - CELL_GAP - FRAME_AIR) : NULL;

    if (w > CELL_GAP)
        frame_bar(&s->frame, x, x + w - CELL_GAP, y, h, shade, false, text ? 0 : n, texts);
    if (text)
        pen_label(p, x + (w - CELL_GAP) / 2, y + h / 2, h, &large, shade, false, text);
}

/* How many blocks came before that of the bucket's i-th gradient; `before` is that of the one before it. */
static uint32_t place_of(const struct scene *s, uint32_t bucket, uint32_t i, uint32_t before)
{
    const struct tables *t = s->t;
    const struct piece *piece = &s->pieces[bucket];

    if (i == 0)
        return piece->block + 1 - piece->layers;
    return before + (strcmp(block_of(t, param_of(t, bucket, i)), block_of(t, param_of(t, bucket, i - 1))) != 0);
}

/* A block is one cell, also beyond a bucket's end, as far as the line goes. */
static void paint_layers(const struct scene *s, double y)
{
    const struct tables *t = s->t;
    const struct pen *p = &s->frame.pen;
    const char *block = NULL;
    uint32_t line = 0, number = 0;
    double from = 0, at = 0;

    for (uint32_t b = 0; b <= s->n; b++) {
        const uint32_t n = b < s->n ? t->buckets[b].n_params : 1;
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t param = b < s->n ? param_of(t, b, i) : 0;
            const bool ends = b == s->n || (block && (strcmp(block, block_of(t, param)) || s->pieces[b].line != line));
            if (block && ends) {
                char brief[20];
                g_autofree char *name = pen_one_line(block);
                block_short(block, brief);
                const char *const texts[] = {name, brief};
                paint_cell(s, from, at - from, y + line * s->line, s->line * LAYER_PART, palette_tint(p->palette, pen_shade(p, ROLE_MUTED), LAYER_TINT), 2, texts);
            }
            if (b == s->n)
                break;
            number = place_of(s, b, i, number);
            if (!block || ends) {
                belong(s, b, STEP_LAYERS, number);
                block = block_of(t, param);
                line = s->pieces[b].line;
                from = i ? at : s->pieces[b].x;
            }
            at = (i ? at : s->pieces[b].x) + s->pieces[b].w * (double)t->params[param].bytes / bytes_of(t, b);
        }
    }
    pen_belong_rank_only(p);
}

/* "query.weight" of "layer6.attention.query.weight" in "layer6.attention" */
static const char *name_in_layer(const struct tables *t, uint32_t param)
{
    const char *name = t->params[param].name, *layer = t->layers[t->params[param].layer].name;
    const size_t n = strlen(layer);

    return !strncmp(name, layer, n) && name[n] == '.' ? name + n + 1 : name;
}

static void paint_gradients(const struct scene *s, uint32_t b, double y, double h, struct shade shade)
{
    const struct tables *t = s->t;
    const struct piece *piece = &s->pieces[b];
    const struct pen *p = &s->frame.pen;
    double from = piece->x, at = from;
    uint32_t number = 0;

    for (uint32_t i = 0; i < t->buckets[b].n_params; i++) {
        const uint32_t param = param_of(t, b, i);
        belong(s, b, STEP_GRADIENTS, number = place_of(s, b, i, number));
        at += piece->w * (double)t->params[param].bytes / bytes_of(t, b);
        const bool last = i + 1 == t->buckets[b].n_params;
        if (at - from < APART && !last)
            continue;
        g_autofree char *name = pen_one_line(name_in_layer(t, param));
        const char *const texts[] = {name};
        paint_cell(s, from, at - from, y, h, palette_tint(p->palette, shade, 0.6), 1, texts);
        from = at;
    }
}

static void paint_bucket(const struct scene *s, uint32_t b)
{
    const struct pen *p = &s->frame.pen;
    const struct piece *piece = &s->pieces[b];
    const struct shade shade = palette_hue(p->palette, b);
    const double line = s->line, top = s->top + piece->line * line, grad = top + line * LAYER_PART + CELL_GAP,
                 box = grad + line * (GRAD_PART + FALL_PART), h = line * BUCKET_PART, w = piece->w - CELL_GAP,
                 middle = piece->x + w / 2;
    const char *n = count(number_of(p, s->t, b));
    char bytes[32];
    g_autofree char *name = say(p->lang, "timeline.bucket-name", "n", n, NULL),
                    *english = say(language_standard(), "timeline.bucket-name", "n", n, NULL);
    g_autofree char *layers = say(p->lang, "buckets.size", "size", format_bytes(s->t->buckets[b].bytes, bytes), "n",
                                  count(piece->layers), NULL);
    const char *const names[] = {name, n}, *const sizes[] = {layers, bytes};
    const struct font strong = pen_capped(&p->strong, h / 2), text = pen_capped(&p->text, h / 2);
    const char *upper = pen_fit(p, &strong, 2, names, w - FRAME_AIR), *lower = pen_fit(p, &text, 2, sizes, w - FRAME_AIR);
    const struct font least = {p->small.size, WEIGHT_NORMAL};
    const bool small = !lower && (lower = pen_fit(p, &least, 2, sizes, w - 4));
    if (h < TWO_TEXTS)
        lower = NULL;

    paint_gradients(s, b, grad, line * GRAD_PART, shade);
    belong(s, b, STEP_BUCKETS, piece->block);
    const double fall[] = {middle - ARROWHEAD, box - line * FALL_PART + 1, middle + ARROWHEAD,
                           box - line * FALL_PART + 1, middle, box - 2};
    pen_polygon(p, 3, fall, pen_color(p, ROLE_MUTED));
    pen_box(p, piece->x, box, w, h, shade);
    if (upper)
        pen_label(p, middle, box + h * (lower ? 0.29 : 0.5), lower ? h * GROUND_PART : h, &strong, shade, false, upper);
    if (lower)
        pen_label(p, middle, box + h * 0.74, h * GROUND_PART, small ? &least : &text, shade, false, lower);
    pen_span(p, piece->x, box, w, h, name, english, OP_NONE, layers);
    pen_belong_rank_only(p);
}

/* Backward goes to the right. */
static void paint_arrow(const struct scene *s)
{
    const struct frame *f = &s->frame;
    const struct pen *p = &f->pen;
    const double y = s->top - ARROW / 2 - 3, tip = f->x1 - ARROWHEAD;
    const uint32_t color = pen_color(p, ROLE_INK);
    const char *text = word(p->lang, "buckets.backward");
    const double at = s->x0 + pen_width(p, &p->strong, text) + FRAME_AIR;
    const double head[] = {tip, y - ARROWHEAD * 0.6, tip, y + ARROWHEAD * 0.6, f->x1, y};

    frame_text(f, s->x0, y, &p->strong, ALIGN_LEFT, ROLE_INK, text);
    if (at >= tip)
        return;
    pen_line(p, at, y, tip, y, color, 2, false);
    pen_polygon(p, 3, head, color);
}

static void paint_names(const struct scene *s, uint32_t line)
{
    const struct frame *f = &s->frame;
    const double y = s->top + line * s->line, h = s->line;
    const struct {
        const char *text;
        double from, part;
    } rows[] = {{word(f->pen.lang, "buckets.layers"), 0, LAYER_PART},
                {word(f->pen.lang, "buckets.gradients"), LAYER_PART, GRAD_PART},
                {word(f->pen.lang, "buckets.buckets"), LAYER_PART + GRAD_PART + FALL_PART, BUCKET_PART}};

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct font font = pen_capped(&f->pen.strong, h * rows[i].part);
        frame_text(f, f->x0, y + h * (rows[i].from + rows[i].part / 2), &font, ALIGN_LEFT, ROLE_INK, rows[i].text);
    }
}

static void paint(const struct scene *s)
{
    const struct frame *f = &s->frame;

    paint_arrow(s);
    for (uint32_t line = 0; line < s->lines; line++)
        paint_names(s, line);
    paint_layers(s, s->top);
    for (uint32_t b = 0; b < s->n; b++)
        paint_bucket(s, b);
    if (s->n == s->t->n_buckets)
        return;
    g_autofree char *text =
        say(f->pen.lang, "buckets.hidden", "shown", count(s->n), "n", count(s->t->n_buckets), NULL);
    frame_text(f, f->x0, s->top + s->lines * s->line + FRAME_NOTE / 2 - 2, &f->pen.small, ALIGN_LEFT, ROLE_MUTED, text);
}

/* --- the whole */

static bool drawable(const struct figure_input *in, GError **error)
{
    const struct tables *t = in->trace ? &in->trace->t : NULL;
    uint32_t empty = 0;

    for (uint32_t b = 0; t && b < t->n_buckets; b++)
        empty += t->buckets[b].n_params == 0;
    const char *why = in->series        ? "needs a trace; a sweep has no parameters"
                      : !t              ? "needs a trace: a report does not say how large each gradient is"
                      : !t->n_buckets   ? "needs gradient buckets, which mode ddp has, and this step has none"
                      : empty           ? "needs the parameters of each bucket, which the trace does not name"
                                        : NULL;

    if (why)
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "figure buckets %s", why);
    return !why;
}

static bool draw_buckets(const struct figure_input *in, const struct pen *pen, GError **error)
{
    if (!drawable(in, error))
        return false;
    struct scene s = {.t = &in->trace->t};
    g_autofree struct piece *pieces = s.pieces = g_new0(struct piece, s.t->n_buckets);
    uint32_t most = 0;

    count_layers(&s);
    for (uint32_t b = 0; b < s.t->n_buckets; b++)
        most = MAX(most, pieces[b].layers);
    g_autofree char *what = say(pen->lang, "buckets.headline", "n", count(s.t->n_buckets), "layers", count(most), "first",
                                count(number_of(pen, s.t, 0)), NULL);
    g_autofree char *title = frame_headline(pen, in->digest, what), *origin = frame_origin(pen, in->digest);
    g_autofree char *caption = g_strdup_printf(
        "%s · %s", origin, word(pen->lang, pen->look->from_first_layer ? "buckets.by-layer" : "buckets.by-launch"));
    s.frame = frame_begin(pen, title, what, caption);
    frame_legend(&s.frame, 0, NULL);
    if (!place(&s))
        return frame_no_room(pen, "buckets", "a line of buckets", error);
    paint(&s);
    return true;
}

const struct figure figure_buckets = {
    .name = "buckets",
    .summary = "layers in the order of backward, their gradients, and the bucket that each falls into",
    .draw = draw_buckets,
};
