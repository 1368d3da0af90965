#include "exec/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec/random.h"
#include "exec/words.h"
#include "plan/plan.h"

#define PIECE_BYTES  65536
#define FILE_MAX     ((uint64_t)4 << 30)
#define TOKENS_MAX   (UINT32_C(1) << 28)
#define WORDS_MAX    (UINT32_C(1) << 22)
#define UNKNOWN      UINT32_MAX
#define UNKNOWN_WORD "<unk>"

struct word {
    const char *text;
    uint32_t count, number; /* count: where the vocabulary is from; number: by first occurrence */
};

struct text {
    const struct model *model;
    char *path;
    bool in_parts;
    uint64_t n_samples;
    uint32_t *tokens, n_tokens, room; /* numbers of words by first occurrence, then of the vocabulary */
    struct word *words;
    uint32_t n_words, room_words, n_vocabulary;
    GStringChunk *strings;
    GHashTable *numbers; /* word -> number, while the file is read */
    bool full;           /* TOKENS_MAX words were read and there are more */
};

static bool refuse(const char *path, GError **error, const char *format, ...) G_GNUC_PRINTF(3, 4);
static bool refuse(const char *path, GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *what = g_strdup_vprintf(format, args), *name = g_filename_display_name(path);
    va_end(args);
    g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT, "--data %s: %s", name, what);
    return false;
}

/* --- reading */

static uint32_t number_of(struct text *t, const char *word)
{
    gpointer number;
    if (g_hash_table_lookup_extended(t->numbers, word, NULL, &number))
        return GPOINTER_TO_UINT(number);
    if (t->n_words == WORDS_MAX)
        return UNKNOWN;
    if (t->n_words == t->room_words) {
        t->room_words = MAX(2 * t->room_words, 1024);
        t->words = g_renew(struct word, t->words, t->room_words);
    }
    char *own = g_string_chunk_insert(t->strings, word);
    t->words[t->n_words] = (struct word){own, 0, t->n_words};
    g_hash_table_insert(t->numbers, own, GUINT_TO_POINTER(t->n_words));
    return t->n_words++;
}

static void take(void *user, const char *word)
{
    struct text *t = user;
    if (t->n_tokens == TOKENS_MAX) {
        t->full = true;
        return;
    }
    if (t->n_tokens == t->room) {
        t->room = MAX(2 * t->room, 4096);
        t->tokens = g_renew(uint32_t, t->tokens, t->room);
    }
    t->tokens[t->n_tokens++] = number_of(t, word);
}

