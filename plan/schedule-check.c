/* Whether an order is whole and ends.  Every pass costs a few operations an action. */
#include "plan/schedule.h"

/* What is known of a (stage, micro-batch): which kinds were seen, and which results are there. */
#define SEEN(kind)   (1u << (kind))
#define SEEN_BACK    (SEEN(ACTION_B) | SEEN(ACTION_I) | SEEN(ACTION_W))
#define DONE_FORWARD (1u << ACTION_KINDS)
#define DONE_BACK    (2u << ACTION_KINDS) /* the gradient by the stage's input */

struct proof {
    const struct actions *a;
    struct actions_fault *fault;
    uint8_t *cells;           /* by stage, then micro-batch */
    uint32_t *at;             /* by rank: the next action, an index of list */
    uint32_t *woken, n_woken; /* ranks that may go on */
    uint8_t *is_woken;
};

static uint8_t *cell(const struct proof *p, uint32_t stage, uint32_t micro)
{
    return &p->cells[(gsize)stage * p->a->n_micro + micro];
}

G_GNUC_PRINTF(4, 5)
static bool fail(const struct proof *p, uint32_t rank, uint32_t i, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    *p->fault = (struct actions_fault){rank, i == ACTION_NONE ? i : i - p->a->first[rank],
                                       g_strdup_vprintf(format, args)};
    va_end(args);
    return false;
}

/* --- each on its own */

static bool check_pair(const struct proof *p, uint32_t rank, uint32_t i)
{
    const struct action *a = &p->a->list[i];
    if (i + 1 == p->a->first[rank + 1])
        return fail(p, rank, i, "is the first of a pair, and its rank has nothing after it");
    if (a[0].kind != ACTION_F || a[1].paired || (a[1].kind != ACTION_B && a[1].kind != ACTION_I))
        return fail(p, rank, i, "cannot be one with what follows: a pair is an F and then a B or I");
    return true;
}

static bool check_action(const struct proof *p, uint32_t rank, uint32_t i)
{
    const struct actions *all = p->a;
    const struct action *a = &all->list[i];
    if (a->kind >= ACTION_KINDS)
        return fail(p, rank, i, "is of no known kind");
    if (a->stage >= all->n_stages)
        return fail(p, rank, i, "is of a stage beyond the last, %u", all->n_stages - 1);
    if (a->micro >= all->n_micro)
        return fail(p, rank, i, "is of a micro-batch beyond the last, %u", all->n_micro - 1);
    if (all->rank[a->stage] != rank)
        return fail(p, rank, i, "is of stage %u, which rank %u has", a->stage, all->rank[a->stage]);
    return !a->paired || check_pair(p, rank, i);
}

static bool check_each(const struct proof *p)
{
    for (uint32_t r = 0; r < p->a->n_ranks; r++)
        for (uint32_t i = p->a->first[r]; i < p->a->first[r + 1]; i++)
            if (!check_action(p, r, i))
                return false;
    return true;
}

/* --- all of them, once */

static bool miss(const struct proof *p, uint32_t stage, enum action_kind kind, uint32_t micro)
{
    const uint32_t rank = p->a->rank[stage];
    return fail(p, rank < p->a->n_ranks ? rank : ACTION_NONE, ACTION_NONE, "%u%c%u is missing", stage,
                action_letter(kind), micro);
}

/* There are fewer actions than cells, perhaps by far: of some stage a forward is missing, which is found
 * without a table of all cells. */
static bool miss_some(const struct proof *p)
{
    const struct actions *a = p->a;
    g_autofree uint32_t *forwards = g_new0(uint32_t, a->n_stages);
    g_autofree uint8_t *seen = g_new0(uint8_t, a->n_micro);
    const uint32_t n = a->first[a->n_ranks];
    uint32_t stage = 0, micro = 0;
    for (uint32_t i = 0; i < n; i++)
        forwards[a->list[i].stage] += a->list[i].kind == ACTION_F;
    while (forwards[stage] >= a->n_micro)
        stage++;
    for (uint32_t i = 0; i < n; i++)
        if (a->list[i].stage == stage && a->list[i].kind == ACTION_F)
            seen[a->list[i].micro] = 1;
    while (seen[micro])
        micro++;
    return miss(p, stage, ACTION_F, micro);
}

static bool check_twins(const struct proof *p)
{
    /* What an action of a kind excludes. */
    static const uint8_t rivals[ACTION_KINDS] = {0, SEEN_BACK, SEEN(ACTION_B) | SEEN(ACTION_I),
                                                 SEEN(ACTION_B) | SEEN(ACTION_W)};
    for (uint32_t r = 0; r < p->a->n_ranks; r++)
        for (uint32_t i = p->a->first[r]; i < p->a->first[r + 1]; i++) {
            const struct action *a = &p->a->list[i];
            uint8_t *c = cell(p, a->stage, a->micro);
            if (*c & SEEN(a->kind))
                return fail(p, r, i, "stands twice");
            if (*c & rivals[a->kind])
                return fail(p, r, i, "stands beside another backward of the same: B is I and W in one");
            *c |= SEEN(a->kind);
        }
    return true;
}

static bool check_whole(const struct proof *p)
{
    for (uint32_t s = 0; s < p->a->n_stages; s++)
        for (uint32_t m = 0; m < p->a->n_micro; m++) {
            const uint8_t seen = *cell(p, s, m);
            if (!(seen & SEEN(ACTION_F)))
                return miss(p, s, ACTION_F, m);
            if (!(seen & SEEN_BACK))
                return miss(p, s, ACTION_B, m);
            if (!(seen & SEEN(ACTION_B)) && !(seen & SEEN(ACTION_I)))
                return miss(p, s, ACTION_I, m);
            if (!(seen & SEEN(ACTION_B)) && !(seen & SEEN(ACTION_W)))
                return miss(p, s, ACTION_W, m);
        }
    return true;
}

