/* Every kernel of the GPU's table against the double reference: at sizes that are multiples of nothing, at
 * every misalignment of four bytes of every operand, between fences.  kernels [--short] [TEST]; without a GPU
 * it is skipped. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/kernels.h"

/* The same inputs give the same bits, whatever was computed between. */
static void test_deterministic(void)
{
    enum { ROWS = 1500, N = 97, VOCAB = 11 };
    struct operand x = operand(ROWS * N, 1), mean = operand(ROWS, 1), rstd = operand(ROWS, 1),
                   gamma = operand(N, 1);
    struct operand out[2][5];
    struct indexes token = indexes(ROWS, VOCAB);
    struct doubles sums[2];
    const double zero[2] = {0};
    const struct k_table *k = &k_cuda_f32;
    for (int turn = 0; turn < 2; turn++) {
        static const size_t sizes[] = {N, N, N, VOCAB * N, ROWS * N};
        for (size_t i = 0; i < 5; i++)
            out[turn][i] = operand(sizes[i], 1);
        struct operand *o = out[turn];
        doubles(&sums[turn], 2, zero);
        CHECK(k->bias_grad(stream, ROWS, N, x.narrow, N, o[0].narrow, 0) == 0);
        CHECK(k->add_norm_grad(stream, ROWS, N, x.narrow, x.narrow, gamma.narrow, mean.narrow, rstd.narrow,
                               NULL, o[4].narrow, o[1].narrow, o[2].narrow, 0) == 0);
        CHECK(k->embed_grad(stream, ROWS, 3, N, VOCAB, 0, 0, 1, token.of[1], x.narrow, o[3].narrow, NULL,
                            NULL, 0) == 0);
        CHECK(k->sum_squares(stream, ROWS * N, x.narrow, sums[turn].of[1]) == 0);
        to_host(sums[turn].host, sums[turn].of[1], sizeof(double));
    }
    for (size_t i = 0; i < 5; i++) {
        fetch(&out[0][i]);
        fetch(&out[1][i]);
        CHECK(memcmp(out[0][i].wide, out[1][i].wide, out[0][i].n * sizeof(double)) == 0);
        CLOSE(&out[0][i], 0);
        CLOSE(&out[1][i], 0);
    }
    CHECK(sums[0].host[0] == sums[1].host[0] && sums[0].host[0] > 0);
    struct operand *rest[] = {&x, &mean, &rstd, &gamma};
    for (size_t i = 0; i < COUNT(rest); i++)
        SAME(rest[i]);
    drop_indexes(&token);
}

/* What was launched is counted, and recognised by name. */
static void test_counts(void)
{
    struct operand x = operand(40, 1);
    const struct k_cuda_counts before = k_cuda_counted(stream);
    CHECK(k_cuda_f32.zero(stream, 40, x.narrow) == 0);
    CHECK(k_cuda_f32.zero(stream, 0, x.narrow) == 0);
    CHECK(k_cuda_f32.gemm(stream, 0, 0, 2, 2, 2, 1, x.narrow, 2, x.narrow + 4, 2, 0, x.narrow + 8, 2) == 0);
    CHECK(k_cuda_f32.gemm(stream, 0, 0, 0, 2, 2, 1, x.narrow, 2, x.narrow + 4, 2, 0, x.narrow + 8, 2) == 0);
    const struct k_cuda_counts after = k_cuda_counted(stream);
    CHECK(after.own == before.own + 1);
    CHECK(after.products == before.products + 1);
    CHECK(k_cuda_owns("_ZN1k4zeroEmPf"));
    CHECK(k_cuda_owns("_ZN1k8add_normILi32EEEvmmPKfS2_S2_S2_S2_PfS3_S3_S3_"));
    CHECK(!k_cuda_owns("_ZN2kk4zeroEmPf"));
    CHECK(!k_cuda_owns("_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"));
    CHECK(!k_cuda_owns("_ZN1k"));
    memset(x.wide, 0, 40 * sizeof(double));
    CLOSE(&x, 0);
}

/* A wait ends no earlier than so long after its mark. */
static void test_wait(void)
{
    enum { WAIT = 100000000 };
    uint64_t *mark = on_device(2 * sizeof *mark), times[2];
    CHECK(k_cuda_mark(stream, mark) == 0);
    CHECK(k_cuda_wait(stream, mark, WAIT) == 0);
    CHECK(k_cuda_mark(stream, mark + 1) == 0);
    to_host(times, mark, sizeof times);
    CHECK(times[1] - times[0] >= WAIT);
    CHECK(times[1] - times[0] < 1000000000 * 60ull);
}

static void test_text(void)
{
    CHECK(strstr(k_cuda_text(700), "illegal memory access"));
    CHECK(strcmp(k_cuda_text(K_CUDA_BLAS + 3), "CUBLAS_STATUS_ALLOC_FAILED") == 0);
}

/* Products of a stream with TF32 are near enough; those without are not rounded.  What the hardware does it
 * may do. */
static void test_tf32(void)
{
    struct k_cuda_stream *plain = stream, *rounding;
    struct operand a = operand(64 * 64, 1), b = operand(64 * 64, 1), c = operand(64 * 64, 8);
    c.unit = 8;
    CHECK(k_cuda_open(k_cuda_raw(plain), 1, &rounding) == 0);
    stream = rounding;
    BOTH(k->gemm(s, 0, 1, 64, 64, 64, 1, side(&a, w), 64, side(&b, w), 64, 0, side(&c, w), 64))
    CLOSE(&c, 1e-3);
    stream = plain;
    SAME(&a);
    SAME(&b);
    k_cuda_close(rounding);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"gemm", test_gemm},
        {"gemm-empty", test_gemm_empty},
        {"tf32", test_tf32},
        {"bias", test_bias},
        {"bias-grad", test_bias_grad},
        {"bias-grad-long", test_bias_grad_long},
        {"norm", test_norm},
        {"norm-rows", test_norm_rows},
        {"attention", test_attention},
        {"dropout", test_dropout},
        {"kept", test_kept},
        {"apart", test_apart},
        {"activation", test_activation},
        {"gelu-values", test_gelu_values},
        {"tanh", test_tanh},
        {"sine", test_sine},
        {"embedding", test_embedding},
        {"words", test_words},
        {"bag", test_bag},
        {"cross-entropy", test_cross_entropy},
        {"losses", test_losses},
        {"elementwise", test_elementwise},
        {"bits", test_bits},
        {"sum", test_sum},
        {"sgd", test_sgd},
        {"adam", test_adam},
        {"total", test_total},
        {"clip", test_clip},
        {"deterministic", test_deterministic},
        {"counts", test_counts},
        {"wait", test_wait},
        {"text", test_text},
    };
    return run_tests(argc, argv, tests, COUNT(tests));
}
