#include "cli/patience.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include <glib.h>

#include "base/thread.h"
#include "profile/clock.h"

#define SECOND_NS   INT64_C(1000000000)
#define TERMINAL_NS (2 * SECOND_NS)
#define LOG_NS      (10 * SECOND_NS)

struct patience {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const char *what;
    int64_t after_ns, began_ns, due_ns;
    bool terminal, shown, over; /* shown: the terminal has a line */
};

static void begin_stage(struct patience *p, const char *what)
{
    p->what = what;
    p->began_ns = clock_ns();
    p->due_ns = what ? p->began_ns + p->after_ns : INT64_MAX;
}

static void clear(struct patience *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
}

static void say(struct patience *p)
{
    const int seconds = (int)((clock_ns() - p->began_ns) / SECOND_NS);
    fprintf(stderr, "%s%s, %d s%s", p->terminal ? "\r\033[K" : "parprof: ", p->what, seconds,
            p->terminal ? " " : " until now\n");
    p->shown = p->terminal;
    p->due_ns = p->terminal ? clock_ns() + SECOND_NS : INT64_MAX;
}

static void *watch(void *user)
{
    struct patience *p = user;
    pthread_mutex_lock(&p->lock);
    while (!p->over) {
        if (p->due_ns == INT64_MAX) {
            pthread_cond_wait(&p->changed, &p->lock);
        } else if (clock_ns() >= p->due_ns) {
            say(p);
        } else {
            const struct timespec due = {p->due_ns / SECOND_NS, p->due_ns % SECOND_NS};
            pthread_cond_timedwait(&p->changed, &p->lock, &due);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void release(struct patience *p)
{
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    g_free(p);
}

struct patience *patience_begin(const char *what, int64_t after_ns)
{
    struct patience *p = g_new0(struct patience, 1);
    pthread_condattr_t monotonic;
    p->terminal = isatty(STDERR_FILENO);
    p->after_ns = after_ns ? after_ns : p->terminal ? TERMINAL_NS : LOG_NS;
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&p->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    begin_stage(p, what);
    if (!thread_start(&p->thread, NULL, watch, p))
        return p;
    release(p);
    return NULL;
}

void patience_stage(struct patience *p, const char *what)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    clear(p);
    begin_stage(p, what);
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

void patience_end(struct patience *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    clear(p);
    p->over = true;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    release(p);
}
