#include "sim/cost-model.h"

#include <string.h>

#include "base/decimal.h"
#include "plan/plan.h"

#define NS_PER_UNIT 1e6
#define LEGAL       "write unit:F=1,B=1,W=1,C=0, maybe FB=3, each at most once, each number 0 or more"

/* Forward, input gradient, weight gradient, latency of a hop, a pair of forward and backward. */
enum letter { LETTER_F, LETTER_B, LETTER_W, LETTER_C, LETTER_FB, LETTERS };
static const char *const letters[LETTERS] = {"F", "B", "W", "C", "FB"};

struct cost_unit {
    struct cost_model model; /* first */
    double units[LETTERS];
    bool given[LETTERS];
    char name[160];
};

/* What the parts of a pair take of it, by what they take alone. */
static double paired(const struct cost_unit *u, const struct cost_key *key)
{
    const double sum = u->units[LETTER_F] + u->units[LETTER_B] + u->units[LETTER_W];
    return key->paired && u->given[LETTER_FB] && sum > 0 ? u->units[LETTER_FB] / sum : 1;
}

static bool unit_price(const struct cost_model *model, const struct cost_key *key, struct cost *out,
                       GError **error)
{
    const struct cost_unit *u = (const struct cost_unit *)model;
    double units = 0;
    bool hop = op_lane_class(key->kind) == LANE_COMM;
    switch (key->kind) {
    case OP_FWD:
    case OP_RECOMPUTE:
        units = key->share * u->units[LETTER_F] * paired(u, key);
        break;
    case OP_BWD:
        units = key->share * (u->units[LETTER_B] + u->units[LETTER_W]) * paired(u, key);
        break;
    case OP_BWD_INPUT:
        units = key->share * u->units[LETTER_B] * paired(u, key);
        break;
    case OP_BWD_WEIGHT:
        units = key->share * u->units[LETTER_W] * paired(u, key);
        break;
    case OP_EXCHANGE:
    case OP_EXCHANGE_ADD:
    case OP_SEND:
    case OP_RECV:
    case OP_RECV_ADD:
        units = u->units[LETTER_C];
        break;
    case OP_BROADCAST:
    case OP_REDUCE:
        units = cost_rounds(key->members) * u->units[LETTER_C];
        break;
    case OP_SCATTER: /* one piece after another */
    case OP_GATHER:
    case OP_ALLGATHER:
        units = (MAX(key->members, 1) - 1) * u->units[LETTER_C];
        break;
    case OP_ALLREDUCE: /* the ring's hops */
        units = 2.0 * (MAX(key->members, 1) - 1) * u->units[LETTER_C];
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

static unsigned find_letter(const char *term, size_t length)
{
    unsigned letter = 0;
    while (letter < LETTERS && (strncmp(term, letters[letter], length) || strlen(letters[letter]) != length))
        letter++;
    return letter;
}

static bool parse_term(struct cost_unit *u, const char *term, size_t length, GError **error)
{
    const char *sign = memchr(term, '=', length);
    const unsigned letter = sign ? find_letter(term, (size_t)(sign - term)) : LETTERS;
    double number;
    if (letter == LETTERS || u->given[letter] ||
        !parse_number(sign + 1, length - (size_t)(sign + 1 - term), &number)) {
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT, "cost unit: cannot take \"%.*s\"; " LEGAL,
                    (int)MIN(length, 60), term);
        return false;
    }
    u->given[letter] = true;
    u->units[letter] = number;
    return true;
}

static bool parse_spec(struct cost_unit *u, const char *spec, GError **error)
{
    for (const char *at = spec; *spec;) {
        size_t length = strcspn(at, ",");
        if (!parse_term(u, at, length, error))
            return false;
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    return true;
}

/* A pair that nobody gave is the sum, and not named. */
static void name_canonically(struct cost_unit *u)
{
    size_t used = g_strlcpy(u->name, "unit:", sizeof u->name);
    for (unsigned i = 0; i < LETTERS && (i != LETTER_FB || u->given[i]); i++) {
        char number[G_ASCII_DTOSTR_BUF_SIZE];
        g_ascii_formatd(number, sizeof number, "%.12g", u->units[i]);
        used +=
            g_snprintf(u->name + used, sizeof u->name - used, "%s%s=%s", i ? "," : "", letters[i], number);
    }
    u->model.name = u->name;
}

struct cost_model *cost_unit_new(const char *spec, GError **error)
{
    struct cost_unit *u = g_new(struct cost_unit, 1);
    *u = (struct cost_unit){.model = {.price = unit_price}, .units = {1, 1, 1, 0, 0}};
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
