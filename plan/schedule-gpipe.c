/* All forwards, then all backwards. */
#include "plan/schedule.h"

static bool check(const struct pipe *p, GError **error)
{
    return schedule_needs_micro(p, p->ranks, "as many micro-batches as stages", error);
}

static void forwards(const struct pipe *p, uint32_t stage, struct actions *a)
{
    for (uint32_t i = 0; i < p->micro; i++)
        actions_add(a, ACTION_F, stage, i);
}

/* PyTorch's ScheduleGPipe */
static void ascending(const struct pipe *p, uint32_t rank, struct actions *a)
{
    forwards(p, rank, a);
    for (uint32_t i = 0; i < p->micro; i++)
        actions_add(a, ACTION_B, rank, i);
}

/* torchgpipe, whose autograd goes back the way that forward came */
static void descending(const struct pipe *p, uint32_t rank, struct actions *a)
{
    forwards(p, rank, a);
    for (uint32_t i = p->micro; i-- > 0;)
        actions_add(a, ACTION_B, rank, i);
}

/* PyTorch's ScheduleLoopedBFS (Lamy-Poirier 2023, breadth-first) */
static void breadth_first(const struct pipe *p, uint32_t rank, struct actions *a)
{
    for (uint32_t v = 0; v < p->per_rank; v++)
        forwards(p, v * p->ranks + rank, a);
    for (uint32_t v = p->per_rank; v-- > 0;)
        for (uint32_t i = p->micro; i-- > 0;)
            actions_add(a, ACTION_B, v * p->ranks + rank, i);
}

/* One micro-batch at a time: no pipeline yet. */
static void one_by_one(const struct pipe *p, uint32_t rank, struct actions *a)
{
    for (uint32_t i = 0; i < p->micro; i++) {
        for (uint32_t v = 0; v < p->per_rank; v++)
            actions_add(a, ACTION_F, v * p->ranks + rank, i);
        for (uint32_t v = p->per_rank; v-- > 0;)
            actions_add(a, ACTION_B, v * p->ranks + rank, i);
    }
}

const struct schedule schedule_naive = {
    .name = "naive", .summary = "one micro-batch at a time, forward and back", .order = one_by_one};
const struct schedule schedule_gpipe = {
    .name = "gpipe",
    .summary = "all forwards, then all backwards from the first micro-batch on (Huang et al. 2019; PyTorch)",
    .stages = 1,
    .check = check,
    .order = ascending};
const struct schedule schedule_gpipe_torch = {
    .name = "gpipe-torch",
    .summary = "all forwards, then all backwards from the last micro-batch on (torchgpipe)",
    .stages = 1,
    .order = descending};
const struct schedule schedule_looped_bfs = {
    .name = "looped-bfs",
    .several = true,
    .summary = "gpipe with several stages a rank, stage by stage (Lamy-Poirier 2023)",
    .order = breadth_first};
