/* Dropout, attention, embeddings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/kernels.h"

enum { SEQ = 5 };

/* What is dropped is the same, element by element. */
static void same_kept(const struct operand *o)
{
    float *got = malloc((o->n + 1) * sizeof(float));
    get(o, got);
    size_t other = 0;
    for (size_t i = 0; i < o->n; i++)
        other += (got[i] == 0) != (o->wide[i] == 0);
    CHECK(other == 0);
    free(got);
}

static void one_dropout(size_t rows, size_t n, unsigned way)
{
    const struct k_dropout drop = {77, 2, SEQ, 0.4};
    struct operand x = operand(rows * n, 1), y = operand(rows * n, 1), z = operand(rows * n, 1),
                   bias = operand(n, 1);
    BOTH(k->dropout(s, rows, n, &drop, side(&x, w), side(&y, w)))
    same_kept(&y);
    CLOSE(&y, tolerance[FEW]);
    BOTH(k->residual(s, rows, n, way & 1 ? side(&bias, w) : NULL, way & 2 ? side(&x, w) : NULL,
                     way & 4 ? &drop : NULL, side(&z, w)))
    BOTH(k->dropout(s, rows, n, &drop, side(&z, w), side(&z, w)))
    CLOSE(&z, tolerance[FEW]);
    SAME(&x);
    SAME(&bias);
}

void test_dropout(void)
{
    each_size(one_dropout);
}

/* The very elements that the CPU keeps, whatever the key, and a sample's the same in any batch. */
void test_kept(void)
{
    enum { SAMPLES = 8, N = 997, ALL = SAMPLES * SEQ * N };
    static const double p[] = {0, 0.01, 0.1, 0.5, 0.9};
    float *whole = malloc(ALL * sizeof(float)), *parts = malloc(ALL * sizeof(float));
    for (size_t way = 0; way < COUNT(p); way++) {
        struct k_dropout drop = {way * 0x123456789abcu, 3 + (way << 40), SEQ, p[way]};
        struct operand x = operand(ALL, 1), y = operand(ALL, 1), z = operand(ALL, 1);
        about("p %g", p[way]);
        BOTH(k->dropout(s, SAMPLES * SEQ, N, &drop, side(&x, w), side(&y, w)))
        same_kept(&y);
        get(&y, whole);
        for (size_t sample = 0; sample < SAMPLES; sample += 2, drop.first += 2)
            BOTH(k->dropout(s, 2 * SEQ, N, &drop, (char *)side(&x, w) + sample * SEQ * N * (w ? 4 : 8),
                            (char *)side(&z, w) + sample * SEQ * N * (w ? 4 : 8)))
        get(&z, parts);
        CHECK(memcmp(whole, parts, ALL * sizeof(float)) == 0);
        CLOSE(&y, tolerance[FEW]);
        CLOSE(&z, tolerance[FEW]);
        SAME(&x);
        give_back();
    }
    free(whole);
    free(parts);
}

/* Every row of probabilities sums to 1 and is 0 behind a causal row's own place. */
static void rows_of_one(const struct operand *probs, size_t seq, int causal)
{
    float *got = malloc((probs->n + 1) * sizeof(float));
    get(probs, got);
    for (size_t r = 0; r < probs->n / seq; r++) {
        double total = 0;
        for (size_t j = 0; j < seq; j++)
            total += got[r * seq + j];
        for (size_t j = r % seq + 1; j < seq && causal; j++)
            CHECK(got[r * seq + j] == 0);
        CHECK_CLOSE(total, 1, 1e-6);
    }
    free(got);
}

static void one_attention(const size_t *shape, double scale, int causal, double p)
{
    const size_t batch = shape[0], heads = shape[1], seq = shape[2], dh = shape[3];
    const struct k_dropout some = {0x123456789abcdefu, 3, heads * seq, p}, *drop = p > 0 ? &some : NULL;
    const size_t d = batch * seq * heads * dh, square = batch * heads * seq * seq;
    struct operand qkv = operand(3 * d, scale), probs = operand(square, 1), out = operand(d, 1),
                   dout = operand(d, 1), dprobs = operand(square, 1), dropped = operand(square, 1),
                   dqkv = operand(3 * d, 1);
    about("batch %zu heads %zu seq %zu dh %zu, scale %g causal %d p %g", batch, heads, seq, dh, scale, causal,
          p);
    BOTH(k->attention(s, batch, heads, seq, dh, causal, drop, side(&qkv, w), side(&probs, w),
                      drop ? side(&dropped, w) : NULL, side(&out, w)))
    rows_of_one(&probs, seq, causal);
    BOTH(k->attention_grad(s, batch, heads, seq, dh, drop, side(&dout, w), side(&qkv, w), side(&probs, w),
                           drop ? side(&dropped, w) : NULL, side(&dprobs, w), side(&dqkv, w)))
    /* Scores of 100 are rounded to 1e-5, and so are their exponentials. */
    const double loose = scale > 1 ? 1e-4 : tolerance[GRADIENTS];
    CLOSE(&probs, loose);
    CLOSE(&out, loose);
    CLOSE(&dqkv, loose);
    CLOSE(&dprobs, INFINITY);
    CLOSE(&dropped, INFINITY);
    SAME(&qkv);
    SAME(&dout);
    give_back();
}

