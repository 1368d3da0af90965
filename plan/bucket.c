#include "plan/bucket.h"

uint32_t bucket_assign(uint32_t n, const uint64_t *bytes, const uint32_t *ids, uint64_t first_limit,
                       uint64_t limit, struct bucket_row *buckets, uint32_t *members)
{
    uint32_t n_buckets = 0;
    struct bucket_row open = {.closed_by = OP_NONE};
    for (uint32_t i = 0; i < n; i++) {
        members[i] = ids[i];
        open.bytes += bytes[i];
        open.n_params++;
        if (open.bytes >= (n_buckets ? limit : first_limit)) {
            open.closed_by = ids[i];
            buckets[n_buckets++] = open;
            open = (struct bucket_row){.first_param = i + 1, .closed_by = OP_NONE};
        }
    }
    if (open.n_params)
        buckets[n_buckets++] = open;
    return n_buckets;
}
