/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * messages.h: counts the messages that this process sends, by standing in front of Open MPI's
 * point-to-point layer, as its monitoring component does (whose variables 4.1 unloads when a layer is
 * named). Knows no collective. Used by traffic.c, and by tests/roce/wire.c.
 */
#ifndef HOSTS_MESSAGES_H
#define HOSTS_MESSAGES_H

#include <stdint.h>

/* Messages of any communicator's MPI or collective functions so far. */
typedef struct messages {
    int64_t sent;  /* to any process */
    int64_t bytes; /* of their payload */
    int64_t away;  /* those to other hosts */
} messages_t;

/* Begins to count. Call once, after MPI_Init. */
void messages_open(void);

messages_t messages_so_far(void);

#endif
