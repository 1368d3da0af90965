/* The look of figures: themes that can be read, and every figure in every theme, language and size. */
#include <math.h>
#include <string.h>

#include "tests/hand-digest.h"
#include "tests/pipe-trace.h"
#include "tests/runs.h"
#include "tests/subject.h"
#include "tests/tap.h"
#include "tests/work-trace.h"

/* --- themes */

static void test_contrast(void)
{
    static const enum role texts[] = {ROLE_INK, ROLE_MUTED}, grounds[] = {ROLE_BACKGROUND, ROLE_LANE};
    for (unsigned i = 0; palettes[i]; i++) {
        const struct palette *p = palettes[i];
        const double fb = palette_contrast(palette_color(p, ROLE_FORWARD), palette_color(p, ROLE_BACKWARD));
        g_test_message("%s: forward against backward %.2f", palette_name(p), fb);
        g_assert_cmpfloat(fb, >=, 1.5);
        for (enum role r = 0; r < ROLE_CELLS; r++)
            for (double strength = 1; strength > 0.1; strength -= 0.1) {
                const uint32_t color = palette_tint(p, palette_shade(p, r), strength).color;
                g_assert_cmpfloat(palette_contrast(color, palette_text_on(color)), >=, 4.5);
            }
        for (unsigned t = 0; t < G_N_ELEMENTS(texts); t++)
            for (unsigned g = 0; g < G_N_ELEMENTS(grounds); g++)
                g_assert_cmpfloat(palette_contrast(palette_color(p, texts[t]), palette_color(p, grounds[g])),
                                  >=, 4.5);
        for (unsigned h = 0; h < HUES; h++) {
            const uint32_t color = palette_hue(p, h).color;
            g_assert_cmpfloat(palette_contrast(color, palette_text_on(color)), >=, 4.5);
            g_assert_cmpfloat(palette_contrast(palette_line(p, h), palette_color(p, ROLE_BACKGROUND)), >=, 3);
        }
        g_assert_true(palette_find(palette_name(p)) == p);
    }
    g_assert_null(palette_find("sepia"));
}

/* In print two kinds of cells differ in grey or in hatch. */
static void test_print(void)
{
    const struct palette *p = palette_find("print");
    for (enum role a = 0; a < ROLE_REST; a++)
        for (enum role b = 0; b < a; b++) {
            const struct shade x = palette_shade(p, a), y = palette_shade(p, b);
            const bool grey = palette_contrast(x.color, y.color) >= 1.1, hatch = x.hatch != y.hatch,
                       ink = x.hatch != HATCH_NONE && palette_contrast(x.ink, y.ink) >= 1.5;
            if (!(grey || hatch || ink))
                g_error("roles %u and %u are alike in print", a, b);
        }
}

/* Stages of a rank differ in hatch, or by 1.5:1 in grey; those of two kinds in that or in the hatch's ink. */
static void test_print_stages(void)
{
    static const enum role kinds[] = {ROLE_FORWARD, ROLE_BACKWARD, ROLE_INPUT_GRADIENT, ROLE_WEIGHT_GRADIENT,
                                      ROLE_RECOMPUTE};
    const struct palette *p = palette_find("print");
    for (uint32_t n = 2; n <= 4; n++)
        for (unsigned a = 0; a < G_N_ELEMENTS(kinds) * n; a++) {
            const struct shade x = palette_stage_shade(p, kinds[a / n], a % n, n);
            g_assert_cmpfloat(palette_contrast(x.color, palette_text_on(x.color)), >=, 4.5);
            for (unsigned b = 0; b <= a; b++) {
                const struct shade y =
                    b < a ? palette_stage_shade(p, kinds[b / n], b % n, n) : palette_shade(p, ROLE_BUBBLE);
                const bool same = b < a && a / n == b / n, grey = palette_contrast(x.color, y.color) >= 1.5,
                           hatch = x.hatch != y.hatch,
                           ink = x.hatch != HATCH_NONE && palette_contrast(x.ink, y.ink) >= 1.5;
                if (!(grey || hatch || (ink && !same)))
                    g_error("of %u stages role %u on %u and role %u on %u are alike in print", n,
                            kinds[a / n], a % n, kinds[b / n], b % n);
            }
        }
}

