/* What CUPTI records on this GPU of what parprof stands on: whose a launch is, names, NCCL alone with itself,
 * how long after its call a kernel starts.  Prints a line "check|ok or FAIL|what was seen" each, for run;
 * exits with 1 if one failed, with 77 where CUPTI refuses or there is no GPU. */
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda.h"
#include "plan/op.h"
#include "profile/collect.h"

/* N is no multiple of anything, so that a product is one kernel of cuBLAS's choice. */
enum { OWN, PRODUCT, COPY, ALONE, SELF, MANY, OPS, LAUNCHES = 500, N = 200 };
static const char *const names[OPS] = {"own", "product", "copy", "all-reduce", "send to itself", "many"};

struct rig {
    cudaStream_t stream;
    struct k_cuda_stream *k;
    ncclComm_t comm;
    float *a, *b; /* N x N each */
};

static int failures;

static void say(bool ok, const char *check, const char *format, ...) G_GNUC_PRINTF(3, 4);
static void say(bool ok, const char *check, const char *format, ...)
{
    va_list rest;
    failures += !ok;
    printf("%s|%s|", check, ok ? "ok" : "FAIL");
    va_start(rest, format);
    vprintf(format, rest);
    va_end(rest);
    putchar('\n');
}

/* Without it nothing that follows means anything. */
static void must(int status, const char *what)
{
    if (!status)
        return;
    say(false, what, "%s", k_cuda_text(status));
    exit(1);
}

static void must_nccl(ncclResult_t status, const char *what)
{
    if (status == ncclSuccess)
        return;
    say(false, what, "%s: %s", ncclGetErrorString(status), ncclGetLastError(NULL));
    exit(1);
}

static void open_rig(struct rig *r)
{
    const int device = 0;
    must(cudaSetDevice(0), "device 0");
    must(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking), "a stream");
    must(k_cuda_open(r->stream, 0, &r->k), "cuBLAS");
    must(k_cuda_load(), "loading kernels");
    must(cudaMalloc((void **)&r->a, sizeof(float[N][N])), "memory");
    must(cudaMalloc((void **)&r->b, sizeof(float[N][N])), "memory");
    must(k_cuda_f32.zero(r->k, N * N, r->a), "zeros");
    must(k_cuda_f32.zero(r->k, N * N, r->b), "zeros");
    must_nccl(ncclCommInitAll(&r->comm, 1, &device), "a communicator of one");
}

static void close_rig(struct rig *r)
{
    must_nccl(ncclCommDestroy(r->comm), "the communicator's end");
    k_cuda_close(r->k);
    must(cudaFree(r->a), "memory");
    must(cudaFree(r->b), "memory");
    must(cudaStreamDestroy(r->stream), "the stream");
}

static void do_op(const struct rig *r, int op)
{
    switch (op) {
    case OWN:
        must(k_cuda_f32.zero(r->k, N, r->a), names[op]);
        break;
    case PRODUCT:
        must(k_cuda_f32.gemm(r->k, 0, 0, N, N, N, 1, r->a, N, r->a, N, 0, r->b, N), names[op]);
        break;
    case COPY:
        must(cudaMemcpyAsync(r->b, r->a, N, cudaMemcpyDeviceToDevice, r->stream), names[op]);
        break;
    case ALONE:
        must_nccl(ncclAllReduce(r->a, r->a, N, ncclFloat, ncclSum, r->comm, r->stream), names[op]);
        break;
    case SELF:
        must_nccl(ncclGroupStart(), names[op]);
        must_nccl(ncclSend(r->a, N, ncclFloat, 0, r->comm, r->stream), names[op]);
        must_nccl(ncclRecv(r->b, N, ncclFloat, 0, r->comm, r->stream), names[op]);
        must_nccl(ncclGroupEnd(), names[op]);
        break;
    default:
        for (int i = 0; i < LAUNCHES; i++)
            must(k_cuda_f32.zero(r->k, N, r->a), names[op]);
    }
}

static void do_all(const struct rig *r)
{
    for (int op = 0; op < OPS; op++) {
        collect_push(1, (uint32_t)op, names[op]);
        do_op(r, op);
        collect_pop();
        must(cudaStreamSynchronize(r->stream), names[op]);
    }
}

/* --- what was recorded */

/* The op's records of a kind: the first of them, and how many. */
static const struct collect_record *of(const struct collected *c, uint32_t op, uint8_t kind, size_t *n)
{
    const struct collect_record *first = NULL;
    *n = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->records[i].step == 1 && c->records[i].op == op && c->records[i].kind == kind) {
            first = first ? first : &c->records[i];
            ++*n;
        }
    return first;
}

