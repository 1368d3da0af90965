#include "plan/schedule.h"

#include <string.h>

#include "base/huge.h"

extern const struct schedule schedule_1f1b, schedule_naive, schedule_gpipe, schedule_gpipe_torch,
    schedule_interleaved, schedule_looped_bfs, schedule_zb1p, schedule_zb2p, schedule_zbv, schedule_dualpipev,
    schedule_pipedream;

const struct schedule *const schedules[] = {
    &schedule_1f1b,        &schedule_naive,      &schedule_gpipe,     &schedule_gpipe_torch,
    &schedule_interleaved, &schedule_looped_bfs, &schedule_zb1p,      &schedule_zb2p,
    &schedule_zbv,         &schedule_dualpipev,  &schedule_pipedream, NULL};

const struct schedule *schedule_find(const char *name)
{
    for (const struct schedule *const *s = schedules; *s; s++)
        if (strcmp((*s)->name, name) == 0)
            return *s;
    return NULL;
}

char action_letter(unsigned kind)
{
    return kind < ACTION_KINDS ? "FBIW"[kind] : '?';
}

char *action_text(const struct action *a)
{
    return g_strdup_printf("%u%c%u", a->stage, action_letter(a->kind), a->micro);
}

/* --- lists of actions */

void actions_init(struct actions *a, uint32_t ranks, uint32_t stages, uint32_t micro)
{
    *a = (struct actions){.n_ranks = 0,
                          .n_stages = stages,
                          .n_micro = micro,
                          .first = g_new0(uint32_t, (gsize)ranks + 1),
                          .rank = g_new0(uint32_t, (gsize)stages + 1)};
}

void actions_release(struct actions *a)
{
    g_free(a->first);
    g_free(a->rank);
    g_free(a->list);
    *a = (struct actions){0};
}

/* Ranks of a schedule have about equally many. */
static void reserve(struct actions *a, uint64_t n)
{
    if (n <= a->room || n > SCHEDULE_ACTIONS_MAX)
        return;
    a->room = (uint32_t)n;
    a->list = huge_grow(a->list, a->first[a->n_ranks], n, sizeof *a->list);
}

static void append(struct actions *a, const struct action *action)
{
    uint32_t *n = &a->first[a->n_ranks + 1];
    if (*n == a->room) {
        a->room = MAX(2 * a->room, 64);
        a->list = g_renew(struct action, a->list, a->room);
    }
    a->list[(*n)++] = *action;
}

void actions_add(struct actions *a, enum action_kind kind, uint32_t stage, uint32_t micro)
{
    append(a, &(struct action){micro, (uint16_t)stage, (uint8_t)kind, 0});
}

void actions_add_pair(struct actions *a, enum action_kind kind, uint32_t stage, uint32_t micro,
                      enum action_kind then, uint32_t then_stage, uint32_t then_micro)
{
    append(a, &(struct action){micro, (uint16_t)stage, (uint8_t)kind, 1});
    actions_add(a, then, then_stage, then_micro);
}

void actions_begin_rank(struct actions *a)
{
    a->first[a->n_ranks + 1] = a->first[a->n_ranks];
}

void actions_next_rank(struct actions *a)
{
    a->n_ranks++;
}

/* --- what is asked for */

bool schedule_needs_micro(const struct pipe *p, uint32_t least, const char *what, GError **error)
{
    if (p->micro >= least)
        return true;
    g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                "%u micro-batches on %u ranks, but the schedule needs %s: give --chunks %u and at least that "
                "--batch, or fewer --ranks",
                p->micro, p->ranks, what, least);
    return false;
}

static char *out_of_range(const struct schedule *s, const struct pipe *p)
{
    if (p->ranks < 1 || p->ranks > PLAN_RANKS_MAX)
        return g_strdup_printf("--ranks %u is out of range, give 1 to %u", p->ranks, PLAN_RANKS_MAX);
    if (s->stages && p->per_rank != s->stages)
        return g_strdup_printf(
            "--stages-per-rank %u, but schedule %s has %u a rank, give --stages-per-rank %u", p->per_rank,
            s->name, s->stages, s->stages);
    const uint32_t most_stages = SCHEDULE_STAGES_MAX / p->ranks;
    if (p->per_rank < 1 || p->per_rank > most_stages)
        return g_strdup_printf("--stages-per-rank %u is out of range, give 1 to %u", p->per_rank,
                               most_stages);
    const uint32_t n_stages = p->ranks * p->per_rank;
    const uint32_t most = MIN(SCHEDULE_MICRO_MAX, SCHEDULE_ACTIONS_MAX / 3 / n_stages);
    if (p->micro < 1 || p->micro > most)
        return g_strdup_printf("--chunks %u is out of range for %u stages, give 1 to %u", p->micro, n_stages,
                               most);
    return NULL;
}

bool schedule_check(const struct schedule *s, const struct pipe *p, GError **error)
{
    g_autofree char *what = out_of_range(s, p);
    if (!what)
        return !s->check || s->check(p, error);
    g_set_error_literal(error, PLAN_ERROR, PLAN_ERROR_INPUT, what);
    return false;
}

void schedule_order(const struct schedule *s, const struct pipe *p, struct actions *a)
{
    actions_init(a, p->ranks, p->ranks * p->per_rank, p->micro);
    for (uint32_t i = 0; i < a->n_stages; i++)
        a->rank[i] = s->v_shaped && i >= p->ranks ? 2 * p->ranks - 1 - i : i % p->ranks;
    for (uint32_t rank = 0; rank < p->ranks; rank++) {
        actions_begin_rank(a);
        s->order(p, rank, a);
        actions_next_rank(a);
        if (rank == 0)
            reserve(a, (uint64_t)a->first[1] * p->ranks);
    }
}
