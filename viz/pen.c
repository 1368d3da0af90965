#include "viz/pen.h"

#include <math.h>
#include <string.h>

#include "viz/figure.h"
#include "viz/notes.h"

#define MIN_PX     0.5
#define ELLIPSIS   "…"
#define LINE_APART 0.65 /* ems from the middle of two lines to each */
#define MIDDLE     0.36 /* of an em, from the baseline up to the middle of capitals */
#define ROW_PART   0.8  /* of a row, a text beside it */
#define LEAST_TEXT 14.0
#define MAX_RANK   130.0 /* width of what ranks are called */
#define OUTLINE    0.8   /* width, of what is hatched */
/* A canvas of that many units has room for letters that the last row can read. */
#define ROOMY_WIDTH  1000.0
#define ROOMY_HEIGHT 600.0

struct pen pen_make(const struct draw_ops *ops, struct draw *draw, const struct figure_options *o,
                    struct notes *notes, struct belongs *belongs)
{
    const double scale = o->font_scale > 0 ? o->font_scale : 1;
    const double px = ops->cells ? 1 : MAX(MIN_PX, MIN(o->width / 1280, o->height / 720) * scale);
    struct pen p = {.ops = ops,
                    .draw = draw,
                    .px = px,
                    .width = o->width / px,
                    .height = o->height / px,
                    .look = o,
                    .palette = o->palette ? o->palette : palettes[0],
                    .lang = o->lang ? o->lang : language_standard(),
                    .belongs = belongs,
                    .notes = notes};
    const bool roomy = p.width >= ROOMY_WIDTH && p.height >= ROOMY_HEIGHT && !ops->cells;

    p.title = (struct font){roomy ? 28 : 24, WEIGHT_BOLD};
    p.strong = (struct font){roomy ? 20 : 14, WEIGHT_BOLD};
    p.text = (struct font){roomy ? 20 : 13, WEIGHT_NORMAL};
    p.small = (struct font){roomy ? 15 : 13, WEIGHT_NORMAL};
    return p;
}

uint32_t pen_color(const struct pen *p, enum role role)
{
    return palette_color(p->palette, role);
}

struct shade pen_shade(const struct pen *p, enum role role)
{
    return palette_shade(p->palette, role);
}

void pen_box(const struct pen *p, double x, double y, double w, double h, struct shade shade)
{
    struct fill fill = {.color = (int32_t)shade.color,
                        .stroke = shade.hatch == HATCH_NONE ? -1 : (int32_t)shade.ink,
                        .stroke_width = OUTLINE * p->px,
                        .hatch = shade.hatch,
                        .ink = shade.ink};

    p->ops->rect(p->draw, x * p->px, y * p->px, w * p->px, h * p->px, &fill);
}

void pen_hatch(const struct pen *p, double x, double y, double w, double h, struct shade shade)
{
    struct fill fill = {.color = -1, .stroke = -1, .hatch = shade.hatch, .ink = shade.ink};

    p->ops->rect(p->draw, x * p->px, y * p->px, w * p->px, h * p->px, &fill);
}

void pen_line(const struct pen *p, double x0, double y0, double x1, double y1, uint32_t color, double width,
              bool dashed)
{
    p->ops->line(p->draw, x0 * p->px, y0 * p->px, x1 * p->px, y1 * p->px, color, width * p->px, dashed);
}

void pen_mark(const struct pen *p, double x, double y, double size, uint32_t color)
{
    const double half = size * 0.6;
    const double xy[] = {x - half, y, x + half, y, x, y + size};

    pen_polygon(p, 3, xy, color);
}

void pen_rise(const struct pen *p, double x, double y, double size, uint32_t color)
{
    const double half = size * 0.6;
    const double xy[] = {x - half, y + size, x + half, y + size, x, y};

    pen_polygon(p, 3, xy, color);
}

void pen_polygon(const struct pen *p, unsigned n, const double *xy, uint32_t color)
{
    g_autofree double *px = g_new(double, 2 * (gsize)n);

    for (unsigned i = 0; i < 2 * n; i++)
        px[i] = xy[i] * p->px;
    p->ops->polygon(p->draw, n, px, color);
}

static struct font scaled(const struct pen *p, const struct font *font)
{
    return (struct font){font->size * p->px, font->weight};
}

struct font pen_capped(const struct font *font, double height)
{
    return (struct font){MIN(font->size, MAX(height * ROW_PART, LEAST_TEXT)), font->weight};
}

