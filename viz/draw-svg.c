#include "viz/draw-svg.h"

#include <math.h>
#include <string.h>

/* A viewer without the first takes the next one that is no wider, so that labels stay in their boxes. */
#define FAMILIES                                                                                             \
    "Noto Sans,Arial,Helvetica,Liberation Sans,Noto Sans CJK KR,NanumGothic,Malgun Gothic,"                  \
    "Apple SD Gothic Neo,DejaVu Sans,sans-serif"

/* --- parts of a text */

struct slice {
    const char *at;
    size_t n;
};

static bool is(struct slice s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.at, text, s.n) == 0;
}

static bool begins(struct slice s, const char *text)
{
    const size_t n = strlen(text);

    return s.n >= n && memcmp(s.at, text, n) == 0;
}

static void put(GString *out, struct slice s)
{
    g_string_append_len(out, s.at, (gssize)s.n);
}

static void advance(struct slice *s, size_t n)
{
    s->at += n;
    s->n -= n;
}

/* The part up to `stop`, which is skipped; all of it where there is none. */
static struct slice cut(struct slice *from, char stop)
{
    const char *found = memchr(from->at, stop, from->n);
    const struct slice head = {from->at, found ? (size_t)(found - from->at) : from->n};

    advance(from, head.n + (found != NULL));
    return head;
}

/* --- numbers and colours */

#define DECIMALS   2
#define UNIT       100 /* numbers are counted in hundredths */
#define MAX_DIGITS 10  /* before the point; more are no coordinate */

static int64_t hundredths(double x)
{
    return llround(x * UNIT);
}

/* "-12.345678" after blanks, as Cairo writes it; rounded.  This and the next by hand: there are thousands. */
static bool take_number(struct slice *from, int64_t *out)
{
    int64_t n = 0;
    unsigned whole = 0, part = 0; /* digits */

    while (begins(*from, " "))
        advance(from, 1);
    const bool negative = begins(*from, "-");
    advance(from, negative);
    for (; from->n && g_ascii_isdigit(*from->at) && whole < MAX_DIGITS; whole++, advance(from, 1))
        n = n * 10 + *from->at - '0';
    advance(from, begins(*from, "."));
    for (; from->n && g_ascii_isdigit(*from->at); part++, advance(from, 1))
        if (part <= DECIMALS) /* one more than stays */
            n = n * 10 + *from->at - '0';
    for (; part <= DECIMALS; part++)
        n *= 10;
    n = (n + 5) / 10;
    *out = negative ? -n : n;
    return whole > 0 && whole < MAX_DIGITS;
}

static void put_number(GString *out, int64_t n)
{
    const uint64_t size = n < 0 ? -(uint64_t)n : (uint64_t)n;
    const unsigned part = size % UNIT;
    char text[32], *at = text + sizeof text;

    if (part % 10)
        *--at = (char)('0' + part % 10);
    if (part) {
        *--at = (char)('0' + part / 10);
        *--at = '.';
    }
    for (uint64_t whole = size / UNIT; whole || (!part && at == text + sizeof text); whole /= 10)
        *--at = (char)('0' + whole % 10);
    if (n < 0)
        *--at = '-';
    g_string_append_len(out, at, text + sizeof text - at);
}

/* Numbers after one another: a sign parts them too. */
static void put_next(GString *out, int64_t n, bool first)
{
    if (!first && n >= 0)
        g_string_append_c(out, ' ');
    put_number(out, n);
}

static void put_color(GString *out, uint32_t color)
{
    const unsigned r = color >> 16 & 255, g = color >> 8 & 255, b = color & 255;

    if (r % 17 || g % 17 || b % 17)
        g_string_append_printf(out, "#%02x%02x%02x", r, g, b);
    else
        g_string_append_printf(out, "#%x%x%x", r / 17, g / 17, b / 17);
}

/* --- Cairo's paths */

