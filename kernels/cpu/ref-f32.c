#define REAL  float
#define TABLE k_ref_f32
#define NAME  "reference f32"
#include "kernels/cpu/ref.h"
