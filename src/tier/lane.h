/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A lane: the shared-memory tier of one communicator (or of one persistent operation), as its ranks
 * on one node see it. Publications are numbered by growing tags; see shm_layout.h for the protocol
 * and its memory ordering.
 *
 * Promises of this tier: what a rank publishes under a tag can be read by every peer of the node
 * until that peer acknowledges the tag; nothing blocks, every question is answered at once with
 * yes or "not yet". One operation uses a lane at a time (exec/ queues them), so no field is locked.
 * Knows no plans, datatypes or requests. Used by exec/ alone.
 */
#ifndef HCCL_TIER_LANE_H
#define HCCL_TIER_LANE_H

#include <stdbool.h>
#include <string.h>

#include "tier/region.h"

/** Most slots of a ring. */
#define HCCL_LANE_SLOTS 64

typedef enum {
    HCCL_LANE_NEW,        /* nothing done yet */
    HCCL_LANE_PREPARED,   /* my cell exists, peers are mapped; they may not know of it yet */
    HCCL_LANE_OPEN,       /* in use */
    HCCL_LANE_UNAVAILABLE /* agreed by all ranks of the communicator: use the network tier */
} hccl_lane_state_t;

typedef struct hccl_lane {
    hccl_lane_state_t state;
    int nlocal;             /* ranks of this node */
    int me;                 /* my index among them */
    bool sleepy;            /* some rank may sleep while it waits: tell it of news (tier/doze.h);
                               the same on all ranks, set before the lane is opened */
    uint64_t nslots;        /* slots of each ring, a power of two */
    size_t slot_bytes;      /* largest publication */
    size_t stride;          /* distance of slots in bytes */
    uint64_t last;          /* tags up to this one belong to operations that have begun or ended */
    uint64_t room;          /* every peer has acknowledged tags up to this one, as last seen */
    hccl_cell_ref_t *cells; /* [nlocal]; cells[me] is mine */
    hccl_region_head_t **regions; /* [nlocal] where the ranks' regions are in this process */
    bool maps_heaps;              /* this rank has mapped the heaps of all peers that have one */
    bool sees_memory;             /* this rank sees the memory of all peers */
    bool heaps_agreed;            /* all ranks have: publications in heaps may be read in place */
    bool memory_agreed;           /* all ranks do: so may publications anywhere */
    char **heaps;     /* [nlocal] where the ranks' heaps lie in this process, NULL: has none */
    size_t heap_size; /* of mine */
    hccl_xpmem_peer_t **memory;     /* [nlocal] the peers' memory */
    uint64_t held[HCCL_LANE_SLOTS]; /* [nslots] tags that my slots hold, 0: none. A note of my own:
                                       what peers read, I load as slowly as they do */
} hccl_lane_t;

/** Sets up a lane that is not open yet. nslots: a power of two, HCCL_LANE_SLOTS at most. */
void hccl_lane_init(hccl_lane_t *lane, uint64_t nslots, size_t slot_bytes);

/** The local half of opening: takes a cell and maps the regions of all peers. number: of the lane,
 *  the same on all its ranks and no other's of the same ranks that is alive. cards[nlocal], in the
 *  same order on all ranks. On an error everything is undone. */
HCCL_CHECKED int hccl_lane_prepare(hccl_lane_t *lane, uint64_t number, int nlocal, int me,
                                   const hccl_region_card_t *const *cards);

/** The other half, after all ranks have agreed that everyone has prepared; and, if heaps, that
 *  everyone has mapped all heaps: a peer can then read whatever lies in mine; and, if memory, that
 *  everyone sees the memory of all peers. */
HCCL_CHECKED int hccl_lane_open(hccl_lane_t *lane, bool heaps, bool memory);

/** When the agreement failed: gives everything back; the lane is UNAVAILABLE. */
void hccl_lane_abandon(hccl_lane_t *lane);

/** Ends the use of a lane in any state; never waits for peers. */
void hccl_lane_close(hccl_lane_t *lane);

/** Reads the acknowledgements again; whether all tags up to `tag` are acknowledged. */
bool hccl_lane_look(hccl_lane_t *lane, uint64_t tag);

/** Whether my slot for this tag may be written. */
static inline bool hccl_lane_has_room(hccl_lane_t *lane, uint64_t tag)
{
    return HCCL_LIKELY(tag <= lane->room + lane->nslots)
           || hccl_lane_look(lane, tag - lane->nslots);
}