/* --- every figure in every look */

static const double sizes[][2] = {{1280, 720}, {960, 720},  {640, 360},  {320, 180}, {1920, 1080},
                                  {605, 340},  {3000, 400}, {400, 1600}, {320, 400}, {1280, 2400}};

static void random_look(struct figure_options *o)
{
    static const char *const names[] = {NULL, "GPU", "a name of a device that is long"};
    o->palette = palettes[g_test_rand_int_range(0, 3)];
    o->font_scale = g_test_rand_bit() ? 1 : 0.7 + g_test_rand_double();
    o->title = g_test_rand_int_range(0, 4) ? NULL : g_test_rand_bit() ? "" : "a title of one's own";
    o->no_legend = !g_test_rand_int_range(0, 4);
    o->no_caption = !g_test_rand_int_range(0, 4);
    o->rank_name = names[g_test_rand_int_range(0, G_N_ELEMENTS(names))];
    o->ranks_up = g_test_rand_bit();
    o->count_from = g_test_rand_bit();
    o->color_by = (uint8_t)g_test_rand_int_range(0, 4);
    o->late = g_test_rand_bit();
    o->critical = g_test_rand_bit();
    o->from_first_layer = g_test_rand_bit();
}

static unsigned check_looks(const struct subject *s, const struct figure *f, const char *language,
                            unsigned n_sizes)
{
    unsigned drawn = 0;
    for (unsigned i = 0; i < n_sizes; i++) {
        struct figure_options o = {.width = sizes[i][0],
                                   .height = sizes[i][1],
                                   .caption = g_test_rand_bit() ? "made for a test" : NULL,
                                   .lang = language_find(language, NULL)};
        g_autoptr(GError) error = NULL;
        random_look(&o);
        struct draw *d = draw(f, subject_input(s, f), &o, &error);
        if (d) {
            check_figure(d);
            draw_list.cancel(d);
            drawn++;
        } else if (!strstr(error->message, "no room")) {
            g_error("%s", error->message);
        }
    }
    return drawn;
}

static void test_every_look(void)
{
    static const char *const languages[] = {"en", "ko"};
    const unsigned plans = g_test_slow() ? 50 : 6, n_sizes = g_test_slow() ? G_N_ELEMENTS(sizes) : 4;
    unsigned drawn = 0, of = 0;
    for (unsigned i = 0; i < plans; i++) {
        struct subject s;
        subject_make(&s, i % 2);
        for (unsigned k = 0; figures[k]; k++)
            for (unsigned l = 0; l < G_N_ELEMENTS(languages); l++) {
                if (!subject_suits(&s, figures[k]))
                    continue;
                drawn += check_looks(&s, figures[k], languages[l], n_sizes);
                of += n_sizes;
            }
        subject_release(&s);
    }
    g_test_message("%u of %u drawn, the others refused for lack of room", drawn, of);
    g_assert_cmpuint(drawn, >, of / 2);
}

/* --- letters that the last row can read */

#define READABLE 20.0 /* px of an em on a slide */
#define LEAST    14.0 /* where nothing else has room */
#define CROWDED  16   /* ranks: columns and rows share out their room, some cells have more than they take */
#define DETAIL   15.0 /* captions, and what is said in more detail below a name or a bar */