struct walk {
    GString *out;
    int64_t x, y, start_x, start_y; /* here, and where the subpath began */
    bool moved;                     /* and nothing drawn since */
};

static void walk_begin(struct walk *w)
{
    if (!w->moved)
        return;
    g_string_append_c(w->out, 'M');
    put_next(w->out, w->x, true);
    put_next(w->out, w->y, false);
    w->moved = false;
}

static void walk_line(struct walk *w, int64_t x, int64_t y)
{
    const int64_t dx = x - w->x, dy = y - w->y;

    walk_begin(w);
    g_string_append_c(w->out, dy == 0 ? 'h' : dx == 0 ? 'v' : 'l');
    if (dx || !dy)
        put_next(w->out, dx, true);
    if (dy)
        put_next(w->out, dy, !dx);
    w->x = x;
    w->y = y;
}

static void walk_curve(struct walk *w, const int64_t *xy)
{
    walk_begin(w);
    g_string_append_c(w->out, 'c');
    for (unsigned i = 0; i < 6; i++)
        put_next(w->out, xy[i] - (i % 2 ? w->y : w->x), i == 0);
    w->x = xy[4];
    w->y = xy[5];
}

static void walk_close(struct walk *w)
{
    walk_begin(w);
    g_string_append_c(w->out, 'z');
    w->x = w->start_x;
    w->y = w->start_y;
    w->moved = true; /* what follows a close may be a line from there */
}

static unsigned arguments_of(char command)
{
    return command == 'C' ? 6 : command == 'M' || command == 'L' ? 2 : 0;
}

/* False: has something that Cairo is not known to write. */
static bool put_path(GString *out, struct slice path)
{
    struct walk w = {.out = out, .moved = true};

    while (path.n) {
        const char command = *path.at;
        int64_t n[6];
        advance(&path, 1);
        if (command == ' ')
            continue;
        if (!command || !strchr("MLCZ", command))
            return false;
        for (unsigned i = 0; i < arguments_of(command); i++)
            if (!take_number(&path, &n[i]))
                return false;
        if (command == 'M') {
            w.x = w.start_x = n[0];
            w.y = w.start_y = n[1];
            w.moved = true;
        } else if (command == 'L')
            walk_line(&w, n[0], n[1]);
        else if (command == 'C')
            walk_curve(&w, n);
        else
            walk_close(&w);
    }
    return true;
}

/* --- Cairo's elements */

