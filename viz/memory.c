/* The memory of every rank at its peak as a stacked bar, and what was measured. */
#include "viz/figure.h"

#include <string.h>

#include "viz/frame.h"
#include "viz/layout.h"

#define MARK  8.0
#define STRIP 20.0 /* what found no room on a bar, below it */

/* The axis goes on to the device's memory where that is no more than so many times the greatest bar. */
#define FAR 2.5

#define LEAST 0.1     /* of the unit, in numbers with one decimal */
#define WHOLE 10000.0 /* of it, from which on they have none */

/* Ranks have a bar each, as GPUs have in nvidia-smi, where that many or fewer all have room. */
#define SEPARATE 8

/* A rank, or consecutive ranks that have the same. */
struct row {
    uint32_t first, last;
    double peak, measured; /* bytes; measured < 0: unknown */
    char *name, *beside;
};

struct scene {
    struct frame frame;
    const struct digest *digest;
    struct scale scale;
    struct unit unit;
    struct row *rows;
    uint32_t n;
    struct frame_rows place;
    double most;
    double device; /* bytes that a rank's device has; 0: unknown */
    double high;   /* bytes at the end of the axis but for what texts need */
};

/* Lighter the second time. */
static struct shade category_shade(const struct pen *p, uint32_t i)
{
    static const enum role roles[] = {ROLE_FORWARD,   ROLE_BACKWARD, ROLE_COMM,  ROLE_LOSS,
                                      ROLE_OPTIMIZER, ROLE_PACK,     ROLE_INPUT, ROLE_MUTED};
    const struct shade shade = pen_shade(p, roles[i % G_N_ELEMENTS(roles)]);

    return i / G_N_ELEMENTS(roles) % 2 ? palette_tint(p->palette, shade, 0.5) : shade;
}

static const uint64_t *bytes_of(const struct digest *d, uint32_t rank)
{
    return &d->memory_bytes[(size_t)rank * d->n_memory];
}

static bool same(const struct digest *d, uint32_t a, uint32_t b)
{
    return !memcmp(bytes_of(d, a), bytes_of(d, b), d->n_memory * sizeof *d->memory_bytes) &&
           (!d->memory_measured || d->memory_measured[a] == d->memory_measured[b]);
}

static void collect(struct scene *s, bool joined)
{
    const struct digest *d = s->digest;

    s->rows = g_new0(struct row, d->n_ranks);
    for (uint32_t rank = 0; rank < d->n_ranks; rank++) {
        if (joined && s->n && same(d, rank, s->rows[s->n - 1].last)) {
            s->rows[s->n - 1].last = rank;
            continue;
        }
        struct row *r = &s->rows[s->n++];
        *r = (struct row){.first = rank, .last = rank, .measured = -1};
        for (uint32_t i = 0; i < d->n_memory; i++)
            r->peak += (double)bytes_of(d, rank)[i];
        if (d->memory_measured)
            r->measured = (double)d->memory_measured[rank];
        s->most = MAX(s->most, MAX(r->peak, r->measured));
    }
}

static bool shows_device(const struct scene *s)
{
    return s->device > 0 && s->device <= FAR * s->most;
}

static void release(struct scene *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        g_free(s->rows[i].name);
        g_free(s->rows[i].beside);
    }
    g_clear_pointer(&s->rows, g_free);
    s->n = 0;
}

/* One unit for all numbers of the figure, in which its axis is read. */
static void choose_unit(struct scene *s)
{
    s->high = shows_device(s) ? MAX(s->most, s->device) : s->most;
    s->unit = unit_of_bytes(s->high);
}

/* In the figure's unit; what is next to nothing of it in one of its own. */
static const char *bytes_text(const struct scene *s, double bytes, char text[static 32])
{
    const double value = bytes / s->unit.size;

    if (value < LEAST)
        return format_bytes((uint64_t)MAX(bytes, 0), text);
    scale_text(value, value >= WHOLE || s->unit.size == 1 ? 1 : 0.1, text);
    g_strlcat(text, " ", 32);
    g_strlcat(text, s->unit.name, 32);
    return text;
}

