#define REAL  double
#define TABLE k_ref_f64
#define NAME  "reference f64"
#include "kernels/cpu/ref.h"
