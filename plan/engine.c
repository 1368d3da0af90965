#include "plan/engine.h"

#include <glib.h>

G_DEFINE_QUARK(parprof_engine, engine_error)
