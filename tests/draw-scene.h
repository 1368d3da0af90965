/* tests/draw-scene.h -- what is drawn with the real writers: a timeline of DDP, and drawings of one's own. */
#ifndef TESTS_DRAW_SCENE_H
#define TESTS_DRAW_SCENE_H

#include "tests/scene.h"
#include "viz/figure.h"

static const struct draw_ops *real; /* what `begin` opened last */

static inline GBytes *render_with(const struct draw_ops *ops, const char *model, GError **error)
{
    struct scene_spec s = scene_bert();
    struct trace trace, apart;
    struct analysis analysis, apart_analysis;
    struct figure_options o = {1280, 720, "a caption & <more>: 순전파"};

    if (!ops)
        return NULL;
    s.model = model;
    s.jitter = 0.2;
    scene_make(&s, &trace);
    g_assert_true(analyze(&trace, &analysis, NULL));
    s.overlap = false;
    scene_make(&s, &apart);
    g_assert_true(analyze(&apart, &apart_analysis, NULL));
    const struct variant others[] = {{"none", &apart, &apart_analysis, NULL},
                                     {model, &apart, &apart_analysis, NULL}};
    struct figure_input in = {.trace = &trace,
                              .analysis = &analysis,
                              .name = "backward",
                              .others = others,
                              .n_others = G_N_ELEMENTS(others)};
    GBytes *bytes = figure_render(&figure_timeline, &in, &o, ops, error);
    trace_release(&trace);
    analysis_release(&analysis);
    trace_release(&apart);
    analysis_release(&apart_analysis);
    return bytes;
}

static inline GBytes *render(const char *model, GError **error)
{
    return render_with(draw_open("svg", error), model, error);
}

static inline struct draw *begin(const char *format, const struct canvas *canvas)
{
    GError *error = NULL;

    real = draw_open(format, &error);
    g_assert_no_error(error);
    struct draw *d = real->begin(canvas, &error);
    g_assert_no_error(error);
    return d;
}

static inline GBytes *finish(struct draw *d)
{
    GError *error = NULL;
    GBytes *bytes = real->finish(d, &error);

    g_assert_no_error(error);
    return bytes;
}

static inline const char *text_of(GBytes *bytes, gsize *size)
{
    return g_bytes_get_data(bytes, size);
}

#endif
