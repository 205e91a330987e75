/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What random calls do not do to messages by RDMA (in_rdma_more.sh):
 *   rdma count BYTES TIMES      so many calls of MPI_Allreduce, for who counts what is sent
 *   rdma remap TIMES            buffers that are unmapped, and mapped again at the same address
 *   rdma fork TIMES             children that write to what the parent has sent and received
 *   rdma steps TIMES            calls, with a line after each, until one fails: its code is the exit code's
 *   rdma comms TIMES            communicators made, used and freed
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, size;

static void fail(const char *what, int time)
{
    printf("rank %d, time %d: %s\n", rank, time, what);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Sums n values in buffers of the caller's, and checks them; other values each time. */
static void sum(MPI_Comm comm, int *in, int *out, int n, int time)
{
    int me, all;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &all);
    for (int i = 0; i < n; i++) {
        in[i] = i + me * 1000 + time * 7;
        out[i] = -1;
    }
    MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < n; i++) {
        if (all * (i + time * 7) + 1000 * (all * (all - 1) / 2) != out[i]) {
            fail("wrong sum", time);
        }
    }
}

static void count(int bytes, int times)
{
    int n = bytes / (int) sizeof(int);
    int *in = malloc((size_t) bytes + sizeof(int)), *out = malloc((size_t) bytes + sizeof(int));
    for (int i = 0; i < times; i++) {
        sum(MPI_COMM_WORLD, in, out, n, i);
    }
    free(in);
    free(out);
}

static int *map(void *where, size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (NULL == where ? 0 : MAP_FIXED_NOREPLACE);
    void *at = mmap(where, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    return MAP_FAILED == at || (NULL != where && at != where) ? NULL : at;
}

/* Between two calls, the buffers go and come back at their addresses: by munmap, and by mapping over
 * them. */
static void remap(int times)
{
    enum { N = 60000 };
    size_t bytes = N * sizeof(int);
    int *in = map(NULL, bytes), *out = map(NULL, bytes);
    for (int i = 0; i < times; i++) {
        if (NULL == in || NULL == out) {
            fail("no memory at the same address", i);
        }
        sum(MPI_COMM_WORLD, in, out, N, i);
        if (0 == i % 2) {
            munmap(in, bytes);
            munmap(out, bytes);
            in = map(in, bytes);
            out = map(out, bytes);
        } else {
            int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
            in = mmap(in, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
            out = mmap(out, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
        }
    }
}

/* The child writes; the parent's pages must stay the device's. */
static void fork_often(int times)
{
    enum { N = 60000 };
    int *in = malloc(N * sizeof(int)), *out = malloc(N * sizeof(int));
    for (int i = 0; i < times; i++) {
        sum(MPI_COMM_WORLD, in, out, N, i);
        pid_t child = fork();
        if (0 == child) {
            memset(in, 1, N * sizeof(int));
            memset(out, 2, N * sizeof(int));
            _exit(0);
        }
        sum(MPI_COMM_WORLD, in, out, N, i + 100);
        int status = 1;
        if (child < 0 || child != waitpid(child, &status, 0) || 0 != status) {
            fail("the child failed", i);
        }
    }
    free(in);
    free(out);
}

static void steps(int times)
{
    enum { N = 20000 };
    int *in = calloc(N, sizeof(int)), *out = calloc(N, sizeof(int));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < times; i++) {
        if (MPI_SUCCESS != MPI_Allreduce(in, out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD)) {
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
    free(in);
    free(out);
}

static void comms(int times)
{
    int in[500], out[500];
    for (int i = 0; i < times; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        sum(comm, in, out, 1 + i % 500, i);
        MPI_Comm_free(&comm);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *what = argc > 2 ? argv[1] : "";
    int n = argc > 2 ? atoi(argv[2]) : 0;
    if (0 == strcmp(what, "count") && argc > 3) {
        count(n, atoi(argv[3]));
    } else if (0 == strcmp(what, "remap")) {
        remap(n);
    } else if (0 == strcmp(what, "fork")) {
        fork_often(n);
    } else if (0 == strcmp(what, "steps")) {
        steps(n);
    } else if (0 == strcmp(what, "comms")) {
        comms(n);
    } else {
        fail("usage: rdma count BYTES TIMES | remap|fork|steps|comms TIMES", 0);
    }
    MPI_Finalize();
    return 0;
}
