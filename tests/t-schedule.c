/* Orders of the pipeline schedules: against PyTorch's, whole and without deadlock on every legal size, and
 * timed by a list scheduler of this file against published makespans and peaks. */
#include <stdio.h>
#include <string.h>

#include "plan/schedule.h"
#include "tests/tap.h"

enum { RANKS = 8, CHUNKS = 32, PER_RANK = 4 };

/* Time is counted in these, so that stages of a half, third or quarter and hops of a quarter are whole. */
enum { UNIT = 48 };

static void order(const char *name, uint32_t ranks, uint32_t per_rank, uint32_t micro, struct actions *a)
{
    const struct schedule *s = schedule_find(name);
    const struct pipe pipe = {ranks, per_rank, micro};
    GError *error = NULL;
    g_assert_nonnull(s);
    schedule_check(s, &pipe, &error);
    g_assert_no_error(error);
    schedule_order(s, &pipe, a);
}

/* --- PyTorch's orders */

static const struct golden {
    const char *file, *name;
    uint32_t per_rank;
} goldens[] = {
    {"1f1b", "1f1b", 1},
    {"gpipe", "gpipe", 1},
    {"torchgpipe", "gpipe-torch", 1},
    {"interleaved1f1b_v2", "interleaved", 2},
    {"loopedbfs_v2", "looped-bfs", 2},
    {"zb1p_v1", "zb1p", 1},
    {"zb1p_v2", "zb1p", 2},
    {"zbv", "zbv", 2},
    {"dualpipev", "dualpipev", 2},
};

/* The files of golden/ have pairs without the word behind them. */
static char *written(const struct actions *a)
{
    GString *out = g_string_new(NULL);
    actions_write_csv(a, out);
    g_string_replace(out, "OVERLAP_F_B", "", 0);
    return g_string_free(out, FALSE);
}

static void check_golden(const struct golden *g, uint32_t ranks, uint32_t micro)
{
    g_autofree char *file = g_strdup_printf("%s_pp%u_m%u.csv", g->file, ranks, micro);
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "golden", "pipeline", file, NULL),
                    *text = NULL;
    GError *error = NULL;
    g_file_get_contents(path, &text, NULL, &error);
    g_assert_no_error(error);
    struct actions a;
    order(g->name, ranks, g->per_rank, micro, &a);
    g_autofree char *ours = written(&a);
    g_assert_cmpstr(ours, ==, text);
    actions_release(&a);
}

static void test_golden(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(goldens); i++) {
        check_golden(&goldens[i], 2, 4);
        check_golden(&goldens[i], 4, 8);
    }
}

/* --- every size */

static void for_every_size(void (*each)(const struct schedule *, const struct pipe *))
{
    for (const struct schedule *const *s = schedules; *s; s++)
        for (uint32_t ranks = 1; ranks <= RANKS; ranks++)
            for (uint32_t per_rank = 1; per_rank <= PER_RANK; per_rank++)
                for (uint32_t micro = 1; micro <= CHUNKS; micro++)
                    each(*s, &(struct pipe){ranks, per_rank, micro});
}

/* Counted here, beside what actions_check says. */
static void count_each(const struct actions *a)
{
    const uint32_t cells = a->n_stages * a->n_micro;
    g_autofree uint8_t *n = g_new0(uint8_t, (gsize)cells * ACTION_KINDS);
    for (uint32_t i = 0; i < a->first[a->n_ranks]; i++)
        n[(a->list[i].stage * a->n_micro + a->list[i].micro) * ACTION_KINDS + a->list[i].kind]++;
    for (uint32_t c = 0; c < cells; c++) {
        const uint8_t *of = &n[c * ACTION_KINDS];
        g_assert_cmpuint(of[ACTION_F], ==, 1);
        g_assert_cmpuint(of[ACTION_B] + of[ACTION_I], ==, 1);
        g_assert_cmpuint(of[ACTION_B] + of[ACTION_W], ==, 1);
    }
}

