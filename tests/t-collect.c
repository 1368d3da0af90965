/* The collector on a libcupti whose answers are known: tests/fake-cupti.c. */
#include "profile/collect.h"

#include "profile/facts.h"
#include "profile/trace.h"
#include "tests/tap.h"

#ifdef TEST_CUPTI

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime_api.h>

#include "tests/fake-cupti.h"

static void open_fake(void)
{
    GError *error = NULL;
    fake_reset();
    bool ok = collect_open(&error);
    g_assert_no_error(error);
    g_assert_true(ok);
}

static void close_fake(void)
{
    collect_close();
    g_assert_nonnull(strstr(fake.calls->str, "Unsubscribe"));
    fake_reset();
}

/* --- records */

static void kernel(unsigned buffer, uint64_t start, uint64_t end, uint32_t device, uint32_t stream,
                   uint32_t correlation, const char *name)
{
    CUpti_ActivityKernel10 r = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                .start = start,
                                .end = end,
                                .deviceId = device,
                                .contextId = 1,
                                .streamId = stream,
                                .correlationId = correlation,
                                .name = name};
    fake_record(buffer, &r, sizeof r);
}

static void api(unsigned buffer, bool driver, uint32_t cbid, uint64_t start, uint64_t end, uint32_t thread,
                uint32_t correlation)
{
    CUpti_ActivityAPI r = {.kind = driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME,
                           .cbid = cbid,
                           .start = start,
                           .end = end,
                           .threadId = thread,
                           .correlationId = correlation};
    fake_record(buffer, &r, sizeof r);
}

static void mark(unsigned buffer, uint32_t correlation, uint64_t step, uint32_t op)
{
    CUpti_ActivityExternalCorrelation r = {.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                           .externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                                           .externalId = step << 32 | op,
                                           .correlationId = correlation};
    fake_record(buffer, &r, sizeof r);
}

static void overhead(CUpti_ActivityOverheadKind kind, uint64_t start, uint64_t end)
{
    CUpti_ActivityOverhead3 r = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                                 .overheadKind = kind,
                                 .start = start,
                                 .end = end,
                                 .overheadData = malloc(16)};
    fake_record(0, &r, sizeof r);
}

#define LAUNCH    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000
#define LAUNCH_EX CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx

static void push_pop(uint32_t step, uint32_t op)
{
    collect_push(step, op, "F layer0");
    collect_pop();
}