void test_attention(void)
{
    static const size_t shapes[][4] = {{0, 2, 3, 4},  {1, 1, 1, 1},    {1, 1, 3, 5},   {2, 3, 17, 5},
                                       {3, 1, 65, 3}, {1, 2, 130, 17}, {2, 8, 32, 64}, {1, 3, 33, 1},
                                       {5, 2, 17, 8}, {1, 1, 270, 4}};
    unsigned turn = 0;
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (unsigned way = 0; way < WAYS; way++) {
            if (turn++ % thin())
                continue;
            misalign(way);
            one_attention(shapes[i], turn % 4 == 1 ? 8 : 1, turn % 4 >= 2, turn % 4 == 3 ? 0.3 : 0);
        }
}

void test_sine(void)
{
    static const size_t shapes[][2] = {{1, 1}, {5, 7}, {300, 12}, {17, 130}};
    for (unsigned way = 0; way < WAYS; way++) {
        const size_t *shape = shapes[way % COUNT(shapes)];
        about("%zu positions of %zu", shape[0], shape[1]);
        misalign(way);
        struct operand y = operand(shape[0] * shape[1], 1);
        BOTH(k->sine(s, shape[0], shape[1], side(&y, w)))
        CLOSE(&y, tolerance[FEW]);
        give_back();
    }
}

static void one_embedding(const size_t *shape, unsigned way)
{
    const size_t samples = shape[0], seq = shape[1], d = shape[2], vocab = shape[3], types = shape[4];
    const size_t rows = samples * seq, positions = way % 3 ? seq + 2 : way % 2 ? seq - 1 : 0;
    const int forward = positions >= seq;
    const double scale = way & 1 ? 3.5 : 1;
    struct indexes token = indexes(rows, (uint32_t)vocab);
    struct operand word = operand(vocab * d, 1), position = operand(positions * d, 1),
                   type = operand(types * d, 1), y = operand(rows * d, 1), dy = operand(rows * d, 1);
    about("%zu samples, seq %zu, d %zu, vocab %zu, %zu positions, %zu types", samples, seq, d, vocab,
          positions, types);
    BOTH(k->embed(s, rows, seq, d, scale, token.of[w], side(&word, w), forward ? side(&position, w) : NULL,
                  types ? side(&type, w) : NULL, side(&y, w)))
    CLOSE(&y, tolerance[FEW]);
    for (int accumulate = way >> 1 & 1; accumulate < 2; accumulate++)
        BOTH(k->embed_grad(s, rows, seq, d, vocab, positions, types, scale, token.of[w], side(&dy, w),
                           side(&word, w), positions ? side(&position, w) : NULL,
                           types ? side(&type, w) : NULL, accumulate))
    CLOSE(&word, tolerance[SUMS]);
    CLOSE(&position, tolerance[SUMS]);
    CLOSE(&type, tolerance[SUMS]);
    SAME(&dy);
    drop_indexes(&token);
    give_back();
}

void test_embedding(void)
{
    static const size_t shapes[][5] = {{0, 3, 5, 7, 2},   {1, 1, 1, 2, 0},    {3, 5, 17, 2, 0},
                                       {2, 65, 3, 40, 1}, {4, 33, 130, 9, 2}, {5, 7, 65, 300, 3},
                                       {2, 9, 1100, 5, 2}};
    unsigned turn = 0;
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (unsigned way = 0; way < WAYS; way++) {
            if (turn++ % thin())
                continue;
            misalign(way);
            one_embedding(shapes[i], way);
        }
}

/* A gradient of words of more tokens than a block has threads, from all one word to hardly any twice. */
void test_words(void)
{
    enum { ROWS = 1100, D = 5 };
    static const uint32_t vocabularies[] = {1, 3, 90, 8100};
    for (size_t i = 0; i < COUNT(vocabularies); i++) {
        const uint32_t vocab = vocabularies[i];
        struct indexes token = indexes(ROWS, vocab);
        struct operand word = operand(vocab * D, 1), dy = operand(ROWS * D, 1);
        about("%u words", vocab);
        BOTH(k->embed_grad(s, ROWS, 1, D, vocab, 0, 0, 1, token.of[w], side(&dy, w), side(&word, w), NULL,
                           NULL, 0))
        CLOSE(&word, tolerance[SUMS]);
        SAME(&dy);
        drop_indexes(&token);
        give_back();
    }
}

static void one_bag(size_t batch, size_t d, unsigned way)
{
    enum { VOCAB = 7 };
    struct indexes token = indexes(batch * SEQ, VOCAB);
    struct operand word = operand(VOCAB * d, 1), y = operand(batch * d, 1), dy = operand(batch * d, 1);
    BOTH(k->bag(s, batch, SEQ, d, token.of[w], side(&word, w), side(&y, w)))
    CLOSE(&y, tolerance[FEW]);
    BOTH(k->bag_grad(s, batch, SEQ, d, VOCAB, token.of[w], side(&dy, w), side(&word, w), way & 1))
    CLOSE(&word, tolerance[SUMS]);
    SAME(&dy);
    drop_indexes(&token);
}

void test_bag(void)
{
    each_size(one_bag);
}
