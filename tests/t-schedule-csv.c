/* PyTorch's schedule files: what is read, what is written, what is refused and where. */
#include <string.h>

#include "plan/schedule.h"
#include "tests/tap.h"

static void same(const struct actions *a, const struct actions *b)
{
    const uint32_t n = a->first[a->n_ranks];
    g_assert_cmpuint(a->n_ranks, ==, b->n_ranks);
    g_assert_cmpuint(a->n_stages, ==, b->n_stages);
    g_assert_cmpuint(a->n_micro, ==, b->n_micro);
    g_assert_cmpmem(a->first, (a->n_ranks + 1) * sizeof *a->first, b->first,
                    (b->n_ranks + 1) * sizeof *b->first);
    g_assert_cmpmem(a->rank, a->n_stages * sizeof *a->rank, b->rank, b->n_stages * sizeof *b->rank);
    g_assert_cmpmem(a->list, n * sizeof *a->list, b->list, n * sizeof *b->list);
}

static void read_text(const char *text, struct actions *a)
{
    GError *error = NULL;
    actions_read_csv(text, strlen(text), "a.csv", a, &error);
    g_assert_no_error(error);
}

static void test_both_ways(void)
{
    for (const struct schedule *const *s = schedules; *s; s++)
        for (uint32_t v = 1; v <= 3; v++) {
            const struct pipe pipe = {4, v, 8};
            struct actions a, b;
            g_autoptr(GString) out = g_string_new(NULL);
            if (!schedule_check(*s, &pipe, NULL))
                continue;
            schedule_order(*s, &pipe, &a);
            actions_write_csv(&a, out);
            read_text(out->str, &b);
            same(&a, &b);
            actions_release(&a);
            actions_release(&b);
        }
}

/* Rows end as Python's csv module ends them; PyTorch's reader wants the word behind a pair. */
static void test_written(void)
{
    struct actions a;
    g_autoptr(GString) out = g_string_new(NULL);
    read_text("0F0,(0F1;0B0),0I1,0W1\n", &a);
    actions_write_csv(&a, out);
    g_assert_cmpstr(out->str, ==, "0F0,(0F1;0B0)OVERLAP_F_B,0I1,0W1\r\n");
    actions_release(&a);
}

/* The same two ranks in every dress. */
static void test_dresses(void)
{
    static const char *const dresses[] = {
        "0F0,0F1,0B0,0B1\n1F0,(1F1;1B0),1B1\n",
        "0F0,0F1,0B0,0B1\r\n1F0,(1F1;1B0)OVERLAP_F_B,1B1\r\n",
        "0F0,0F1,,,0B0, ,0B1,,\n,1F0,( 1F1 ; 1B0 ) OVERLAP_F_B ,1B1,,,",
        " 0F0 ,\t0F1, 0B0,0B1\n1F0,(1F1;1B0),1B1\n\n,,\n \r\n",
        ("0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0REDUCE_GRAD,0RESHARD\n"
         "1UNSHARD,1RECV_F0,1F0,1RECV_F1,(1F1;1B0)OVERLAP_F_B,1SEND_B0,1B1,1SEND_B1\n"),
        "0F00,0F1,0B0,0B01\n01F0,(1F1;1B0),1B1",
        "\xef\xbb\xbf"
        "0F0,0F1,0B0,0B1\r\n1F0,(1F1;1B0),1B1\r\n",
    };
    struct actions a, b;
    read_text(dresses[0], &a);
    g_assert_cmpuint(a.n_ranks, ==, 2);
    g_assert_cmpuint(a.n_stages, ==, 2);
    g_assert_cmpuint(a.n_micro, ==, 2);
    g_assert_cmpuint(a.list[5].paired, ==, 1);
    for (unsigned i = 1; i < G_N_ELEMENTS(dresses); i++) {
        read_text(dresses[i], &b);
        same(&a, &b);
        actions_release(&b);
    }
    actions_release(&a);
}

/* Stages lie where the file puts them. */
static void test_any_mapping(void)
{
    struct actions a;
    read_text("1F0,1B0\n0F0,2F0,2B0,0B0\n", &a);
    g_assert_cmpuint(a.rank[0], ==, 1);
    g_assert_cmpuint(a.rank[1], ==, 0);
    g_assert_cmpuint(a.rank[2], ==, 1);
    actions_release(&a);
}

