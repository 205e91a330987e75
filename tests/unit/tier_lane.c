/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Lanes between real processes: rings that go round many times with payloads verified, the room
 * logic, and the whole life of lanes with slow and fast ranks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#include "forked.h"
#include "tier/lane.h"

#define MIB ((uint64_t) 1 << 20)

static uint64_t seed;

static uint64_t random64(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * UINT64_C(0x2545f4914f6cdd1d);
}

/* Now and then a rank is late. */
static void dawdle(void)
{
    uint64_t r = random64() >> 40;
    if (0 == r % 4096) {
        usleep(200);
    } else if (0 == r % 64) {
        sched_yield();
    }
}

/* What a rank publishes under a tag: both its length and its bytes follow from these. */
static size_t length_of(int rank, uint64_t tag, size_t most)
{
    return (size_t) (tag * 2654435761u + (uint64_t) rank * 97) % (most + 1);
}

/* Every third one that does not begin in the flag line begins a line later. */
static void write_payload(hccl_lane_t *lane, int rank, uint64_t tag, uint64_t salt)
{
    hccl_slot_t *slot = hccl_lane_slot(lane, tag);
    size_t n = length_of(rank, tag, lane->slot_bytes);
    bool later = n > HCCL_SHORT_BYTES && 0 == tag % 3;
    char *to = (char *) hccl_slot_payload(slot, n) + (later ? HCCL_LINE_BYTES : 0);
    memset(to, (int) ((tag * 7 + (uint64_t) rank * 31 + salt) & 0xff), n);
    hccl_lane_publish(lane, slot, tag, (uint32_t) (tag ^ salt), n | (later ? HCCL_SLOT_LATER : 0));
}

static void check_payload(const hccl_lane_t *lane, hccl_slot_t *slot, int rank, uint64_t tag,
                          uint64_t salt)
{
    size_t n = length_of(rank, tag, lane->slot_bytes);
    CHECK((slot->bytes & HCCL_SLOT_LENGTH) == n && slot->signature == (uint32_t) (tag ^ salt));
    const uint8_t *at = hccl_lane_payload(lane, rank, slot);
    for (size_t i = 0; i < n; i++) {
        CHECK(at[i] == ((tag * 7 + (uint64_t) rank * 31 + salt) & 0xff));
    }
}

static void await_room(hccl_lane_t *lane, uint64_t tag)
{
    while (!hccl_lane_has_room(lane, tag)) {
        sched_yield();
    }
}

static hccl_slot_t *await_slot(hccl_lane_t *lane, int peer, uint64_t tag)
{
    hccl_slot_t *slot;
    while (NULL == (slot = hccl_lane_peek(lane, peer, tag))) {
        sched_yield();
    }
    return slot;
}

static void cards_of(const int *members, int n, const hccl_region_card_t **cards)
{
    for (int i = 0; i < n; i++) {
        cards[i] = &forked->cards[members[i]];
    }
}

/* Opens a lane of all ranks. */
static void open_lane(hccl_lane_t *lane, uint64_t number, int rank, uint64_t nslots, size_t bytes)
{
    static const int all[FORKED_MAX] = {0, 1, 2, 3, 4, 5, 6, 7};
    const hccl_region_card_t *cards[FORKED_MAX];
    cards_of(all, forked->size, cards);
    hccl_lane_init(lane, nslots, bytes);
    CHECK(HCCL_LANE_NEW == lane->state);
    CHECK(HCCL_OK == hccl_lane_prepare(lane, number, forked->size, rank, cards));
    CHECK(HCCL_LANE_PREPARED == lane->state);
    forked_barrier();
    CHECK(HCCL_OK == hccl_lane_open(lane, true, false));
    CHECK(HCCL_LANE_OPEN == lane->state);
}

/* --- Rings ---------------------------------------------------------------------------------------- */

static uint64_t ring_tags;
static uint64_t ring_slots;

