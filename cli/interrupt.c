#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

void interrupt_catch(void (*handler)(int), int flags)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    struct sigaction before;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (signals[i] != SIGHUP || (!sigaction(SIGHUP, NULL, &before) && before.sa_handler != SIG_IGN))
            sigaction(signals[i], &action, NULL);
}

void interrupt_default(void)
{
    interrupt_catch(SIG_DFL, 0);
}