static char *category_name(const struct pen *p, const struct digest *d, uint32_t i)
{
    return pen_one_line(word_or(p->lang, "memory", d->memory_names[i]));
}

static void name_rows(struct scene *s, const struct pen *p)
{
    char peak[32], measured[32];

    for (uint32_t i = 0; i < s->n; i++) {
        struct row *r = &s->rows[i];
        bytes_text(s, r->peak, peak);
        const uint32_t from = p->look->count_from;
        g_autofree char *name = pen_rank_name(p, word(p->lang, "memory-figure.rank-names"));
        r->name = r->first == r->last ? pen_rank(p, r->first)
                                      : say(p->lang, "memory-figure.ranks", "name", name, "first",
                                            count(r->first + from), "last", count(r->last + from), NULL);
        g_autofree char *beside = r->measured < 0
                                      ? g_strdup(peak)
                                      : say(p->lang, "memory-figure.beside", "peak", peak, "measured",
                                            bytes_text(s, r->measured, measured), NULL);
        const double over = MAX(r->peak, r->measured) - s->device;
        r->beside = s->device > 0 && over > 0 ? say(p->lang, "memory-figure.over", "peak", beside, "over",
                                                    bytes_text(s, over, measured), NULL)
                                              : g_steal_pointer(&beside);
    }
}

/* --- what stands where */

static void place_columns(struct scene *s)
{
    const struct pen *pen = &s->frame.pen;
    double gutter = 0;

    for (uint32_t i = 0; i < s->n; i++)
        gutter = MAX(gutter, pen_width(pen, &pen->strong, s->rows[i].name));
    s->scale =
        (struct scale){0, s->high / s->unit.size, s->frame.x0 + gutter + 2 * FRAME_AIR, s->frame.x1, false};
    for (uint32_t i = 0; i < s->n; i++)
        frame_leave_beside(&s->frame, &s->scale, s->rows[i].peak / s->high, s->rows[i].beside);
}

/* --- paint */

/* A part of a bar; where the line of the device's memory goes through it, its text is beside the line. */
static bool paint_part(const struct scene *s, double x0, double x1, double y, struct shade shade, unsigned n,
                       const char *const *texts)
{
    const double at = shows_device(s) ? scale_at(&s->scale, s->device / s->unit.size) : x0;
    const bool left = at - x0 > x1 - at;

    if (at <= x0 || at >= x1)
        return frame_bar(&s->frame, x0, x1, y, s->place.bar, shade, false, n, texts);
    frame_bar(&s->frame, left ? at : x0, left ? x1 : at, y, s->place.bar, shade, false, 0, texts);
    return frame_bar(&s->frame, left ? x0 : at, left ? at : x1, y, s->place.bar, shade, false, n, texts);
}

/* What found no room on the bar is added to missing. */
static void paint_bar(const struct scene *s, const struct row *r, double y, GString *missing)
{
    const uint64_t *bytes = bytes_of(s->digest, r->first);
    const struct pen english = pen_english(&s->frame.pen);
    double at = 0;

    for (uint32_t i = 0; i < s->digest->n_memory; i++) {
        char size[32], number[32], whole[32];
        const double x0 = scale_at(&s->scale, at / s->unit.size);
        at += (double)bytes[i];
        g_autofree char *name = category_name(&s->frame.pen, s->digest, i);
        g_autofree char *named = g_strdup_printf("%s %s", name, bytes_text(s, (double)bytes[i], size));
        g_strlcpy(number, size, sizeof number);
        number[strcspn(number, " ")] = '\0';
        const char *const texts[] = {named, size, number};
        format_bytes(bytes[i], whole);
        pen_belong(&s->frame.pen, KEY_PHASE, i);
        const double x1 = scale_at(&s->scale, at / s->unit.size);
        if (!paint_part(s, x0, x1, y, category_shade(&s->frame.pen, i), bytes[i] ? 3 : 0, texts))
            g_string_append_printf(missing, "%s%s %s", missing->len ? ", " : "", name, whole);
        g_autofree char *english_name = category_name(&english, s->digest, i);
        if (bytes[i])
            pen_span(&s->frame.pen, x0, y, x1 - x0, s->place.bar, name, english_name, r->first, whole);
    }
}

