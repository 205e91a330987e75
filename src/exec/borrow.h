/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that are read where the network tier has them, instead of where the plan says: what run.c and
 * steps.c need of it. borrowing.h says which may be. A message is *lent* from the WAIT that ends it until the
 * last step that reads it, while it lies in the tier's memory, or packed in a stage because its operand is not
 * one run of memory. The tier may take its memory back between two steps, and has copied the message then to
 * where it would have gone: nobody holds up a sender by waiting for somebody else.
 *
 * Steps that read something lent are done between hccl_borrow_open and hccl_borrow_close.
 */
#ifndef HCCL_EXEC_BORROW_H
#define HCCL_EXEC_BORROW_H

#include "exec/borrowing.h"
#include "exec/exec.h"

/** A message that is, or will be, lent. */
struct hccl_loan {
    hccl_message_t message;
    hccl_stage_t *stage; /* where it goes if the tier does not lend it; NULL: where the plan says */
    const char *at;      /* while a step reads it: where it lies, packed */
};

/** Bytes of the loans of a cursor. */
size_t hccl_borrow_room(const hccl_exec_t *x);

/** Starts receiving what a RECV wants; false: it is not borrowed. */
bool hccl_borrow_begin(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step, size_t bytes,
                       const hccl_address_t *from);

/** Whether all such messages of a cursor have ended. */
bool hccl_borrow_wait(hccl_exec_t *x, hccl_cursor_t *c);

/** A step is about to read; what it reads stays where it is until hccl_borrow_close. */
void hccl_borrow_open(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step);

/** Where so many positions lie, packed; NULL: where the plan says. */
const char *hccl_borrow_find(const hccl_exec_t *x, const hccl_cursor_t *c, int base, int first,
                             int count);

/** Whether something that the step reads is lent. */
bool hccl_borrow_reads(const hccl_exec_t *x, const hccl_cursor_t *c, const hccl_step_t *step);

/** What the step reads is from now on where the plan says. */
void hccl_borrow_bring_home(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step);

/** The step has been tried. copies: that it has made of what it read. */
void hccl_borrow_close(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step, bool done,
                       int copies);

#endif
