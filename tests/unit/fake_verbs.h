/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A stand-in for libibverbs and the network, in one process: each hccl_verbs_open is a process of its
 * own with its own devices, which are called fake, fake1, ... fake7. Work requests are done one at a time when the test says so, in order on
 * each queue pair and in any order between them; what is not inline is read only then. It aborts on what
 * a real device would refuse: memory that is not registered, more requests than a queue takes, a
 * completion queue that overflows.
 */
#ifndef HCCL_TESTS_FAKE_VERBS_H
#define HCCL_TESTS_FAKE_VERBS_H

#include <stdbool.h>
#include <stdint.h>

#include "tier/verbs_table.h"

enum { FAKE_DEVICES = 8 };

extern const hccl_verbs_table_t fake_verbs;

/** What has been seen, and what is to go wrong. All of it is reset by fake_reset. */
typedef struct fake {
    uint32_t random;
    long done;                        /* work requests done */
    long not_ready;                   /* WRITE_WITH_IMM that found nothing posted for receiving */
    int channels;                     /* for completions, made so far */
    int regions, queue_pairs, others; /* objects there */
    long locked;                      /* bytes registered, */
    long lock_limit;                  /* and how many may be; 0: any number */
    int queue_pairs_left;             /* that can still be made; -1: any number */
    bool down[FAKE_DEVICES];          /* the port of this device is, for all processes */
    bool broken[FAKE_DEVICES];        /* it registers nothing any more */
    bool mute[FAKE_DEVICES];          /* its completions cannot be read any more */
    bool renamed[FAKE_DEVICES];       /* its address has changed */
    long drops_words
        [FAKE_DEVICES]; /* writes of 8 bytes without immediate data that it says it has done,
                                         and has not; -1: all */
    struct ibv_qp_attr to_receive; /* how a queue pair was connected the last time: to RTR, */
    struct ibv_qp_attr to_send;    /* to RTS */
    bool no_gid;
    uint32_t inlines;      /* bytes that a queue pair takes with a request, at most */
    uint32_t most_message; /* bytes of a request, at most */
    void (*meanwhile)(
        void);          /* what others do each time that requests have been posted; NULL: nothing */
    uint32_t longest;   /* request that gets through; 0: of any length */
    bool unreachable;   /* requests fail instead of being done */
    bool loses_answers; /* what was done when a queue pair broke may look as if it was not */
} fake_t;

extern fake_t fake;

void fake_reset(uint32_t seed);

/** The next random number below n. */
uint32_t fake_random(uint32_t n);

/** Does one work request of a random queue pair; false: there is none. */
bool fake_step(void);

/** Breaks a random queue pair that is connected; false: there is none. */
bool fake_break(void);

#endif
