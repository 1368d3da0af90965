/* Clusters: the built-in ones are sane and sourced, and a wrong file is refused on the line that is wrong. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cluster.h"
#include "tests/tap.h"

static const char good[] = "# a comment\n"
                           "[cluster]\n"
                           "name = two\n"
                           "devices = 2\n"
                           "source = made up\n"
                           "[device]\n"
                           "f32-tflops = 10\n"
                           "f64-tflops = 2.5\n"
                           "memory-gbs = 1e3\n"
                           "launch-us = 0\n"
                           "efficiency = 1\n"
                           "[link]\n"
                           "gbps = 100\n"
                           "us = 5.5\n";

static void test_values(void)
{
    GError *error = NULL;
    struct cluster *c = cluster_parse(good, "two.ini", &error);
    g_assert_no_error(error);
    g_assert_cmpstr(c->name, ==, "two");
    g_assert_cmpstr(c->summary, ==, "");
    g_assert_cmpstr(c->source, ==, "made up");
    g_assert_cmpuint(c->devices, ==, 2);
    g_assert_cmpfloat(c->f32_tflops, ==, 10);
    g_assert_cmpfloat(c->f64_tflops, ==, 2.5);
    g_assert_cmpfloat(c->memory_gbs, ==, 1000);
    g_assert_cmpfloat(c->launch_us, ==, 0);
    g_assert_cmpfloat(c->efficiency, ==, 1);
    g_assert_cmpfloat(c->link_gbps, ==, 100);
    g_assert_cmpfloat(c->link_us, ==, 5.5);
    g_assert_cmpuint(c->nodes, ==, 1);
    g_assert_cmpuint(c->sms, ==, 0);
    g_assert_cmpfloat(c->memory_gib, ==, 0);
    g_assert_false(c->link_shared);
    g_assert_false(c->nccl_known);
    cluster_free(c);
}

#define NETWORK "[network]\ngbps = 50\nus = 7\ncards = 4\n"
#define NCCL                                                                                                 \
    "[nccl]\narch = hopper\nchannels = 16\nintra-gbs = 24\ninter-gbs = 12\npath = pci\nnvls = yes\ncpu = "   \
    "amd\n"

/* The good file as a node of three, and more groups. */
static char *nodes(const char *groups)
{
    g_auto(GStrv) parts = g_strsplit(good, "devices = 2\n", 2);
    return g_strconcat(parts[0], "devices = 2\nnodes = 3\n", parts[1], "shared = node\n", groups, NULL);
}

static void test_nodes(void)
{
    GError *error = NULL;
    g_autofree char *whole = nodes(NETWORK NCCL);
    struct cluster *c = cluster_parse(whole, "three.ini", &error);
    g_assert_no_error(error);
    g_assert_cmpuint(c->nodes, ==, 3);
    g_assert_true(c->link_shared);
    g_assert_cmpfloat(c->net_gbps, ==, 50);
    g_assert_cmpfloat(c->net_us, ==, 7);
    g_assert_cmpuint(c->net_cards, ==, 4);
    g_assert_true(c->nccl_known);
    g_assert_cmpuint(c->nccl.arch, ==, NCCL_HOPPER);
    g_assert_cmpuint(c->nccl.channels, ==, 16);
    g_assert_cmpfloat(c->nccl.intra_gbs, ==, 24);
    g_assert_cmpfloat(c->nccl.inter_gbs, ==, 12);
    g_assert_false(c->nccl.nvlink);
    g_assert_true(c->nccl.nvls);
    g_assert_true(c->nccl.amd);
    cluster_free(c);
}

static void assert_refused(const char *text, const char *says)
{
    GError *error = NULL;
    g_assert_null(cluster_parse(text, "two.ini", &error));
    g_assert_nonnull(error);
    if (!strstr(error->message, says))
        g_error("\"%s\" lacks \"%s\"", error->message, says);
    g_clear_error(&error);
}

/* The good file with one line replaced; "" removes it. */
static void assert_line_refused(unsigned line, const char *with, const char *says)
{
    char **lines = g_strsplit(good, "\n", -1);
    g_free(lines[line - 1]);
    lines[line - 1] = g_strdup(with);
    char *text = g_strjoinv("\n", lines);
    assert_refused(text, says);
    g_free(text);
    g_strfreev(lines);
}