static struct collected take(void)
{
    struct collected out;
    GError *error = NULL;
    bool ok = collect_take(&out, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    return out;
}

static void take_fails(const char *text)
{
    struct collected out;
    GError *error = NULL;
    g_assert_false(collect_take(&out, &error));
    g_assert_error(error, COLLECT_ERROR, COLLECT_ERROR_FAILED);
    if (!strstr(error->message, text))
        g_error("\"%s\" lacks \"%s\"", error->message, text);
    g_assert_null(out.records);
    g_error_free(error);
}

/* --- tests */

static size_t place(const char *call)
{
    const char *at = strstr(fake.calls->str, call);
    g_assert_nonnull(at);
    return (size_t)(at - fake.calls->str);
}

static void refused(const char *call, CUptiResult result, const char *text)
{
    GError *error = NULL;
    fake.failing = call;
    fake.result = result;
    g_assert_false(collect_open(&error));
    g_assert_error(error, COLLECT_ERROR, COLLECT_ERROR_REFUSED);
    if (!strstr(error->message, text))
        g_error("\"%s\" lacks \"%s\"", error->message, text);
    g_error_free(error);
    bool subscribed = strcmp(call, "Subscribe") && strstr(fake.calls->str, "Subscribe");
    g_assert_true(!subscribed || strstr(fake.calls->str, "Unsubscribe"));
    push_pop(0, 0); /* a range, and no more */
    g_assert_null(strstr(fake.calls->str, "Push"));
    collect_close();
    fake_reset();
}

static void test_order(void)
{
    fake_reset();
    refused("Clock", CUPTI_ERROR_UNKNOWN, "cuptiActivityRegisterTimestampCallback");
    open_fake();
    g_assert_cmpuint(place("Subscribe"), <, place("Attribute"));
    g_assert_cmpuint(place("Attribute"), <, place("Clock"));
    g_assert_cmpuint(place("Clock"), <, place("Callbacks"));
    g_assert_cmpuint(place("Callbacks"), <, place("Enable:"));
    close_fake();
    open_fake(); /* doctor, then a run: the clock stays the one that is registered */
    g_assert_null(strstr(fake.calls->str, "Clock"));
    close_fake();
}

static void test_refusals(void)
{
    fake_reset();
    fake.holder = "Nsight Systems";
    refused("Subscribe", CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "Nsight Systems holds CUPTI");
    refused("Subscribe", CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "another tool holds CUPTI");
    refused("Subscribe", CUPTI_ERROR_NOT_INITIALIZED, "stubs");
    fake.driver = 0;
    refused("Subscribe", CUPTI_ERROR_UNKNOWN, "there is no NVIDIA driver");
    refused("Enable:10", CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "--cap-add SYS_ADMIN");
    refused("Enable:10", CUPTI_ERROR_UNKNOWN, "the driver (of CUDA 13.0) is there");
    refused("Enable:22", CUPTI_ERROR_NOT_COMPATIBLE, "does not know this kind of record");
    refused("Callbacks", CUPTI_ERROR_UNKNOWN, "cuptiActivityRegisterCallbacks");
    fake.version = CUPTI_API_VERSION - 1;
    refused("none", CUPTI_SUCCESS, "put the right one first on LD_LIBRARY_PATH");
}

static void test_optional(void)
{
    GError *error = NULL;
    fake_reset();
    fake.failing = "Enable:17"; /* OVERHEAD */
    fake.result = CUPTI_ERROR_NOT_COMPATIBLE;
    g_assert_true(collect_open(&error));
    g_assert_no_error(error);
    g_assert_true(g_str_has_prefix(collect_version(), "CUPTI 13."));
    close_fake();
}

static void expect(const struct collect_record *r, unsigned kind, uint32_t step, uint32_t op, uint32_t lane,
                   int64_t start_ns, const char *name)
{
    g_assert_cmpuint(r->kind, ==, kind);
    g_assert_cmpuint(r->step, ==, step);
    g_assert_cmpuint(r->op, ==, op);
    g_assert_cmpuint(r->lane, ==, lane);
    g_assert_cmpint(r->start_ns, ==, start_ns);
    g_assert_cmpstr(r->name, ==, name);
}

static const struct collect_lane two_lanes[] = {{0, GUINT_TO_POINTER(7)}, {1, GUINT_TO_POINTER(7)}};

/* Contexts are not known here.  Streams of two may have the same number: then nobody knows which one it was.
 */
static void test_twins(void)
{
    static const struct collect_lane lanes[] = {
        {0, GUINT_TO_POINTER(7)}, {0, GUINT_TO_POINTER(7)}, {0, GUINT_TO_POINTER(8)}};
    open_fake();
    g_assert_true(collect_lanes(lanes, 3, NULL));
    push_pop(3, 5);
    mark(0, 10, 3, 5);
    api(0, false, LAUNCH, 100, 140, 1, 10);
    kernel(0, 200, 300, 0, 7, 10, "_Z6kernelv");
    mark(0, 11, 3, 5);
    api(0, false, LAUNCH, 150, 160, 1, 11);
    kernel(0, 400, 500, 0, 8, 11, "_Z6kernelv");
    struct collected out = take();
    g_assert_cmpuint(out.n, ==, 4);
    expect(&out.records[0], COLLECT_KERNEL, 3, 5, OP_NONE, 200, "_Z6kernelv");
    expect(&out.records[1], COLLECT_KERNEL, 3, 5, 2, 400, "_Z6kernelv");
    g_assert_cmpuint(out.counts.unattributed, ==, 1);
    g_free(out.records);
    close_fake();
}

/* One of each: a kernel of ours, launched by the runtime, which calls the driver; NCCL's, by the driver
 * alone, from another buffer; copies and a set. */
static void test_attribution(void)
{
    open_fake();
    g_assert_true(collect_lanes(two_lanes, 2, NULL));
    push_pop(3, 5);
    CUpti_ActivityMemcpy6 copy = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                                  .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
                                  .bytes = 64,
                                  .start = 500,
                                  .end = 600,
                                  .deviceId = 0,
                                  .contextId = 1,
                                  .streamId = 7,
                                  .correlationId = 99,
                                  .runtimeCorrelationId = 12};
    CUpti_ActivityMemcpyPtoP4 peer = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                                      .bytes = 32,
                                      .start = 700,
                                      .end = 800,
                                      .deviceId = 1,
                                      .contextId = 2,
                                      .streamId = 7,
                                      .correlationId = 13};
    CUpti_ActivityMemset4 set = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
                                 .bytes = 16,
                                 .start = 900,
                                 .end = 950,
                                 .deviceId = 0,
                                 .contextId = 1,
                                 .streamId = 8,
                                 .correlationId = 14};
    mark(0, 10, 3, 5);
    mark(0, 11, 3, 5);
    api(0, false, LAUNCH, 100, 140, 1, 10);
    api(0, true, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 110, 130, 1, 11); /* inside the one before */
    kernel(0, 200, 300, 0, 7, 11, "_Z6kernelv");
    mark(1, 20, 3, 6);
    kernel(1, 250, 400, 1, 7, 20, "_Z4ncclv");
    api(1, true, LAUNCH_EX, 105, 120, 2, 20); /* at the same time, on another thread */
    mark(1, 12, 3, 4);
    api(1, false, 41, 450, 460, 2, 12);
    mark(1, 13, 3, 6);
    api(1, true, 1000, 470, 480, 2, 13);
    mark(1, 14, 4, 0);
    api(1, false, 51, 485, 490, 2, 14);
    mark(1, 15, 4, 0); /* a call that launches nothing */
    api(1, false, 1, 491, 492, 2, 15);
    fake_record(1, &copy, sizeof copy);
    fake_record(1, &peer, sizeof peer);
    fake_record(1, &set, sizeof set);
    struct collected out = take();
    g_assert_cmpuint(out.n, ==, 10);
    expect(&out.records[0], COLLECT_COPY, 3, 4, 0, 500, "copy host to device");
    expect(&out.records[1], COLLECT_LAUNCH, 3, 4, OP_NONE, 450, "cudaLaunchKernel");
    expect(&out.records[2], COLLECT_KERNEL, 3, 5, 0, 200, "_Z6kernelv");
    expect(&out.records[3], COLLECT_LAUNCH, 3, 5, OP_NONE, 100, "cudaLaunchKernel");
    expect(&out.records[4], COLLECT_KERNEL, 3, 6, 1, 250, "_Z4ncclv");
    expect(&out.records[5], COLLECT_COPY, 3, 6, 1, 700, "copy device to device");
    expect(&out.records[6], COLLECT_LAUNCH, 3, 6, OP_NONE, 105, "cuLaunchKernelEx");
    expect(&out.records[7], COLLECT_LAUNCH, 3, 6, OP_NONE, 470, "cuMemcpyAsync_v2");
    expect(&out.records[8], COLLECT_SET, 4, 0, OP_NONE, 900, "set"); /* on a stream that is no lane */
    g_assert_cmpuint(out.records[0].bytes, ==, 64);
    g_assert_cmpuint(out.records[4].device, ==, 1);
    g_assert_cmpuint(out.counts.kernels, ==, 2);
    g_assert_cmpuint(out.counts.copies, ==, 3);
    g_assert_cmpuint(out.counts.launches, ==, 5);
    g_assert_cmpuint(out.counts.unattributed, ==, 1);
    g_free(out.records);
    close_fake();
}

