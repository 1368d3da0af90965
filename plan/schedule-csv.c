#include <string.h>

#include "base/bom.h"
#include "plan/schedule.h"

struct reader {
    const char *at, *end, *name;
    unsigned line;
    GArray *list;  /* struct action */
    GArray *first; /* of each rank, uint32_t */
    uint32_t n_stages, n_micro;
};

struct span {
    const char *at, *end;
};

/* What a token's letters mean; those that move data do nothing here. */
static const struct word {
    const char *text;
    enum action_kind kind; /* ACTION_KINDS: skipped */
} words[] = {
    {"F", ACTION_F},
    {"B", ACTION_B},
    {"I", ACTION_I},
    {"W", ACTION_W},
    {"SEND_F", ACTION_KINDS},
    {"RECV_F", ACTION_KINDS},
    {"SEND_B", ACTION_KINDS},
    {"RECV_B", ACTION_KINDS},
    {"UNSHARD", ACTION_KINDS},
    {"RESHARD", ACTION_KINDS},
    {"REDUCE_GRAD", ACTION_KINDS},
};

#define SHOWN_MAX 40

static bool fail(const struct reader *r, struct span token, GError **error, const char *what)
{
    const gsize n = (gsize)(token.end - token.at);
    g_autofree char *start = g_strndup(token.at, MIN(n, SHOWN_MAX));
    g_autofree char *shown = n && !*start ? g_strdup("\\0") : g_strescape(start, NULL);
    g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT, "%s:%u: '%s%s' %s", r->name, r->line, shown,
                n > SHOWN_MAX ? "..." : "", what);
    return false;
}

static struct span trim(struct span s)
{
    while (s.at < s.end && (*s.at == ' ' || *s.at == '\t' || *s.at == '\r'))
        s.at++;
    while (s.at < s.end && (s.end[-1] == ' ' || s.end[-1] == '\t' || s.end[-1] == '\r'))
        s.end--;
    return s;
}

/* Up to the separator, or all; what is left begins behind it. */
static struct span cut(struct span *from, char separator)
{
    const char *stop =
        from->at < from->end ? memchr(from->at, separator, (gsize)(from->end - from->at)) : NULL;
    const struct span piece = {from->at, stop ? stop : from->end};
    from->at = stop ? stop + 1 : from->end;
    return piece;
}

/* Digits at s->at; `limit` stands for all that is not below it. */
static bool number(struct span *s, uint32_t limit, uint32_t *value)
{
    const char *begin = s->at;
    *value = 0;
    for (; s->at < s->end && g_ascii_isdigit(*s->at); s->at++)
        *value = MIN(limit, 10 * *value + (uint32_t)(*s->at - '0'));
    return s->at > begin;
}

static const struct word *find_word(struct span *s)
{
    const char *begin = s->at;
    while (s->at < s->end && (g_ascii_isupper(*s->at) || *s->at == '_'))
        s->at++;
    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
        if (strlen(words[i].text) == (gsize)(s->at - begin) &&
            memcmp(words[i].text, begin, (gsize)(s->at - begin)) == 0)
            return &words[i];
    return NULL;
}

#define FORM "is no action, write stage, F, B, I or W, and micro-batch: 2F0, or (0F3;7B1)OVERLAP_F_B"

/* 2F0 or 3SEND_B1 or 0UNSHARD; kind is ACTION_KINDS for what is skipped. */
static bool read_action(const struct reader *r, struct span token, struct action *a, GError **error)
{
    struct span s = token;
    uint32_t stage, micro;
    if (!number(&s, SCHEDULE_STAGES_MAX, &stage))
        return fail(r, token, error, FORM);
    const struct word *word = find_word(&s);
    const bool numbered = number(&s, SCHEDULE_MICRO_MAX, &micro);
    if (!word || s.at < s.end || (word->kind != ACTION_KINDS && !numbered))
        return fail(r, token, error, FORM);
    if (stage >= SCHEDULE_STAGES_MAX)
        return fail(r, token, error, "has a stage out of range, give 0 to 65534");
    if (micro >= SCHEDULE_MICRO_MAX)
        return fail(r, token, error, "has a micro-batch out of range, give 0 to 16777215");
    *a = (struct action){micro, (uint16_t)stage, (uint8_t)word->kind, 0};
    return true;
}

static bool keep(struct reader *r, struct span token, struct action a, GError **error)
{
    if (r->list->len == SCHEDULE_ACTIONS_MAX)
        return fail(r, token, error, "is one action too many: a file may have 67108864");
    r->n_stages = MAX(r->n_stages, a.stage + 1u);
    r->n_micro = MAX(r->n_micro, a.micro + 1u);
    g_array_append_val(r->list, a);
    return true;
}

