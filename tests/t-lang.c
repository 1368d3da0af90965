/* Languages of figures: every one says all that English says, with the same placeholders; what is wrong in a
 * file is refused with its line. */
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "base/data.h"
#include "base/ini.h"
#include "tests/tap.h"
#include "viz/lang.h"

static const char *english(void)
{
    for (const struct data_file *f = data_files; f->name; f++)
        if (!strcmp(f->name, "lang/en.ini"))
            return f->text;
    g_error("English is not built in");
}

/* English with the first such text replaced, as a file. */
static const struct language *load(const char *old, const char *new, GError **error)
{
    static unsigned n;
    g_auto(GStrv) parts = g_strsplit(english(), old, 2);
    g_assert_nonnull(parts[1]);
    g_autofree char *text = g_strconcat(parts[0], new, parts[1], NULL);
    g_autofree char *name =
        g_strdup_printf("%s/parprof-lang-%u-%u.ini", g_get_tmp_dir(), (unsigned)getpid(), n++);
    g_assert_true(g_file_set_contents(name, text, -1, NULL));
    const struct language *l = language_find(name, error);
    g_unlink(name);
    return l;
}

/* Each has every key of English, or it would be refused. */
static void test_built_in(void)
{
    unsigned n = 0;
    for (const struct data_file *f = data_files; f->name; f++) {
        if (!g_str_has_prefix(f->name, "lang/"))
            continue;
        GError *error = NULL;
        g_autofree char *name = g_strndup(f->name + strlen("lang/"), strcspn(f->name + strlen("lang/"), "."));
        const struct language *l = language_find(name, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(language_code(l), ==, name);
        g_assert_true(language_find(name, NULL) == l);
        n++;
    }
    g_assert_cmpuint(n, >=, 2);
    GError *error = NULL;
    g_assert_null(language_find("tlh", &error));
    g_assert_nonnull(strstr(error->message, "en, ko"));
    g_error_free(error);
}

/* The lecture's words. */
static void test_korean(void)
{
    const struct language *ko = language_find("ko", NULL);
    g_assert_cmpstr(word(ko, "phase.forward"), ==, "순전파");
    g_assert_cmpstr(word(ko, "phase.backward"), ==, "역전파");
    g_assert_cmpstr(word(ko, "legend.update"), ==, "파라미터 업데이트");
    g_assert_nonnull(strstr(word(ko, "legend.bubble"), "버블"));
    g_autofree char *micro = say(ko, "legend.micro", "n", "3", NULL);
    g_assert_cmpstr(micro, ==, "마이크로배치 3");
    static const char *const cells[] = {"F", "B", "W", "I", "R"};
    for (unsigned i = 0; i < G_N_ELEMENTS(cells); i++)
        g_assert_cmpstr(word_or(ko, "op", cells[i]), ==, cells[i]);
}

/* Each form of what the program says elsewhere is found, with what stands in it, and by no other form's
 * words. */
static void test_known(void)
{
    const struct language *en = language_standard(), *ko = language_find("ko", NULL);
    GError *error = NULL;
    struct ini *ini = ini_load_text("lang", "en", &error);
    g_assert_no_error(error);
    g_auto(GStrv) keys = ini_keys(ini, "known");
    g_assert_cmpuint(g_strv_length(keys), >, 10);
    for (char **key = keys; *key; key++) {
        g_autofree char *name = g_strconcat("known.", *key, NULL);
        g_auto(GStrv) english = g_strsplit_set(word(en, name), "{}", -1),
                      korean = g_strsplit_set(word(ko, name), "{}", -1);
        g_autofree char *text = g_strjoinv("", english), *expected = g_strjoinv("", korean);
        g_autofree char *said = say_known(ko, "known", text), *same = say_known(en, "known", text);
        g_assert_cmpstr(said, ==, expected);
        g_assert_cmpstr(same, ==, text);
    }
    g_autofree char *threads =
        say_known(ko, "known", "2 ranks × (1 compute + 1 comm + 1 copy thread), 2 cores");
    g_assert_cmpstr(threads, ==, "랭크 2개 × (연산 1 + 통신 1 + 복사 1 스레드), 코어 2개");
    g_autofree char *alone = say_known(ko, "known", "1 rank × (1 compute + 1 copy thread), 2 cores");
    g_assert_cmpstr(alone, ==, "랭크 1개 × (연산 1 + 복사 1 스레드), 코어 2개");
    g_autofree char *other = say_known(ko, "known", "no form of ours");
    g_assert_cmpstr(other, ==, "no form of ours");
    ini_free(ini);
}

static void test_say(void)
{
    const struct language *en = language_standard(), *ko = language_find("ko", NULL);
    g_autofree char *one =
        say(en, "figure.headline", "mode", "DDP", "model", "m", "n", "1", "message", "{n}", NULL);
    g_assert_cmpstr(one, ==, "DDP, m, 1 rank: {n}");
    g_autofree char *two =
        say(en, "figure.headline", "message", "x", "n", "2", "mode", "DDP", "model", "m", NULL);
    g_assert_cmpstr(two, ==, "DDP, m, 2 ranks: x");
    g_autofree char *turned = say(ko, "caption.step", "i", "3", "n", "10", NULL);
    g_assert_cmpstr(turned, ==, "10개 스텝 중 3번째");
    g_assert_cmpstr(word_or(en, "memory", "no such category"), ==, "no such category");
    g_assert_cmpstr(count(18446744073709551615u), ==, "18446744073709551615");
}

static unsigned line_of(const char *text)
{
    const char *at = strstr(english(), text);
    unsigned line = 1;
    for (const char *c = english(); c < at; c++)
        line += *c == '\n';
    return line;
}

static void test_refused(void)
{
    static const struct {
        const char *old, *new, *line, *why;
    } cases[] = {
        {"exposed = {time} exposed", "exposed = exposed", "exposed = {time} exposed", "lacks {time}"},
        {"exposed = {time} exposed", "exposed = {time} {where}", "exposed = {time} exposed", "has {where}"},
        {"exposed = {time} exposed", "exposed = {time", "exposed = {time} exposed", "brace"},
        {"exposed = {time} exposed", "exposed = {time|a}", "exposed = {time} exposed", "brace"},
        {"exposed = {time} exposed", "exposed =", "exposed = {time} exposed", "empty"},
        {"exposed = {time} exposed", "exhibited = {time}", "exposed = {time} exposed",
         "no figure asks for 'exhibited'"},
        {"exposed = {time} exposed\n", "", "[timeline]", "lacks 'exposed'"},
        {"[sweep]", "[swept]", "[sweep]", "no figure asks"},
        {"exposed = {time} exposed", "exposed = {time} \xff", NULL, "UTF-8"},
        {"exposed = {time} exposed", "exposed = {time} \x01", "exposed = {time} exposed", "byte 0x01"},
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        GError *error = NULL;
        g_test_message("%s", cases[i].new);
        g_assert_null(load(cases[i].old, cases[i].new, &error));
        g_assert_nonnull(strstr(error->message, cases[i].why));
        if (cases[i].line && strcmp(cases[i].old, "[sweep]")) {
            g_autofree char *place = g_strdup_printf(".ini:%u: ", line_of(cases[i].line));
            if (!strstr(error->message, place))
                g_error("'%s' does not name %s", error->message, place);
        }
        g_error_free(error);
    }
}

/* A third language is one file, in which words stand in any order. */
static void test_third(void)
{
    GError *error = NULL;
    const struct language *l =
        load("exposed = {time} exposed", "exposed = frei liegen {time}, {time}", &error);
    g_assert_no_error(error);
    g_autofree char *text = say(l, "timeline.exposed", "time", "3 ms", NULL);
    g_assert_cmpstr(text, ==, "frei liegen 3 ms, 3 ms");
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/lang/built-in", test_built_in);
    g_test_add_func("/lang/korean", test_korean);
    g_test_add_func("/lang/known", test_known);
    g_test_add_func("/lang/say", test_say);
    g_test_add_func("/lang/refused", test_refused);
    g_test_add_func("/lang/third", test_third);
    return g_test_run();
}
