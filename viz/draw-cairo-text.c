#include "viz/draw-cairo.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FAMILIES "Noto Sans, Noto Sans CJK KR, NanumGothic, DejaVu Sans, sans-serif"
#define WEIGHTS  2

static struct {
    pthread_t thread;
    bool asked, loading;
    PangoFontMap *map; /* the thread's while it is loading */
} fonts;

struct texts {
    PangoContext *context;
    char *families;
    PangoFontDescription *font[WEIGHTS]; /* by enum weight */
    GHashTable *layouts[WEIGHTS];        /* text -> PangoLayout: ranks repeat their labels */
};

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
    for (unsigned i = 0; i < WEIGHTS; i++) {
        t->font[i] = pango_font_description_new();
        pango_font_description_set_family(t->font[i], all);
        pango_font_description_set_weight(t->font[i],
                                          i == WEIGHT_BOLD ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
        pango_font_description_set_absolute_size(t->font[i], FONT_EM * PANGO_SCALE);
        t->layouts[i] = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
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
    fonts.loading = pthread_create(&fonts.thread, NULL, load, NULL) == 0;
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
        g_hash_table_destroy(t->layouts[i]);
        pango_font_description_free(t->font[i]);
    }
    g_object_unref(t->context);
    g_free(t->families);
    g_free(t);
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
        g_string_append_unichar(clean, c < ' ' ? ' ' : is_character(c) ? c : 0xFFFD);
    }
    return g_string_free(clean, FALSE);
}

PangoLayout *texts_layout(struct texts *t, enum weight weight, const char *text)
{
    PangoLayout *layout = g_hash_table_lookup(t->layouts[weight], text);

    if (!layout) {
        g_autofree char *clean = texts_clean(text);
        layout = pango_layout_new(t->context);
        pango_layout_set_font_description(layout, t->font[weight]);
        pango_layout_set_single_paragraph_mode(layout, TRUE);
        pango_layout_set_text(layout, clean, -1);
        g_hash_table_insert(t->layouts[weight], g_strdup(text), layout);
    }
    return layout;
}

double texts_width(struct texts *t, const struct font *font, const char *text)
{
    int width;

    pango_layout_get_size(texts_layout(t, font->weight, text), &width, NULL);
    return width / (FONT_EM * PANGO_SCALE) * font->size;
}

/* Characters of a layout that are shown as boxes with their number, each once. */
static void report_layout(PangoLayout *layout, GString *missing)
{
    PangoLayoutIter *iter = pango_layout_get_iter(layout);
    const char *text = pango_layout_get_text(layout);

    do {
        const PangoLayoutRun *run = pango_layout_iter_get_run_readonly(iter);
        for (int i = 0; run && i < run->glyphs->num_glyphs; i++) {
            if (!(run->glyphs->glyphs[i].glyph & PANGO_GLYPH_UNKNOWN_FLAG))
                continue;
            const char *at = text + run->item->offset + run->glyphs->log_clusters[i];
            g_autofree char *character = g_strndup(at, (gsize)(g_utf8_next_char(at) - at));
            if (!strstr(missing->str, character))
                g_string_append(missing, character);
        }
    } while (pango_layout_iter_next_run(iter));
    pango_layout_iter_free(iter);
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
        g_autofree gpointer *texts = g_hash_table_get_keys_as_array(t->layouts[i], &n);
        qsort(texts, n, sizeof *texts, by_text);
        for (guint k = 0; k < n; k++) {
            PangoLayout *layout = g_hash_table_lookup(t->layouts[i], texts[k]);
            if (pango_layout_get_unknown_glyphs_count(layout))
                report_layout(layout, missing);
        }
    }
    if (first && *first && !pango_font_map_get_family(fonts.map, first))
        g_string_append_printf(missing, "\n%s", first);
}
