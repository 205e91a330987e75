/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls of one collective, every result compared with what it must be:
 *   land allreduce|bcast|allgather|scatter BYTES CALLS
 * BYTES of the vector, or of one rank's block; a multiple of 4. The root changes from call to call.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

static int rank, ranks, n;
static int32_t *from, *to;

/* What element i of rank r's data is in a call. */
static int32_t value(int round, int r, int i)
{
    return (round * 31 + r * 1009 + i * 7) % 100003;
}

static void fill(int32_t *data, int round, int r)
{
    for (int i = 0; i < n; i++) {
        data[i] = value(round, r, i);
    }
}

static bool is(const int32_t *data, int round, int r)
{
    for (int i = 0; i < n; i++) {
        if (value(round, r, i) != data[i]) {
            printf("land: rank %d, call %d, block %d, element %d: %d\n", rank, round, r, i,
                   (int) data[i]);
            return false;
        }
    }
    return true;
}

static bool do_bcast(int round)
{
    int root = round % ranks;
    memset(to, 255, (size_t) n * sizeof(*to));
    if (root == rank) {
        fill(to, round, root);
    }
    MPI_Bcast(to, n, MPI_INT32_T, root, MPI_COMM_WORLD);
    return is(to, round, root);
}

static bool do_allgather(int round)
{
    memset(to, 255, (size_t) n * (size_t) ranks * sizeof(*to));
    fill(from, round, rank);
    MPI_Allgather(from, n, MPI_INT32_T, to, n, MPI_INT32_T, MPI_COMM_WORLD);
    bool right = true;
    for (int r = 0; r < ranks; r++) {
        right = is(to + (size_t) r * (size_t) n, round, r) && right;
    }
    return right;
}

static bool do_scatter(int round)
{
    int root = round % ranks;
    memset(to, 255, (size_t) n * sizeof(*to));
    for (int r = 0; root == rank && r < ranks; r++) {
        fill(from + (size_t) r * (size_t) n, round, r);
    }
    MPI_Scatter(from, n, MPI_INT32_T, to, n, MPI_INT32_T, root, MPI_COMM_WORLD);
    return is(to, round, rank);
}

static bool do_allreduce(int round)
{
    memset(to, 255, (size_t) n * sizeof(*to));
    fill(from, round, rank);
    MPI_Allreduce(from, to, n, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        int32_t sum = 0;
        for (int r = 0; r < ranks; r++) {
            sum += value(round, r, i);
        }
        if (sum != to[i]) {
            printf("land: rank %d, call %d, element %d: %d\n", rank, round, i, (int) to[i]);
            return false;
        }
    }
    return true;
}

static const struct {
    const char *name;
    bool (*call)(int round);
} collectives[] = {{"allreduce", do_allreduce},
                   {"bcast", do_bcast},
                   {"allgather", do_allgather},
                   {"scatter", do_scatter}};

int main(int argc, char **argv)
{
    bool (*call)(int round) = NULL;
    bool right = true;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (size_t i = 0; 4 == argc && i < sizeof(collectives) / sizeof(collectives[0]); i++) {
        call = 0 == strcmp(argv[1], collectives[i].name) ? collectives[i].call : call;
    }
    n = 4 == argc ? atoi(argv[2]) / 4 : 0;
    if (NULL == call || 0 >= n) {
        fprintf(stderr, "usage: land allreduce|bcast|allgather|scatter BYTES CALLS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    from = malloc((size_t) n * (size_t) ranks * sizeof(*from));
    to = malloc((size_t) n * (size_t) ranks * sizeof(*to));
    if (NULL == from || NULL == to) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int round = 0; right && round < atoi(argv[3]); round++) {
        right = call(round);
    }
    free(from);
    free(to);
    fflush(stdout);
    if (!right) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
