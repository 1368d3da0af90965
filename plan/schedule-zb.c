/* Zero bubble (Qi et al. 2023): weight gradients, for which nobody waits, fill what would be idle. */
#include "plan/schedule.h"

/* Weight gradients that are still to do, oldest first. */
struct queue {
    struct item {
        uint32_t stage, micro;
    } * items;
    uint32_t first, n;
};

static void push(struct queue *q, uint32_t stage, uint32_t micro)
{
    q->items[q->n++] = (struct item){stage, micro};
}

static void pop(struct queue *q, struct actions *a)
{
    const struct item *i = &q->items[q->first++];
    actions_add(a, ACTION_W, i->stage, i->micro);
}

/* The k-th forward or backward of a rank that interleaves its stages in rounds of g. */
static struct item turn_of(const struct pipe *p, uint32_t rank, uint32_t g, uint32_t k, bool forward)
{
    const uint32_t turn = k / g % p->per_rank, v = forward ? turn : p->per_rank - 1 - turn;
    return (struct item){v * p->ranks + rank, k / (g * p->per_rank) * g + k % g};
}

/* From the k-th step on, `from`, one weight gradient follows each input gradient. */
static void steps(const struct pipe *p, uint32_t rank, uint32_t warm_up, uint32_t from, struct actions *a)
{
    const uint32_t all = p->micro * p->per_rank, g = schedule_round(p);
    g_autofree struct item *items = g_new(struct item, all);
    struct queue q = {items, 0, 0};
    for (uint32_t k = 0; k < warm_up + all; k++) {
        if (k < all) {
            const struct item f = turn_of(p, rank, g, k, true);
            actions_add(a, ACTION_F, f.stage, f.micro);
        }
        if (k < warm_up)
            continue;
        const struct item b = turn_of(p, rank, g, k - warm_up, false);
        actions_add(a, ACTION_I, b.stage, b.micro);
        push(&q, b.stage, b.micro);
        if (k - warm_up >= from)
            pop(&q, a);
    }
    while (q.first < q.n)
        pop(&q, a);
}

/* PyTorch's ScheduleInterleavedZeroBubble: warm-up (V-1) g + P-1-r, weight gradients from step r on. */
static void zb1p(const struct pipe *p, uint32_t rank, struct actions *a)
{
    const uint32_t all = p->micro * p->per_rank;
    const uint32_t warm_up = MIN((p->per_rank - 1) * schedule_round(p) + p->ranks - 1 - rank, all);
    steps(p, rank, warm_up, rank, a);
}

/* ZB-H2: warm-up min(m, 2(P-r)-1) forwards, of which `steps` counts all but the first step's; weight
 * gradients from step min(2r, m-P+r) on. */
static void zb2p(const struct pipe *p, uint32_t rank, struct actions *a)
{
    const uint32_t warm_up = MIN(p->micro, 2 * (p->ranks - rank) - 1) - 1;
    const uint32_t late = p->micro + rank >= p->ranks ? p->micro + rank - p->ranks : 0;
    steps(p, rank, warm_up, MIN(2 * rank, late), a);
}

/* A rank of ZB-V has a stage of the first half and one of the second. */
struct vee {
    const struct pipe *p;
    uint32_t stage[2], next[2][3]; /* next[half][kind: F, I, W]: micro-batch */
    struct actions *a;
};

/* Micro-batches that are not there are left out. */
static void act(struct vee *v, enum action_kind kind, unsigned half)
{
    uint32_t *next = &v->next[half][kind == ACTION_F ? 0 : kind == ACTION_I ? 1 : 2];
    if (*next < v->p->micro)
        actions_add(v->a, kind, v->stage[half], *next);
    ++*next;
}

static void input_and_weight(struct vee *v, unsigned half)
{
    act(v, ACTION_I, half);
    act(v, ACTION_W, half);
}

/* PyTorch's ScheduleZBVZeroBubble, of n = max(m, 2P-1) micro-batches. */
static void zbv(const struct pipe *p, uint32_t rank, struct actions *a)
{
    const uint32_t n = MAX(p->micro, 2 * p->ranks - 1), below = p->ranks - rank;
    struct vee v = {.p = p, .stage = {rank, 2 * p->ranks - 1 - rank}, .a = a};
    for (uint32_t i = 0; i < 2 * below - 1; i++)
        act(&v, ACTION_F, 0);
    for (uint32_t i = 0; i < rank; i++) {
        act(&v, ACTION_F, 1);
        act(&v, ACTION_F, 0);
    }
    for (uint32_t i = 0; i < below; i++) {
        act(&v, ACTION_F, 1);
        input_and_weight(&v, 1);
    }
    while (v.next[1][0] < n) {
        if (v.next[0][0] < n)
            act(&v, ACTION_F, 0);
        input_and_weight(&v, 0);
        act(&v, ACTION_F, 1);
        input_and_weight(&v, 1);
    }
    for (uint32_t i = 0; i < rank; i++) {
        act(&v, ACTION_I, 0);
        act(&v, ACTION_I, 1);
    }
    for (uint32_t i = 0; i < below; i++)
        input_and_weight(&v, 0);
    while (v.next[1][2] < n)
        act(&v, ACTION_W, 1);
    while (v.next[0][2] < n)
        act(&v, ACTION_W, 0);
}

const struct schedule schedule_zb1p = {
    .name = "zb1p",
    .summary = "1f1b whose weight gradients fill the bubble, with as many micro-batches in flight (Qi et al. 2023, ZB-H1)",
    .check = schedule_check_rounds,
    .order = zb1p};
const struct schedule schedule_zb2p = {
    .name = "zb2p",
    .summary = "zb1p with a longer warm-up: no bubble between chained steps, twice the memory (ZB-H2)",
    .stages = 1,
    .order = zb2p};
const struct schedule schedule_zbv = {
    .name = "zbv",
    .summary = "two stages a rank, there and back: no bubble with the micro-batches in flight of 1f1b (ZB-V)",
    .v_shaped = true,
    .stages = 2,
    .order = zbv};
