/* What long work says of itself: each stage in words, nothing before it is long or after its end. */
#include "cli/patience.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"

#define SOON_NS  INT64_C(1000000)
#define NEVER_NS (INT64_MAX / 4)

/* Standard error is a pipe, as to a log, meanwhile. */
struct listener {
    int end, saved;
};

static struct listener listen_begin(void)
{
    int ends[2];
    g_assert_cmpint(pipe(ends), ==, 0);
    fflush(stderr);
    const struct listener l = {ends[0], dup(STDERR_FILENO)};
    g_assert_cmpint(dup2(ends[1], STDERR_FILENO), ==, STDERR_FILENO);
    close(ends[1]);
    return l;
}

/* Waits for it. */
static char *hear_line(const struct listener *l)
{
    GString *line = g_string_new(NULL);
    for (char c = 0; c != '\n' && read(l->end, &c, 1) == 1;)
        g_string_append_c(line, c);
    return g_string_free(line, FALSE);
}

/* What is there. */
static char *listen_end(const struct listener *l)
{
    char rest[1000] = "";
    fflush(stderr);
    dup2(l->saved, STDERR_FILENO);
    close(l->saved);
    const ssize_t n = read(l->end, rest, sizeof rest - 1);
    close(l->end);
    g_assert_cmpint(n, >=, 0);
    return g_strndup(rest, (gsize)n);
}

static void test_stages(void)
{
    const struct listener l = listen_begin();
    struct patience *p = patience_begin("simulating", SOON_NS);
    g_autofree char *first = hear_line(&l);
    patience_stage(p, "drawing");
    g_autofree char *second = hear_line(&l);
    patience_stage(p, NULL);
    g_usleep(5000);
    patience_end(p);
    g_autofree char *rest = listen_end(&l);
    g_assert_true(g_str_has_prefix(first, "parprof: simulating, ") &&
                  g_str_has_suffix(first, " s until now\n"));
    g_assert_true(g_str_has_prefix(second, "parprof: drawing, "));
    g_assert_cmpstr(rest, ==, "");
}

static void test_short(void)
{
    const struct listener l = listen_begin();
    struct patience *p = patience_begin("simulating", NEVER_NS);
    patience_stage(p, "drawing");
    patience_end(p);
    patience_stage(NULL, "drawing");
    patience_end(NULL);
    g_autofree char *rest = listen_end(&l);
    g_assert_cmpstr(rest, ==, "");
}

/* One line, which counts and is gone at the end. */
static void test_terminal(void)
{
    char text[200];
    size_t n = 0;
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) || unlockpt(terminal)) {
        g_test_skip("no pseudo-terminal can be had here");
        return;
    }
    const int end = open(ptsname(terminal), O_RDWR | O_NOCTTY), saved = dup(STDERR_FILENO);
    dup2(end, STDERR_FILENO);
    struct patience *p = patience_begin("simulating", SOON_NS);
    while (n < sizeof text - 1 && read(terminal, text + n, 1) == 1 && !memchr(text, 's', n + 1))
        n++;
    patience_end(p);
    dup2(saved, STDERR_FILENO);
    close(saved);
    const ssize_t more = read(terminal, text + n + 1, sizeof text - n - 2);
    g_assert_cmpint(more, >, 0);
    text[n + 1 + (size_t)more] = 0;
    g_assert_true(g_str_has_prefix(text, "\r\033[Ksimulating, "));
    g_assert_true(g_str_has_suffix(text, " s \r\033[K"));
    g_assert_null(strchr(text, '\n'));
    close(end);
    close(terminal);
}

static volatile sig_atomic_t caught_by;

static void on_signal(int number)
{
    (void)number;
    caught_by = (sig_atomic_t)gettid();
}

/* What asks the process to stop is for the thread that it began with, though that one cannot take it now. */
static void test_signals(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    sigset_t term, before;
    struct patience *p = patience_begin("simulating", NEVER_NS);
    g_assert_cmpint(sigaction(SIGTERM, &action, NULL), ==, 0);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, &before);
    g_assert_cmpint(kill(getpid(), SIGTERM), ==, 0);
    g_usleep(20000);
    g_assert_cmpint(caught_by, ==, 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    g_assert_cmpint(caught_by, ==, gettid());
    patience_end(p);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/patience/stages", test_stages);
    g_test_add_func("/patience/short", test_short);
    g_test_add_func("/patience/terminal", test_terminal);
    g_test_add_func("/patience/signals", test_signals);
    return g_test_run();
}
