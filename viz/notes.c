#include "viz/notes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "viz/figure.h"
#include "viz/layout.h"

#define LINE_PART 1.5 /* of a letter, a note's line */
#define AIR       8.0
#define DOT       5.0
#define NEAR      4 /* names that an error lists */

struct box {
    double x0, y0, x1, y1;
};

struct span {
    struct box box;
    struct belongs belongs;
    char *tags[NOTES_LANGUAGES], *places[NOTES_LANGUAGES];
};

struct notes {
    GArray *spans, *texts;                     /* struct span, struct box */
    double y, x0, x1;                          /* of the lines; x1 0: not placed */
    double ns0, ns1, axis_x0, axis_x1, axis_y; /* ns1 <= ns0: no time */
};

static void span_clear(gpointer data)
{
    struct span *s = data;

    for (unsigned i = 0; i < NOTES_LANGUAGES; i++) {
        g_free(s->tags[i]);
        g_free(s->places[i]);
    }
}

struct notes *notes_new(void)
{
    struct notes *n = g_new0(struct notes, 1);

    n->spans = g_array_new(FALSE, FALSE, sizeof(struct span));
    g_array_set_clear_func(n->spans, span_clear);
    n->texts = g_array_new(FALSE, FALSE, sizeof(struct box));
    return n;
}

void notes_free(struct notes *n)
{
    g_array_unref(n->spans);
    g_array_unref(n->texts);
    g_free(n);
}

void notes_add_span(struct notes *n, double x, double y, double w, double h, const char *const tags[static 2],
                    const char *const places[static 2], const struct belongs *belongs)
{
    struct span s = {{x, y, x + w, y + h}, belongs ? *belongs : BELONGS_NOWHERE, {NULL}, {NULL}};

    for (unsigned i = 0; i < NOTES_LANGUAGES; i++) {
        s.tags[i] = g_strdup(tags[i]);
        s.places[i] = g_strdup(places[i]);
    }
    g_array_append_val(n->spans, s);
}

void notes_avoid(struct notes *n, double x0, double y0, double x1, double y1)
{
    const struct box b = {x0, y0, x1, y1};

    g_array_append_val(n->texts, b);
}

void notes_set_axis(struct notes *n, double ns0, double x0, double ns1, double x1, double y)
{
    n->ns0 = ns0;
    n->ns1 = ns1;
    n->axis_x0 = x0;
    n->axis_x1 = x1;
    n->axis_y = y;
}

static char **list_notes(const struct pen *p)
{
    return g_strsplit(p->look->notes ? p->look->notes : "", ";", -1);
}

static double line_height(const struct pen *p)
{
    return p->strong.size * LINE_PART;
}

double notes_height(const struct pen *p)
{
    g_auto(GStrv) notes = list_notes(p);
    const unsigned n = MIN(g_strv_length(notes), NOTES_MAX);

    return n ? n * line_height(p) + AIR : 0;
}

void notes_place(struct notes *n, double y, double x0, double x1)
{
    n->y = y;
    n->x0 = x0;
    n->x1 = x1;
}

/* --- what a note means */

static bool named(const struct span *s, const char *name)
{
    for (unsigned i = 0; i < NOTES_LANGUAGES; i++) {
        g_autofree char *whole = g_strdup_printf("%s %s", s->tags[i], s->places[i]);
        if (!g_ascii_strcasecmp(s->tags[i], name) || !g_ascii_strcasecmp(whole, name))
            return true;
    }
    return false;
}

static unsigned distance(const char *a, const char *b)
{
    const size_t n = strlen(b);
    g_autofree unsigned *row = g_new(unsigned, n + 1);

    for (size_t k = 0; k <= n; k++)
        row[k] = (unsigned)k;
    for (size_t i = 1; *a; i++, a++) {
        unsigned corner = row[0];
        row[0] = (unsigned)i;
        for (size_t k = 1; k <= n; k++) {
            const unsigned change = corner + (g_ascii_tolower(*a) != g_ascii_tolower(b[k - 1]));
            corner = row[k];
            row[k] = MIN(change, MIN(row[k], row[k - 1]) + 1);
        }
    }
    return row[n];
}

/* The tags that are nearest to the name, "'F0', 'F1'". */
static char *near_names(const struct notes *n, const char *name)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    GString *list = g_string_new(NULL);

    for (guint round = 0; round < NEAR; round++) {
        unsigned least = UINT32_MAX;
        const char *tag = NULL;
        for (guint i = 0; i < NOTES_LANGUAGES * n->spans->len; i++) {
            const struct span *s = &g_array_index(n->spans, struct span, i / NOTES_LANGUAGES);
            const char *of = s->tags[i % NOTES_LANGUAGES];
            const unsigned d = g_hash_table_contains(seen, of) ? UINT32_MAX : distance(name, of);
            if (d < least) {
                least = d;
                tag = of;
            }
        }
        if (!tag)
            break;
        g_hash_table_add(seen, (gpointer)tag);
        g_string_append_printf(list, "%s'%s'", list->len ? ", " : "", tag);
    }
    return g_string_free(list, FALSE);
}