static void check_kernels(const struct collected *c)
{
    size_t n;
    const struct collect_record *k = of(c, OWN, COLLECT_KERNEL, &n);
    say(n == 1 && k_cuda_owns(k->name), "a kernel of ours", "%zu, %s", n, n ? k->name : "none");
    k = of(c, PRODUCT, COLLECT_KERNEL, &n);
    say(n >= 1, "a product", "%zu, %.60s", n, n ? k->name : "none");
    k = of(c, COPY, COLLECT_COPY, &n);
    say(n == 1 && k->bytes == N, "a copy", "%zu, of %" PRIu64 " bytes", n, n ? k->bytes : 0);
}

static void check_nccl(const struct collected *c)
{
    size_t n, copies;
    const struct collect_record *k = of(c, ALONE, COLLECT_KERNEL, &n);
    of(c, ALONE, COLLECT_COPY, &copies);
    say(n + copies == 0, "all-reduce of one rank", n + copies ? "launches %zu kernels: %s" : "launches nothing",
        n, n ? k->name : "copies");
    k = of(c, SELF, COLLECT_KERNEL, &n);
    say(n == 1 && strstr(k->name, "ncclDevKernel_SendRecv"), "send to itself", "%zu, %s", n,
        n ? k->name : "none");
}

/* Each kernel has its launch, and none has two because the runtime's call makes one of the driver. */
static void check_launches(const struct collected *c)
{
    bool ok = true;
    g_autoptr(GString) text = g_string_new(NULL);
    for (uint32_t op = 0; op < OPS; op++) {
        size_t work = 0, n, launches;
        const struct collect_record *l = of(c, op, COLLECT_LAUNCH, &launches);
        for (uint8_t kind = COLLECT_KERNEL; kind < COLLECT_LAUNCH; kind++) {
            of(c, op, kind, &n);
            work += n;
        }
        ok = ok && work == launches;
        g_string_append_printf(text, "%s%s %zu for %zu", op ? ", " : "", l ? l->name : "no call", launches,
                               work);
    }
    say(ok, "launches for kernels", "%s", text->str);
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void check_delay(const struct collected *c)
{
    size_t n, launches;
    const struct collect_record *k = of(c, MANY, COLLECT_KERNEL, &n);
    const struct collect_record *l = of(c, MANY, COLLECT_LAUNCH, &launches);
    if (n != LAUNCHES || launches != LAUNCHES) {
        say(false, "start after launch", "%zu kernels, %zu launches, should be %d", n, launches, LAUNCHES);
        return;
    }
    int64_t delay[LAUNCHES];
    for (int i = 0; i < LAUNCHES; i++)
        delay[i] = k[i].start_ns - l[i].start_ns;
    qsort(delay, LAUNCHES, sizeof *delay, by_size);
    say(delay[0] > -COLLECT_EARLY_NS, "start after launch",
        "us: least %.1f, median %.1f, of 99 in 100 below %.1f, most %.1f", (double)delay[0] / 1e3,
        (double)delay[LAUNCHES / 2] / 1e3, (double)delay[LAUNCHES * 99 / 100] / 1e3,
        (double)delay[LAUNCHES - 1] / 1e3);
}

static void check_counts(const struct collect_counts *c)
{
    say(!c->dropped && !c->zero && !c->inverted && !c->unattributed, "records",
        "%" PRIu64 " kernels, %" PRIu64 " copies, %" PRIu64 " launches; dropped %" PRIu64
        ", without times %" PRIu64 ", inverted %" PRIu64 ", before their launch %" PRIu64
        ", of no op %" PRIu64 "; CUPTI's overhead %.3f ms",
        c->kernels, c->copies, c->launches, c->dropped, c->zero, c->inverted, c->early, c->unattributed,
        (double)c->overhead_ns / 1e6);
}

static bool record(struct rig *r, struct collected *c, GError **error)
{
    const struct collect_lane lane = {0, r->stream};
    if (!collect_lanes(&lane, 1, error))
        return false;
    do_all(r);
    if (!collect_discard(error))
        return false;
    do_all(r);
    return collect_take(c, error);
}

int main(void)
{
    GError *error = NULL;
    struct rig r;
    struct collected c;
    int devices = 0;
    const bool traced = collect_open(&error);
    const int status = cudaGetDeviceCount(&devices);
    if (!traced || status || !devices) {
        printf("CUPTI|FAIL|%s\n", error ? error->message : status ? k_cuda_text(status) : "no GPU");
        g_clear_error(&error);
        collect_close();
        return 77;
    }
    say(true, "CUPTI", "%s traces", collect_version());
    open_rig(&r);
    if (record(&r, &c, &error)) {
        check_kernels(&c);
        check_nccl(&c);
        check_launches(&c);
        check_delay(&c);
        check_counts(&c.counts);
        g_free(c.records);
    } else {
        say(false, "recording", "%s", error->message);
        g_clear_error(&error);
    }
    close_rig(&r);
    collect_close();
    return failures != 0;
}
