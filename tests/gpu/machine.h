/* tests/gpu/machine.h -- operands of kernels on a GPU and on the host, and a test program that speaks TAP
 * without GLib. */
#ifndef TESTS_GPU_MACHINE_H
#define TESTS_GPU_MACHINE_H

#include <stdint.h>

#include "kernels/cuda.h"
#include "tests/tolerance.h"

extern struct k_cuda_stream *stream;

/* --- checks: a test goes on after a failure, of which the first few are told */
void fail_at(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            fail_at(__FILE__, __LINE__, "%s", #condition);                                                   \
    } while (0)
#define CHECK_CLOSE(a, b, tolerance) check_close(__FILE__, __LINE__, a, b, tolerance)
void check_close(const char *file, int line, double a, double b, double tolerance);

/* What the next failures are told with: a test's parameters. */
void about(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* --- memory of the device: everything is given back at once */
void *on_device(size_t bytes); /* aligned to 256 */
void give_back(void);
void to_device(void *device, const void *host, size_t bytes);
void to_host(void *host, const void *device, size_t bytes); /* when the stream has come there */

/* --- numbers, the same every time */
void seed(uint64_t);
uint32_t dice(uint32_t below);
double near_1(void); /* in [-1.7, 1.7) */

/* Which misalignment the following operands have: the i-th after that has (first + i step) mod 4 elements;
 * step 4: random. */
enum { WAYS = 20 };
void misalign(unsigned way);

/* The same numbers in double for the reference and in float on the device, there with a fence on both sides.
 */
struct operand {
    size_t n;
    double unit; /* size of the terms of which an element is the sum: what differs by rounding of these is
                    equal */
    double *wide;
    float *narrow, *sent; /* on the device; what was put there */
};
struct operand operand(size_t n, double scale);
void send(struct operand *);  /* narrow = wide */
void fetch(struct operand *); /* wide = narrow */
void *side(const struct operand *, int narrow);

/* Checks the fences, and what lies between against the reference; same: it is what was sent.  The operand
 * ends. */
#define CLOSE(o, tolerance) close_to(__FILE__, __LINE__, o, tolerance)
#define SAME(o)             same(__FILE__, __LINE__, o)
void close_to(const char *file, int line, struct operand *, double tolerance);
void same(const char *file, int line, struct operand *);
void get(const struct operand *, float *to); /* its n elements on the device */

/* Indexes below `below`; [0] is the host's, [1] the device's. */
struct indexes {
    int32_t *of[2];
};
struct indexes indexes(size_t n, uint32_t below);
void drop_indexes(struct indexes *);

/* Doubles: [0] the host's, [1] the device's, both of `from`. */
struct doubles {
    double *of[2], host[4];
};
void doubles(struct doubles *, size_t n, const double *from);

/* Runs `call` with the reference and the wide sides, then with the GPU's table and the narrow ones. */
#define BOTH(call)                                                                                           \
    for (int w = 0; w < 2; w++) {                                                                            \
        const struct k_table *k = w ? &k_cuda_f32 : &k_ref_f64;                                              \
        void *s = w ? stream : NULL;                                                                         \
        check_status(__FILE__, __LINE__, (call), #call);                                                     \
    }
void check_status(const char *file, int line, int status, const char *call);

struct test {
    const char *name;
    void (*run)(void);
};
int run_tests(int argc, char **argv, const struct test *, size_t n);
unsigned thin(void); /* 1: the whole set; else every how many-th case is enough */

#endif