/* --- run */

/* Whether action i has what it needs; else `need` is the one that it waits for. */
static bool ready(const struct proof *p, uint32_t i, struct action *need)
{
    const struct action a = p->a->list[i];
    const bool last = a.stage + 1u == p->a->n_stages;
    *need = a;
    if (a.kind == ACTION_F) {
        need->stage--;
        return a.stage == 0 || (*cell(p, need->stage, a.micro) & DONE_FORWARD);
    }
    if (a.kind == ACTION_W) {
        need->kind = ACTION_I;
        return *cell(p, a.stage, a.micro) & DONE_BACK;
    }
    need->kind = ACTION_F;
    if (!(*cell(p, a.stage, a.micro) & DONE_FORWARD))
        return false;
    if (last)
        return true;
    need->stage++;
    const uint8_t c = *cell(p, need->stage, a.micro);
    need->kind = c & SEEN(ACTION_B) ? ACTION_B : ACTION_I;
    return c & DONE_BACK;
}

static void wake(struct proof *p, uint32_t rank)
{
    if (p->is_woken[rank])
        return;
    p->is_woken[rank] = 1;
    p->woken[p->n_woken++] = rank;
}

static void deliver(struct proof *p, const struct action *a)
{
    if (a->kind == ACTION_W)
        return;
    *cell(p, a->stage, a->micro) |= a->kind == ACTION_F ? DONE_FORWARD : DONE_BACK;
    if (a->kind == ACTION_F && a->stage + 1u < p->a->n_stages)
        wake(p, p->a->rank[a->stage + 1]);
    if (a->kind != ACTION_F && a->stage > 0)
        wake(p, p->a->rank[a->stage - 1]);
}

/* Whether the rank's next one or two can run; else what they wait for. */
static bool next_ready(const struct proof *p, uint32_t rank, struct action *need)
{
    const uint32_t i = p->at[rank];
    return ready(p, i, need) && (!p->a->list[i].paired || ready(p, i + 1, need));
}

static void advance(struct proof *p, uint32_t rank)
{
    struct action need;
    while (p->at[rank] < p->a->first[rank + 1] && next_ready(p, rank, &need)) {
        const struct action *a = &p->a->list[p->at[rank]];
        deliver(p, a);
        if (a->paired)
            deliver(p, a + 1);
        p->at[rank] += 1u + a->paired;
    }
}

static uint32_t waits_for(const struct proof *p, uint32_t rank, struct action *need)
{
    next_ready(p, rank, need);
    return p->a->rank[need->stage];
}

/* From any rank that waits one comes into a circle in as many steps as there are ranks; its lowest is named.
 */
static bool fail_circle(const struct proof *p, uint32_t rank)
{
    struct action need, then;
    for (uint32_t i = 0; i < p->a->n_ranks; i++)
        rank = waits_for(p, rank, &need);
    uint32_t lowest = rank;
    for (uint32_t r = waits_for(p, rank, &need); r != rank; r = waits_for(p, r, &need))
        lowest = MIN(lowest, r);
    const uint32_t other = waits_for(p, lowest, &need);
    g_autofree char *text = action_text(&need);
    if (other == lowest)
        return fail(p, lowest, p->at[lowest], "waits for ever for %s, which its own rank has no earlier",
                    text);
    waits_for(p, other, &then);
    g_autofree char *stands = action_text(&p->a->list[p->at[other]]), *thing = action_text(&then);
    return fail(p, lowest, p->at[lowest],
                "waits for ever for %s: rank %u has %s before it, which waits for %s", text, other, stands,
                thing);
}

static bool check_run(struct proof *p)
{
    const uint32_t n = p->a->n_ranks;
    g_autofree uint32_t *at = g_memdup2(p->a->first, n * sizeof *at), *woken = g_new(uint32_t, n);
    g_autofree uint8_t *is_woken = g_new0(uint8_t, n);
    p->at = at;
    p->woken = woken;
    p->is_woken = is_woken;
    for (uint32_t r = n; r-- > 0;)
        wake(p, r);
    while (p->n_woken) {
        const uint32_t r = p->woken[--p->n_woken];
        advance(p, r);
        p->is_woken[r] = 0;
    }
    for (uint32_t r = 0; r < n; r++)
        if (at[r] < p->a->first[r + 1])
            return fail_circle(p, r);
    return true;
}

bool actions_prove(const struct actions *a, struct actions_fault *fault)
{
    struct proof p = {.a = a, .fault = fault};
    if (!check_each(&p))
        return false;
    if (a->first[a->n_ranks] < (uint64_t)a->n_stages * a->n_micro)
        return miss_some(&p);
    g_autofree uint8_t *cells = g_new0(uint8_t, (gsize)a->n_stages * a->n_micro);
    p.cells = cells;
    return check_twins(&p) && check_whole(&p) && check_run(&p);
}

bool actions_check(const struct actions *a, GError **error)
{
    struct actions_fault fault;
    if (actions_prove(a, &fault))
        return true;
    g_autofree char *what = fault.what;
    if (fault.rank == ACTION_NONE)
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT, "%s", what);
    else if (fault.action == ACTION_NONE)
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT, "rank %u: %s", fault.rank, what);
    else {
        g_autofree char *text = action_text(&a->list[a->first[fault.rank] + fault.action]);
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT, "rank %u, action %u (%s): %s", fault.rank,
                    fault.action, text, what);
    }
    return false;
}
