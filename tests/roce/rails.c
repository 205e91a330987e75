/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Work for connections by RDMA (in_rails.sh):
 *   rails threads TIMES   so many sums, broadcasts and barriers in each of four threads, each on a
 *                         communicator of its own
 *   rails errors TIMES    so many times a call that must fail on one communicator, which is freed, and
 *                         sums on another one
 *   rails idle TIMES      rank 0 comes late to so many broadcasts; the other ranks print how long after it
 *                         they went on, in the middle, and how busy they were
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 100000 };

static int rank, size;

static void fail(const char *what, int time)
{
    printf("rank %d, time %d: %s\n", rank, time, what);
    fflush(stdout);
    _exit(4);
}

/* A sum of n values, all of which are looked at. Returns MPI's code. */
static int sum(MPI_Comm comm, int *in, int *out, int n, int time)
{
    for (int i = 0; i < n; i++) {
        in[i] = i % 1000 + rank * 1000 + time * 7;
        out[i] = -1;
    }
    int rc = MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm);
    for (int i = 0; MPI_SUCCESS == rc && i < n; i++) {
        if (size * (i % 1000 + time * 7) + 1000 * (size * (size - 1) / 2) != out[i]) {
            fail("wrong sum", time);
        }
    }
    return rc;
}

/* ---- threads ---------------------------------------------------------------------------------- */

enum { THREADS = 4 };

static struct worker {
    pthread_t thread;
    MPI_Comm comm;
    int number, times;
} workers[THREADS];

static void *work(void *argument)
{
    const struct worker *w = argument;
    static const int lengths[] = {1, 9000, 40, 30000};
    int *in = malloc(MOST * sizeof(int)), *out = malloc(MOST * sizeof(int));
    if (NULL == in || NULL == out) {
        fail("no memory", 0);
    }
    for (int i = 0; i < w->times; i++) {
        int n = lengths[(i + w->number) % 4], time = i + 1000 * w->number;
        MPI_Request request;
        int all = -1, root = i % size;
        MPI_Ibarrier(w->comm, &request);
        (void) sum(w->comm, in, out, n, time);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        all = rank == root ? time : -1;
        MPI_Bcast(&all, 1, MPI_INT, root, w->comm);
        if (time != all) {
            fail("wrong value", time);
        }
    }
    free(in);
    free(out);
    return NULL;
}

static void threads(int times)
{
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        workers[i].times = times;
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    for (int i = 0; i < THREADS; i++) {
        if (0 != pthread_create(&workers[i].thread, NULL, work, &workers[i])) {
            fail("no thread", i);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        MPI_Comm_free(&workers[i].comm);
    }
}

/* ---- errors ----------------------------------------------------------------------------------- */

/* Short and long blocks that are longer than the last rank has room for: it gets an error. */
static void cut_off(MPI_Comm comm, int *in, int *out, int n, int time)
{
    int room = rank == size - 1 ? n - 1 : n;
    int rc = MPI_Bcast(0 == rank ? in : out, room, MPI_INT, 0, comm);
    if (rank == size - 1 && MPI_SUCCESS == rc) {
        fail("no error", time);
    }
}

static void errors(int times)
{
    int *in = malloc(MOST * sizeof(int)), *out = malloc(MOST * sizeof(int));
    if (NULL == in || NULL == out) {
        fail("no memory", 0);
    }
    memset(in, 0, MOST * sizeof(int));
    for (int i = 0; i < times; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        cut_off(comm, in, out, 0 == i % 2 ? 100 : 50000, i);
        (void) sum(MPI_COMM_WORLD, in, out, 20000, i);
        MPI_Comm_free(&comm);
        (void) sum(MPI_COMM_WORLD, in, out, 30, i);
    }
    free(in);
    free(out);
}

/* ---- idle ------------------------------------------------------------------------------------- */

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return x < y ? -1 : x > y;
}

static void idle(int times)
{
    double *late = calloc((size_t) times, sizeof(*late));
    double began = now(CLOCK_MONOTONIC), used = now(CLOCK_PROCESS_CPUTIME_ID), sent;
    for (int i = 0; NULL != late && i < times; i++) {
        if (0 == rank) {
            usleep(100000);
            sent = now(CLOCK_MONOTONIC);
        }
        MPI_Bcast(&sent, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        late[i] = now(CLOCK_MONOTONIC) - sent;
    }
    if (NULL != late && 0 != rank) {
        double all = now(CLOCK_MONOTONIC) - began;
        qsort(late, (size_t) times, sizeof(*late), compare);
        printf("rank %d: %.0f us late, %.1f %% busy\n", rank, late[times / 2] * 1e6,
               (now(CLOCK_PROCESS_CPUTIME_ID) - used) / all * 100);
    }
    free(late);
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (3 == argc && 0 == strcmp(argv[1], "threads") && MPI_THREAD_MULTIPLE == level) {
        threads(atoi(argv[2]));
    } else if (3 == argc && 0 == strcmp(argv[1], "errors")) {
        errors(atoi(argv[2]));
    } else if (3 == argc && 0 == strcmp(argv[1], "idle")) {
        idle(atoi(argv[2]));
    } else {
        fail("usage: rails threads|errors|idle TIMES, and an MPI with threads", 0);
    }
    MPI_Finalize();
    return 0;
}
