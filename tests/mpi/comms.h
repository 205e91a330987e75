/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The communicators of the differential tests, made once from a seed and known under the same number on all
 * ranks. Neighbour lists are computed here, not asked from MPI.
 */
#ifndef HCCL_TESTS_MPI_COMMS_H
#define HCCL_TESTS_MPI_COMMS_H

#include "ref.h"

/* What a communicator must offer. */
enum need { NEED_ANY, NEED_INTRA, NEED_TOPO, NEED_INTER };

void comms_init(uint64_t seed);
void comms_free(void);
int comms_count(void);
struct tcomm *comms_get(int i);
bool comms_fits(int i, enum need need);
/* The number of a communicator, -1 when this job has none of that name. */
int comms_find(const char *name);
/* A duplicate of communicator i for one case. */
struct tcomm *comms_fresh(int i);
void comms_fresh_free(struct tcomm *t);

#endif
