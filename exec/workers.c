#include "exec/workers.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/thread.h"
#include "plan/engine.h"
#include "profile/clock.h"

#define CANCEL_POLL_NS 20000000
#define STACK_BYTES    ((size_t)1 << 20)

enum entry_kind { ENTRY_JOB, ENTRY_RECORD, ENTRY_WAIT };

struct entry {
    struct job job; /* records and waits: id is the event */
    uint8_t kind;
};

/* Who sleeps on what, so that only those are woken whose wish came true. */
struct sleeper {
    enum { ON_NOTHING, ON_EVENT, ON_WORK, ON_DRAIN } on;
    uint32_t id; /* event or lane */
    pthread_cond_t cond;
};

struct event {
    uint32_t reached; /* steps in which it was recorded */
    int64_t end_ns;   /* end of what was recorded last, as reported */
};

/* What the lanes of one rank share. */
struct board {
    pthread_mutex_t lock;
    struct sleeper host;
};

struct worker {
    struct workers *all;
    struct board *board;
    struct entry *ring; /* this and the sleeper are guarded by the board's lock */
    uint64_t given, taken, finished;
    struct sleeper sleeper;
    uint32_t id, capacity;
    int cpu;
    int64_t ready_ns, end_ns; /* the thread's own */
    pthread_t thread;
    bool started;
};

struct workers {
    struct workers_spec spec;
    struct worker *workers;
    struct board *boards;
    struct event *events;
    uint32_t *event_lane;
    pthread_mutex_t failure_lock;
    GError *failure; /* the first */
};

static struct board *board_of_event(struct workers *all, uint32_t event)
{
    return all->workers[all->event_lane[event]].board;
}

static bool stopped(const struct workers *all)
{
    return atomic_load(all->spec.stop) != 0;
}

/* The board's lock is held. */
static void sleep_on(struct board *board, struct sleeper *sleeper, unsigned on, uint32_t id)
{
    sleeper->on = on;
    sleeper->id = id;
    pthread_cond_wait(&sleeper->cond, &board->lock);
    sleeper->on = ON_NOTHING;
}

static void wake(struct sleeper *sleeper, unsigned on, uint32_t id)
{
    if (sleeper->on == on && sleeper->id == id)
        pthread_cond_signal(&sleeper->cond);
}

/* Blocks until there is an entry; false: stopped. */
static bool take(struct worker *w, struct entry *entry)
{
    bool slept = false;
    pthread_mutex_lock(&w->board->lock);
    while (w->taken == w->given && !stopped(w->all)) {
        sleep_on(w->board, &w->sleeper, ON_WORK, w->id);
        slept = true;
    }
    bool found = w->taken != w->given && !stopped(w->all);
    if (found)
        *entry = w->ring[w->taken++ % w->capacity];
    pthread_mutex_unlock(&w->board->lock);
    if (slept)
        w->ready_ns = clock_ns();
    return found;
}

static void finish(struct worker *w)
{
    pthread_mutex_lock(&w->board->lock);
    if (++w->finished == w->given)
        wake(&w->board->host, ON_DRAIN, w->id);
    pthread_mutex_unlock(&w->board->lock);
}

static void run_record(struct worker *w, uint32_t event, uint32_t step)
{
    struct workers *all = w->all;
    pthread_mutex_lock(&w->board->lock);
    all->events[event] = (struct event){step + 1, w->end_ns};
    for (uint32_t i = 0; i < all->spec.n_lanes; i++)
        if (all->workers[i].board == w->board)
            wake(&all->workers[i].sleeper, ON_EVENT, event);
    wake(&w->board->host, ON_EVENT, event);
    pthread_mutex_unlock(&w->board->lock);
}

static void run_wait(struct worker *w, uint32_t event, uint32_t step)
{
    struct event *e = &w->all->events[event];
    bool slept = false;
    pthread_mutex_lock(&w->board->lock);
    while (e->reached <= step && !stopped(w->all)) {
        sleep_on(w->board, &w->sleeper, ON_EVENT, event);
        slept = true;
    }
    int64_t end_ns = e->end_ns;
    pthread_mutex_unlock(&w->board->lock);
    w->ready_ns = slept ? clock_ns() : MAX(w->ready_ns, end_ns);
}

static void fail(struct workers *all, GError *error)
{
    if (error) {
        pthread_mutex_lock(&all->failure_lock);
        if (all->failure)
            g_error_free(error);
        else
            all->failure = error;
        pthread_mutex_unlock(&all->failure_lock);
    }
    workers_abort(all);
}

