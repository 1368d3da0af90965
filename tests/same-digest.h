/* tests/same-digest.h -- two digests hold the same numbers. */
#ifndef TESTS_SAME_DIGEST_H
#define TESTS_SAME_DIGEST_H

#include "profile/digest.h"

static inline void assert_same_pairs(char *const *a, char *const *b)
{
    guint n = g_strv_length((char **)a);
    g_assert_cmpuint(n, ==, g_strv_length((char **)b));
    for (guint i = 0; i < n; i++)
        g_assert_cmpstr(a[i], ==, b[i]);
}

static inline void assert_same_row(const struct digest_row *a, const struct digest_row *b)
{
    g_assert_cmpstr(a->name, ==, b->name);
    g_assert_true(a->measured == b->measured);
    g_assert_cmpint(a->step_ns, ==, b->step_ns);
    g_assert_cmpint(a->predicted_step_ns, ==, b->predicted_step_ns);
    for (unsigned phase = 0; phase < PHASES; phase++)
        g_assert_cmpint(a->phase_ns[phase], ==, b->phase_ns[phase]);
    g_assert_cmpint(a->partition.compute_ns, ==, b->partition.compute_ns);
    g_assert_cmpint(a->partition.exposed_comm_ns, ==, b->partition.exposed_comm_ns);
    g_assert_cmpint(a->partition.exposed_copy_ns, ==, b->partition.exposed_copy_ns);
    g_assert_cmpint(a->partition.idle_ns, ==, b->partition.idle_ns);
    g_assert_cmpint(a->partition.window_ns, ==, b->partition.window_ns);
    g_assert_cmpint(a->partition.comm_ns, ==, b->partition.comm_ns);
    g_assert_cmpint(a->partition.hidden_comm_ns, ==, b->partition.hidden_comm_ns);
}

static inline void assert_same_bucket(const struct digest_bucket *a, const struct digest_bucket *b)
{
    g_assert_cmpuint(a->bytes, ==, b->bytes);
    g_assert_cmpuint(a->rank, ==, b->rank);
    g_assert_cmpint(a->ready_ns, ==, b->ready_ns);
    g_assert_cmpint(a->launch_ns, ==, b->launch_ns);
    g_assert_cmpint(a->start_ns, ==, b->start_ns);
    g_assert_cmpint(a->end_ns, ==, b->end_ns);
    g_assert_cmpint(a->hidden_ns, ==, b->hidden_ns);
    g_assert_cmpint(a->exposed_ns, ==, b->exposed_ns);
    g_assert_cmpint(a->copied_ns, ==, b->copied_ns);
    for (unsigned c = 0; c < CAUSES; c++)
        g_assert_cmpint(a->causes.ns[c], ==, b->causes.ns[c]);
    g_assert_cmpuint(a->causes.late_rank, ==, b->causes.late_rank);
    g_assert_cmpint(a->causes.late_rank_ns, ==, b->causes.late_rank_ns);
}

static inline void assert_same_digest(const struct digest *a, const struct digest *b)
{
    g_assert_cmpstr(a->mode, ==, b->mode);
    g_assert_cmpstr(a->backend, ==, b->backend);
    g_assert_cmpstr(a->model, ==, b->model);
    g_assert_cmpuint(a->n_ranks, ==, b->n_ranks);
    g_assert_true(a->simulated == b->simulated && a->cancelled == b->cancelled);
    assert_same_pairs(a->labels, b->labels);
    assert_same_pairs(a->options, b->options);
    assert_same_pairs(a->environment, b->environment);
    g_assert_cmpuint(a->n_rows, ==, b->n_rows);
    for (uint32_t i = 0; i < a->n_rows; i++)
        assert_same_row(&a->rows[i], &b->rows[i]);
    g_assert_cmpuint(a->n_buckets, ==, b->n_buckets);
    for (uint32_t i = 0; i < a->n_buckets; i++)
        assert_same_bucket(&a->buckets[i], &b->buckets[i]);
    g_assert_cmpint(a->backward_ns, ==, b->backward_ns);
    g_assert_cmpuint(a->n_memory, ==, b->n_memory);
    for (uint32_t i = 0; i < a->n_memory; i++)
        g_assert_cmpstr(a->memory_names[i], ==, b->memory_names[i]);
    for (uint32_t i = 0; i < a->n_memory * a->n_ranks; i++)
        g_assert_cmpuint(a->memory_bytes[i], ==, b->memory_bytes[i]);
    g_assert_true(!a->memory_measured == !b->memory_measured);
    for (uint32_t i = 0; a->memory_measured && i < a->n_ranks; i++)
        g_assert_cmpuint(a->memory_measured[i], ==, b->memory_measured[i]);
}

#endif
