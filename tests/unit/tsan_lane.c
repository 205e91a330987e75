/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The lane protocol under ThreadSanitizer: threads stand for ranks, lanes lie in plain memory. Not
 * a part of the other programs: run_tsan.sh compiles it with -fsanitize=thread.
 *
 * The sanitizer follows release and acquire, so a missing one is reported as a race even where this
 * processor orders the accesses by itself.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tier/doze.h"

enum { RANKS = 3, SLOTS = 8, SLOT_BYTES = 200, TAGS = 30000 };

static hccl_cell_t *cells[RANKS];
static hccl_dir_entry_t entries[RANKS];
static hccl_region_head_t heads[RANKS];

/* Every DIRECT-th tag is published where the data lies, and the next one as soon as that is allowed
 * to change. */
enum { DIRECT = 16 };
static char heaps[RANKS][SLOT_BYTES + 1];

static void fail(const char *what, int rank, uint64_t tag)
{
    fprintf(stderr, "rank %d, tag %llu: %s\n", rank, (unsigned long long) tag, what);
    exit(1);
}

static size_t length_of(int rank, uint64_t tag)
{
    return (size_t) (tag * 37 + (uint64_t) rank * 11) % (SLOT_BYTES + 1);
}

static bool is_direct(uint64_t tag)
{
    return 0 == tag % DIRECT && tag < TAGS;
}

/* Between two looks. Every eighth time asleep, though not for long: the sanitizer knows no fences, so
 * whether a wake-up can be lost is for unit/tier_doze.c and model/shm_doze.pml. */
static void rest(const hccl_lane_t *lane, uint64_t tag)
{
    if (0 == tag % 8 && hccl_doze_begin(lane)) {
        hccl_doze_sleep(lane, 20000);
        hccl_doze_end(lane);
    } else {
        sched_yield();
    }
}

static void read_peer(hccl_lane_t *lane, int rank, int peer, uint64_t tag)
{
    hccl_slot_t *slot;
    size_t n = length_of(peer, tag);
    while (NULL == (slot = hccl_lane_peek(lane, peer, tag))) {
        rest(lane, tag);
    }
    bool direct = is_direct(tag);
    const unsigned char *at = hccl_lane_payload(lane, peer, slot);
    if (slot->bytes != (direct ? HCCL_SLOT_HEAP : n) || slot->signature != (uint32_t) tag) {
        fail("wrong head", rank, tag);
    }
    for (size_t i = 0; i < n; i++) {
        if (at[i] != (unsigned char) (tag + (uint64_t) peer)) {
            fail("wrong payload", rank, tag);
        }
    }
}

static void *rank_main(void *arg)
{
    int rank = (int) (size_t) arg;
    hccl_cell_ref_t refs[RANKS];
    hccl_region_head_t *regions[RANKS];
    char *mapped[RANKS];
    hccl_lane_t lane;
    hccl_lane_init(&lane, SLOTS, SLOT_BYTES);
    for (int i = 0; i < RANKS; i++) {
        refs[i] =
            (hccl_cell_ref_t){.cell = cells[i], .entry = &entries[i], .key = 5, .generation = 2};
    }
    lane.nlocal = RANKS;
    lane.me = rank;
    lane.cells = refs;
    for (int i = 0; i < RANKS; i++) {
        mapped[i] = heaps[i];
        regions[i] = &heads[i];
    }
    lane.regions = regions;
    lane.heaps_agreed = true;
    lane.memory_agreed = false;
    lane.heaps = mapped;
    lane.heap_size = sizeof(heaps[0]);
    for (uint64_t tag = 1; tag <= TAGS; tag++) {
        while (!hccl_lane_has_room(&lane, tag)) {
            rest(&lane, tag);
        }
        size_t n = length_of(rank, tag);
        hccl_slot_t *slot = hccl_lane_slot(&lane, tag);
        bool direct = is_direct(tag);
        memset(direct ? heaps[rank] : hccl_slot_payload(slot, n),
               (int) (unsigned char) (tag + (uint64_t) rank), n);
        if (direct) {
            if (!hccl_lane_reaches(&lane, heaps[rank], n)) {
                fail("the heap is out of reach", rank, tag);
            }
            hccl_lane_publish_direct(&lane, slot, tag, (uint32_t) tag, heaps[rank]);
        } else {
            hccl_lane_publish(&lane, slot, tag, (uint32_t) tag, n);
        }
        hccl_doze_wake(&lane);
        for (int peer = 0; peer < RANKS; peer++) {
            if (peer != rank) {
                read_peer(&lane, rank, peer, tag);
            }
        }
        hccl_lane_acknowledge(&lane, tag);
        while (direct && !hccl_lane_look(&lane, tag)) {
            sched_yield();
        }
    }
    /* Rank 0 closes and its memory is used again, once the others have read everything. */
    if (0 == rank) {
        while (!hccl_lane_look(&lane, TAGS)) {
            sched_yield();
        }
        memset((void *) cells[0], 0, sizeof(hccl_cell_t) + SLOTS * lane.stride);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[RANKS];
    size_t bytes = sizeof(hccl_cell_t) + SLOTS * hccl_slot_stride(SLOT_BYTES);
    for (int i = 0; i < RANKS; i++) {
        cells[i] = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
        if (NULL == cells[i]) {
            return 1;
        }
        memset((void *) cells[i], 0, bytes);
        atomic_store(&entries[i].key, 5);
        atomic_store(&entries[i].generation, 2);
    }
    for (int i = 0; i < RANKS; i++) {
        if (0 != pthread_create(&threads[i], NULL, rank_main, (void *) (size_t) i)) {
            return 1;
        }
    }
    for (int i = 0; i < RANKS; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
