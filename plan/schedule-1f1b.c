/* One forward, one backward, behind a warm-up of forwards. */
#include "plan/schedule.h"

static bool check(const struct pipe *p, GError **error)
{
    return schedule_needs_micro(p, p->ranks, "as many micro-batches as stages", error);
}

/* PipeDream-flush (Narayanan et al. 2021): warm-up min(m, P - r), as PyTorch's Schedule1F1B and Megatron-LM.
 */
static void order(const struct pipe *p, uint32_t rank, struct actions *a)
{
    const uint32_t warm_up = MIN(p->micro, p->ranks - rank);
    for (uint32_t i = 0; i < warm_up; i++)
        actions_add(a, ACTION_F, rank, i);
    for (uint32_t i = 0; i < p->micro; i++) {
        actions_add(a, ACTION_B, rank, i);
        if (warm_up + i < p->micro)
            actions_add(a, ACTION_F, rank, warm_up + i);
    }
}

/* The k-th forward or backward of a rank that interleaves its stages in rounds of g micro-batches: the stage,
 * and its next micro-batch. */
struct interleave {
    const struct pipe *p;
    uint32_t rank, g;
    uint32_t *next; /* by stage of the rank; forward, then backward */
};

static void add(struct interleave *w, enum action_kind kind, uint32_t k, struct actions *a)
{
    const uint32_t per_rank = w->p->per_rank, turn = k / w->g % per_rank;
    const uint32_t v = kind == ACTION_F ? turn : per_rank - 1 - turn;
    actions_add(a, kind, v * w->p->ranks + w->rank, w->next[(kind != ACTION_F) * per_rank + v]++);
}

static uint32_t rounds(uint32_t micro, uint32_t ranks)
{
    return MAX(1, micro / ranks);
}

uint32_t schedule_round(const struct pipe *p)
{
    return p->micro / rounds(p->micro, p->ranks);
}

/* A multiple of the ranks is always legal, so both searches end. */
bool schedule_check_rounds(const struct pipe *p, GError **error)
{
    const uint32_t n = rounds(p->micro, p->ranks);
    uint32_t below = p->micro, above = p->micro;
    if (p->micro % n == 0)
        return true;
    while (below % rounds(below, p->ranks))
        below--;
    while (above % rounds(above, p->ranks))
        above++;
    g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                "%u micro-batches do not divide into the %u rounds of %u ranks that interleaved stages take, "
                "give --chunks %u or %u",
                p->micro, n, p->ranks, below, above);
    return false;
}

/* Megatron-LM (Narayanan et al. 2021), as PyTorch's ScheduleInterleaved1F1B orders it: warm-up
 * (V-1) g + 2 (P-1-r). */
static void interleaved(const struct pipe *p, uint32_t rank, struct actions *a)
{
    const uint32_t all = p->micro * p->per_rank, g = schedule_round(p);
    const uint32_t warm_up = MIN((p->per_rank - 1) * g + 2 * (p->ranks - 1 - rank), all);
    g_autofree uint32_t *next = g_new0(uint32_t, (gsize)2 * p->per_rank);
    struct interleave w = {p, rank, g, next};
    for (uint32_t k = 0; k < warm_up; k++)
        add(&w, ACTION_F, k, a);
    for (uint32_t k = 0; k < all; k++) {
        if (warm_up + k < all)
            add(&w, ACTION_F, warm_up + k, a);
        add(&w, ACTION_B, k, a);
    }
}

const struct schedule schedule_1f1b = {
    .name = "1f1b",
    .summary = "a forward, a backward, in turn: fewer activations than gpipe, the same time",
    .stages = 1,
    .check = check,
    .order = order};
const struct schedule schedule_interleaved = {
    .name = "interleaved",
    .several = true,
    .summary = "1f1b with several stages a rank: a smaller bubble, more to send (Megatron-LM)",
    .check = schedule_check_rounds,
    .order = interleaved};
const struct schedule schedule_pipedream = {
    .name = "pipedream",
    .summary = "1f1b without a flush: each micro-batch steps, forwards under way keep their weights "
               "(Narayanan et al. 2019)",
    .stages = 1,
    .asynchronous = true,
    .check = check,
    .order = order};
