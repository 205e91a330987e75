/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening and closing of lanes, see lane.h.
 */
#include "tier/lane.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* The first tag is 2: acknowledging 1 tells a peer that this rank has looked its cell up. */
#define OPENED UINT64_C(1)

static size_t cell_bytes(const hccl_lane_t *lane)
{
    return sizeof(hccl_cell_t) + lane->nslots * lane->stride;
}

void hccl_lane_init(hccl_lane_t *lane, uint64_t nslots, size_t slot_bytes)
{
    memset(lane, 0, sizeof(*lane));
    lane->state = HCCL_LANE_NEW;
    lane->nslots = nslots;
    lane->slot_bytes = slot_bytes;
    lane->stride = hccl_slot_stride(slot_bytes);
}

static void forget(hccl_lane_t *lane)
{
    if (NULL != lane->regions) {
        hccl_region_release(lane->regions, lane->nlocal);
    }
    free(lane->cells);
    free(lane->regions);
    free(lane->heaps);
    free(lane->memory);
    lane->cells = NULL;
    lane->regions = NULL;
    lane->heaps = NULL;
    lane->memory = NULL;
}

/* The key in the directories. A rank that has freed a communicator can use its number again, in a
 * group without a peer that has yet to look up the first one: so the key tells the members too. */
static uint64_t key_of(uint64_t number, size_t nlocal, const hccl_region_card_t *const *cards)
{
    uint64_t key = number;
    for (size_t i = 0; i < nlocal; i++) {
        key = (key ^ cards[i]->nonce) * UINT64_C(0x9e3779b97f4a7c15);
        key ^= key >> 32;
    }
    return key < HCCL_KEY_FIRST ? key + HCCL_KEY_FIRST : key;
}

int hccl_lane_prepare(hccl_lane_t *lane, uint64_t number, int nlocal, int me,
                      const hccl_region_card_t *const *cards)
{
    uint64_t key = key_of(number, (size_t) nlocal, cards);
    lane->nlocal = nlocal;
    lane->me = me;
    lane->cells = calloc((size_t) nlocal, sizeof(*lane->cells));
    lane->regions = calloc((size_t) nlocal, sizeof(*lane->regions));
    lane->heaps = calloc((size_t) nlocal, sizeof(*lane->heaps));
    lane->memory = calloc((size_t) nlocal, sizeof(*lane->memory));
    lane->maps_heaps = true;
    lane->sees_memory = true;
    int rc =
        NULL == lane->cells || NULL == lane->regions || NULL == lane->heaps || NULL == lane->memory
            ? HCCL_ERR_NOMEM
            : HCCL_OK;
    for (int i = 0; i < nlocal && HCCL_OK == rc; i++) {
        if (i != me) {
            lane->cells[i].key = key;
            rc = hccl_region_map(cards[i], &lane->regions[i]);
            lane->maps_heaps = HCCL_OK == rc && lane->maps_heaps
                               && HCCL_OK == hccl_region_map_heap(cards[i], &lane->heaps[i]);
            lane->memory[i] = HCCL_OK == rc ? hccl_region_see(cards[i]) : NULL;
            lane->sees_memory = lane->sees_memory && NULL != lane->memory[i];
        }
    }
    if (HCCL_OK == rc) {
        lane->regions[me] = hccl_region_own();
        lane->heaps[me] = hccl_heap_range(&lane->heap_size);
        rc = hccl_region_take(key, cell_bytes(lane), &lane->cells[me]);
    }
    if (HCCL_OK != rc) {
        forget(lane);
        return rc;
    }
    lane->state = HCCL_LANE_PREPARED;
    return HCCL_OK;
}

int hccl_lane_open(hccl_lane_t *lane, bool heaps, bool memory)
{
    for (int i = 0; i < lane->nlocal; i++) {
        if (i != lane->me) {
            int rc = hccl_region_find(lane->regions[i], lane->cells[i].key, &lane->cells[i]);
            if (HCCL_OK != rc) {
                return rc;
            }
        }
    }
    lane->heaps_agreed = heaps;
    lane->memory_agreed = memory;
    lane->last = OPENED;
    lane->room = 0;
    lane->state = HCCL_LANE_OPEN;
    hccl_lane_acknowledge(lane, OPENED);
    return HCCL_OK;
}

void hccl_lane_abandon(hccl_lane_t *lane)
{
    if (HCCL_LANE_PREPARED == lane->state) {
        hccl_region_drop(&lane->cells[lane->me], cell_bytes(lane));
        forget(lane);
    }
    lane->state = HCCL_LANE_UNAVAILABLE;
}

void hccl_lane_close(hccl_lane_t *lane)
{
    if (HCCL_LANE_OPEN == lane->state) {
        hccl_cell_ref_t mine = lane->cells[lane->me];
        lane->cells[lane->me] = lane->cells[lane->nlocal - 1];
        hccl_region_close(&mine, cell_bytes(lane), lane->cells, lane->nlocal - 1, lane->last);
        forget(lane);
    } else {
        hccl_lane_abandon(lane);
    }
    lane->state = HCCL_LANE_NEW;
}

const void *hccl_lane_elsewhere(const hccl_lane_t *lane, int peer, const hccl_slot_t *slot)
{
    if (0 != (slot->bytes & HCCL_SLOT_LATER)) {
        return slot + 2;
    }
    uint64_t where;
    memcpy(&where, slot->head, sizeof(where));
    if (HCCL_SLOT_HEAP == slot->bytes) {
        return lane->heaps[peer] + where;
    }
    const void *data = hccl_xpmem_at(lane->memory[peer], where);
    if (NULL == data) {
        /* The peer waits for this rank to have read, and nothing else could bring the data here. */
        hccl_log_fatal(
            "the memory of a process of this node, at %#llx, cannot be mapped with XPMEM "
            "any more (is the limit on address space, ulimit -v, too low?); with "
            "--mca coll_hccl_xpmem 0 it is not used",
            (unsigned long long) where);
    }
    return data;
}

bool hccl_lane_look(hccl_lane_t *lane, uint64_t tag)
{
    uint64_t lowest = UINT64_MAX / 2; /* the sum with nslots must not overflow */
    for (int i = 0; i < lane->nlocal; i++) {
        if (i != lane->me) {
            /* Ordering 2 of shm_layout.h: what the peer read, before I overwrite it. */
            uint64_t ack = atomic_load_explicit(&lane->cells[i].cell->ack, memory_order_acquire);
            if (ack >= tag) {
                lowest = ack < lowest ? ack : lowest;
            } else if (!hccl_region_is_closed(&lane->cells[i])) {
                return false;
            }
        }
    }
    lane->room = lowest;
    return true;
}
