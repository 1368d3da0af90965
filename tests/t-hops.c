/* The hops that a figure shows, done with numbers: everybody ends with the sum, and what is said to be summed up in a hop is. */
#include "profile/traffic.h"
#include "tests/tap.h"
#include "tests/work-trace.h"
#include "viz/hops.h"

static const struct hop_move *move_at(const struct hops *h, unsigned i)
{
    return &g_array_index(h->moves, struct hop_move, i);
}

/* Member i's part of every chunk is 2^i, so that a sum names its parts. */
static void run_hops(const struct hops *h)
{
    const uint32_t chunks = h->algo == ALLREDUCE_RING ? h->n : 1;
    g_autofree uint64_t *held = g_new(uint64_t, h->n * chunks), *inbox = g_new0(uint64_t, h->n);
    for (uint32_t i = 0; i < h->n * chunks; i++)
        held[i] = UINT64_C(1) << i / chunks;
    for (unsigned i = 0, end; i < h->moves->len; i = end) {
        g_autofree uint64_t *before = g_memdup2(held, h->n * chunks * sizeof *held);
        for (end = i; end < h->moves->len && move_at(h, end)->hop == move_at(h, i)->hop; end++) {
            const struct hop_move *m = move_at(h, end);
            const uint32_t chunk = m->chunk == OP_NONE ? 0 : m->chunk;
            const uint64_t sent = before[m->from * chunks + chunk];
            g_assert_cmpuint(m->summed, ==, sent);
            g_assert_cmpuint(m->n_summed, ==, (unsigned)__builtin_popcountll(sent));
            g_assert_cmpuint(m->from, !=, m->to);
            if (h->algo == ALLREDUCE_ALL_TO_ALL)
                inbox[m->to] += sent;
            else if (m->adds)
                held[m->to * chunks + chunk] += sent;
            else
                held[m->to * chunks + chunk] = sent;
        }
    }
    for (uint32_t i = 0; i < h->n * chunks; i++)
        g_assert_cmpuint(held[i] + inbox[i / chunks], ==, (UINT64_C(1) << h->n) - 1);
}

/* What the busiest direction of a member carries is what the formula says, but for chunks of whole elements. */
static void check_bytes(const struct hops *h)
{
    g_autofree uint64_t *sent = g_new0(uint64_t, h->n), *received = g_new0(uint64_t, h->n);
    uint64_t most = 0;
    for (unsigned i = 0; i < h->moves->len; i++) {
        sent[move_at(h, i)->from] += move_at(h, i)->bytes;
        received[move_at(h, i)->to] += move_at(h, i)->bytes;
    }
    for (uint32_t i = 0; i < h->n; i++)
        most = MAX(most, MAX(sent[i], received[i]));
    const uint64_t expected = traffic_busiest_bytes(h->algo, h->n, h->bytes);
    g_assert_cmpuint(most, >=, expected);
    g_assert_cmpuint(most, <=, expected + 8 * h->n);
}

static uint32_t expected_hops(enum allreduce algo, uint32_t n)
{
    return algo == ALLREDUCE_TREE ? 2 * g_bit_storage(n - 1) : algo == ALLREDUCE_ALL_TO_ALL ? n - 1 : 2 * (n - 1);
}

static void test_hops(void)
{
    for (uint8_t algo = ALLREDUCE_RING; algo < ALLREDUCES; algo++)
        for (uint32_t n = 2; n <= 9; n++) {
            struct trace trace;
            struct hops h;
            work_simulate(&(struct work){.mode = &mode_ddp, .ranks = n, .algo = algo}, &trace);
            g_assert_true(hops_collect(&h, &trace, 0));
            g_assert_cmpuint(h.n, ==, n);
            g_assert_cmpuint(h.n_hops, ==, expected_hops(algo, n));
            g_assert_cmpuint(h.bytes, ==, trace.t.buckets[0].bytes);
            g_assert_true((h.sum_ns >= 0) == (algo == ALLREDUCE_ALL_TO_ALL));
            run_hops(&h);
            check_bytes(&h);
            hops_release(&h);
            trace_release(&trace);
        }
}

static void test_none(void)
{
    static const struct work none[] = {{.mode = &mode_ddp, .ranks = 3, .algo = ALLREDUCE_WHOLE},
                                       {.mode = &mode_dp, .ranks = 3, .algo = ALLREDUCE_TREE},
                                       {.mode = &mode_ddp, .ranks = 1, .algo = ALLREDUCE_RING}};
    for (unsigned i = 0; i < G_N_ELEMENTS(none); i++) {
        struct trace trace;
        struct hops h;
        work_simulate(&none[i], &trace);
        g_assert_false(hops_collect(&h, &trace, 0));
        trace_release(&trace);
    }
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/hops/all", test_hops);
    g_test_add_func("/hops/none", test_none);
    return g_test_run();
}