static void check_legal(const struct schedule *s, const struct pipe *pipe)
{
    struct actions a;
    GError *error = NULL;
    if (!schedule_check(s, pipe, NULL))
        return;
    schedule_order(s, pipe, &a);
    g_assert_cmpuint(a.n_ranks, ==, pipe->ranks);
    g_assert_cmpuint(a.n_stages, ==, pipe->ranks * pipe->per_rank);
    g_assert_cmpuint(a.n_micro, ==, pipe->micro);
    for (uint32_t stage = 0; stage < a.n_stages; stage++)
        g_assert_cmpuint(a.rank[stage], ==,
                         s->v_shaped && stage >= pipe->ranks ? 2 * pipe->ranks - 1 - stage
                                                             : stage % pipe->ranks);
    count_each(&a);
    actions_check(&a, &error);
    g_assert_no_error(error);
    actions_release(&a);
}

static void test_every_size(void)
{
    for_every_size(check_legal);
}

/* All numbers that a message offers behind an option. */
static void check_offer(const struct schedule *s, const struct pipe *pipe, const char *message,
                        const char *option, size_t field)
{
    const char *give = strstr(message, "give ");
    g_assert_nonnull(give);
    const char *at = strstr(give, option);
    g_assert_nonnull(at);
    const uint32_t offer = (uint32_t)g_ascii_strtoull(at + strlen(option), NULL, 10);
    const uint32_t asked = G_STRUCT_MEMBER(uint32_t, pipe, field);
    g_assert_cmpuint(offer, !=, asked);
    for (uint32_t value = asked; value != offer; value += offer > asked ? 1 : -1u) {
        struct pipe other = *pipe;
        G_STRUCT_MEMBER(uint32_t, &other, field) = value;
        g_assert_false(schedule_check(s, &other, NULL));
    }
    /* Where two things are wrong, the second is said next. */
    struct pipe other = *pipe;
    GError *error = NULL;
    G_STRUCT_MEMBER(uint32_t, &other, field) = offer;
    if (!schedule_check(s, &other, &error))
        g_assert_null(strstr(error->message, option));
    g_clear_error(&error);
}

static void check_illegal(const struct schedule *s, const struct pipe *pipe)
{
    GError *error = NULL;
    if (schedule_check(s, pipe, &error))
        return;
    const bool stages = s->stages && s->stages != pipe->per_rank;
    check_offer(s, pipe, error->message, stages ? "--stages-per-rank " : "--chunks ",
                stages ? offsetof(struct pipe, per_rank) : offsetof(struct pipe, micro));
    g_error_free(error);
}

static void test_offers(void)
{
    for_every_size(check_illegal);
}

static void refused(const char *name, struct pipe pipe, const char *pattern)
{
    GError *error = NULL;
    g_assert_false(schedule_check(schedule_find(name), &pipe, &error));
    if (!g_pattern_match_simple(pattern, error->message))
        g_error("'%s' does not say '%s'", error->message, pattern);
    g_error_free(error);
}

static void test_refused(void)
{
    refused("gpipe", (struct pipe){4, 1, 3}, "*--chunks 4*");
    refused("1f1b", (struct pipe){4, 1, 3}, "*--chunks 4*");
    refused("dualpipev", (struct pipe){4, 2, 7}, "*--chunks 8*");
    refused("interleaved", (struct pipe){4, 2, 9}, "*--chunks 8 or 10*");
    refused("zb1p", (struct pipe){4, 1, 13}, "*--chunks 12 or 15*");
    refused("zbv", (struct pipe){4, 1, 8}, "*--stages-per-rank 2");
    refused("dualpipev", (struct pipe){4, 3, 8}, "*--stages-per-rank 2");
    refused("zb2p", (struct pipe){4, 2, 8}, "*--stages-per-rank 1");
    for (const struct schedule *const *s = schedules; *s; s++) {
        const uint32_t v = MAX((*s)->stages, 1);
        refused((*s)->name, (struct pipe){0, v, 8}, "--ranks 0 *give 1 to 4096");
        refused((*s)->name, (struct pipe){5000, v, 8}, "--ranks 5000 *give 1 to 4096");
        refused((*s)->name, (struct pipe){4, v, 0}, "*--chunks *");
        refused((*s)->name, (struct pipe){4, v, UINT32_MAX}, "--chunks 4294967295 *give 1 to *");
        refused((*s)->name, (struct pipe){4096, v, 1u << 24}, "--chunks *give 1 to *");
        if (!(*s)->stages)
            refused((*s)->name, (struct pipe){4, UINT32_MAX, 8}, "--stages-per-rank *give 1 to 16383");
    }
    g_assert_null(schedule_find("gpipe2"));
}

