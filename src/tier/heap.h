/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * This process's heap: memory for the user's buffers (MPI_Alloc_mem) that the peers of the node can
 * read where it lies.
 *
 * Like a region it is anonymous memory with a file descriptor (memfd) and no name, but sparse: a
 * large stretch of addresses of which only what is touched takes memory. The owner is the only
 * writer; peers map all of it once, for reading (tier/region.h). Knows nothing of MPI, communicators
 * and publications. Used by coll_hccl_mpool.c (which gives it to Open MPI), by region.c and lane.c.
 */
#ifndef HCCL_TIER_HEAP_H
#define HCCL_TIER_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codes.h"

/** Blocks are whole granules, at multiples of their size rounded up to a power of two. */
#define HCCL_HEAP_GRANULE ((size_t) 16384)

/** Blocks of this size and more go back to the system when they are given back; smaller ones stay
 *  for the next one who takes. Also the alignment of the heap, so that huge pages fit. */
#define HCCL_HEAP_RETURNED ((size_t) 2 << 20)

/** How peers of the node find the heap; stands in the head of the owner's region. */
typedef struct hccl_heap_card {
    uint64_t size; /* bytes that blocks may lie in; 0: no heap */
    int32_t fd;
    int32_t pad;
} hccl_heap_card_t;

/** Creates the heap of size bytes of addresses (rounded down to a power of two, a granule at least).
 *  nonce: of the region; peers recognise the heap by it. On failure there is no heap, the card says
 *  so, and *why is a static text. */
HCCL_CHECKED int hccl_heap_create(uint64_t size, uint64_t nonce, hccl_heap_card_t *card,
                                  const char **why);

/** Ends the heap. Blocks that were not given back stay readable and writable for this process, until
 *  it ends; giving them back does nothing then. Safe when nothing was created. */
void hccl_heap_destroy(void);

/** A block of at least bytes, at a multiple of align (a power of two up to HCCL_HEAP_RETURNED); NULL
 *  when there is no heap or no room. Thread-safe. */
void *hccl_heap_take(size_t bytes, size_t align);

/** Gives a block back; false, and nothing is done, when it is not one of the heap's. Thread-safe. */
HCCL_CHECKED bool hccl_heap_give(void *block);

/** Lets `told` be called before pages of a block go back to the system: the addresses stay, with other
 *  pages. It must not call the heap. NULL: nobody. */
void hccl_heap_watch(void (*told)(void *address, size_t bytes));

/** Where the heap lies, NULL: none; *size: its bytes. */
char *hccl_heap_range(size_t *size);

/** Maps a peer's heap for reading, given its process, card and nonce; NULL when that fails. */
char *hccl_heap_map(int pid, const hccl_heap_card_t *card, uint64_t nonce);
void hccl_heap_unmap(char *base, const hccl_heap_card_t *card);

#endif