/* Every rank publishes under every tag and reads what all others published. */
static void ring(int rank)
{
    hccl_lane_t lane;
    seed = (uint64_t) rank + 1;
    forked_regions(rank, 16 * MIB);
    open_lane(&lane, 5, rank, ring_slots, 200);
    uint64_t first = lane.last + 1;
    for (uint64_t tag = first; tag < first + ring_tags; tag++) {
        await_room(&lane, tag);
        write_payload(&lane, rank, tag, 0);
        dawdle();
        for (int peer = 0; peer < forked->size; peer++) {
            if (peer != rank) {
                check_payload(&lane, await_slot(&lane, peer, tag), peer, tag, 0);
            }
        }
        hccl_lane_acknowledge(&lane, tag);
    }
    lane.last = first + ring_tags - 1;
    hccl_lane_close(&lane);
}

/* One rank publishes as fast as there is room, the others read: the ring fills and empties. */
static void one_to_all(int rank)
{
    hccl_lane_t lane;
    seed = (uint64_t) rank + 1;
    forked_regions(rank, 16 * MIB);
    open_lane(&lane, 5, rank, ring_slots, 200);
    uint64_t first = lane.last + 1;
    for (uint64_t tag = first; tag < first + ring_tags; tag++) {
        if (0 == rank) {
            await_room(&lane, tag);
            write_payload(&lane, 0, tag, 0);
        } else {
            check_payload(&lane, await_slot(&lane, 0, tag), 0, tag, 0);
        }
        hccl_lane_acknowledge(&lane, tag);
        if (0 != rank) {
            dawdle();
        }
    }
    lane.last = first + ring_tags - 1;
    hccl_lane_close(&lane);
}

/* --- Room ----------------------------------------------------------------------------------------- */

static void room(int rank)
{
    hccl_lane_t lane;
    forked_regions(rank, 16 * MIB);
    open_lane(&lane, 5, rank, 8, 64);
    forked_barrier();
    uint64_t opened = lane.last; /* all have acknowledged this one, and nothing else */
    if (0 == rank) {
        CHECK(hccl_lane_has_room(&lane, opened + 8) && !hccl_lane_has_room(&lane, opened + 9));
        forked_barrier(); /* rank 1 acknowledges three more, rank 2 none */
        forked_barrier();
        CHECK(!hccl_lane_has_room(&lane, opened + 9));
        forked_barrier(); /* rank 2 acknowledges two */
        forked_barrier();
        CHECK(hccl_lane_has_room(&lane, opened + 10) && !hccl_lane_has_room(&lane, opened + 11));
        CHECK(hccl_lane_look(&lane, opened + 2) && !hccl_lane_look(&lane, opened + 3));
        hccl_lane_close(&lane);
        CHECK(HCCL_LANE_NEW == lane.state && NULL == lane.cells);
        return;
    }
    forked_barrier();
    hccl_lane_acknowledge(&lane, 1 == rank ? opened + 3 : opened);
    forked_barrier();
    forked_barrier();
    hccl_lane_acknowledge(&lane, opened + (1 == rank ? 3 : 2));
    forked_barrier();
}

/* Alone on its node, a rank has always room. */
static void alone(int rank)
{
    hccl_lane_t lane;
    forked_regions(rank, 16 * MIB);
    open_lane(&lane, 5, rank, 8, 64);
    for (uint64_t tag = 2; tag < 100; tag++) {
        CHECK(hccl_lane_has_room(&lane, tag));
        write_payload(&lane, 0, tag, 0);
        CHECK(NULL != hccl_lane_peek(&lane, 0, tag));
    }
    CHECK(lane.room + lane.nslots > lane.room);
    hccl_lane_close(&lane);
}

/* --- Failures ------------------------------------------------------------------------------------- */