/* --- time: every rank does its list in order, a stage costs 1/V for each of F, I and W, a pair its sum */

struct times {
    int64_t all, span,
        peak[RANKS]; /* span: the longest of a rank's own; peak: micro-batches of stages held */
};

struct clock {
    const struct actions *a;
    int64_t hop, unit;
    uint32_t steps;
    int64_t *done[2]; /* by cell: forward, gradient by the input */
    int64_t first[RANKS], now[RANKS], held[RANKS], peak[RANKS];
    uint32_t at[RANKS];
};

static int64_t *done_of(const struct clock *c, bool back, uint32_t stage, uint32_t micro)
{
    return &c->done[back][(gsize)stage * c->a->n_micro * c->steps + micro];
}

/* When what comes from another action is here; -1: not yet. */
static int64_t arrival(const struct clock *c, bool back, uint32_t from, uint32_t micro, uint32_t rank)
{
    const int64_t done = *done_of(c, back, from, micro);
    return done < 0 || c->a->rank[from] == rank ? done : done + c->hop;
}

static int64_t ready_at(const struct clock *c, const struct action *x, uint32_t micro, uint32_t rank)
{
    if (x->kind == ACTION_F)
        return x->stage ? arrival(c, false, x->stage - 1u, micro, rank) : 0;
    if (x->kind == ACTION_W)
        return *done_of(c, true, x->stage, micro);
    const int64_t own = *done_of(c, false, x->stage, micro);
    const int64_t back = x->stage + 1u < c->a->n_stages ? arrival(c, true, x->stage + 1u, micro, rank) : own;
    return MIN(own, back) < 0 ? -1 : MAX(own, back);
}

static void account(struct clock *c, const struct action *x, uint32_t micro, uint32_t rank, int64_t end)
{
    if (x->kind != ACTION_W)
        *done_of(c, x->kind != ACTION_F, x->stage, micro) = end;
    c->held[rank] += x->kind == ACTION_F ? 1 : x->kind == ACTION_I ? 0 : -1;
    c->peak[rank] = MAX(c->peak[rank], c->held[rank]);
}

/* The rank's next action, or pair. */
static bool act(struct clock *c, uint32_t rank)
{
    const uint32_t begin = c->a->first[rank], n = c->a->first[rank + 1] - begin;
    if (c->at[rank] == c->steps * n)
        return false;
    const struct action *x = &c->a->list[begin + c->at[rank] % n];
    const uint32_t before = c->at[rank] / n * c->a->n_micro, together = 1u + x->paired;
    int64_t start = c->now[rank], cost = 0;
    for (uint32_t i = 0; i < together; i++) {
        const int64_t ready = ready_at(c, &x[i], before + x[i].micro, rank);
        if (ready < 0)
            return false;
        start = MAX(start, ready);
        cost += x[i].kind == ACTION_B ? 2 * c->unit : c->unit;
    }
    if (c->at[rank] == 0)
        c->first[rank] = start;
    c->now[rank] = start + cost;
    for (uint32_t i = 0; i < together; i++)
        account(c, &x[i], before + x[i].micro, rank, c->now[rank]);
    c->at[rank] += together;
    return true;
}

