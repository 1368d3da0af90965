/* cli/child.h -- a command run as a child that leaves nothing behind: in a process group of its own, its output seen line by line,
 * ended with everything that it started. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#define CHILD_LINE_MAX ((gsize)1 << 20) /* of a longer line that many bytes are seen */
#define CHILD_TAIL     4096             /* bytes kept of the end of each stream */

struct child {
    const char *const *argv; /* ends with NULL; argv[0] is a path, or is looked for in PATH */
    int64_t until_ns;        /* clock_ns() at which it is ended; INT64_MAX: never */
    void (*line)(void *user, const char *line, gsize n); /* of standard output, without its end (LF or CR); may be NULL */
    void *user;
};

enum child_end { CHILD_ENDED, CHILD_LATE, CHILD_INTERRUPTED };

struct child_result {
    int how;    /* enum child_end; but of CHILD_ENDED it was killed, first politely */
    int status; /* as of waitpid */
    GString *out, *err; /* the tails */
};

/* Standard input is empty.  False with the error: it could not be started, and nothing is to be released. */
bool child_run(const struct child *, struct child_result *, GError **);
void child_result_release(struct child_result *);

/* "ended with status 3", "was ended by signal 11 (Segmentation fault)"; NULL: it ended well.  g_free */
char *child_failure(const struct child_result *);
/* The last `lines` lines of a tail that are not blank, with " | " between; "" if there is none.  g_free */
char *child_last_lines(const GString *tail, unsigned lines);

/* SIGINT, SIGTERM and SIGHUP end the child instead of this program, which goes on; a second one leaves out politeness. */
void child_catch_interrupt(void);
bool child_interrupted(void);

#endif
