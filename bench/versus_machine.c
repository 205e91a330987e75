/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See versus_machine.h.
 *
 * Both threads walk through the same list of measurements and meet at flags, one per thread on lines
 * of its own, which only grow. Thread 0 is the caller; it takes the times.
 */
#include "versus_machine.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    PINGS = 50,
    PING_LOTS = 15,
    SAMPLES = 40,
    LEAST = 4096,
    LEAST_LINES = 65536,
    TOGETHER = 65536,
    SPINS = 20000
};

struct lines {
    _Alignas(128) _Atomic uint32_t count;
};

/* One thread's own: three buffers and one that the other thread reads. */
struct memory {
    _Alignas(128) char *a;
    char *b, *c, *shared;
    uint32_t signals; /* what its flag says */
};

struct hccl_bench_machine {
    struct lines flags[2];
    struct memory memory[2];
    char *mapping;
    size_t room, whole; /* bytes of one buffer, of the mapping */
    int cores[2];
    pthread_t other;
    sem_t go;        /* posted for each window, and for the end */
    size_t bytes;    /* of the window; SIZE_MAX: the end */
    double clock;    /* what reading the clock costs, seconds */
    uint64_t unused; /* takes the sums, so that loads are not removed */
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* The own count is kept apart: loading the own flag would fetch its line back from the peer. */
static void signal_peer(struct hccl_bench_machine *m, int me)
{
    m->memory[me].signals++;
    atomic_store_explicit(&m->flags[me].count, m->memory[me].signals, memory_order_release);
}

/* Until the peer has signalled as often as this thread, plus `ahead` times. */
static void await_peer(struct hccl_bench_machine *m, int me, uint32_t ahead)
{
    uint32_t count = m->memory[me].signals + ahead;

    for (int spins = 0;
         0
         > (int32_t) (atomic_load_explicit(&m->flags[1 - me].count, memory_order_acquire) - count);
         spins++) {
        if (SPINS < spins) {
            sched_yield(); /* somebody else runs on the peer's core */
        }
    }
}

static void meet(struct hccl_bench_machine *m, int me)
{
    signal_peer(m, me);
    await_peer(m, me, 0);
}

static double flag_latency(struct hccl_bench_machine *m, int me)
{
    double lots[PING_LOTS];

    meet(m, me);
    for (int lot = 0; lot < PING_LOTS; lot++) {
        double begin = now();
        for (int i = 0; i < PINGS; i++) {
            if (1 == me) {
                await_peer(m, me, 1);
            }
            signal_peer(m, me);
            if (0 == me) {
                await_peer(m, me, 0);
            }
        }
        lots[lot] = (now() - begin) / (2 * PINGS) * 1e9;
    }
    return hccl_bench_stats_of(lots, PING_LOTS).median;
}

static int samples_for(size_t bytes)
{
    return bytes <= 65536 ? SAMPLES : bytes <= 524288 ? 12 : 5;
}

/* Operations per sample, so that reading the clock hardly counts. */
static int together(size_t bytes)
{
    return bytes < TOGETHER / 20 ? 20 : (int) (TOGETHER / bytes) + 1;
}

typedef uint64_t vector __attribute__((vector_size(64), may_alias));

/* As memcpy, but without its way around the caches above some size: that would be a step of its own,
 * not one of the cores. The string instruction stores whole lines without fetching them first. */
static void copy_all(char *to, const char *from, size_t bytes)
{
#if defined(__x86_64__)
    if (LEAST <= bytes) {
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
        return;
    }
#endif
    memcpy(to, from, bytes);
}

/* Each in turn copies into its shared buffer and the other copies out of it: half a round trip. */
static double copy_through(struct hccl_bench_machine *m, int me, size_t bytes)
{
    struct memory *mine = &m->memory[me], *theirs = &m->memory[1 - me];
    double times[SAMPLES];
    int n = samples_for(bytes), times_each = together(bytes);

    meet(m, me);
    for (int k = -1; k < n; k++) {
        double begin = now();
        for (int i = 0; i < times_each; i++) {
            if (1 == me) {
                await_peer(m, me, 1);
                copy_all(mine->b, theirs->shared, bytes);
            }
            copy_all(mine->shared, mine->a, bytes);
            signal_peer(m, me);
            if (0 == me) {
                await_peer(m, me, 0);
                copy_all(mine->b, theirs->shared, bytes);
            }
        }
        times[k < 0 ? 0 : k] = (now() - begin) / (2 * times_each) * 1e6;
    }
    return hccl_bench_stats_of(times, n).median;
}

static uint64_t load_all(const char *from, size_t bytes)
{
    const vector *v = (const vector *) from;
    vector a = {0}, b = {0};

    for (size_t i = 0; i < bytes / (2 * sizeof *v); i++) {
        a += v[2 * i];
        b += v[2 * i + 1];
    }
    a += b;
    return a[0] + a[1] + a[2] + a[3] + a[4] + a[5] + a[6] + a[7];
}

/* Thread 1 writes, thread 0 loads; never so little that the first line's latency, which a flag has
 * paid already, would count. */
static double load_lines(struct hccl_bench_machine *m, int me, size_t bytes)
{
    double times[SAMPLES];
    int n = samples_for(bytes);

    for (int k = -1; k < n; k++) {
        if (1 == me) {
            memset(m->memory[1].shared, k & 255, bytes);
        }
        meet(m, me);
        double begin = now();
        if (0 == me) {
            m->unused += load_all(m->memory[1].shared, bytes);
        }
        times[k < 0 ? 0 : k] = (now() - begin - m->clock) / (double) bytes * 1e9;
        meet(m, me);
    }
    return hccl_bench_stats_of(times, n).p5;
}

static void fold_plain(float *to, const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = a[i] + b[i];
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void fold_avx2(float *to, const float *a, const float *b,
                                                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = a[i] + b[i];
    }
}
#endif

static void fold(struct memory *mine, size_t bytes)
{
    float *a = (float *) (void *) mine->a, *b = (float *) (void *) mine->b;
    float *c = (float *) (void *) mine->c;

#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        fold_avx2(c, a, b, bytes / sizeof *a);
        return;
    }
#endif
    fold_plain(c, a, b, bytes / sizeof *a);
}