/* Down the bar, but not through the text beside it. */
static void paint_device(const struct scene *s, double y, double text_x0, double text_x1)
{
    const double x = scale_at(&s->scale, s->device / s->unit.size);
    const bool through = x > text_x0 - FRAME_AIR / 2 && x < text_x1 + FRAME_AIR / 2;
    const double end = through ? y - 1 : y + s->place.bar;

    pen_line(&s->frame.pen, x, y - MARK, x, end, pen_color(&s->frame.pen, ROLE_BACKGROUND), 6, false);
    pen_line(&s->frame.pen, x, y - MARK, x, end, pen_color(&s->frame.pen, ROLE_INK), 3, true);
}

static void paint_row(const struct scene *s, const struct row *r, double y)
{
    const struct frame *f = &s->frame;
    const struct font strong = pen_capped(&f->pen.strong, s->place.bar);
    const double end = scale_at(&s->scale, r->peak / s->unit.size);
    g_autofree char *beside = pen_ellipsize(&f->pen, &strong, r->beside, f->x1 - end - FRAME_AIR);

    g_autoptr(GString) missing = g_string_new(NULL);

    frame_text(f, f->x0, y + s->place.bar / 2, &strong, ALIGN_LEFT, ROLE_INK, r->name);
    paint_bar(s, r, y, missing);
    pen_belong_rank_only(&f->pen);
    pen_belong_rest(&f->pen);
    g_autofree char *rest =
        pen_ellipsize(&f->pen, &f->pen.small, missing->str, f->x1 - s->scale.at0 - FRAME_AIR);
    frame_text(f, s->scale.at0 + FRAME_AIR, y + s->place.bar + STRIP / 2 + 1, &f->pen.small, ALIGN_LEFT,
               ROLE_MUTED, rest);
    frame_text(f, end + FRAME_AIR, y + s->place.bar / 2, &strong, ALIGN_LEFT, ROLE_INK, beside);
    if (shows_device(s))
        paint_device(s, y, end + FRAME_AIR, end + FRAME_AIR + pen_width(&f->pen, &strong, beside));
    if (r->measured >= 0)
        pen_mark(&f->pen, scale_at(&s->scale, r->measured / s->unit.size), y - MARK, MARK,
                 pen_color(&f->pen, ROLE_INK));
    pen_belong_rank_only(&f->pen);
}

static void paint_rows(const struct scene *s)
{
    const struct frame *f = &s->frame;
    double y = s->place.top;

    for (uint32_t i = 0; i < s->place.shown; i++, y += MARK + s->place.bar + STRIP + s->place.gap) {
        const struct row *r = &s->rows[f->pen.look->ranks_up ? s->place.shown - 1 - i : i];
        pen_belong(&f->pen, KEY_RANK, r->first);
        paint_row(s, r, y + MARK);
    }
    pen_belong(&f->pen, KEY_RANK, DRAW_NONE);
    if (s->place.shown < s->n) {
        const struct row *last = &s->rows[s->place.shown - 1];
        g_autofree char *text =
            say(f->pen.lang, "memory-figure.hidden-ranks", "first", count(f->pen.look->count_from), "last",
                count(last->last + f->pen.look->count_from), "n", count(s->digest->n_ranks), NULL);
        frame_text(f, f->x0, y + FRAME_NOTE / 2 - 2, &f->pen.small, ALIGN_LEFT, ROLE_MUTED, text);
    }
}

static bool anybody_has(const struct digest *d, uint32_t category)
{
    for (uint32_t rank = 0; rank < d->n_ranks; rank++)
        if (bytes_of(d, rank)[category])
            return true;
    return false;
}

