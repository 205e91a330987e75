/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers whose memory goes, comes again or is copied between collectives, in all the ways that make a
 * registration with the device stale; and how much stays registered. Plain MPI: it asks `rdma` what
 * is registered.
 *
 *   memory ROUNDS BYTES WAY...     prints "memory WAY: right" for each of
 *       again    unmapped, and mapped again at its address
 *       over     mapped over
 *       madvise  its pages are given back
 *       mremap   moved away, and something else mapped where it was
 *       malloc   freed, and allocated again at its address, from pages of its own
 *       brk      the heap shrinks, and grows again
 *       fork     a child writes to it
 *   memory ROUNDS BYTES limit      uses ROUNDS buffers, and prints on each rank
 *                                  "memory limit: RANK REGISTERED-BEFORE REGISTERED-AFTER"
 */
#include <malloc.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, ranks;

static _Noreturn void fail(const char *what, const char *which, int round)
{
    fprintf(stderr, "memory %s: %s, rank %d, round %d\n", which, what, rank, round);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static int32_t *map_at(void *address, size_t bytes)
{
    const int fixed = NULL == address ? 0 : MAP_FIXED_NOREPLACE;
    void *p =
        mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    return MAP_FAILED == p ? NULL : p;
}

/* Sends from the buffer in one call and receives into it in the next one; both are checked. */
static void use(const char *which, int32_t *buffer, int32_t *other, int n, int round)
{
    const int others = ranks * (ranks - 1) / 2;

    for (int i = 0; i < n; i++) {
        buffer[i] = i % 1000 + round + rank;
    }
    MPI_Allreduce(buffer, other, n, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        if (ranks * (i % 1000 + round) + others != other[i]) {
            fail("what was sent is wrong", which, round);
        }
        other[i] = i % 1000 + 3 * round + rank;
    }
    MPI_Allreduce(other, buffer, n, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        if (ranks * (i % 1000 + 3 * round) + others != buffer[i]) {
            fail("what was received is wrong", which, round);
        }
    }
}

/* Unmapped and mapped again at the same address. */
static int32_t *again(int32_t *buffer, size_t bytes)
{
    munmap(buffer, bytes);
    return map_at(buffer, bytes);
}

static int32_t *over(int32_t *buffer, size_t bytes)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    return buffer == mmap(buffer, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) ? buffer : NULL;
}

/* Its pages are given back; the address stays. */
static int32_t *advise(int32_t *buffer, size_t bytes)
{
    return 0 == madvise(buffer, bytes, MADV_DONTNEED) ? buffer : NULL;
}

/* Moved away, and something else mapped where it was. */
static int32_t *move(int32_t *buffer, size_t bytes)
{
    int32_t *hole = map_at(NULL, bytes);
    int32_t *away = mremap(buffer, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, hole);
    int32_t *fresh = MAP_FAILED == (void *) away ? NULL : map_at(buffer, bytes);
    munmap(hole, bytes);
    return fresh;
}

/* A child that lives through the next calls, and writes to the buffer that it has inherited. */
static pid_t start_child(int32_t *buffer, size_t bytes, int gate[2])
{
    char byte;
    if (0 != pipe(gate)) {
        return -1;
    }
    pid_t child = fork();
    if (0 == child) {
        close(gate[1]);
        memset(buffer, 0x5a, bytes);
        _exit(0 == read(gate[0], &byte, 1) ? 0 : 1);
    }
    return child;
}

static void use_forked(int32_t *buffer, int32_t *other, size_t bytes, int round)
{
    int gate[2], status = -1;
    pid_t child = start_child(buffer, bytes, gate);
    if (0 > child) {
        fail("no child", "fork", round);
    }
    use("fork", buffer, other, (int) (bytes / sizeof(*buffer)), round);
    close(gate[1]);
    close(gate[0]);
    if (child != waitpid(child, &status, 0) || 0 != status) {
        fail("the child failed", "fork", round);
    }
}

/* Bytes that this process has registered with all devices. */
static long registered(void)
{
    char line[400];
    long sum = 0, bytes;
    int pid;
    FILE *list = popen("rdma resource show mr", "r");
    while (NULL != list && NULL != fgets(line, sizeof(line), list)) {
        const char *length = strstr(line, " mrlen "), *owner = strstr(line, " pid ");
        if (NULL != length && NULL != owner && 1 == sscanf(length, " mrlen %ld", &bytes)
            && 1 == sscanf(owner, " pid %d", &pid) && getpid() == pid) {
            sum += bytes;
        }
    }
    if (NULL == list || 0 != pclose(list)) {
        fail("rdma cannot be asked", "limit", 0);
    }
    return sum;
}

