/* tests/tolerance.h -- how far a float kernel may be from the double reference. */
#ifndef TESTS_TOLERANCE_H
#define TESTS_TOLERANCE_H

/* Rounding of a few operations, and of sums of hundreds; sums of the gradients cancel more. */
enum { FEW, SUMS, GRADIENTS };
static const double tolerance[] = {[FEW] = 3e-7, [SUMS] = 1e-6, [GRADIENTS] = 3e-6};

#endif
