/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a running program pays besides time: counts calls of the allocator and page faults of the
 * main thread over many calls of each of the 17 blocking collectives, after a warm-up that makes
 * every root's plan and walks every ring. Around each counted stretch it writes a mark to a closed
 * file descriptor, so that a trace of system calls (run_steady.sh) can be cut there.
 *
 *   steady [-n CALLS] [-b LARGE_CALLS] [-w WARMUP] [-c COLLECTIVE] [-m] [-p]
 *
 * CALLS of 8 bytes and of 8 KiB per block or vector, LARGE_CALLS of 1 MiB. -m: buffers from
 * MPI_Alloc_mem. -p plants an allocation and a system call in each stretch: the test must then fail.
 * Prints one line `RANK COLLECTIVE BYTES CALLS alloc=N faults=N` per stretch and, for each
 * allocation, where it came from. Knows nothing of the component.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <mpi.h>

#include "steady_alloc.h"

#define LARGEST ((size_t) 1 << 20)
#define CLOSED_FD 999
#define MOST_RANKS 64

static int rank, size;
static char *sendbuf, *recvbuf;

/* Of all blocks, for the collectives that take lists: set before a stretch. */
static int counts[MOST_RANKS];
static int elements_before[MOST_RANKS], bytes_before[MOST_RANKS];
static MPI_Datatype types[MOST_RANKS];

typedef void (*call_t)(int count, int root);

