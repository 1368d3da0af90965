#include "sim/cost-model.h"

#include <string.h>

#include "base/decimal.h"
#include "plan/plan.h"

#define NS_PER_UNIT 1e6
#define LETTERS     "FBWC"
#define LEGAL       "write unit:F=1,B=1,W=1,C=0, each letter at most once, each number 0 or more"

struct cost_unit {
    struct cost_model model; /* first */
    double units[sizeof LETTERS - 1];
    char name[128];
};

static double unit(const struct cost_unit *u, char letter)
{
    return u->units[strchr(LETTERS, letter) - LETTERS];
}

static bool unit_price(const struct cost_model *model, const struct cost_key *key, struct cost *out,
                       GError **error)
{
    const struct cost_unit *u = (const struct cost_unit *)model;
    double units = 0;
    bool hop = op_lane_class(key->kind) == LANE_COMM;
    switch (key->kind) {
    case OP_FWD:
        units = key->share * unit(u, 'F');
        break;
    case OP_BWD:
        units = key->share * (unit(u, 'B') + unit(u, 'W'));
        break;
    case OP_EXCHANGE:
    case OP_EXCHANGE_ADD:
    case OP_SEND:
    case OP_RECV:
    case OP_RECV_ADD:
        units = unit(u, 'C');
        break;
    case OP_BROADCAST:
        units = cost_rounds(key->members) * unit(u, 'C');
        break;
    case OP_ALLREDUCE: /* the ring's hops */
        units = 2.0 * (MAX(key->members, 1) - 1) * unit(u, 'C');
        break;
    }
    out->alone_ns = cost_round_ns(key, units * NS_PER_UNIT, error);
    out->work_ns = hop ? 0 : out->alone_ns; /* C is a latency */
    return out->alone_ns >= 0;
}

static bool parse_number(const char *text, size_t length, double *out)
{
    const bool has_sign = *text == '-' || *text == '+';
    return !has_sign && decimal_double(text, text + length, out);
}

static bool parse_term(struct cost_unit *u, const char *term, size_t length, bool *seen, GError **error)
{
    const char *letter = length ? strchr(LETTERS, *term) : NULL;
    double number;
    if (!letter || length < 2 || term[1] != '=' || seen[letter - LETTERS] ||
        !parse_number(term + 2, length - 2, &number)) {
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT, "cost unit: cannot take \"%.*s\"; " LEGAL,
                    (int)MIN(length, 60), term);
        return false;
    }
    seen[letter - LETTERS] = true;
    u->units[letter - LETTERS] = number;
    return true;
}

static bool parse_spec(struct cost_unit *u, const char *spec, GError **error)
{
    bool seen[sizeof LETTERS - 1] = {false};
    for (const char *at = spec; *spec;) {
        size_t length = strcspn(at, ",");
        if (!parse_term(u, at, length, seen, error))
            return false;
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    return true;
}

static void name_canonically(struct cost_unit *u)
{
    size_t used = g_strlcpy(u->name, "unit:", sizeof u->name);
    for (size_t i = 0; i < G_N_ELEMENTS(u->units); i++) {
        char number[G_ASCII_DTOSTR_BUF_SIZE];
        g_ascii_formatd(number, sizeof number, "%.12g", u->units[i]);
        used +=
            g_snprintf(u->name + used, sizeof u->name - used, "%s%c=%s", i ? "," : "", LETTERS[i], number);
    }
    u->model.name = u->name;
}

struct cost_model *cost_unit_new(const char *spec, GError **error)
{
    struct cost_unit *u = g_new(struct cost_unit, 1);
    *u = (struct cost_unit){.model = {.price = unit_price}, .units = {1, 1, 1, 0}};
    if (!parse_spec(u, spec, error)) {
        g_free(u);
        return NULL;
    }
    name_canonically(u);
    return &u->model;
}

unsigned cost_rounds(unsigned members)
{
    return members > 1 ? g_bit_storage(members - 1) : 0;
}

void cost_model_free(struct cost_model *model)
{
    g_free(model); /* each is one block */
}
