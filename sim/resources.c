#include "sim/resources.h"

#include <string.h>

/* A resource's number is its kind's first plus its place. */
struct builder {
    const struct plan *plan;
    const struct sharing *sharing;
    struct resources *r;
    uint32_t core, device, out, in, bus, card_out, card_in, launcher; /* first numbers */
    uint32_t *node, *card;                                            /* by lane */
    uint32_t *user;  /* by resource: the lane that has used it, OP_NONE: none yet */
    bool *contested; /* by resource */
    uint32_t *at;    /* by resource: index of its last use */
    GArray *uses;
    uint32_t first; /* use of the op that is being looked at */
};

static void use(struct builder *b, uint32_t lane, uint32_t resource, double weight)
{
    uint32_t at = b->at[resource];
    if (at != OP_NONE && at >= b->first)
        g_array_index(b->uses, struct use, at).weight += weight;
    else {
        at = b->at[resource] = b->uses->len;
        g_array_append_val(b->uses, ((struct use){resource, weight}));
    }
    if (b->user[resource] == OP_NONE)
        b->user[resource] = lane;
    b->contested[resource] |=
        b->user[resource] != lane || g_array_index(b->uses, struct use, at).weight > b->r->capacity[resource];
}

static void use_core(struct builder *b, uint32_t lane)
{
    if (b->sharing->lane_core)
        use(b, lane, b->core + b->sharing->lane_core[lane], 1);
    else if (b->sharing->cores > 0 && b->plan->t.n_lanes > b->sharing->cores)
        use(b, lane, b->core, 1);
}

/* What `from` sends to `to`; `part` of their links inside a node. */
static void transfer(struct builder *b, uint32_t from, uint32_t to, double part)
{
    const uint32_t *device = b->r->device, *node = b->node;
    if (node[from] != node[to]) {
        use(b, from, b->card_out + b->card[from], 1);
        use(b, to, b->card_in + b->card[to], 1);
    } else if (device[from] != device[to] && b->sharing->cluster->link_shared)
        use(b, from, b->bus + node[from], part);
    else if (device[from] != device[to]) {
        use(b, from, b->out + device[from], part);
        use(b, to, b->in + device[to], part);
    }
}

static bool is_whole(unsigned kind)
{
    return op_collective(kind) != COLLECTIVES;
}

static bool spans_nodes(const struct builder *b, const struct gang *gang)
{
    const uint32_t *ops = b->plan->gang_ops + gang->first;
    for (uint32_t i = 1; i < gang->n; i++)
        if (b->node[b->plan->ops[ops[i]].lane] != b->node[b->plan->ops[ops[0]].lane])
            return true;
    return false;
}

/* Members of an exchange send to the one `shift` further, a sender to its receiver, in a whole collective
 * each to the next, as in a ring. */
static void use_links(struct builder *b, const struct gang *gang)
{
    const struct plan *plan = b->plan;
    const uint32_t *ops = plan->gang_ops + gang->first;
    unsigned kind = plan->ops[ops[0]].tag.kind;
    const struct cluster *c = b->sharing->cluster;
    double part = spans_nodes(b, gang) && c->net_gbps > 0 ? MIN(1, c->net_gbps / c->link_gbps) : 1;
    for (uint32_t i = 0; i < gang->n; i++) {
        unsigned own = plan->ops[ops[i]].tag.kind;
        uint32_t shift = own == OP_EXCHANGE || own == OP_EXCHANGE_ADD ? gang->shift % gang->n : 1;
        if (own != OP_RECV && own != OP_RECV_ADD)
            transfer(b, plan->ops[ops[i]].lane, plan->ops[ops[(i + shift) % gang->n]].lane, part);
    }
    for (uint32_t u = b->first; is_whole(kind) && u < b->uses->len; u++)
        g_array_index(b->uses, struct use, u).weight = part;
}

static void use_gang(struct builder *b, const struct gang *gang)
{
    if (b->sharing->cluster && gang->n > 1)
        use_links(b, gang);
    for (uint32_t i = 0; i < gang->n; i++) {
        uint32_t op = b->plan->gang_ops[gang->first + i];
        if (b->plan->ops[op].tag.kind != OP_SEND) /* receivers pull */
            use_core(b, b->plan->ops[op].lane);
    }
}

static void use_alone(struct builder *b, const struct op *op)
{
    if ((b->sharing->cluster || b->sharing->devices) &&
        (op_lane_class(op->tag.kind) == LANE_COMPUTE || op->tag.kind == OP_SUM))
        use(b, op->lane, b->device + b->r->device[op->lane], 1);
    if (op_lane_class(op->tag.kind) == LANE_HOST)
        use(b, op->lane, b->launcher, 1);
    use_core(b, op->lane);
}

static void drop_uncontested(struct builder *b)
{
    struct resources *r = b->r;
    uint32_t n = 0;
    r->uses = g_new(struct use, b->uses->len);
    for (uint32_t i = 0; i < b->plan->n_ops; i++) {
        uint32_t from = r->first_use[i], to = r->first_use[i + 1];
        r->first_use[i] = n;
        for (uint32_t u = from; u < to; u++) {
            const struct use *kept = &g_array_index(b->uses, struct use, u);
            if (b->contested[kept->resource])
                r->uses[n++] = *kept;
        }
    }
    r->first_use[b->plan->n_ops] = n;
}

