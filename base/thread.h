/* base/thread.h -- threads of a program whose signals are for the thread that it began with.
 *
 * A handler then runs on no other thread, and what ends a wait ends that thread's.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* pthread_create, with every signal blocked in the new thread; its status. */
static inline int thread_start(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                               void *user)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int status = pthread_create(thread, attr, run, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

#endif
