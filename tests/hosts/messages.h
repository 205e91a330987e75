/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * messages.h: counts the messages that this process sends to other hosts, by standing in front of
 * Open MPI's point-to-point layer, as its monitoring component does (whose variables 4.1 unloads
 * when a layer is named). Knows no collective. Used by traffic.c only.
 */
#ifndef HOSTS_MESSAGES_H
#define HOSTS_MESSAGES_H

#include <stdint.h>

/* Begins to count. Call once, after MPI_Init. */
void messages_open(void);

/* Messages sent to other hosts so far, by any communicator's MPI or collective functions. */
int64_t messages_sent(void);

#endif