static void test_doubtful(void)
{
    open_fake();
    g_assert_true(collect_lanes(two_lanes, 1, NULL));
    push_pop(0, 1);
    for (uint32_t i = 1; i <= 6; i++) {
        mark(0, i, 0, i);
        api(0, false, LAUNCH, 100000 * i, 100000 * i + 10, 1, i);
    }
    kernel(0, 0, 100050, 0, 7, 1, "zero");
    kernel(0, 200050, 0, 0, 7, 2, "zero");
    kernel(0, 300050, 300040, 0, 7, 3, "inverted");
    kernel(0, 400000 - COLLECT_EARLY_NS - 1, 400050, 0, 7, 4, "early");
    kernel(0, 500000 - COLLECT_EARLY_NS, 500050, 0, 7, 5, "not so early");
    kernel(0, 600050, 600060, 0, 7, 77, "nobody's");
    overhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, 10, 30);
    overhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION, 40, 41);
    overhead(CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL, 50, 90); /* the program's doing */
    fake.dropped = 9;
    struct collected out = take();
    g_assert_cmpuint(out.counts.zero, ==, 2);
    g_assert_cmpuint(out.counts.inverted, ==, 1);
    g_assert_cmpuint(out.counts.early, ==, 1);
    g_assert_cmpuint(out.counts.unattributed, ==, 1);
    g_assert_cmpuint(out.counts.dropped, ==, 9);
    g_assert_cmpuint(out.counts.kernels, ==, 3);
    g_assert_cmpuint(out.counts.launches, ==, 6);
    g_assert_cmpint(out.counts.overhead_ns, ==, 21);
    g_assert_cmpstr(out.records[out.n - 1].name, ==, "nobody's");
    struct trace trace;
    trace_init(&trace);
    collect_facts(&out.counts, &trace);
    g_assert_cmpuint(trace.n_facts, ==, 6);
    g_assert_cmpstr(trace.facts[0].key, ==, FACT_DROPPED);
    g_assert_cmpstr(trace.facts[0].value, ==, "9");
    trace_release(&trace);
    g_free(out.records);
    close_fake();
}