static struct times run(const struct actions *a, uint32_t steps, int64_t hop)
{
    struct clock c = {.a = a, .hop = hop, .steps = steps, .unit = UNIT / (a->n_stages / a->n_ranks)};
    struct times t = {0};
    const gsize bytes = (gsize)a->n_stages * a->n_micro * steps * sizeof(int64_t);
    for (unsigned i = 0; i < 2; i++)
        c.done[i] = memset(g_malloc(bytes), 0xff, bytes);
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t r = 0; r < a->n_ranks; r++)
            while (act(&c, r))
                moved = true;
    }
    for (uint32_t r = 0; r < a->n_ranks; r++) {
        g_assert_cmpuint(c.at[r], ==, steps * (a->first[r + 1] - a->first[r]));
        t.all = MAX(t.all, c.now[r]);
        t.span = MAX(t.span, c.now[r] - c.first[r]);
        t.peak[r] = c.peak[r];
    }
    g_free(c.done[0]);
    g_free(c.done[1]);
    return t;
}

static struct times time_of(const char *name, uint32_t ranks, uint32_t per_rank, uint32_t micro,
                            uint32_t steps, int64_t hop)
{
    struct actions a;
    order(name, ranks, per_rank, micro, &a);
    const struct times t = run(&a, steps, hop);
    actions_release(&a);
    return t;
}

/* Published makespans: the zero-bubble paper's scheduler, PyTorch's orders and four other engines agree
 * (PyTorch's zbv of 4 x 4 is later than the paper's 13.5).  Naive, gpipe and 1f1b are formulas, below. */
static const struct makespan {
    const char *name;
    uint32_t per_rank, ranks, micro;
    double all, span; /* span 0: not published */
} makespans[] = {
    {"gpipe", 1, 4, 8, 33, 0},
    {"gpipe-torch", 1, 4, 8, 33, 0},
    {"1f1b", 1, 4, 8, 33, 0},
    {"pipedream", 1, 4, 8, 33, 0},
    {"naive", 1, 4, 8, 96, 0},
    {"naive", 1, 8, 16, 384, 0},
    {"interleaved", 2, 2, 4, 13.5, 0},
    {"interleaved", 2, 4, 4, 16.5, 0},
    {"interleaved", 2, 4, 8, 28.5, 0},
    {"interleaved", 2, 4, 12, 40.5, 0},
    {"interleaved", 2, 8, 16, 58.5, 0},
    {"interleaved", 4, 2, 4, 12.75, 0},
    {"interleaved", 4, 4, 4, 14.25, 0},
    {"interleaved", 4, 4, 8, 26.25, 0},
    {"interleaved", 4, 4, 12, 38.25, 0},
    {"interleaved", 4, 8, 16, 53.25, 0},
    {"looped-bfs", 2, 2, 4, 13.5, 0},
    {"looped-bfs", 2, 4, 4, 16.5, 0},
    {"looped-bfs", 2, 4, 8, 28.5, 0},
    {"looped-bfs", 2, 8, 16, 58.5, 0},
    {"zb1p", 1, 2, 4, 13, 0},
    {"zb1p", 1, 4, 4, 15, 0},
    {"zb1p", 1, 4, 8, 27, 0},
    {"zb1p", 1, 4, 12, 39, 0},
    {"zb1p", 1, 8, 16, 55, 0},
    {"zb1p", 2, 2, 4, 12.5, 0},
    {"zb1p", 2, 4, 4, 13.5, 0},
    {"zb1p", 2, 4, 8, 25.5, 0},
    {"zb1p", 2, 8, 16, 51.5, 0},
    {"zb2p", 1, 2, 4, 13, 12},
    {"zb2p", 1, 4, 4, 15, 15},
    {"zb2p", 1, 4, 6, 21, 19},
    {"zb2p", 1, 4, 8, 27, 24},
    {"zb2p", 1, 4, 12, 39, 36},
    {"zb2p", 1, 8, 16, 55, 48},
    {"zbv", 2, 2, 4, 12.5, 12},
    {"zbv", 2, 4, 4, 15, 0},
    {"zbv", 2, 4, 8, 25.5, 24},
    {"zbv", 2, 4, 12, 37.5, 36},
    {"zbv", 2, 8, 16, 51.5, 48},
    {"dualpipev", 2, 4, 8, 27, 0},
    {"dualpipev", 2, 4, 10, 33, 0},
};