static void paint_legend(struct scene *s)
{
    const struct digest *d = s->digest;
    g_autofree struct legend_entry *entries = g_new(struct legend_entry, d->n_memory + 2);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    unsigned n = 0;

    for (uint32_t i = 0; i < d->n_memory; i++) {
        if (!anybody_has(d, i))
            continue;
        g_ptr_array_add(names, category_name(&s->frame.pen, d, i));
        entries[n++] = (struct legend_entry){.text = g_ptr_array_index(names, names->len - 1),
                                             .shade = category_shade(&s->frame.pen, i)};
    }
    if (d->memory_measured)
        entries[n++] = (struct legend_entry){.text = word(s->frame.pen.lang, "figure.measured"),
                                             .shade = pen_shade(&s->frame.pen, ROLE_INK),
                                             .mark = true};
    if (s->device > 0) {
        char size[32];
        g_ptr_array_add(names, say(s->frame.pen.lang, "memory-figure.device", "size",
                                   bytes_text(s, s->device, size), NULL));
        entries[n++] = (struct legend_entry){.text = g_ptr_array_index(names, names->len - 1),
                                             .shade = pen_shade(&s->frame.pen, ROLE_INK),
                                             .line = shows_device(s),
                                             .off = !shows_device(s)};
    }
    frame_legend(&s->frame, n, entries);
}

static bool drawable(const struct figure_input *in, GError **error)
{
    const struct digest *d = in->digest;
    const char *why = !d                            ? "needs a run or a report; a sweep has only totals"
                      : !d->n_memory || !d->n_ranks ? "has nothing to draw: the report says nothing of memory"
                                                    : NULL;

    if (why)
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "figure memory %s", why);
    return !why;
}

static char *message(const struct scene *s, const struct language *l)
{
    const char *key = "memory-figure.headline";
    char number[32];

    for (uint32_t i = 0; i < s->n; i++)
        if (s->rows[i].measured >= 0)
            key = "memory-figure.headline-measured";
    if (s->device > 0 && s->most > s->device) {
        char device[32];
        return say(l, "memory-figure.headline-over", "size", bytes_text(s, s->most, number), "device",
                   bytes_text(s, s->device, device), NULL);
    }
    return say(l, key, "size", bytes_text(s, s->most, number), NULL);
}

/* Ranks apart, or else those that have the same as one row. */
static bool divide(struct scene *s)
{
    s->place = (struct frame_rows){.n = s->n, .around = MARK + STRIP};
    if (s->n <= SEPARATE && frame_divide(&s->frame, &s->place) && s->place.shown == s->n)
        return true;
    release(s);
    collect(s, true);
    s->place = (struct frame_rows){.n = s->n, .around = MARK + STRIP};
    return frame_divide(&s->frame, &s->place);
}

static bool paint(struct scene *s, GError **error)
{
    paint_legend(s);
    if (!divide(s))
        return frame_no_room(&s->frame.pen, "memory", "a bar", error);
    name_rows(s, &s->frame.pen);
    place_columns(s);
    frame_axis(&s->frame, &s->scale, s->unit.name, s->place.top, s->place.axis);
    paint_rows(s);
    return true;
}

static bool draw_memory(const struct figure_input *in, const struct pen *pen, GError **error)
{
    struct scene s = {.digest = in->digest};

    if (!drawable(in, error))
        return false;
    collect(&s, false);
    s.device = (double)digest_device_bytes(in->digest);
    bool ok = s.most > 0;
    if (ok) {
        choose_unit(&s);
        g_autofree char *what = message(&s, pen->lang), *title = frame_headline(pen, in->digest, what),
                        *origin = frame_origin(pen, in->digest);
        s.frame = frame_begin(pen, title, what, origin);
        ok = paint(&s, error);
    } else {
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT,
                    "figure memory has nothing to draw: no rank of the report has a byte");
    }
    release(&s);
    return ok;
}

const struct figure figure_memory = {
    .name = "memory",
    .summary = "the peak of every rank by what it holds, beside what was measured",
    .draw = draw_memory,
};
