/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Views of the user's buffers: packed units at known addresses, in the user's own memory where it
 * is dense, else in packed images.
 *
 * For bind.c alone.
 */
#ifndef HCCL_EXEC_VIEWS_H
#define HCCL_EXEC_VIEWS_H

#include "exec/sides.h"

/** Makes both views of the call. Errors are kept in x->error. */
void hccl_views_make(hccl_exec_t *x, const hccl_sides_t *sides);

/** Unpacks the packed image of the receive buffer. Errors are kept in x->error. */
void hccl_views_unpack(hccl_exec_t *x);

#endif
