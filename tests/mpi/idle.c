/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What waiting costs, and what it delays: rank 0 comes late to blocking collectives of several kinds,
 * the others wait for it there.
 *
 *   idle [-l MILLISECONDS] [-n ROUNDS]
 *
 * Each rank but 0 prints a line `RANK CASE cpu=PERCENT late=MICROSECONDS` per case: the processor
 * time that it used in the call after the first millisecond, in percent of the call's duration (over
 * all rounds, by getrusage), and how long after rank 0's arrival it left the call (median). Knows
 * nothing of the component.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <mpi.h>

#define LARGEST ((size_t) 4 << 20)
#define MOST_ROUNDS 99
#define SLICE 10000L /* microseconds, the longest sleep */

static int rank;
static char *sendbuf, *recvbuf;
static MPI_Comm other = MPI_COMM_NULL;

static void in_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void in_short_allreduce(void)
{
    MPI_Allreduce(sendbuf, recvbuf, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void in_long_allreduce(void)
{
    MPI_Allreduce(sendbuf, recvbuf, 32768, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* The late rank has the data. */
static void in_bcast(void)
{
    MPI_Bcast(recvbuf, (int) LARGEST, MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* The late rank reads last: the root's ring is full. */
static void in_bcast_from_1(void)
{
    MPI_Bcast(recvbuf, (int) LARGEST, MPI_BYTE, 1, MPI_COMM_WORLD);
}

/* Another operation is under way meanwhile. */
static void beside_nonblocking(void)
{
    MPI_Request request;
    MPI_Iallreduce(sendbuf, recvbuf, 1, MPI_DOUBLE, MPI_SUM, other, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The first one on a communicator made before. */
static void in_first_call(void)
{
    MPI_Barrier(other);
}

static const struct {
    const char *name;
    void (*call)(void);
    bool afresh; /* on a new communicator each time */
} cases[] = {
    {"barrier", in_barrier, false},
    {"short-allreduce", in_short_allreduce, false},
    {"long-allreduce", in_long_allreduce, false},
    {"bcast", in_bcast, false},
    {"bcast-from-1", in_bcast_from_1, false},
    {"beside-nonblocking", beside_nonblocking, false},
    {"first-call", in_first_call, true},
};

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec * 1e6 + (double) now.tv_nsec * 1e-3;
}

static double processor_microseconds(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double) (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e6
           + (double) (use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static int compare(const void *va, const void *vb)
{
    double a = *(const double *) va;
    double b = *(const double *) vb;
    return a < b ? -1 : a > b;
}

/* One round. Adds to the sums; returns how long after rank 0's arrival the call ended. */
static double wait_for_0(void (*call)(void), long microseconds_late, double *wall, double *cpu)
{
    double first = 1000;
    MPI_Barrier(MPI_COMM_WORLD);
    if (0 == rank) {
        struct timespec late = {.tv_sec = microseconds_late / 1000000,
                                .tv_nsec = microseconds_late % 1000000 * 1000};
        nanosleep(&late, NULL);
    }
    double began = microseconds();
    double used = processor_microseconds();
    call();
    double ended = microseconds();
    used = processor_microseconds() - used;
    double came = began;
    MPI_Bcast(&came, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    *wall += ended - began;
    *cpu += used > first ? used - first : 0;
    return ended - came;
}

static void measure(size_t which, int milliseconds, int rounds)
{
    double late[MOST_ROUNDS], wall = 0, cpu = 0;
    if (!cases[which].afresh) {
        for (int i = 0; i < 4; i++) {
            cases[which].call();
        }
    }
    for (int i = 0; i < rounds; i++) {
        if (cases[which].afresh) {
            MPI_Comm_free(&other);
            MPI_Comm_dup(MPI_COMM_WORLD, &other);
        }
        /* Spread over SLICE: who wakes up by himself only is half of it late, in the median. */
        late[i] =
            wait_for_0(cases[which].call, milliseconds * 1000L + SLICE * i / rounds, &wall, &cpu);
    }
    qsort(late, (size_t) rounds, sizeof(late[0]), compare);
    if (0 != rank) {
        printf("%d %s cpu=%.1f late=%.0f\n", rank, cases[which].name, 100 * cpu / wall,
               late[rounds / 2]);
    }
}

static int number(const char *text, int most)
{
    char *rest = NULL;
    long value = NULL == text ? -1 : strtol(text, &rest, 10);
    if (NULL == rest || '\0' != *rest || value < 1 || value > most) {
        fprintf(stderr, "usage: idle [-l MILLISECONDS, 1 to 10000] [-n ROUNDS, 1 to %d]\n",
                MOST_ROUNDS);
        exit(2);
    }
    return (int) value;
}

int main(int argc, char **argv)
{
    int milliseconds = 100, rounds = 7;
    for (int i = 1; i < argc; i += 2) {
        if (0 == strcmp(argv[i], "-l")) {
            milliseconds = number(argv[i + 1], 10000);
        } else {
            rounds = number(0 == strcmp(argv[i], "-n") ? argv[i + 1] : NULL, MOST_ROUNDS);
        }
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sendbuf = calloc(1, LARGEST);
    recvbuf = calloc(1, LARGEST);
    if (NULL == sendbuf || NULL == recvbuf) {
        fprintf(stderr, "idle: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 1;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        measure(i, milliseconds, rounds);
    }
    fflush(stdout);
    MPI_Comm_free(&other);
    free(sendbuf);
    free(recvbuf);
    MPI_Finalize();
    return 0;
}
