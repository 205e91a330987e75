/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a blocking call does while it can do nothing: polls, lets Open MPI's progress run, gives up
 * the processor where others need it, and sleeps if the user asked for that. Knows no plan and no
 * step. Used by the blocking calls of exec/; hccl_wait_tell also by the others.
 */
#ifndef HCCL_EXEC_WAIT_H
#define HCCL_EXEC_WAIT_H

#include "exec/comm.h"
#include "tier/doze.h"

/** One wait, from the last thing done to the next one. Zero: not begun. */
typedef struct hccl_wait {
    const hccl_lane_t *dozing; /* about to sleep where this lane's peers see it, if nothing has come
                                  meanwhile; NULL: not */
    bool armed;                /* about to sleep until the network has news, likewise, */
    bool others;               /* though others may have some too */
    uint64_t since;            /* when it began, in ns, as far as it matters; 0: not taken */
    int polls;                 /* since Open MPI's progress was called */
    int looks;                 /* calls of Open MPI's progress since it slept */
    bool told;                 /* sleeping peers have been told of all that was done before */
} hccl_wait_t;

/** Passes some time. Call again and again, each time after looking for what is waited for. lane:
 *  NULL when nothing is waited for in shared memory, or nobody knows. messages: also the network may
 *  bring what is waited for. */
void hccl_wait_pause(hccl_wait_t *wait, const hccl_lane_t *lane, bool messages);

/** Part of hccl_wait_moved. */
void hccl_wait_settle(hccl_wait_t *wait);

/** What was waited for has come. */
static inline void hccl_wait_moved(hccl_wait_t *wait)
{
    wait->polls = 0;
    if (HCCL_UNLIKELY(wait->told || 0 != wait->since)) {
        hccl_wait_settle(wait);
    }
}

/** Something was published or acknowledged (lane may be NULL: nothing), and this call or the
 *  operation ends: the peers must not sleep over it. */
static inline void hccl_wait_tell(const hccl_lane_t *lane)
{
    if (NULL != lane && HCCL_UNLIKELY(lane->sleepy)) {
        hccl_doze_wake(lane);
    }
}

#endif
