/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   steps TIMES          calls of MPI_Allreduce with a pause and a line "step N" after each, until one
 *                        fails: then each rank prints "rank R: call N failed", and the exit code is 3
 *   steps comms TIMES    that many communicators are made, used and freed
 *
 * All results are checked. For tests that do something to the devices meanwhile.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 20000 };

static int rank, size;
static int in[N], out[N];

/* False: the call failed. */
static int sum(MPI_Comm comm, int n, int time)
{
    for (int i = 0; i < n; i++) {
        in[i] = i + rank * 1000 + time * 7;
        out[i] = -1;
    }
    if (MPI_SUCCESS != MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm)) {
        return 0;
    }
    for (int i = 0; i < n; i++) {
        if (size * (i + time * 7) + 1000 * (size * (size - 1) / 2) != out[i]) {
            printf("rank %d: call %d: wrong sum\n", rank, time);
            fflush(stdout);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    return 1;
}

static void steps(int times)
{
    for (int i = 0; i < times; i++) {
        if (!sum(MPI_COMM_WORLD, N, i)) {
            printf("rank %d: call %d failed\n", rank, i);
            fflush(stdout);
            _exit(3);
        }
        if (0 == rank) {
            printf("step %d\n", i);
            fflush(stdout);
        }
        usleep(20000);
    }
}

static void comms(int times)
{
    for (int i = 0; i < times; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        sum(comm, 1 + i % 500, i);
        MPI_Comm_free(&comm);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int times = 2 > argc ? 0 : atoi(argv[argc - 1]);
    if (1 > times || 3 < argc || (3 == argc && 0 != strcmp("comms", argv[1]))) {
        fprintf(stderr, "usage: steps [comms] TIMES\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    } else if (3 == argc) {
        comms(times);
    } else {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        steps(times);
    }
    MPI_Finalize();
    return 0;
}