static void run_job(struct worker *w, const struct job *job)
{
    const struct workers_spec *spec = &w->all->spec;
    GError *error = NULL;
    if (!spec->run(spec->user, w->id, job, w->ready_ns, &w->end_ns, &error))
        fail(w->all, error);
    w->ready_ns = w->end_ns;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct entry entry;
    prctl(PR_SET_TIMERSLACK, 1UL);
    while (take(w, &entry)) {
        if (entry.kind == ENTRY_JOB)
            run_job(w, &entry.job);
        else if (entry.kind == ENTRY_RECORD)
            run_record(w, entry.job.id, entry.job.step);
        else
            run_wait(w, entry.job.id, entry.job.step);
        finish(w);
    }
    return NULL;
}

static void give(struct workers *all, uint32_t lane, enum entry_kind kind, const struct job *job)
{
    struct worker *w = &all->workers[lane];
    pthread_mutex_lock(&w->board->lock);
    g_assert(w->given - w->taken < w->capacity);
    w->ring[w->given++ % w->capacity] = (struct entry){*job, kind};
    wake(&w->sleeper, ON_WORK, lane);
    pthread_mutex_unlock(&w->board->lock);
}

void workers_give(struct workers *all, uint32_t lane, const struct job *job)
{
    give(all, lane, ENTRY_JOB, job);
}

void workers_record(struct workers *all, uint32_t lane, uint32_t event, uint32_t step)
{
    give(all, lane, ENTRY_RECORD, &(struct job){.id = event, .step = step});
}

void workers_wait(struct workers *all, uint32_t lane, uint32_t event, uint32_t step)
{
    give(all, lane, ENTRY_WAIT, &(struct job){.id = event, .step = step});
}

/* One sleep of the host, short enough to see *cancel soon; the board's lock is held. */
static void host_sleep(struct board *board, unsigned on, uint32_t id)
{
    int64_t until_ns = clock_ns() + CANCEL_POLL_NS;
    struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
    board->host.on = on;
    board->host.id = id;
    pthread_cond_timedwait(&board->host.cond, &board->lock, &until);
    board->host.on = ON_NOTHING;
}

static bool cancelled(const volatile int *cancel)
{
    return cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED);
}

static enum workers_outcome outcome(struct workers *all, bool done, const volatile int *cancel,
                                    GError **error)
{
    if (!stopped(all))
        return done ? WORKERS_DONE : WORKERS_CANCELLED;
    pthread_mutex_lock(&all->failure_lock);
    bool failed = all->failure || !cancelled(cancel);
    if (all->failure)
        g_propagate_error(error, g_error_copy(all->failure));
    else if (failed)
        g_set_error(error, ENGINE_ERROR, ENGINE_ERROR_FAILED, "the run was aborted");
    pthread_mutex_unlock(&all->failure_lock);
    return failed ? WORKERS_FAILED : WORKERS_CANCELLED;
}

enum workers_outcome workers_reach(struct workers *all, uint32_t event, uint32_t step,
                                   const volatile int *cancel, GError **error)
{
    struct board *board = board_of_event(all, event);
    bool done;
    pthread_mutex_lock(&board->lock);
    while (!(done = all->events[event].reached > step) && !stopped(all) && !cancelled(cancel))
        host_sleep(board, ON_EVENT, event);
    pthread_mutex_unlock(&board->lock);
    return outcome(all, done, cancel, error);
}

enum workers_outcome workers_drain(struct workers *all, const volatile int *cancel, GError **error)
{
    bool done = true;
    for (uint32_t i = 0; i < all->spec.n_lanes && done; i++) {
        struct worker *w = &all->workers[i];
        pthread_mutex_lock(&w->board->lock);
        while (!(done = w->finished == w->given) && !stopped(all) && !cancelled(cancel))
            host_sleep(w->board, ON_DRAIN, i);
        pthread_mutex_unlock(&w->board->lock);
    }
    return outcome(all, done, cancel, error);
}

bool workers_idle(struct workers *all)
{
    bool idle = true;
    for (uint32_t i = 0; i < all->spec.n_lanes && idle; i++) {
        struct worker *w = &all->workers[i];
        pthread_mutex_lock(&w->board->lock);
        idle = w->finished == w->taken && (w->taken == w->given || stopped(all));
        pthread_mutex_unlock(&w->board->lock);
    }
    return idle;
}

