#include <stdio.h>

#include "cli/cli.h"
#include "exec/cuda.h"
#include "profile/table.h"

/* "driver        good     580.65, CUDA 13.0" */
static void say(void *user, const char *layer, enum cuda_health health, const char *text)
{
    static const char *const words[] = {[CUDA_GOOD] = "good", [CUDA_BAD] = "BAD", [CUDA_UNTRIED] = "untried"};
    bool *bad = user;
    g_autofree char *shown = printable(text);
    *bad |= health == CUDA_BAD;
    printf("%-14s %-8s %s\n", layer, words[health], shown);
}

static bool doctor_command(const struct options *o, int *status, GError **error)
{
    bool bad = false;
    (void)o;
    const struct cuda_module *cuda = cuda_open(error);
    if (!cuda)
        return false;
    say(&bad, "module", CUDA_GOOD, cuda->built);
    cuda->examine(say, &bad);
    *status = bad ? EXIT_UNAVAILABLE : EXIT_DONE;
    return true;
}

const struct command command_doctor = {
    "doctor", "every layer of the GPU stack, a line each: what is there, what is wrong", doctor_command};