static bool find_target(const struct notes *n, const char *name, struct span *target, GError **error)
{
    double ns;

    for (guint i = 0; i < n->spans->len; i++) {
        const struct span *s = &g_array_index(n->spans, struct span, i);
        if (named(s, name)) {
            *target = *s;
            return true;
        }
    }
    if (parse_duration(name, &ns) && n->ns1 > n->ns0) {
        if (ns < n->ns0 || ns > n->ns1) {
            g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT,
                        "--note: %s is not on the time axis of the figure", name);
            return false;
        }
        const double x = n->axis_x0 + (n->axis_x1 - n->axis_x0) * (ns - n->ns0) / (n->ns1 - n->ns0);
        *target = (struct span){.box = {x, n->axis_y, x, n->axis_y}, .belongs = BELONGS_NOWHERE};
        target->belongs.of[KEY_TIME] = llround(ns);
        return true;
    }
    g_autofree char *near = near_names(n, name);
    if (*near)
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT,
                    "--note: nothing in the figure is called '%s'; near it are %s", name, near);
    else
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "--note: nothing in this figure has a name");
    return false;
}

/* --- paint */

/* How much of the line down to the target lies on texts, at that x. */
static double crossed(const struct notes *n, double x, double y0, double y1)
{
    double sum = 0;

    for (guint i = 0; i < n->texts->len; i++) {
        const struct box *t = &g_array_index(n->texts, struct box, i);
        if (t->x0 - 2 < x && x < t->x1 + 2)
            sum += MAX(0, MIN(t->y1, y1) - MAX(t->y0, y0));
    }
    return sum;
}

/* Where on the target's width the line crosses least. */
static double choose_x(const struct notes *n, const struct box *target, double y0)
{
    double best = (target->x0 + target->x1) / 2, least = crossed(n, best, y0, target->y0);

    for (unsigned i = 1; i < 16 && least > 0; i++) {
        const double x = target->x0 + (target->x1 - target->x0) * i / 16, sum = crossed(n, x, y0, target->y0);
        if (sum < least) {
            least = sum;
            best = x;
        }
    }
    return best;
}

static int by_top(gconstpointer a, gconstpointer b)
{
    const double x = ((const struct box *)a)->y0, y = ((const struct box *)b)->y0;

    return (x > y) - (x < y);
}

/* Down to y1, but for where texts are. */
static void paint_pole(const struct notes *n, const struct pen *p, double x, double y0, double y1)
{
    g_autoptr(GArray) sorted = g_array_copy(n->texts);

    g_array_sort(sorted, by_top);
    for (guint i = 0; i < sorted->len && y0 < y1; i++) {
        const struct box *t = &g_array_index(sorted, struct box, i);
        if (t->x0 - 2 >= x || x >= t->x1 + 2 || t->y1 <= y0 || t->y0 >= y1)
            continue;
        if (t->y0 - 1 > y0)
            pen_line(p, x, y0, x, t->y0 - 1, pen_color(p, ROLE_INK), 1.5, false);
        y0 = MAX(y0, t->y1 + 1);
    }
    if (y0 < y1)
        pen_line(p, x, y0, x, y1, pen_color(p, ROLE_INK), 1.5, false);
}

static bool split(const char *note, char **text, char **name, GError **error)
{
    const char *at = strrchr(note, '@');

    if (!at || at == note || !at[1]) {
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT,
                    "--note takes TEXT@SPAN, as \"the slowest@F0\" or \"here@12.5ms\", not '%s'", note);
        return false;
    }
    g_autofree char *head = g_strndup(note, (gsize)(at - note));
    *text = pen_one_line(g_strstrip(head));
    *name = g_strstrip(g_strdup(at + 1));
    return true;
}

struct callout {
    char *text;
    struct box target;
    struct belongs belongs;
    double x, left, w; /* of the line; of the text */
};

static bool make_callout(const struct notes *n, const struct pen *p, const char *note, double y,
                         struct callout *c, GError **error)
{
    g_autofree char *text = NULL, *name = NULL;

    struct span target;
    if (!split(note, &text, &name, error) || !find_target(n, name, &target, error))
        return false;
    c->target = target.box;
    c->belongs = target.belongs;
    c->text = pen_ellipsize(p, &p->strong, text, n->x1 - n->x0);
    c->w = pen_width(p, &p->strong, c->text);
    c->x = choose_x(n, &c->target, y);
    c->left = CLAMP(c->x - c->w / 2, n->x0, MAX(n->x0, n->x1 - c->w));
    return true;
}

bool notes_paint(const struct notes *n, const struct pen *p, GError **error)
{
    g_auto(GStrv) list = list_notes(p);
    const unsigned notes = g_strv_length(list);
    g_autofree struct callout *all = g_new0(struct callout, notes + 1);
    const double line = line_height(p);
    bool ok = notes <= NOTES_MAX;

    if (!ok)
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "--note takes at most %d notes", NOTES_MAX);
    for (unsigned i = 0; ok && i < notes; i++)
        ok = make_callout(n, p, list[i], n->y + line * (i + 1), &all[i], error);
    for (unsigned i = 0; ok && i < notes; i++)
        notes_avoid((struct notes *)n, all[i].left, n->y + line * i, all[i].left + all[i].w,
                    n->y + line * (i + 1));
    for (unsigned i = 0; ok && i < notes; i++) {
        const struct callout *c = &all[i];
        const double end = c->target.y0 + (c->target.y1 > c->target.y0 ? 3 : 0);
        pen_belong_all(p, &c->belongs);
        paint_pole(n, p, c->x, n->y + line * (i + 1), end);
        pen_box(p, c->x - DOT / 2, end - DOT / 2, DOT, DOT, pen_shade(p, ROLE_INK));
    }
    for (unsigned i = 0; ok && i < notes; i++) {
        pen_belong_all(p, &all[i].belongs);
        pen_text(p, all[i].left, n->y + line * (i + 0.5), &p->strong, ALIGN_LEFT, pen_color(p, ROLE_INK),
                 all[i].text);
    }
    for (unsigned i = 0; i < notes; i++)
        g_free(all[i].text);
    return ok;
}
