/* plan/fields.h -- rows of a plan's tables as JSON members.
 *
 * A table of fields says which members of a struct a row has, and both directions follow it: a field that equals its
 * `none` is left out, and one that is left out is `none`.
 */
#ifndef PLAN_FIELDS_H
#define PLAN_FIELDS_H

#include <stddef.h>

#include "base/json.h"
#include "plan/op.h"

/* 2^58: no size of a model that can be planned is larger (model_fits), and some of them can be added up. */
#define FIELD_BYTES_MAX (UINT64_C(1) << 58)

enum field_type {
    FIELD_U8,
    FIELD_U16,
    FIELD_U32,
    FIELD_U64,
    FIELD_BYTES, /* uint64_t, at most FIELD_BYTES_MAX */
    FIELD_NAME,  /* uint8_t, written as its name */
    FIELD_TEXT,  /* const char *, interned */
    FIELD_DOUBLE
};

struct field {
    const char *key;
    uint16_t offset;
    uint8_t type;  /* enum field_type */
    bool must;     /* is never left out */
    uint64_t none; /* of numbers and names */
    unsigned names;
    const char *(*name)(unsigned);
};

/* Appends ,"key":value for each; ends with a key of NULL. */
void fields_write(const struct field *, const void *row, GString *out);

void fields_clear(const struct field *, void *row); /* all that must be there: 0 or NULL */
/* If there is a field of this key, reads its value into the row, notes it in `seen`, and returns true. */
bool fields_read(const struct field *, const char *key, struct json *, struct tables *, void *row, uint32_t *seen);
/* Fails if one is missing that must be there. */
void fields_done(const struct field *, struct json *, uint32_t seen);

/* A root has neither root nor offset; a view has them, and neither class nor rank. */
#define VALUE_OFFSET_NONE UINT64_MAX

extern const struct field layer_fields[], param_fields[], lane_fields[], value_fields[], cost_fields[], gang_fields[],
    tag_fields[], op_fields[], stage_fields[], override_fields[];

#endif
