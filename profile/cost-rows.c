#include "profile/cost-rows.h"

#include <string.h>

#include "profile/read.h"

static void number(GString *out, const char *name, uint64_t x)
{
    g_string_append(out, name);
    json_uint(out, x);
}

static void gemms(const struct cost_key *key, GString *out)
{
    for (unsigned i = 0, n = cost_gemms(key); i < n; i++) {
        const struct gemm *g = &key->gemms[i];
        number(out, i ? ",[" : ",\"gemms\":[[", g->m);
        number(out, ",", g->n);
        number(out, ",", g->k);
        number(out, ",", g->batch);
        g_string_append(out, i + 1 == n ? "]]" : "]");
    }
}

void cost_key_json(const struct cost_key *key, GString *out)
{
    g_string_append(out, "\"kind\":");
    json_string(out, op_name(key->kind));
    g_string_append(out, ",\"algo\":");
    json_string(out, allreduce_name(key->algo));
    g_string_append(out, ",\"shape\":");
    json_string(out, key->shape);
    number(out, ",\"bytes\":", key->bytes);
    number(out, ",\"flops\":", key->flops);
    number(out, ",\"rows\":", key->rows);
    number(out, ",\"kernels\":", key->kernels);
    number(out, ",\"members\":", key->members);
    if (key->nodes > 1)
        number(out, ",\"nodes\":", key->nodes);
    g_string_append(out, ",\"share\":");
    json_double(out, key->share);
    gemms(key, out);
}

struct cost_key cost_key_none(void)
{
    return (struct cost_key){.shape = "", .members = 1, .kind = OP_KINDS};
}

static void read_gemms(struct json *j, struct cost_key *key)
{
    unsigned n = 0;
    memset(key->gemms, 0, sizeof key->gemms);
    for (json_array(j); json_element(j); n++) {
        uint32_t size[4] = {0};
        unsigned i = 0;
        for (json_array(j); json_element(j); i++) {
            uint32_t x = json_u32(j, i < 2, UINT32_MAX);
            if (i < G_N_ELEMENTS(size))
                size[i] = x;
        }
        if (i != G_N_ELEMENTS(size) || n == COST_GEMMS)
            json_fail(j, "should be at most %d products of [m, n, k, batch]", COST_GEMMS);
        else
            key->gemms[n] = (struct gemm){size[0], size[1], size[2], size[3]};
    }
}

static void read_shape(struct json *j, GStringChunk *strings, struct cost_key *key)
{
    key->shape = NULL;
    if (json_peek(j) == JSON_NULL)
        json_skip(j);
    else
        key->shape = g_string_chunk_insert_const(strings, json_text(j));
}

bool cost_key_member(struct json *j, const char *name, GStringChunk *strings, struct cost_key *key)
{
    if (!strcmp(name, "kind"))
        key->kind = read_name(j, op_name, OP_KINDS);
    else if (!strcmp(name, "algo"))
        key->algo = read_name(j, allreduce_name, ALLREDUCES);
    else if (!strcmp(name, "shape"))
        read_shape(j, strings, key);
    else if (!strcmp(name, "bytes"))
        key->bytes = json_u64(j, UINT64_MAX);
    else if (!strcmp(name, "flops"))
        key->flops = json_u64(j, UINT64_MAX);
    else if (!strcmp(name, "rows"))
        key->rows = json_u32(j, 0, UINT32_MAX);
    else if (!strcmp(name, "kernels"))
        key->kernels = json_u32(j, 0, UINT32_MAX);
    else if (!strcmp(name, "members"))
        key->members = (uint16_t)json_u32(j, 0, UINT16_MAX);
    else if (!strcmp(name, "nodes"))
        key->nodes = (uint16_t)json_u32(j, 0, UINT16_MAX);
    else if (!strcmp(name, "gemms"))
        read_gemms(j, key);
    else if (!strcmp(name, "share") && json_peek(j) != JSON_NULL)
        key->share = json_number(j);
    else
        return false;
    return true;
}
