/* Whose a launch is: an id on CUPTI's stack of the thread, and a range of NVTX with the op's name for those
 * who look with another tool. */
#include "profile/collect-cupti.h"

#include <stdatomic.h>
#include <cupti.h>
#include <nvtx3/nvToolsExt.h>

static nvtxDomainHandle_t domain;
static bool correlating;
static atomic_uint_fast64_t pushed, open_marks, wrong;
static _Thread_local unsigned depth; /* of this thread */

void collect_mark_open(bool correlate)
{
    correlating = correlate;
    if (!domain)
        domain = nvtxDomainCreateA("parprof");
}

void collect_mark_close(void)
{
    if (domain)
        nvtxDomainDestroy(domain);
    domain = NULL;
    correlating = false;
}

static void push_range(const char *name)
{
    nvtxEventAttributes_t range = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                   .message = {.ascii = name}};
    nvtxDomainRangePushEx(domain, &range);
}

void collect_push(uint32_t step, uint32_t op, const char *name)
{
    push_range(name);
    if (!correlating)
        return;
    atomic_fetch_add_explicit(&pushed, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&open_marks, 1, memory_order_relaxed);
    if (depth++ || cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                                                          (uint64_t)step << 32 | op) != CUPTI_SUCCESS)
        atomic_fetch_add_explicit(&wrong, 1, memory_order_relaxed);
}

void collect_pop(void)
{
    uint64_t last;
    nvtxDomainRangePop(domain);
    if (!correlating)
        return;
    if (!depth) {
        atomic_fetch_add_explicit(&wrong, 1, memory_order_relaxed);
        return;
    }
    atomic_fetch_sub_explicit(&open_marks, 1, memory_order_relaxed);
    if (!--depth && cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last) !=
                        CUPTI_SUCCESS)
        atomic_fetch_add_explicit(&wrong, 1, memory_order_relaxed);
}

bool collect_mark_take(uint64_t *pushes, GError **error)
{
    uint64_t bad = atomic_exchange(&wrong, 0) + atomic_load(&open_marks);
    *pushes = atomic_exchange(&pushed, 0);
    if (bad)
        g_set_error(error, COLLECT_ERROR, COLLECT_ERROR_FAILED,
                    "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                    " marks of operations were not set and taken back in pairs: kernels may carry another "
                    "operation's "
                    "name, so the trace is not used; run with --no-trace, and report this",
                    bad, *pushes);
    return !bad;
}