static bool read_words(struct text *t, int file, const char *path, GError **error)
{
    struct words words = {.take = take, .user = t};
    char piece[PIECE_BYTES];
    uint64_t bytes = 0;
    for (;;) {
        ssize_t n = read(file, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return refuse(path, error, "cannot read it: %s", g_strerror(errno));
        if (n == 0)
            break;
        if (memchr(piece, 0, (size_t)n))
            return refuse(path, error,
                          "is no text, it has NUL bytes; give a text in UTF-8 (of UTF-16: iconv -f UTF-16)");
        bytes += (uint64_t)n;
        words_feed(&words, piece, (size_t)n);
        if (bytes > FILE_MAX || t->full)
            return refuse(path, error, "is larger than 4 GiB or 268435456 words, give a part of it");
    }
    words_end(&words);
    return true;
}

static bool check_file(int file, const char *path, GError **error)
{
    struct stat st;
    if (fstat(file, &st))
        return refuse(path, error, "cannot read it: %s", g_strerror(errno));
    if (!S_ISREG(st.st_mode))
        return refuse(path, error, "is %s, give a text file",
                      S_ISDIR(st.st_mode) ? "a directory" : "no regular file");
    if ((uint64_t)st.st_size > FILE_MAX)
        return refuse(path, error, "is larger than 4 GiB, give a part of it");
    return true;
}

/* --- the vocabulary */

static int by_frequency(const void *a, const void *b)
{
    const struct word *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Where a part begins: in tenths, parts one after another. */
static uint64_t part_begin(const struct text *t, enum data_part part)
{
    static const unsigned tenths[] = {[DATA_VALID] = 8, [DATA_TEST] = 9, [DATA_PARTS] = 10};
    return t->n_samples / 10 * tenths[part] + t->n_samples % 10 * tenths[part] / 10;
}

static void count_samples(struct text *t)
{
    const struct model *model = t->model;
    const uint32_t ahead = model->task == TASK_TOKENS;
    t->n_samples = t->n_tokens > ahead ? (t->n_tokens - ahead) / model->dims.seq : 0;
}

static void number_tokens(struct text *t)
{
    g_autofree uint32_t *token_of = g_new0(uint32_t, (gsize)t->n_words + 1);
    const uint64_t n_counted = t->in_parts ? part_begin(t, DATA_VALID) * t->model->dims.seq : t->n_tokens;
    for (uint64_t i = 0; i < n_counted; i++)
        if (t->tokens[i] != UNKNOWN)
            t->words[t->tokens[i]].count++;
    if (t->n_words)
        qsort(t->words, t->n_words, sizeof *t->words, by_frequency);
    t->n_vocabulary = 1;
    for (uint32_t i = 0; i < t->n_words && t->words[i].count && t->n_vocabulary < t->model->dims.vocab; i++)
        token_of[t->words[i].number] = t->n_vocabulary++;
    for (uint32_t i = 0; i < t->n_tokens; i++)
        t->tokens[i] = t->tokens[i] == UNKNOWN ? 0 : token_of[t->tokens[i]];
}

struct text *text_open(const char *path, const struct model *model, bool in_parts, GError **error)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer must not block */
    if (file < 0) {
        refuse(path, error, "cannot open it: %s", g_strerror(errno));
        return NULL;
    }
    struct text *t = g_new0(struct text, 1);
    *t = (struct text){.model = model,
                       .path = g_strdup(path),
                       .in_parts = in_parts,
                       .strings = g_string_chunk_new(PIECE_BYTES)};
    t->numbers = g_hash_table_new(g_str_hash, g_str_equal);
    bool ok = check_file(file, path, error) && read_words(t, file, path, error);
    close(file);
    g_clear_pointer(&t->numbers, g_hash_table_destroy);
    if (!ok) {
        text_close(t);
        return NULL;
    }
    count_samples(t);
    number_tokens(t);
    return t;
}

void text_close(struct text *t)
{
    if (!t)
        return;
    g_string_chunk_free(t->strings);
    g_free(t->path);
    g_free(t->words);
    g_free(t->tokens);
    g_free(t);
}

bool text_part(const struct text *t, enum data_part part, uint32_t batch, struct text_part *out,
               GError **error)
{
    static const char *const whats[DATA_PARTS] = {[DATA_ALL] = "the text",
                                                  [DATA_TRAIN] = "the part of the text to train on",
                                                  [DATA_VALID] = "the part of the text to validate",
                                                  [DATA_TEST] = "the part of the text to test"};
    const bool all = part == DATA_ALL;
    const uint64_t first = all ? 0 : part_begin(t, part),
                   n = (all ? t->n_samples : part_begin(t, part + 1)) - first;
    *out = (struct text_part){t, first, n, batch};
    return n >= batch ||
           refuse(t->path, error,
                  "%s has %" G_GUINT64_FORMAT
                  " samples of %u words, fewer than the batch of %u; give a longer text, a smaller --%s or "
                  "a smaller --seq-len",
                  whats[part], n, t->model->dims.seq, batch,
                  part == DATA_VALID || part == DATA_TEST ? "eval-batch" : "batch");
}

char *text_name(const struct text *t)
{
    return g_filename_display_basename(t->path);
}

const char *text_word(const struct text *t, uint32_t token)
{
    if (token >= t->n_vocabulary)
        return NULL;
    return token ? t->words[token - 1].text : UNKNOWN_WORD;
}

/* --- samples */

/* Entry i of a permutation of [0, n): a Feistel network on the smallest even number of bits that holds n,
 * walked until it lands below n again (Black and Rogaway 2002). */
static uint64_t permuted(uint64_t key, uint64_t i, uint64_t n)
{
    enum { ROUNDS = 6 };
    unsigned half = 1;
    while (((n - 1) >> half) >> half)
        half++;
    uint64_t mask = ((uint64_t)1 << half) - 1;
    do {
        uint64_t left = i >> half, right = i & mask;
        for (unsigned round = 0; round < ROUNDS; round++) {
            uint64_t next = left ^ (random_numbered(random_numbered(key, round), right) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}

uint64_t text_index(const struct text_part *p, uint64_t seed, uint32_t step, uint32_t sample)
{
    const uint64_t n = p->n, steps = (n + p->batch - 1) / p->batch, epoch = step / steps;
    return p->first +
           permuted(random_numbered(random_mix(seed), epoch), (step % steps * p->batch + sample) % n, n);
}

void text_fill(const struct text_part *p, uint64_t seed, uint32_t step, uint32_t first, uint32_t n,
               int32_t *out)
{
    const struct text *t = p->text;
    const struct dims *d = &t->model->dims;
    int32_t *target = out + (size_t)n * d->seq;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *window = t->tokens + text_index(p, seed, step, first + i) * d->seq;
        for (uint32_t j = 0; j < d->seq; j++)
            out[(size_t)i * d->seq + j] = (int32_t)window[j];
        if (t->model->task == TASK_CLASS)
            target[i] = (int32_t)(window[0] % d->classes);
        else
            for (uint32_t j = 0; j < d->seq; j++)
                target[(size_t)i * d->seq + j] = (int32_t)window[j + 1];
    }
}
