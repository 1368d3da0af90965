/* Calls that block inside CUDA, NCCL or CUPTI and may never come back: a thread of its own makes them, and
 * the walker's watches it. */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "base/thread.h"
#include "exec/cuda/run.h"
#include "profile/clock.h"

#define POLL_NS 500000
/* Some of these calls watch what they wait for and can say more: they are given time to. */
#define GRACE_S 2

struct guarded {
    cuda_guarded_call *call;
    void *user;
    struct cuda *c;
    GError *error;
    bool ok;
    atomic_bool over;
};

static void *make_call(void *arg)
{
    struct guarded *g = arg;
    g->ok = g->call(g->c, g->user, &g->error);
    atomic_store(&g->over, true);
    return NULL;
}

void cuda_enter(struct cuda *c, const char *stage)
{
    atomic_store(&c->stage, stage);
    atomic_fetch_add(&c->stages, 1);
}

/* False: nothing has advanced for too long. */
static bool await(struct cuda *c, const struct guarded *g)
{
    int64_t since_ns = clock_ns();
    unsigned seen = atomic_load(&c->stages);
    while (!atomic_load(&g->over)) {
        const unsigned now = atomic_load(&c->stages);
        if (now != seen)
            since_ns = clock_ns();
        seen = now;
        if (c->run->timeout_s > 0 && (double)(clock_ns() - since_ns) / 1e9 > c->run->timeout_s + GRACE_S)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
    }
    return true;
}

bool cuda_guard(struct cuda *c, const char *stage, cuda_guarded_call *call, void *user, GError **error)
{
    pthread_t thread;
    struct guarded *g = g_new0(struct guarded, 1);
    *g = (struct guarded){.call = call, .user = user, .c = c};
    cuda_enter(c, stage);
    const int status = thread_start(&thread, NULL, make_call, g);
    if (status) {
        g_set_error(error, ENGINE_ERROR, ENGINE_ERROR_FAILED, "cannot start a thread: %s",
                    g_strerror(status));
        g_free(g);
        return false;
    }
    if (!await(c, g)) {
        char seconds[G_ASCII_DTOSTR_BUF_SIZE];
        g_ascii_formatd(seconds, sizeof seconds, "%.6g", c->run->timeout_s);
        g_set_error(
            error, ENGINE_ERROR, ENGINE_ERROR_FAILED,
            "nothing has advanced for %s s: a call hangs in %s; NCCL_DEBUG=INFO and dmesg may tell more",
            seconds, (const char *)atomic_load(&c->stage));
        c->rested = c->stuck = true;
        return false; /* the thread keeps what it uses */
    }
    pthread_join(thread, NULL);
    const bool ok = g->ok;
    if (g->error)
        g_propagate_error(error, g->error);
    g_free(g);
    return ok;
}
