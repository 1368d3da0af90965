/* Ring (Thakur, Rabenseifner, Gropp 2005): n-1 hops reduce, so that each member owns the sum of a chunk, and
 * n-1 hops pass the sums on. */
#include "plan/lower.h"

static uint64_t ring_ops(uint32_t n)
{
    return 2 * (uint64_t)n * (n - 1);
}

static uint32_t ring_gangs(uint32_t n)
{
    return 2 * (n - 1);
}

static uint32_t ring_shift(uint32_t gang)
{
    (void)gang;
    return 1;
}

/* Chunk c of n as views; floor(c e / n) without the product's overflow. */
static void add_chunks(struct lower *l, uint32_t value, uint32_t n)
{
    const struct value v = l->to->values[value];
    uint64_t elems = v.bytes / l->elem_bytes, at = 0;
    l->chunks[value] = (struct chunks){l->to->n_values, n};
    for (uint32_t c = 1; c <= n; c++) {
        uint64_t end = elems / n * c + elems % n * c / n;
        plan_add_view(l->to, v.root, v.offset + at * l->elem_bytes, (end - at) * l->elem_bytes);
        at = end;
    }
}

/* Hop h < n-1 reduces: member i sends chunk i-h and adds to chunk i-h-1, so that in the end it owns chunk
 * i+1.  The n-1 hops after that pass the owned chunks on: member i sends i+1 first, which is i-h again. */
static void add_hop(struct lower *l, const struct part *part, uint32_t number)
{
    bool reduces = number < part->n - 1;
    uint32_t sent = (part->member + 2 * part->n - number) % part->n,
             received = (sent + part->n - 1) % part->n;
    uint32_t views = l->chunks[part->value].first;
    struct hop hop = {.kind = reduces ? OP_EXCHANGE_ADD : OP_EXCHANGE,
                      .number = number,
                      .chunk = received,
                      .gang = number,
                      .bytes = l->to->values[views + sent].bytes};
    hop.cost = (struct cost_key){
        .kind = hop.kind, .members = (uint16_t)part->n, .nodes = part->nodes, .bytes = hop.bytes};
    lower_hop(l, part, &hop);
    plan_access(l->to, views + sent, ACCESS_READ);
    plan_access(l->to, views + received, reduces ? ACCESS_UPDATE : ACCESS_WRITE);
}

static void ring_add(struct lower *l, const struct part *part)
{
    if (l->chunks[part->value].n != part->n)
        add_chunks(l, part->value, part->n);
    for (uint32_t hop = 0; hop < 2 * (part->n - 1); hop++)
        add_hop(l, part, hop);
}

/* A piece of each member goes once around: in hop h member i passes on that of i-h. */
static void gather_add(struct lower *l, const struct part *part)
{
    const struct access *pieces = &l->from->accesses[part->op->first_access];
    for (uint32_t number = 0; number + 1 < part->n; number++) {
        const uint32_t sent = (part->member + part->n - number) % part->n,
                       received = (sent + part->n - 1) % part->n;
        struct hop hop = {.kind = OP_EXCHANGE,
                          .number = number,
                          .chunk = received,
                          .gang = number,
                          .bytes = l->to->values[pieces[sent].value].bytes};
        hop.cost = (struct cost_key){
            .kind = hop.kind, .members = (uint16_t)part->n, .nodes = part->nodes, .bytes = hop.bytes};
        lower_hop(l, part, &hop);
        plan_access(l->to, pieces[sent].value, ACCESS_READ);
        plan_access(l->to, pieces[received].value, ACCESS_WRITE);
    }
}

static uint64_t gather_ops(uint32_t n)
{
    return ring_ops(n) / 2;
}

static uint32_t gather_gangs(uint32_t n)
{
    return ring_gangs(n) / 2;
}

const struct lowering lower_ring = {ALLREDUCE_RING, ring_ops, ring_gangs, ring_shift, ring_add};
const struct lowering lower_allgather = {ALLREDUCE_RING, gather_ops, gather_gangs, ring_shift, gather_add};
