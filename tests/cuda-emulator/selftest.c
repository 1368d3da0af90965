/* tests/cuda-emulator/selftest.c -- drives the stand-ins as a program would the real libraries: `selftest
 * CASE`. Prints what is wrong and exits with 1; what the emulator has to complain about is up to
 * tests/cuda-emulator.sh. */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <math.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(x)                                                                                             \
    do {                                                                                                     \
        if (!(x)) {                                                                                          \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x);                                \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)
#define CUDA(x)  CHECK((x) == cudaSuccess)
#define BLAS(x)  CHECK((x) == CUBLAS_STATUS_SUCCESS)
#define NCCL(x)  CHECK((x) == ncclSuccess)
#define CUPTI(x) CHECK((x) == CUPTI_SUCCESS)

static cudaStream_t new_stream(void)
{
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

static float *device_floats(const float *from, size_t n)
{
    void *p;
    CUDA(cudaMalloc(&p, n * sizeof(float)));
    if (from) { /* from pageable memory, which is not there yet when the call returns */
        CUDA(cudaMemcpy(p, from, n * sizeof(float), cudaMemcpyHostToDevice));
        CUDA(cudaDeviceSynchronize());
    }
    return p;
}

/* --- cuBLAS */

enum { WORKSPACE = 4096 };

static cublasHandle_t new_handle(cudaStream_t stream, void *workspace)
{
    cublasHandle_t handle;
    BLAS(cublasCreate(&handle));
    BLAS(cublasSetStream(handle, stream));
    if (workspace)
        BLAS(cublasSetWorkspace(handle, workspace, WORKSPACE));
    return handle;
}

static float *random_floats(size_t n)
{
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(rand() % 2001 - 1000) / 1000;
    return x;
}

/* Against sums in double.  With beta 0 the poison in c must not be read. */
static void check_product(cublasHandle_t handle, cudaStream_t stream, int ta, int tb, float beta)
{
    enum { M = 5, N = 7, K = 3, BATCHES = 2, LD = 9 };
    float alpha = 0.5f, *a = random_floats(BATCHES * 100), *b = random_floats(BATCHES * 100),
          *c = random_floats(BATCHES * 100), *got = malloc(BATCHES * 100 * sizeof *got);
    float *da = device_floats(a, BATCHES * 100), *db = device_floats(b, BATCHES * 100),
          *dc = device_floats(beta == 0 ? NULL : c, BATCHES * 100);
    BLAS(cublasSgemmStridedBatched(handle, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, M,
                                   N, K, &alpha, da, LD, 100, db, LD, 100, &beta, dc, LD, 100, BATCHES));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(got, dc, BATCHES * 100 * sizeof *got, cudaMemcpyDeviceToHost));
    for (int batch = 0; batch < BATCHES; batch++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < M; i++) {
                const float *x = a + 100 * batch, *y = b + 100 * batch;
                double sum = 0;
                for (int l = 0; l < K; l++)
                    sum += (double)(ta ? x[l + i * LD] : x[i + l * LD]) *
                           (double)(tb ? y[j + l * LD] : y[l + j * LD]);
                double want =
                    0.5 * sum + (beta == 0 ? 0 : (double)beta * (double)c[100 * batch + i + j * LD]);
                CHECK(fabs(want - (double)got[100 * batch + i + j * LD]) < 1e-6);
            }
    CUDA(cudaFree(da));
    CUDA(cudaFree(db));
    CUDA(cudaFree(dc));
    free(a), free(b), free(c), free(got);
}

