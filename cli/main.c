#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/exhaust.h"
#include "cli/input.h"
#include "config.h"
#include "exec/cuda.h"
#include "plan/engine.h"
#include "profile/table.h"

static enum exit_status status_of(const GError *error)
{
    if (error->domain != ENGINE_ERROR || error->code == ENGINE_ERROR_TOO_BIG)
        return EXIT_USAGE;
    return error->code == ENGINE_ERROR_UNAVAILABLE ? EXIT_UNAVAILABLE : EXIT_FAILED;
}

static bool dispatch(int argc, char **argv, int *status, GError **error)
{
    struct options o;
    bool ok = options_parse(&o, argc, argv, error);
    if (ok && o.version)
        printf("parprof %s\n", PACKAGE_VERSION);
    else if (ok && (o.help || argc == 1)) {
        g_autofree char *help = help_text(argc > 1 && argv[1][0] != '-' ? o.command : NULL);
        fputs(help, stdout);
    } else if (ok) {
        exhaust_expect(&o);
        ok = input_spared(&o, error) && command_find(o.command)->run(&o, status, error);
    }
    options_release(&o);
    return ok;
}

/* What is opened may not take the place of a closed standard stream and get its texts: a socket, a device.
 * The stream stays one that fails. */
static void hold_closed_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return;
}

/* What came from outside may neither steer the terminal nor fill it. */
static void print_error(const char *message)
{
    g_autofree char *shown = printable_ends(message, 500);
    fprintf(stderr, "parprof: %s\n", shown);
}

int cli_main(int argc, char **argv)
{
    hold_closed_streams();
    /* Plans come and go, some MiB each: memory that is kept need not be cleared by the kernel page by page
     * again. */
    mallopt(M_MMAP_THRESHOLD, 256 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a write that fails */
    int status = EXIT_DONE;
    GError *error = NULL;
    bool ok = dispatch(argc, argv, &status, &error);
    if (!g_error_matches(error, ENGINE_ERROR, ENGINE_ERROR_STUCK))
        cuda_release();
    if (ok && (fflush(stdout) || ferror(stdout))) {
        fprintf(stderr, "parprof: cannot write to standard output: %s\n", g_strerror(errno));
        return EXIT_USAGE;
    }
    if (ok)
        return status;
    print_error(error->message);
    status = status_of(error);
    if (g_error_matches(error, ENGINE_ERROR, ENGINE_ERROR_STUCK)) {
        fflush(NULL);
        _exit(status); /* what hangs would hang the libraries' own end, too */
    }
    g_error_free(error);
    return status;
}
