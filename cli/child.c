#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/child-guard.h"
#include "cli/interrupt.h"
#include "profile/clock.h"
#include "profile/table.h"

#define WAKE_MS   20
#define POLITE_NS 2000000000 /* between SIGTERM and SIGKILL */
#define FLUSH_NS  200000000  /* for what writes a little longer than the command itself, as a tee does */
#define STRAYS_NS 1000000000

static volatile sig_atomic_t interrupts;

static void on_interrupt(int signal)
{
    (void)signal;
    interrupts = interrupts + 1;
}

void child_catch_interrupt(void)
{
    interrupt_catch(on_interrupt, 0);
}

bool child_interrupted(void)
{
    return interrupts > 0;
}

/* --- what is read */

struct stream {
    int fd;               /* -1: at its end */
    GString *tail, *line; /* line: NULL if nobody asks for lines */
};

struct watch {
    const struct child *child;
    pid_t pid;
    struct stream out, err;
    struct child_guard guard;
    GArray *spared; /* pid_t: children that were there before */
};

static void keep_tail(GString *tail, const char *data, gsize n)
{
    g_string_append_len(tail, data, (gssize)n);
    if (tail->len > CHILD_TAIL)
        g_string_erase(tail, 0, (gssize)(tail->len - CHILD_TAIL));
}

static void end_line(const struct child *c, GString *line)
{
    if (line->len)
        c->line(c->user, line->str, line->len);
    g_string_truncate(line, 0);
}

static void take(const struct child *c, struct stream *s, const char *data, gsize n)
{
    keep_tail(s->tail, data, n);
    if (!s->line)
        return;
    for (const char *at = data, *end = data + n; at < end;) {
        const gsize length = strcspn(at, "\n\r"), whole = MIN(length, (gsize)(end - at)),
                    room = CHILD_LINE_MAX - s->line->len;
        g_string_append_len(s->line, at, (gssize)MIN(whole, room));
        at += whole;
        if (at < end && (*at == '\n' || *at == '\r'))
            end_line(c, s->line);
        at++; /* the line's end, or a NUL, which is none of a text */
    }
}

/* Whether there may be more at once. */
static bool read_some(const struct child *c, struct stream *s)
{
    char data[65537];
    if (s->fd < 0)
        return false;
    const ssize_t n = read(s->fd, data, sizeof data - 1);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n > 0) {
        data[n] = '\0';
        take(c, s, data, (gsize)n);
        return true;
    }
    close(s->fd);
    s->fd = -1;
    return false;
}

/* Waits a moment for more of either. */
static void read_both(struct watch *w)
{
    struct pollfd fds[] = {{w->out.fd, POLLIN, 0}, {w->err.fd, POLLIN, 0}};
    if (poll(fds, 2, WAKE_MS) <= 0)
        return;
    if (fds[0].revents)
        read_some(w->child, &w->out);
    if (fds[1].revents)
        read_some(w->child, &w->err);
}

/* --- its end */

static bool is_over(const struct watch *w)
{
    siginfo_t info = {0};
    return !waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == w->pid;
}

static int watch_until_over(struct watch *w)
{
    while (!is_over(w)) {
        if (child_interrupted())
            return CHILD_INTERRUPTED;
        if (clock_ns() >= w->child->until_ns)
            return CHILD_LATE;
        read_both(w);
    }
    return CHILD_ENDED;
}

static void end_politely(struct watch *w)
{
    const int before = interrupts;
    const int64_t until_ns = clock_ns() + POLITE_NS;
    kill(-w->pid, SIGTERM);
    kill(-w->pid, SIGCONT);
    while (!is_over(w) && clock_ns() < until_ns && interrupts == before)
        read_both(w);
}

static bool has(const GArray *pids, pid_t pid)
{
    for (guint i = 0; i < pids->len; i++)
        if (g_array_index(pids, pid_t, i) == pid)
            return true;
    return false;
}

/* What left the group: whose parents are gone are this process's children now, and theirs will be. */
static void end_strays(const GArray *spared)
{
    const int64_t until_ns = clock_ns() + STRAYS_NS;
    const struct timespec moment = {.tv_nsec = 1000000};
    for (bool any = true; any && clock_ns() < until_ns;) {
        g_autoptr(GArray) pids = children_of(getpid());
        any = false;
        for (guint i = 0; i < pids->len; i++) {
            const pid_t pid = g_array_index(pids, pid_t, i);
            if (has(spared, pid))
                continue;
            any = true;
            kill(pid, SIGKILL);
            waitpid(pid, NULL, WNOHANG);
        }
        if (any)
            nanosleep(&moment, NULL);
    }
}