static void test_makespans(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(makespans); i++) {
        const struct makespan *m = &makespans[i];
        const struct times t = time_of(m->name, m->ranks, m->per_rank, m->micro, 1, 0);
        g_test_message("%s %ux%u", m->name, m->ranks, m->micro);
        g_assert_cmpfloat((double)t.all / UNIT, ==, m->all);
        if (m->span > 0)
            g_assert_cmpfloat((double)t.span / UNIT, ==, m->span);
    }
}

static void test_formulas(void)
{
    for (uint32_t p = 1; p <= RANKS; p++)
        for (uint32_t m = p; m <= CHUNKS; m++) {
            g_assert_cmpint(time_of("naive", p, 1, m, 1, 0).all, ==, 3 * UNIT * p * m);
            g_assert_cmpint(time_of("gpipe", p, 1, m, 1, 0).all, ==, 3 * UNIT * (m + p - 1));
            g_assert_cmpint(time_of("gpipe-torch", p, 1, m, 1, 0).all, ==, 3 * UNIT * (m + p - 1));
            g_assert_cmpint(time_of("1f1b", p, 1, m, 1, 0).all, ==, 3 * UNIT * (m + p - 1));
            for (uint32_t v = 1; v <= PER_RANK && m % p == 0; v++) {
                g_assert_cmpint(time_of("interleaved", p, v, m, 1, 0).all, ==,
                                3 * UNIT * (m * v + p - 1) / v);
                g_assert_cmpint(time_of("zb1p", p, v, m, 1, 0).all, ==, UNIT * (3 * m * v + p - 1) / v);
            }
        }
}

/* Steps that follow each other without waiting for all ranks. */
static void test_chained(void)
{
    g_assert_cmpint(time_of("1f1b", 4, 1, 8, 2, 0).all, ==, 66 * UNIT);
    g_assert_cmpint(time_of("zb1p", 4, 1, 8, 2, 0).all, ==, 54 * UNIT);
    g_assert_cmpint(time_of("zb2p", 4, 1, 8, 2, 0).all, ==, 51 * UNIT);
}

static void test_hops(void)
{
    for (int64_t hop = UNIT / 4; hop <= UNIT; hop += 3 * UNIT / 4) {
        g_assert_cmpint(time_of("1f1b", 4, 1, 8, 1, hop).all, ==, 33 * UNIT + 16 * hop);
        g_assert_cmpint(time_of("gpipe", 4, 1, 8, 1, hop).all, ==, 33 * UNIT + 6 * hop);
    }
}

/* --- activations, in stages' */

static void peaks(const char *name, uint32_t per_rank, uint32_t ranks, uint32_t micro,
                  const int64_t *expected)
{
    const struct times t = time_of(name, ranks, per_rank, micro, 1, 0);
    g_test_message("%s", name);
    for (uint32_t r = 0; r < ranks; r++)
        g_assert_cmpint(t.peak[r], ==, expected[r]);
}