static void products(void)
{
    cudaStream_t stream = new_stream();
    float *workspace = device_floats(NULL, WORKSPACE / sizeof(float));
    cublasHandle_t handle = new_handle(stream, workspace);
    for (int way = 0; way < 8; way++)
        check_product(handle, stream, way & 1, way >> 1 & 1, way & 4 ? 0.25f : 0);

    /* A thousandth more than 1 is there in float, not in TF32. */
    float one = 1, zero = 0, x[2] = {1 + 0x1p-13f, 1}, got;
    float *p = device_floats(x, 2), *q = device_floats(NULL, 1);
    for (int tf32 = 0; tf32 < 2; tf32++) {
        BLAS(cublasSetMathMode(handle, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH));
        BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, p, 1, p + 1, 1, &zero, q, 1));
        CUDA(cudaStreamSynchronize(stream));
        CUDA(cudaMemcpy(&got, q, sizeof got, cudaMemcpyDeviceToHost));
        CHECK(got == (tf32 ? 1 : x[0]));
    }
    BLAS(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, p, CUDA_R_32F, 1, p + 1, CUDA_R_32F, 1,
                      &zero, q, CUDA_R_32F, 1, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT));
    CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 1, 1, &one, p, 1, p, 1, &zero, q, 2) ==
          CUBLAS_STATUS_INVALID_VALUE);
    CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, NULL, p, 1, p, 1, &zero, q, 1) ==
          CUBLAS_STATUS_INVALID_VALUE);
    CHECK(cublasSgemm(NULL, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, p, 1, p, 1, &zero, q, 1) ==
          CUBLAS_STATUS_NOT_INITIALIZED);
    BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 0, 1, 1, &one, NULL, 1, NULL, 1, &zero, NULL, 1));
    CUDA(cudaStreamSynchronize(stream));
    BLAS(cublasDestroy(handle));
    CUDA(cudaFree(p));
    CUDA(cudaFree(q));
    CUDA(cudaFree(workspace));
    CUDA(cudaStreamDestroy(stream));
}

/* One product a stream of two, on buffers of its own; one workspace for both, or none. */
static void two_products(int with_workspace)
{
    float one = 1, zero = 0, x[4] = {1, 2, 3, 4}, *workspace = device_floats(NULL, WORKSPACE / sizeof(float));
    cublasHandle_t handle[2];
    float *p = device_floats(x, 4), *q[2];
    for (int i = 0; i < 2; i++) {
        handle[i] = new_handle(new_stream(), with_workspace ? workspace : NULL);
        q[i] = device_floats(NULL, 4);
    }
    for (int i = 0; i < 2; i++)
        BLAS(cublasSgemm(handle[i], CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, p, 2, p, 2, &zero, q[i], 2));
    CUDA(cudaDeviceSynchronize());
}

static void no_workspace(void)
{
    two_products(0);
}

static void shared_workspace(void)
{
    two_products(1);
}

static void leaked_handle(void)
{
    cublasHandle_t handle;
    BLAS(cublasCreate(&handle));
}

/* --- NCCL */

enum { RANKS = 3, COUNT = 10 };
struct rank {
    ncclComm_t comm;
    cudaStream_t stream;
    float *send, *receive;
};
static struct rank rank[RANKS];

#define ALL(call)                                                                                            \
    NCCL(ncclGroupStart());                                                                                  \
    for (int r = 0; r < RANKS; r++) {                                                                        \
        CUDA(cudaSetDevice(r));                                                                              \
        NCCL(call);                                                                                          \
    }                                                                                                        \
    NCCL(ncclGroupEnd())

static void rest(void)
{
    for (int r = 0; r < RANKS; r++)
        CUDA(cudaStreamSynchronize(rank[r].stream));
}

static void start_ranks(int connected)
{
    ncclComm_t comms[RANKS];
    NCCL(ncclCommInitAll(comms, RANKS, NULL));
    for (int r = 0; r < RANKS; r++) {
        float x[COUNT];
        for (int i = 0; i < COUNT; i++)
            x[i] = (float)(100 * r + i);
        CUDA(cudaSetDevice(r));
        rank[r] = (struct rank){comms[r], new_stream(), device_floats(x, COUNT),
                                device_floats(NULL, RANKS * COUNT)};
    }
    if (!connected)
        return;
    ALL(ncclAllReduce(rank[r].send, rank[r].receive, COUNT, ncclFloat, ncclSum, rank[r].comm,
                      rank[r].stream));
    rest();
    NCCL(ncclGroupStart());
    NCCL(ncclSend(rank[0].send, COUNT, ncclFloat, 1, rank[0].comm, rank[0].stream));
    NCCL(ncclRecv(rank[1].receive, COUNT, ncclFloat, 0, rank[1].comm, rank[1].stream));
    NCCL(ncclGroupEnd());
    rest();
}

static void end_ranks(int abort)
{
    for (int r = 0; r < RANKS; r++) {
        CUDA(cudaSetDevice(r));
        NCCL(abort ? ncclCommAbort(rank[r].comm) : ncclCommDestroy(rank[r].comm));
    }
    for (int r = 0; r < RANKS; r++) {
        CUDA(cudaSetDevice(r));
        CUDA(cudaStreamSynchronize(rank[r].stream));
        CUDA(cudaStreamDestroy(rank[r].stream));
        CUDA(cudaFree(rank[r].send));
        CUDA(cudaFree(rank[r].receive));
    }
}

