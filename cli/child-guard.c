#include "cli/child-guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void add_numbers(GArray *pids, const char *text)
{
    for (char *end;; text = end) {
        const pid_t pid = (pid_t)g_ascii_strtoll(text, &end, 10);
        if (end == text)
            return;
        g_array_append_val(pids, pid);
    }
}

/* Each thread has those that it started. */
GArray *children_of(pid_t pid)
{
    g_autofree char *tasks = g_strdup_printf("/proc/%d/task", (int)pid);
    g_autoptr(GDir) folder = g_dir_open(tasks, 0, NULL);
    GArray *pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
    for (const char *task; folder && (task = g_dir_read_name(folder));) {
        g_autofree char *path = g_strdup_printf("%s/%s/children", tasks, task), *text = NULL;
        if (g_file_get_contents(path, &text, NULL, NULL))
            add_numbers(pids, text);
    }
    return pids;
}

/* Stopped first, it starts no more. */
static void kill_tree(pid_t pid)
{
    kill(pid, SIGSTOP);
    g_autoptr(GArray) pids = children_of(pid);
    for (guint i = 0; i < pids->len; i++)
        kill_tree(g_array_index(pids, pid_t, i));
    kill(pid, SIGKILL);
}

/* In a session of its own, so that what the terminal sends to the parent does not end it first.  A parent's
 * files close before the kernel gives its children to another; a child that is stopped then gets a SIGHUP,
 * and what it started could no longer be found.  The child is given away first, as the older one. */
static void watch_parent(int life, pid_t parent, pid_t child)
{
    char byte;
    setsid();
    while (read(life, &byte, 1) < 0 && errno == EINTR)
        continue;
    while (getppid() == parent)
        g_usleep(100);
    kill_tree(child);
    kill(-child, SIGKILL);
    _exit(0);
}

struct child_guard child_guard_start(pid_t child)
{
    int life[2];
    if (pipe2(life, O_CLOEXEC))
        return (struct child_guard){-1, -1};
    const pid_t parent = getpid();
    const struct child_guard guard = {fork(), life[1]};
    if (guard.pid == 0) {
        close(life[1]);
        watch_parent(life[0], parent, child);
    }
    close(life[0]);
    return guard;
}

void child_guard_end(struct child_guard *guard)
{
    if (guard->pid > 0) {
        kill(guard->pid, SIGKILL);
        while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    if (guard->life >= 0)
        close(guard->life);
}
