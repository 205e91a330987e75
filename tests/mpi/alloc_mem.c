/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Alloc_mem as the component serves it: where blocks come from, that their memory goes back, and
 * that a buffer is the user's again the moment an operation has ended, while others are late.
 *
 *   alloc_mem heap|malloc    blocks of 1 MiB must come from the heap, or must not
 *   alloc_mem TEST           one of the tests of the table below
 *
 * Exit code 0: good. Looks at the process's own maps for a mapping named hccl-heap; knows nothing else
 * of the component.
 */
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mpi.h>

#define MIB ((size_t) 1 << 20)

static int rank, size, failed;

/* Goes on after a failure, so that the other ranks do not wait for this one. */
#define CHECK(condition)                                                                     \
    do {                                                                                     \
        if (!(condition) && 0 == failed++) {                                                 \
            fprintf(stderr, "rank %d, line %d: not true: %s\n", rank, __LINE__, #condition); \
        }                                                                                    \
    } while (0)

static void *take(size_t bytes)
{
    void *block = NULL;
    CHECK(MPI_SUCCESS == MPI_Alloc_mem((MPI_Aint) bytes, MPI_INFO_NULL, &block) && NULL != block);
    return block;
}

/* Whether an address lies in the heap: the first mapping of that name is this process's own. */
static bool in_heap(const void *block)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (NULL != maps && !found && NULL != fgets(line, sizeof(line), maps)) {
        unsigned long begin, end;
        if (NULL != strstr(line, "hccl-heap") && 2 == sscanf(line, "%lx-%lx", &begin, &end)) {
            found = (uintptr_t) block >= begin && (uintptr_t) block < end;
        }
    }
    if (NULL != maps) {
        fclose(maps);
    }
    return found;
}

static void comes_from(bool heap)
{
    char *large = take(MIB), *small = take(100);
    CHECK(heap == in_heap(large));
    CHECK(!in_heap(small));
    memset(large, 1, MIB);
    memset(small, 1, 100);
    MPI_Free_mem(large);
    MPI_Free_mem(small);
}

static void test_heap(void)
{
    MPI_Info info;
    char *block = NULL;
    comes_from(true);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpool_hints", "mpool=hccl");
    MPI_Alloc_mem((MPI_Aint) MIB, info, &block);
    CHECK(in_heap(block));
    MPI_Free_mem(block);
    MPI_Info_set(info, "mpool_hints", "mpool=nosuch");
    MPI_Alloc_mem((MPI_Aint) MIB, info, &block);
    CHECK(!in_heap(block));
    MPI_Free_mem(block);
    MPI_Info_free(&info);
}

static void test_malloc(void)
{
    comes_from(false);
}

/* With a heap of 1 MiB: what does not fit comes from malloc, and both are freed. */
static void test_full(void)
{
    char *blocks[20];
    int inside = 0;
    for (int i = 0; i < 20; i++) {
        blocks[i] = take(200000);
        memset(blocks[i], i, 200000);
        inside += in_heap(blocks[i]);
    }
    CHECK(4 == inside);
    for (int i = 0; i < 20; i++) {
        CHECK(i == blocks[i][0] && i == blocks[i][199999]);
        MPI_Free_mem(blocks[i]);
    }
    char *whole = take(MIB);
    CHECK(in_heap(whole));
    MPI_Free_mem(whole);
}

static long resident_pages(void)
{
    long total, resident = -1;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (NULL != statm) {
        CHECK(2 == fscanf(statm, "%ld %ld", &total, &resident));
        fclose(statm);
    }
    return resident;
}

static void test_growth(void)
{
    static const size_t sizes[] = {40000, 3 * MIB, 300000, 100000};
    long before = 0;
    for (int i = 0; i < 10000; i++) {
        char *block = take(sizes[i % 4]);
        block[0] = block[sizes[i % 4] - 1] = 1;
        MPI_Free_mem(block);
        before = 100 == i ? resident_pages() : before;
    }
    CHECK(resident_pages() < before + 256);
}

static int at(int who, int round, size_t i)
{
    return (int) ((size_t) who * 1000003 + (size_t) round * 101 + i);
}

/* Who is late, and by how much. */
static void dawdle(int round)
{
    if (round % size == rank) {
        usleep(200);
    }
}