static const float *gathered(int r)
{
    static float x[RANKS * COUNT];
    CUDA(cudaSetDevice(r));
    CUDA(cudaStreamSynchronize(rank[r].stream));
    CUDA(cudaMemcpy(x, rank[r].receive, sizeof x, cudaMemcpyDeviceToHost));
    return x;
}

static const float *received(int r)
{
    return gathered(r);
}

static void collectives(void)
{
    start_ranks(1);
    ALL(ncclAllReduce(rank[r].send, rank[r].receive, COUNT, ncclFloat, ncclSum, rank[r].comm,
                      rank[r].stream));
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < COUNT; i++)
            CHECK(received(r)[i] == (float)(300 + 3 * i));
    ALL(ncclBroadcast(rank[r].send, rank[r].receive, COUNT, ncclFloat, 2, rank[r].comm, rank[r].stream));
    for (int r = 0; r < RANKS; r++)
        CHECK(received(r)[1] == 201);
    ALL(ncclReduce(rank[r].send, rank[r].receive, COUNT, ncclFloat, ncclMin, 1, rank[r].comm,
                   rank[r].stream));
    CHECK(received(1)[3] == 3);
    CHECK(received(0)[3] == 203);
    ALL(ncclAllGather(rank[r].send, rank[r].receive, COUNT, ncclFloat, rank[r].comm, rank[r].stream));
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < COUNT; i++)
            CHECK(gathered(r)[r * COUNT + i] == (float)(100 * r + i) &&
                  gathered(r)[2 * COUNT + i] == (float)(200 + i));
    /* In place: a rank's own part is where it will be. */
    ALL(ncclAllGather(rank[r].receive + (size_t)r * COUNT, rank[r].receive, COUNT, ncclFloat, rank[r].comm,
                      rank[r].stream));
    CHECK(gathered(0)[2 * COUNT] == 200 && gathered(2)[1] == 1);
    /* Each sends to the next and receives from the one before it, in one group. */
    NCCL(ncclGroupStart());
    for (int r = 0; r < RANKS; r++) {
        CUDA(cudaSetDevice(r));
        NCCL(ncclSend(rank[r].send, COUNT, ncclFloat, (r + 1) % RANKS, rank[r].comm, rank[r].stream));
        NCCL(ncclRecv(rank[r].receive, COUNT, ncclFloat, (r + RANKS - 1) % RANKS, rank[r].comm,
                      rank[r].stream));
    }
    NCCL(ncclGroupEnd());
    for (int r = 0; r < RANKS; r++)
        CHECK(received(r)[5] == (float)(100 * ((r + RANKS - 1) % RANKS) + 5));
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    NCCL(ncclGroupStart());
    NCCL(ncclAllReduce(rank[0].send, rank[0].receive, COUNT, ncclFloat, ncclSum, rank[0].comm,
                       rank[0].stream));
    NCCL(ncclGroupSimulateEnd(&info));
    CHECK(info.estimatedTime > 0);
    CHECK(ncclAllReduce(NULL, NULL, COUNT, ncclFloat, ncclSum, rank[0].comm, rank[0].stream) ==
          ncclInvalidArgument);
    CHECK(ncclAllReduce(rank[0].send, rank[0].send, COUNT, ncclFloat, ncclSum, NULL, rank[0].stream) ==
          ncclInvalidArgument);
    CHECK(ncclGetLastError(NULL)[0]);
    end_ranks(0);
}

/* Nothing is buffered: a send ends with its receive. */
static void rendezvous(void)
{
    start_ranks(1);
    CUDA(cudaSetDevice(0));
    NCCL(ncclSend(rank[0].send, COUNT, ncclFloat, 1, rank[0].comm, rank[0].stream));
    usleep(20000);
    CHECK(cudaStreamQuery(rank[0].stream) == cudaErrorNotReady);
    CUDA(cudaSetDevice(1));
    NCCL(ncclRecv(rank[1].receive, COUNT, ncclFloat, 0, rank[1].comm, rank[1].stream));
    CHECK(received(1)[4] == 4);
    CUDA(cudaSetDevice(0));
    CUDA(cudaStreamSynchronize(rank[0].stream));
    end_ranks(0);
}

