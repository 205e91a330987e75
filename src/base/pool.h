/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Scratch memory that is kept for the next operation: after the first call of a kind, taking and
 * giving back scratch makes no system call and no allocation.
 *
 * Knows nothing of its users. Thread-safe.
 */
#ifndef HCCL_BASE_POOL_H
#define HCCL_BASE_POOL_H

#include <stddef.h>

/** At least bytes of memory aligned to a cache line, contents undefined; NULL: no memory. */
void *hccl_pool_take(size_t bytes);

/** Gives memory back; NULL is allowed. */
void hccl_pool_give(void *memory);

/** Frees what is kept. */
void hccl_pool_drain(void);

#endif
