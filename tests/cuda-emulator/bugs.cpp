/* tests/cuda-emulator/bugs.cpp -- programs with one bug each, by name, and clean ones; bugs.sh says what the emulator must report
 * of each.  A clean one that computes a wrong number exits with 1. */
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" void __cudaRegisterFunction(void **, const char *, char *, const char *, int, uint3 *, uint3 *, dim3 *, dim3 *, int *);

namespace {

enum { N = 256 };

void expect(bool good, const char *what)
{
    if (good)
        return;
    printf("wrong: %s\n", what);
    cudaDeviceSynchronize(); /* what has yet to run may be what races */
    exit(1);
}

void good(cudaError_t e, const char *what) { expect(e == cudaSuccess, what); }
#define GOOD(call) good(call, #call)

template <class... A> cudaError_t start(const char *name, unsigned grid, unsigned block, size_t shared, cudaStream_t s, A... a)
{
    static std::vector<std::pair<const char *, char *>> stubs;
    char *stub = nullptr;
    for (const auto &[known, at] : stubs)
        if (!strcmp(known, name))
            stub = at;
    if (!stub) {
        stub = new char;
        stubs.push_back({name, stub});
        __cudaRegisterFunction(nullptr, stub, nullptr, name, 0, nullptr, nullptr, nullptr, nullptr, nullptr);
    }
    void *arguments[] = {&a...};
    return cudaLaunchKernel(stub, dim3(grid), dim3(block), arguments, shared, s);
}

struct Setting {
    cudaStream_t s, t;
    cudaEvent_t e;
    float *a, *b, *host;
    Setting()
    {
        GOOD(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
        GOOD(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
        GOOD(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
        GOOD(cudaMalloc(reinterpret_cast<void **>(&a), 4 * N));
        GOOD(cudaMalloc(reinterpret_cast<void **>(&b), 4 * N));
        GOOD(cudaMallocHost(reinterpret_cast<void **>(&host), 4 * N));
    }
    /* Whatever failed before: these release. */
    ~Setting()
    {
        cudaDeviceSynchronize();
        cudaStreamDestroy(s);
        cudaStreamDestroy(t);
        cudaEventDestroy(e);
        cudaFree(a);
        cudaFree(b);
        cudaFreeHost(host);
    }
    void read_back(const float *p, cudaStream_t stream)
    {
        GOOD(cudaMemcpyAsync(host, p, 4 * N, cudaMemcpyDeviceToHost, stream));
        GOOD(cudaStreamSynchronize(stream));
    }
};

struct Case {
    const char *name;
    void (*run)(Setting &);
};

const Case cases[] = {
    {"clean",
     [](Setting &x) {
         GOOD(start("put", 1, N, 0, x.s, x.a, int(N), 3.f));
         GOOD(cudaEventRecord(x.e, x.s));
         GOOD(cudaStreamWaitEvent(x.t, x.e, 0));
         GOOD(start("scale", 1, N, 0, x.t, static_cast<const float *>(x.a), x.b, int(N), 2.f));
         GOOD(start("reverse", 1, N, 4 * N, x.t, x.b, 0));
         x.read_back(x.b, x.t);
         for (int i = 0; i < N; i++)
             expect(x.host[i] == 6, "2 * 3");
         GOOD(start("sum", 1, N, 0, x.t, static_cast<const float *>(x.a), x.b, 1));
         x.read_back(x.b, x.t);
         expect(x.host[0] == 3 * N, "sum");
         GOOD(cudaMemsetAsync(x.a, 0, 4 * N, x.s)); /* after the host has waited */
     }},
    {"lanes",
     [](Setting &x) {
         int *p, h[64 * 7];
         GOOD(cudaMalloc(reinterpret_cast<void **>(&p), sizeof h));
         GOOD(start("lanes", 1, 64, 0, x.s, p));
         GOOD(cudaStreamSynchronize(x.s));
         GOOD(cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost));
         for (int t = 0; t < 64; t++) {
             const int *got = h + t * 7, lane = t % 32, first = t - lane;
             expect(got[0] == first + (lane ^ 5), "xor");
             expect(got[1] == (lane < 3 ? t : t - 3), "up");
             expect(got[2] == (lane % 8 + 3 < 8 ? t + 3 : t), "down");
             expect(got[3] == first + lane / 16 * 16 + 9, "index");
             expect(unsigned(got[4]) == 0x49249249u && got[5] == 1 && got[6] == 0, "votes");
         }
         GOOD(cudaFree(p));
     }},
    {"unwritten", /* memory is not a number until written */
     [](Setting &x) {
         x.read_back(x.a, x.s);
         for (int i = 0; i < N; i++)
             expect(x.host[i] != x.host[i], "poison");
     }},
    {"limits",
     [](Setting &x) {
         expect(start("put", 1, 1025, 0, x.s, x.a, int(N), 1.f) == cudaErrorInvalidConfiguration, "1025 threads");
         expect(start("put", 0, 32, 0, x.s, x.a, int(N), 1.f) == cudaErrorInvalidConfiguration, "no block");
         expect(start("reverse", 1, N, 64 << 10, x.s, x.a, 0) == cudaErrorInvalidValue, "64 KiB");
         void *p;
         expect(cudaMalloc(&p, size_t(1) << 40) == cudaErrorMemoryAllocation, "1 TiB");
         float ms;
         expect(cudaEventElapsedTime(&ms, x.e, x.e) == cudaErrorInvalidResourceHandle, "never recorded");
         expect(cudaGetLastError() == cudaErrorInvalidResourceHandle && cudaGetLastError() == cudaSuccess, "last error");
     }},
    {"missing-wait",
     [](Setting &x) {
         start("put", 1, N, 0, x.s, x.a, int(N), 3.f);
         start("scale", 1, N, 0, x.t, static_cast<const float *>(x.a), x.b, int(N), 2.f);
     }},
    {"early-record", /* the wait orders what was recorded, not what follows */
     [](Setting &x) {
         cudaEventRecord(x.e, x.s);
         start("put", 1, N, 0, x.s, x.a, int(N), 3.f);
         cudaStreamWaitEvent(x.t, x.e, 0);
         start("scale", 1, N, 0, x.t, static_cast<const float *>(x.a), x.b, int(N), 2.f);
     }},
    {"copy-race",
     [](Setting &x) {
         memset(x.host, 0, 4 * N);
         cudaMemcpyAsync(x.a, x.host, 4 * N, cudaMemcpyHostToDevice, x.s);
         start("scale", 1, N, 0, x.t, static_cast<const float *>(x.a), x.b, int(N), 2.f);
     }},
    {"read-then-write",
     [](Setting &x) {
         start("scale", 1, N, 0, x.t, static_cast<const float *>(x.a), x.b, int(N), 2.f);
         cudaMemsetAsync(x.a, 0, 4 * N, x.s);
     }},
    {"legacy", /* a copy on the default stream orders nothing with streams that do not block */
     [](Setting &x) {
         float zeros[N] = {};
         cudaMemcpy(x.a, zeros, sizeof zeros, cudaMemcpyHostToDevice);
         start("scale", 1, N, 0, x.s, static_cast<const float *>(x.a), x.b, int(N), 2.f);
     }},
    {"unrecorded", [](Setting &x) { cudaStreamWaitEvent(x.s, x.e, 0); }},
    {"no-barrier", [](Setting &x) { start("sum", 1, N, 0, x.s, static_cast<const float *>(x.a), x.b, 0); }},
    {"same-place", [](Setting &x) { start("same_place", 1, N, 0, x.s, x.a); }},
    {"blocks", [](Setting &x) { start("blocks_meet", 2, 32, 0, x.s, x.a); }},
    {"half-barrier", [](Setting &x) { start("half_barrier", 1, 64, 0, x.s, x.a); }},
    {"half-shuffle", [](Setting &x) { start("half_shuffle", 1, 32, 0, x.s, x.a); }},
    {"two-places", [](Setting &x) { start("two_places", 1, 32, 0, x.s, x.a); }},
    {"misaligned", [](Setting &x) { start("vectors", 1, 8, 0, x.s, x.a + 1); }},
    {"beyond", [](Setting &x) { start("put", 2, N, 0, x.s, x.a, N + 1, 1.f); }},
    {"beyond-shared", [](Setting &x) { start("reverse", 1, N, 4 * N, x.s, x.a, 1); }},
    {"freed",
     [](Setting &x) {
         float *p;
         cudaMalloc(reinterpret_cast<void **>(&p), 4 * N);
         cudaFree(p);
         start("put", 1, N, 0, x.s, p, int(N), 1.f);
     }},
    {"host-memory",
     [](Setting &x) {
         float local[N];
         start("put", 1, N, 0, x.s, local, int(N), 1.f);
         cudaStreamSynchronize(x.s);
     }},
    {"other-device",
     [](Setting &x) {
         float *p;
         cudaSetDevice(1);
         cudaMalloc(reinterpret_cast<void **>(&p), 4 * N);
         cudaSetDevice(0);
         start("put", 1, N, 0, x.s, p, int(N), 1.f);
         expect(cudaStreamSynchronize(x.s) == cudaErrorIllegalAddress, "sticky");
         expect(cudaMalloc(reinterpret_cast<void **>(&p), 4) == cudaErrorIllegalAddress, "sticky for good");
         exit(0);
     }},
    {"peer", /* the same with access enabled */
     [](Setting &x) {
         float *p;
         GOOD(cudaDeviceEnablePeerAccess(1, 0));
         GOOD(cudaSetDevice(1));
         GOOD(cudaMalloc(reinterpret_cast<void **>(&p), 4 * N));
         GOOD(cudaSetDevice(0));
         GOOD(start("put", 1, N, 0, x.s, p, int(N), 1.f));
         GOOD(cudaStreamSynchronize(x.s));
         GOOD(cudaFree(p));
     }},
    {"wrong-stream",
     [](Setting &x) {
         cudaSetDevice(1);
         expect(start("put", 1, N, 0, x.s, x.a, int(N), 1.f) == cudaErrorInvalidResourceHandle, "stream");
     }},
    {"wrong-event",
     [](Setting &x) {
         cudaStream_t s;
         cudaSetDevice(1);
         cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
         expect(cudaEventRecord(x.e, s) == cudaErrorInvalidResourceHandle, "event");
         cudaStreamDestroy(s);
     }},
    {"double-free",
     [](Setting &) {
         void *p;
         cudaMalloc(&p, 4);
         cudaFree(p);
         cudaFree(p);
     }},
    {"dead-stream",
     [](Setting &) {
         cudaStream_t s;
         cudaStreamCreate(&s);
         cudaStreamDestroy(s);
         expect(cudaStreamSynchronize(s) == cudaErrorInvalidResourceHandle, "destroyed");
     }},
    {"leak",
     [](Setting &) {
         void *p;
         cudaMalloc(&p, 1000);
     }},
};

} // namespace

int main(int argc, char **argv)
{
    for (const Case &c : cases)
        if (argc > 1 && !strcmp(argv[1], c.name)) {
            Setting x;
            c.run(x);
            return 0;
        }
    return 2;
}