/* What comes later on a channel waits for what came before, and a pair sees its own messages only. */
static void in_order(void)
{
    start_ranks(1);
    for (int k = 0; k < 2; k++) {
        CUDA(cudaSetDevice(0));
        NCCL(ncclSend(rank[0].send + k, 1, ncclFloat, 1, rank[0].comm, rank[0].stream));
    }
    CUDA(cudaSetDevice(1));
    for (int k = 0; k < 2; k++)
        NCCL(ncclRecv(rank[1].receive + k, 1, ncclFloat, 0, rank[1].comm, rank[1].stream));
    CHECK(received(1)[0] == 0 && received(1)[1] == 1);
    end_ranks(0);
}

/* Two ranks that both send first: neither ends. */
static void crossed(void)
{
    start_ranks(1);
    NCCL(ncclGroupStart()); /* connected the other way too */
    NCCL(ncclSend(rank[1].send, 1, ncclFloat, 0, rank[1].comm, rank[1].stream));
    NCCL(ncclRecv(rank[0].receive, 1, ncclFloat, 1, rank[0].comm, rank[0].stream));
    NCCL(ncclGroupEnd());
    CUDA(cudaStreamSynchronize(rank[0].stream));
    CUDA(cudaStreamSynchronize(rank[1].stream));
    for (int r = 0; r < 2; r++) {
        CUDA(cudaSetDevice(r));
        NCCL(ncclSend(rank[r].send, COUNT, ncclFloat, 1 - r, rank[r].comm, rank[r].stream));
        NCCL(ncclRecv(rank[r].receive, COUNT, ncclFloat, 1 - r, rank[r].comm, rank[r].stream));
    }
    usleep(20000);
    for (int r = 0; r < 2; r++)
        CHECK(cudaStreamQuery(rank[r].stream) == cudaErrorNotReady);
    end_ranks(1);
}

static void unequal(void)
{
    start_ranks(1);
    NCCL(ncclGroupStart());
    NCCL(ncclSend(rank[0].send, COUNT, ncclFloat, 1, rank[0].comm, rank[0].stream));
    NCCL(ncclRecv(rank[1].receive, COUNT - 1, ncclFloat, 0, rank[1].comm, rank[1].stream));
    NCCL(ncclGroupEnd());
    end_ranks(0);
}

/* What is received is a write like any other: nobody waits for it before it is overwritten. */
static void unordered(void)
{
    start_ranks(1);
    NCCL(ncclGroupStart());
    NCCL(ncclSend(rank[0].send, COUNT, ncclFloat, 1, rank[0].comm, rank[0].stream));
    NCCL(ncclRecv(rank[1].receive, COUNT, ncclFloat, 0, rank[1].comm, rank[1].stream));
    NCCL(ncclGroupEnd());
    CUDA(cudaSetDevice(1));
    cudaStream_t other = new_stream();
    CUDA(cudaMemsetAsync(rank[1].receive, 0, 8, other));
    CUDA(cudaStreamSynchronize(other));
    CUDA(cudaStreamDestroy(other));
    end_ranks(0);
}

/* One rank's call alone, of a communicator that has not done the like, while the other's waits. */
static void unconnected(void)
{
    start_ranks(0);
    for (int r = 0; r < 2; r++) {
        CUDA(cudaSetDevice(r));
        NCCL(r ? ncclRecv(rank[1].receive, COUNT, ncclFloat, 0, rank[1].comm, rank[1].stream)
               : ncclSend(rank[0].send, COUNT, ncclFloat, 1, rank[0].comm, rank[0].stream));
    }
    end_ranks(0);
}

/* Receives that wait on every multiprocessor. */
static void crowded(void)
{
    enum { MANY = 5 };
    ncclComm_t comms[MANY][2];
    cudaStream_t stream[MANY];
    float *p = device_floats(NULL, 1);
    for (int i = 0; i < MANY; i++) {
        CUDA(cudaSetDevice(0));
        NCCL(ncclCommInitAll(comms[i], 2, NULL));
        stream[i] = new_stream();
        CUDA(cudaSetDevice(1));
    }
    for (int i = 0; i < MANY; i++) {
        CUDA(cudaSetDevice(0));
        NCCL(ncclRecv(p, 1, ncclFloat, 1, comms[i][0], stream[i]));
    }
    usleep(20000);
    for (int i = 0; i < MANY; i++) {
        NCCL(ncclCommAbort(comms[i][0]));
        NCCL(ncclCommAbort(comms[i][1]));
        CUDA(cudaStreamSynchronize(stream[i]));
        CUDA(cudaStreamDestroy(stream[i]));
    }
    CUDA(cudaFree(p));
}