/* Both threads at once, each in its own memory. */
static double own_work(struct hccl_bench_machine *m, int me, size_t bytes, bool folds)
{
    struct memory *mine = &m->memory[me];
    double times[SAMPLES], moved = (folds ? 3.0 : 2.0) * (double) bytes;
    int n = samples_for(bytes), times_each = together(bytes);

    meet(m, me);
    for (int k = -1; k < n; k++) {
        double begin = now();
        for (int i = 0; i < times_each; i++) {
            if (folds) {
                fold(mine, bytes);
            } else {
                copy_all(mine->b, mine->a, bytes);
            }
            /* Else the compiler drops all copies but the last. */
            atomic_signal_fence(memory_order_seq_cst);
        }
        times[k < 0 ? 0 : k] = (now() - begin) / (moved * times_each) * 1e9;
    }
    return hccl_bench_stats_of(times, n).p5;
}

/* The list of measurements, walked by both threads. */
static struct hccl_bench_machine_answer measure(struct hccl_bench_machine *m, int me, size_t bytes)
{
    size_t least = (bytes < LEAST ? LEAST : bytes) & ~(size_t) 127;
    size_t lines = least < LEAST_LINES ? LEAST_LINES : least;
    struct hccl_bench_machine_answer a;

    a.flag = flag_latency(m, me);
    a.through = copy_through(m, me, bytes);
    a.line = load_lines(m, me, lines);
    a.copy = own_work(m, me, least, false);
    a.fold = own_work(m, me, least, true);
    return a;
}

static bool pin(int core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(core, &set);
    return 0 == sched_setaffinity(0, sizeof set, &set);
}

/* Whether this program may run on both cores; it stays where it may run now. */
static bool may_pin(int first_core, int second_core)
{
    cpu_set_t before;

    if (first_core == second_core || first_core < 0 || second_core < 0
        || 0 != sched_getaffinity(0, sizeof before, &before)) {
        return false;
    }
    bool both = pin(first_core) && pin(second_core);
    return 0 == sched_setaffinity(0, sizeof before, &before) && both;
}

/* Written by the thread that will use them, so that the pages lie near its core. */
static void touch(struct hccl_bench_machine *m, int me)
{
    memset(m->memory[me].a, 0, 4 * m->room);
}

static void *other_thread(void *argument)
{
    struct hccl_bench_machine *m = argument;

    pin(m->cores[1]);
    touch(m, 1);
    for (;;) {
        while (0 != sem_wait(&m->go)) {
        }
        if (SIZE_MAX == m->bytes) {
            return NULL;
        }
        measure(m, 1, m->bytes);
    }
}

/* Signals are for the main thread, whose system calls they shall interrupt. */
static bool start_thread(struct hccl_bench_machine *m)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = 0 == pthread_create(&m->other, NULL, other_thread, m);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static double clock_cost(void)
{
    double times[SAMPLES];

    for (int i = 0; i < SAMPLES; i++) {
        double begin = now();
        times[i] = now() - begin;
    }
    return hccl_bench_stats_of(times, SAMPLES).p5;
}

static void share_out(struct hccl_bench_machine *m)
{
    for (int i = 0; i < 2; i++) {
        char *at = m->mapping + (size_t) i * 4 * m->room;
        m->memory[i] = (struct memory){
            .a = at, .b = at + m->room, .c = at + 2 * m->room, .shared = at + 3 * m->room};
    }
}

struct hccl_bench_machine *hccl_bench_machine_open(int first_core, int second_core, size_t most)
{
    enum { PAGE = 4096, GAP = 3 * 64 }; /* the gap keeps buffers from the same cache sets */
    struct hccl_bench_machine *m =
        may_pin(first_core, second_core) ? aligned_alloc(128, sizeof *m) : NULL;

    if (NULL == m) {
        return NULL;
    }
    memset(m, 0, sizeof *m);
    m->room = ((most < LEAST_LINES ? LEAST_LINES : most) + PAGE - 1) / PAGE * PAGE + GAP * 4;
    m->whole = 8 * m->room;
    m->cores[0] = first_core;
    m->cores[1] = second_core;
    m->clock = clock_cost();
    m->mapping = mmap(NULL, m->whole, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (MAP_FAILED == m->mapping) {
        free(m);
        return NULL;
    }
    share_out(m);
    touch(m, 0);
    sem_init(&m->go, 0, 0);
    if (!start_thread(m)) {
        munmap(m->mapping, m->whole);
        free(m);
        return NULL;
    }
    return m;
}

void hccl_bench_machine_close(struct hccl_bench_machine *m)
{
    if (NULL == m) {
        return;
    }
    m->bytes = SIZE_MAX;
    sem_post(&m->go);
    pthread_join(m->other, NULL);
    sem_destroy(&m->go);
    munmap(m->mapping, m->whole);
    free(m);
}

bool hccl_bench_machine_window(struct hccl_bench_machine *m, size_t bytes,
                               struct hccl_bench_machine_answer *a)
{
    cpu_set_t before;

    if (m->room < bytes || 0 != sched_getaffinity(0, sizeof before, &before)) {
        return false;
    }
    pin(m->cores[0]);
    m->bytes = bytes;
    sem_post(&m->go);
    *a = measure(m, 0, bytes);
    sched_setaffinity(0, sizeof before, &before);
    return true;
}
