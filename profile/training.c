#include "profile/training.h"

#include <inttypes.h>
#include <math.h>

#include "base/json.h"
#include "profile/report-text.h"

static void print_one(const char *what, double loss, bool tokens, GString *out)
{
    if (!isfinite(loss)) {
        g_string_append_printf(out, "%s loss not finite (training diverged; try a smaller --lr)", what);
        return;
    }
    g_autofree char *number = text_number("%.4g", loss), *perplexity = text_perplexity(loss);
    g_string_append_printf(out, "%s loss %s", what, number);
    if (tokens && isfinite(exp(loss)))
        g_string_append_printf(out, " (perplexity %s)", perplexity);
}

static void print_best(const struct training *t, bool tokens, GString *out)
{
    g_string_append_printf(out, "best epoch %" PRIu32 " of %" PRIu32, t->best + 1, t->n);
    if (t->n < t->asked)
        g_string_append_printf(out, " (of %" PRIu32 " asked for; not tested)", t->asked);
    g_string_append(out, ": ");
    print_one("valid", t->epochs[t->best].valid_loss, tokens, out);
    if (t->test_samples) {
        g_string_append(out, "; ");
        print_one("test", t->test_loss, tokens, out);
    }
    g_string_append_c(out, '\n');
}

void training_print(const struct training *t, bool tokens, GString *out)
{
    if (t->n)
        print_best(t, tokens, out);
    if (t->trained == t->n)
        return;
    g_string_append_printf(
        out, "epoch %" PRIu32 " was trained, and interrupted while it was validated:", t->trained);
    print_one("", t->epochs[t->n].loss, tokens, out);
    g_string_append_c(out, '\n');
}

void training_json(const struct training *t, GString *out)
{
    g_string_append(out, "{\"epochs\": [");
    for (uint32_t i = 0; i < t->trained; i++) {
        const struct epoch *e = &t->epochs[i];
        g_string_append_printf(out, "%s\n  {\"epoch\": %" PRIu32 ", \"batches\": %" PRIu32, i ? "," : "",
                               i + 1, e->batches);
        json_member_double(out, ", ", "lr", e->lr);
        json_member_double(out, ", ", "ms_batch", e->ms_batch);
        json_member_double(out, ", ", "loss", e->loss);
        if (i < t->n) {
            json_member_double(out, ", ", "valid_loss", e->valid_loss);
            json_member_double(out, ", ", "seconds", e->seconds);
        }
        g_string_append_c(out, '}');
    }
    g_string_append_c(out, ']');
    if (t->n)
        g_string_append_printf(out, ",\n  \"best_epoch\": %" PRIu32 ", \"valid_samples\": %" PRIu32,
                               t->best + 1, t->valid_samples);
    if (t->test_samples) {
        json_member_double(out, ", ", "test_loss", t->test_loss);
        g_string_append_printf(out, ", \"test_samples\": %" PRIu32, t->test_samples);
    }
    g_string_append_c(out, '}');
}
