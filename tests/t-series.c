/* Sweeps: the best point, the table, and files that read back as what was written, whatever is in them. */
#include <string.h>

#include "profile/series.h"
#include "tests/strict-json.h"
#include "tests/tap.h"

#define MS 1000000

static struct series_point *add(struct series *s, const char *values)
{
    s->points = g_renew(struct series_point, s->points, s->n_points + 1);
    struct series_point *p = &s->points[s->n_points++];
    *p = (struct series_point){.values = g_strsplit(values, "|", -1), .predicted_ns = -1};
    return p;
}

static void begin(struct series *s, const char *title, const char *axes)
{
    *s = (struct series){.title = g_strdup(title), .axes = g_strsplit(axes, "|", -1), .best = UINT32_MAX};
    s->n_axes = g_strv_length(s->axes);
}

static void small(struct series *s)
{
    static const char *const values[] = {"1|none", "1|backward", "25|none", "25|backward"};
    static const int64_t steps_ms[] = {160, 112, 157, 98};
    begin(s, "bert-base, 8 ranks", "bucket-mb|overlap");
    for (unsigned i = 0; i < G_N_ELEMENTS(values); i++) {
        struct series_point *p = add(s, values[i]);
        p->step_ns = steps_ms[i] * MS;
        p->exposed_ns = steps_ms[i] * MS / 3;
        p->peak_bytes = 100 << 20;
    }
    add(s, "400|none")->why_not = g_strdup("needs 42.1 GiB of 40.0 GiB");
    series_find_best(s);
}

static void test_best(void)
{
    struct series s;
    begin(&s, NULL, "x");
    series_find_best(&s);
    g_assert_cmpuint(s.best, ==, UINT32_MAX);
    add(&s, "1")->why_not = g_strdup("no");
    series_find_best(&s);
    g_assert_cmpuint(s.best, ==, UINT32_MAX);
    for (unsigned i = 0; i < 4; i++)
        add(&s, "2")->step_ns = i == 0 ? 7 : 5;
    series_find_best(&s);
    g_assert_cmpuint(s.best, ==, 2); /* the first of equals; the point without numbers has 0 */
    series_release(&s);
}

static void test_table(void)
{
    struct series s;
    g_autoptr(GString) out = g_string_new(NULL);
    small(&s);
    s.points[1].measured = true;
    s.points[1].predicted_ns = 110 * MS;
    series_print(&s, out);
    g_assert_cmpstr(out->str, ==,
                    "bert-base, 8 ranks\n"
                    "bucket-mb   overlap  step ms  exposed  hidden  idle  predicted  peak MiB\n"
                    "        1      none    160.0     53.3     0.0   0.0          -     100.0  simulated\n"
                    "        1  backward    112.0     37.3     0.0   0.0      110.0     100.0\n"
                    "       25      none    157.0     52.3     0.0   0.0          -     100.0  simulated\n"
                    "       25  backward     98.0     32.7     0.0   0.0          -     100.0 *  simulated\n"
                    "      400      none        -        -       -     -          -         -  needs 42.1 "
                    "GiB of 40.0 GiB\n"
                    "* the shortest step\n");
    g_autofree char *place = series_place(&s, s.best);
    g_assert_cmpstr(place, ==, "bucket-mb 25, overlap backward");
    series_release(&s);
}

static void check_equal(const struct series *a, const struct series *b)
{
    g_assert_cmpstr(a->title, ==, b->title);
    g_assert_cmpuint(a->best, ==, b->best);
    g_assert_cmpuint(a->n_axes, ==, b->n_axes);
    g_assert_cmpuint(a->n_points, ==, b->n_points);
    g_assert_true(g_strv_equal((const char *const *)a->axes, (const char *const *)b->axes));
    for (uint32_t i = 0; i < a->n_points; i++) {
        const struct series_point *p = &a->points[i], *q = &b->points[i];
        g_assert_true(g_strv_equal((const char *const *)p->values, (const char *const *)q->values));
        g_assert_cmpstr(p->why_not, ==, q->why_not);
        g_assert_cmpint(p->measured, ==, q->measured);
        g_assert_cmpint(p->step_ns, ==, q->step_ns);
        g_assert_cmpint(p->compute_ns, ==, q->compute_ns);
        g_assert_cmpint(p->comm_ns, ==, q->comm_ns);
        g_assert_cmpint(p->hidden_ns, ==, q->hidden_ns);
        g_assert_cmpint(p->exposed_ns, ==, q->exposed_ns);
        g_assert_cmpint(p->idle_ns, ==, q->idle_ns);
        g_assert_cmpint(p->predicted_ns, ==, q->predicted_ns);
        g_assert_cmpuint(p->peak_bytes, ==, q->peak_bytes);
    }
}

static int64_t any_ns(void)
{
    return g_test_rand_bit() ? g_test_rand_int_range(0, 1000) : INT64_MAX - g_test_rand_int_range(0, 1000);
}

