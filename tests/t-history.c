/* Histories that writers share, are killed over, and that are pruned meanwhile: no run that was appended is
 * lost, and what is there can be read. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/history-file.h"
#include "cli/input.h"
#include "tests/noise.h"
#include "tests/tap.h"

enum { RUNS = 1000, KILLS = 100 };

static struct measurement *measurement_new(const char *ranks, uint32_t n)
{
    const char *const must[] = {"ranks", ranks, NULL};
    struct measurement *m = g_new0(struct measurement, 1);
    m->name = g_strdup("r.json");
    m->fingerprint = (struct fingerprint){g_strdupv((char **)must), g_new0(char *, 1)};
    m->n[METRIC_STEP] = n;
    m->x[METRIC_STEP] = g_new0(double, n);
    return m;
}

/* Appends from a process of its own, each run with its number. */
static pid_t writer(const char *path, const char *ranks, unsigned n, uint32_t samples)
{
    const pid_t pid = fork();
    if (pid)
        return pid;
    struct measurement *m = measurement_new(ranks, samples);
    for (unsigned i = 0; i < n; i++) {
        m->x[METRIC_STEP][0] = i;
        if (!history_append(path, m, NULL, NULL))
            _exit(1);
    }
    _exit(0);
}

static void ended_well(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        g_assert_cmpint(errno, ==, EINTR);
    g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static GPtrArray *read_all(const char *path, uint32_t *passed_over)
{
    gsize n;
    GError *error = NULL;
    GPtrArray *runs = g_ptr_array_new_with_free_func((GDestroyNotify)measurement_free);
    g_autofree char *text = file_read(path, &n, &error);
    g_assert_no_error(error);
    measurement_of_history(text, n, path, runs, passed_over, &error);
    g_assert_no_error(error);
    return runs;
}

/* Of one writer: all of its runs, in its order. */
static unsigned in_order(const GPtrArray *runs, const char *ranks)
{
    unsigned n = 0;
    for (guint i = 0; i < runs->len; i++) {
        const struct measurement *m = runs->pdata[i];
        if (strcmp(m->fingerprint.must[1], ranks))
            continue;
        g_assert_cmpfloat(m->x[METRIC_STEP][0], ==, n);
        n++;
    }
    return n;
}

static char *new_path(void)
{
    g_autofree char *folder = g_dir_make_tmp("history-XXXXXX", NULL);
    return g_build_filename(folder, "h.jsonl", NULL);
}

static void remove_path(char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    unlink(path);
    rmdir(folder);
    g_free(path);
}

static void test_writers(void)
{
    char *path = new_path();
    uint32_t passed_over;
    const pid_t a = writer(path, "2", RUNS, 40), b = writer(path, "4", RUNS, 7);
    ended_well(a);
    ended_well(b);
    g_autoptr(GPtrArray) runs = read_all(path, &passed_over);
    g_assert_cmpuint(passed_over, ==, 0);
    g_assert_cmpuint(in_order(runs, "2"), ==, RUNS);
    g_assert_cmpuint(in_order(runs, "4"), ==, RUNS);
    remove_path(path);
}

/* Pruning puts another file in place; who waits for the lock meanwhile must not write into the old one. */
static void test_pruned_meanwhile(void)
{
    char *path = new_path();
    uint32_t passed_over, left, gone;
    struct measurement *first = measurement_new("1", 3);
    g_assert_true(history_append(path, first, NULL, NULL));
    const pid_t a = writer(path, "2", RUNS / 4, 40), b = writer(path, "4", RUNS / 4, 7);
    for (unsigned i = 0; i < 50; i++)
        g_assert_true(history_prune(path, 2 * RUNS, &left, &gone, NULL));
    ended_well(a);
    ended_well(b);
    g_autoptr(GPtrArray) runs = read_all(path, &passed_over);
    g_assert_cmpuint(in_order(runs, "2"), ==, RUNS / 4);
    g_assert_cmpuint(in_order(runs, "4"), ==, RUNS / 4);
    measurement_free(first);
    remove_path(path);
}

static void test_killed(void)
{
    char *path = new_path();
    uint64_t state = 3;
    uint32_t passed_over;
    guint before = 0;
    struct measurement *last = measurement_new("8", 2);
    for (unsigned i = 0; i < KILLS; i++) {
        const pid_t pid = writer(path, "2", 1000000, 2000);
        g_usleep(1000 + stats_random(&state) % 4000);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        g_assert_true(history_append(path, last, NULL, NULL));
        g_autoptr(GPtrArray) runs = read_all(path, &passed_over);
        g_assert_cmpuint(passed_over, <=, i + 1); /* what was cut, once a kill at most */
        g_assert_cmpuint(runs->len, >, before);
        before = runs->len;
        if (i % 10 == 9) { /* so that the file stays short */
            uint32_t left, gone;
            g_assert_true(history_prune(path, 5, &left, &gone, NULL));
            before = left;
        }
    }
    measurement_free(last);
    remove_path(path);
}

/* A write of which only a part went is taken back. */
static void test_full(void)
{
    char *path = new_path();
    uint32_t passed_over;
    struct measurement *m = measurement_new("2", 50);
    g_assert_true(history_append(path, m, "same", NULL));
    const pid_t pid = fork();
    if (!pid) {
        const struct rlimit limit = {500, 500};
        GError *error = NULL;
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        for (unsigned i = 0; i < 10; i++)
            if (!history_append(path, m, NULL, &error))
                _exit(strstr(error->message, path) ? 0 : 2);
        _exit(1);
    }
    ended_well(pid);
    g_autoptr(GPtrArray) runs = read_all(path, &passed_over);
    g_assert_cmpuint(passed_over, ==, 0);
    g_assert_cmpuint(runs->len, ==, 1);
    measurement_free(m);
    remove_path(path);
}

static void test_kept(void)
{
    static const char *const verdicts[] = {"same", "same", "faster", "slower", "incomparable", NULL};
    char *path = new_path();
    uint32_t passed_over, left, gone;
    struct measurement *m = measurement_new("2", 5), *other = measurement_new("4", 5);
    g_assert_true(history_append(path, other, NULL, NULL));
    for (unsigned i = 0; i < G_N_ELEMENTS(verdicts); i++)
        g_assert_true(history_append(path, m, verdicts[i], NULL));
    g_assert_true(history_prune(path, 2, &left, &gone, NULL));
    g_assert_cmpuint(left, ==, 5);
    g_assert_cmpuint(gone, ==, 2);
    g_autoptr(GPtrArray) runs = read_all(path, &passed_over);
    g_assert_cmpstr(((struct measurement *)runs->pdata[0])->fingerprint.must[1], ==, "4");
    g_assert_cmpstr(((struct measurement *)runs->pdata[1])->verdict, ==, "faster");
    measurement_free(m);
    measurement_free(other);
    remove_path(path);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/history/writers", test_writers);
    g_test_add_func("/history/pruned-meanwhile", test_pruned_meanwhile);
    g_test_add_func("/history/killed", test_killed);
    g_test_add_func("/history/full", test_full);
    g_test_add_func("/history/kept", test_kept);
    return g_test_run();
}