static void test_refusals(void)
{
    assert_line_refused(3, "", "two.ini:2: [cluster] has no key 'name'");
    assert_line_refused(4, "devices = 0", "two.ini:4: ");
    assert_line_refused(4, "devices = 1e9", "two.ini:4: ");
    assert_line_refused(5, "", "two.ini:2: [cluster] has no key 'source'");
    assert_line_refused(7, "f32-tflops = 0", "two.ini:7: ");
    assert_line_refused(7, "f32-tflops = nan", "two.ini:7: ");
    assert_line_refused(8, "f64-tflops = -1", "two.ini:8: ");
    assert_line_refused(9, "memory-gbs = fast", "two.ini:9: ");
    assert_line_refused(9, "memory-gbs = 1000\nmemory-gib = 0", "two.ini:10: ");
    assert_line_refused(10, "launch-us = inf", "two.ini:10: ");
    assert_line_refused(11, "efficiency = 1.01", "two.ini:11: ");
    assert_line_refused(13, "gbps = 0", "two.ini:13: ");
    assert_line_refused(13, "gpbs = 100", "two.ini:12: [link] has no key 'gbps'");
    assert_line_refused(14, "us = 5,5", "two.ini:14: ");
    assert_line_refused(14, "us = 5.5\nhops = 2", "two.ini:15: unknown key 'hops'");
    assert_line_refused(14, "us = 5.5\n[switch]\nports = 2", "two.ini:15: ");
    assert_refused("", "two.ini");
    assert_line_refused(11, "efficiency = 1\nsms = 0", "two.ini:12: ");
    assert_line_refused(14, "us = 5.5\nshared = switch",
                        "two.ini:15: shared is 'switch', write one of device, node");
    assert_line_refused(14, "us = 5.5\n" NETWORK, "two.ini:15: ");
    assert_line_refused(4, "devices = 2\nnodes = 2", "there is no group [network]");
    assert_line_refused(14, "us = 5.5\n[nccl]\narch = hopper", "two.ini:15: [nccl] has no key 'channels'");
    assert_line_refused(14, "us = 5.5\n[nccl]\narch = maxwell", "two.ini:16: ");
    g_autofree char *lacks =
        nodes(NETWORK "[nccl]\narch = hopper\nchannels = 16\nintra-gbs = 24\npath = pci\ncpu = amd\n");
    assert_refused(lacks, "[nccl] has no key 'inter-gbs'");
}

static void check_builtin(const char *name)
{
    GError *error = NULL;
    struct cluster *c = cluster_load(name, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(c->name, ==, name);
    g_assert_cmpuint(strlen(c->source), >, 40);
    g_assert_cmpuint(strlen(c->summary), >, 10);
    g_assert_cmpuint(c->devices, >=, 2);
    g_assert_cmpfloat(c->f32_tflops, >=, c->f64_tflops);
    g_assert_cmpfloat(c->efficiency, >=, 0.5);
    /* Devices are sold by about what they have, in GB. */
    const char *gb = strstr(c->summary, " GB,");
    while (gb && g_ascii_isdigit(gb[-1]))
        gb--;
    g_assert_true(!gb || fabs(c->memory_gib / strtod(gb, NULL) - 1) < 0.02);
    /* Nothing moves faster between devices than inside one, and a hop costs at most 0.1 ms. */
    g_assert_cmpfloat(c->link_gbps / 8, <, c->memory_gbs);
    g_assert_cmpfloat(c->link_us, >, 0);
    g_assert_cmpfloat(c->link_us, <, 100);
    g_assert_true(c->nodes == 1 || (c->net_gbps * c->net_cards / 8 < c->memory_gbs && c->net_us > 0));
    /* NCCL's channels carry no more than what the link reaches, to a tenth. */
    g_assert_true(!c->nccl_known || c->nccl.channels * c->nccl.intra_gbs * 8 <= 1.1 * c->link_gbps);
    cluster_free(c);
}

static void test_builtin(void)
{
    char **names = cluster_list();
    char *all = g_strjoinv(" ", names);
    g_assert_cmpstr(all, ==,
                    "a100x16-200g a100x4 a100x8 cpu dgx-h100 dgx-h100x4 h200x8 rtx-pcie-x2 v100x32-100g");
    for (char **name = names; *name; name++)
        check_builtin(*name);
    g_free(all);
    g_strfreev(names);
    GError *error = NULL;
    g_assert_null(cluster_load("a100x5", &error));
    g_assert_nonnull(strstr(error->message, "a100x8, cpu, dgx-h100, dgx-h100x4"));
    g_clear_error(&error);
    g_assert_null(cluster_load("./no-such.ini", &error));
    g_assert_nonnull(strstr(error->message, "./no-such.ini"));
    g_clear_error(&error);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/cluster/values", test_values);
    g_test_add_func("/cluster/nodes", test_nodes);
    g_test_add_func("/cluster/refusals", test_refusals);
    g_test_add_func("/cluster/built-in", test_builtin);
    return g_test_run();
}
