/* DualPipeV (DeepSeek-AI 2025): two stages a rank, there and back, forward of one beside backward of the
 * other.  The order is that of PyTorch's ScheduleDualPipeV. */
#include "plan/schedule.h"

/* Of a rank: its stage of the first half and of the second. */
struct dual {
    struct actions *a;
    uint32_t stage[2], forward[2], backward[2]; /* next micro-batches */
    struct item {
        uint32_t stage, micro;
    } * queue; /* weight gradients to do, oldest first */
    uint32_t first, n;
};

static void forward(struct dual *d, unsigned half)
{
    actions_add(d->a, ACTION_F, d->stage[half], d->forward[half]++);
}

static void backward(struct dual *d, unsigned half, bool split)
{
    const struct item i = {d->stage[half], d->backward[half]++};
    if (split)
        d->queue[d->n++] = i;
    actions_add(d->a, split ? ACTION_I : ACTION_B, i.stage, i.micro);
}

static void weight(struct dual *d)
{
    const struct item *i = &d->queue[d->first++];
    actions_add(d->a, ACTION_W, i->stage, i->micro);
}

static void both(struct dual *d, unsigned half)
{
    actions_add_pair(d->a, ACTION_F, d->stage[half], d->forward[half]++, ACTION_B, d->stage[1 - half],
                     d->backward[1 - half]++);
}

static void begin(struct dual *d, uint32_t ranks, uint32_t rank)
{
    for (uint32_t i = 0; i < 2 * (ranks - rank - 1); i++)
        forward(d, 0);
    for (uint32_t i = 0; i < rank + 1; i++) {
        forward(d, 0);
        forward(d, 1);
    }
    for (uint32_t i = 0; i < ranks - rank - 1; i++) {
        backward(d, 1, true);
        weight(d);
        forward(d, 1);
    }
}

static void middle(struct dual *d, const struct pipe *p, uint32_t rank)
{
    for (uint32_t i = 0; i < p->micro - 2 * p->ranks + rank + 1; i++) {
        if (i == 0 && rank == p->ranks - 1) {
            forward(d, 0);
            backward(d, 1, false);
        } else
            both(d, 0);
        both(d, 1);
    }
    for (uint32_t i = 0; i < p->ranks - rank - 1; i++) {
        backward(d, 1, false);
        both(d, 1);
    }
}

/* Backwards are split from the middle on, so that their weight gradients can fill the end. */
static void end(struct dual *d, uint32_t ranks, uint32_t rank)
{
    bool split = false;
    for (uint32_t i = 0; i < rank + 1; i++) {
        const bool turn = i == (rank + 1) / 2;
        split |= turn && rank % 2;
        backward(d, 1, split);
        split |= turn;
        backward(d, 0, split);
    }
    for (uint32_t i = 0; i < ranks - rank - 1; i++) {
        weight(d);
        backward(d, 0, split);
    }
    while (d->first < d->n)
        weight(d);
}

static void order(const struct pipe *p, uint32_t rank, struct actions *a)
{
    g_autofree struct item *queue = g_new(struct item, (gsize)2 * p->micro);
    struct dual d = {.a = a, .stage = {rank, 2 * p->ranks - 1 - rank}, .queue = queue};
    begin(&d, p->ranks, rank);
    middle(&d, p, rank);
    end(&d, p->ranks, rank);
}

static bool check(const struct pipe *p, GError **error)
{
    return schedule_needs_micro(p, 2 * p->ranks, "two micro-batches a rank", error);
}

const struct schedule schedule_dualpipev = {
    .name = "dualpipev",
    .summary = "two stages a rank, there and back, a forward beside each backward (DeepSeek-AI 2025)",
    .v_shaped = true,
    .stages = 2,
    .check = check,
    .order = order};