static void typical(struct subject *s, uint32_t ranks, bool pipeline)
{
    struct scene_spec spec = scene_bert();
    memset(s, 0, sizeof *s);
    spec.ranks = ranks;
    spec.layers = 4;
    spec.buckets = 6;
    if (pipeline)
        pipe_simulate(&(struct pipe_case){"1f1b", "F=1,B=1,W=1,C=0", ranks, 1, 2 * ranks, 1, 0}, &s->trace);
    else
        scene_make(&spec, &s->trace);
    g_assert_true(analyze(&s->trace, &s->analysis, NULL));
    digest_make(&s->own, &(struct report){.trace = &s->trace, .analysis = &s->analysis});
    s->run = (struct figure_input){.trace = &s->trace, .analysis = &s->analysis, .digest = &s->own};
    spec.overlap = false;
    if (pipeline)
        pipe_simulate(&(struct pipe_case){"gpipe", "F=1,B=1,W=1,C=0", ranks, 1, 2 * ranks, 1, 0}, &s->other);
    else
        scene_make(&spec, &s->other);
    g_assert_true(analyze(&s->other, &s->other_analysis, NULL));
    s->variant = (struct variant){pipeline ? "gpipe" : "none", &s->other, &s->other_analysis, NULL};
    s->pair = s->run;
    s->pair.name = pipeline ? "1f1b" : NULL;
    s->pair.others = &s->variant;
    s->pair.n_others = 1;
    lecture_digest(&s->digest);
    s->report = (struct figure_input){.digest = &s->digest};
    buckets_series(&s->series);
    s->sweep = (struct figure_input){.series = &s->series};
    s->runs = small_history();
    s->history = history_of(s->runs);
    s->history.file = "x"; /* a name may be English */
    work_simulate(&(struct work){.mode = &mode_ddp, .ranks = ranks, .algo = ALLREDUCE_RING},
                  &s->reduced_trace);
    g_assert_true(analyze(&s->reduced_trace, &s->reduced_analysis, NULL));
    s->reduced = (struct figure_input){.trace = &s->reduced_trace, .analysis = &s->reduced_analysis};
    work_simulate(&(struct work){.mode = &mode_dp, .ranks = ranks, .algo = ALLREDUCE_TREE},
                  &s->scattered_trace);
    g_assert_true(analyze(&s->scattered_trace, &s->scattered_analysis, NULL));
    s->scattered = (struct figure_input){.trace = &s->scattered_trace, .analysis = &s->scattered_analysis};
}

/* Another text stands over it or below it in the box. */
static bool two_lines(const struct draw *d, const struct item *box, const struct item *text)
{
    const double x = (text->x0 + text->x1) / 2;
    for (unsigned i = 0; i < d->items->len; i++) {
        const struct item *m = item_at(d, i);
        if (m != text && m->text && fabs((m->x0 + m->x1) / 2 - x) < 0.1 &&
            contains(box, x, (m->y0 + m->y1) / 2))
            return true;
    }
    return false;
}

/* Room for a text at 20 px in the least box that it lies in, but for a ground of its own; none in none. */
static bool could_be_large(const struct draw *d, const struct item *text)
{
    const double x = (text->x0 + text->x1) / 2, y = (text->y0 + text->y1) / 2, w = text->x1 - text->x0;
    const struct item *box = NULL;
    for (unsigned i = 0; i < d->items->len && item_at(d, i) != text; i++) {
        const struct item *m = item_at(d, i);
        if (m->kind == ITEM_RECT && m->fill >= 0 && contains(m, x, y) && fabs(m->x1 - m->x0 - w - 4) > 0.05 &&
            m->x1 - m->x0 < d->width / 2 && (!box || m->x1 - m->x0 <= box->x1 - box->x0))
            box = m;
    }
    return !box || (box->x1 - box->x0 >= w * READABLE / text->size + 8 &&
                    box->y1 - box->y0 >= READABLE * (two_lines(d, box, text) ? 2.8 : 1.7));
}

