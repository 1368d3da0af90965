#include "sim/fair.h"

#include <math.h>

#include "plan/plan.h"

/* Loads and levels are sums of doubles: what differs by less is equal. */
#define SAME 1e-9

struct load {
    double sum;          /* of the tasks that use it now */
    uint32_t first_user; /* index of uses */
    bool dirty, seen;
    double free, open_sum; /* while rates are found: of what is left, and of tasks without a rate yet */
    uint32_t n_open;
};

struct fair {
    const struct resources *r;
    struct load *loads;                             /* by resource */
    double *rate;                                   /* by task */
    bool *seen;                                     /* by task */
    uint32_t *use_task, *next_user, *previous_user; /* by use: the users of a resource are a list */
    uint32_t *dirty, n_dirty, *open, n_open;        /* resources */
    uint32_t *changed, n_changed;                   /* tasks */
};

struct fair *fair_new(uint32_t n_ops, const struct resources *r)
{
    struct fair *f = g_new0(struct fair, 1);
    uint32_t n_uses = r->first_use[n_ops];
    f->r = r;
    f->loads = g_new0(struct load, r->n);
    for (uint32_t i = 0; i < r->n; i++)
        f->loads[i].first_user = OP_NONE;
    f->rate = g_new(double, n_ops);
    f->seen = g_new0(bool, n_ops);
    f->use_task = g_new(uint32_t, n_uses);
    f->next_user = g_new(uint32_t, n_uses);
    f->previous_user = g_new(uint32_t, n_uses);
    f->dirty = g_new(uint32_t, r->n);
    f->open = g_new(uint32_t, r->n);
    f->changed = g_new(uint32_t, n_ops);
    for (uint32_t i = 0; i < n_ops; i++)
        for (uint32_t u = r->first_use[i]; u < r->first_use[i + 1]; u++)
            f->use_task[u] = i;
    return f;
}

void fair_free(struct fair *f)
{
    void *const all[] = {f->loads,         f->rate,  f->seen, f->use_task, f->next_user,
                         f->previous_user, f->dirty, f->open, f->changed,  f};
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++)
        g_free(all[i]);
}

static bool is_full(const struct fair *f, uint32_t resource)
{
    return f->loads[resource].sum > f->r->capacity[resource] * (1 + SAME);
}

static void mark_if_full(struct fair *f, uint32_t resource)
{
    if (!is_full(f, resource) || f->loads[resource].dirty)
        return;
    f->dirty[f->n_dirty++] = resource;
    f->loads[resource].dirty = true;
}

static void link_user(struct fair *f, uint32_t use)
{
    struct load *l = &f->loads[f->r->uses[use].resource];
    f->next_user[use] = l->first_user;
    f->previous_user[use] = OP_NONE;
    if (l->first_user != OP_NONE)
        f->previous_user[l->first_user] = use;
    l->first_user = use;
}

static void unlink_user(struct fair *f, uint32_t use)
{
    struct load *l = &f->loads[f->r->uses[use].resource];
    uint32_t next = f->next_user[use], previous = f->previous_user[use];
    if (next != OP_NONE)
        f->previous_user[next] = previous;
    if (previous != OP_NONE)
        f->next_user[previous] = next;
    else
        l->first_user = next;
    if (l->first_user == OP_NONE)
        l->sum = 0; /* exactly */
}

void fair_enter(struct fair *f, uint32_t task)
{
    f->rate[task] = 1;
    for (uint32_t u = f->r->first_use[task]; u < f->r->first_use[task + 1]; u++) {
        f->loads[f->r->uses[u].resource].sum += f->r->uses[u].weight;
        link_user(f, u);
        mark_if_full(f, f->r->uses[u].resource);
    }
}

void fair_leave(struct fair *f, uint32_t task)
{
    for (uint32_t u = f->r->first_use[task]; u < f->r->first_use[task + 1]; u++) {
        mark_if_full(f, f->r->uses[u].resource);
        f->loads[f->r->uses[u].resource].sum -= f->r->uses[u].weight;
        unlink_user(f, u);
    }
}

/* Gathers in `open` the full resources that share tasks with a dirty one, directly or not, and in `changed`
 * their users, whose rate is then to be found. */
static void gather(struct fair *f)
{
    for (uint32_t i = 0; i < f->n_dirty; i++) {
        f->loads[f->dirty[i]].seen = true;
        f->open[f->n_open++] = f->dirty[i];
    }
    for (uint32_t i = 0; i < f->n_open; i++)
        for (uint32_t u = f->loads[f->open[i]].first_user; u != OP_NONE; u = f->next_user[u]) {
            uint32_t task = f->use_task[u];
            if (f->seen[task])
                continue;
            f->seen[task] = true;
            f->rate[task] = NAN;
            f->changed[f->n_changed++] = task;
            for (uint32_t v = f->r->first_use[task]; v < f->r->first_use[task + 1]; v++) {
                uint32_t resource = f->r->uses[v].resource;
                if (!f->loads[resource].seen && is_full(f, resource)) {
                    f->loads[resource].seen = true;
                    f->open[f->n_open++] = resource;
                }
            }
        }
}

static void open_all(struct fair *f)
{
    for (uint32_t i = 0; i < f->n_open; i++) {
        struct load *l = &f->loads[f->open[i]];
        l->free = f->r->capacity[f->open[i]];
        l->open_sum = l->sum;
        l->n_open = 0;
        for (uint32_t u = l->first_user; u != OP_NONE; u = f->next_user[u])
            l->n_open++;
    }
}

static void fix_rate(struct fair *f, uint32_t task, double rate)
{
    f->rate[task] = rate;
    for (uint32_t u = f->r->first_use[task]; u < f->r->first_use[task + 1]; u++) {
        struct load *l = &f->loads[f->r->uses[u].resource];
        l->free -= rate * f->r->uses[u].weight;
        l->open_sum -= f->r->uses[u].weight;
        l->n_open--;
    }
}

/* All rates without a value rise together until a resource is full. */
static double next_level(const struct fair *f)
{
    double level = 1;
    for (uint32_t i = 0; i < f->n_open; i++) {
        const struct load *l = &f->loads[f->open[i]];
        if (l->n_open)
            level = MIN(level, MAX(l->free, 0) / l->open_sum);
    }
    return level;
}

static void find_rates(struct fair *f)
{
    open_all(f);
    for (bool open = true; open;) {
        double level = next_level(f);
        open = false;
        for (uint32_t i = 0; i < f->n_open; i++) {
            struct load *l = &f->loads[f->open[i]];
            if (!l->n_open)
                continue;
            open = true;
            if (level < 1 && l->free > level * l->open_sum * (1 + SAME))
                continue;
            for (uint32_t u = l->first_user; u != OP_NONE; u = f->next_user[u])
                if (isnan(f->rate[f->use_task[u]]))
                    fix_rate(f, f->use_task[u], level);
        }
    }
}

const uint32_t *fair_settle(struct fair *f, uint32_t *n)
{
    f->n_changed = 0;
    if (f->n_dirty) {
        gather(f);
        find_rates(f);
    }
    for (uint32_t i = 0; i < f->n_open; i++)
        f->loads[f->open[i]].seen = f->loads[f->open[i]].dirty = false;
    for (uint32_t i = 0; i < f->n_changed; i++)
        f->seen[f->changed[i]] = false;
    f->n_dirty = f->n_open = 0;
    *n = f->n_changed;
    return f->changed;
}

double fair_rate(const struct fair *f, uint32_t task)
{
    return f->rate[task];
}