static void uneven(void)
{
    start_ranks(1);
    ALL(ncclAllReduce(rank[r].send, rank[r].receive, r == 1 ? COUNT - 1 : COUNT, ncclFloat, ncclSum,
                      rank[r].comm, rank[r].stream));
    end_ranks(0);
}

static void duplicate(void)
{
    ncclComm_t comms[2];
    int same[2] = {0, 0};
    CHECK(ncclCommInitAll(comms, 2, same) == ncclInvalidUsage);
    CHECK(!strstr(ncclGetLastError(NULL), "Duplicate"));
    ncclUniqueId id;
    NCCL(ncclGetUniqueId(&id));
    NCCL(ncclGroupStart());
    for (int r = 0; r < 2; r++)
        NCCL(ncclCommInitRank(&comms[r], 2, id, r));
    CHECK(ncclGroupEnd() == ncclInvalidUsage);
    CHECK(strstr(ncclGetLastError(NULL), "Duplicate GPU detected"));
}

/* Two of three wait; an abort ends it. */
static void aborted(void)
{
    start_ranks(1);
    for (int r = 0; r < 2; r++) {
        CUDA(cudaSetDevice(r));
        NCCL(ncclAllReduce(rank[r].send, rank[r].receive, COUNT, ncclFloat, ncclSum, rank[r].comm,
                           rank[r].stream));
    }
    usleep(20000);
    CHECK(cudaStreamQuery(rank[1].stream) == cudaErrorNotReady);
    end_ranks(1);
}

static void pending_allocation(void)
{
    void *p;
    start_ranks(1);
    CUDA(cudaSetDevice(0));
    NCCL(ncclAllReduce(rank[0].send, rank[0].receive, COUNT, ncclFloat, ncclSum, rank[0].comm,
                       rank[0].stream));
    CUDA(cudaMalloc(&p, 100));
    end_ranks(1);
}

/* --- CUPTI */

static struct {
    unsigned kernels, copies, external, api, zero, inverted, early, lazy;
    uint32_t copy; /* correlation of the last */
} seen;
static struct {
    uint32_t correlation;
    uint64_t id;
} ids[64];

static void give_buffer(uint8_t **buffer, size_t *size, size_t *records)
{
    *size = 2048; /* small: many are out and full */
    *buffer = aligned_alloc(64, *size);
    *records = 0;
}

static uint64_t id_of(uint32_t correlation)
{
    for (unsigned i = 0; i < seen.external && i < 64; i++)
        if (ids[i].correlation == correlation)
            return ids[i].id;
    return 0;
}

static void look(const CUpti_Activity *record)
{
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        const CUpti_ActivityKernel10 *k = (const CUpti_ActivityKernel10 *)record;
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        seen.kernels++;
        seen.zero += k->start == 0 && k->end == 0;
        seen.inverted += k->start && k->end < k->start;
        CHECK(k->start == 0 || k->start / 1000000000 <= (uint64_t)now.tv_sec);
        CHECK(strstr(k->name, "ncclDevKernel") || strstr(k->name, "gemm"));
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        seen.copies++;
        if (((const CUpti_ActivityMemcpy6 *)record)->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD)
            seen.copy = ((const CUpti_ActivityMemcpy6 *)record)->correlationId;
    } else if (record->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) {
        const CUpti_ActivityExternalCorrelation *e = (const CUpti_ActivityExternalCorrelation *)record;
        ids[seen.external % 64].correlation = e->correlationId;
        ids[seen.external++ % 64].id = e->externalId;
    } else if (record->kind == CUPTI_ACTIVITY_KIND_RUNTIME || record->kind == CUPTI_ACTIVITY_KIND_DRIVER) {
        seen.api++;
    }
}

static void take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream;
    CHECK(valid <= size);
    CUpti_Activity *record = NULL;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        look(record);
    free(buffer);
}

