/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts calls of the allocator made by one thread of this program and the libraries in it, and
 * remembers where they came from. Defines malloc and its kin for the whole process, over glibc's.
 * Knows neither MPI nor the component. For steady.c.
 */
#ifndef HCCL_TESTS_MPI_STEADY_ALLOC_H
#define HCCL_TESTS_MPI_STEADY_ALLOC_H

#include <stdbool.h>

/** Once, before the first watch: makes what backtraces need. */
void alloc_init(void);

/** true: forget what was counted and count the calls of this thread from now on. false: stop. */
void alloc_watch(bool on);

/** Calls counted in the last watch. */
long alloc_count(void);

/** Prints a line for each different place that was counted, as far as there was room for them:
 *  `RANK WHAT from: FUNCTION FRAME < FRAME < ...`. */
void alloc_report(int rank, const char *what);

#endif
