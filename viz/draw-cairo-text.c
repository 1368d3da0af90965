#include "viz/draw-cairo.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"

#define FAMILIES "Noto Sans, Noto Sans CJK KR, NanumGothic, DejaVu Sans, sans-serif"
#define WEIGHTS  2

static struct {
    pthread_t thread;
    bool asked, loading;
    PangoFontMap *map; /* the thread's while it is loading */
} fonts;

/* A text of one line, cleaned, in units of Pango at FONT_EM px. */
struct line {
    char *text;
    GSList *runs; /* PangoGlyphItem, from left to right */
    double width;
};

struct texts {
    PangoContext *context;
    char *families;
    PangoFontDescription *font[WEIGHTS]; /* by enum weight */
    PangoAttrList *no_attributes;
    GHashTable *lines[WEIGHTS]; /* text -> struct line: ranks repeat their labels */
};

static void line_free(gpointer data)
{
    struct line *line = data;

    g_slist_free_full(line->runs, (GDestroyNotify)pango_glyph_item_free);
    g_free(line->text);
    g_free(line);
}

static struct texts *texts_on(PangoFontMap *map, const char *families, const char *language)
{
    g_autofree char *all =
        g_strconcat(families ? families : "", families && *families ? ", " : "", FAMILIES, NULL);
    struct texts *t = g_new0(struct texts, 1);
    cairo_font_options_t *options = cairo_font_options_create();

    t->context = pango_font_map_create_context(map);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    pango_cairo_context_set_font_options(t->context, options);
    cairo_font_options_destroy(options);
    pango_context_set_round_glyph_positions(t->context, FALSE);
    /* otherwise the locale chooses among fonts */
    pango_context_set_language(t->context, pango_language_from_string(language ? language : "en"));
    pango_context_set_base_dir(t->context, PANGO_DIRECTION_LTR);
    t->no_attributes = pango_attr_list_new();
    for (unsigned i = 0; i < WEIGHTS; i++) {
        t->font[i] = pango_font_description_new();
        pango_font_description_set_family(t->font[i], all);
        pango_font_description_set_weight(t->font[i],
                                          i == WEIGHT_BOLD ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
        pango_font_description_set_absolute_size(t->font[i], FONT_EM * PANGO_SCALE);
        t->lines[i] = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, line_free);
    }
    return t;
}

static void *load(void *unused)
{
    struct font font = {FONT_EM, WEIGHT_NORMAL};

    (void)unused;
    fonts.map = pango_cairo_font_map_new();
    struct texts *texts = texts_on(fonts.map, NULL, NULL);
    for (; font.weight < WEIGHTS; font.weight++)
        texts_width(texts, &font, "0");
    texts_free(texts);
    return NULL;
}

/* Also when the process ends before anything is drawn: the libraries are taken down then. */
static void fonts_settle(void)
{
    if (fonts.loading)
        pthread_join(fonts.thread, NULL);
    fonts.loading = false;
}

void fonts_prepare(void)
{
    if (fonts.asked)
        return;
    fonts.asked = true;
    fonts.loading = thread_start(&fonts.thread, NULL, load, NULL) == 0;
    atexit(fonts_settle);
}

struct texts *texts_new(const char *families, const char *language)
{
    fonts_settle();
    if (!fonts.map)
        load(NULL);
    struct texts *t = texts_on(fonts.map, families, language);
    t->families = g_strdup(families);
    return t;
}

void texts_free(struct texts *t)
{
    for (unsigned i = 0; i < WEIGHTS; i++) {
        g_hash_table_destroy(t->lines[i]);
        pango_font_description_free(t->font[i]);
    }
    pango_attr_list_unref(t->no_attributes);
    g_object_unref(t->context);
    g_free(t->families);
    g_free(t);
}

