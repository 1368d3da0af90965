#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "config.h"
#include "plan/engine.h"

const struct command *const commands[] = {&command_run, &command_plan, &command_list, NULL};

static enum exit_status status_of(const GError *error)
{
    if (error->domain != ENGINE_ERROR || error->code == ENGINE_ERROR_TOO_BIG)
        return EXIT_USAGE;
    return error->code == ENGINE_ERROR_UNAVAILABLE ? EXIT_UNAVAILABLE : EXIT_FAILED;
}

static bool run_command(const struct options *o, int *status, GError **error)
{
    for (unsigned i = 0; commands[i]; i++)
        if (!strcmp(commands[i]->name, o->command))
            return commands[i]->run(o, status, error);
    return false;
}

static bool dispatch(int argc, char **argv, int *status, GError **error)
{
    struct options o;
    bool ok = options_parse(&o, argc, argv, error);
    if (ok && o.version)
        printf("parprof %s\n", PACKAGE_VERSION);
    else if (ok && (o.help || argc == 1)) {
        g_autofree char *help = options_help(argc > 1 && argv[1][0] != '-' ? o.command : NULL);
        fputs(help, stdout);
    } else if (ok)
        ok = run_command(&o, status, error);
    options_release(&o);
    return ok;
}

int cli_main(int argc, char **argv)
{
    /* Plans come and go, some MiB each: memory that is kept need not be cleared by the kernel page by page
     * again. */
    mallopt(M_MMAP_THRESHOLD, 256 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    int status = EXIT_DONE;
    GError *error = NULL;
    bool ok = dispatch(argc, argv, &status, &error);
    if (ok && (fflush(stdout) || ferror(stdout))) {
        fprintf(stderr, "parprof: cannot write to standard output: %s\n", g_strerror(errno));
        return EXIT_USAGE;
    }
    if (ok)
        return status;
    fprintf(stderr, "parprof: %s\n", error->message);
    status = status_of(error);
    g_error_free(error);
    return status;
}
