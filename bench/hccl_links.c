/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hccl_links: measures the links between all pairs of hosts of a job and writes a topology file for
 * coll_hccl_topo_file. A plain MPI program that sends point-to-point messages only.
 *
 *   mpirun --map-by node hccl_links [-b BYTES] [-n ROUNDS] FILE     (default 1 MiB, 20 rounds)
 *
 * The first rank of each host takes part, pair after pair, so that no pair disturbs another: ROUNDS
 * ping-pongs of 8 bytes, whose median gives the latency, and a fifth as many of BYTES each way, whose
 * median gives the bandwidth. Exit code 2 for bad arguments, fewer than two hosts, or hosts of the same
 * name; 1 when the file cannot be written.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORT = 8,
    MOST_ROUNDS = 10000,
    MOST_BYTES = 1 << 30,
    LONG_PART = 5,
    NAME = MPI_MAX_PROCESSOR_NAME
};

typedef struct options {
    int bytes, rounds;
    const char *path;
} options_t;

static int fail(const char *format, const char *what)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (0 == rank) {
        fprintf(stderr, "hccl_links: ");
        fprintf(stderr, format, what);
        fputs("\nusage: hccl_links [-b BYTES] [-n ROUNDS] FILE\n", stderr);
    }
    MPI_Finalize();
    return 2;
}

/* A number of 1 to most, 0: it is none. */
static int number(const char *text, long most)
{
    char *end;
    const long value = strtol(text, &end, 10);

    return end != text && '\0' == *end && 1 <= value && value <= most ? (int) value : 0;
}

/* NULL, or the word that is wrong. */
static const char *read_options(int argc, char **argv, options_t *o)
{
    *o = (options_t){.bytes = 1 << 20, .rounds = 20};
    for (int i = 1; i < argc; i++) {
        int *value = 0 == strcmp(argv[i], "-b")   ? &o->bytes
                     : 0 == strcmp(argv[i], "-n") ? &o->rounds
                                                  : NULL;
        if (NULL != value) {
            *value = i + 1 < argc
                         ? number(argv[i + 1], value == &o->bytes ? MOST_BYTES : MOST_ROUNDS)
                         : 0;
            if (0 == *value) {
                return argv[i];
            }
            i++;
        } else if ('-' == argv[i][0] || NULL != o->path) {
            return argv[i];
        } else {
            o->path = argv[i];
        }
    }
    return NULL == o->path ? "(no FILE)" : NULL;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

/* Seconds one way, the median of so many ping-pongs; the first one warms up. */
static double one_way(MPI_Comm comm, int peer, bool begins, char *buffer, int bytes, int rounds,
                      double *times)
{
    for (int i = -1; i < rounds; i++) {
        const double start = MPI_Wtime();
        if (begins) {
            MPI_Send(buffer, bytes, MPI_BYTE, peer, 0, comm);
            MPI_Recv(buffer, bytes, MPI_BYTE, peer, 0, comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buffer, bytes, MPI_BYTE, peer, 0, comm, MPI_STATUS_IGNORE);
            MPI_Send(buffer, bytes, MPI_BYTE, peer, 0, comm);
        }
        times[i < 0 ? 0 : i] = (MPI_Wtime() - start) / 2;
    }
    qsort(times, (size_t) rounds, sizeof *times, by_value);
    return times[rounds / 2];
}

/* Pair after pair; found[a][b] of a < b = latency, bandwidth, at host a. */
static void measure(MPI_Comm comm, const options_t *o, char *buffer, double *times, double *found)
{
    int me, n;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    for (int a = 0; a < n; a++) {
        for (int b = a + 1; b < n; b++) {
            if (a == me || b == me) {
                const int peer = a == me ? b : a;
                const double latency =
                    one_way(comm, peer, a == me, buffer, SHORT, o->rounds, times);
                const double whole = one_way(comm, peer, a == me, buffer, o->bytes,
                                             (o->rounds + LONG_PART - 1) / LONG_PART, times);
                /* what the latency does not explain */
                const double rest = whole > latency ? whole - latency : whole;
                if (a == me) {
                    found[2 * b] = latency;
                    found[2 * b + 1] = (double) o->bytes / rest;
                }
            }
            MPI_Barrier(comm);
        }
    }
}

static bool write_file(const options_t *o, const char *names, const double *found, int n)
{
    FILE *file = fopen(o->path, "w");

    if (NULL == file) {
        return false;
    }
    fprintf(file, "# by hccl_links: medians of %d messages of 8 bytes and of %d of %d bytes\n",
            o->rounds, (o->rounds + LONG_PART - 1) / LONG_PART, o->bytes);
    for (int a = 0; a < n; a++) {
        fprintf(file, "host %s\n", names + a * NAME);
    }
    for (int a = 0; a < n; a++) {
        for (int b = a + 1; b < n; b++) {
            const double *link = found + 2 * (a * n + b);

            fprintf(file, "link %s %s latency_us=%.3f bandwidth_mbs=%.3f\n", names + a * NAME,
                    names + b * NAME, link[0] * 1e6, link[1] / 1e6);
        }
    }
    const bool good = 0 == ferror(file);
    return 0 == fclose(file) && good;
}

static bool same_names(const char *names, int n)
{
    for (int a = 0; a < n; a++) {
        for (int b = 0; b < a; b++) {
            if (0 == strcmp(names + a * NAME, names + b * NAME)) {
                return true;
            }
        }
    }
    return false;
}

/* On the first rank of each host. 0: the file is written. */
static int run(MPI_Comm comm, const options_t *o)
{
    char name[NAME] = "";
    int n, me, len, state = 0;

    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &me);
    MPI_Get_processor_name(name, &len);
    const size_t bytes = (size_t) (o->bytes > SHORT ? o->bytes : SHORT);
    char *names = calloc((size_t) n, NAME), *buffer = calloc(bytes, 1);
    double *mine = calloc(2 * (size_t) n, sizeof *mine);
    double *found = calloc(2 * (size_t) n * (size_t) n, sizeof *found);
    double *times = calloc((size_t) o->rounds, sizeof *times);
    if (NULL == names || NULL == buffer || NULL == mine || NULL == found || NULL == times) {
        fputs("hccl_links: no memory\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Allgather(name, NAME, MPI_CHAR, names, NAME, MPI_CHAR, comm);
    if (2 > n || same_names(names, n)) {
        state = 2;
    } else {
        measure(comm, o, buffer, times, mine);
        MPI_Gather(mine, 2 * n, MPI_DOUBLE, found, 2 * n, MPI_DOUBLE, 0, comm);
        state = 0 == me && !write_file(o, names, found, n) ? 1 : 0;
    }
    if (0 == me && 0 != state) {
        fprintf(stderr, "hccl_links: %s\n",
                1 == state ? "the file cannot be written"
                : 2 > n    ? "there is one host: nothing to measure"
                           : "two hosts have the same name");
    }
    free(names);
    free(buffer);
    free(mine);
    free(found);
    free(times);
    return state;
}

int main(int argc, char **argv)
{
    options_t o;
    MPI_Comm node, firsts;
    int local, state = 0;

    MPI_Init(&argc, &argv);
    const char *bad = read_options(argc, argv, &o);
    if (NULL != bad) {
        return fail("bad argument: %s", bad);
    }
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local);
    MPI_Comm_split(MPI_COMM_WORLD, 0 == local ? 0 : MPI_UNDEFINED, 0, &firsts);
    if (0 == local) {
        state = run(firsts, &o);
        MPI_Comm_free(&firsts);
    }
    MPI_Bcast(&state, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Comm_free(&node);
    MPI_Finalize();
    return state;
}
