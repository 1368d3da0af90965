#include "base/json.h"
#include "profile/compare-out.h"

static void side(const struct side *s, const char *key, GString *out)
{
    g_string_append_printf(out, ",\n \"%s\": [", key);
    for (uint32_t i = 0; i < s->n; i++) {
        g_string_append(out, i ? ", " : "");
        json_string(out, s->runs[i]->name);
    }
    g_string_append_c(out, ']');
}

static void metric(const struct compared *c, unsigned m, const char *before, GString *out)
{
    static const char *const units[] = {
        [METRIC_NS] = "ns", [METRIC_BYTES] = "bytes", [METRIC_PERCENT] = "percent"};
    g_string_append_printf(out, "%s\n  {\"metric\": \"%s\", \"unit\": \"%s\", \"verdict\": \"%s\"", before,
                           metrics[m].key, units[metrics[m].unit], verdict_name((unsigned)c->verdict));
    if (c->why) {
        g_string_append(out, ", \"why\": ");
        json_string(out, c->why);
    }
    g_string_append_printf(out, ", \"n\": [%u, %u]", c->n[0], c->n[1]);
    json_member_double(out, ", ", "base", c->median[0]);
    json_member_double(out, ", ", "new", c->median[1]);
    json_member_double(out, ", ", "difference", c->difference);
    json_member_double(out, ", ", "threshold", c->threshold);
    if (!c->exact) {
        g_string_append(out, ", \"ci95\": [");
        json_double(out, c->ci[0]);
        g_string_append(out, ", ");
        json_double(out, c->ci[1]);
        g_string_append_c(out, ']');
        json_member_double(out, ", ", "p", c->p);
        json_member_double(out, ", ", "p_adjusted", c->adjusted);
        json_member_double(out, ", ", "autocorrelation", c->rho);
    }
    if (c->detects > 0)
        json_member_double(out, ", ", "detects", c->detects);
    g_string_append_c(out, '}');
}

/* Of the gate, whose runs are in no other file: what was measured, a row a pair. */
static void pairs(const struct compared_sides *s, GString *out)
{
    const struct measurement *base = s->base.runs[0], *new = s->new.runs[0];
    g_string_append(out, ",\n \"samples\": [");
    for (uint32_t i = 0; i < MIN(base->n[METRIC_STEP], new->n[METRIC_STEP]); i++) {
        g_string_append(out, i ? ", [" : "[");
        json_double(out, base->x[METRIC_STEP][i]);
        g_string_append(out, ", ");
        json_double(out, new->x[METRIC_STEP][i]);
        g_string_append_c(out, ']');
    }
    g_string_append_c(out, ']');
}

void comparison_json(const struct comparison *c, const struct compared_sides *s, GString *out)
{
    const char *before = "";
    g_string_append_printf(out, "{\"schema\": \"parprof.compare/1\",\n \"verdict\": \"%s\"",
                           verdict_name((unsigned)c->verdict));
    if (c->why) {
        g_string_append(out, ",\n \"why\": ");
        json_string(out, c->why);
    }
    side(&s->base, "base", out);
    side(&s->new, "new", out);
    g_string_append_printf(out, ",\n \"samples_are\": \"%s\",\n \"armed\": %u",
                           c->by_pair  ? "pairs"
                           : c->by_run ? "runs"
                                       : "steps",
                           c->armed);
    if (c->changes) {
        g_string_append(out, ",\n \"changes\": ");
        json_string(out, c->changes);
    }
    if (c->how) {
        g_string_append(out, ",\n \"how\": ");
        json_string(out, c->how);
    }
    if (c->by_pair)
        pairs(s, out);
    g_string_append(out, ",\n \"metrics\": [");
    for (unsigned m = 0; m < METRICS; m++)
        if (c->of[m].there) {
            metric(&c->of[m], m, before, out);
            before = ",";
        }
    g_string_append_c(out, ']');
    if (s->where) {
        g_string_append(out, ",\n \"where\": ");
        where_json(s->where, s->base.name, s->new.name, out);
    }
    g_string_append(out, "\n}\n");
}
