/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that are written straight into the slot in which the node's ranks will read them: what run.c
 * and steps.c need of it. landing.h says which may be; here each segment decides, by facts of this rank
 * alone, whether its message does:
 *  - the slot must be free when the RECV starts: all peers have read what it held, this rank has published
 *    all that goes there before, and nothing is still sent from there. Else the message goes where the plan
 *    says, and is copied as ever.
 *  - at the WAIT the message is whole. If it is all that is published, the flag is stored then; else at
 *    the PUBLISH, with the rest copied.
 *  - whoever sends it on takes it from the slot. The rank's own buffer gets it after the flag, as a peer
 *    gets it.
 *  - the slot keeps it until the segment has ended on this rank, beside what the peers have to say.
 * Peers and plan cannot tell the difference.
 */
#ifndef HCCL_EXEC_LAND_H
#define HCCL_EXEC_LAND_H

#include "exec/exec.h"
#include "exec/landing.h"

/** Where the message of a RECV is to be written instead; NULL: where the plan says. */
char *hccl_land_begin(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step, size_t bytes,
                      const hccl_address_t *from);

/** All messages of the cursor have ended: publishes what can be. */
void hccl_land_arrived(hccl_exec_t *x, hccl_cursor_t *c);

/** Where what a SEND or COPY reads lies, packed; NULL: where the plan says. */
const char *hccl_land_source(const hccl_exec_t *x, const hccl_cursor_t *c, const hccl_step_t *step);

/** COPY from a landing, packed. */
void hccl_land_copy(const hccl_exec_t *x, const hccl_cursor_t *c, const hccl_step_t *step,
                    const char *packed);

/** Does a PUBLISH of which something has landed; false: nothing has. */
bool hccl_land_publish(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step);

/** Whether nothing that has landed in the slot of this tag is needed there. */
bool hccl_land_is_free(const hccl_exec_t *x, uint64_t tag);

#endif
