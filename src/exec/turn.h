/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * When an operation may run and how it gets there: its tag, its place in the queue of a lane, the
 * opening of the lane, the run. Nothing here is locked: drive.c alone calls it, under its lock for
 * operations that are on its list.
 */
#ifndef HCCL_EXEC_TURN_H
#define HCCL_EXEC_TURN_H

#include "exec/drive.h"

/** Gives the operation the tag that all ranks know, by counting. */
HCCL_CHECKED int hccl_turn_tag(hccl_exec_t *x);

/** Binds, and gives the operation its tag and its lane. *nothing: it is done. */
HCCL_CHECKED int hccl_turn_prepare(hccl_exec_t *x, bool *nothing);

/** Whether the operation can run right now, without queue and opening. */
bool hccl_turn_is_now(const hccl_exec_t *x);

/** Puts it at the end of its lane's queue, if it has one. */
void hccl_turn_enqueue(hccl_exec_t *x);

/** Takes it, which has ended, off the queue: its successor may run. */
void hccl_turn_dequeue(hccl_exec_t *x);

/** Goes as far as possible without waiting; true when the operation has ended. */
bool hccl_turn_pump(hccl_exec_t *x, bool *moved);

#endif
