/* tests/check-trace.h -- what every trace of a run must satisfy: whole steps, in order, nothing before its
 * inputs. */
#ifndef TESTS_CHECK_TRACE_H
#define TESTS_CHECK_TRACE_H

#include "plan/plan.h"
#include "profile/trace.h"

static inline void check_trace(const struct plan *plan, const struct trace *trace, uint32_t steps)
{
    g_assert_cmpuint(trace->n_steps, ==, steps);
    g_assert_cmpuint(trace->n_ops, ==, (size_t)steps * plan->n_ops);
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        g_assert_cmpuint(op->tag.step, ==, i / plan->n_ops);
        g_assert_cmpuint(op->lane, ==, plan->ops[plan->order[i % plan->n_ops]].lane);
        g_assert_cmpint(op->ready_ns, <=, op->start_ns);
        g_assert_cmpint(op->start_ns, <=, op->end_ns);
    }
    int64_t *lane_end_ns = g_new0(int64_t, plan->t.n_lanes);
    for (size_t i = 0; i < trace->n_ops; i++) {
        g_assert_cmpint(trace->ops[i].start_ns, >=, lane_end_ns[trace->ops[i].lane]);
        lane_end_ns[trace->ops[i].lane] = trace->ops[i].end_ns;
    }
    g_free(lane_end_ns);
}

#endif