/* The group's number cannot be another's before its first process is waited for. */
static void finish(struct watch *w, int *status)
{
    const int64_t until_ns = clock_ns() + FLUSH_NS;
    while ((w->out.fd >= 0 || w->err.fd >= 0) && clock_ns() < until_ns)
        read_both(w);
    kill(-w->pid, SIGKILL);
    child_guard_end(&w->guard);
    while (waitpid(w->pid, status, 0) < 0 && errno == EINTR)
        continue;
    end_strays(w->spared);
    while (read_some(w->child, &w->out) || read_some(w->child, &w->err))
        continue;
    if (w->out.line)
        end_line(w->child, w->out.line);
}

/* --- its beginning */

/* Not before it is guarded.  PR_SET_PDEATHSIG would end it before the guard could see what it started. */
static bool wait_for_guard(const int *go)
{
    char byte;
    close(go[1]);
    const ssize_t n = read(go[0], &byte, 1);
    close(go[0]);
    return n == 1;
}

static void become(const struct child *c, int out, int err, const int *go)
{
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    interrupt_default();
    if (!wait_for_guard(go))
        _exit(127);
    signal(SIGXFSZ, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    const int in = open("/dev/null", O_RDONLY);
    if (in < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(127);
    if (in > STDERR_FILENO)
        close(in);
    execvp(c->argv[0], (char *const *)c->argv);
    dprintf(STDERR_FILENO, "cannot start '%s': %s\n", c->argv[0], g_strerror(errno));
    _exit(127);
}

static bool fail(GError **error, const struct child *c, const char *what)
{
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "cannot start '%s': %s: %s", c->argv[0],
                what, g_strerror(errno));
    return false;
}

enum { OUT, ERR, GO, PIPES };

static bool open_pipes(int (*pipes)[2])
{
    for (unsigned i = 0; i < PIPES; i++)
        if (pipe2(pipes[i], O_CLOEXEC)) {
            while (i-- > 0) {
                close(pipes[i][0]);
                close(pipes[i][1]);
            }
            return false;
        }
    return true;
}

static bool start(struct watch *w, GError **error)
{
    int pipes[PIPES][2];
    if (!open_pipes(pipes))
        return fail(error, w->child, "no pipe");
    fflush(NULL);
    w->pid = fork();
    if (w->pid == 0)
        become(w->child, pipes[OUT][1], pipes[ERR][1], pipes[GO]);
    close(pipes[OUT][1]);
    close(pipes[ERR][1]);
    close(pipes[GO][0]);
    w->out.fd = pipes[OUT][0];
    w->err.fd = pipes[ERR][0];
    if (w->pid < 0) {
        close(pipes[GO][1]);
        return fail(error, w->child, "no process");
    }
    setpgid(w->pid, w->pid);
    for (unsigned i = 0; i < 2; i++)
        fcntl(pipes[i][0], F_SETFL, O_NONBLOCK);
    w->guard = child_guard_start(w->pid);
    while (write(pipes[GO][1], "", 1) < 0 && errno == EINTR)
        continue;
    close(pipes[GO][1]);
    return true;
}

bool child_run(const struct child *c, struct child_result *result, GError **error)
{
    struct watch w = {.child = c};
    *result = (struct child_result){.out = g_string_new(NULL), .err = g_string_new(NULL)};
    w.out = (struct stream){-1, result->out, c->line ? g_string_new(NULL) : NULL};
    w.err = (struct stream){-1, result->err, NULL};
    w.spared = children_of(getpid());
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const bool ok = start(&w, error);
    if (ok) {
        result->how = watch_until_over(&w);
        if (result->how != CHILD_ENDED)
            end_politely(&w);
        finish(&w, &result->status);
    } else {
        child_result_release(result);
    }
    for (unsigned i = 0; i < 2; i++) {
        const int fd = i ? w.err.fd : w.out.fd;
        if (fd >= 0)
            close(fd);
    }
    if (w.out.line)
        g_string_free(w.out.line, TRUE);
    g_array_unref(w.spared);
    return ok;
}

void child_result_release(struct child_result *r)
{
    if (r->out)
        g_string_free(r->out, TRUE);
    if (r->err)
        g_string_free(r->err, TRUE);
    r->out = r->err = NULL;
}

char *child_failure(const struct child_result *r)
{
    if (WIFSIGNALED(r->status))
        return g_strdup_printf("was ended by signal %d (%s)", WTERMSIG(r->status),
                               strsignal(WTERMSIG(r->status)));
    return WEXITSTATUS(r->status) ? g_strdup_printf("ended with status %d", WEXITSTATUS(r->status)) : NULL;
}

char *child_last_lines(const GString *tail, unsigned lines)
{
    g_auto(GStrv) all = g_strsplit_set(tail->str, "\n\r", -1);
    g_autoptr(GString) out = g_string_new(NULL);
    for (guint i = g_strv_length(all); i-- > 0 && lines;) {
        g_autofree char *shown = printable(g_strchomp(all[i]));
        if (!*shown)
            continue;
        g_string_prepend(out, out->len ? " | " : "");
        g_string_prepend(out, shown);
        lines--;
    }
    return g_strdup(out->str);
}
