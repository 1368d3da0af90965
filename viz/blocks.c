#include "viz/blocks.h"

#include <stdlib.h>

static enum role role_of(unsigned kind)
{
    switch (kind) {
    case OP_FWD:
        return ROLE_FORWARD;
    case OP_LOSS:
        return ROLE_LOSS;
    case OP_RECOMPUTE:
        return ROLE_RECOMPUTE;
    case OP_BWD:
        return ROLE_BACKWARD;
    case OP_BWD_INPUT:
        return ROLE_INPUT_GRADIENT;
    case OP_BWD_WEIGHT:
        return ROLE_WEIGHT_GRADIENT;
    default:
        return ROLE_UPDATE;
    }
}

struct shade block_kind_shade(const struct palette *p, unsigned kind, uint32_t i, uint32_t n)
{
    return palette_stage_shade(p, role_of(kind), i, n);
}

struct shade block_number_shade(const struct palette *p, unsigned kind, uint32_t number)
{
    static const double strengths[OP_KINDS] = {
        [OP_FWD] = 1,         [OP_LOSS] = 0.8,       [OP_RECOMPUTE] = 0.8, [OP_BWD] = 0.6,
        [OP_BWD_INPUT] = 0.6, [OP_BWD_WEIGHT] = 0.4, [OP_OPTIM] = 1};

    return kind < OP_KINDS && strengths[kind] > 0 ? palette_tint(p, palette_hue(p, number), strengths[kind])
                                                  : palette_shade(p, ROLE_UPDATE);
}

unsigned blocks_legend(const struct pen *p, uint32_t numbers, GPtrArray *texts, struct legend_entry *entries)
{
    static const char *const keys[] = {[COLOR_BY_STAGE] = "legend.stage",
                                       [COLOR_BY_MICRO] = "legend.micro",
                                       [COLOR_BY_BUCKET] = "legend.bucket"};
    const unsigned by = p->look->color_by;
    unsigned n = 0;

    for (; by != COLOR_BY_KIND && n < numbers && n < HUES; n++) {
        g_autofree char *name = say(p->lang, keys[by], "n", count(n + p->look->count_from), NULL);
        g_ptr_array_add(texts, g_strconcat(name, n + 1 == HUES && numbers > HUES ? ", …" : "", NULL));
        entries[n] = (struct legend_entry){.text = g_ptr_array_index(texts, texts->len - 1),
                                           .shade = palette_hue(p->palette, n)};
    }
    return n;
}

/* --- late */

static bool is_backward(unsigned kind)
{
    return kind == OP_BWD || kind == OP_BWD_INPUT || kind == OP_BWD_WEIGHT || kind == OP_RECOMPUTE;
}

static int by_subject(const void *a, const void *b)
{
    const struct pipeline_action *x = (*(const struct block *const *)a)->action,
                                 *y = (*(const struct block *const *)b)->action;

    if (x->stage != y->stage)
        return x->stage < y->stage ? -1 : 1;
    return (x->micro > y->micro) - (x->micro < y->micro);
}

static int last_first(const void *a, const void *b)
{
    const struct block *x = *(const struct block *const *)a, *y = *(const struct block *const *)b;

    if (x->start_ns != y->start_ns)
        return x->start_ns > y->start_ns ? -1 : 1;
    return (x < y) - (x > y);
}

/* The rank's forwards before anything else but losses and updates. */
static size_t list_warm_up(const struct blocks *b, const struct pipeline_times *p, struct block **out)
{
    size_t n = 0;

    for (uint32_t r = 0; r < p->n_ranks; r++)
        for (size_t i = p->first[r]; i < p->first[r + 1]; i++) {
            if (is_backward(b->v[i].action->kind) || b->v[i].action->pair != PAIR_NONE)
                break;
            if (b->v[i].action->kind == OP_FWD)
                out[n++] = &b->v[i];
        }
    return n;
}

