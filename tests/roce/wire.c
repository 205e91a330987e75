/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls collectives again and again, checks what they deliver, and tells what went to the devices, on
 * their interfaces, and through Open MPI's point-to-point layer meanwhile.
 *
 *   wire CALLS RANKS/OPERATION:BYTES...      for example: wire 10 2/allreduce:8 4/bcast:1048576
 *
 * Each operation is called by the first RANKS ranks; BYTES, a multiple of 4, are those of the vector,
 * or of a block. Two calls go before, which make connections. Then for each operation rank 0
 * prints "wire RANKS/OPERATION:BYTES NAME=NUMBER...": the sum of all ranks, where rank I uses the
 * device and the interface roceI. Exit code 1: something was wrong. Knows nothing of the component.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../hosts/messages.h"
#include "posted.h"

typedef enum { ALLREDUCE, BCAST, ALLGATHER, ALLTOALL, REDUCE_SCATTER, BARRIER, OPERATIONS } kind_t;
static const char *const names[OPERATIONS] = {"allreduce", "bcast",          "allgather",
                                              "alltoall",  "reduce_scatter", "barrier"};

typedef struct operation {
    const char *text;
    int ranks;
    kind_t kind;
    int n; /* elements of the vector, or of a block */
} operation_t;

/* All that is counted. */
enum {
    CALLS,
    SPLIT,
    REQUESTS,
    INLINE,
    IMMEDIATE,
    PAYLOAD,
    REST,
    COMPLETIONS,
    COPIES,
    MESSAGES,
    BYTES,
    WIRE,
    NUMBERS
};
static const char *const number_names[NUMBERS] = {"doorbells",    "split",       "requests",
                                                  "inline",       "immediate",   "payload",
                                                  "rest",         "completions", "copies",
                                                  "pml_messages", "pml_bytes",   "wire_bytes"};

static int world_rank;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "wire: rank %d: %s\n", world_rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static operation_t parse(const char *text)
{
    operation_t op = {.text = text, .kind = OPERATIONS};
    char name[32];
    int bytes = 0;

    if (3 == sscanf(text, "%d/%31[a-z_]:%d", &op.ranks, name, &bytes)) {
        for (int i = 0; i < OPERATIONS; i++) {
            op.kind = 0 == strcmp(names[i], name) ? (kind_t) i : op.kind;
        }
    }
    op.n = bytes / (int) sizeof(int32_t);
    if (OPERATIONS == op.kind || 1 > op.ranks || 0 > op.n) {
        fail("usage: wire CALLS RANKS/OPERATION:BYTES...");
    }
    return op;
}

/* Element i of what one rank has for another one. Sums of some are exact. */
static int32_t value(int i, int round, int from, int to)
{
    return i % 1000 + round + 3 * from + 7 * to;
}

static int32_t sum(int i, int round, int ranks, int to)
{
    int32_t all = 0;
    for (int from = 0; from < ranks; from++) {
        all += value(i, round, from, to);
    }
    return all;
}

/* What element i of block j is to be at the end. */
static int32_t expected(const operation_t *op, int i, int round, int me, int j)
{
    switch (op->kind) {
    case ALLREDUCE:
        return sum(i, round, op->ranks, 0);
    case BCAST:
        return value(i, round, 0, 0);
    case ALLGATHER:
        return value(i, round, j, 0);
    case ALLTOALL:
        return value(i, round, j, me);
    default:
        return sum(i, round, op->ranks, me);
    }
}

static void start(const operation_t *op, const int32_t *from, int32_t *to, MPI_Comm comm)
{
    switch (op->kind) {
    case ALLREDUCE:
        MPI_Allreduce(from, to, op->n, MPI_INT32_T, MPI_SUM, comm);
        break;
    case BCAST:
        MPI_Bcast(to, op->n, MPI_INT32_T, 0, comm);
        break;
    case ALLGATHER:
        MPI_Allgather(from, op->n, MPI_INT32_T, to, op->n, MPI_INT32_T, comm);
        break;
    case ALLTOALL:
        MPI_Alltoall(from, op->n, MPI_INT32_T, to, op->n, MPI_INT32_T, comm);
        break;
    case REDUCE_SCATTER:
        MPI_Reduce_scatter_block(from, to, op->n, MPI_INT32_T, MPI_SUM, comm);
        break;
    default:
        MPI_Barrier(comm);
    }
}

