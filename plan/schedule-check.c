/* Whether an order of actions is one of a pipeline, and comes to its end. */
#include <string.h>

#include "plan/schedule.h"

/* What has been done of a (stage, micro-batch). */
enum { DONE_F = 1, DONE_I = 2, DONE_W = 4, DONE_ALL = 7 };

struct check {
    const struct actions *a;
    uint8_t *done;   /* [stage * n_micro + micro] */
    uint32_t *at;    /* by rank: its next action */
    uint32_t *queue; /* ranks that may be able to go on */
    bool *queued;
    GError **error;
};

static const uint8_t does[ACTION_KINDS] = {
    [ACTION_F] = DONE_F, [ACTION_B] = DONE_I | DONE_W, [ACTION_I] = DONE_I, [ACTION_W] = DONE_W};

static bool refuse(const struct check *c, uint32_t rank, uint32_t i, const char *what)
{
    const struct action *a = &c->a->list[i];
    g_set_error(c->error, PLAN_ERROR, PLAN_ERROR_INPUT, "rank %u, action %u (%u%c%u): %s", rank,
                i - c->a->first[rank], a->stage, action_letter(a->kind), a->micro, what);
    return false;
}

static uint8_t *done_of(const struct check *c, uint32_t stage, uint32_t micro)
{
    return &c->done[(gsize)stage * c->a->n_micro + micro];
}

/* Each part once, on its stage's rank. */
static bool check_parts(struct check *c)
{
    const struct actions *a = c->a;
    for (uint32_t rank = 0; rank < a->n_ranks; rank++)
        for (uint32_t i = a->first[rank]; i < a->first[rank + 1]; i++) {
            const struct action *x = &a->list[i];
            if (x->stage >= a->n_stages || x->micro >= a->n_micro)
                return refuse(c, rank, i, "there is no such stage or micro-batch");
            if (a->rank[x->stage] != rank)
                return refuse(c, rank, i, "its stage is on another rank");
            if (x->paired && i + 1 == a->first[rank + 1])
                return refuse(c, rank, i, "is paired with an action that is not there");
            uint8_t *done = done_of(c, x->stage, x->micro);
            if (*done & does[x->kind])
                return refuse(c, rank, i, "is there twice");
            *done |= does[x->kind];
        }
    return true;
}

static bool check_whole(const struct check *c)
{
    static const char *const missing[] = {
        [DONE_F] = "forward", [DONE_I] = "backward by the input", [DONE_W] = "backward by the weights"};
    for (uint32_t stage = 0; stage < c->a->n_stages; stage++)
        for (uint32_t micro = 0; micro < c->a->n_micro; micro++)
            for (uint8_t part = DONE_F; part < DONE_ALL; part = (uint8_t)(2 * part))
                if (!(*done_of(c, stage, micro) & part)) {
                    g_set_error(c->error, PLAN_ERROR, PLAN_ERROR_INPUT,
                                "rank %u: micro-batch %u has no %s in stage %u", c->a->rank[stage], micro,
                                missing[part], stage);
                    return false;
                }
    return true;
}

static bool is_ready(const struct check *c, const struct action *x)
{
    const uint32_t last = c->a->n_stages - 1;
    switch ((enum action_kind)x->kind) {
    case ACTION_F:
        return x->stage == 0 || *done_of(c, x->stage - 1u, x->micro) & DONE_F;
    case ACTION_B:
    case ACTION_I:
        return *done_of(c, x->stage, x->micro) & DONE_F &&
               (x->stage == last || *done_of(c, x->stage + 1u, x->micro) & DONE_I);
    case ACTION_W:
        return *done_of(c, x->stage, x->micro) & DONE_I;
    case ACTION_KINDS:
        break;
    }
    g_assert_not_reached();
}

static void wake(struct check *c, uint32_t stage, uint32_t *n)
{
    const uint32_t rank = c->a->rank[stage];
    if (!c->queued[rank])
        c->queue[(*n)++] = rank;
    c->queued[rank] = true;
}

/* Does what the rank can do; wakes the neighbours of what it did. */
static void advance(struct check *c, uint32_t rank, uint32_t *n)
{
    const struct actions *a = c->a;
    uint32_t *at = &c->at[rank];
    while (*at < a->first[rank + 1]) {
        const struct action *x = &a->list[*at];
        const uint32_t together = x->paired ? 2 : 1;
        for (uint32_t i = 0; i < together; i++)
            if (!is_ready(c, &x[i]))
                return;
        for (uint32_t i = 0; i < together; i++) {
            *done_of(c, x[i].stage, x[i].micro) |= does[x[i].kind];
            if (x[i].kind == ACTION_F && x[i].stage + 1u < a->n_stages)
                wake(c, x[i].stage + 1u, n);
            if (x[i].kind != ACTION_F && x[i].stage > 0)
                wake(c, x[i].stage - 1u, n);
        }
        *at += together;
    }
}

/* Every rank goes as far as it can until none can. */
static bool check_end(struct check *c)
{
    const struct actions *a = c->a;
    uint32_t n = 0;
    memset(c->done, 0, (gsize)a->n_stages * a->n_micro);
    for (uint32_t rank = 0; rank < a->n_ranks; rank++) {
        c->at[rank] = a->first[rank];
        c->queue[n++] = rank;
        c->queued[rank] = true;
    }
    while (n > 0) {
        const uint32_t rank = c->queue[--n];
        c->queued[rank] = false;
        advance(c, rank, &n);
    }
    for (uint32_t rank = 0; rank < a->n_ranks; rank++)
        if (c->at[rank] < a->first[rank + 1])
            return refuse(
                c, rank, c->at[rank],
                "waits for ever: what it needs comes later in the order of its rank, or of ranks that "
                "wait for it");
    return true;
}

bool actions_check(const struct actions *a, GError **error)
{
    g_autofree uint8_t *done = g_new0(uint8_t, (gsize)a->n_stages * a->n_micro + 1);
    g_autofree uint32_t *at = g_new(uint32_t, (gsize)a->n_ranks + 1),
                        *queue = g_new(uint32_t, (gsize)a->n_ranks + 1);
    g_autofree bool *queued = g_new0(bool, (gsize)a->n_ranks + 1);
    struct check c = {a, done, at, queue, queued, error};
    return check_parts(&c) && check_whole(&c) && check_end(&c);
}