static void test_peaks(void)
{
    peaks("naive", 1, 4, 8, (int64_t[]){1, 1, 1, 1});
    peaks("gpipe", 1, 4, 8, (int64_t[]){8, 8, 8, 8});
    peaks("gpipe-torch", 1, 4, 8, (int64_t[]){8, 8, 8, 8});
    peaks("1f1b", 1, 4, 8, (int64_t[]){4, 3, 2, 1});
    peaks("pipedream", 1, 4, 8, (int64_t[]){4, 3, 2, 1});
    peaks("interleaved", 2, 4, 8, (int64_t[]){11, 9, 7, 5});
    peaks("interleaved", 4, 4, 8, (int64_t[]){19, 17, 15, 13});
    peaks("looped-bfs", 2, 4, 8, (int64_t[]){16, 16, 16, 16});
    peaks("zb1p", 1, 4, 8, (int64_t[]){4, 4, 4, 4});
    peaks("zb2p", 1, 4, 8, (int64_t[]){7, 7, 7, 7});
    peaks("zbv", 2, 4, 8, (int64_t[]){8, 8, 8, 8});
    peaks("1f1b", 1, 8, 16, (int64_t[]){8, 7, 6, 5, 4, 3, 2, 1});
    peaks("interleaved", 2, 8, 16, (int64_t[]){23, 21, 19, 17, 15, 13, 11, 9});
    peaks("zb1p", 1, 8, 16, (int64_t[]){8, 8, 8, 8, 8, 8, 8, 8});
    peaks("zb2p", 1, 8, 16, (int64_t[]){15, 15, 15, 15, 15, 15, 15, 15});
    peaks("zbv", 2, 8, 16, (int64_t[]){16, 16, 16, 16, 16, 16, 16, 16});
    peaks("dualpipev", 2, 4, 10, (int64_t[]){9, 9, 9, 9});
}

/* --- orders that are wrong */

/* "0F0 0B0|1F0 ...", a rank each; "(0F1 1B0)" is a pair; stages of rank r are those s with s mod ranks = r.
 */
static void parse(const char *text, uint32_t stages, uint32_t micro, struct actions *a)
{
    g_auto(GStrv) rows = g_strsplit(text, "|", -1);
    const uint32_t ranks = g_strv_length(rows);
    actions_init(a, ranks, stages, micro);
    for (uint32_t s = 0; s < stages; s++)
        a->rank[s] = s % ranks;
    for (uint32_t r = 0; r < ranks; r++) {
        g_auto(GStrv) tokens = g_strsplit_set(rows[r], " ", -1);
        actions_begin_rank(a);
        for (char **t = tokens; *t && **t; t++) {
            unsigned stage, i;
            char letter;
            g_assert_cmpint(sscanf(*t + (**t == '('), "%u%c%u", &stage, &letter, &i), ==, 3);
            actions_add(a, (enum action_kind)(strchr("FBIW", letter) - "FBIW"), stage, i);
            a->list[a->first[r + 1] - 1].paired = **t == '(';
        }
        actions_next_rank(a);
    }
}

static void wrong(const char *text, uint32_t stages, uint32_t micro, const char *pattern)
{
    struct actions a;
    GError *error = NULL;
    parse(text, stages, micro, &a);
    if (!pattern) {
        actions_check(&a, &error);
        g_assert_no_error(error);
    } else {
        g_assert_false(actions_check(&a, &error));
        if (!g_pattern_match_simple(pattern, error->message))
            g_error("%s: '%s' does not say '%s'", text, error->message, pattern);
        g_error_free(error);
    }
    actions_release(&a);
}

static void test_whole(void)
{
    wrong("0F0 0B0|1F0 1B0", 2, 1, NULL);
    wrong("0F0 0I0 0W0|1F0 1B0", 2, 1, NULL);
    wrong("0F0 0B0|1F0 1F0 1B0", 2, 1, "rank 1, action 1 (1F0): *twice*");
    wrong("0F0 0B0|1F0 1B0 1I0 1W0", 2, 1, "rank 1, action 2 (1I0): *");
    wrong("0F0 0W0 0B0|1F0 1B0", 2, 1, "rank 0, action 2 (0B0): *");
    wrong("0F0 0B0|1F0", 2, 1, "rank 1: 1B0 is missing");
    wrong("0F0 0B0|1F0 1I0", 2, 1, "rank 1: 1W0 is missing");
    wrong("0F0 0B0|1F0 1W0", 2, 1, "rank 1: 1I0 is missing");
    wrong("0F0 0B0|1B0", 2, 1, "rank 1: 1F0 is missing");
    wrong("0F0 0B0 0F1 0B1|1F0 1B0 1B1", 2, 2, "rank 1: 1F1 is missing");
    wrong("0F0 0B0|", 2, 1 << 24, "rank 0: 0F1 is missing");
    wrong("0F0 1B0|1F0 0B0", 2, 1, "rank 0, action 1 (1B0): *rank 1 has");
    wrong("0F0 0B0|2F0 2B0", 2, 1, "rank 1, action 0 (2F0): *beyond*");
    wrong("0F0 0B0|1F1 1B0", 2, 1, "rank 1, action 0 (1F1): *beyond*");
}