double pen_width(const struct pen *p, const struct font *font, const char *text)
{
    struct font f = scaled(p, font);

    return p->ops->text_width(p->draw, &f, text) / p->px;
}

void pen_text(const struct pen *p, double x, double y, const struct font *font, enum align align,
              uint32_t color, const char *text)
{
    struct font f = scaled(p, font);

    if (!*text)
        return;
    if (p->notes) {
        const double w = pen_width(p, font, text),
                     left = align == ALIGN_LEFT ? x : x - w * (align == ALIGN_CENTER ? 0.5 : 1);
        notes_avoid(p->notes, left, y - font->size * 0.6, left + w, y + font->size * 0.6);
    }
    p->ops->text(p->draw, x * p->px, (y + MIDDLE * font->size) * p->px, &f, align, color, text);
}

void pen_label(const struct pen *p, double x, double y, double height, const struct font *font,
               struct shade shade, bool chip, const char *text)
{
    if (chip || shade.hatch != HATCH_NONE) {
        const double w = pen_width(p, font, text) + 4, h = MIN(font->size * 1.3, height);
        pen_box(p, x - w / 2, y - h / 2, w, h, (struct shade){shade.color, HATCH_NONE, 0});
    }
    pen_text(p, x, y, font, ALIGN_CENTER, palette_text_on(shade.color), text);
}

void pen_two_lines(const struct pen *p, double x, double y, const struct font *font, struct shade shade,
                   const char *upper, const char *lower)
{
    const double apart = font->size * LINE_APART, height = font->size * 1.2;

    pen_label(p, x, y - apart, height, font, shade, false, upper);
    pen_label(p, x, y + apart, height, font, shade, false, lower);
}

const char *pen_fit(const struct pen *p, const struct font *font, unsigned n, const char *const *texts,
                    double width)
{
    for (unsigned i = 0; i < n; i++)
        if (pen_width(p, font, texts[i]) <= width)
            return texts[i];
    return NULL;
}

char *pen_one_line(const char *text)
{
    char *line = g_utf8_make_valid(text, -1);

    for (char *c = line; *c; c++)
        if (g_ascii_iscntrl(*c))
            *c = ' ';
    return line;
}

/* The most characters from one end that fit beside an ellipsis. */
static char *ellipsize(const struct pen *p, const struct font *font, const char *text, double width, bool keep_end)
{
    g_autofree char *line = pen_one_line(text);
    const long whole = g_utf8_strlen(line, -1);
    char *best = NULL;
    long low = 0, high = whole; /* at least low, fewer than high */

    if (pen_width(p, font, line) <= width)
        return g_steal_pointer(&line);
    while (low < high) {
        const long n = low + (high - low) / 2;
        g_autofree char *part = keep_end ? g_utf8_substring(line, whole - n, whole) : g_utf8_substring(line, 0, n);
        g_autofree char *cut = keep_end ? g_strconcat(ELLIPSIS, part, NULL) : g_strconcat(part, ELLIPSIS, NULL);
        if (pen_width(p, font, cut) <= width) {
            g_free(best);
            best = g_steal_pointer(&cut);
            low = n + 1;
        } else {
            high = n;
        }
    }
    return best ? best : g_strdup("");
}

char *pen_ellipsize(const struct pen *p, const struct font *font, const char *text, double width)
{
    return ellipsize(p, font, text, width, false);
}

char *pen_ellipsize_start(const struct pen *p, const struct font *font, const char *text, double width)
{
    return ellipsize(p, font, text, width, true);
}

/* Whether the word still goes on the line.  The widths of words and spaces add up to the line's but for their
 * fonts. */
static bool goes_on(const struct pen *p, const struct font *font, const char *line, const char *word,
                    double sum, double width)
{
    if (fabs(sum - width) > 0.05 * width)
        return sum < width;
    g_autofree char *both = g_strconcat(line, " ", word, NULL);
    return pen_width(p, font, both) <= width;
}

