/* What figures say of a sweep.  Options and values are words of the command line, and a title is of its words, also in files. */
#include <string.h>

#include "viz/layout.h"
#include "viz/words.h"

#define MAX_BRIEF 96 /* bytes of a short headline */

const char *words_option(const struct language *l, const char *option)
{
    return word_or(l, "option", option);
}

const char *words_value(const struct language *l, const char *option, const char *value)
{
    static const char *const sections[][2] = {{"overlap", "overlap"}, {"mode", "mode"}, {"backend", "value"}};

    for (unsigned i = 0; i < G_N_ELEMENTS(sections); i++)
        if (g_str_equal(option, sections[i][0]))
            return word_or(l, sections[i][1], value);
    return value;
}

char *words_place(const struct language *l, const struct series *s, uint32_t point)
{
    GString *place = g_string_new(NULL);

    for (uint32_t i = 0; i < s->n_axes; i++) {
        const char *option = s->axes[i];
        const char *value = words_value(l, option, s->points[point].values[i]);
        g_autofree char *part = g_str_equal(option, "overlap")
                                    ? say(l, "sweep.place-overlap", "value", value, NULL)
                                    : say(l, "sweep.place", "option", words_option(l, option), "value", value, NULL);
        g_string_append_printf(place, "%s%s", i ? ", " : "", part);
    }
    return g_string_free(place, FALSE);
}

/* A part of a title, by how it begins and ends; what is between is {n}. */
static char *title_part(const struct language *l, const char *part)
{
    static const struct {
        const char *begins, *ends, *key;
    } forms[] = {{"", " rank", "title.ranks"},
                 {"", " ranks", "title.ranks"},
                 {"batch ", "", "title.batch"},
                 {"simulated on ", "", "title.simulated-on"},
                 {"measured on ", "", "title.measured-on"},
                 {"with more ranks than devices", "", "title.extended"},
                 {"taken as linked alike", "", "title.alike"}};

    for (unsigned i = 0; i < G_N_ELEMENTS(forms); i++) {
        const size_t head = strlen(forms[i].begins), tail = strlen(forms[i].ends), n = strlen(part);
        if (n < head + tail || !g_str_has_prefix(part, forms[i].begins) || !g_str_has_suffix(part, forms[i].ends))
            continue;
        g_autofree char *middle = g_strndup(part + head, n - head - tail);
        return say(l, forms[i].key, "n", middle, NULL);
    }
    return g_strdup(g_str_equal(part, "simulated") ? word(l, "figure.simulated") : word_or(l, "mode", part));
}

char *words_title(const struct language *l, const char *title)
{
    g_auto(GStrv) parts = g_strsplit(title ? title : word(l, "sweep.title"), ", ", -1);

    for (char **part = parts; *part; part++) {
        char *said = title_part(l, *part);
        g_free(*part);
        *part = said;
    }
    return g_strjoinv(", ", parts);
}

char *words_sweep_headline(const struct language *l, const struct series *s, char **brief)
{
    char time[32];
    g_autofree char *values = words_place(l, s, s->best), *title = words_title(l, s->title);

    format_duration(s->points[s->best].step_ns, time);
    g_autofree char *where = say(l, "sweep.best-at", "time", time, "place", values, NULL);
    *brief = strlen(where) < MAX_BRIEF ? g_strdup(where) : say(l, "sweep.best-step", "time", time, NULL);
    return g_strdup_printf("%s: %s", title, where);
}

char *words_sweep_caption(const struct language *l, const struct series *s, const char *extra)
{
    g_autofree char *title = words_title(l, s->title);
    GString *text = g_string_new(title);
    uint32_t failed = 0, first = 0;

    for (uint32_t i = s->n_points; i-- > 0;)
        if (s->points[i].why_not) {
            failed++;
            first = i;
        }
    g_autofree char *points = say(l, "sweep.points", "n", count(s->n_points), NULL);
    words_append(text, points);
    if (failed) {
        g_autofree char *values = words_place(l, s, first);
        g_autofree char *reason = say_known(l, "known", s->points[first].why_not);
        g_autofree char *why =
            say(l, "sweep.failed", "n", count(failed), "place", values, "reason", reason, NULL);
        words_append(text, why);
    }
    words_append(text, extra);
    return g_string_free(text, FALSE);
}
