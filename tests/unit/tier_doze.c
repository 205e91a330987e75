/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sleeping and waking between real processes: sleep ends by itself or when it is woken, a wake-up
 * that comes early is not lost, and nobody makes system calls for who is awake.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>

#include <cmocka.h>

#include "forked.h"
#include "tier/doze.h"

#define MIB ((uint64_t) 1 << 20)
#define MILLISECOND UINT64_C(1000000)
#define LONG_NS (5000 * MILLISECOND) /* nobody should sleep as long as that */

/* What this process asked of the kernel through syscall(). */
static _Atomic int calls, timeouts;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/* Takes the place of syscall in doze.c (the linker's --wrap). */
long __wrap_syscall(long number, ...)
{
    va_list list;
    long a[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(list, long);
    }
    va_end(list);
    atomic_fetch_add(&calls, 1);
    errno = 0;
    long rc = __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (-1 == rc && ETIMEDOUT == errno) {
        atomic_fetch_add(&timeouts, 1);
    }
    return rc;
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000 * MILLISECOND + (uint64_t) t.tv_nsec;
}

/* Opens a lane of all ranks. */
static void open_lane(hccl_lane_t *lane, int rank)
{
    const hccl_region_card_t *cards[FORKED_MAX];
    forked_regions(rank, 16 * MIB);
    for (int i = 0; i < forked->size; i++) {
        cards[i] = &forked->cards[i];
    }
    hccl_lane_init(lane, 8, 256);
    CHECK(HCCL_OK == hccl_lane_prepare(lane, 5, forked->size, rank, cards));
    forked_barrier();
    CHECK(HCCL_OK == hccl_lane_open(lane, false, false));
    forked_barrier();
}

enum { ANNOUNCED, WOKEN, DONE };

static void sleep_alone(int rank)
{
    hccl_lane_t lane;
    open_lane(&lane, rank);
    if (0 == rank) {
        uint64_t began = now();
        CHECK(hccl_doze_begin(&lane));
        hccl_doze_sleep(&lane, 30 * MILLISECOND);
        hccl_doze_end(&lane);
        CHECK(now() - began >= 30 * MILLISECOND);
        CHECK(1 == timeouts);
    }
    forked_barrier();
}

static void test_sleep_ends_by_itself(void **state)
{
    (void) state;
    assert_true(forked_run(2, sleep_alone));
}

/* Rank 0 sleeps, the last one wakes it. */
static void sleep_and_wake(int rank)
{
    hccl_lane_t lane;
    open_lane(&lane, rank);
    if (0 == rank) {
        uint64_t began = now();
        CHECK(hccl_doze_begin(&lane));
        atomic_store(&forked->words[ANNOUNCED], 1);
        hccl_doze_sleep(&lane, LONG_NS);
        hccl_doze_end(&lane);
        CHECK(0 == timeouts);
        CHECK(now() - began >= 20 * MILLISECOND);
    } else if (forked->size - 1 == rank) {
        forked_await(ANNOUNCED, 1);
        usleep(20000);
        hccl_doze_wake(&lane);
        CHECK(1 == calls);
        /* Once is enough. */
        hccl_doze_wake(&lane);
        CHECK(1 == calls);
    }
    forked_barrier();
}

static void test_a_peer_ends_it(void **state)
{
    (void) state;
    assert_true(forked_run(2, sleep_and_wake));
    assert_true(forked_run(4, sleep_and_wake));
}

/* Between the announcement and the sleep. */
static void wake_early(int rank)
{
    hccl_lane_t lane;
    open_lane(&lane, rank);
    if (0 == rank) {
        CHECK(hccl_doze_begin(&lane));
        atomic_store(&forked->words[ANNOUNCED], 1);
        forked_await(WOKEN, 1);
        hccl_doze_sleep(&lane, LONG_NS);
        hccl_doze_end(&lane);
        CHECK(0 == timeouts);
    } else {
        forked_await(ANNOUNCED, 1);
        hccl_doze_wake(&lane);
        atomic_store(&forked->words[WOKEN], 1);
    }
    forked_barrier();
}

static void test_an_early_wake_up_counts(void **state)
{
    (void) state;
    assert_true(forked_run(2, wake_early));
}

/* Nobody dozes yet, or any more. */
static void wake_nobody(int rank)
{
    hccl_lane_t lane;
    open_lane(&lane, rank);
    hccl_doze_wake(&lane);
    CHECK(0 == calls);
    forked_barrier();
    CHECK(hccl_doze_begin(&lane));
    hccl_doze_end(&lane);
    forked_barrier();
    hccl_doze_wake(&lane);
    CHECK(0 == calls);
}

