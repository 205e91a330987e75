/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who serves a collective: the one thing hccl_test wants to know about the MPI library below it, for
 * comparisons in which a component leaves a collective to others. Refuses to know sizes and time.
 * Called by control.c.
 */
#ifndef HCCL_BENCH_SERVED_H
#define HCCL_BENCH_SERVED_H

#include "collectives.h"

enum { HCCL_BENCH_SERVED = 24 }; /* room for a component's name */

/* The component whose function a call on the communicator would reach ("tuned"), or the library's
 * name where there are no components ("mpich"); "?" where it cannot be told. */
void hccl_bench_served(const char *collective, enum hccl_bench_mode mode, MPI_Comm comm,
                       char name[HCCL_BENCH_SERVED]);

#endif