static void test_failures(void)
{
    open_fake();
    take(); /* nothing asked, nothing there */
    push_pop(0, 0);
    take_fails("recorded none");
    push_pop(0, 0);
    kernel(0, 0, 0, 0, 7, 1, "zero");
    take_fails("have no times");
    push_pop(0, 0);
    kernel(0, 1, 2, 0, 7, 1, "k");
    overhead(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, 1000, 6000);
    take_fails("loaded for 5 us inside the measured steps");
    kernel(0, 1, 2, 0, 7, 1, "k");
    collect_pop();
    take_fails("1 of 0 marks");
    collect_push(0, 0, "outer");
    kernel(0, 1, 2, 0, 7, 1, "k");
    take_fails("1 of 1 marks"); /* still open */
    push_pop(0, 1);
    collect_pop();
    take_fails("1 of 1 marks"); /* nested */
    fake.failing = "Flush";
    fake.result = CUPTI_ERROR_OUT_OF_MEMORY;
    take_fails("cuptiActivityFlushAll");
    fake.failing = "Next";
    fake.result = CUPTI_ERROR_UNKNOWN;
    kernel(0, 1, 2, 0, 7, 1, "k");
    take_fails("cuptiActivityGetNextRecord");
    fake.failing = "Stream";
    g_assert_false(collect_lanes(two_lanes, 2, NULL));
    close_fake();
}

/* What came before is gone, with what hangs on it; a record that is not whole ends its buffer. */
static void test_discard(void)
{
    CUpti_ActivityKind cut[2] = {CUPTI_ACTIVITY_KIND_INVALID};
    open_fake();
    push_pop(0, 0);
    kernel(0, 1, 2, 0, 7, 1, "warm-up");
    overhead(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, 1, 5);
    g_assert_true(collect_discard(NULL));
    kernel(0, 1, 2, 0, 7, 1, "measured");
    fake_record(0, cut, sizeof cut);
    kernel(1, 3, 4, 0, 7, 1, "of another buffer");
    struct collected out = take();
    g_assert_cmpuint(out.n, ==, 2);
    g_assert_cmpstr(out.records[0].name, ==, "measured");
    g_free(out.records);
    overhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE, 1, 5); /* never taken */
    close_fake();
}

static int launch_status;

static int launch(void)
{
    if (fake.ids->len == 1 && !launch_status) {
        mark(0, 1, 0, 0);
        api(0, false, LAUNCH, 1, 2, 1, 1);
        kernel(0, 3, 4, 0, 9, 1, "sentinel");
    }
    return launch_status;
}

static int launch_unseen(void)
{
    kernel(0, 3, 4, 0, 9, 1, "sentinel");
    return 0;
}

static int launch_unrecorded(void)
{
    return 0;
}

static void test_sentinel(void)
{
    GError *error = NULL;
    open_fake();
    g_assert_true(collect_sentinel(launch, &error));
    g_assert_no_error(error);
    g_assert_false(collect_sentinel(launch_unseen, &error));
    g_assert_nonnull(strstr(error->message, "which call launched it"));
    g_clear_error(&error);
    g_assert_false(collect_sentinel(launch_unrecorded, &error));
    g_assert_nonnull(strstr(error->message, "WSL"));
    g_clear_error(&error);
    launch_status = cudaErrorInvalidValue;
    g_assert_false(collect_sentinel(launch, &error));
    g_assert_nonnull(strstr(error->message, "error 1 (invalid argument)"));
    g_clear_error(&error);
    close_fake();
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/collect/order", test_order); /* the first, as the clock is registered once a process */
    g_test_add_func("/collect/refusals", test_refusals);
    g_test_add_func("/collect/optional", test_optional);
    g_test_add_func("/collect/attribution", test_attribution);
    g_test_add_func("/collect/twins", test_twins);
    g_test_add_func("/collect/doubtful", test_doubtful);
    g_test_add_func("/collect/failures", test_failures);
    g_test_add_func("/collect/discard", test_discard);
    g_test_add_func("/collect/sentinel", test_sentinel);
    return g_test_run();
}

#else

int main(void)
{
    g_print("1..0 # SKIP built without CUDA\n");
    return 0;
}

#endif
