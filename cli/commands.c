#include <string.h>

#include "cli/cli.h"

const struct command *const commands[] = {
    &command_run,    &command_plan,    &command_sweep,   &command_render, &command_list,
    &command_doctor, &command_compare, &command_gate, &command_history, &command_help,   NULL};

const struct command *command_find(const char *name)
{
    for (unsigned i = 0; commands[i]; i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}
