#include "plan/fields.h"

#include <string.h>

#include "plan/plan.h"

/* Members are of many types: their bytes are copied. */
static uint64_t get(const struct field *f, const void *row)
{
    const char *at = (const char *)row + f->offset;
    uint8_t x8;
    uint16_t x16;
    uint32_t x32;
    uint64_t x64;
    switch (f->type) {
    case FIELD_U8:
    case FIELD_NAME:
        return memcpy(&x8, at, sizeof x8), x8;
    case FIELD_U16:
        return memcpy(&x16, at, sizeof x16), x16;
    case FIELD_U32:
        return memcpy(&x32, at, sizeof x32), x32;
    default:
        return memcpy(&x64, at, sizeof x64), x64;
    }
}

static void put(const struct field *f, void *row, uint64_t x)
{
    char *at = (char *)row + f->offset;
    const uint8_t x8 = (uint8_t)x;
    const uint16_t x16 = (uint16_t)x;
    const uint32_t x32 = (uint32_t)x;
    switch (f->type) {
    case FIELD_U8:
    case FIELD_NAME:
        memcpy(at, &x8, sizeof x8);
        break;
    case FIELD_U16:
        memcpy(at, &x16, sizeof x16);
        break;
    case FIELD_U32:
        memcpy(at, &x32, sizeof x32);
        break;
    case FIELD_TEXT:
        *(const char **)(void *)at = NULL;
        break;
    case FIELD_DOUBLE:
        *(double *)(void *)at = 0;
        break;
    default:
        memcpy(at, &x, sizeof x);
    }
}

static const char *const *text_at(const struct field *f, const void *row)
{
    return (const char *const *)(const void *)((const char *)row + f->offset);
}

static const double *double_at(const struct field *f, const void *row)
{
    return (const double *)(const void *)((const char *)row + f->offset);
}

static void write_value(const struct field *f, const void *row, GString *out)
{
    if (f->type == FIELD_TEXT)
        json_string(out, *text_at(f, row));
    else if (f->type == FIELD_DOUBLE)
        json_double(out, *double_at(f, row));
    else if (f->type == FIELD_NAME)
        json_string(out, f->name((unsigned)get(f, row)));
    else
        json_uint(out, get(f, row));
}

void fields_write(const struct field *f, const void *row, GString *out)
{
    for (; f->key; f++)
        if (f->must || get(f, row) != f->none) {
            g_string_append_printf(out, ",\"%s\":", f->key);
            write_value(f, row, out);
        }
}

void fields_clear(const struct field *f, void *row)
{
    for (; f->key; f++)
        put(f, row, f->none);
}

static uint64_t read_name(const struct field *f, struct json *j)
{
    const char *text = json_text(j);
    for (unsigned i = 0; i < f->names; i++)
        if (!strcmp(text, f->name(i)))
            return i;
    json_fail(j, "there is no %s \"%s\"; write \"%s\" or another of its names", f->key, text, f->name(0));
    return 0;
}

static void read_value(const struct field *f, struct json *j, struct tables *t, void *row)
{
    static const uint64_t max[] = {[FIELD_U8] = UINT8_MAX,
                                   [FIELD_U16] = UINT16_MAX,
                                   [FIELD_U32] = UINT32_MAX,
                                   [FIELD_U64] = UINT64_MAX,
                                   [FIELD_BYTES] = FIELD_BYTES_MAX};
    if (f->type == FIELD_TEXT)
        *(const char **)text_at(f, row) = tables_intern(t, json_text(j));
    else if (f->type == FIELD_DOUBLE)
        *(double *)double_at(f, row) = json_number(j);
    else
        put(f, row, f->type == FIELD_NAME ? read_name(f, j) : json_u64(j, max[f->type]));
}

bool fields_read(const struct field *fields, const char *key, struct json *j, struct tables *t, void *row,
                 uint32_t *seen)
{
    for (const struct field *f = fields; f->key; f++)
        if (!strcmp(key, f->key)) {
            read_value(f, j, t, row);
            *seen |= 1u << (f - fields);
            return true;
        }
    return false;
}

void fields_done(const struct field *fields, struct json *j, uint32_t seen)
{
    for (const struct field *f = fields; f->key; f++)
        if (f->must && !(seen >> (f - fields) & 1))
            json_fail(j, "the row has no \"%s\", add it", f->key);
}

/* --- the rows */

#define MUST(key, row, member, type)                                                                         \
    {                                                                                                        \
        key, offsetof(struct row, member), FIELD_##type, true                                                \
    }
#define NAME(key, row, member, name, names)                                                                  \
    {                                                                                                        \
        key, offsetof(struct row, member), FIELD_NAME, true, 0, names, name                                  \
    }
