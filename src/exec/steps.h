/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What steps.c has for land.c: operands as packed bytes in a row.
 */
#ifndef HCCL_EXEC_STEPS_H
#define HCCL_EXEC_STEPS_H

#include "exec/exec.h"

/** Copies an operand to packed bytes in a row, or the other way. */
void hccl_step_gather(const hccl_exec_t *x, const hccl_cursor_t *c, char *packed,
                      const hccl_step_t *step);
void hccl_step_scatter(const hccl_exec_t *x, const hccl_cursor_t *c, const char *packed,
                       const hccl_step_t *step);

/** Whether this PUBLISH goes in place. */
bool hccl_step_goes_direct(const hccl_exec_t *x, const hccl_cursor_t *c, const hccl_step_t *step);

#endif
