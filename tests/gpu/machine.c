#include "tests/gpu/machine.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BYTES = 96 << 20, FENCE = 4, TOLD = 5 };
static const float fence = 12345.5f;

struct k_cuda_stream *stream;
static char *arena, told[256];
static size_t used;
static unsigned failures, first_shift, step_shift, operands, every = 1;
static uint64_t state;

void fail_at(const char *file, int line, const char *format, ...)
{
    va_list rest;
    if (failures++ >= TOLD)
        return;
    printf("# %s:%d: ", file, line);
    va_start(rest, format);
    vprintf(format, rest);
    va_end(rest);
    printf(" (%s, misaligned by %u + %u i)\n", told, first_shift, step_shift);
}

void check_close(const char *file, int line, double a, double b, double most)
{
    if (!(fabs(a - b) <= most))
        fail_at(file, line, "%.9g, not %.9g, difference %g > %g", a, b, fabs(a - b), most);
}

void check_status(const char *file, int line, int status, const char *call)
{
    if (status)
        fail_at(file, line, "%s: %s", call, k_cuda_text(status));
}

void about(const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    vsnprintf(told, sizeof told, format, rest);
    va_end(rest);
}

/* Without the device nothing can be told. */
static void must(cudaError_t status, const char *what)
{
    if (!status)
        return;
    printf("Bail out! %s: %s (%s)\n", what, cudaGetErrorString(status), told);
    exit(99);
}

void *on_device(size_t bytes)
{
    char *p = arena + used;
    used += (bytes + 255) / 256 * 256;
    if (used > ARENA_BYTES) {
        printf("Bail out! %s needs more than %d MiB\n", told, ARENA_BYTES >> 20);
        exit(99);
    }
    return p;
}

void give_back(void)
{
    used = 0;
}

void to_device(void *device, const void *host, size_t bytes)
{
    must(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, k_cuda_raw(stream)),
         "copy to the device");
    must(cudaStreamSynchronize(k_cuda_raw(stream)), "copy to the device");
}

void to_host(void *host, const void *device, size_t bytes)
{
    must(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, k_cuda_raw(stream)),
         "copy to the host");
    must(cudaStreamSynchronize(k_cuda_raw(stream)), "copy to the host");
}

void seed(uint64_t with)
{
    state = with;
}

