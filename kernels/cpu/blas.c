/* The one door to BLAS: OpenBLAS, opened when first needed, since linking it would cost every start of the
 * program. */
#include "kernels/cpu/fast.h"

#if defined __has_feature
#if __has_feature(thread_sanitizer)
#define WITHOUT_BLAS
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define WITHOUT_BLAS
#endif

#ifdef WITHOUT_BLAS /* it is not instrumented */

const char *k_cpu_open(void)
{
    return NULL;
}

int fast_gemm(void *stream, int ta, int tb, size_t m, size_t n, size_t k, double alpha, const void *a,
              size_t lda, const void *b, size_t ldb, double beta, void *c, size_t ldc)
{
    return k_ref_f32.gemm(stream, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

#else

#include <cblas.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>

static __typeof__(cblas_sgemm) *sgemm;

const char *k_cpu_open(void)
{
    if (sgemm)
        return NULL;
    /* OpenBLAS reads it as it is loaded.  One thread: the ranks are threads already. */
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void *blas = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!blas)
        blas = dlopen("libopenblas.so", RTLD_NOW | RTLD_LOCAL);
    if (!blas)
        return "libopenblas.so.0 cannot be opened: install OpenBLAS (Debian: libopenblas0-pthread)";
    __typeof__(openblas_set_num_threads) *set_threads = dlsym(blas, "openblas_set_num_threads");
    sgemm = dlsym(blas, "cblas_sgemm");
    if (!set_threads || !sgemm) {
        sgemm = NULL;
        dlclose(blas);
        return "libopenblas.so.0 lacks cblas_sgemm: install OpenBLAS with CBLAS (Debian: "
               "libopenblas0-pthread)";
    }
    set_threads(1);
    return NULL;
}

static int fits(size_t a, size_t b, size_t c)
{
    return a <= INT_MAX && b <= INT_MAX && c <= INT_MAX;
}

int fast_gemm(void *stream, int ta, int tb, size_t m, size_t n, size_t k, double alpha, const void *a,
              size_t lda, const void *b, size_t ldb, double beta, void *c, size_t ldc)
{
    (void)stream;
    if (!fits(m, n, k) || !fits(lda, ldb, ldc))
        return -1;
    sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, (int)m, (int)n,
          (int)k, (float)alpha, a, (int)lda, b, (int)ldb, (float)beta, c, (int)ldc);
    return 0;
}

#endif