/* One call, and whether all its elements are right. */
static void call(const operation_t *op, int32_t *from, int32_t *to, int round, int me,
                 MPI_Comm comm)
{
    const int sends = ALLTOALL == op->kind || REDUCE_SCATTER == op->kind ? op->ranks : 1;
    const int gets = ALLTOALL == op->kind || ALLGATHER == op->kind ? op->ranks : 1;

    for (int j = 0; j < sends; j++) {
        for (int i = 0; i < op->n; i++) {
            from[j * op->n + i] = value(i, round, me, j);
        }
    }
    for (int i = 0; i < gets * op->n; i++) {
        to[i] = BCAST == op->kind && 0 == me ? from[i] : -1;
    }
    start(op, from, to, comm);
    for (int j = 0; j < gets; j++) {
        for (int i = 0; i < op->n; i++) {
            if (expected(op, i, round, me, j) != to[j * op->n + i]) {
                fail(op->text);
            }
        }
    }
}

/* Bytes in Ethernet frames that this rank's interface has sent. */
static int64_t wire_bytes(void)
{
    char path[100];
    long long bytes = -1;

    snprintf(path, sizeof(path), "/sys/class/net/roce%d/statistics/tx_bytes", world_rank);
    FILE *file = fopen(path, "r");
    if (NULL == file || 1 != fscanf(file, "%lld", &bytes)) {
        fail("no interface of that number");
    }
    fclose(file);
    return bytes;
}

static void read_numbers(int64_t numbers[NUMBERS])
{
    const posted_t posted = posted_so_far();
    const messages_t messages = messages_so_far();

    numbers[CALLS] = posted.calls;
    numbers[SPLIT] = posted.split;
    numbers[REQUESTS] = posted.requests;
    numbers[INLINE] = posted.inlined;
    numbers[IMMEDIATE] = posted.immediate;
    numbers[PAYLOAD] = posted.payload;
    numbers[REST] = posted.rest;
    numbers[COMPLETIONS] = posted.completions;
    numbers[COPIES] = posted.copies;
    numbers[MESSAGES] = messages.sent;
    numbers[BYTES] = messages.bytes;
    numbers[WIRE] = wire_bytes();
}

static void run(const operation_t *op, int calls, MPI_Comm comm)
{
    int64_t before[NUMBERS], after[NUMBERS], all[NUMBERS];
    const size_t bytes = ((size_t) op->ranks * (size_t) op->n + 1) * sizeof(int32_t);
    int32_t *from = malloc(bytes), *to = malloc(bytes);
    int me;

    MPI_Comm_rank(comm, &me);
    if (NULL == from || NULL == to) {
        fail("no memory");
    }
    for (int round = -2; round < calls; round++) {
        if (0 == round) {
            MPI_Barrier(comm);
            read_numbers(before);
        }
        call(op, from, to, round, me, comm);
    }
    read_numbers(after);
    for (int i = 0; i < NUMBERS; i++) {
        after[i] -= before[i];
    }
    MPI_Reduce(after, all, NUMBERS, MPI_INT64_T, MPI_SUM, 0, comm);
    if (0 == me) {
        printf("wire %s", op->text);
        for (int i = 0; i < NUMBERS; i++) {
            printf(" %s=%lld", number_names[i], (long long) all[i]);
        }
        printf("\n");
    }
    free(from);
    free(to);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    const int calls = 2 < argc ? atoi(argv[1]) : 0;
    if (1 > calls) {
        fail("usage: wire CALLS RANKS/OPERATION:BYTES...");
    }
    messages_open();
    for (int i = 2; i < argc; i++) {
        const operation_t op = parse(argv[i]);
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, world_rank < op.ranks ? 0 : MPI_UNDEFINED, 0, &comm);
        if (MPI_COMM_NULL != comm) {
            run(&op, calls, comm);
            MPI_Comm_free(&comm);
        }
    }
    MPI_Finalize();
    return 0;
}
