/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See wait.h. Sleep is bounded, so that Open MPI's progress runs now and then: other traffic of this
 * process may need it, and nothing wakes us for that. Each sleep lasts in proportion to the wait so
 * far: so it hardly delays what nobody announces, and hardly costs processor time.
 */
#include "exec/wait.h"

#include <sched.h>
#include <time.h>

#include "exec/drive.h"
#include "tier/tier.h"

/* Bounds of one sleep, in ns: when all that can bring news wakes us, peers in shared memory or the network's
 * device; and when we learn by looking alone. A shorter sleep would hardly be one: the kernel's timers are about as
 * coarse. */
#define LEAST_SLEEP UINT64_C(50000)
#define MOST_SLEEP UINT64_C(10000000)
#define MOST_NAP UINT64_C(1000000)

/* What arrives can take several calls of Open MPI's progress to reach who waits for it. */
#define LOOKS 4

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Whether somebody else may need this core: with more ranks than cores, and where ranks sleep, since
 * the kernel may wake a rank up on the core of who wakes it, although others are idle. */
static bool shares_core(const hccl_lane_t *lane)
{
    return hccl_engine.oversubscribed || 0 != hccl_engine.sleep_after
           || (NULL != lane && lane->sleepy);
}

/* Open MPI's progress, and somebody else's turn on the core: once, since each turn costs a switch
 * there and back. */
static void progress_and_yield(const hccl_lane_t *lane)
{
    opal_progress();
    if (!opal_progress_yield_when_idle && shares_core(lane)) {
        sched_yield();
    }
}

/* How long this wait has lasted. */
static uint64_t idle_time(hccl_wait_t *wait)
{
    struct timespec now;
    (void) clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t ns = (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
    if (0 == wait->since) {
        wait->since = ns;
    }
    return ns - wait->since;
}

/* With those alone to wait for who wake us, as long as it has waited; else an eighth of that. */
static uint64_t next_sleep(uint64_t idle, bool woken)
{
    uint64_t ns = woken ? idle : idle / 8;
    uint64_t most = woken ? MOST_SLEEP : MOST_NAP;
    return ns < LEAST_SLEEP ? LEAST_SLEEP : ns > most ? most : ns;
}

static void nap(uint64_t ns)
{
    struct timespec time = {.tv_sec = 0, .tv_nsec = (long) ns};
    (void) nanosleep(&time, NULL);
}

/* After a fruitless look everywhere. */
static void go_to_sleep(hccl_wait_t *wait, const hccl_lane_t *lane, bool messages)
{
    uint64_t idle = idle_time(wait);
    if (++wait->looks < LOOKS || idle < (uint64_t) hccl_engine.sleep_after * 1000) {
        return;
    }
    wait->looks = 0;
    bool busy = hccl_drive_is_busy();
    if ((messages || busy) && hccl_tier_arm(&wait->others)) {
        wait->armed = true;
        wait->others = wait->others || busy || NULL != lane;
        opal_progress(); /* what came before; the caller looks, then we sleep */
    } else if (NULL != lane && hccl_doze_begin(lane)) {
        wait->dozing = lane; /* the caller looks once more, then we sleep */
    } else {
        nap(next_sleep(idle, false));
    }
}

/* The last look was in vain too. */
static void sleep_on(hccl_wait_t *wait, bool messages)
{
    bool woken = !messages && !hccl_drive_is_busy();
    hccl_doze_sleep(wait->dozing, next_sleep(idle_time(wait), woken));
    hccl_doze_end(wait->dozing);
    wait->dozing = NULL;
}

void hccl_wait_pause(hccl_wait_t *wait, const hccl_lane_t *lane, bool messages)
{
    if (HCCL_UNLIKELY(wait->armed)) {
        wait->armed = false;
        hccl_tier_sleep(next_sleep(idle_time(wait), !wait->others));
        return;
    }
    if (HCCL_UNLIKELY(NULL != wait->dozing)) {
        sleep_on(wait, messages);
        return;
    }
    if (++wait->polls < (messages || hccl_engine.oversubscribed ? 1 : hccl_engine.spin)) {
        relax();
        return;
    }
    wait->polls = 0;
    if (!wait->told) {
        hccl_wait_tell(lane);
        wait->told = true;
    }
    /* Whatever the peers wait for, this process's point-to-point traffic must go on. */
    progress_and_yield(lane);
    if (0 != hccl_engine.sleep_after) {
        go_to_sleep(wait, lane, messages);
    }
}

void hccl_wait_settle(hccl_wait_t *wait)
{
    if (NULL != wait->dozing) {
        hccl_doze_end(wait->dozing);
    }
    *wait = (hccl_wait_t){0};
}
