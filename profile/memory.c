#include "profile/memory.h"

#include <inttypes.h>

#include "base/json.h"

#define MIB 1048576.0

void trace_memory(struct trace *trace, uint32_t n, const char *(*name)(unsigned), uint64_t *bytes)
{
    trace->n_memory = n;
    trace->memory_names = g_new(char *, n);
    for (unsigned i = 0; i < n; i++)
        trace->memory_names[i] = g_strdup(name(i));
    trace->memory_bytes = bytes;
}

uint64_t memory_peak(const struct trace *trace, uint32_t rank)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < trace->n_memory; i++)
        bytes += trace->memory_bytes[(gsize)rank * trace->n_memory + i];
    return bytes;
}

static void append_mib(GString *out, uint64_t bytes, const char *format)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append(out, g_ascii_formatd(text, sizeof text, format, (double)bytes / MIB));
}

void memory_print(const struct trace *trace, GString *out)
{
    uint32_t most = 0;
    bool differ = false;
    if (!trace->memory_bytes || !trace->t.n_ranks)
        return;
    for (uint32_t rank = 1; rank < trace->t.n_ranks; rank++) {
        differ = differ || memory_peak(trace, rank) != memory_peak(trace, most);
        most = memory_peak(trace, rank) > memory_peak(trace, most) ? rank : most;
    }
    const uint64_t *bytes = &trace->memory_bytes[(gsize)most * trace->n_memory];
    uint64_t peak = memory_peak(trace, most);
    const char *format = peak >= MIB ? "%.1f" : "%.3f", *before = " (";
    uint64_t least = (uint64_t)(peak >= MIB ? 0.05 * MIB : 0.0005 * MIB);
    g_string_append(out, differ ? "memory: up to " : "memory: ");
    append_mib(out, peak, format);
    g_string_append(out, " MiB a rank at the peak");
    for (uint32_t i = 0; i < trace->n_memory; i++) {
        if (bytes[i] <= least)
            continue;
        g_string_append_printf(out, "%s%s ", before, trace->memory_names[i]);
        append_mib(out, bytes[i], format);
        before = ", ";
    }
    g_string_append(out, before[0] == ',' ? ")" : "");
    if (trace->memory_measured) {
        g_string_append(out, ", measured ");
        append_mib(out, trace->memory_measured[most], format);
    }
    g_string_append_c(out, '\n');
}

static void list(GString *out, const uint64_t *bytes, uint32_t stride, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        g_string_append_printf(out, "%s%" PRIu64, i ? ", " : "[", bytes[(gsize)i * stride]);
    g_string_append(out, n ? "]" : "[]");
}

void memory_json(const struct trace *trace, GString *out)
{
    uint32_t n = trace->t.n_ranks;
    if (!trace->memory_bytes || !trace->n_memory)
        return;
    g_autofree uint64_t *peak = g_new(uint64_t, (gsize)n + 1);
    for (uint32_t rank = 0; rank < n; rank++)
        peak[rank] = memory_peak(trace, rank);
    g_string_append(out, ",\n \"memory\": {\"peak_bytes\": ");
    list(out, peak, 1, n);
    g_string_append(out, ", \"by_category\": ");
    for (uint32_t i = 0; i < trace->n_memory; i++) {
        g_string_append(out, i ? ", " : "{");
        json_string(out, trace->memory_names[i]);
        g_string_append(out, ": ");
        list(out, trace->memory_bytes + i, trace->n_memory, n);
    }
    g_string_append(out, "}");
    if (trace->memory_measured) {
        g_string_append(out, ", \"measured_bytes\": ");
        list(out, trace->memory_measured, 1, n);
    }
    g_string_append(out, "}");
}