bool workers_failed(struct workers *all, GError **error)
{
    pthread_mutex_lock(&all->failure_lock);
    bool failed = all->failure != NULL;
    if (failed)
        g_propagate_error(error, g_error_copy(all->failure));
    pthread_mutex_unlock(&all->failure_lock);
    return failed;
}

void workers_abort(struct workers *all)
{
    atomic_store(all->spec.stop, 1);
    for (uint32_t i = 0; i < all->spec.n_lanes; i++) {
        struct worker *w = &all->workers[i];
        pthread_mutex_lock(&w->board->lock);
        pthread_cond_broadcast(&w->sleeper.cond);
        pthread_cond_broadcast(&w->board->host.cond);
        pthread_mutex_unlock(&w->board->lock);
    }
}

static size_t stack_bytes(const struct workers_spec *spec)
{
    return spec->stack_bytes ? spec->stack_bytes : STACK_BYTES;
}

static int create(struct worker *w)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, stack_bytes(&w->all->spec));
    if (w->cpu >= 0) {
        size_t size = CPU_ALLOC_SIZE(w->cpu + 1);
        cpu_set_t *mask = CPU_ALLOC(w->cpu + 1);
        CPU_ZERO_S(size, mask);
        CPU_SET_S(w->cpu, size, mask);
        pthread_attr_setaffinity_np(&attr, size, mask);
        CPU_FREE(mask);
    }
    int status = thread_start(&w->thread, &attr, work, w);
    pthread_attr_destroy(&attr);
    w->started = status == 0;
    return status;
}

static void init_cond(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

struct workers *workers_open(const struct workers_spec *spec, GError **error)
{
    struct workers *all = g_new0(struct workers, 1);
    all->spec = *spec;
    all->boards = g_new0(struct board, spec->n_ranks);
    all->workers = g_new0(struct worker, spec->n_lanes);
    all->events = g_new0(struct event, spec->n_events);
    all->event_lane = g_memdup2(spec->event_lane, spec->n_events * sizeof *spec->event_lane);
    pthread_mutex_init(&all->failure_lock, NULL);
    for (uint32_t i = 0; i < spec->n_ranks; i++) {
        pthread_mutex_init(&all->boards[i].lock, NULL);
        init_cond(&all->boards[i].host.cond);
    }
    for (uint32_t i = 0; i < spec->n_lanes; i++) {
        const struct worker_spec *lane = &spec->lanes[i];
        struct worker *w = &all->workers[i];
        w->all = all;
        w->board = &all->boards[lane->rank];
        w->id = i;
        w->cpu = lane->cpu;
        w->capacity = lane->capacity;
        w->ring = g_new(struct entry, lane->capacity);
        init_cond(&w->sleeper.cond);
    }
    for (uint32_t i = 0; i < spec->n_lanes; i++) {
        int status = create(&all->workers[i]);
        if (status) {
            g_set_error(error, ENGINE_ERROR, ENGINE_ERROR_FAILED,
                        "cannot start thread %u of %u: %s; try fewer ranks", i + 1, spec->n_lanes,
                        g_strerror(status));
            workers_close(all);
            return NULL;
        }
    }
    all->spec.lanes = NULL;
    all->spec.event_lane = NULL;
    return all;
}

uint64_t workers_bytes(const struct workers_spec *spec)
{
    uint64_t bytes = sizeof(struct workers) + spec->n_ranks * sizeof(struct board);
    bytes += spec->n_events * (uint64_t)(sizeof(struct event) + sizeof(uint32_t));
    for (uint32_t i = 0; i < spec->n_lanes; i++)
        bytes += stack_bytes(spec) + sizeof(struct worker) +
                 spec->lanes[i].capacity * (uint64_t)sizeof(struct entry);
    return bytes;
}

void workers_close(struct workers *all)
{
    if (!all)
        return;
    workers_abort(all);
    for (uint32_t i = 0; i < all->spec.n_lanes; i++)
        if (all->workers[i].started)
            pthread_join(all->workers[i].thread, NULL);
    for (uint32_t i = 0; i < all->spec.n_lanes; i++) {
        pthread_cond_destroy(&all->workers[i].sleeper.cond);
        g_free(all->workers[i].ring);
    }
    for (uint32_t i = 0; i < all->spec.n_ranks; i++) {
        pthread_mutex_destroy(&all->boards[i].lock);
        pthread_cond_destroy(&all->boards[i].host.cond);
    }
    pthread_mutex_destroy(&all->failure_lock);
    g_clear_error(&all->failure);
    g_free(all->workers);
    g_free(all->boards);
    g_free(all->events);
    g_free(all->event_lane);
    g_free(all);
}