/* The sum over all ranks. */
static void check_sum(const int *sum, size_t n, int round)
{
    int offset = 0;
    for (int r = 0; r < size; r++) {
        offset += at(r, round, 0);
    }
    size_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        bad += sum[i] != offset + size * (int) i;
    }
    CHECK(0 == bad);
}

static void fill(int *buffer, size_t n, int round)
{
    for (size_t i = 0; i < n; i++) {
        buffer[i] = at(rank, round, i);
    }
}

enum { N = 70000 };

/* The buffer is freed or overwritten at once, and the next block lies at the same place; every rank
 * takes its turn with ordinary memory. */
static void test_reuse(void)
{
    int *sum = malloc(N * sizeof(int)), *ordinary = malloc(N * sizeof(int));
    for (int round = 0; round < 300; round++) {
        bool mapped = (round / 3 + rank) % 3 != 0;
        int *buffer = mapped ? take(N * sizeof(int)) : ordinary;
        int root = round % size;
        fill(buffer, N, round);
        dawdle(round);
        MPI_Allreduce(buffer, sum, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        memset(buffer, 0xee, N * sizeof(int));
        check_sum(sum, N, round);
        fill(buffer, N, round);
        MPI_Allreduce(MPI_IN_PLACE, buffer, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        check_sum(buffer, N, round);
        fill(buffer, N, round);
        dawdle(round + 1);
        MPI_Bcast(buffer, N, MPI_INT, root, MPI_COMM_WORLD);
        CHECK(at(root, round, 5) == buffer[5] && at(root, round, N - 1) == buffer[N - 1]);
        if (mapped) {
            memset(buffer, 0xdd, N * sizeof(int));
            MPI_Free_mem(buffer);
        }
    }
    free(sum);
    free(ordinary);
}

/* The same through requests, two of them at a time, and persistent ones. */
static void test_requests(void)
{
    int *a = take(N * sizeof(int)), *b = take(N * sizeof(int)), *sum = malloc(N * sizeof(int));
    for (int round = 0; round < 200; round++) {
        MPI_Request requests[2];
        fill(a, N, round);
        fill(b, N, round);
        dawdle(round);
        MPI_Iallreduce(a, sum, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
        MPI_Ibcast(b, N, MPI_INT, round % size, MPI_COMM_WORLD, &requests[1]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        memset(a, 0xee, N * sizeof(int));
        check_sum(sum, N, round);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        CHECK(at(round % size, round, N - 1) == b[N - 1]);
        memset(b, 0xee, N * sizeof(int));
    }
    MPI_Free_mem(a);
    MPI_Free_mem(b);
    free(sum);
}

/* A child of fork may read the memory and end; a program may be run. */
static void test_fork(void)
{
    int *buffer = take(N * sizeof(int)), *sum = take(N * sizeof(int)), status = -1;
    fill(buffer, N, 1);
    MPI_Allreduce(buffer, sum, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    pid_t child = fork();
    if (0 == child) {
        check_sum(sum, N, 1);
        _exit(0 == failed ? 0 : 1);
    }
    CHECK(child == waitpid(child, &status, 0) && 0 == status);
    CHECK(0 == system("true"));
    memset(sum, 0, N * sizeof(int));
    MPI_Allreduce(buffer, sum, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check_sum(sum, N, 1);
    MPI_Free_mem(sum);
    MPI_Free_mem(buffer);
}

/* Windows of shared memory take the ordinary path; a buffer may lie in another rank's part. */
static void test_window(void)
{
    int *mine = NULL, *next = NULL, unit;
    MPI_Aint bytes;
    MPI_Win window;
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Win_allocate_shared((MPI_Aint) (2 * N * sizeof(int)), sizeof(int), MPI_INFO_NULL, node,
                            &mine, &window);
    MPI_Win_shared_query(window, (rank + 1) % size, &bytes, &unit, &next);
    for (int round = 0; round < 50; round++) {
        fill(next, N, round);
        MPI_Allreduce(next, next + N, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        check_sum(next + N, N, round);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&window);
    MPI_Comm_free(&node);
}

/* Blocks of all kinds, freed in the reverse and in any order: the others keep their contents, and at
 * the end the heap (of 16 MiB) is one piece again. */
static void test_order(void)
{
    enum { BLOCKS = 60 };
    static const size_t sizes[] = {40000, 100, 300000, 70000, 33000, 12000};
    struct {
        char *at;
        size_t bytes;
        char content;
    } blocks[BLOCKS];
    unsigned random = 12345;
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            /* One whose pages go back at once; its neighbours' must not. */
            blocks[i].bytes = 20 == i ? 2 * MIB : sizes[(i + round) % 6];
            blocks[i].at = take(blocks[i].bytes);
            blocks[i].content = (char) (i + 1);
            memset(blocks[i].at, blocks[i].content, blocks[i].bytes);
        }
        for (int left = BLOCKS; left > 0; left--) {
            random = random * 1103515245u + 12345u;
            int i = round % 2 == 0 ? left - 1 : (int) ((random >> 16) % (unsigned) left);
            char *at = blocks[i].at;
            size_t bytes = blocks[i].bytes;
            CHECK(blocks[i].content == at[0] && 0 == memcmp(at, at + 1, bytes - 1));
            MPI_Free_mem(at);
            blocks[i] = blocks[left - 1];
        }
    }
    char *whole = take(16 * MIB);
    CHECK(in_heap(whole));
    MPI_Free_mem(whole);
}

/* A thousand communicators, with a buffer from MPI_Alloc_mem used on each, and every tenth buffer
 * living on beyond its communicator. */
static void test_comms(void)
{
    enum { COMMS = 1000, KEPT = 20 };
    int *kept[KEPT] = {NULL}, *sum = malloc(N * sizeof(int));
    long pages = 0, in_use = 0;
    for (int round = 0; round < COMMS; round++) {
        size_t n = 9000 + (size_t) round % 50;
        int *buffer = take(n * sizeof(int));
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        fill(buffer, n, round);
        MPI_Allreduce(buffer, sum, (int) n, MPI_INT, MPI_SUM, comm);
        check_sum(sum, n, round);
        if (round % 10 == 0) {
            int *old = kept[round / 10 % KEPT];
            if (NULL != old) {
                CHECK(at(rank, round - 10 * KEPT, 8999) == old[8999]);
                MPI_Free_mem(old);
            }
            kept[round / 10 % KEPT] = buffer;
        } else {
            MPI_Free_mem(buffer);
        }
        MPI_Comm_free(&comm);
        if (200 == round) {
            pages = resident_pages();
            in_use = (long) mallinfo2().uordblks;
        }
    }
    /* Less than one allocation for every tenth communicator. */
    CHECK((long) mallinfo2().uordblks < in_use + 16 * (COMMS - 200) / 10);
    CHECK(resident_pages() < pages + 128);
    for (int i = 0; i < KEPT; i++) {
        MPI_Free_mem(kept[i]);
    }
    free(sum);
}

/* Blocks that were never freed are there after MPI_Finalize. Freeing them then is wrong, but works
 * with Open MPI's own allocator, and so it must with this. */
static char *left_over, *small_left_over;

static void test_finalize(void)
{
    left_over = take(MIB);
    small_left_over = take(100);
    memset(left_over, 55, MIB);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        {"heap", test_heap},     {"malloc", test_malloc}, {"full", test_full},
        {"growth", test_growth}, {"reuse", test_reuse},   {"requests", test_requests},
        {"fork", test_fork},     {"window", test_window}, {"finalize", test_finalize},
        {"order", test_order},   {"comms", test_comms},
    };
    bool known = false;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; 2 == argc && i < sizeof(tests) / sizeof(tests[0]); i++) {
        if (0 == strcmp(tests[i].name, argv[1])) {
            known = true;
            tests[i].run();
        }
    }
    MPI_Finalize();
    if (NULL != left_over) {
        left_over[1]++;
        CHECK(55 == left_over[0] && 56 == left_over[1] && 55 == left_over[MIB - 1]);
        CHECK(MPI_SUCCESS == MPI_Free_mem(left_over));
        CHECK(MPI_SUCCESS == MPI_Free_mem(small_left_over));
    }
    if (!known) {
        fprintf(stderr, "usage: alloc_mem TEST\n");
        return 2;
    }
    return 0 == failed ? 0 : 1;
}
