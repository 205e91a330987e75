/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See doze.h.
 */
#include "tier/doze.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

bool hccl_doze_begin(const hccl_lane_t *lane)
{
    hccl_region_head_t *mine = lane->regions[lane->me];
    if (0 != atomic_exchange_explicit(&mine->bed, 1, memory_order_acquire)) {
        return false;
    }
    atomic_store_explicit(&mine->dozes, 1, memory_order_relaxed);
    /* Ordering 7 of shm_layout.h: the announcement before the last look. */
    atomic_thread_fence(memory_order_seq_cst);
    return true;
}

void hccl_doze_sleep(const hccl_lane_t *lane, uint64_t ns)
{
    struct timespec limit = {.tv_sec = (time_t) (ns / 1000000000),
                             .tv_nsec = (long) (ns % 1000000000)};
    /* Whatever ends it, the caller looks again. */
    (void) syscall(SYS_futex, &lane->regions[lane->me]->dozes, FUTEX_WAIT, 1, &limit, NULL, 0);
}

void hccl_doze_end(const hccl_lane_t *lane)
{
    hccl_region_head_t *mine = lane->regions[lane->me];
    atomic_store_explicit(&mine->dozes, 0, memory_order_relaxed);
    atomic_store_explicit(&mine->bed, 0, memory_order_release);
}

void hccl_doze_wake(const hccl_lane_t *lane)
{
    /* Ordering 7 of shm_layout.h: my news before the look at who sleeps. */
    atomic_thread_fence(memory_order_seq_cst);
    for (int i = 0; i < lane->nlocal; i++) {
        hccl_region_head_t *peer = lane->regions[i];
        if (i != lane->me && 0 != atomic_load_explicit(&peer->dozes, memory_order_relaxed)
            && 0 != atomic_exchange_explicit(&peer->dozes, 0, memory_order_relaxed)) {
            (void) syscall(SYS_futex, &peer->dozes, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
        }
    }
}
