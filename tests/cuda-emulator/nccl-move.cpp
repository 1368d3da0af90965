// tests/cuda-emulator/nccl-move.cpp -- what operations of NCCL move and add up.
#include "nccl-ranks.h"

#include <algorithm>
#include <cstring>

namespace nccl {

size_t type_bytes(ncclDataType_t type)
{
    static const size_t bytes[ncclNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return bytes[type];
}

namespace {

template <class T> T combine(ncclRedOp_t op, T a, T b)
{
    switch (op) {
    case ncclProd:
        return T(a * b);
    case ncclMax:
        return std::max(a, b);
    case ncclMin:
        return std::min(a, b);
    default:
        return T(a + b);
    }
}

template <class T> void reduce(const Operation &o)
{
    std::vector<T> sum(o.count);
    for (size_t r = 0; r < o.members.size(); r++) {
        const T *from = static_cast<const T *>(o.members[r].send);
        for (size_t i = 0; i < o.count; i++)
            sum[i] = r ? combine(o.op, sum[i], from[i]) : from[i];
    }
    if (o.op == ncclAvg)
        for (T &x : sum)
            x = T(x / T(o.members.size()));
    for (size_t r = 0; r < o.members.size(); r++)
        if (o.sort == Sort::all_reduce || int(r) == o.root)
            std::copy(sum.begin(), sum.end(), static_cast<T *>(o.members[r].receive));
}

void gather(const Operation &o)
{
    const size_t bytes = o.count * type_bytes(o.type);
    for (const Member &to : o.members)
        for (size_t r = 0; r < o.members.size(); r++) {
            char *place = static_cast<char *>(to.receive) + r * bytes;
            if (place != o.members[r].send)
                memmove(place, o.members[r].send, bytes);
        }
}

} // namespace

void perform(const Operation &o)
{
    if (o.broken)
        return;
    if (o.sort == Sort::transfer) {
        memmove(o.members[1].receive, o.members[0].send, o.count * type_bytes(o.type));
    } else if (o.sort == Sort::broadcast) {
        for (const Member &m : o.members)
            if (m.receive != o.members[size_t(o.root)].send)
                memmove(m.receive, o.members[size_t(o.root)].send, o.count * type_bytes(o.type));
    } else if (o.sort == Sort::all_gather) {
        gather(o);
    } else {
        switch (o.type) {
        case ncclInt32:
            return reduce<int32_t>(o);
        case ncclUint32:
            return reduce<uint32_t>(o);
        case ncclInt64:
            return reduce<int64_t>(o);
        case ncclUint64:
            return reduce<uint64_t>(o);
        case ncclFloat32:
            return reduce<float>(o);
        case ncclFloat64:
            return reduce<double>(o);
        default:
            emu::complain("nccl: reductions of type %d are not emulated", int(o.type));
        }
    }
}

} // namespace nccl