static bool assumed(struct slice name, struct slice value)
{
    static const char *const values[][2] = {
        {"fill-rule", "nonzero"},   {"fill-opacity", "1"},      {"stroke", "none"},
        {"stroke-opacity", "1"},    {"stroke-linecap", "butt"}, {"stroke-linejoin", "miter"},
        {"stroke-miterlimit", "4"}, {"stroke-width", "1"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(values); i++)
        if (is(name, values[i][0]))
            return is(value, values[i][1]);
    return false;
}

/* "rgb(20%,40%,60%)" */
static bool put_percents(GString *out, struct slice value)
{
    uint32_t color = 0;
    int64_t percent;

    if (!begins(value, "rgb("))
        return false;
    advance(&value, strlen("rgb("));
    for (unsigned i = 0; i < 3; i++) {
        if (!take_number(&value, &percent) || percent < 0 || percent > 100 * UNIT || !begins(value, "%"))
            return false;
        color = color << 8 | (uint32_t)((percent * 255 + 50 * UNIT) / (100 * UNIT));
        cut(&value, i < 2 ? ',' : ')');
    }
    put_color(out, color);
    return true;
}

/* As attributes, which are shorter and which every editor understands. */
static void put_style(GString *out, struct slice style)
{
    while (style.n) {
        struct slice value = cut(&style, ';'), name;
        while (value.n && *value.at == ' ')
            cut(&value, ' ');
        name = cut(&value, ':');
        if (!name.n || assumed(name, value))
            continue;
        g_string_append_c(out, ' ');
        put(out, name);
        g_string_append(out, "=\"");
        if (!put_percents(out, value))
            put(out, value);
        g_string_append_c(out, '"');
    }
}

/* `rest` begins after "<path " and goes on beyond the element. */
static void put_path_element(GString *out, struct slice *rest)
{
    struct slice element = cut(rest, '>');

    g_string_append(out, "<path");
    while (element.n && *element.at != '/') {
        struct slice name = cut(&element, '='), value;
        cut(&element, '"');
        value = cut(&element, '"');
        while (begins(element, " "))
            cut(&element, ' ');
        if (is(name, "style")) {
            put_style(out, value);
            continue;
        }
        g_string_append_c(out, ' ');
        put(out, name);
        g_string_append(out, "=\"");
        const size_t start = out->len;
        if (!is(name, "d") || !put_path(out, value)) {
            g_string_truncate(out, start);
            put(out, value);
        }
        g_string_append_c(out, '"');
    }
    put(out, element);
    g_string_append_c(out, '>');
}

/* --- texts */

static void put_text(GString *out, const char *text)
{
    for (size_t n; *text; text += n + 1) {
        n = strcspn(text, "&<>");
        g_string_append_len(out, text, (gssize)n);
        if (!text[n])
            break;
        g_string_append(out, text[n] == '&' ? "&amp;" : text[n] == '<' ? "&lt;" : "&gt;");
    }
}

/* Blanks that XML would drop. */
static bool spaced(const char *text)
{
    return *text == ' ' || strstr(text, "  ") || g_str_has_suffix(text, " ");
}

static bool alike(const struct svg_text *a, const struct svg_text *b)
{
    return a->font.size == b->font.size && a->font.weight == b->font.weight && a->align == b->align &&
           a->color == b->color;
}

static void begin_group(GString *out, const struct svg_text *like)
{
    static const char *const anchors[] = {[ALIGN_LEFT] = "",
                                          [ALIGN_CENTER] = " text-anchor=\"middle\"",
                                          [ALIGN_RIGHT] = " text-anchor=\"end\""};

    g_string_append(out, "<g font-size=\"");
    put_number(out, hundredths(like->font.size));
    g_string_append_printf(out, "\"%s%s fill=\"",
                           like->font.weight == WEIGHT_BOLD ? " font-weight=\"bold\"" : "",
                           anchors[like->align]);
    put_color(out, like->color);
    g_string_append(out, "\">\n");
}

static void put_element(GString *out, const struct svg_text *t)
{
    g_string_append(out, "<text x=\"");
    put_number(out, hundredths(t->x));
    g_string_append(out, "\" y=\"");
    put_number(out, hundredths(t->y));
    g_string_append(out, spaced(t->text) ? "\" xml:space=\"preserve\">" : "\">");
    put_text(out, t->text);
    g_string_append(out, "</text>\n");
}

/* Those of a group, of the same kind together, each kind where it comes first. */
static void put_texts(GString *out, const GArray *texts, guint group)
{
    const struct svg_text *all = texts ? (const struct svg_text *)(void *)texts->data : NULL;
    g_autofree bool *done = g_new0(bool, texts ? texts->len + 1 : 1);

    for (unsigned i = 0; texts && i < texts->len; i++) {
        if (done[i] || all[i].group != group)
            continue;
        begin_group(out, &all[i]);
        for (unsigned k = i; k < texts->len; k++)
            if (!done[k] && all[k].group == group && alike(&all[i], &all[k])) {
                put_element(out, &all[k]);
                done[k] = true;
            }
        g_string_append(out, "</g>\n");
    }
}

/* Whole px are near enough to point at. */
static int64_t whole(double x)
{
    return llround(x) * UNIT;
}

/* Not painted, and yet found by a pointer: over everything of its group. */
static void put_spans(GString *out, const GArray *spans, guint group)
{
    const char *begin = "<g fill=\"none\" pointer-events=\"all\">\n", *end = "";

    for (unsigned i = 0; spans && i < spans->len; i++) {
        const struct svg_span *s = &g_array_index(spans, struct svg_span, i);
        if (s->group != group)
            continue;
        g_string_append(out, begin);
        const int64_t x = whole(s->x), y = whole(s->y), w = whole(s->x + s->w) - x;
        g_string_append(out, "<path d=\"M");
        put_number(out, x);
        put_next(out, y, false);
        g_string_append_c(out, 'h');
        put_number(out, w);
        g_string_append_c(out, 'v');
        put_number(out, whole(s->y + s->h) - y);
        g_string_append_c(out, 'h');
        put_number(out, -w);
        g_string_append(out, "z\"><title>");
        put_text(out, s->text);
        g_string_append(out, "</title></path>\n");
        begin = "";
        end = "</g>\n";
    }
    g_string_append(out, end);
}

/* --- the whole */

static void put_title(GString *out, const char *title)
{
    if (!title)
        return;
    g_string_append(out, "\n<title>");
    put_text(out, title);
    g_string_append(out, "</title>");
}

/* The element is a mark, and skipped. */
static bool take_mark(struct slice *rest)
{
    struct slice element = *rest, probe = *rest;
    int64_t width = 0;

    element.n = cut(&probe, '>').n;
    const char *found = g_strstr_len(element.at, (gssize)element.n, "stroke-width:");
    if (!found)
        return false;
    struct slice number = {found + strlen("stroke-width:"), element.n - (size_t)(found - element.at)};
    number.n = MIN(number.n, 7); /* "0.04687" */
    if (!take_number(&number, &width) || width != hundredths(SVG_MARK_WIDTH) ||
        !g_strstr_len(element.at, (gssize)element.n, "M 1 1 L 2 2"))
        return false;
    *rest = probe;
    return true;
}

/* Ends group n with its texts and spans, and begins the next one. */
static void next_group(GString *out, const struct svg_parts *p, guint n)
{
    const bool inside = n > 0 && *(const char *)g_ptr_array_index(p->groups, n - 1);
    const char *id = p->groups && n < p->groups->len ? g_ptr_array_index(p->groups, n) : "";

    put_texts(out, p->texts, n);
    put_spans(out, p->spans, n);
    if (inside)
        g_string_append(out, "</g>\n");
    if (*id)
        g_string_append_printf(out, "<g id=\"%s\">\n", id);
}

static void put_families(GString *out, const struct svg_parts *p)
{
    g_autofree char *own = p->font && *p->font ? g_markup_escape_text(p->font, -1) : NULL;

    g_string_append_printf(out, "<g font-family=\"%s%s" FAMILIES "\">", own ? own : "", own ? "," : "");
}

GBytes *svg_write(const char *stream, size_t bytes, const struct svg_parts *p)
{
    struct slice rest = {stream, bytes};
    GString *out = g_string_sized_new(bytes / 2);
    guint group = 0;
    bool open = false;

    while (rest.n) {
        put(out, cut(&rest, '<'));
        if (begins(rest, "path ") && p->groups && group < p->groups->len && take_mark(&rest)) {
            next_group(out, p, group++);
            while (begins(rest, "\n"))
                advance(&rest, 1);
        } else if (begins(rest, "path ")) {
            cut(&rest, ' ');
            put_path_element(out, &rest);
        } else if (begins(rest, "svg ")) {
            g_string_append_c(out, '<');
            put(out, cut(&rest, '>'));
            g_string_append_c(out, '>');
            put_title(out, p->title);

        } else if (begins(rest, "g id=\"surface")) {
            /* Cairo numbers its surfaces over the life of the process. */
            cut(&rest, '>');
            if (p->texts)
                put_families(out, p);
            else
                g_string_append(out, "<g>");
            open = true;
        } else if (rest.n) {
            if (open && begins(rest, "/g>")) {
                next_group(out, p, group);
                open = false;
            }
            g_string_append_c(out, '<');
        }
    }
    return g_string_free_to_bytes(out);
}
