/* Texts and what is said of spans, as elements. */
#include <math.h>
#include <string.h>

#include "viz/draw-svg.h"
#include "viz/svg-put.h"

void svg_put_text(GString *out, const char *text)
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

/* As they are written: sizes that were computed differ by less. */
static bool alike(const struct svg_text *a, const struct svg_text *b)
{
    return svg_hundredths(a->font.size) == svg_hundredths(b->font.size) && a->font.weight == b->font.weight &&
           a->align == b->align && a->color == b->color;
}

static bool level(const struct svg_text *a, const struct svg_text *b)
{
    return svg_hundredths(a->y) == svg_hundredths(b->y);
}

static void begin_group(GString *out, const struct svg_text *like)
{
    static const char *const anchors[] = {[ALIGN_LEFT] = "",
                                          [ALIGN_CENTER] = " text-anchor=\"middle\"",
                                          [ALIGN_RIGHT] = " text-anchor=\"end\""};

    g_string_append(out, "<g font-size=\"");
    svg_put_number(out, svg_hundredths(like->font.size));
    g_string_append_printf(out, "\"%s%s fill=\"",
                           like->font.weight == WEIGHT_BOLD ? " font-weight=\"bold\"" : "",
                           anchors[like->align]);
    svg_put_color(out, like->color);
    g_string_append(out, "\">\n");
}

/* Half px are near enough where only texts are beside. */
static int64_t halves(double x)
{
    return llround(x * 2) * (SVG_UNIT / 2);
}

static void put_element(GString *out, const struct svg_text *t, bool moved)
{
    g_string_append(out, "<text x=\"");
    svg_put_number(out, halves(t->x));
    if (!moved) {
        g_string_append(out, "\" y=\"");
        svg_put_number(out, svg_hundredths(t->y));
    }
    g_string_append(out, spaced(t->text) ? "\" xml:space=\"preserve\">" : "\">");
    svg_put_text(out, t->text);
    g_string_append(out, "</text>\n");
}

/* A row of so many is shorter in a group of its own that is moved down to it. */
#define ROW_TEXTS 5

static void put_row(GString *out, const GPtrArray *kind, guint first)
{
    const struct svg_text *head = kind->pdata[first];
    guint n = 0;

    for (guint i = first; i < kind->len; i++)
        n += kind->pdata[i] && level(head, kind->pdata[i]);
    const bool moved = n >= ROW_TEXTS;
    if (moved) {
        g_string_append(out, "<g transform=\"translate(0 ");
        svg_put_number(out, svg_hundredths(head->y));
        g_string_append(out, ")\">\n");
    }
    for (guint i = first; i < kind->len; i++)
        if (kind->pdata[i] && level(head, kind->pdata[i])) {
            put_element(out, kind->pdata[i], moved);
            kind->pdata[i] = NULL;
        }
    if (moved)
        g_string_append(out, "</g>\n");
}

/* Those of a group, of the same kind together, each kind where it comes first. */
void svg_put_texts(GString *out, const GArray *texts, guint group)
{
    const struct svg_text *all = texts ? (const struct svg_text *)(void *)texts->data : NULL;
    g_autofree bool *done = g_new0(bool, texts ? texts->len + 1 : 1);
    g_autoptr(GPtrArray) kind = g_ptr_array_new();

    for (guint i = 0; texts && i < texts->len; i++) {
        if (done[i] || all[i].group != group)
            continue;
        for (guint k = i; k < texts->len; k++)
            if (!done[k] && all[k].group == group && alike(&all[i], &all[k])) {
                g_ptr_array_add(kind, (gpointer)&all[k]);
                done[k] = true;
            }
        begin_group(out, &all[i]);
        for (guint k = 0; k < kind->len; k++)
            if (kind->pdata[k])
                put_row(out, kind, k);
        g_string_append(out, "</g>\n");
        g_ptr_array_set_size(kind, 0);
    }
}

/* Whole px are near enough to point at. */
static int64_t whole(double x)
{
    return llround(x) * SVG_UNIT;
}

static void put_title_of(GString *out, const struct svg_span *s)
{
    g_string_append(out, "\"><title>");
    svg_put_text(out, s->text);
    g_string_append(out, "</title></path>\n");
}

/* From the corner of the one before, if there is one. */
static void put_area(GString *out, const struct svg_span *s, const struct svg_span *before)
{
    const int64_t x = whole(s->x), y = whole(s->y), w = whole(s->x + s->w) - x;

    g_string_append(out, before ? "zm" : "M");
    svg_put_number(out, x - (before ? whole(before->x) : 0));
    svg_put_next(out, y - (before ? whole(before->y) : 0), false);
    g_string_append_c(out, 'h');
    svg_put_number(out, w);
    g_string_append_c(out, 'v');
    svg_put_number(out, whole(s->y + s->h) - y);
    g_string_append_c(out, 'h');
    svg_put_number(out, -w);
}

/* Not painted, and yet found by a pointer: over everything of its group.  Neighbours that say the same are
 * one. */
void svg_put_spans(GString *out, const GArray *spans, guint group)
{
    const struct svg_span *last = NULL;

    for (guint i = 0; spans && i < spans->len; i++) {
        const struct svg_span *s = &g_array_index(spans, struct svg_span, i);
        if (s->group != group)
            continue;
        const bool same = last && g_str_equal(last->text, s->text);
        if (!last)
            g_string_append(out, "<g fill=\"none\" pointer-events=\"all\">\n");
        else if (!same)
            put_title_of(out, last);
        if (!same)
            g_string_append(out, "<path d=\"");
        put_area(out, s, same ? last : NULL);
        last = s;
    }
    if (!last)
        return;
    put_title_of(out, last);
    g_string_append(out, "</g>\n");
}
