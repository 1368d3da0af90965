/* The stages of DataParallel's and DDP's steps that figures show, against what the shape of the work says of them. */
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "tests/work-trace.h"
#include "viz/ddp-times.h"
#include "viz/dp-step.h"

enum { SAMPLES = 4, TOKENS = 6, WORDS = 50 }; /* of a rank, of a sample, of the vocabulary: tests/work-trace.h */

static void check(const struct work *w)
{
    struct trace trace;
    struct analysis analysis;
    struct dp_step s;
    GError *error = NULL;
    uint64_t weights = 0;
    int64_t ns = 0;
    work_simulate(w, &trace);
    g_assert_true(analyze(&trace, &analysis, NULL));
    g_assert_true(dp_step_make(&s, &(struct figure_input){.trace = &trace, .analysis = &analysis}, &error));
    const uint64_t others = w->ranks - 1, part = (uint64_t)SAMPLES * TOKENS * sizeof(int32_t);
    const bool inside = w->gather == GATHER_LOSS;
    for (uint32_t i = 0; i < trace.t.n_params; i++)
        weights += trace.t.params[i].bytes;
    g_assert_true(s.loss_inside == inside && s.per_token);
    g_assert_cmpuint(s.batch, ==, (uint64_t)w->ranks * SAMPLES);
    g_assert_cmpuint(s.seq, ==, TOKENS);
    g_assert_cmpuint(s.classes, ==, WORDS);
    g_assert_cmpuint(s.weights, ==, weights);
    for (uint32_t rank = 0; rank < w->ranks; rank++)
        g_assert_cmpuint(s.rows[rank], ==, SAMPLES);
    /* Targets go with the tokens where the loss is the ranks'. */
    g_assert_cmpuint(s.bytes[DP_SCATTER], ==, others * part * (inside ? 2 : 1));
    g_assert_cmpuint(s.bytes[DP_BROADCAST], ==, others * weights);
    g_assert_cmpuint(s.bytes[DP_GATHER], ==, others * (inside ? sizeof(double) : part * WORDS));
    g_assert_cmpuint(s.bytes[DP_SCATTER_GRADIENT], ==, s.bytes[DP_GATHER]);
    g_assert_cmpuint(s.bytes[DP_REDUCE], ==, others * weights);
    for (unsigned i = 0; i < DP_STAGES; i++) {
        g_assert_true((s.ns[i] >= 0) == ((i != DP_RANK_LOSS || inside) && (others || s.bytes[i] || i == DP_FORWARD ||
                                                                           i == DP_RANK_LOSS || i == DP_LOSS ||
                                                                           i == DP_BACKWARD || i == DP_STEP)));
        ns += MAX(0, s.ns[i]);
    }
    g_assert_cmpint(ns, >, 0);
    if (w->ranks == 1) /* nothing beside anything */
        g_assert_cmpint(ns, <=, analysis.median_ns);
    dp_step_release(&s);
    analysis_release(&analysis);
    trace_release(&trace);
}

static void test_stages(void)
{
    for (uint32_t ranks = 1; ranks <= 6; ranks++)
        for (uint8_t gather = 0; gather < GATHERS; gather++) {
            check(&(struct work){.mode = &mode_dp, .ranks = ranks, .algo = ALLREDUCE_TREE, .gather = gather});
            check(&(struct work){.mode = &mode_dp, .ranks = ranks, .algo = ALLREDUCE_WHOLE, .gather = gather});
        }
}

static void test_other_modes(void)
{
    struct trace trace;
    struct analysis analysis;
    struct dp_step s;
    g_autoptr(GError) error = NULL;
    work_simulate(&(struct work){.mode = &mode_ddp, .ranks = 2, .algo = ALLREDUCE_RING}, &trace);
    g_assert_true(analyze(&trace, &analysis, NULL));
    g_assert_false(dp_step_make(&s, &(struct figure_input){.trace = &trace, .analysis = &analysis}, &error));
    g_assert_nonnull(strstr(error->message, "this one is of ddp"));
    g_clear_error(&error);
    g_assert_false(dp_step_make(&s, &(struct figure_input){0}, &error));
    g_assert_nonnull(strstr(error->message, "a sweep has only totals"));
    analysis_release(&analysis);
    trace_release(&trace);
}

/* All-reduce is found where the work was told to have it, as long as the analysis says; what was not run has every phase. */
static void test_places(void)
{
    for (uint8_t overlap = 0; overlap < OVERLAPS; overlap++) {
        struct trace trace;
        struct analysis a;
        struct ddp_times times[DDP_PLACES];
        enum ddp_place own;
        work_simulate(&(struct work){.mode = &mode_ddp, .ranks = 3, .algo = ALLREDUCE_RING, .overlap = overlap}, &trace);
        g_assert_true(analyze(&trace, &a, NULL));
        ddp_times_make(times, &(struct figure_input){.trace = &trace, .analysis = &a}, &own);
        g_assert_cmpint(own, ==, overlap);
        for (unsigned place = 0; place < DDP_PLACES; place++) {
            g_assert_true(times[place].drawn == (place == overlap));
            g_assert_cmpint(times[place].step_ns, ==, place == overlap ? a.median_ns : -1);
            for (unsigned p = 0; p < PHASES; p++)
                g_assert_cmpint(llabs(intervals_length(&times[place].phase[p]) - a.phase_ns[p]), <=, place == overlap ? 0 : 3);
        }
        ddp_times_release(times);
        analysis_release(&a);
        trace_release(&trace);
    }
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/stages/dp", test_stages);
    g_test_add_func("/stages/places", test_places);
    g_test_add_func("/stages/other-modes", test_other_modes);
    return g_test_run();
}
