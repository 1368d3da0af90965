#include "cli/cli.h"
#include "exec/exec.h"
#include "sim/sim.h"

const struct engine *const engines[] = {&cuda_engine, &cpu_engine, &sim_engine, NULL};
