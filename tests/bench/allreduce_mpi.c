/* The yardstick of `make bench`: MPI_Allreduce of 25 MiB of floats, in place; prints the median of 20 in ms, of the
 * slowest rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 20, FLOATS = 25 << 18 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    double ms[REPEATS];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    float *data = calloc(FLOATS, sizeof *data);
    for (int i = -3; i < REPEATS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime(), own, slowest;
        MPI_Allreduce(MPI_IN_PLACE, data, FLOATS, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        own = (MPI_Wtime() - start) * 1e3;
        MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (i >= 0)
            ms[i] = slowest;
    }
    qsort(ms, REPEATS, sizeof *ms, by_value);
    if (rank == 0)
        printf("%.2f\n", (ms[REPEATS / 2 - 1] + ms[REPEATS / 2]) / 2);
    free(data);
    MPI_Finalize();
    return 0;
}
