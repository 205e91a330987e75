/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What lies in shared memory, and why it may be read without locks.
 *
 * Every process owns one region and is the only writer of all of it, but for one word (ordering 7).
 * A region holds a header, a directory that says where the cells of a communicator are, and cells. A
 * cell belongs to one lane (tier/lane.h) and consists of the owner's acknowledgement line and a ring
 * of slots, each a flag line followed by payload.
 *
 * Tags. Publications of a lane are numbered 1, 2, 3, ... for ever, alike on all ranks of the node:
 * tag t lies in slot t mod nslots of its publisher (who may leave a tag unused). Who publishes under
 * growing tags, one after the other, may leave any number of them unused: his slot is free when all
 * peers have acknowledged the tag that it holds (2).
 *
 * Ordering. These pairs of accesses carry everything:
 *  1. A publisher writes payload, bytes and signature, then stores tag with release; a reader
 *     loads tag with acquire and, when it is the one awaited, reads the rest. So it sees the whole
 *     publication.
 *  2. A reader loads the payload of tags up to a, then stores ack = a with release; the publisher
 *     loads ack with acquire before it overwrites slots of tags <= a. Loads cannot move behind the
 *     release store, so no payload is overwritten while it is read.
 *  3. The owner fills a cell and its directory entry before it takes part in the agreement that
 *     opens the lane (network messages order them); peers look the entry up after the agreement.
 *  4. Closing: the owner of a cell that has ended its last operation stores its entry's generation
 *     with release; it reuses the memory when each peer's ack has reached the last tag, or the
 *     peer's own entry is closed or gone: then nobody will read its publications again. A peer may
 *     still look at its ack, to publish what others read: it reads something meaningless then, so
 *     whoever finds an ack too low asks whether the cell is closed, which counts as the highest.
 *  5. Look-up: an entry that is given to another cell bears the mark REMOVED in between. It is
 *     stored before the new offset and generation (release), which a reader loads with acquire
 *     before it loads the key again: so a reader never takes new values for those of the old key.
 *  6. In place: a publisher whose data lie in its heap (tier/heap.h), or that lets its peers see all
 *     its memory (tier/xpmem.h), may publish where they are instead of a copy. The data were written before the tag was stored with release (1), so who
 *     has seen the tag sees them; and the owner lets nobody write them, neither itself in this
 *     operation (plan/plan.h, HCCL_DIRECT_*) nor the user, who gets the buffer back only when every
 *     peer's ack has reached the tag (2). A freed buffer is in nobody's use then.
 *  7. Sleep (tier/doze.h): who is about to sleep stores dozes = 1 in its own region, then looks once
 *     more for what it waits for. Who has stored a tag or an ack looks at the dozes of the peers
 *     afterwards. (Closing is no news by itself: the last ack was stored before.) So each of the two stores first and loads then, and each has a
 *     sequentially consistent fence in between: release and acquire would let either load pass the
 *     store in front of it (on x86 it does: stores wait in a buffer), so that neither sees the
 *     other's. With both fences at least one does: the sleeper finds the news, or the other one
 *     finds 1. It then replaces 1 by 0 and wakes the sleeper through the futex on this word. The
 *     kernel compares the word with 1 under the lock that also covers waking, before it lets the
 *     sleeper sleep: so no wake-up falls between the comparison and the sleep. A store of 0 that
 *     comes late, from who found the 1 of an earlier sleep, only lets the next sleep end at once. The
 *     line has more than one writer, but only while its owner sleeps or is about to. Ranks that agree
 *     that nobody ever sleeps (exec/open.c) leave it alone, and need no fence.
 *  8. Landing (exec/land.h): a network device writes a slot's payload for its owner, who gives it the
 *     address only when all peers have acknowledged what the slot held (2), and stores the tag with
 *     release (1) after he has read the completion that says that all of it was written. The library of
 *     the device orders its writes before the completion. It never writes a flag line.
 * A reader compares the tag for equality: the tags of a slot grow by nslots, and the next one is
 * stored only after every peer has acknowledged the previous one (2), so a reader that waits for t
 * finds an older tag or t itself, never a newer one.
 */
#ifndef HCCL_TIER_SHM_LAYOUT_H
#define HCCL_TIER_SHM_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "tier/heap.h"
#include "tier/xpmem.h"

/** Unit of transfer between cores, and twice of it: prefetchers fetch lines in pairs. */
#define HCCL_LINE_BYTES 64
#define HCCL_LINE_PAIR_BYTES 128

/** Payload in the flag line. */
#define HCCL_HEAD_BYTES 48

/** Payload up to so many bytes begins in the flag line and goes on in the next two, which saves a
 *  line where it matters. Longer payload begins behind the flag line: aligned, it is copied faster. */