static void failures(int rank)
{
    hccl_lane_t lane;
    const hccl_region_card_t none = {.size = 0};
    forked_regions(rank, 16 * MIB);
    const hccl_region_card_t *cards[2] = {&forked->cards[0], &forked->cards[1]};
    cards[1 - rank] = &none;
    hccl_lane_init(&lane, 8, 64);
    CHECK(HCCL_ERR_SYS == hccl_lane_prepare(&lane, 5, 2, rank, cards));
    CHECK(HCCL_LANE_NEW == lane.state && NULL == lane.cells && NULL == lane.regions);
    cards[1 - rank] = &forked->cards[1 - rank];
    hccl_lane_init(&lane, 8, 64 * MIB);
    CHECK(HCCL_ERR_NOMEM == hccl_lane_prepare(&lane, 5, 2, rank, cards));
    CHECK(NULL == lane.cells && NULL == lane.regions);
    hccl_lane_abandon(&lane);
    CHECK(HCCL_LANE_UNAVAILABLE == lane.state);
    hccl_lane_close(&lane);
    CHECK(HCCL_LANE_NEW == lane.state);
    /* Prepared by all, agreed by none: everything is given back, a thousand times. */
    for (int i = 0; i < 1000; i++) {
        hccl_lane_init(&lane, 8, 65536);
        CHECK(HCCL_OK == hccl_lane_prepare(&lane, 5, 2, rank, cards));
        hccl_lane_abandon(&lane);
    }
    forked_barrier();
}

/* --- The life of lanes ---------------------------------------------------------------------------- */

/* Rank 0 and 1 have a lane, rank 0 has done its part and closes before rank 1 has looked it up;
 * then rank 0 and 2 have one of the same number. Rank 1 must find the first. */
static void number_used_again_by_others(int rank)
{
    static const int pairs[2][2] = {{0, 1}, {0, 2}};
    hccl_lane_t lane;
    forked_regions(rank, 16 * MIB);
    for (int k = 0; k < 2; k++) {
        const hccl_region_card_t *cards[2];
        cards_of(pairs[k], 2, cards);
        int me = rank == pairs[k][0] ? 0 : rank == pairs[k][1] ? 1 : -1;
        hccl_lane_init(&lane, 8, 64);
        if (me >= 0) {
            CHECK(HCCL_OK == hccl_lane_prepare(&lane, 7, 2, me, cards));
        }
        forked_barrier();
        if (0 == rank) {
            CHECK(HCCL_OK == hccl_lane_open(&lane, true, false));
            write_payload(&lane, 0, 2, (uint64_t) k);
            lane.last = 2;
            hccl_lane_acknowledge(&lane, 2);
            hccl_lane_close(&lane);
        } else if (2 == rank && 1 == k) {
            forked_await(0, 1);
        }
        forked_barrier();
        if (1 == rank && 1 == k) {
            continue; /* its lane is the one of the first round */
        }
        if (1 == rank) {
            /* Late: everything of the second lane happens first. */
            forked_barrier();
            forked_barrier();
            CHECK(HCCL_OK == hccl_lane_open(&lane, true, false));
            check_payload(&lane, await_slot(&lane, 0, 2), 0, 2, 0);
            return;
        }
        if (0 == k) {
            atomic_store(&forked->words[0], 1);
        }
    }
    if (2 == rank) {
        CHECK(HCCL_OK == hccl_lane_open(&lane, true, false));
        check_payload(&lane, await_slot(&lane, 0, 2), 0, 2, 1);
    }
}

/* A rank that reads nothing more has closed its lane and uses the memory for another one, while a
 * peer that reads nothing either still publishes: its acknowledgement must not hold the peer up. */
static void closed_rank_gives_room(int rank)
{
    hccl_lane_t lane;
    forked_regions(rank, 16 * MIB);
    open_lane(&lane, 5, rank, 8, 64);
    lane.last = 100;
    hccl_lane_acknowledge(&lane, 100);
    forked_barrier();
    if (0 == rank) {
        hccl_cell_t *cell = lane.cells[0].cell;
        hccl_lane_close(&lane);
        hccl_cell_ref_t next;
        CHECK(HCCL_OK
              == hccl_region_take(99, sizeof(hccl_cell_t) + 8 * hccl_slot_stride(64), &next));
        CHECK(next.cell == cell && 0 == atomic_load(&cell->ack));
    }
    forked_barrier();
    if (1 == rank) {
        for (uint64_t tag = 2; tag <= 100; tag++) {
            CHECK(hccl_lane_has_room(&lane, tag));
            write_payload(&lane, 1, tag, 0);
        }
    }
    forked_barrier();
}

