/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * operations.c: see operations.h.
 */
#include "operations.h"

#include <mpi.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { GUARD_WORDS = 16, TAG_SEND = 3 };

#define POISON UINT32_C(0xa5a5a5a5)
#define WORD MPI_UINT32_T
#define WORLD MPI_COMM_WORLD

static uint32_t formula(uint32_t seed, int rank, size_t block, size_t i)
{
    uint32_t x = seed * UINT32_C(0x9e3779b9) + (uint32_t) rank * UINT32_C(0x85ebca6b)
                 + (uint32_t) block * UINT32_C(0xc2b2ae35) + (uint32_t) i * UINT32_C(0x27d4eb2f);

    x ^= x >> 15;
    x *= UINT32_C(0x2c1b3c6d);
    return x ^ (x >> 13);
}

static void run_allreduce(struct run *run)
{
    MPI_Allreduce(run->send, run->receive, (int) run->words, WORD, MPI_SUM, WORLD);
}

static void run_bcast(struct run *run)
{
    if (NULL != run->send) {
        memcpy(run->receive, run->send, run->words * sizeof(uint32_t));
    }
    MPI_Bcast(run->receive, (int) run->words, WORD, run->root, WORLD);
}

static void run_allgather(struct run *run)
{
    const int count = (int) run->words;

    MPI_Allgather(run->send, count, WORD, run->receive, count, WORD, WORLD);
}

static void run_reduce(struct run *run)
{
    MPI_Reduce(run->send, run->receive, (int) run->words, WORD, MPI_SUM, run->root, WORLD);
}

static void run_reduce_scatter_block(struct run *run)
{
    MPI_Reduce_scatter_block(run->send, run->receive, (int) run->words, WORD, MPI_SUM, WORLD);
}

static void run_alltoall(struct run *run)
{
    const int count = (int) run->words;

    MPI_Alltoall(run->send, count, WORD, run->receive, count, WORD, WORLD);
}

/* Blocks of one size, as far as the formula goes; that they are is known to the caller alone. */
static void run_alltoallv(struct run *run)
{
    int counts[run->ranks], places[run->ranks];

    for (int i = 0; i < run->ranks; i++) {
        counts[i] = (int) run->words;
        places[i] = i * (int) run->words;
    }
    MPI_Alltoallv(run->send, counts, places, WORD, run->receive, counts, places, WORD, WORLD);
}

static void run_gather(struct run *run)
{
    const int count = (int) run->words;

    MPI_Gather(run->send, count, WORD, run->receive, count, WORD, run->root, WORLD);
}

static void run_scatter(struct run *run)
{
    const int count = (int) run->words;

    MPI_Scatter(run->send, count, WORD, run->receive, count, WORD, run->root, WORLD);
}

/* MPI_Wtime may start at each rank's own zero; this clock is one for all hosts of a bed. */
static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double) time.tv_sec + (double) time.tv_nsec * 1e-9;
}

static void run_barrier(struct run *run)
{
    usleep((useconds_t) (formula(run->seed, run->rank, 0, 0) % 2000));
    run->entered = now();
    MPI_Barrier(WORLD);
    run->left = now();
}

static void run_send(struct run *run)
{
    const int count = (int) run->words;

    if (NULL != run->send && NULL != run->receive) {
        memcpy(run->receive, run->send, run->words * sizeof(uint32_t));
    } else if (NULL != run->send) {
        MPI_Send(run->send, count, WORD, run->ranks - 1, TAG_SEND, WORLD);
    } else if (NULL != run->receive) {
        MPI_Recv(run->receive, count, WORD, run->root, TAG_SEND, WORLD, MPI_STATUS_IGNORE);
    }
}

static const struct operation operations[] = {
    {.name = "allreduce",
     .transfer = run_allreduce,
     .sender = EVERYBODY,
     .receiver = EVERYBODY,
     .sums = true},
    {.name = "bcast", .transfer = run_bcast, .sender = ROOT, .receiver = EVERYBODY, .rooted = true},
    {.name = "allgather",
     .transfer = run_allgather,
     .sender = EVERYBODY,
     .receiver = EVERYBODY,
     .receive_all = true},
    {.name = "reduce",
     .transfer = run_reduce,
     .sender = EVERYBODY,
     .receiver = ROOT,
     .sums = true,
     .rooted = true},
    {.name = "reduce_scatter_block",
     .transfer = run_reduce_scatter_block,
     .sender = EVERYBODY,
     .receiver = EVERYBODY,
     .send_all = true,
     .sums = true,
     .to_me = true},
    {.name = "alltoall",
     .transfer = run_alltoall,
     .sender = EVERYBODY,
     .receiver = EVERYBODY,
     .send_all = true,
     .receive_all = true,
     .to_me = true},
    {.name = "alltoallv",
     .transfer = run_alltoallv,
     .sender = EVERYBODY,
     .receiver = EVERYBODY,
     .send_all = true,
     .receive_all = true,
     .to_me = true},
    {.name = "barrier", .transfer = run_barrier, .sender = NOBODY, .receiver = NOBODY},
    {.name = "gather",
     .transfer = run_gather,
     .sender = EVERYBODY,
     .receiver = ROOT,
     .receive_all = true,
     .rooted = true},
    {.name = "scatter",
     .transfer = run_scatter,
     .sender = ROOT,
     .receiver = EVERYBODY,
     .send_all = true,
     .to_me = true,
     .rooted = true},
    /* No collective: from the root to the last rank, as a check of the counters themselves. */
    {.name = "send", .transfer = run_send, .sender = ROOT, .receiver = LAST, .rooted = true},
};
enum { OPERATIONS = sizeof operations / sizeof operations[0], COLLECTIVES = OPERATIONS - 1 };