/* SplitMix64 */
static uint64_t next(void)
{
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint32_t dice(uint32_t below)
{
    return (uint32_t)((next() >> 32) * below >> 32);
}

double near_1(void)
{
    return ((double)(next() >> 11) * 0x1p-53 - 0.5) * 3.4;
}

void misalign(unsigned way)
{
    first_shift = way % 4;
    step_shift = way / 4 % 5;
    operands = 0;
}

static unsigned shift(void)
{
    return step_shift == 4 ? dice(4) : (first_shift + operands++ * step_shift) % 4;
}

/* A fence, the elements, a fence, and what was sent of all that. */
struct operand operand(size_t n, double scale)
{
    const unsigned off = shift();
    struct operand o = {n, 1, calloc(n + 1, sizeof(double)),
                        (float *)on_device((n + 2 * FENCE + off) * sizeof(float)) + FENCE + off,
                        malloc((n + 2 * FENCE) * sizeof(float))};
    for (size_t i = 0; i < n; i++)
        o.wide[i] = (float)(scale * near_1());
    send(&o);
    return o;
}

void send(struct operand *o)
{
    for (size_t i = 0; i < o->n + 2 * FENCE; i++)
        o->sent[i] = i < FENCE || i >= o->n + FENCE ? fence : (float)o->wide[i - FENCE];
    to_device(o->narrow - FENCE, o->sent, (o->n + 2 * FENCE) * sizeof(float));
}

void get(const struct operand *o, float *to)
{
    if (o->n)
        to_host(to, o->narrow, o->n * sizeof(float));
}

void fetch(struct operand *o)
{
    float *got = malloc((o->n + 1) * sizeof(float));
    get(o, got);
    for (size_t i = 0; i < o->n; i++)
        o->wide[i] = got[i];
    free(got);
}

void *side(const struct operand *o, int narrow)
{
    return narrow ? (void *)o->narrow : (void *)o->wide;
}

/* All that lies on the device there; the caller frees it. */
static float *between_fences(const char *file, int line, const struct operand *o)
{
    float *got = malloc((o->n + 2 * FENCE) * sizeof(float));
    to_host(got, o->narrow - FENCE, (o->n + 2 * FENCE) * sizeof(float));
    for (size_t i = 0; i < FENCE; i++) {
        if (got[i] != fence)
            fail_at(file, line, "%zu before the first element was written to", FENCE - i);
        if (got[FENCE + o->n + i] != fence)
            fail_at(file, line, "%zu behind the last element was written to", i + 1);
    }
    return got;
}

static void end(struct operand *o, float *got)
{
    free(got);
    free(o->sent);
    free(o->wide);
    *o = (struct operand){0};
}

/* ||float - double|| / (||double|| + ||unit||) */
void close_to(const char *file, int line, struct operand *o, double most)
{
    float *got = between_fences(file, line, o);
    double square = 0, norm = 0;
    for (size_t i = 0; i < o->n; i++) {
        const double d = (double)got[FENCE + i] - o->wide[i];
        square += d * d;
        norm += o->wide[i] * o->wide[i];
    }
    const double difference = o->n ? sqrt(square) / (sqrt(norm) + sqrt((double)o->n) * o->unit) : 0;
    if (!(difference <= most))
        fail_at(file, line, "difference %g > %g of %zu elements", difference, most, o->n);
    end(o, got);
}

void same(const char *file, int line, struct operand *o)
{
    float *got = between_fences(file, line, o);
    if (memcmp(got, o->sent, (o->n + 2 * FENCE) * sizeof(float)) != 0)
        fail_at(file, line, "an input was written to");
    end(o, got);
}

struct indexes indexes(size_t n, uint32_t below)
{
    struct indexes x = {
        {calloc(n + 1, sizeof(int32_t)), (int32_t *)on_device((n + 4) * sizeof(int32_t)) + shift()}};
    for (size_t i = 0; i < n; i++)
        x.of[0][i] = (int32_t)dice(below);
    to_device(x.of[1], x.of[0], n * sizeof(int32_t));
    return x;
}

void drop_indexes(struct indexes *x)
{
    free(x->of[0]);
}

void doubles(struct doubles *d, size_t n, const double *from)
{
    memcpy(d->host, from, n * sizeof(double));
    d->of[0] = d->host;
    d->of[1] = on_device(n * sizeof(double));
    to_device(d->of[1], from, n * sizeof(double));
}

unsigned thin(void)
{
    return every;
}

static int skip(const char *why)
{
    printf("1..0 # SKIP %s\n", why);
    return 0;
}

int run_tests(int argc, char **argv, const struct test *tests, size_t n)
{
    const char *only = NULL;
    int bad = 0, devices = 0;
    cudaStream_t raw;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--short") == 0)
            every = 7;
        else
            only = argv[i];
    }
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status || devices == 0)
        return skip(status ? cudaGetErrorString(status) : "no GPU");
    must(cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking), "a stream");
    must(cudaMalloc((void **)&arena, ARENA_BYTES), "memory");
    const int opened = k_cuda_open(raw, 0, &stream);
    const int loaded = opened ? 0 : k_cuda_load();
    if (opened || loaded) {
        printf("Bail out! kernels: %s\n", k_cuda_text(opened ? opened : loaded));
        return 99;
    }
    printf("1..%zu\n", n);
    for (size_t i = 0; i < n; i++) {
        if (only && strcmp(only, tests[i].name) != 0) {
            printf("ok %zu - %s # SKIP not asked for\n", i + 1, tests[i].name);
            continue;
        }
        failures = 0;
        about("%s", tests[i].name);
        misalign(0);
        seed(1);
        tests[i].run();
        give_back();
        bad += failures != 0;
        printf("%sok %zu - %s\n", failures ? "not " : "", i + 1, tests[i].name);
        fflush(stdout);
    }
    k_cuda_close(stream);
    must(cudaFree(arena), "memory");
    must(cudaStreamDestroy(raw), "the stream");
    return bad != 0;
}