static void call_allreduce(int n, int root)
{
    (void) root;
    MPI_Allreduce(sendbuf, recvbuf, n, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
}

static void call_bcast(int n, int root)
{
    MPI_Bcast(recvbuf, n, MPI_INT32_T, root, MPI_COMM_WORLD);
}

static void call_reduce(int n, int root)
{
    MPI_Reduce(sendbuf, recvbuf, n, MPI_INT32_T, MPI_SUM, root, MPI_COMM_WORLD);
}

static void call_barrier(int n, int root)
{
    (void) n;
    (void) root;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void call_allgather(int n, int root)
{
    (void) root;
    MPI_Allgather(sendbuf, n, MPI_INT32_T, recvbuf, n, MPI_INT32_T, MPI_COMM_WORLD);
}

static void call_alltoall(int n, int root)
{
    (void) root;
    MPI_Alltoall(sendbuf, n, MPI_INT32_T, recvbuf, n, MPI_INT32_T, MPI_COMM_WORLD);
}

static void call_reduce_scatter_block(int n, int root)
{
    (void) root;
    MPI_Reduce_scatter_block(sendbuf, recvbuf, n, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
}

static void call_gather(int n, int root)
{
    MPI_Gather(sendbuf, n, MPI_INT32_T, recvbuf, n, MPI_INT32_T, root, MPI_COMM_WORLD);
}

static void call_scatter(int n, int root)
{
    MPI_Scatter(sendbuf, n, MPI_INT32_T, recvbuf, n, MPI_INT32_T, root, MPI_COMM_WORLD);
}

static void call_scan(int n, int root)
{
    (void) root;
    MPI_Scan(sendbuf, recvbuf, n, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
}

static void call_exscan(int n, int root)
{
    (void) root;
    MPI_Exscan(sendbuf, recvbuf, n, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
}

static void call_allgatherv(int n, int root)
{
    (void) root;
    MPI_Allgatherv(sendbuf, n, MPI_INT32_T, recvbuf, counts, elements_before, MPI_INT32_T,
                   MPI_COMM_WORLD);
}

static void call_alltoallv(int n, int root)
{
    (void) n;
    (void) root;
    MPI_Alltoallv(sendbuf, counts, elements_before, MPI_INT32_T, recvbuf, counts, elements_before,
                  MPI_INT32_T, MPI_COMM_WORLD);
}

static void call_alltoallw(int n, int root)
{
    (void) n;
    (void) root;
    MPI_Alltoallw(sendbuf, counts, bytes_before, types, recvbuf, counts, bytes_before, types,
                  MPI_COMM_WORLD);
}

static void call_gatherv(int n, int root)
{
    MPI_Gatherv(sendbuf, n, MPI_INT32_T, recvbuf, counts, elements_before, MPI_INT32_T, root,
                MPI_COMM_WORLD);
}

static void call_scatterv(int n, int root)
{
    MPI_Scatterv(sendbuf, counts, elements_before, MPI_INT32_T, recvbuf, n, MPI_INT32_T, root,
                 MPI_COMM_WORLD);
}

static void call_reduce_scatter(int n, int root)
{
    (void) n;
    (void) root;
    MPI_Reduce_scatter(sendbuf, recvbuf, counts, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    call_t call;
} collectives[] = {
    {"allreduce", call_allreduce},
    {"bcast", call_bcast},
    {"reduce", call_reduce},
    {"barrier", call_barrier},
    {"allgather", call_allgather},
    {"alltoall", call_alltoall},
    {"reduce_scatter_block", call_reduce_scatter_block},
    {"gather", call_gather},
    {"scatter", call_scatter},
    {"scan", call_scan},
    {"exscan", call_exscan},
    {"allgatherv", call_allgatherv},
    {"alltoallv", call_alltoallv},
    {"alltoallw", call_alltoallw},
    {"gatherv", call_gatherv},
    {"scatterv", call_scatterv},
    {"reduce_scatter", call_reduce_scatter},
};

static long page_faults(void)
{
    struct rusage use;
    getrusage(RUSAGE_THREAD, &use);
    return use.ru_minflt + use.ru_majflt;
}

/* Fails, since the descriptor is closed, but a trace shows the text. */
static void mark(const char *text)
{
    ssize_t ignored = write(CLOSED_FD, text, strlen(text));
    (void) ignored;
}

static void stretch(size_t which, size_t bytes, int calls, int warmup, bool plant)
{
    call_t call = collectives[which].call;
    int count = (int) (bytes / sizeof(int32_t));
    for (int i = 0; i < size; i++) {
        counts[i] = count;
        elements_before[i] = i * count;
        bytes_before[i] = i * (int) bytes;
        types[i] = MPI_INT32_T;
    }
    char begin[96];
    char end[96];
    snprintf(begin, sizeof(begin), "HCCL-BEGIN %s %zu", collectives[which].name, bytes);
    snprintf(end, sizeof(end), "HCCL-END %s %zu", collectives[which].name, bytes);
    for (int i = 0; i < warmup; i++) {
        call(count, i % size);
    }
    long faults = page_faults();
    mark(begin);
    alloc_watch(true);
    for (int i = 0; i < calls; i++) {
        call(count, i % size);
        if (plant && calls / 2 == i) {
            /* In a library: an allocation of this program alone says nothing of others. */
            char *volatile planted = strdup("an allocation");
            free(planted);
            (void) getppid();
        }
    }
    alloc_watch(false);
    mark(end);
    faults = page_faults() - faults;
    printf("%d %s %zu %d alloc=%ld faults=%ld\n", rank, collectives[which].name, bytes, calls,
           alloc_count(), faults);
    alloc_report(rank, collectives[which].name);
}

/* The number that follows an option. */
static int number(char **argv, int i)
{
    char *rest = NULL;
    long value = NULL == argv[i + 1] ? -1 : strtol(argv[i + 1], &rest, 10);
    if (NULL == rest || '\0' != *rest || value < 0 || value > 100000000) {
        fprintf(stderr, "steady: %s needs a number\n", argv[i]);
        exit(2);
    }
    return (int) value;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 8192, LARGEST};
    int calls = 10000, large = 200, warmup = 64;
    const char *only = NULL;
    bool plant = false, mpi_memory = false;
    for (int i = 1; i < argc; i++) {
        if (0 == strcmp(argv[i], "-p")) {
            plant = true;
        } else if (0 == strcmp(argv[i], "-m")) {
            mpi_memory = true;
        } else if (0 == strcmp(argv[i], "-c") && NULL != argv[i + 1]) {
            only = argv[++i];
        } else if (0 == strcmp(argv[i], "-n")) {
            calls = number(argv, i++);
        } else if (0 == strcmp(argv[i], "-b")) {
            large = number(argv, i++);
        } else if (0 == strcmp(argv[i], "-w")) {
            warmup = number(argv, i++);
        } else {
            fprintf(stderr, "usage: steady [-n CALLS] [-b LARGE_CALLS] [-w WARMUP] [-c COLLECTIVE]"
                            " [-m] [-p]\n");
            return 2;
        }
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > MOST_RANKS) {
        fprintf(stderr, "steady: at most %d ranks\n", MOST_RANKS);
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    if (mpi_memory) {
        MPI_Alloc_mem((MPI_Aint) (LARGEST * (size_t) size), MPI_INFO_NULL, &sendbuf);
        MPI_Alloc_mem((MPI_Aint) (LARGEST * (size_t) size), MPI_INFO_NULL, &recvbuf);
    } else {
        sendbuf = malloc(LARGEST * (size_t) size);
        recvbuf = malloc(LARGEST * (size_t) size);
    }
    if (NULL == sendbuf || NULL == recvbuf) {
        fprintf(stderr, "steady: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 1;
    }
    memset(sendbuf, 1, LARGEST * (size_t) size);
    memset(recvbuf, 2, LARGEST * (size_t) size);
    /* What runs for the first time may fault code in. */
    alloc_init();
    alloc_watch(true);
    (void) page_faults();
    alloc_watch(false);
    for (size_t which = 0; which < sizeof(collectives) / sizeof(collectives[0]); which++) {
        bool one = 0 == strcmp(collectives[which].name, "barrier");
        if (NULL != only && 0 != strcmp(only, collectives[which].name)) {
            continue;
        }
        for (size_t s = 0; s < (one ? 1 : sizeof(sizes) / sizeof(sizes[0])); s++) {
            bool is_large = LARGEST == sizes[s];
            stretch(which, one ? 0 : sizes[s], is_large ? large : calls, warmup, plant);
        }
    }
    fflush(stdout);
    if (mpi_memory) {
        MPI_Free_mem(sendbuf);
        MPI_Free_mem(recvbuf);
    } else {
        free(sendbuf);
        free(recvbuf);
    }
    MPI_Finalize();
    return 0;
}