const struct operation *operation_find(const char *name, size_t length)
{
    for (int i = 0; i < OPERATIONS; i++) {
        if (length == strlen(operations[i].name)
            && 0 == strncmp(operations[i].name, name, length)) {
            return &operations[i];
        }
    }
    return NULL;
}

const struct operation *operation_number(int number)
{
    return number < COLLECTIVES ? &operations[number] : NULL;
}

static uint32_t expected(const struct run *run, size_t position)
{
    const int from = run->op->receive_all ? (int) (position / run->words) : run->root;
    const size_t block = run->op->to_me ? (size_t) run->rank : 0;
    const size_t i = position % run->words;
    uint32_t sum = 0;

    if (!run->op->sums) {
        return formula(run->seed, from, block, i);
    }
    for (int rank = 0; rank < run->ranks; rank++) {
        sum += formula(run->seed, rank, block, i);
    }
    return sum;
}

static bool takes_part(const struct run *run, enum who who)
{
    return EVERYBODY == who || (ROOT == who && run->root == run->rank)
           || (LAST == who && run->ranks - 1 == run->rank);
}

static uint32_t *guarded_alloc(size_t words)
{
    uint32_t *buffer = malloc((words + 2 * GUARD_WORDS) * sizeof *buffer);

    if (NULL == buffer) {
        return NULL;
    }
    for (size_t i = 0; i < GUARD_WORDS; i++) {
        buffer[i] = POISON;
        buffer[GUARD_WORDS + words + i] = POISON;
    }
    return buffer + GUARD_WORDS;
}

static void guarded_free(uint32_t *buffer)
{
    if (NULL != buffer) {
        free(buffer - GUARD_WORDS);
    }
}

static bool guards_intact(const uint32_t *buffer, size_t words)
{
    for (size_t i = 0; NULL != buffer && i < GUARD_WORDS; i++) {
        if (POISON != *(buffer - GUARD_WORDS + i) || POISON != buffer[words + i]) {
            return false;
        }
    }
    return true;
}

bool operation_prepare(struct run *run)
{
    const bool sends = takes_part(run, run->op->sender);
    const bool receives = takes_part(run, run->op->receiver);

    run->send_words = run->words * (run->op->send_all ? (size_t) run->ranks : 1);
    run->receive_words = run->words * (run->op->receive_all ? (size_t) run->ranks : 1);
    run->send = sends ? guarded_alloc(run->send_words) : NULL;
    run->receive = receives ? guarded_alloc(run->receive_words) : NULL;
    return (!sends || NULL != run->send) && (!receives || NULL != run->receive);
}

void operation_release(struct run *run)
{
    guarded_free(run->send);
    guarded_free(run->receive);
    run->send = run->receive = NULL;
}

static void fill(const struct run *run)
{
    if (NULL != run->receive) {
        memset(run->receive, 0xa5, run->receive_words * sizeof(uint32_t));
    }
    for (size_t i = 0; NULL != run->send && i < run->send_words; i++) {
        run->send[i] = formula(run->seed, run->rank, i / run->words, i % run->words);
    }
}

static bool is_right(const struct run *run)
{
    const char *name = run->op->name;

    for (size_t i = 0; NULL != run->receive && i < run->receive_words; i++) {
        if (expected(run, i) != run->receive[i]) {
            printf("wrong %s of %zu bytes, root %d, rank %d: element %zu is %" PRIx32
                   ", not %" PRIx32 "\n",
                   name, run->words * sizeof(uint32_t), run->root, run->rank, i, run->receive[i],
                   expected(run, i));
            return false;
        }
    }
    for (size_t i = 0; NULL != run->send && i < run->send_words; i++) {
        if (formula(run->seed, run->rank, i / run->words, i % run->words) != run->send[i]) {
            printf("wrong %s: rank %d: send buffer changed at element %zu\n", name, run->rank, i);
            return false;
        }
    }
    if (!guards_intact(run->send, run->send_words)
        || !guards_intact(run->receive, run->receive_words)) {
        printf("wrong %s: rank %d: written outside a buffer\n", name, run->rank);
        return false;
    }
    return true;
}

bool operation_once(struct run *run)
{
    run->seed++;
    fill(run);
    run->op->transfer(run);
    return is_right(run);
}
