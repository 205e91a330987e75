/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * This process's shared-memory region, and the regions of its peers as mapped here.
 *
 * A region is anonymous memory with a file descriptor (memfd): it has no name, so nothing can be
 * left behind by a killed job, and the size of /dev/shm does not matter. Peers open it through
 * /proc/PID/fd/N, as told by the card that the owner publishes. Knows nothing of communicators;
 * used by tier/lane.c and by the component for the card.
 */
#ifndef HCCL_TIER_REGION_H
#define HCCL_TIER_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/codes.h"
#include "tier/shm_layout.h"

/** How peers find a region; travels in the modex. size 0: this process has none. */
typedef struct hccl_region_card {
    uint64_t nonce; /* random */
    uint64_t size;  /* bytes */
    int32_t pid;
    int32_t fd;
} hccl_region_card_t;

/** Creates this process's region of size bytes (address space; memory is taken as cells are).
 *  On failure the card says "none" and *why a static text tells the reason. */
HCCL_CHECKED int hccl_region_create(uint64_t size, hccl_region_card_t *card, const char **why);

/** Tells the peers of this process's heap. Before the region's card is published. */
void hccl_region_announce_heap(const hccl_heap_card_t *heap);

/** Tells them how to see this process's memory. Likewise. */
void hccl_region_announce_xpmem(const hccl_xpmem_card_t *xpmem);

/** Unmaps everything. Safe when nothing was created. */
void hccl_region_destroy(void);

/** This process's region, NULL: none. */
hccl_region_head_t *hccl_region_own(void);

/** Where the cells of this process's region lie, and how many bytes of it have been handed out: these stay
 *  where they are until hccl_region_destroy. Thread-safe. */
char *hccl_region_cells(size_t *bytes);

/** A cell, mine or a peer's, and the directory entry it was found through. */
typedef struct hccl_cell_ref {
    hccl_cell_t *cell;
    hccl_dir_entry_t *entry;
    uint64_t key;
    uint64_t generation; /* even */
} hccl_cell_ref_t;

/** Takes zeroed memory for a cell and enters it in the directory under key.
 *  HCCL_ERR_NOMEM: no room. Thread-safe. */
HCCL_CHECKED int hccl_region_take(uint64_t key, size_t bytes, hccl_cell_ref_t *mine);

/** Gives a cell back that no peer has looked up. */
void hccl_region_drop(const hccl_cell_ref_t *mine, size_t bytes);

/** Closes a cell in use: marks it, and gives the memory back as soon as every peer has read all
 *  tags up to last; never waits. peers[n]: their cells. */
void hccl_region_close(const hccl_cell_ref_t *mine, size_t bytes, const hccl_cell_ref_t *peers,
                       int n, uint64_t last);

/** Maps a peer's region, if it is not mapped yet, and counts a user of it. HCCL_ERR_SYS when that is
 *  not possible. Thread-safe. */
HCCL_CHECKED int hccl_region_map(const hccl_region_card_t *card, hccl_region_head_t **base);

/** The end of a use of each of n regions; skips NULL and this process's own. Without users a region
 *  stays mapped for the next one as long as its owner lives, with heap and memory. Thread-safe. */
void hccl_region_release(hccl_region_head_t *const *bases, int n);

/** Maps the heap of a peer whose region is mapped (once, as that): *heap is where, NULL when the peer
 *  has none. HCCL_ERR_SYS when it has one that cannot be mapped. Thread-safe. */
HCCL_CHECKED int hccl_region_map_heap(const hccl_region_card_t *card, char **heap);

/** Begins to see the memory of a peer whose region is mapped (once, as that); NULL when the peer
 *  offers nothing, or it cannot be seen. Thread-safe. */
hccl_xpmem_peer_t *hccl_region_see(const hccl_region_card_t *card);

/** Looks up a peer's cell in its mapped region: the youngest one under this key, open or closed.
 *  HCCL_ERR_INTERNAL when there is none. */
HCCL_CHECKED int hccl_region_find(hccl_region_head_t *base, uint64_t key, hccl_cell_ref_t *ref);

/** Whether the owner of a cell has closed it: it reads nothing through this lane any more, and the
 *  cell's acknowledgement means nothing any more. */
static inline bool hccl_region_is_closed(const hccl_cell_ref_t *ref)
{
    /* Ordering 4 of shm_layout.h: what the owner read, before what I do now. */
    return ref->key != atomic_load_explicit(&ref->entry->key, memory_order_acquire)
           || ref->generation
                  != atomic_load_explicit(&ref->entry->generation, memory_order_acquire);
}

#endif
