/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The protocol of src/tier/shm_layout.h as a model: rings, room, early acknowledgement, closing,
 * reuse of a closed cell's memory and directory entry, and a number used again in another group.
 * run_spin.sh walks all interleavings.
 *
 * Three ranks. Lane X belongs to ranks 0 and 1, lane Y to ranks 0 and 2; both have the same number.
 * Rank 0 publishes tags in X and closes it, then makes Y in what memory is free, publishes there
 * and closes too. Rank 1 opens X late, reads, and publishes UNREAD tags that nobody reads, for
 * which it needs room. Memory is modelled sequentially consistent; which accesses must be ordered
 * is for ThreadSanitizer (tests/unit/run_tsan.sh).
 *
 * NO_MEMBERS, NO_CLOSED, NO_ACK and NO_ROOM take a rule away: the model must then fail.
 */
#define SLOTS 2
#define UNREAD 4 /* that rank 1 publishes: 2, 3, 4, 5 */
#define OPENED 1
#define LAST (OPENED + UNREAD)

#define X 1
#define Y 2
#ifdef NO_MEMBERS
#define KEY(lane) 1
#else
#define KEY(lane) (lane)
#endif

/* Rank 0's region: two cells' memory, two directory entries. value: which lane's payload. */
typedef Cell {
    byte ack;
    byte tag[SLOTS];
    byte value[SLOTS]
}
Cell cell0[2];
bool taken[2];
byte key0[2];
byte generation0[2];
byte of0[2]; /* entry -> cell */
byte youngest;

/* Ranks 1 and 2: one cell each. */
Cell cell1, cell2;
bool closed1, closed2;

/* Tags that rank 0 publishes in each lane, from 2 on: chosen before all else. With one it needs not
 * wait for its peer. */
byte tags;

/* Agreements on opening, a bit for each member. */
byte agreed[3];

/* Rank 0: takes a free cell and a free entry for a lane; blocks while there is none. */
inline take(lane, at) {
    atomic {
        if
        :: !taken[0] -> at = 0
        :: !taken[1] -> at = 1
        fi;
        taken[at] = true;
        cell0[at].ack = 0;
        cell0[at].tag[0] = 0; cell0[at].tag[1] = 0;
        cell0[at].value[0] = 0; cell0[at].value[1] = 0;
        youngest = youngest + 2;
        of0[at] = at;
        generation0[at] = youngest;
        key0[at] = KEY(lane)
    }
}

/* A peer's look-up in rank 0's directory: the youngest entry of the key. */
inline find(lane, at, gen) {
    atomic {
        assert(key0[0] == KEY(lane) || key0[1] == KEY(lane));
        if
        :: key0[0] == KEY(lane) && (key0[1] != KEY(lane) || generation0[0] > generation0[1]) -> at = 0
        :: else -> at = 1
        fi;
        gen = (generation0[at] / 2) * 2
    }
}

/* Rank 0 publishes in a lane with one peer, then closes it. Slot by slot: value, then tag. */
inline publish_all(lane, at, peer, peerclosed) {
    tag = OPENED + 1;
    do
    :: tag <= OPENED + tags ->
#ifndef NO_ROOM
        (tag <= SLOTS || peer.ack >= tag - SLOTS || peerclosed);
#endif
        cell0[at].value[tag % SLOTS] = 10 * lane + tag;
        cell0[at].tag[tag % SLOTS] = tag;
        tag++
    :: else -> break
    od;
    cell0[at].ack = LAST; /* reads nothing */
    generation0[at] = generation0[at] + 1
}

/* Gives memory and entry back when the peer has read all. */
inline reuse(at, peer, peerclosed) {
#ifndef NO_ACK
    (peer.ack >= LAST || peerclosed);
#endif
    key0[at] = 0;
    taken[at] = false
}

active proctype rank0() {
    byte x, y, z, tag;
    select (tags : 1 .. 3);
    take(X, x);
    agreed[X] = agreed[X] | 1;
    (agreed[X] == 3);
    publish_all(X, x, cell1, closed1);
    /* The next lane comes before or after the memory of X is free. */
    if
    :: true -> take(Y, y); agreed[Y] = agreed[Y] | 1
    :: true -> reuse(x, cell1, closed1); take(Y, y); x = 9; agreed[Y] = agreed[Y] | 1
    fi;
    (agreed[Y] == 3);
    publish_all(Y, y, cell2, closed2);
    if
    :: x != 9 -> reuse(x, cell1, closed1)
    :: else
    fi;
    /* Something else takes the memory. */
    take(3, z)
}

inline read_all(lane, at, mine) {
    tag = OPENED + 1;
    do
    :: tag <= OPENED + tags ->
        (cell0[at].tag[tag % SLOTS] == tag);
        assert(cell0[at].value[tag % SLOTS] == 10 * lane + tag);
        /* Acknowledges everything at once after the last read, as exec does. */
        mine.ack = (tag == OPENED + tags -> LAST : tag);
        tag++
    :: else -> break
    od
}

active proctype rank1() {
    byte at, gen, tag;
    agreed[X] = agreed[X] | 2;
    (agreed[X] == 3);
    find(X, at, gen);
    cell1.ack = OPENED;
    read_all(X, at, cell1);
    /* Publishes what nobody reads: needs room from rank 0, who may have closed. */
    tag = OPENED + 1;
    do
    :: tag <= OPENED + UNREAD ->
        (tag <= SLOTS || cell0[at].ack >= tag - SLOTS
#ifndef NO_CLOSED
         || key0[at] != KEY(X) || generation0[at] != gen
#endif
        );
        tag++
    :: else -> break
    od;
    closed1 = true
}

active proctype rank2() {
    byte at, gen, tag;
    agreed[Y] = agreed[Y] | 2;
    (agreed[Y] == 3);
    find(Y, at, gen);
    cell2.ack = OPENED;
    read_all(Y, at, cell2);
    closed2 = true
}
