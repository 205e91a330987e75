/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See sync.h.
 */
#include "sync.h"
#include "stats.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { TAG = 1, PINGS = 50, LOTS = 41, SPINS = 20000 };

/* Two lines apart, because the next line is prefetched. Each field has one writer, its owner. */
struct hccl_bench_flag {
    _Alignas(128) _Atomic uint32_t round; /* the barrier the owner has reached (0: passed) */
    double start;                         /* rank 0's: when that round starts; ordered by round */
    _Alignas(128) _Atomic uint32_t ping;
};

static const double START_DELAY = 1.5e-6; /* longer than the release takes to reach everybody */

double hccl_bench_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static void relax(const struct hccl_bench_sync *s, int spins)
{
    if (s->crowded || SPINS < spins) {
        sched_yield();
        return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Waits for at least `value`: the owner may be one round ahead by the time we look. */
static void await(const struct hccl_bench_sync *s, _Atomic uint32_t *flag, uint32_t value)
{
    int spins = 0;

    while ((int32_t) (atomic_load_explicit(flag, memory_order_acquire) - value) < 0) {
        relax(s, spins);
        spins += spins <= SPINS;
    }
}

/* The memory has no name anywhere: peers open rank 0's descriptor through /proc. */
static struct hccl_bench_flag *map_flags(struct hccl_bench_sync *s)
{
    size_t bytes = (size_t) s->size * sizeof(struct hccl_bench_flag);
    double place[2] = {(double) getpid(), -1};
    char path[64];
    int fd = -1;
    void *at = MAP_FAILED;

    if (0 == s->rank) {
        fd = memfd_create("hccl_test flags", MFD_CLOEXEC);
        if (0 <= fd && 0 == ftruncate(fd, (off_t) bytes)) {
            place[1] = fd;
        }
    }
    hccl_bench_sync_share(s, place, 2);
    if (0 != s->rank && 0 <= place[1]) {
        snprintf(path, sizeof path, "/proc/%.0f/fd/%.0f", place[0], place[1]);
        fd = open(path, O_RDWR | O_CLOEXEC);
    }
    if (0 <= fd && 0 <= place[1]) {
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    bool mapped = hccl_bench_sync_all(s, MAP_FAILED != at);
    if (0 <= fd) {
        close(fd);
    }
    if (MAP_FAILED != at && !mapped) {
        munmap(at, bytes);
    }
    return mapped ? at : NULL;
}

void hccl_bench_sync_open(struct hccl_bench_sync *s)
{
    MPI_Comm node;
    int node_size;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    MPI_Comm_dup(MPI_COMM_WORLD, &s->comm);
    MPI_Comm_rank(s->comm, &s->rank);
    MPI_Comm_size(s->comm, &s->size);
    MPI_Comm_split_type(s->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &node_size);
    MPI_Comm_free(&node);
    s->round = 0;
    s->pings = 0;
    s->crowded = cores < node_size;
    s->flags = hccl_bench_sync_all(s, node_size == s->size) ? map_flags(s) : NULL;
}

void hccl_bench_sync_close(struct hccl_bench_sync *s)
{
    if (NULL != s->flags) {
        munmap(s->flags, (size_t) s->size * sizeof(struct hccl_bench_flag));
    }
    MPI_Comm_free(&s->comm);
}

/* Dissemination: after log2(size) rounds everybody has heard from everybody. */
static double start_by_messages(const struct hccl_bench_sync *s)
{
    for (int distance = 1; distance < s->size; distance *= 2) {
        MPI_Sendrecv(NULL, 0, MPI_BYTE, (s->rank + distance) % s->size, TAG, NULL, 0, MPI_BYTE,
                     (s->rank - distance + s->size) % s->size, TAG, s->comm, MPI_STATUS_IGNORE);
    }
    return hccl_bench_now();
}

double hccl_bench_sync_start(struct hccl_bench_sync *s)
{
    if (NULL == s->flags) {
        return start_by_messages(s);
    }
    s->round++;
    if (0 == s->rank) {
        for (int r = 1; r < s->size; r++) {
            await(s, &s->flags[r].round, s->round);
        }
        s->flags[0].start = hccl_bench_now() + START_DELAY;
    }
    atomic_store_explicit(&s->flags[s->rank].round, s->round, memory_order_release);
    await(s, &s->flags[0].round, s->round);
    if (s->crowded) {
        return hccl_bench_now();
    }
    double start = s->flags[0].start;
    while (hccl_bench_now() < start) {
    }
    return start;
}

void hccl_bench_sync_share(struct hccl_bench_sync *s, double *numbers, int count)
{
    int top = 1;

    for (; top < s->size && 0 == (s->rank & top); top *= 2) {
    }
    if (0 != s->rank) {
        MPI_Recv(numbers, count, MPI_DOUBLE, s->rank - top, TAG, s->comm, MPI_STATUS_IGNORE);
    }
    for (int bit = top / 2; 0 < bit; bit /= 2) {
        if (s->rank + bit < s->size) {
            MPI_Send(numbers, count, MPI_DOUBLE, s->rank + bit, TAG, s->comm);
        }
    }
}

void hccl_bench_sync_largest(struct hccl_bench_sync *s, double *numbers, int count)
{
    double *theirs = malloc((size_t) count * sizeof(double));

    if (NULL == theirs) {
        fprintf(stderr, "hccl_test: no memory for %d samples\n", count);
        MPI_Abort(s->comm, 1);
        return;
    }
    for (int bit = 1; bit < s->size; bit *= 2) {
        if (0 != (s->rank & bit)) {
            MPI_Send(numbers, count, MPI_DOUBLE, s->rank - bit, TAG, s->comm);
            break;
        }
        if (s->rank + bit < s->size) {
            MPI_Recv(theirs, count, MPI_DOUBLE, s->rank + bit, TAG, s->comm, MPI_STATUS_IGNORE);
            for (int i = 0; i < count; i++) {
                numbers[i] = theirs[i] > numbers[i] ? theirs[i] : numbers[i];
            }
        }
    }
    free(theirs);
}

bool hccl_bench_sync_all(struct hccl_bench_sync *s, bool fine)
{
    double bad = fine ? 0 : 1;

    hccl_bench_sync_largest(s, &bad, 1);
    hccl_bench_sync_share(s, &bad, 1);
    return 0 == bad;
}

/* Polls without a pause, whose length (up to 40 ns) would show as steps in the latency. */
static void await_ping(_Atomic uint32_t *flag, uint32_t value)
{
    int spins = 0;

    while (value != atomic_load_explicit(flag, memory_order_acquire)) {
        if (SPINS < ++spins) {
            sched_yield();
        }
    }
}

double hccl_bench_sync_flag_latency(struct hccl_bench_sync *s)
{
    double lots[LOTS], latency = 0;

    if (NULL == s->flags || s->size < 2 || s->crowded) {
        return 0;
    }
    hccl_bench_sync_start(s);
    for (int lot = 0; s->rank < 2 && lot < LOTS; lot++) {
        double begin = hccl_bench_now();
        for (int i = 0; i < PINGS; i++) {
            s->pings++;
            if (1 == s->rank) {
                await_ping(&s->flags[0].ping, s->pings);
            }
            atomic_store_explicit(&s->flags[s->rank].ping, s->pings, memory_order_release);
            if (0 == s->rank) {
                await_ping(&s->flags[1].ping, s->pings);
            }
        }
        lots[lot] = (hccl_bench_now() - begin) / (2 * PINGS) * 1e9;
    }
    if (0 == s->rank) {
        latency = hccl_bench_stats_of(lots, LOTS).median;
    }
    hccl_bench_sync_share(s, &latency, 1);
    return latency;
}