/* --- Everything at once --------------------------------------------------------------------------- */

/* A small communicator library: communicators of random members, all with the same number, as each
 * rank frees one before it makes the next; each does a few broadcasts from random roots and goes.
 * The members meet when they agree on the number and when they open the lane, as in MPI, and
 * nowhere else. All ranks draw the same random numbers, so they know every communicator without
 * talking. */
enum { COMMS = 2000 };

static _Atomic uint64_t *meetings(int comm)
{
    return &forked->words[comm % 256];
}

static void meet(int comm, uint64_t arrivals)
{
    atomic_fetch_add(meetings(comm), 1);
    while (atomic_load(meetings(comm)) < arrivals) {
        sched_yield();
    }
}

static void life_of_comm(int rank, int comm, const int *members, int n, int ops, uint64_t draws)
{
    const hccl_region_card_t *cards[FORKED_MAX];
    hccl_lane_t lane;
    int me = -1;
    for (int i = 0; i < n; i++) {
        me = members[i] == rank ? i : me;
    }
    if (me < 0) {
        return;
    }
    cards_of(members, n, cards);
    hccl_lane_init(&lane, 8, 300);
    meet(comm, (uint64_t) n);
    CHECK(HCCL_OK == hccl_lane_prepare(&lane, 0, n, me, cards));
    meet(comm, 2 * (uint64_t) n);
    dawdle();
    CHECK(HCCL_OK == hccl_lane_open(&lane, true, false));
    for (int op = 0; op < ops; op++) {
        int root = (int) ((draws >> (op * 3)) % (uint64_t) n);
        uint64_t tags = 1 + (draws >> (op * 5)) % 20;
        uint64_t base = lane.last;
        lane.last += tags;
        for (uint64_t tag = base + 1; tag <= base + tags; tag++) {
            if (me == root) {
                await_room(&lane, tag);
                write_payload(&lane, root, tag, (uint64_t) comm);
            } else {
                hccl_slot_t *slot = await_slot(&lane, root, tag);
                dawdle();
                check_payload(&lane, slot, root, tag, (uint64_t) comm);
            }
            hccl_lane_acknowledge(&lane, tag);
        }
    }
    hccl_lane_close(&lane);
    dawdle();
}

static void many_lives(int rank)
{
    uint64_t shared = 88172645463325252u;
    seed = (uint64_t) rank + 77;
    forked_regions(rank, 16 * MIB);
    for (int comm = 0; comm < COMMS; comm++) {
        int members[FORKED_MAX];
        int n = 0;
        shared ^= shared << 13;
        shared ^= shared >> 7;
        shared ^= shared << 17;
        uint64_t draws = shared * UINT64_C(0x2545f4914f6cdd1d);
        for (int i = 0; i < forked->size; i++) {
            if ((draws >> (50 + i)) & 1) {
                members[n++] = i;
            }
        }
        if (n >= 2) {
            life_of_comm(rank, comm, members, n, (int) (draws >> 60) % 4, draws);
        }
        /* The counters of meetings are used again far behind every rank. */
        if (127 == comm % 128) {
            forked_barrier();
            if (0 == rank) {
                for (int i = 0; i < 128; i++) {
                    atomic_store(meetings(comm + 1 + i), 0);
                }
            }
            forked_barrier();
        }
    }
}

/* --- Guests --------------------------------------------------------------------------------------- */

/* Regions that this process has mapped, its own too. */
static int mapped_regions(void)
{
    char line[512];
    int n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(NULL != maps);
    while (NULL != fgets(line, sizeof(line), maps)) {
        n += NULL != strstr(line, "/memfd:hccl ") ? 1 : 0;
    }
    fclose(maps);
    return n;
}

/* Rank 0 meets the others one after the other. Each ends before the next one comes, every other one without
 * having read or closed anything, as if killed. Rank 0 keeps no more of them than of one. */
