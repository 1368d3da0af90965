/* plan/read-json.h -- a plan that is being read: read-json.c takes rows as they come, read-settle.c then does what only the
 * whole can tell.  Both report by json_fail. */
#ifndef PLAN_READ_JSON_H
#define PLAN_READ_JSON_H

#include "base/json.h"
#include "plan/plan.h"

struct plan_reader {
    struct json *j;
    struct plan *plan;
    GArray *layers, *params, *buckets;   /* struct layer_row, param_row, bucket_row; NULL once settled */
    GArray *stages, *first, *weight;     /* struct stage_row, uint32_t, double; likewise */
    GArray *members, *closers;           /* uint32_t: members of the buckets; const char *: who closed each */
    GArray *samples, *micro, *share;     /* uint32_t, uint32_t, double: options of the ranks; NULL once settled */
    GArray *accesses, *deps;             /* of the op that is being read: struct access, uint32_t */
    uint32_t last_micro;                 /* the highest that ops speak of */
    bool schema, optimizer, collectives; /* whether the file has them */
};

/* Moves the tables into the plan, and checks what refers from one to another. */
void plan_read_settle(struct plan_reader *);
/* Makes the model again and checks that the plan agrees with it; name is the file's.  False where it does not; the model
 * may be NULL all the same, see plan_read_json. */
bool plan_read_model(struct plan_reader *, const char *name, struct model **);

#endif