#define HCCL_SHORT_BYTES (HCCL_HEAD_BYTES + 2 * HCCL_LINE_BYTES)

/** In a slot's bytes: the payload lies elsewhere, and the line says where: at an offset in the
 *  publisher's heap, or at an address of the publisher. */
#define HCCL_SLOT_HEAP (UINT32_C(1) << 31)
#define HCCL_SLOT_ADDRESS (UINT32_C(1) << 30)
/** ... or: what was published goes on under a later tag. */
#define HCCL_SLOT_MORE (UINT32_C(1) << 29)
/** ... or: the payload begins a line later than usual (exec/layout.h, hccl_fill). Slots have room for it. */
#define HCCL_SLOT_LATER (UINT32_C(1) << 28)
#define HCCL_SLOT_ELSEWHERE (HCCL_SLOT_HEAP | HCCL_SLOT_ADDRESS | HCCL_SLOT_LATER)
/** The length alone. */
#define HCCL_SLOT_LENGTH (HCCL_SLOT_LATER - 1)

typedef struct hccl_slot {
    _Atomic uint64_t tag; /* tag of the publication in this slot; 0: none yet */
    uint32_t signature;   /* of the call that published: exec/exec.h, hccl_exec_signature */
    uint32_t bytes;       /* payload length, or where it lies: HCCL_SLOT_HEAP or _ADDRESS */
    uint8_t head[HCCL_HEAD_BYTES]; /* short payload begins here, longer one behind the slot */
} hccl_slot_t;

_Static_assert(HCCL_LINE_BYTES == sizeof(hccl_slot_t), "a flag line is one cache line");

typedef struct hccl_cell {
    _Atomic uint64_t ack; /* the owner reads no publication with a tag up to this one any more */
    uint8_t pad[HCCL_LINE_PAIR_BYTES - sizeof(uint64_t)];
} hccl_cell_t;

/** A directory entry: where the cell with this key is. Keys below HCCL_KEY_FIRST are marks. A
 *  communicator's number may be used again while peers still read the cell of its predecessor, so
 *  two entries can have the same key: the generation tells them apart. The key holds what tells
 *  communicators of different groups apart (tier/lane.c), so the owner and a peer that looks up
 *  made all cells of one key together, one after the other: the youngest one is meant. */
typedef struct hccl_dir_entry {
    _Atomic uint64_t key;
    _Atomic uint64_t offset;     /* bytes from the start of the region */
    _Atomic uint64_t generation; /* even, growing; odd: the owner has closed the lane and has read
                                    all that it will ever read through it */
    uint64_t pad;
} hccl_dir_entry_t;

#define HCCL_KEY_EMPTY 0   /* never used: a look-up ends here */
#define HCCL_KEY_REMOVED 1 /* free, but look-ups go on */
#define HCCL_KEY_FIRST 2

/** Lanes of one process that can be alive at a time; the table is touched only where used. */
#define HCCL_DIR_ENTRIES 16384

typedef struct hccl_region_head {
    uint64_t nonce; /* equals the one in the owner's card: this is the region that was announced */
    uint64_t size;
    /* The owner's heap, and how its memory is seen; written before the region is announced. */
    hccl_heap_card_t heap;
    hccl_xpmem_card_t xpmem;
    uint8_t pad[HCCL_LINE_PAIR_BYTES - 2 * sizeof(uint64_t) - sizeof(hccl_heap_card_t)
                - sizeof(hccl_xpmem_card_t)];
    _Atomic uint32_t dozes; /* 1: the owner sleeps, or is about to; peers who wake it store 0 */
    _Atomic uint32_t bed;   /* of the owner's threads alone: one of them may doze at a time */
    uint8_t rest[4096 - HCCL_LINE_PAIR_BYTES - 2 * sizeof(uint32_t)];
    hccl_dir_entry_t directory[HCCL_DIR_ENTRIES];
} hccl_region_head_t;

/** Distance of slots, and where slot i of a cell begins. */
static inline size_t hccl_slot_stride(size_t slot_bytes)
{
    size_t bytes = sizeof(hccl_slot_t) + HCCL_LINE_BYTES + slot_bytes + HCCL_LINE_PAIR_BYTES - 1;
    return bytes / HCCL_LINE_PAIR_BYTES * HCCL_LINE_PAIR_BYTES;
}

static inline hccl_slot_t *hccl_cell_slot(hccl_cell_t *cell, size_t stride, uint64_t index)
{
    return (hccl_slot_t *) ((char *) (cell + 1) + index * stride);
}

static inline void *hccl_slot_payload(hccl_slot_t *slot, size_t bytes)
{
    size_t start = bytes <= HCCL_SHORT_BYTES ? offsetof(hccl_slot_t, head) : sizeof(hccl_slot_t);
    return (char *) slot + start;
}

#endif
