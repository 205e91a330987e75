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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** As memcpy: copies n bytes between areas that do not overlap, and returns `to`. */
typedef void *(*hccl_copy_fn_t)(void *to, const void *from, size_t n);

/** Longer copies may be done by `rep movsb`, also within memcpy. */
#define HCCL_COPY_STRING ((size_t) 2048)

/** Whether `rep movsb` is slow from here to there, on AMD's Zen 4 and 5: it takes 1.3 times as long on one
 *  core, and lines that other cores have read make an allreduce between far cores take 1.65 times as
 *  long (docs/benchmark.md). */
static inline bool hccl_copy_collides(const void *to, const void *from)
{
    uintptr_t ahead = (uintptr_t) to - (uintptr_t) from;
    return (ahead - 1) % 4096 < 63;
}

/** Finds out what this processor has. Until then all copies are memcpy. */
void hccl_copy_choose(void);

/** What copies n bytes to lines that another core has read. Where n > HCCL_COPY_STRING, to a place with
 *  which `from` does not collide. */
hccl_copy_fn_t hccl_copy_give(size_t n);

/** What copies n bytes from lines that another core has written. whole: bytes in use with them. */
hccl_copy_fn_t hccl_copy_take(size_t n, size_t whole);

/** What copies n bytes between places of this core's own. */
hccl_copy_fn_t hccl_copy_own(size_t n);

#endif
