#include "exec/comm-gpu.h"