static void check_sizes(const struct figure *f, const struct figure_input *in, const char *language,
                        uint32_t ranks)
{
    const struct figure_options o = {.width = 1280, .height = 720, .lang = language_find(language, NULL)};
    struct draw *d = draw(f, in, &o, NULL);
    unsigned small = 0;
    g_assert_nonnull(d);
    for (unsigned i = 0; i < d->items->len; i++) {
        const struct item *m = item_at(d, i);
        if (!m->text || m->size >= READABLE)
            continue;
        small++;
        if (m->size < LEAST - 0.01 || (ranks < CROWDED && m->size != DETAIL && could_be_large(d, m)))
            g_error("%s of %u ranks, %s: '%s' is of %.1f px", f->name, ranks, language, m->text, m->size);
    }
    g_test_message("%s of %u ranks, %s: %u of %u smaller", f->name, ranks, language, small, d->items->len);
    draw_list.cancel(d);
}

static void test_sizes(void)
{
    static const char *const languages[] = {"en", "ko"};
    static const uint32_t sizes_of[] = {4, 8, 16};
    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(sizes_of); i++) {
        const uint32_t ranks = sizes_of[i / 2];
        struct subject s;
        typical(&s, ranks, i % 2);
        for (unsigned k = 0; figures[k]; k++)
            for (unsigned l = 0; l < G_N_ELEMENTS(languages) && subject_suits(&s, figures[k]); l++)
                check_sizes(figures[k], subject_input(&s, figures[k]), languages[l], ranks);
        subject_release(&s);
    }
}

/* --- a language alone */

/* What Korean lectures say in English: names, units, collectives, operations in cells. */
static bool is_name(const char *w)
{
    static const char *const names[] = {
        "DDP",  "DataParallel", "GPU",    "DP",   "ddp",   "dp",      "bert",       "base",    "mini",
        "mlp",  "GPipe",        "gpipe",  "f1b",  "all",   "reduce",  "broadcast",  "scatter", "gather",
        "to",   "forward",      "MiB",    "KiB",  "GiB",   "kB",      "ms",         "ns",      "s",
        "e",    "dgx",          "clas",   "Gb",   "unit",  "FB",      "emb",        "hd",      "cls",
        "pool", "attn",         "ff",     "gloo", "MPS",   "x",       "classifier", "pooler",  "embeddings",
        "word", "position",     "weight", "bias", "layer", "decoder", "head",       "norm",    "linear",
        "none"};
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
        if (!strcmp(w, names[i]))
            return true;
    return false;
}

static void check_korean(const struct figure *f, const struct figure_input *in)
{
    const struct figure_options o = {.width = 1280, .height = 720, .lang = language_find("ko", NULL)};
    struct draw *d = draw(f, in, &o, NULL);
    g_assert_nonnull(d);
    for (unsigned i = 0; i < d->items->len; i++) {
        const struct item *m = item_at(d, i);
        const char *said = m->text ? m->text : m->kind == ITEM_SPAN ? m->name : "";
        for (const char *c = said; *c;) {
            size_t n = 0;
            while (g_ascii_isalpha(c[n]))
                n++;
            g_autofree char *w = g_strndup(c, n);
            if (g_str_has_prefix(c, "needs ")) /* why a point failed, as the command says it */
                break;
            if (n > 1 && !is_name(w))
                g_error("%s says '%s' in '%s'", f->name, w, said);
            c += MAX(n, 1);
        }
    }
    draw_list.cancel(d);
}

static void test_korean(void)
{
    for (unsigned i = 0; i < 2; i++) {
        struct subject s;
        typical(&s, 4, i);
        for (unsigned k = 0; figures[k]; k++)
            if (subject_suits(&s, figures[k]))
                check_korean(figures[k], subject_input(&s, figures[k]));
        subject_release(&s);
    }
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/look/contrast", test_contrast);
    g_test_add_func("/look/print", test_print);
    g_test_add_func("/look/print/stages", test_print_stages);
    g_test_add_func("/look/every-look", test_every_look);
    g_test_add_func("/look/sizes", test_sizes);
    g_test_add_func("/look/korean", test_korean);
    return g_test_run();
}
