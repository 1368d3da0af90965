/* Presets: what the DDP paper published comes out of its parts, options are given as by hand, wrong files say
 * where. */
#include <math.h>
#include <string.h>

#include <glib/gstdio.h>

#include "cli/cli.h"
#include "cli/preset.h"
#include "tests/tap.h"

/* Totals read off figure 6, and the savings that its caption gives, in the paper's order. */
static void test_paper(void)
{
    static const struct {
        const char *name;
        double efficiency, total, percent;
    } published[] = {{"ResNet50, NCCL", .96, .619, 38.0},
                     {"ResNet50, Gloo", .97, .732, 26.8},
                     {"BERT, NCCL", .85, .648, 35.2},
                     {"BERT, Gloo", .87, .786, 21.5}};
    g_autoptr(GError) error = NULL;
    struct preset *p = preset_load("ddp-paper", &error);
    g_assert_no_error(error);
    g_assert_cmpuint(p->n_steps, ==, G_N_ELEMENTS(published));
    g_assert_nonnull(strstr(p->source, "Li et al. 2020"));
    for (unsigned i = 0; i < p->n_steps; i++) {
        const struct preset_step *s = &p->steps[i];
        const double total = preset_total(s);
        g_assert_cmpstr(s->name, ==, published[i].name);
        g_assert_cmpfloat(s->efficiency, ==, published[i].efficiency);
        g_assert_cmpfloat(s->published_total, ==, published[i].total);
        g_assert_cmpfloat(s->published_percent, ==, published[i].percent);
        g_assert_cmpfloat_with_epsilon(total, published[i].total, 0.003);
        g_assert_cmpfloat_with_epsilon(100 * (1 - total), published[i].percent, 0.3);
        g_assert_cmpfloat_with_epsilon(s->forward + s->backward + s->comm + s->optimizer, 1, 0.003);
    }
    preset_free(p);
}

/* The rows add up, and say the same as preset_total. */
static void test_digest(void)
{
    struct preset *p = preset_load("ddp-paper", NULL);
    struct digest d;
    preset_digest(p, &d);
    g_assert_cmpuint(d.n_rows, ==, 8);
    g_assert_cmpuint(d.n_ranks, ==, 32);
    g_assert_nonnull(strstr(digest_label(d.labels, "source"), "digitised"));
    for (unsigned i = 0; i < d.n_rows; i++) {
        const struct digest_row *r = &d.rows[i];
        const struct partition *part = &r->partition;
        g_assert_true(g_str_has_prefix(r->group, p->steps[i / 2].name));
        g_assert_cmpstr(r->name, ==, i % 2 ? "backward" : "none");
        g_assert_cmpint(part->comm_ns, ==, part->hidden_comm_ns + part->exposed_comm_ns);
        g_assert_cmpint(part->window_ns, ==, part->compute_ns + part->exposed_comm_ns);
        g_assert_cmpfloat_with_epsilon((double)r->step_ns / (double)d.rows[i & ~1u].step_ns,
                                       i % 2 ? preset_total(&p->steps[i / 2]) : 1, 1e-6);
    }
    digest_release(&d);
    preset_free(p);
}

static struct preset *load_text(const char *text, GError **error)
{
    g_autofree char *folder = g_dir_make_tmp("parprof-XXXXXX", NULL),
                    *path = g_build_filename(folder, "p.ini", NULL);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    struct preset *p = preset_load(path, error);
    g_remove(path);
    g_rmdir(folder);
    return p;
}

static void test_options(void)
{
    g_autoptr(GError) error = NULL;
    struct options o;
    char *argv[] = {(char *)"parprof", (char *)"--ranks", (char *)"2", NULL};
    g_assert_true(options_parse(&o, 3, argv, NULL));
    struct preset *p =
        load_text("[preset]\nname = mine\n[options]\nranks = 8\nbucket-mb = 12.5\noverlap = none,backward\n"
                  "gradient-as-bucket-view = yes\nfirst-iteration = no\n",
                  &error);
    g_assert_no_error(error);
    g_assert_true(preset_apply(p, &o, &error));
    g_assert_cmpfloat(option_number(&o, OPTION_RANKS, 0), ==, 2);
    g_assert_cmpfloat(option_number(&o, OPTION_BUCKET_MB, 0), ==, 12.5);
    g_assert_cmpstr(option_text(&o, OPTION_OVERLAP, NULL), ==, "none,backward");
    g_assert_true(o.given[OPTION_GRADIENT_AS_BUCKET_VIEW]);
    g_assert_false(o.given[OPTION_FIRST_ITERATION]);
    preset_free(p);
    options_release(&o);
}

static void test_wrong(void)
{
#define STEP                                                                                                 \
    "[preset]\nname = p\nmodel = m\nsource = s\ncomputed = c\n[step-a]\nname = a\nbackward = "               \
    ".5\ncommunication = .5\n"                                                                               \
    "optimizer = 0\nefficiency = 1\npublished-total = .5\npublished-percent = 50\n"
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"[preset]\nsummary = s\n", "no key 'name'"},
        {"[preset]\nname = ../p\n", "without /"},
        {"[preset]\nname = p\nranks = 3\n", "unknown key 'ranks'"},
        {"[preset]\nname = p\n[options]\npreset = p\n", "p.ini:4"},
        {"[preset]\nname = p\n[options]\nbucket-mb =\n", "bucket-mb is empty"},
        {"[preset]\nname = p\n[step]\n", "unknown group"},
        {STEP, "no key 'forward'"},
        {STEP "forward = 2\n", "from 0 to 1"},
        {"[preset]\nname = p\n[step-a]\nforward = 0\nbackward = 0\ncommunication = 0\noptimizer = "
         "0\nefficiency = 1\n"
         "published-total = 0\npublished-percent = 0\nname = a\n",
         "all parts of the step are 0"},
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(load_text(cases[i].text, &error));
        if (!strstr(error->message, cases[i].why))
            g_error("'%s' does not say '%s'", error->message, cases[i].why);
    }
    struct preset *p = load_text(STEP "forward = 0\n", NULL);
    g_assert_cmpuint(p->n_steps, ==, 1);
    preset_free(p);
}

static void test_wrong_options(void)
{
    static const struct {
        const char *line, *why;
    } cases[] = {{"buckets = 1", "no option --buckets"},
                 {"bucket-mb = much", "takes a number"},
                 {"first-iteration = 1", "yes or no"}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strconcat("[preset]\nname = mine\n[options]\n", cases[i].line, "\n", NULL);
        g_autoptr(GError) error = NULL;
        char *argv[] = {(char *)"parprof", NULL};
        struct options o;
        g_assert_true(options_parse(&o, 1, argv, NULL));
        struct preset *p = load_text(text, NULL);
        g_assert_false(preset_apply(p, &o, &error));
        g_assert_true(g_str_has_prefix(error->message, "preset mine: "));
        if (!strstr(error->message, cases[i].why))
            g_error("'%s' does not say '%s'", error->message, cases[i].why);
        preset_free(p);
        options_release(&o);
    }
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/preset/paper", test_paper);
    g_test_add_func("/preset/digest", test_digest);
    g_test_add_func("/preset/options", test_options);
    g_test_add_func("/preset/wrong", test_wrong);
    g_test_add_func("/preset/wrong-options", test_wrong_options);
    return g_test_run();
}
