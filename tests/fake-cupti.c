#include "tests/fake-cupti.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <string.h>

struct fake_cupti fake;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;

void fake_reset(void)
{
    if (fake.calls) {
        g_string_free(fake.calls, TRUE);
        g_array_unref(fake.ids);
        for (unsigned i = 0; i < G_N_ELEMENTS(fake.records); i++)
            g_byte_array_unref(fake.records[i]);
    }
    fake = (struct fake_cupti){.calls = g_string_new(NULL),
                               .holder = "",
                               .version = CUPTI_API_VERSION,
                               .driver = 13000,
                               .ids = g_array_new(FALSE, FALSE, sizeof(uint64_t))};
    for (unsigned i = 0; i < G_N_ELEMENTS(fake.records); i++)
        fake.records[i] = g_byte_array_new();
}

void fake_record(unsigned buffer, const void *record, size_t size)
{
    g_byte_array_append(fake.records[buffer], record, (guint)size);
}

static CUptiResult call(const char *name)
{
    g_string_append_printf(fake.calls, "%s ", name);
    return fake.failing && !strcmp(fake.failing, name) ? fake.result : CUPTI_SUCCESS;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
    *version = fake.version;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    (void)result;
    *text = "CUPTI_ERROR_OF_A_KIND";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *user,
                              CUpti_SubscriberParams *params)
{
    (void)callback, (void)user;
    g_assert_cmpuint(params->structSize, ==, CUpti_SubscriberParams_STRUCT_SIZE);
    g_assert_cmpuint(params->oldSubscriberSize, >=, 64);
    g_assert_cmpstr(params->subscriberName, ==, "parprof");
    memset(params->oldSubscriberName, 'x', params->oldSubscriberSize); /* need not end */
    g_strlcpy(params->oldSubscriberName, fake.holder, params->oldSubscriberSize);
    *subscriber = (CUpti_SubscriberHandle)&fake;
    return call("Subscribe");
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
    g_assert_true(subscriber == (CUpti_SubscriberHandle)&fake);
    return call("Unsubscribe");
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
    (void)attribute, (void)value;
    g_assert_cmpuint(*size, >, 0);
    return call("Attribute");
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc now)
{
    gint64 ns = (gint64)now();
    g_assert_cmpint(ABS(ns / 1000 - g_get_monotonic_time()), <, 60 * G_USEC_PER_SEC);
    return call("Clock");
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed)
{
    request = requested;
    complete = completed;
    return call("Callbacks");
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    g_autofree char *name = g_strdup_printf("Enable:%d", (int)kind);
    return call(name);
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    (void)kind;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable)
{
    (void)id;
    g_assert_cmpuint(enable, ==, 0);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t enable)
{
    return cuptiActivityEnableRuntimeApi(id, enable);
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    g_assert_cmpuint(flag, ==, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    for (unsigned i = 0; request && i < G_N_ELEMENTS(fake.records); i++) {
        uint8_t *buffer;
        size_t size, most;
        request(&buffer, &size, &most);
        g_assert_cmpuint(size, >=, fake.records[i]->len);
        g_assert_cmpuint(most, ==, 0);
        g_assert_cmpuint((guintptr)buffer % ACTIVITY_RECORD_ALIGNMENT, ==, 0);
        if (fake.records[i]->len)
            memcpy(buffer, fake.records[i]->data, fake.records[i]->len);
        complete(NULL, 0, buffer, size, fake.records[i]->len);
        g_byte_array_set_size(fake.records[i], 0);
    }
    return call("Flush");
}

static size_t size_of(const CUpti_Activity *record)
{
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
        return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return sizeof(CUpti_ActivityOverhead3);
    default:
        return 0;
    }
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + size_of(*record) : buffer;
    if (fake.failing && !strcmp(fake.failing, "Next"))
        return fake.result;
    if (next >= buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(void *)next;
    return size_of(*record) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
    (void)context, (void)stream;
    *dropped = fake.dropped;
    fake.dropped = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    g_assert_cmpint(kind, ==, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0);
    g_array_append_val(fake.ids, id);
    return call("Push");
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t *last)
{
    (void)kind;
    if (!fake.ids->len)
        return CUPTI_ERROR_QUEUE_EMPTY;
    *last = g_array_index(fake.ids, uint64_t, fake.ids->len - 1);
    g_array_set_size(fake.ids, fake.ids->len - 1);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *id)
{
    g_assert_true(context == NULL && per_thread == 0);
    *id = GPOINTER_TO_UINT(stream);
    return call("Stream");
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *id)
{
    *id = GPOINTER_TO_UINT(context);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    bool driver = domain == CUPTI_CB_DOMAIN_DRIVER_API;
    *name = driver && id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx ? "cuLaunchKernelEx"
            : driver                                                 ? "cuMemcpyAsync_v2"
                                                                     : "cudaLaunchKernel_v7000";
    return CUPTI_SUCCESS;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = fake.driver;
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorInvalidValue ? "invalid argument" : "?";
}