static void use_many(int rounds, int32_t *other, size_t bytes)
{
    const int n = (int) (bytes / sizeof(*other));
    int32_t first = rank, sum = -1;

    MPI_Allreduce(&first, &sum, 1, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
    const long before = registered();
    for (int round = 0; round < rounds; round++) {
        int32_t *buffer = map_at(NULL, bytes);
        if (NULL == buffer) {
            fail("no memory", "limit", round);
        }
        use("limit", buffer, other, n, round);
    }
    printf("memory limit: %d %ld %ld\n", rank, before, registered());
}

typedef int32_t *change_t(int32_t *buffer, size_t bytes);

static void use_changed(const char *way, change_t *change, int rounds, int32_t *other, size_t bytes)
{
    int32_t *buffer = map_at(NULL, bytes);

    for (int round = 0; round < rounds; round++) {
        if (NULL == buffer) {
            fail("no memory", way, round);
        }
        if (NULL == change) {
            use_forked(buffer, other, bytes, round);
        } else {
            use(way, buffer, other, (int) (bytes / sizeof(*buffer)), round);
            buffer = change(buffer, bytes);
        }
    }
}

/* The allocator gives the memory back to the system each time, and gets it again where it was. */
static void use_allocated(int rounds, int32_t *other, size_t bytes)
{
    const void *last = NULL;
    bool again_there = false;

    mallopt(M_MMAP_THRESHOLD, 65536);
    for (int round = 0; round < rounds; round++) {
        int32_t *buffer = malloc(bytes);
        if (NULL == buffer) {
            fail("no memory", "malloc", round);
        }
        again_there = again_there || buffer == last;
        use("malloc", buffer, other, (int) (bytes / sizeof(*buffer)), round);
        last = buffer;
        free(buffer);
    }
    if (!again_there) {
        fail("the memory never came back where it was", "malloc", rounds);
    }
}

/* The heap shrinks and grows again. The allocator has enough below, and leaves the end alone. */
static void use_break(int rounds, int32_t *other, size_t bytes)
{
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT32_MAX);
    void *volatile plenty = malloc(1 << 22);
    free(plenty);
    for (int round = 0; round < rounds; round++) {
        void *buffer = sbrk((intptr_t) bytes);
        if ((void *) -1 == buffer) {
            fail("no memory", "brk", round);
        }
        use("brk", buffer, other, (int) (bytes / sizeof(*other)), round);
        if (sbrk(0) != (char *) buffer + bytes || (void *) -1 == sbrk(-(intptr_t) bytes)) {
            fail("the end of the heap is in use", "brk", round);
        }
    }
}

static void run(const char *way, int rounds, int32_t *other, size_t bytes)
{
    static const struct {
        const char *way;
        change_t *change;
    } changes[] = {
        {"again", again}, {"over", over}, {"madvise", advise}, {"mremap", move}, {"fork", NULL}};

    if (0 == strcmp("limit", way)) {
        use_many(rounds, other, bytes);
        return;
    }
    bool known = 0 == strcmp("malloc", way) || 0 == strcmp("brk", way);
    if (known && 'm' == *way) {
        use_allocated(rounds, other, bytes);
    } else if (known) {
        use_break(rounds, other, bytes);
    }
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
        if (0 == strcmp(changes[i].way, way)) {
            known = true;
            use_changed(way, changes[i].change, rounds, other, bytes);
        }
    }
    if (!known) {
        fail("no such way", way, 0);
    }
    if (0 == rank) {
        printf("memory %s: right\n", way);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int rounds = 3 < argc ? atoi(argv[1]) : 0;
    const size_t bytes = 3 < argc ? strtoul(argv[2], NULL, 10) : 0;
    int32_t *other = map_at(NULL, 0 < bytes ? bytes : 1);
    if (0 >= rounds || 4 > bytes || NULL == other) {
        fprintf(stderr, "usage: memory ROUNDS BYTES WAY...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 3; i < argc; i++) {
        run(argv[i], rounds, other, bytes);
    }
    MPI_Finalize();
    return 0;
}