#define MAYBE(key, row, member, type, none)                                                                  \
    {                                                                                                        \
        key, offsetof(struct row, member), FIELD_##type, false, none                                         \
    }
#define MAYBE_NAME(key, row, member, name, names)                                                            \
    {                                                                                                        \
        key, offsetof(struct row, member), FIELD_NAME, false, 0, names, name                                 \
    }

const struct field layer_fields[] = {
    MUST("name", layer_row, name, TEXT), MUST("block", layer_row, block, TEXT), {0}};

const struct field param_fields[] = {MUST("name", param_row, name, TEXT),
                                     MUST("bytes", param_row, bytes, BYTES),
                                     MUST("layer", param_row, layer, U32),
                                     MAYBE("bucket", param_row, bucket, U32, OP_NONE),
                                     {0}};

const struct field lane_fields[] = {MUST("name", lane, name, TEXT),
                                    NAME("class", lane, cls, lane_class_name, LANE_CLASSES),
                                    MUST("rank", lane, rank, U32),
                                    MUST("device", lane, device, U32),
                                    MAYBE("node", lane, node, U32, 0),
                                    MAYBE("peer", lane, peer, U32, OP_NONE),
                                    {0}};

const struct field value_fields[] = {
    MAYBE("root", value, root, U32, OP_NONE),
    MAYBE("offset", value, offset, BYTES, VALUE_OFFSET_NONE),
    MUST("bytes", value, bytes, BYTES),
    {"class", offsetof(struct value, cls), FIELD_NAME, false, VALUE_CLASSES, VALUE_CLASSES, value_class_name},
    MAYBE("rank", value, rank, U32, OP_NONE),
    MAYBE("index", value, index, U32, OP_NONE),
    MAYBE("micro", value, micro, U32, 0),
    MAYBE("version", value, version, U32, 0),
    {0}};

const struct field cost_fields[] = {NAME("kind", cost_key, kind, op_name, OP_KINDS),
                                    NAME("algo", cost_key, algo, allreduce_name, ALLREDUCES),
                                    MUST("shape", cost_key, shape, TEXT),
                                    MUST("rows", cost_key, rows, U32),
                                    MUST("bytes", cost_key, bytes, U64),
                                    MUST("flops", cost_key, flops, U64),
                                    MUST("kernels", cost_key, kernels, U32),
                                    MUST("members", cost_key, members, U16),
                                    MAYBE("nodes", cost_key, nodes, U16, 0),
                                    MUST("share", cost_key, share, DOUBLE),
                                    MAYBE("paired", cost_key, paired, U8, 0),
                                    {0}};

const struct field gang_fields[] = {MUST("shift", gang, shift, U32), {0}};

const struct field tag_fields[] = {NAME("kind", op_tag, kind, op_name, OP_KINDS),
                                   MAYBE_NAME("algo", op_tag, algo, allreduce_name, ALLREDUCES),
                                   MAYBE_NAME("collective", op_tag, collective, collective_name, COLLECTIVES),
                                   MAYBE("pair", op_tag, pair, U8, PAIR_NONE),
                                   MAYBE("layer0", op_tag, layer0, U16, LAYER_NONE),
                                   MAYBE("layer1", op_tag, layer1, U16, LAYER_NONE),
                                   MAYBE("chunk", op_tag, chunk, U16, LAYER_NONE),
                                   MAYBE("hop", op_tag, hop, U16, LAYER_NONE),
                                   MAYBE("stage", op_tag, stage, U16, STAGE_NONE),
                                   MAYBE("micro", op_tag, micro, U32, 0),
                                   MAYBE("version", op_tag, version, U32, 0),
                                   MAYBE("step", op_tag, step, U32, 0),
                                   MAYBE("bucket", op_tag, bucket, U32, OP_NONE),
                                   MAYBE("gang", op_tag, gang, U32, OP_NONE),
                                   MAYBE("coll", op_tag, coll, U32, OP_NONE),
                                   MAYBE("bytes", op_tag, bytes, BYTES, 0),
                                   {0}};

const struct field op_fields[] = {MUST("lane", op, lane, U32), MUST("cost", op, cost, U32), {0}};

const struct field stage_fields[] = {MUST("rank", stage_row, rank, U32),
                                     MUST("layer0", stage_row, layer0, U32),
                                     MUST("layer1", stage_row, layer1, U32),
                                     {0}};

const struct field override_fields[] = {MAYBE("layers", model_override, layers, U32, 0),
                                        MAYBE("d_model", model_override, d, U32, 0),
                                        MAYBE("heads", model_override, heads, U32, 0),
                                        MAYBE("ff", model_override, ff, U32, 0),
                                        MAYBE("vocab", model_override, vocab, U32, 0),
                                        MAYBE("seq_len", model_override, seq, U32, 0),
                                        {0}};