static void refused_bytes(const char *text, size_t n, const char *pattern)
{
    struct actions a;
    GError *error = NULL;
    g_assert_false(actions_read_csv(text, n, "a.csv", &a, &error));
    if (!g_pattern_match_simple(pattern, error->message))
        g_error("'%s' does not say '%s'", error->message, pattern);
    g_error_free(error);
}

static void refused(const char *text, const char *pattern)
{
    refused_bytes(text, strlen(text), pattern);
}

static void test_bad_tokens(void)
{
    refused("", "a.csv: no actions*");
    refused("\n,,\r\n", "a.csv: no actions*");
    refused("0F0,0B0\n0SEND_F0\n1F0,1B0", "a.csv:2: *without actions*");
    refused("0F0,0X0\n", "a.csv:1: '0X0' is no action*");
    refused("0F0,0F\n", "a.csv:1: '0F' is no action*");
    refused("0F0,F0\n", "a.csv:1: 'F0' is no action*");
    refused("0F0,0F0x\n", "a.csv:1: '0F0x' is no action*");
    refused("0F0,-1B0\n", "a.csv:1: '-1B0' is no action*");
    refused("0F0,0B0\n1F0,1B0;\n", "a.csv:2: '1B0;' is no action*");
    refused("0F0,(0F1;0B0\n", "a.csv:1: '(0F1;0B0' is no action*");
    refused("0F0,(0F1)\n", "a.csv:1: '' is no action*");
    refused("0F0,(0F1;0B0)OVERLAP\n", "a.csv:1: '(0F1;0B0)OVERLAP' is no action*");
    refused("0F0,(0B0;0F1)\n", "a.csv:1: '(0B0;0F1)' is no pair*");
    refused("0F0,(0F1;0B0;0B1)\n", "a.csv:1: *");
    refused("0F0,(0F1;0SEND_B0)\n", "a.csv:1: * is no pair*");
    refused("0F0,5000000B0\n", "a.csv:1: '5000000B0' has a stage out of range*0 to 65534");
    refused("0F0,0B99999999999999999999\n", "a.csv:1: * has a micro-batch out of range*0 to 16777215");
    refused("0F0,65535B0\n", "a.csv:1: '65535B0' has a stage*");
    refused("0F0,0B16777216\n", "a.csv:1: * has a micro-batch*");
    refused_bytes("0F0,\0000B0\n", 9, "a.csv:1: '\\0' is no action*");
    refused_bytes("0F0,0B0\0\n", 9, "a.csv:1: '0B0' is no action*");
    refused("0F0,\xff\n", "a.csv:1: '\\377' is no action*");
    g_autofree char *huge = g_strnfill(1 << 20, '7');
    refused(huge, "a.csv:1: '7777777777777777777777777777777777777777...' is no action*");
}

static void test_bad_orders(void)
{
    refused("0F0,0B0,0F0\n", "a.csv:1: '0F0', action 2 of rank 0, stands twice");
    refused("0F0,0B0\n1F0\n", "a.csv:2: 1B0 is missing");
    refused("0F0,0B0\n0F1,0B1\n", "a.csv:2: '0F1', action 0 of rank 1, *rank 0 has");
    refused("0F0,0B0\n2F0,2B0\n", "a.csv: 1F0 is missing");
    refused("65534F16777214\n", "a.csv: 0F0 is missing");
    refused("0F0,0F16777215\n", "a.csv:1: 0F1 is missing");
    refused("0F0,0B0\n1B0,1F0\n", "a.csv:2: '1B0', action 0 of rank 1, waits for ever for 1F0*");
    refused("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1",
            "a.csv:1: '0B0', action 1 of rank 0, waits for ever for 1B0*");
}

static void test_many_rows(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (unsigned i = 0; i <= PLAN_RANKS_MAX; i++)
        g_string_append_printf(text, "%uF0,%uB0\n", i, i);
    refused(text->str, "a.csv:4097: a rank too many*");
    *strstr(text->str, "4096F0") = '\0';
    struct actions a;
    read_text(text->str, &a);
    g_assert_cmpuint(a.n_ranks, ==, PLAN_RANKS_MAX);
    actions_release(&a);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/schedule-csv/both-ways", test_both_ways);
    g_test_add_func("/schedule-csv/written", test_written);
    g_test_add_func("/schedule-csv/dresses", test_dresses);
    g_test_add_func("/schedule-csv/any-mapping", test_any_mapping);
    g_test_add_func("/schedule-csv/bad-tokens", test_bad_tokens);
    g_test_add_func("/schedule-csv/bad-orders", test_bad_orders);
    g_test_add_func("/schedule-csv/many-rows", test_many_rows);
    return g_test_run();
}