/* (0F3;7B1), with OVERLAP_F_B behind it, as PyTorch's reader demands, or without. */
static bool read_pair(struct reader *r, struct span token, GError **error)
{
    struct span inner = {token.at + 1, token.end};
    struct span inside = cut(&inner, ')');
    const struct span behind = trim(inner);
    const gsize n = (gsize)(behind.end - behind.at);
    const struct span one = trim(cut(&inside, ';')), two = trim(inside);
    struct action a, b;
    if (inside.end == token.end || (n && (n != strlen("OVERLAP_F_B") || memcmp(behind.at, "OVERLAP_F_B", n))))
        return fail(r, token, error, FORM);
    if (!read_action(r, one, &a, error) || !read_action(r, two, &b, error))
        return false;
    if (a.kind != ACTION_F || (b.kind != ACTION_B && b.kind != ACTION_I))
        return fail(r, token, error, "is no pair of an F and a B or I");
    a.paired = 1;
    return keep(r, token, a, error) && keep(r, token, b, error);
}

static bool read_row(struct reader *r, struct span row, GError **error)
{
    while (row.at < row.end) {
        const struct span token = trim(cut(&row, ','));
        struct action a;
        if (token.at == token.end)
            continue;
        if (*token.at == '(') {
            if (!read_pair(r, token, error))
                return false;
        } else if (!read_action(r, token, &a, error) ||
                   (a.kind != ACTION_KINDS && !keep(r, token, a, error))) {
            return false;
        }
    }
    return true;
}

/* A row a rank, so that row and rank count alike: only behind the last rank may rows be empty. */
static bool read_rows(struct reader *r, GError **error)
{
    struct span all = {r->at, r->end};
    unsigned empty = 0;
    while (all.at < all.end) {
        const uint32_t before = r->list->len;
        r->line++;
        if (!read_row(r, cut(&all, '\n'), error))
            return false;
        if (r->list->len == before) {
            empty = empty ? empty : r->line;
            continue;
        }
        if (empty || r->first->len == PLAN_RANKS_MAX) {
            g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                        empty ? "%s:%u: a rank without actions, remove the row"
                              : "%s:%u: a rank too many, the most is 4096",
                        r->name, empty ? empty : r->line);
            return false;
        }
        g_array_append_val(r->first, before);
    }
    if (r->first->len)
        return true;
    g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT, "%s: no actions, is this the right file?", r->name);
    return false;
}

/* Takes the list over. */
static void settle(struct reader *r, struct actions *a)
{
    actions_init(a, r->first->len, r->n_stages, r->n_micro);
    const uint32_t n = a->room = r->list->len;
    a->n_ranks = r->first->len;
    a->list = (struct action *)(void *)g_array_free(g_steal_pointer(&r->list), FALSE);
    memcpy(a->first, r->first->data, a->n_ranks * sizeof *a->first);
    a->first[a->n_ranks] = n;
    memset(a->rank, 0xff, a->n_stages * sizeof *a->rank);
    for (uint32_t rank = 0; rank < a->n_ranks; rank++)
        for (uint32_t i = a->first[rank]; i < a->first[rank + 1]; i++)
            if (a->rank[a->list[i].stage] == ACTION_NONE)
                a->rank[a->list[i].stage] = rank;
}

static bool prove(const struct reader *r, const struct actions *a, GError **error)
{
    struct actions_fault fault;
    if (actions_prove(a, &fault))
        return true;
    g_autofree char *what = fault.what;
    if (fault.rank == ACTION_NONE)
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT, "%s: %s", r->name, what);
    else if (fault.action == ACTION_NONE)
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT, "%s:%u: %s", r->name, fault.rank + 1, what);
    else {
        g_autofree char *text = action_text(&a->list[a->first[fault.rank] + fault.action]);
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT, "%s:%u: '%s', action %u of rank %u, %s", r->name,
                    fault.rank + 1, text, fault.action, fault.rank, what);
    }
    return false;
}

bool actions_read_csv(const char *text, size_t n, const char *name, struct actions *a, GError **error)
{
    struct reader r = {.at = text + bom_bytes(text, n), .end = text + n, .name = name};
    r.list = g_array_new(FALSE, FALSE, sizeof(struct action));
    r.first = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    bool ok = read_rows(&r, error);
    if (ok) {
        settle(&r, a);
        ok = prove(&r, a, error);
        if (!ok)
            actions_release(a);
    }
    if (r.list)
        g_array_free(r.list, TRUE);
    g_array_free(r.first, TRUE);
    return ok;
}

static void put_number(GString *out, uint32_t value)
{
    char digits[10];
    unsigned n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    while (n)
        g_string_append_c(out, digits[--n]);
}

static void put_action(GString *out, const struct action *a)
{
    put_number(out, a->stage);
    g_string_append_c(out, action_letter(a->kind));
    put_number(out, a->micro);
}

void actions_write_csv(const struct actions *a, GString *out)
{
    for (uint32_t r = 0; r < a->n_ranks; r++) {
        for (uint32_t i = a->first[r]; i < a->first[r + 1]; i++) {
            const bool paired = a->list[i].paired;
            if (i > a->first[r])
                g_string_append_c(out, ',');
            if (paired)
                g_string_append_c(out, '(');
            put_action(out, &a->list[i]);
            if (paired) {
                g_string_append_c(out, ';');
                put_action(out, &a->list[++i]);
                g_string_append(out, ")OVERLAP_F_B");
            }
        }
        g_string_append(out, "\r\n");
    }
}
