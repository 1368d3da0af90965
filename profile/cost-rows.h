/* profile/cost-rows.h -- cost keys as members of JSON objects: of a trace's costs, and of the rows of a cost file. */
#ifndef PROFILE_COST_ROWS_H
#define PROFILE_COST_ROWS_H

#include "base/json.h"
#include "plan/cost.h"

/* "kind":..., without brackets. */
void cost_key_json(const struct cost_key *, GString *out);

/* A key to be filled; its shape is interned in `strings`, what it lacks stays as here. */
struct cost_key cost_key_none(void);
/* Takes the member that comes next if it is one of a key's; false: it is none, and still to be read. */
bool cost_key_member(struct json *, const char *name, GStringChunk *strings, struct cost_key *);

#endif