static void any(struct series *s)
{
    static const char *const names[] = {"bucket-mb", "", "\"\\\n\x01", "순전파 {}[],:", "25", "/"};
#define ANY_NAME names[g_test_rand_int_range(0, G_N_ELEMENTS(names))]
    *s = (struct series){.title = g_test_rand_bit() ? g_strdup(ANY_NAME) : NULL, .axes = g_new0(char *, 4)};
    s->n_axes = (uint32_t)g_test_rand_int_range(0, 4);
    for (uint32_t i = 0; i < s->n_axes; i++)
        s->axes[i] = g_strdup(ANY_NAME);
    for (unsigned n = (unsigned)g_test_rand_int_range(0, 20); n-- > 0;) {
        struct series_point *p = add(s, "");
        g_strfreev(p->values);
        p->values = g_new0(char *, s->n_axes + 1);
        for (uint32_t i = 0; i < s->n_axes; i++)
            p->values[i] = g_strdup(ANY_NAME);
        p->measured = g_test_rand_bit();
        if (!g_test_rand_int_range(0, 4)) {
            p->why_not = g_strdup(ANY_NAME);
            continue;
        }
        p->step_ns = any_ns();
        p->compute_ns = any_ns();
        p->comm_ns = any_ns();
        p->hidden_ns = any_ns();
        p->exposed_ns = any_ns();
        p->idle_ns = any_ns();
        p->predicted_ns = any_ns() - 1;
        p->peak_bytes = g_test_rand_bit() ? UINT64_MAX : (uint64_t)any_ns();
    }
#undef ANY_NAME
    series_find_best(s);
}

static void test_same(void)
{
    for (unsigned i = 0; i < 300; i++) {
        struct series s, back;
        g_autoptr(GError) error = NULL;
        g_autoptr(GString) out = g_string_new(NULL), again = g_string_new(NULL);
        any(&s);
        series_json(&s, out);
        struct strict_json *strict = strict_json_parse(out->str);
        g_assert_nonnull(strict);
        strict_json_free(strict);
        g_assert_true(series_read(out->str, out->len, "s.json", &back, &error));
        g_assert_no_error(error);
        check_equal(&s, &back);
        series_json(&back, again);
        g_assert_cmpstr(out->str, ==, again->str);
        series_release(&s);
        series_release(&back);
    }
}

/* Keys in another order, unknown ones, what is missing. */
static void test_others(void)
{
    static const char text[] = "{\"points\":[{\"why\":{\"a\":[1]},\"step_ns\":5,\"values\":[\"1\"]},"
                               "{\"values\":[\"2\"],\"step_ns\":4}],\"new\":[],\"axes\":[\"x\"],\"best\":0,"
                               "\"schema\":\"parprof.sweep/1\"}";
    struct series s;
    g_assert_true(series_read(text, strlen(text), "s.json", &s, NULL));
    g_assert_cmpuint(s.best, ==, 1);
    g_assert_null(s.title);
    g_assert_cmpint(s.points[1].step_ns, ==, 4);
    g_assert_cmpint(s.points[1].predicted_ns, ==, -1);
    g_assert_cmpstr(s.points[0].values[0], ==, "1");
    series_release(&s);
}

static void test_refused(void)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "s.json"},
        {"[]", "s.json:1"},
        {"{}", "parprof.sweep/1"},
        {"{\"schema\":\"parprof.report/1\"}", "parprof.report/1"},
        {"{\"schema\":\"parprof.sweep/2\"}", "parprof.sweep/2"},
        {"{\"schema\":\"parprof.sweep/1\"}", "axes"},
        {"{\"schema\":\"parprof.sweep/1\",\"axes\":[\"x\"],\n\"points\":[{\"values\":[\"1\"]}]}",
         "s.json:2: a point with neither"},
        {"{\"schema\":\"parprof.sweep/1\",\"axes\":[\"x\"],\"points\":[{\"values\":[],\"step_ns\":1}]}",
         "0 values on 1 axes"},
        {"{\"schema\":\"parprof.sweep/1\",\"axes\":[\"x\"],\"points\":[{\"values\":[\"1\"],\"step_ns\":1},"
         "{\"step_ns\":1}]}",
         "0 values after points of 1"},
        {"{\"schema\":\"parprof.sweep/1\",\"axes\":[\"x\"],\"points\":[{\"values\":[\"1\"],\"step_ns\":-1}]}",
         "s.json:1"},
        {"{\"schema\":\"parprof.sweep/"
         "1\",\"axes\":[\"x\"],\"points\":[{\"values\":[\"1\"],\"step_ns\":1e30}]}",
         "s.json:1"},
        {"{\"schema\":\"parprof.sweep/1\",\"axes\":[1]}", "s.json:1"},
        {"{\"schema\":\"parprof.sweep/1\",\"axes\":[\"x\"],\"points\":[{\"values\":[\"1\"],\"step_ns\":1},",
         "the rest of the sweep is missing"},
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct series s;
        g_autoptr(GError) error = NULL;
        g_assert_false(series_read(cases[i].text, strlen(cases[i].text), "s.json", &s, &error));
        if (!strstr(error->message, cases[i].why))
            g_error("'%s' does not say '%s'", error->message, cases[i].why);
    }
}

/* Cut anywhere, and with bytes flipped: a result that can be printed, or an error. */
static void test_broken(void)
{
    struct series s, back;
    g_autoptr(GString) out = g_string_new(NULL);
    small(&s);
    series_json(&s, out);
    for (unsigned i = 0; i < out->len + 2000; i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GString) table = g_string_new(NULL);
        g_autofree char *text = g_memdup2(out->str, out->len);
        for (unsigned k = 0; i > out->len && k < i % 100; k++)
            text[g_test_rand_int_range(0, (gint32)out->len)] = (char)g_test_rand_int();
        if (series_read(text, MIN(i, out->len), "s.json", &back, &error)) {
            series_print(&back, table);
            series_release(&back);
        } else {
            g_assert_true(g_str_has_prefix(error->message, "s.json"));
        }
    }
    series_release(&s);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/series/best", test_best);
    g_test_add_func("/series/table", test_table);
    g_test_add_func("/series/same", test_same);
    g_test_add_func("/series/others", test_others);
    g_test_add_func("/series/refused", test_refused);
    g_test_add_func("/series/broken", test_broken);
    return g_test_run();
}
