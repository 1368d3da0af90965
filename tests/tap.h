/* tests/tap.h -- starts a GLib test program that speaks TAP. */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <glib.h>

static inline void tap_init(int *argc, char ***argv)
{
    static char *args[64];
    int n = 0;
    for (; n < *argc && n < 62; n++)
        args[n] = (*argv)[n];
    args[n++] = (char *)"--tap";
    args[n] = NULL;
    *argc = n;
    *argv = args;
    g_test_init(argc, argv, NULL);
}

/* How many of n random cases are tried: in a sanitized build a fifth.  What they compute a plain build proves. */
static inline unsigned tap_cases(unsigned n)
{
    const char *sanitized = g_getenv("SANITIZED");
    return sanitized && *sanitized ? (n + 4) / 5 : n;
}

#endif
