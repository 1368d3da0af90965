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
    svg_put_number(out, svg_hundredths(like->font.size));
    g_string_append_printf(out, "\"%s%s fill=\"",
                           like->font.weight == WEIGHT_BOLD ? " font-weight=\"bold\"" : "",
                           anchors[like->align]);
    svg_put_color(out, like->color);
    g_string_append(out, "\">\n");
}

static void put_element(GString *out, const struct svg_text *t)
{
    g_string_append(out, "<text x=\"");
    svg_put_number(out, svg_hundredths(t->x));
    g_string_append(out, "\" y=\"");
    svg_put_number(out, svg_hundredths(t->y));
    g_string_append(out, spaced(t->text) ? "\" xml:space=\"preserve\">" : "\">");
    svg_put_text(out, t->text);
    g_string_append(out, "</text>\n");
}

/* Those of a group, of the same kind together, each kind where it comes first. */
void svg_put_texts(GString *out, const GArray *texts, guint group)
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
    return llround(x) * SVG_UNIT;
}

/* Not painted, and yet found by a pointer: over everything of its group. */
void svg_put_spans(GString *out, const GArray *spans, guint group)
{
    const char *begin = "<g fill=\"none\" pointer-events=\"all\">\n", *end = "";

    for (unsigned i = 0; spans && i < spans->len; i++) {
        const struct svg_span *s = &g_array_index(spans, struct svg_span, i);
        if (s->group != group)
            continue;
        g_string_append(out, begin);
        const int64_t x = whole(s->x), y = whole(s->y), w = whole(s->x + s->w) - x;
        g_string_append(out, "<path d=\"M");
        svg_put_number(out, x);
        svg_put_next(out, y, false);
        g_string_append_c(out, 'h');
        svg_put_number(out, w);
        g_string_append_c(out, 'v');
        svg_put_number(out, whole(s->y + s->h) - y);
        g_string_append_c(out, 'h');
        svg_put_number(out, -w);
        g_string_append(out, "z\"><title>");
        svg_put_text(out, s->text);
        g_string_append(out, "</title></path>\n");
        begin = "";
        end = "</g>\n";
    }
    g_string_append(out, end);
}
