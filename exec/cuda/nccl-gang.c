#include "exec/cuda/nccl-gang.h"

/* --- whose a gang is */

static bool is_alone(const uint32_t *device, uint32_t n_ranks)
{
    for (uint32_t i = 0; i < n_ranks; i++)
        for (uint32_t j = 0; j < i; j++)
            if (device[i] == device[j])
                return false;
    return true;
}

/* Nothing of NCCL adds what it receives from one peer. */
static bool adds(const struct plan *plan, const struct gang *gang)
{
    bool found = false;
    for (uint32_t i = gang->first; i < gang->first + gang->n; i++)
        found = found || plan->ops[plan->gang_ops[i]].tag.kind == OP_RECV_ADD;
    return found;
}

static bool is_taken(const struct plan *plan, const struct gang *gang, bool alone)
{
    const struct op_tag *tag = gang->n ? &plan->ops[plan->gang_ops[gang->first]].tag : NULL;
    switch (tag ? tag->kind : OP_KINDS) {
    case OP_ALLREDUCE:
    case OP_REDUCE:
    case OP_SCATTER:
    case OP_GATHER:
    case OP_ALLGATHER:
        return true;
    case OP_BROADCAST:
    case OP_SEND:
    case OP_RECV:
        return alone && tag->algo == ALLREDUCE_WHOLE && !adds(plan, gang);
    default:
        return false;
    }
}

bool *comm_nccl_gangs(const struct plan *plan, const uint32_t *device)
{
    const bool alone = is_alone(device, plan->t.n_ranks);
    bool *taken = g_new(bool, (gsize)plan->n_gangs + 1);
    for (uint32_t g = 0; g < plan->n_gangs; g++)
        taken[g] = is_taken(plan, &plan->gangs[g], alone);
    return taken;
}

bool comm_nccl_wanted(const struct plan *plan, const uint32_t *device)
{
    g_autofree bool *taken = comm_nccl_gangs(plan, device);
    for (uint32_t g = 0; g < plan->n_gangs; g++)
        if (taken[g])
            return true;
    return false;
}

/* --- parts */

static uint32_t n_accesses(const struct plan *plan, uint32_t op)
{
    return plan->ops[op + 1].first_access - plan->ops[op].first_access;
}

static const struct value *value_of(const struct plan *plan, uint32_t op, uint32_t i)
{
    return &plan->values[plan->accesses[plan->ops[op].first_access + i].value];
}

static bool is_row(const struct plan *plan, uint32_t op)
{
    const struct value *first = value_of(plan, op, 0);
    for (uint32_t i = 1; i < n_accesses(plan, op); i++) {
        const struct value *v = value_of(plan, op, i);
        if (v->root != first->root || v->bytes != first->bytes || v->offset != first->offset + i * v->bytes)
            return false;
    }
    return true;
}

static bool are_rows(const struct plan *plan, const struct gang *gang)
{
    for (uint32_t i = 0; i < gang->n; i++)
        if (!is_row(plan, plan->gang_ops[gang->first + i]))
            return false;
    return true;
}

struct gang_part gang_part_of(const struct plan *plan, uint32_t op, void *const *mem, const uint64_t *bytes)
{
    const struct op *o = &plan->ops[op];
    const struct gang *gang = &plan->gangs[o->tag.gang];
    struct gang_part part = {.kind = o->tag.kind,
                             .row = o->tag.kind == OP_ALLGATHER && are_rows(plan, gang),
                             .n = gang->n,
                             .n_pieces = n_accesses(plan, op),
                             .mem = mem,
                             .bytes = bytes};
    while (plan->gang_ops[gang->first + part.member] != op)
        part.member++;
    return part;
}

/* Pieces of each member but the first, at the first. */
static uint32_t pieces_each(const struct gang_part *part)
{
    return part->n > 1 ? MAX(part->n_pieces / (part->n - 1), 1) : 1;
}

bool gang_part_receives(const struct gang_part *part, uint32_t piece, uint32_t *from, uint32_t *from_piece)
{
    const uint32_t each = pieces_each(part), m = part->member;
    *from = 0;
    *from_piece = piece;
    switch (part->kind) {
    case OP_ALLREDUCE:
    case OP_REDUCE:
        *from = OP_NONE;
        return part->kind == OP_ALLREDUCE || m == 0;
    case OP_SCATTER:
        *from_piece = (m - 1) * part->n_pieces + piece;
        return m > 0;
    case OP_GATHER:
        *from = 1 + piece / each;
        *from_piece = piece % each;
        return m == 0;
    case OP_ALLGATHER:
        *from = piece;
        return piece != m;
    case OP_RECV:
        *from = 1 - m;
        return true;
    default:
        return part->kind == OP_BROADCAST && m > 0;
    }
}