static void align_late(struct blocks *b, const struct pipeline_times *p)
{
    g_autofree struct block **forwards = g_new(struct block *, b->n), **warm = g_new(struct block *, b->n);
    size_t n = 0, n_warm = list_warm_up(b, p, warm);

    for (size_t i = 0; i < b->n; i++)
        if (b->v[i].action->kind == OP_FWD)
            forwards[n++] = &b->v[i];
    if (!n_warm)
        return;
    qsort(forwards, n, sizeof *forwards, by_subject);
    qsort(warm, n_warm, sizeof *warm, last_first); /* what waits for a forward is placed before it */
    for (size_t i = 0; i < n_warm; i++) {
        const struct pipeline_action *a = warm[i]->action;
        const struct pipeline_action next = {.stage = (uint16_t)(a->stage + 1), .micro = a->micro};
        const struct block key = {.action = &next}, *wanted = &key;
        struct block *const *consumer = bsearch(&wanted, forwards, n, sizeof *forwards, by_subject);
        int64_t limit_ns = warm[i]->end_ns;
        if ((size_t)(warm[i] - b->v) + 1 < p->first[a->rank + 1])
            limit_ns = warm[i][1].start_ns;
        if (consumer)
            limit_ns = MIN(limit_ns, (*consumer)->start_ns - (*consumer)->action->transfer_ns);
        const int64_t by_ns = MAX(0, limit_ns - warm[i]->end_ns);
        warm[i]->start_ns += by_ns;
        warm[i]->end_ns += by_ns;
    }
}

/* --- blocks */

/* By stage: its number among its rank's. */
static uint32_t *number_stages(const struct tables *t, const struct pipeline_times *p, uint32_t *most)
{
    uint32_t *local = g_new0(uint32_t, p->n_stages);
    g_autofree uint32_t *n = g_new0(uint32_t, p->n_ranks);

    *most = 1;
    for (uint32_t s = 0; s < p->n_stages; s++) {
        const uint32_t rank = t->stages[s].rank;
        if (rank >= p->n_ranks)
            continue;
        local[s] = n[rank]++;
        *most = MAX(*most, n[rank]);
    }
    return local;
}

/* Both halves are as long as the two together; a loss between them is not drawn. */
static void join_pairs(struct blocks *b, const struct pipeline_times *p)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct pipeline_action *partner = pipeline_partner(p, i);
        if (!partner)
            continue;
        struct block *first = &b->v[i], *second = &b->v[partner - p->actions];
        first->half = HALF_UPPER;
        second->half = HALF_LOWER;
        first->end_ns = second->end_ns;
        second->start_ns = first->start_ns;
        for (struct block *loss = first + 1; loss < second; loss++)
            loss->end_ns = loss->start_ns;
    }
}

void blocks_make(struct blocks *b, const struct tables *t, const struct pipeline_times *p,
                 const struct palette *palette, enum color_by color_by, bool late)
{
    *b = (struct blocks){.n = p->first[p->n_ranks]};
    b->v = g_new0(struct block, b->n);
    g_autofree uint32_t *local = number_stages(t, p, &b->per_rank);
    for (size_t i = 0; i < b->n; i++) {
        const struct pipeline_action *a = &p->actions[i];
        b->v[i] = (struct block){
            .action = a, .start_ns = a->start_ns - p->start_ns, .end_ns = a->end_ns - p->start_ns};
        b->v[i].shade = a->stage == STAGE_NONE       ? palette_shade(palette, ROLE_UPDATE)
                        : color_by == COLOR_BY_STAGE ? block_number_shade(palette, a->kind, a->stage)
                        : color_by == COLOR_BY_MICRO
                            ? block_number_shade(palette, a->kind, a->micro)
                            : block_kind_shade(palette, a->kind, local[a->stage], b->per_rank);
    }
    if (late)
        align_late(b, p);
    join_pairs(b, p);
}

void blocks_release(struct blocks *b)
{
    g_free(b->v);
    *b = (struct blocks){0};
}
