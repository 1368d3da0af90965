/* profile/where-walk.h -- what each ns of a step is for a rank: pieces that lie end to end.
 *
 * A step is the half-open interval from the first start to the last end of what any rank's devices do in it, in integer ns.
 * Each ns of it belongs to one piece of the rank's, by the first of these that holds:
 *   compute   it computes
 *   transfer  it communicates, and every member of the gang is there
 *   copy      it copies
 *   wait      it is a member of a gang whose last member is not there yet
 *   idle      else: also before the rank begins and after it has ended
 * Of several spans of one kind it belongs to the one that ends first, of these to that on the lowest lane.  So the pieces'
 * lengths add up to the step, whatever the trace.
 */
#ifndef PROFILE_WHERE_WALK_H
#define PROFILE_WHERE_WALK_H

#include "profile/index.h"

enum where_kind { WHERE_COMPUTE, WHERE_TRANSFER, WHERE_COPY, WHERE_WAIT, WHERE_IDLE, WHERE_KINDS };
const char *where_kind_name(unsigned kind); /* "compute" */

/* What time was spent on; OP_NONE where a field says nothing.  Equal keys are equal bytes. */
struct where_key {
    uint32_t kind;           /* enum where_kind */
    uint32_t op;             /* enum op_kind; of a bucket's communication OP_ALLREDUCE */
    uint32_t layer0, layer1; /* of computation: layers [layer0, layer1) */
    uint32_t bucket;         /* of communication, and of the waiting for it */
    uint32_t peer;           /* of a message: the other rank; of waiting: who came last, the lowest of equals */
};

struct where_piece {
    int64_t start_ns, end_ns; /* from the start of the step */
    struct where_key key;
};

/* A trace that was found to be sound (analyze), indexed. */
struct walk {
    struct index index;
    int64_t *arrival_ns; /* by op: when the last member of its gang was there */
    uint32_t *last;      /* by op: the rank of that member; OP_NONE: of no gang */
    struct interval *steps;
};
void walk_init(struct walk *, const struct trace *);
void walk_release(struct walk *);

/* In order; neighbours differ in their keys.  struct where_piece; g_array_unref. */
GArray *walk_pieces(const struct walk *, uint32_t step, uint32_t rank);
/* The rank's transfers of the step, each as long as it was under way, beside computation or not.  Likewise. */
GArray *walk_transfers(const struct walk *, uint32_t step, uint32_t rank);

#endif
