/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hccl_phases: whether the phases of a hierarchical collective overlap. A plain MPI program.
 *
 *   hccl_phases [BYTES [ROUNDS]]      (default 16777216 bytes, 5 rounds)
 *
 * An allreduce or a bcast of BYTES over all ranks is timed beside its parts, in turn: what happens
 * inside the nodes (the same operation on the ranks of each node alone, all nodes at once) and what
 * crosses the network (the same on the ranks with equal index in their nodes, each with its share,
 * all at once). Without overlap the whole takes the sum of both, with a perfect one as long as the
 * longer of them. Needs nodes with equally many ranks, and several of them.
 *
 * One line per collective: medians in seconds of the slowest rank, and the longer phase over the
 * whole. Exit code 2 for bad arguments or unequal nodes.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 1000, PARTS = 3 };
enum part { WHOLE, NODE, NETWORK };

static float *from, *to;

static void allreduce(MPI_Comm comm, int count)
{
    MPI_Allreduce(from, to, count, MPI_FLOAT, MPI_SUM, comm);
}

static void bcast(MPI_Comm comm, int count)
{
    MPI_Bcast(to, count, MPI_FLOAT, 0, comm);
}

static const struct {
    const char *name;
    void (*run)(MPI_Comm comm, int count);
} operations[] = {{"allreduce", allreduce}, {"bcast", bcast}};

/* Seconds of the slowest rank. */
static double time_once(void (*run)(MPI_Comm, int), MPI_Comm comm, int count)
{
    double seconds, slowest;

    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    run(comm, count);
    seconds = MPI_Wtime() - start;
    MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

static double median(double *times, int n)
{
    qsort(times, (size_t) n, sizeof *times, by_value);
    return times[n / 2];
}

/* Communicators of the parts: all, my node, my index. False when nodes are unequal or there is one. */
static bool make_communicators(MPI_Comm *comms)
{
    int size, local, across, expected;

    comms[WHOLE] = MPI_COMM_WORLD;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comms[NODE]);
    MPI_Comm_size(comms[NODE], &local);
    MPI_Comm_rank(comms[NODE], &expected);
    MPI_Comm_split(MPI_COMM_WORLD, expected, 0, &comms[NETWORK]);
    MPI_Comm_size(comms[NETWORK], &across);
    int fine = across * local == size && 1 < across, all;
    MPI_Allreduce(&fine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return 0 != all;
}

static bool number(const char *text, long least, long most, long *value)
{
    char *end;

    *value = strtol(text, &end, 10);
    return end != text && '\0' == *end && least <= *value && *value <= most;
}

/* Which argument is bad, or NULL. */
static const char *parse(int argc, char **argv, long *bytes, long *rounds)
{
    *bytes = 16777216;
    *rounds = 5;
    if (1 < argc && (!number(argv[1], 4, 1L << 30, bytes) || 0 != *bytes % 4)) {
        return "BYTES: accepted are multiples of 4 up to 1073741824";
    }
    if (2 < argc && !number(argv[2], 1, MOST_ROUNDS, rounds)) {
        return "ROUNDS: accepted are 1 to 1000";
    }
    return 3 < argc ? "accepted are BYTES and ROUNDS" : NULL;
}

static void measure(const MPI_Comm *comms, int count, int rounds)
{
    static double times[PARTS][MOST_ROUNDS];
    int rank, local;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(comms[NODE], &local);
    const int counts[PARTS] = {count, count, (count + local - 1) / local};
    if (0 == rank) {
        printf("# %-10s %10s %10s %10s %10s %8s\n", "operation", "bytes", "whole s", "node s",
               "network s", "overlap");
    }
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        for (int round = -1; round < rounds; round++) {
            for (int part = 0; part < PARTS; part++) {
                double t = time_once(operations[i].run, comms[part], counts[part]);
                if (0 <= round) {
                    times[part][round] = t;
                }
            }
        }
        const double whole = median(times[WHOLE], rounds), node = median(times[NODE], rounds),
                     network = median(times[NETWORK], rounds);
        if (0 == rank) {
            printf("%-12s %10zu %10.4f %10.4f %10.4f %8.2f\n", operations[i].name,
                   (size_t) count * sizeof *from, whole, node, network,
                   (node > network ? node : network) / whole);
            fflush(stdout);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comms[PARTS];
    long bytes, rounds;
    int rank, code = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *why = parse(argc, argv, &bytes, &rounds);
    if (NULL == why && !make_communicators(comms)) {
        why = "needs several nodes, with equally many ranks each";
    }
    if (NULL == why) {
        from = calloc((size_t) bytes, 1);
        to = calloc((size_t) bytes, 1);
        why = NULL == from || NULL == to ? "no memory" : NULL;
    }
    if (NULL == why) {
        measure(comms, (int) (bytes / 4), (int) rounds);
    } else {
        code = 2;
        if (0 == rank) {
            fprintf(stderr, "hccl_phases: %s\n", why);
        }
    }
    free(from);
    free(to);
    MPI_Finalize();
    return code;
}
