#include "profile/collect.h"

G_DEFINE_QUARK(parprof_collect, collect_error)