static void test_who_is_awake_costs_no_system_call(void **state)
{
    (void) state;
    assert_true(forked_run(3, wake_nobody));
}

static void *doze_too(void *arg)
{
    const hccl_lane_t *lane = arg;
    CHECK(!hccl_doze_begin(lane));
    return NULL;
}

static void *doze_then(void *arg)
{
    const hccl_lane_t *lane = arg;
    CHECK(hccl_doze_begin(lane));
    hccl_doze_end(lane);
    return NULL;
}

static void in_thread(void *(*body)(void *), hccl_lane_t *lane)
{
    pthread_t thread;
    CHECK(0 == pthread_create(&thread, NULL, body, lane));
    CHECK(0 == pthread_join(thread, NULL));
}

static void two_threads(int rank)
{
    hccl_lane_t lane;
    open_lane(&lane, rank);
    CHECK(hccl_doze_begin(&lane));
    in_thread(doze_too, &lane);
    hccl_doze_end(&lane);
    in_thread(doze_then, &lane);
    forked_barrier();
}

static void test_one_thread_at_a_time(void **state)
{
    (void) state;
    assert_true(forked_run(2, two_threads));
}

/* --- Many times ----------------------------------------------------------------------------------- */

enum { RACES = 100000, TAGS = 10000 };

static uint64_t seed;

static uint64_t random64(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * UINT64_C(0x2545f4914f6cdd1d) >> 32;
}

/* Some nanoseconds. */
static void dawdle(uint64_t most)
{
    for (uint64_t i = random64() % most; i > 0; i--) {
        (void) atomic_load(&forked->words[DONE]);
    }
}

/* Both at once, as nearly as two cores can. */
static void meet(uint64_t round)
{
    atomic_fetch_add(&forked->words[DONE], 1);
    for (int looks = 0; atomic_load(&forked->words[DONE]) < 2 * round; looks++) {
        if (looks > 10000) {
            sched_yield();
        }
    }
    dawdle(256);
}

/* One publishes and wakes at the moment at which the other one falls asleep: each must see what the
 * other has stored just now, or hear of it. */
static void race(int rank)
{
    hccl_lane_t lane;
    seed = (uint64_t) rank + 1;
    open_lane(&lane, rank);
    for (uint64_t round = 1; round <= RACES; round++) {
        uint64_t tag = lane.last + round;
        meet(round);
        if (1 == rank) {
            hccl_lane_publish(&lane, hccl_lane_slot(&lane, tag), tag, 0, 0);
            hccl_doze_wake(&lane);
        } else {
            CHECK(hccl_doze_begin(&lane));
            if (NULL == hccl_lane_peek(&lane, 1, tag)) {
                hccl_doze_sleep(&lane, LONG_NS);
            }
            hccl_doze_end(&lane);
            CHECK(0 == timeouts);
        }
    }
    forked_barrier();
}

static void await_asleep(hccl_lane_t *lane, int peer, uint64_t tag)
{
    while (NULL == hccl_lane_peek(lane, peer, tag)) {
        CHECK(hccl_doze_begin(lane));
        if (NULL == hccl_lane_peek(lane, peer, tag)) {
            hccl_doze_sleep(lane, LONG_NS);
        }
        hccl_doze_end(lane);
    }
}

/* Every rank publishes, wakes the others, and sleeps until they have published too. */
static void ring(int rank)
{
    hccl_lane_t lane;
    seed = (uint64_t) rank + 1;
    open_lane(&lane, rank);
    for (uint64_t tag = lane.last + 1; tag <= TAGS; tag++) {
        dawdle(256);
        /* There is room: who has got so far has read all tags but the last one. */
        hccl_lane_publish(&lane, hccl_lane_slot(&lane, tag), tag, 0, 0);
        hccl_doze_wake(&lane);
        for (int peer = 0; peer < forked->size; peer++) {
            if (peer != rank) {
                await_asleep(&lane, peer, tag);
            }
        }
        CHECK(0 == timeouts);
    }
    forked_barrier();
}

static void test_no_wake_up_is_lost(void **state)
{
    (void) state;
    assert_true(forked_run(2, race));
    assert_true(forked_run(2, ring));
    assert_true(forked_run(3, ring));
    assert_true(forked_run(6, ring));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sleep_ends_by_itself),
        cmocka_unit_test(test_a_peer_ends_it),
        cmocka_unit_test(test_an_early_wake_up_counts),
        cmocka_unit_test(test_who_is_awake_costs_no_system_call),
        cmocka_unit_test(test_one_thread_at_a_time),
        cmocka_unit_test(test_no_wake_up_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
