/* Kernels write while they read: what an op writes may be nothing that it accesses otherwise. */
#include <stdlib.h>

#include "plan/contract.h"
#include "plan/seal.h"

struct range {
    uint64_t offset, end;
    uint32_t root;
    bool write;
};

static int compare_ranges(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return x->root != y->root ? (x->root > y->root) - (x->root < y->root)
                              : (x->offset > y->offset) - (x->offset < y->offset);
}

/* What is written overlaps nothing else that the op accesses. */
static bool apart(const struct contract *c, uint32_t op)
{
    const uint32_t n = contract_accesses(c->plan, op);
    g_autofree struct range *ranges = g_new(struct range, (gsize)n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const struct value *v = contract_value(c->plan, op, i);
        ranges[i] = (struct range){v->offset, v->offset + v->bytes, v->root,
                                   contract_access(c->plan, op, i)->mode & ACCESS_WRITE};
    }
    qsort(ranges, n, sizeof *ranges, compare_ranges);
    uint64_t end = 0, written_end = 0; /* of what began before in the same root */
    for (uint32_t i = 0; i < n; i++) {
        const struct range *r = &ranges[i];
        if (i == 0 || r->root != ranges[i - 1].root)
            end = written_end = 0;
        if (r->offset < r->end && r->offset < (r->write ? end : written_end))
            return seal_refuse(c->plan, op, c->error, "writes bytes of value %u that it accesses twice",
                               r->root);
        end = MAX(end, r->end);
        written_end = r->write ? MAX(written_end, r->end) : written_end;
    }
    return true;
}

/* A sum may replace one of its terms. */
static bool sum_apart(const struct contract *c, uint32_t op)
{
    const uint32_t n = contract_accesses(c->plan, op);
    const struct value *sum = contract_value(c->plan, op, n - 1);
    for (uint32_t i = 0; i + 1 < n; i++) {
        const struct value *term = contract_value(c->plan, op, i);
        if (term->root == sum->root && term->offset != sum->offset &&
            term->offset < sum->offset + sum->bytes && sum->offset < term->offset + term->bytes)
            return seal_refuse(c->plan, op, c->error, "its access %u overlaps the sum", i);
    }
    return true;
}

bool contract_apart(const struct contract *c, uint32_t op)
{
    return (c->plan->ops[op].tag.kind == OP_SUM ? sum_apart : apart)(c, op);
}