/* What turns the direction of a text, of all that follows it, too; and DEL. */
static bool is_control(gunichar c)
{
    return c < ' ' || c == 0x7F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

static bool is_character(gunichar c)
{
    return (c < 0xFDD0 || c > 0xFDEF) && (c & 0xFFFE) != 0xFFFE;
}

char *texts_clean(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    GString *clean = g_string_sized_new(strlen(valid));

    for (const char *at = valid; *at; at = g_utf8_next_char(at)) {
        const gunichar c = g_utf8_get_char(at);
        g_string_append_unichar(clean, is_control(c) ? ' ' : is_character(c) ? c : 0xFFFD);
    }
    return g_string_free(clean, FALSE);
}

/* Not by a PangoLayout: it asks for the height of lines, too, and that loads as many fonts again. */
static struct line *line_new(struct texts *t, enum weight weight, const char *text)
{
    struct line *line = g_new0(struct line, 1);

    line->text = texts_clean(text);
    pango_context_set_font_description(t->context, t->font[weight]);
    GList *logical =
        pango_itemize(t->context, line->text, 0, (int)strlen(line->text), t->no_attributes, NULL);
    GList *items = pango_reorder_items(logical);
    for (GList *at = items; at; at = at->next) {
        PangoGlyphItem *run = g_slice_new0(PangoGlyphItem);
        run->item = at->data;
        run->glyphs = pango_glyph_string_new();
        pango_shape_full(line->text + run->item->offset, run->item->length, line->text, -1,
                         &run->item->analysis, run->glyphs);
        line->width += pango_glyph_string_get_width(run->glyphs);
        line->runs = g_slist_prepend(line->runs, run);
    }
    line->runs = g_slist_reverse(line->runs);
    g_list_free(items);
    g_list_free(logical);
    return line;
}

static const struct line *line_of(struct texts *t, enum weight weight, const char *text)
{
    struct line *line = g_hash_table_lookup(t->lines[weight], text);

    if (!line) {
        line = line_new(t, weight, text);
        g_hash_table_insert(t->lines[weight], g_strdup(text), line);
    }
    return line;
}

double texts_width(struct texts *t, const struct font *font, const char *text)
{
    return line_of(t, font->weight, text)->width / (FONT_EM * PANGO_SCALE) * font->size;
}

void texts_show(struct texts *t, cairo_t *cr, const struct font *font, const char *text, bool outlines)
{
    const struct line *line = line_of(t, font->weight, text);
    double x = 0;

    cairo_scale(cr, font->size / FONT_EM, font->size / FONT_EM);
    for (GSList *at = line->runs; at; at = at->next) {
        PangoGlyphItem *run = at->data;
        cairo_move_to(cr, x / PANGO_SCALE, 0);
        if (outlines)
            pango_cairo_glyph_string_path(cr, run->item->analysis.font, run->glyphs);
        else
            pango_cairo_show_glyph_item(cr, line->text, run);
        x += pango_glyph_string_get_width(run->glyphs);
    }
    if (outlines)
        cairo_fill(cr);
}

/* Characters of a line that are shown as boxes with their number, each once. */
static void report_line(const struct line *line, GString *missing)
{
    for (GSList *at = line->runs; at; at = at->next) {
        const PangoGlyphItem *run = at->data;
        for (int i = 0; i < run->glyphs->num_glyphs; i++) {
            if (!(run->glyphs->glyphs[i].glyph & PANGO_GLYPH_UNKNOWN_FLAG))
                continue;
            const char *from = line->text + run->item->offset + run->glyphs->log_clusters[i];
            g_autofree char *character = g_strndup(from, (gsize)(g_utf8_next_char(from) - from));
            if (!strstr(missing->str, character))
                g_string_append(missing, character);
        }
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void texts_report_missing(struct texts *t, GString *missing)
{
    g_auto(GStrv) families = g_strsplit(t->families ? t->families : "", ",", 2);
    char *first = families[0] ? g_strstrip(families[0]) : NULL;

    for (unsigned i = 0; i < WEIGHTS; i++) {
        guint n;
        g_autofree gpointer *texts = g_hash_table_get_keys_as_array(t->lines[i], &n);
        qsort(texts, n, sizeof *texts, by_text);
        for (guint k = 0; k < n; k++)
            report_line(g_hash_table_lookup(t->lines[i], texts[k]), missing);
    }
    if (first && *first && !pango_font_map_get_family(fonts.map, first))
        g_string_append_printf(missing, "\n%s", first);
}
