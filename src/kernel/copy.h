/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies whose other side is in another core's cache: what is written to a slot that peers have read,
 * and what is read from a slot that a peer has just written. There it matters in which way lines are
 * asked for, and memcpy, which is made for one core's own memory, is not always the best.
 *
 * Knows memory alone. Used by exec/.
 */
#ifndef HCCL_KERNEL_COPY_H
#define HCCL_KERNEL_COPY_H

#include <stddef.h>

/** As memcpy: copies n bytes between areas that do not overlap, and returns `to`. */
typedef void *(*hccl_copy_fn_t)(void *to, const void *from, size_t n);

/** Finds out what this processor has. Until then all copies are memcpy. */
void hccl_copy_choose(void);

/** What copies n bytes to lines that another core has read. */
hccl_copy_fn_t hccl_copy_give(size_t n);

/** What copies n bytes from lines that another core has written. whole: bytes in use with them. */
hccl_copy_fn_t hccl_copy_take(size_t n, size_t whole);

#endif
