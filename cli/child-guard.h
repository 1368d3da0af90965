/* cli/child-guard.h -- a process that ends a child where its parent was killed before it could (kill -9, no memory). */
#ifndef CLI_CHILD_GUARD_H
#define CLI_CHILD_GUARD_H

#include <glib.h>
#include <sys/types.h>

struct child_guard {
    pid_t pid; /* -1: there could be none */
    int life;  /* the parent's end of a pipe, which nobody else has: it closes with the parent */
};

/* Watches over the child, the first of its process group: when this process is gone the group is killed, and what descends from
 * the child outside of it.  What left the group and lost its parent before is not found. */
struct child_guard child_guard_start(pid_t child);
/* While the child's number is still its own: before it is waited for. */
void child_guard_end(struct child_guard *);

/* Of a process, by the kernel's list: pid_t, empty where there is none or it is no process.  g_array_unref */
GArray *children_of(pid_t);

#endif
