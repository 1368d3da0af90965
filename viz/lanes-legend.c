#include "viz/blocks.h"
#include "viz/lanes.h"

uint32_t lanes_number(const struct pen *p, const struct tables *t, const struct cell *c)
{
    switch (p->look->color_by) {
    case COLOR_BY_STAGE:
        return t->n_stages && c->role != ROLE_COMM && c->first < t->n_stages ? c->first : OP_NONE;
    case COLOR_BY_MICRO:
        return c->micro;
    case COLOR_BY_BUCKET:
        return !t->n_stages && (c->role == ROLE_COMM || c->kind == OP_OPTIM) && c->first < t->n_buckets
                   ? c->first
                   : OP_NONE;
    default:
        return OP_NONE;
    }
}

#define READY         ROLES
#define CRITICAL_PATH (ROLES + 1)
#define SHARES        (ROLES + 2)
#define COPIES        (ROLES + 3)
#define KERNELS       (ROLES + 4)

/* Cells of other programs have the colours of ours that they cannot be beside. */
static unsigned entry_role(const struct cell *c)
{
    return c->kind == OP_COPY ? COPIES : c->kind == OP_KERNEL ? KERNELS : c->role;
}

/* What is thinner than a unit cannot be told by its colour anyway. */
static uint32_t seen(const struct step_rows *rows, double ns_per_unit, bool marks)
{
    uint32_t set = 0;

    for (uint32_t r = 0; r < rows->n; r++) {
        const struct row *row = &rows->rows[r];
        const GArray *cells[] = {row->copies, row->compute, row->comm};
        for (unsigned k = 0; k < G_N_ELEMENTS(cells); k++)
            for (unsigned i = 0; i < cells[k]->len; i++) {
                const struct cell *c = &g_array_index(cells[k], struct cell, i);
                const bool wide = c->role == ROLE_COMM || (double)(c->end_ns - c->start_ns) >= ns_per_unit;
                set |= wide ? 1u << entry_role(c) : 0;
                set |= c->share > 0 ? 1u << SHARES : 0;
            }
        set |= row->waits.n ? 1u << ROLE_WAIT : 0;
        set |= row->exposed.n ? 1u << ROLE_EXPOSED : 0;
        set |= marks && row->marks->len ? 1u << READY : 0;
    }
    return set;
}

static const struct {
    unsigned role;
    const char *key;
} known[] = {
    {ROLE_INPUT, "legend.input"},
    {COPIES, "legend.copy"},
    {KERNELS, "legend.kernel"},
    {ROLE_FORWARD, "legend.forward"},
    {ROLE_LOSS, "legend.loss"},
    {ROLE_BACKWARD, "legend.backward"},
    {ROLE_INPUT_GRADIENT, "legend.input-gradient"},
    {ROLE_WEIGHT_GRADIENT, "legend.weight-gradient"},
    {ROLE_RECOMPUTE, "legend.recompute"},
    {ROLE_PACK, "legend.pack"},
    {READY, "legend.ready"},
    {ROLE_COMM, "legend.comm"},
    {ROLE_WAIT, "legend.wait"},
    {ROLE_EXPOSED, "legend.exposed"},
    {ROLE_OPTIMIZER, "legend.optimizer"},
    {ROLE_UPDATE, "legend.update"},
    {CRITICAL_PATH, "legend.critical"},
    {SHARES, "legend.share"},
};

static struct legend_entry entry_of(const struct pen *p, unsigned i)
{
    const unsigned role = known[i].role == COPIES    ? ROLE_INPUT
                          : known[i].role == KERNELS ? ROLE_RECOMPUTE
                                                     : known[i].role;
    const bool ink = role >= READY;
    const double strength = p->look->color_by == COLOR_BY_KIND || ink ? 1 : LANES_OTHERS;
    const struct shade shade = pen_shade(p, ink                    ? ROLE_INK
                                            : role == ROLE_EXPOSED ? ROLE_COMM
                                                                   : (enum role)role);

    return (struct legend_entry){.text = word(p->lang, known[i].key),
                                 .shade = palette_tint(p->palette, shade, strength),
                                 .mark = role == READY,
                                 .exposed = role == ROLE_EXPOSED,
                                 .part = role == SHARES};
}

unsigned lanes_legend(const struct pen *p, const struct step_rows *rows, const struct tables *t,
                      double ns_per_unit, bool marks, GPtrArray *texts,
                      struct legend_entry entries[static LANES_LEGEND_MAX])
{
    const uint32_t set = seen(rows, ns_per_unit, marks) | (p->look->critical ? 1u << CRITICAL_PATH : 0);
    uint32_t numbers = 0;
    unsigned n = 0;

    for (uint32_t r = 0; r < rows->n; r++) {
        const GArray *cells[] = {rows->rows[r].compute, rows->rows[r].comm};
        for (unsigned k = 0; k < G_N_ELEMENTS(cells); k++)
            for (unsigned i = 0; i < cells[k]->len; i++) {
                const uint32_t number = lanes_number(p, t, &g_array_index(cells[k], struct cell, i));
                numbers = number == OP_NONE ? numbers : MAX(numbers, number + 1);
            }
    }
    n = blocks_legend(p, numbers, texts, entries);
    for (unsigned i = 0; i < G_N_ELEMENTS(known); i++)
        if (set & 1u << known[i].role)
            entries[n++] = entry_of(p, i);
    return n;
}
