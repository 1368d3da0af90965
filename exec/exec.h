/* exec/exec.h -- runs plans for real. */
#ifndef EXEC_EXEC_H
#define EXEC_EXEC_H

#include "plan/engine.h"

extern const struct engine cpu_engine, cuda_engine;

#endif