static void guests(int rank)
{
    enum { TURN, OPENING, READ };
    hccl_lane_t lane;
    hccl_lane_t first;
    size_t cells = 0;
    forked_regions(rank, 16 * MIB);
    for (int guest = 1; guest < forked->size; guest++) {
        const int pair[2] = {0, guest};
        const hccl_region_card_t *cards[2];
        cards_of(pair, 2, cards);
        if (0 != rank && guest != rank) {
            continue;
        }
        if (0 != rank) {
            forked_await(TURN, (uint64_t) guest);
        }
        hccl_lane_init(&lane, 8, 65536);
        CHECK(HCCL_OK == hccl_lane_prepare(&lane, 5, 2, 0 == rank ? 0 : 1, cards));
        atomic_fetch_add(&forked->words[OPENING], 1);
        if (0 == rank) {
            atomic_store(&forked->words[TURN], (uint64_t) guest);
        }
        forked_await(OPENING, 2 * (uint64_t) guest);
        CHECK(HCCL_OK == hccl_lane_open(&lane, true, false));
        if (0 != rank) {
            check_payload(&lane, await_slot(&lane, 0, 2), 0, 2, 0);
            atomic_store(&forked->words[READ], (uint64_t) guest);
            if (0 == guest % 2) {
                _exit(0);
            }
            hccl_lane_acknowledge(&lane, 2);
            lane.last = 2;
            hccl_lane_close(&lane);
            return;
        }
        write_payload(&lane, 0, 2, 0);
        lane.last = 2;
        forked_await(READ, (uint64_t) guest);
        while (0 == kill(cards[1]->pid, 0)) {
            sched_yield();
        }
        if (1 == guest) {
            first = lane; /* in use until the end, whoever lives */
        } else {
            hccl_lane_close(&lane);
        }
        size_t bytes;
        (void) hccl_region_cells(&bytes);
        cells = 2 == guest ? bytes : cells;
        CHECK(guest < 2 || cells == bytes);
        CHECK((1 == guest ? 2 : 3) == mapped_regions());
    }
    if (0 == rank) {
        CHECK(NULL != hccl_lane_peek(&first, 0, 2) && NULL == hccl_lane_peek(&first, 1, 2));
        hccl_lane_close(&first);
    }
}

/* --- The list ------------------------------------------------------------------------------------- */

static void rings_of_8(void **state)
{
    (void) state;
    ring_slots = 8;
    ring_tags = 100000;
    assert_true(forked_run(2, ring));
    ring_tags = 8000;
    assert_true(forked_run(3, ring));
    assert_true(forked_run(4, ring));
}

static void rings_of_64(void **state)
{
    (void) state;
    ring_slots = 64;
    ring_tags = 1000000;
    assert_true(forked_run(2, one_to_all));
    ring_tags = 100000;
    assert_true(forked_run(4, one_to_all));
}

#define RANKS_TEST(name, size, body)         \
    static void name(void **state)           \
    {                                        \
        (void) state;                        \
        assert_true(forked_run(size, body)); \
    }

RANKS_TEST(room_follows_acknowledgements, 3, room)
RANKS_TEST(rank_alone_has_room, 1, alone)
RANKS_TEST(failed_lanes_leave_nothing, 2, failures)
RANKS_TEST(late_rank_finds_its_lane_by_members, 3, number_used_again_by_others)
RANKS_TEST(closed_peers_hold_nobody_up, 2, closed_rank_gives_room)
RANKS_TEST(random_lives_of_communicators, 4, many_lives)
RANKS_TEST(nothing_is_kept_of_guests, 7, guests)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_of_8),
        cmocka_unit_test(rings_of_64),
        cmocka_unit_test(room_follows_acknowledgements),
        cmocka_unit_test(rank_alone_has_room),
        cmocka_unit_test(failed_lanes_leave_nothing),
        cmocka_unit_test(late_rank_finds_its_lane_by_members),
        cmocka_unit_test(closed_peers_hold_nobody_up),
        cmocka_unit_test(random_lives_of_communicators),
        cmocka_unit_test(nothing_is_kept_of_guests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
