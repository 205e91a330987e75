/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of other processes, seen through XPMEM (https://github.com/hpc/xpmem): a kernel module that
 * maps any part of a consenting process's address space. libxpmem is loaded at run time where the
 * host has it; nothing is needed to build.
 *
 * A peer is seen in windows: whole stretches of its address space, mapped when something in them is
 * first read, and kept. So there are few of them, no buffer needs to be looked up or evicted, and
 * memory that the peer frees and takes anew is right without being told: the kernel module follows
 * its page tables. Only a buffer that lies in one window can be read in place.
 *
 * Knows nothing of MPI, communicators and publications. Used by region.c, lane.c and the component.
 */
#ifndef HCCL_TIER_XPMEM_H
#define HCCL_TIER_XPMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codes.h"

/** Windows begin at multiples of 2^HCCL_XPMEM_WINDOW_BITS, and leave out the last bytes before the
 *  next one: the topmost would otherwise reach beyond the end of a process's addresses. */
enum { HCCL_XPMEM_WINDOW_BITS = 32 };
#define HCCL_XPMEM_WINDOW_BYTES ((UINT64_C(1) << HCCL_XPMEM_WINDOW_BITS) - 65536)

/** How peers of the node see this process's memory; stands in the head of its region. */
typedef struct hccl_xpmem_card {
    int64_t segment; /* XPMEM's name for the whole address space; 0: it cannot be seen */
    uint64_t probe;  /* address of 8 bytes with this card's proof */
    uint64_t proof;  /* random */
} hccl_xpmem_card_t;

/** A peer's memory as seen by this process. */
typedef struct hccl_xpmem_peer hccl_xpmem_peer_t;

/** Loads libxpmem and lets processes of the same user see this one's memory. proof: random. On
 *  failure the card says "cannot be seen" and *why is a static text. */
HCCL_CHECKED int hccl_xpmem_offer(uint64_t proof, hccl_xpmem_card_t *card, const char **why);

/** Ends that. Safe when nothing was offered. */
void hccl_xpmem_withdraw(void);

/** Begins to see a peer's memory, and reads the proof in it; NULL when that fails. This process must
 *  have offered its own. */
hccl_xpmem_peer_t *hccl_xpmem_open(const hccl_xpmem_card_t *card);

/** Unmaps all windows. */
void hccl_xpmem_close(hccl_xpmem_peer_t *peer);

/** Whether a stretch of memory lies in one window. */
static inline bool hccl_xpmem_fits(const char *data, size_t bytes)
{
    uint64_t at = (uint64_t) (uintptr_t) data & ((UINT64_C(1) << HCCL_XPMEM_WINDOW_BITS) - 1);
    return bytes <= HCCL_XPMEM_WINDOW_BYTES && at <= HCCL_XPMEM_WINDOW_BYTES - bytes;
}

/** Where the peer's memory at this address is here; NULL when its window cannot be mapped.
 *  Thread-safe; takes no lock once a window is mapped. */
const void *hccl_xpmem_at(hccl_xpmem_peer_t *peer, uint64_t address);

#endif