char **pen_wrap(const struct pen *p, const struct font *font, const char *text, double width,
                unsigned max_lines)
{
    g_autofree char *clean = pen_one_line(text);
    g_auto(GStrv) words = g_strsplit(clean, " ", -1);
    GPtrArray *lines = g_ptr_array_new();
    g_autoptr(GString) line = g_string_new(NULL);
    const double space = pen_width(p, font, "n n") - pen_width(p, font, "nn");
    double used = 0;

    for (char **w = words; *w; w++) {
        double wide = pen_width(p, font, *w);
        bool last = lines->len + 1 == max_lines; /* takes all that is left, and is shortened below */
        if (line->len && !last && !goes_on(p, font, line->str, *w, used + space + wide, width)) {
            g_ptr_array_add(lines, pen_ellipsize(p, font, line->str, width));
            g_string_truncate(line, 0);
        }
        used = line->len ? used + space + wide : wide;
        g_string_append_printf(line, "%s%s", line->len ? " " : "", *w);
    }
    if (line->len)
        g_ptr_array_add(lines, pen_ellipsize(p, font, line->str, width));
    g_ptr_array_add(lines, NULL);
    return (char **)g_ptr_array_free(lines, FALSE);
}

static void tell(const struct pen *p)
{
    if (p->ops->belong)
        p->ops->belong(p->draw, p->belongs);
}

void pen_belong(const struct pen *p, enum draw_key key, int64_t number)
{
    if (!p->belongs || p->belongs->of[key] == number || p->fixed >> key & 1)
        return;
    p->belongs->of[key] = number;
    tell(p);
}

void pen_belong_rest(const struct pen *p)
{
    if (!p->belongs)
        return;
    p->belongs->rest = true;
    tell(p);
}

void pen_belong_all(const struct pen *p, const struct belongs *belongs)
{
    if (!p->belongs)
        return;
    *p->belongs = *belongs;
    tell(p);
}

void pen_belong_rank_only(const struct pen *p)
{
    if (!p->belongs)
        return;
    const struct belongs before = *p->belongs;
    *p->belongs = BELONGS_NOWHERE;
    for (enum draw_key key = 0; key < DRAW_KEYS; key++)
        if (key == KEY_RANK || p->fixed >> key & 1)
            p->belongs->of[key] = before.of[key];
    tell(p);
}

void pen_belong_step(const struct pen *p, int64_t step)
{
    pen_belong(p, KEY_PHASE, step);
    pen_belong(p, KEY_TIME, step);
}

struct pen pen_fix(const struct pen *p, enum draw_key key, int64_t number)
{
    struct pen fixed = *p;

    pen_belong(p, key, number);
    fixed.fixed |= 1u << key;
    return fixed;
}

void pen_group_rank(const struct pen *p, uint32_t rank)
{
    char id[32];

    g_snprintf(id, sizeof id, "rank-%u", rank + p->look->count_from);
    if (p->ops->group)
        p->ops->group(p->draw, id);
    pen_belong_rank_only(p);
    pen_belong(p, KEY_RANK, rank);
}

void pen_group_end(const struct pen *p)
{
    if (p->ops->group)
        p->ops->group(p->draw, NULL);
    pen_belong(p, KEY_RANK, DRAW_NONE);
    pen_belong_rank_only(p);
}

struct pen pen_english(const struct pen *p)
{
    struct pen english = *p;

    english.lang = language_standard();
    return english;
}

static char *place_of(const struct pen *p, uint32_t rank)
{
    return rank == OP_NONE ? g_strdup("") : pen_rank(p, rank);
}

void pen_span(const struct pen *p, double x, double y, double w, double h, const char *tag,
              const char *english, uint32_t rank, const char *about)
{
    g_autofree char *said = g_strconcat(tag, about && *about ? " · " : "", about, NULL);

    pen_span_said(p, x, y, w, h, tag, english, rank, said);
}

void pen_span_said(const struct pen *p, double x, double y, double w, double h, const char *tag,
                   const char *english, uint32_t rank, const char *said)
{
    if (p->notes) {
        const struct pen other = pen_english(p);
        g_autofree char *place = place_of(p, rank), *english_place = place_of(&other, rank);
        const char *const tags[] = {tag, english ? english : tag}, *const places[] = {place, english_place};
        notes_add_span(p->notes, x, y, w, h, tags, places, p->belongs);
    }
    if (!p->ops->span)
        return;
    g_autofree char *text = pen_one_line(said);
    p->ops->span(p->draw, x * p->px, y * p->px, w * p->px, h * p->px, text);
}

char *pen_rank_name(const struct pen *p, const char *standard)
{
    return pen_ellipsize(p, &p->strong, p->look->rank_name ? p->look->rank_name : standard, MAX_RANK);
}

char *pen_rank(const struct pen *p, uint32_t rank)
{
    g_autofree char *name = pen_rank_name(p, word(p->lang, "figure.rank-name"));

    return say(p->lang, "figure.rank", "name", name, "n", count((uint64_t)rank + p->first_rank + p->look->count_from), NULL);
}
