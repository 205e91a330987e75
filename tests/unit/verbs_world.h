/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A few processes that exchange messages by RDMA over stand-in devices (fake_verbs.h), all in one: what
 * unit tests of the engine share. How the processes agree on connections is replaced too.
 */
#ifndef HCCL_TESTS_VERBS_WORLD_H
#define HCCL_TESTS_VERBS_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "fake_verbs.h"
#include "tier/verbs.h"

enum { PROCS = 3, EAGER = 256, SLOTS = 8 };

typedef struct world {
    int n;
    hccl_verbs_t *v[PROCS];
    hccl_verbs_card_t card[PROCS][HCCL_VERBS_MAX_PORTS];
    hccl_verbs_peer_t *peer[PROCS][PROCS];
    int handed; /* messages that went the other way */
} world_t;

extern world_t world;

extern const hccl_verbs_settings_t world_usual;

/** n processes, each with so many ports: process i has the devices fake<i * ports> and following. */
void world_begin(int n, const hccl_verbs_settings_t *settings, uint32_t seed, int ports);

/** Closes all, and sees that nothing is left. */
void world_end(void);

/** Some devices and a process, at random, do something. */
void world_turn(void);

/** Lets everything come to rest. */
void world_settle(void);

hccl_verbs_message_t *world_send(int from, int to, int tag, const void *data, size_t bytes);
hccl_verbs_message_t *world_receive(int to, int from, int tag, void *data, size_t bytes);

/** Waits; returns the error. */
int world_await(hccl_verbs_message_t *m);

/** Sends a byte from process 0 to 1; ends with a connection at rest. */
void world_connect(void);

/** As if so many more messages had gone both ways between processes 0 and 1, which are at rest. word: the last
 *  ones were told of by a word, else the words stand where they stood. */
void world_age(uint64_t slots, bool word);

hccl_verbs_counters_t world_counted(int process);

/** Begins a world of PROCS processes, in which each pair has two streams each way of `each` messages; up
 *  to 64 messages are under way, started on both sides in any order; all of them are checked. About every
 *  `faults` turns harm is called; 0: never. The caller ends it. */
void world_random(const hccl_verbs_settings_t *set, uint32_t seed, int each, int ports,
                  uint32_t faults, void (*harm)(void));

#endif