static void test_deadlocks(void)
{
    /* alone */
    wrong("0B0 0F0", 1, 1, "rank 0, action 0 (0B0): waits for ever for 0F0, *own rank*");
    wrong("0F0 0W0 0I0", 1, 1, "rank 0, action 1 (0W0): waits for ever for 0I0, *own rank*");
    /* two ranks in a circle: the backward that rank 0 wants first is behind a forward that it gives last */
    wrong("0F0 0B0 0F1 0B1|1F0 1F1 1B0 1B1", 2, 2,
          "rank 0, action 1 (0B0): waits for ever for 1B0: rank 1 *1F1*0F1");
    /* rank 0 only waits for the others' circle, and is not named */
    wrong("0F0 0F1 0B0 0B1|1F0 1B0 1F1 1B1|2F0 2F1 2B0 2B1", 3, 2,
          "rank 1, action 1 (1B0): *2B0: rank 2 *1F1");
    /* the other order of backwards is legal, buffers are unbounded */
    wrong("0F0 0F1 0B0 0B1|1F0 1F1 1B1 1B0", 2, 2, NULL);
    /* so is any order of weights behind their input gradient */
    wrong("0F0 0F1 0I0 0I1 0W1 0W0|1F0 1I0 1F1 1I1 1W1 1W0", 2, 2, NULL);
}

static void test_pairs(void)
{
    wrong("0F0 (0F1 0B0 0B1", 1, 2, NULL);
    wrong("0F0 (0F1 0I0 0B1 0W0", 1, 2, NULL);
    wrong("(0F0 0B0", 1, 1, "rank 0, action 0 (0F0): waits for ever for 0F0, *own rank*");
    wrong("0F0 0B0 (0F1", 1, 2, "rank 0, action 2 (0F1): *nothing after it");
    wrong("0F0 0F1 (0B0 0B1", 1, 2, "rank 0, action 2 (0B0): *pair*");
    wrong("0F0 (0F1 (0B0 0B1", 1, 2, "rank 0, action 1 (0F1): *pair*");
    wrong("(0F0 0F1 0B0 0B1", 1, 2, "rank 0, action 0 (0F0): *pair*");
    /* either half alone could begin, both together wait for each other */
    wrong("0F0 (0F1 0B0 0B1|1F0 (1F1 1B0 1B1", 2, 2,
          "rank 0, action 1 (0F1): waits for ever for 1B0: rank 1 *1F1*0F1");
    wrong("0F0 0F1 0B0 0B1|1F0 (1F1 1B0 1B1", 2, 2, NULL);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/schedule/golden", test_golden);
    g_test_add_func("/schedule/every-size", test_every_size);
    g_test_add_func("/schedule/offers", test_offers);
    g_test_add_func("/schedule/refused", test_refused);
    g_test_add_func("/schedule/makespans", test_makespans);
    g_test_add_func("/schedule/formulas", test_formulas);
    g_test_add_func("/schedule/chained", test_chained);
    g_test_add_func("/schedule/hops", test_hops);
    g_test_add_func("/schedule/peaks", test_peaks);
    g_test_add_func("/schedule/whole", test_whole);
    g_test_add_func("/schedule/deadlocks", test_deadlocks);
    g_test_add_func("/schedule/pairs", test_pairs);
    return g_test_run();
}