/* --- calls */

static ncclResult_t send(const struct gang_part *part, uint32_t piece, uint32_t peer, ncclComm_t comm,
                         cudaStream_t stream)
{
    return ncclSend(part->mem[piece], part->bytes[piece], ncclUint8, (int)peer, comm, stream);
}

static ncclResult_t receive(const struct gang_part *part, uint32_t piece, uint32_t peer, ncclComm_t comm,
                            cudaStream_t stream)
{
    return ncclRecv(part->mem[piece], part->bytes[piece], ncclUint8, (int)peer, comm, stream);
}

/* A rank's own piece to each other one, for a piece of theirs. */
static ncclResult_t swap_with(const struct gang_part *part, uint32_t peer, ncclComm_t comm,
                              cudaStream_t stream)
{
    if (peer == part->member)
        return ncclSuccess;
    const ncclResult_t result = send(part, part->member, peer, comm, stream);
    return result ? result : receive(part, peer, peer, comm, stream);
}

static ncclResult_t call_piece(const struct gang_part *part, uint32_t i, ncclComm_t comm, cudaStream_t stream)
{
    void *mem = part->mem[i];
    const uint64_t bytes = part->bytes[i], elems = bytes / sizeof(float);
    const uint32_t m = part->member, other = m ? 0 : 1 + i / pieces_each(part);
    switch (part->kind) {
    case OP_ALLREDUCE:
        return ncclAllReduce(mem, mem, elems, ncclFloat, ncclSum, comm, stream);
    case OP_REDUCE:
        return ncclReduce(mem, mem, elems, ncclFloat, ncclSum, 0, comm, stream);
    case OP_BROADCAST:
        return ncclBroadcast(mem, mem, bytes, ncclUint8, 0, comm, stream);
    case OP_SCATTER:
        return m ? receive(part, i, other, comm, stream) : send(part, i, other, comm, stream);
    case OP_GATHER:
        return m ? send(part, i, other, comm, stream) : receive(part, i, other, comm, stream);
    case OP_ALLGATHER:
        return swap_with(part, i, comm, stream);
    default:
        return part->kind == OP_SEND ? send(part, i, 1 - m, comm, stream)
                                     : receive(part, i, 1 - m, comm, stream);
    }
}

static const char *call_name(const struct gang_part *part)
{
    switch (part->kind) {
    case OP_ALLREDUCE:
        return "ncclAllReduce";
    case OP_REDUCE:
        return "ncclReduce";
    case OP_BROADCAST:
        return "ncclBroadcast";
    case OP_ALLGATHER:
        return part->row ? "ncclAllGather" : "ncclSend or ncclRecv";
    case OP_SCATTER:
        return part->member ? "ncclRecv" : "ncclSend";
    case OP_GATHER:
        return part->member ? "ncclSend" : "ncclRecv";
    default:
        return part->kind == OP_SEND ? "ncclSend" : "ncclRecv";
    }
}

ncclResult_t gang_part_calls(const struct gang_part *part, ncclComm_t comm, cudaStream_t stream,
                             const char **call)
{
    ncclResult_t result = ncclSuccess;
    *call = call_name(part);
    if (part->row)
        return ncclAllGather(part->mem[part->member], part->mem[0], part->bytes[0], ncclUint8, comm, stream);
    for (uint32_t i = 0; i < part->n_pieces && !result; i++)
        result = call_piece(part, i, comm, stream);
    return result;
}

ncclResult_t gang_part_issue(const struct gang_part *part, ncclComm_t comm, cudaStream_t stream,
                             const char **call)
{
    *call = "ncclGroupStart";
    ncclResult_t result = ncclGroupStart();
    if (result)
        return result;
    const ncclResult_t one = gang_part_calls(part, comm, stream, call);
    result = ncclGroupEnd();
    if (!one)
        *call = "ncclGroupEnd";
    return one ? one : result;
}

/* --- sizes */

bool gangs_alike(const struct plan *plan, uint32_t a, uint32_t b)
{
    const struct gang *x = &plan->gangs[a], *y = &plan->gangs[b];
    if (x->n != y->n)
        return false;
    for (uint32_t i = 0; i < x->n; i++) {
        const uint32_t p = plan->gang_ops[x->first + i], q = plan->gang_ops[y->first + i];
        if (plan->ops[p].tag.kind != plan->ops[q].tag.kind || n_accesses(plan, p) != n_accesses(plan, q))
            return false;
        for (uint32_t k = 0; k < n_accesses(plan, p); k++)
            if (value_of(plan, p, k)->bytes != value_of(plan, q, k)->bytes)
                return false;
    }
    return true;
}