/** My slot for a tag; fill hccl_slot_payload and call hccl_lane_publish. */
static inline hccl_slot_t *hccl_lane_slot(hccl_lane_t *lane, uint64_t tag)
{
    return hccl_cell_slot(lane->cells[lane->me].cell, lane->stride, tag & (lane->nslots - 1));
}

/** The same for who publishes under growing tags, one after the other, and leaves many unused: what
 *  the slot holds may be far older than the tag before the last round. */
static inline bool hccl_lane_has_room_after_gap(hccl_lane_t *lane, uint64_t tag)
{
    if (tag <= lane->room + lane->nslots) {
        return true;
    }
    uint64_t held = lane->held[tag & (lane->nslots - 1)];
    return held <= lane->room || hccl_lane_look(lane, held);
}

static inline void hccl_lane_publish(hccl_lane_t *lane, hccl_slot_t *slot, uint64_t tag,
                                     uint32_t signature, size_t bytes)
{
    lane->held[tag & (lane->nslots - 1)] = tag;
    slot->signature = signature;
    slot->bytes = (uint32_t) bytes;
    /* Ordering 1 of shm_layout.h: payload before tag. */
    atomic_store_explicit(&slot->tag, tag, memory_order_release);
}

static inline bool hccl_lane_in_heap(const hccl_lane_t *lane, const char *data)
{
    const char *heap = lane->heaps[lane->me];
    return lane->heaps_agreed && data >= heap && data < heap + lane->heap_size;
}

/** Whether peers can read this memory in place through this lane. */
static inline bool hccl_lane_reaches(const hccl_lane_t *lane, const char *data, size_t bytes)
{
    return hccl_lane_in_heap(lane, data) || (lane->memory_agreed && hccl_xpmem_fits(data, bytes));
}

/** Publishes data that hccl_lane_reaches, where it lies. It must stay as it is until every peer has
 *  acknowledged the tag. */
static inline void hccl_lane_publish_direct(hccl_lane_t *lane, hccl_slot_t *slot, uint64_t tag,
                                            uint32_t signature, const char *data)
{
    bool in_heap = hccl_lane_in_heap(lane, data);
    uint64_t where = in_heap ? (uint64_t) (data - lane->heaps[lane->me]) : (uintptr_t) data;
    memcpy(slot->head, &where, sizeof(where));
    /* Ordering 6 of shm_layout.h: data and where they lie before tag. */
    hccl_lane_publish(lane, slot, tag, signature, in_heap ? HCCL_SLOT_HEAP : HCCL_SLOT_ADDRESS);
}

/** The data of a peer's publication in place, or a line later in its slot. */
const void *hccl_lane_elsewhere(const hccl_lane_t *lane, int peer, const hccl_slot_t *slot);

/** p, where it depends on a condition: keeps the compiler from computing it without a branch. With a
 *  branch, processors foresee the pointer and load what it points to before the condition is known. */
static inline const void *hccl_as_foreseen(const void *p)
{
    __asm__("" : "+r"(p));
    return p;
}

/** Where the data of a peer's publication lies. The flag line has just been written by another core,
 *  and an address that depended on its content would make the payload's line wait for it: two
 *  transfers one after the other. */
static inline const void *hccl_lane_payload(const hccl_lane_t *lane, int peer, hccl_slot_t *slot)
{
    if (HCCL_LIKELY(0 == (slot->bytes & HCCL_SLOT_ELSEWHERE))) {
        return slot->bytes <= HCCL_SHORT_BYTES ? hccl_as_foreseen(slot->head)
                                               : hccl_as_foreseen(slot + 1);
    }
    return hccl_lane_elsewhere(lane, peer, slot);
}

/** A peer's publication, NULL when it is not there yet. */
static inline hccl_slot_t *hccl_lane_peek(hccl_lane_t *lane, int peer, uint64_t tag)
{
    hccl_slot_t *slot =
        hccl_cell_slot(lane->cells[peer].cell, lane->stride, tag & (lane->nslots - 1));
    /* Ordering 1 of shm_layout.h: tag before payload. */
    return tag == atomic_load_explicit(&slot->tag, memory_order_acquire) ? slot : NULL;
}

/** I read nothing with a tag up to this one any more. */
static inline void hccl_lane_acknowledge(hccl_lane_t *lane, uint64_t tag)
{
    /* Ordering 2 of shm_layout.h: my loads of payload before this. */
    atomic_store_explicit(&lane->cells[lane->me].cell->ack, tag, memory_order_release);
}

#endif