static uint64_t monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static CUpti_SubscriberHandle subscribe(void)
{
    CUpti_SubscriberHandle handle;
    CUpti_SubscriberParams params = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE};
    CUPTI(cuptiSubscribe_v2(&handle, NULL, NULL, &params));
    CUPTI(cuptiActivityRegisterTimestampCallback(monotonic));
    CUPTI(cuptiActivityRegisterCallbacks(give_buffer, take_buffer));
    static const CUpti_ActivityKind kinds[] = {
        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_RUNTIME,
        CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        CUPTI(cuptiActivityEnable(kinds[i]));
    return handle;
}

enum { LAUNCHES = 24 };

/* Small products, and one copy under an id. */
static void recorded_work(void)
{
    cudaStream_t stream = new_stream();
    float one = 1, zero = 0, x[4] = {1, 2, 3, 4}, *workspace = device_floats(NULL, WORKSPACE / sizeof(float));
    cublasHandle_t handle = new_handle(stream, workspace);
    float *p = device_floats(x, 4), *q = device_floats(NULL, 4);
    for (int i = 0; i < LAUNCHES; i++)
        BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, p, 2, p, 2, &zero, q, 2));
    CUPTI(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 77));
    CUDA(cudaMemcpyAsync(q, p, sizeof x, cudaMemcpyDeviceToDevice, stream));
    CUPTI(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, NULL));
    CUDA(cudaStreamSynchronize(stream));
    BLAS(cublasDestroy(handle));
    CUDA(cudaFree(p));
    CUDA(cudaFree(q));
    CUDA(cudaFree(workspace));
    CUDA(cudaStreamDestroy(stream));
}

static void record(void)
{
    CUpti_SubscriberHandle handle = subscribe();
    recorded_work();
    CUPTI(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    CUPTI(cuptiUnsubscribe(handle));
}

static void records(void)
{
    record();
    CHECK(seen.kernels == LAUNCHES);
    CHECK(seen.copies == 2 && seen.external == 1 &&
          id_of(seen.copy) == 77); /* the other one brings the numbers */
    CHECK(seen.zero == 0 && seen.inverted == 0 && seen.api > LAUNCHES);
    size_t dropped;
    CUPTI(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    CHECK(dropped == 0);
}

static void bad_records(void)
{
    size_t dropped;
    record();
    CUPTI(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    CHECK(dropped > 0 && seen.kernels + dropped + seen.copies == LAUNCHES + 2 && seen.zero > 0 &&
          seen.inverted > 0);
}

static void withheld(void)
{
    record();
    CHECK(seen.kernels == 0 && seen.copies == 0 && seen.api > LAUNCHES);
}

static void refused(void)
{
    char who[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
    CUpti_SubscriberHandle handle;
    CUpti_SubscriberParams params = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
                                     .oldSubscriberName = who,
                                     .oldSubscriberSize = sizeof who};
    CHECK(cuptiSubscribe_v2(&handle, NULL, NULL, &params) == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    CHECK(strstr(who, "Nsight"));
}

static void unbalanced(void)
{
    CUPTI(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 1));
}

/* One rank alone: nothing in place, so nothing to record. */
static void alone(void)
{
    CUpti_SubscriberHandle handle = subscribe();
    ncclComm_t comm;
    NCCL(ncclCommInitAll(&comm, 1, NULL));
    cudaStream_t stream = new_stream();
    float *p = device_floats(NULL, COUNT);
    NCCL(ncclAllReduce(p, p, COUNT, ncclFloat, ncclSum, comm, stream));
    CUDA(cudaStreamSynchronize(stream));
    NCCL(ncclCommDestroy(comm));
    CUDA(cudaFree(p));
    CUDA(cudaStreamDestroy(stream));
    CUPTI(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    CUPTI(cuptiUnsubscribe(handle));
    CHECK(seen.kernels == 0 && seen.copies == 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
#define CASE(name) {#name, name},
    CASE(products) CASE(no_workspace) CASE(shared_workspace) CASE(leaked_handle) CASE(collectives)
        CASE(rendezvous) CASE(in_order) CASE(crossed) CASE(unequal) CASE(unordered) CASE(unconnected)
            CASE(crowded) CASE(uneven) CASE(duplicate) CASE(aborted) CASE(pending_allocation) CASE(records)
                CASE(bad_records) CASE(withheld) CASE(refused) CASE(unbalanced) CASE(alone)
#undef CASE
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[1]) == 0) {
            cases[i].run();
            return 0;
        }
    return 2;
}
