#include "viz/figure.h"

#include <math.h>

#include "viz/notes.h"
#include "viz/words.h"

#define MIN_WIDTH_PX  320
#define MIN_HEIGHT_PX 180
#define MAX_PX        32000 /* what viewers still open */

const struct figure *const figures[] = {&figure_timeline, &figure_breakdown, &figure_memory,
                                        &figure_sweep,    &figure_grid,      &figure_overlap,
                                        &figure_buckets,  &figure_compare, &figure_allreduce,
                                        &figure_dp,       &figure_ddp,     &figure_trend, NULL};

const struct figure *figure_find(const char *name)
{
    for (unsigned i = 0; figures[i]; i++)
        if (g_str_equal(figures[i]->name, name))
            return figures[i];
    return NULL;
}

static bool canvas_ok(const struct figure *f, const struct figure_options *o, const struct draw_ops *ops, GError **error)
{
    if (o->width >= MIN_WIDTH_PX && o->width <= MAX_PX && o->height >= MIN_HEIGHT_PX && o->height <= MAX_PX)
        return true;
    const double line = ops->cells ? DRAW_LINE : 1; /* the least are whole ones */
    g_autofree char *size = draw_size(ops, o->width, o->height), *most = draw_size(ops, MAX_PX, MAX_PX),
                    *least = draw_size(ops, MIN_WIDTH_PX, ceil(MIN_HEIGHT_PX / line) * line);
    g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "figure %s: a canvas of %s is %s; use %s to %s", f->name, size,
                o->width > MAX_PX || o->height > MAX_PX ? "too large" : "too small to read", least, most);
    return false;
}

/* What a viewer shows above the figure. */
static char *title_of(const struct figure *f, const struct figure_input *in, const struct language *l)
{
    const char *mode = in->trace ? in->trace->t.mode : in->digest ? in->digest->mode : NULL;
    const char *model = in->trace ? in->trace->t.model : in->digest ? in->digest->model : NULL;
    g_autofree char *models = words_model(l, model), *kind = g_strconcat("name-", f->name, NULL);
    g_autofree char *swept = in->series ? words_title(l, in->series->title) : NULL;
    g_autofree char *title =
        in->runs ? say(l, "figure.title-of-sweep", "kind", word_or(l, "figure", kind), "what",
                       in->file ? in->file : word(l, "figure.options"), NULL)
        : in->series && !in->trace && !in->digest
            ? say(l, "figure.title-of-sweep", "kind", word_or(l, "figure", kind), "what",
                  in->series->title ? swept : word(l, "figure.options"), NULL)
            : say(l, "figure.title", "kind", word_or(l, "figure", kind), "mode",
                  mode ? word_or(l, "mode", mode) : word(l, "figure.step"), "model",
                  models, NULL);

    return g_utf8_make_valid(title, -1);
}

static struct draw *begin(const struct figure_options *o, const char *title, const struct draw_ops *ops,
                          GError **error)
{
    const struct canvas canvas = {.width = o->width,
                                  .height = o->height,
                                  .title = title,
                                  .outlines = o->outlines,
                                  .dpi = o->dpi,
                                  .transparent = o->transparent,
                                  .ascii = o->ascii,
                                  .font = o->font,
                                  .language = o->lang ? language_code(o->lang) : NULL,
                                  .missing = title ? o->missing : NULL};

    return ops->begin(&canvas, error);
}

bool figure_fits(const struct figure *f, const struct figure_options *o, const struct draw_ops *ops,
                 GError **error)
{
    struct draw *draw = canvas_ok(f, o, ops, error) ? begin(o, NULL, ops, error) : NULL;

    if (draw)
        ops->cancel(draw);
    return draw;
}

bool figure_draw(const struct figure *f, const struct figure_input *in, const struct figure_options *o,
                 const struct draw_ops *ops, struct draw *draw, GError **error)
{
    struct notes *notes = o->notes ? notes_new() : NULL; /* what they need is much, and noted for every text and span */
    struct belongs belongs = BELONGS_NOWHERE;
    struct pen pen = pen_make(ops, draw, o, notes, &belongs);
    pen.first_rank = in->trace ? in->trace->first_rank : 0;
    const bool ok = f->draw(in, &pen, error) && (!notes || notes_paint(notes, &pen, error));

    if (notes)
        notes_free(notes);
    return ok;
}

struct draw *figure_begin(const struct figure *f, const struct figure_input *in, const struct figure_options *o,
                          const struct draw_ops *ops, GError **error)
{
    if (!canvas_ok(f, o, ops, error))
        return NULL;
    g_autofree char *title = title_of(f, in, o->lang ? o->lang : language_standard());
    return begin(o, title, ops, error);
}

GBytes *figure_render(const struct figure *f, const struct figure_input *in, const struct figure_options *o,
                      const struct draw_ops *ops, GError **error)
{
    struct draw *draw = figure_begin(f, in, o, ops, error);
    if (!draw)
        return NULL;
    if (!figure_draw(f, in, o, ops, draw, error)) {
        ops->cancel(draw);
        return NULL;
    }
    return ops->finish(draw, error);
}
