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
    PangoFontDescription *font[WEIGHTS]; /* by enum weight */
    GHashTable *layouts[WEIGHTS];        /* text -> PangoLayout: ranks repeat their labels */
};

static struct texts *texts_on(PangoFontMap *map)
{
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
    pango_context_set_language(t->context, pango_language_from_string("en"));
    pango_context_set_base_dir(t->context, PANGO_DIRECTION_LTR);
    for (unsigned i = 0; i < WEIGHTS; i++) {
        t->font[i] = pango_font_description_from_string(FAMILIES);
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
    struct texts *texts = texts_on(fonts.map);
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

struct texts *texts_new(void)
{
    fonts_settle();
    if (!fonts.map)
        load(NULL);
    return texts_on(fonts.map);
}

void texts_free(struct texts *t)
{
    for (unsigned i = 0; i < WEIGHTS; i++) {
        g_hash_table_destroy(t->layouts[i]);
        pango_font_description_free(t->font[i]);
    }
    g_object_unref(t->context);
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