/* Numbers equal keys equally, from 0, in the order of lanes. */
static uint32_t number(uint32_t n_lanes, const uint64_t *key, uint32_t *out)
{
    GHashTable *numbers = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (uint32_t i = 0; i < n_lanes; i++) {
        gpointer value;
        if (!g_hash_table_lookup_extended(numbers, &key[i], NULL, &value))
            g_hash_table_insert(numbers, (gpointer)&key[i],
                                value = GUINT_TO_POINTER(g_hash_table_size(numbers)));
        out[i] = GPOINTER_TO_UINT(value);
    }
    uint32_t n = g_hash_table_size(numbers);
    g_hash_table_destroy(numbers);
    return n;
}

/* Device i of a node, from its lowest number, has card i mod cards. */
static uint32_t number_cards(struct builder *b, uint32_t n_nodes, uint64_t *key)
{
    const struct lane *lanes = b->plan->t.lanes;
    uint32_t n_lanes = b->plan->t.n_lanes,
             n_cards = b->sharing->cluster ? MAX(b->sharing->cluster->net_cards, 1) : 1;
    uint32_t *lowest = g_new(uint32_t, n_nodes);
    memset(lowest, 0xff, n_nodes * sizeof *lowest);
    for (uint32_t i = 0; i < n_lanes; i++)
        lowest[b->node[i]] = MIN(lowest[b->node[i]], lanes[i].device);
    for (uint32_t i = 0; i < n_lanes; i++)
        key[i] = (uint64_t)b->node[i] << 32 | (lanes[i].device - lowest[b->node[i]]) % n_cards;
    g_free(lowest);
    return number(n_lanes, key, b->card);
}

static void number_resources(struct builder *b)
{
    const struct sharing *s = b->sharing;
    struct resources *r = b->r;
    uint32_t n_lanes = b->plan->t.n_lanes;
    uint64_t *key = g_new(uint64_t, n_lanes);
    for (uint32_t i = 0; i < n_lanes; i++)
        key[i] = b->plan->t.lanes[i].node;
    uint32_t n_nodes = number(n_lanes, key, b->node);
    for (uint32_t i = 0; i < n_lanes; i++)
        key[i] = b->plan->t.lanes[i].device;
    r->n_devices = number(n_lanes, key, r->device);
    uint32_t n_cards = number_cards(b, n_nodes, key);
    b->device = b->core + (s->lane_core ? (uint32_t)s->cores : 1);
    b->out = b->device + r->n_devices;
    b->in = b->out + r->n_devices;
    b->bus = b->in + r->n_devices;
    b->card_out = b->bus + n_nodes;
    b->card_in = b->card_out + n_cards;
    b->launcher = b->card_in + n_cards;
    r->n = b->launcher + 1;
    r->capacity = g_new(double, r->n);
    for (uint32_t i = 0; i < r->n; i++)
        r->capacity[i] = 1;
    if (!s->lane_core)
        r->capacity[b->core] = s->cores;
    g_free(key);
}

uint32_t resources_task(const struct plan *plan, uint32_t op)
{
    uint32_t gang = plan->ops[op].tag.gang;
    return gang == OP_NONE ? op : plan->gang_ops[plan->gangs[gang].first];
}

static void look_at_all(struct builder *b)
{
    const struct plan *plan = b->plan;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        b->first = b->r->first_use[i] = b->uses->len;
        if (plan->ops[i].tag.gang == OP_NONE)
            use_alone(b, &plan->ops[i]);
        else if (resources_task(plan, i) == i)
            use_gang(b, &plan->gangs[plan->ops[i].tag.gang]);
    }
    b->r->first_use[plan->n_ops] = b->uses->len;
}

struct resources *resources_new(const struct plan *plan, const struct sharing *sharing)
{
    struct resources *r = g_new0(struct resources, 1);
    struct builder b = {.plan = plan, .sharing = sharing, .r = r};
    uint32_t n_lanes = plan->t.n_lanes;
    b.node = g_new(uint32_t, n_lanes);
    b.card = g_new(uint32_t, n_lanes);
    r->device = g_new(uint32_t, n_lanes);
    r->first_use = g_new(uint32_t, (size_t)plan->n_ops + 1);
    number_resources(&b);
    b.user = g_new(uint32_t, r->n);
    b.at = g_new(uint32_t, r->n);
    memset(b.user, 0xff, r->n * sizeof *b.user);
    memset(b.at, 0xff, r->n * sizeof *b.at);
    b.contested = g_new0(bool, r->n);
    b.uses = g_array_new(FALSE, FALSE, sizeof(struct use));
    look_at_all(&b);
    drop_uncontested(&b);
    g_array_free(b.uses, TRUE);
    g_free(b.node);
    g_free(b.card);
    g_free(b.user);
    g_free(b.at);
    g_free(b.contested);
    return r;
}

void resources_free(struct resources *r)
{
    if (!r)
        return;
    g_free(r->capacity);
    g_free(r->first_use);
    g_free(r->uses);
    g_free(r->device);
    g_free(r);
}
