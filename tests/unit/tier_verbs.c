/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages by RDMA, between processes of a stand-in device (fake_verbs.h): matching, order, credits,
 * work requests per message, faults, and what happens where something cannot be had.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "fake_verbs.h"
#include "tier/verbs.h"

enum { PROCS = 3, EAGER = 256, SLOTS = 8 };

/* ---- the world -------------------------------------------------------------------------------- */

typedef struct letter {
    struct letter *next;
    hccl_verbs_info_t info;
} letter_t;

static struct {
    int n;
    hccl_verbs_t *v[PROCS];
    hccl_verbs_card_t card[PROCS];
    hccl_verbs_peer_t *peer[PROCS][PROCS];
    letter_t *mail[PROCS][PROCS];             /* from, to */
    hccl_verbs_info_t *expects[PROCS][PROCS]; /* by whom, from whom */
    int handed;
} world;

/* Who a peer object belongs to, and whom it means. */
static void who(const hccl_verbs_peer_t *peer, int *me, int *other)
{
    for (*me = 0; *me < world.n; ++*me) {
        for (*other = 0; *other < world.n; ++*other) {
            if (peer == world.peer[*me][*other]) {
                return;
            }
        }
    }
    abort();
}

static int carrier_begin(hccl_verbs_peer_t *peer, const hccl_verbs_info_t *mine,
                         hccl_verbs_info_t *theirs)
{
    int me, other;
    who(peer, &me, &other);
    letter_t *letter = calloc(1, sizeof(*letter));
    letter->info = *mine;
    letter_t **at = &world.mail[me][other];
    while (NULL != *at) {
        at = &(*at)->next;
    }
    *at = letter;
    world.expects[me][other] = theirs;
    return HCCL_OK;
}

static bool carrier_ended(hccl_verbs_peer_t *peer, int *code)
{
    int me, other;
    who(peer, &me, &other);
    letter_t *letter = world.mail[other][me];
    if (NULL == letter || 0 == fake_random(3)) {
        return false;
    }
    world.mail[other][me] = letter->next;
    *world.expects[me][other] = letter->info;
    world.expects[me][other] = NULL;
    free(letter);
    *code = HCCL_OK;
    return true;
}

static bool carrier_called(hccl_verbs_peer_t *peer)
{
    int me, other;
    who(peer, &me, &other);
    return NULL == world.expects[me][other] && NULL != world.mail[other][me];
}

static int carrier_hand_over(hccl_verbs_message_t *m)
{
    m->handed = &world;
    world.handed++;
    return HCCL_OK;
}

static const hccl_verbs_carrier_t carrier = {carrier_begin, carrier_ended, carrier_called,
                                             carrier_hand_over};

static const hccl_verbs_settings_t usual = {.channels = 1,
                                            .part_min = 4096,
                                            .slots = SLOTS,
                                            .eager = EAGER,
                                            .batch = 16,
                                            .timeout = 14,
                                            .retries = 6,
                                            .reconnects = 3,
                                            .registered_most = 1 << 20};

static void begin(int n, const hccl_verbs_settings_t *settings, uint32_t seed)
{
    fake_reset(seed);
    memset(&world, 0, sizeof(world));
    world.n = n;
    for (int i = 0; i < n; i++) {
        assert_int_equal(HCCL_OK, hccl_verbs_open(&fake_verbs, settings, "fake", 1, 3,
                                                  &world.card[i], &world.v[i]));
        hccl_verbs_set_carrier(world.v[i], &carrier);
        hccl_verbs_keep(world.v[i], true);
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            world.peer[i][j] = i == j ? NULL : hccl_verbs_peer_new(world.v[i], j, &world.card[j]);
        }
    }
}

/* Closes all, and sees that nothing is left. But who is done with all messages need not answer who
 * wants to connect again after the last fault. */
static void end(void)
{
    for (int i = 0; i < world.n; i++) {
        hccl_verbs_close(world.v[i]);
        for (int j = 0; j < world.n; j++) {
            while (NULL != world.mail[i][j]) {
                letter_t *letter = world.mail[i][j];
                assert_true(letter->info.generation > 1);
                world.mail[i][j] = letter->next;
                free(letter);
            }
        }
    }
    assert_int_equal(0, fake.regions);
    assert_int_equal(0, fake.queue_pairs);
    assert_int_equal(0, fake.others);
    assert_int_equal(0, fake.locked);
}

static void turn(void)
{
    for (uint32_t i = fake_random(4); i > 0; i--) {
        (void) fake_step();
    }
    (void) hccl_verbs_progress(world.v[fake_random((uint32_t) world.n)]);
}

/* Lets everything come to rest. */
static void settle(void)
{
    for (int i = 0; i < 3000; i++) {
        turn();
    }
}

static hccl_verbs_message_t *send(int from, int to, int tag, const void *data, size_t bytes)
{
    hccl_verbs_key_t key = {.comm = 7, .tag = tag};
    hccl_verbs_message_t *m = NULL;
    assert_int_equal(HCCL_OK, hccl_verbs_send(world.peer[from][to], &key, data, bytes, &m));
    return m;
}

static hccl_verbs_message_t *receive(int to, int from, int tag, void *data, size_t bytes)
{
    hccl_verbs_key_t key = {.comm = 7, .tag = tag};
    hccl_verbs_message_t *m = NULL;
    assert_int_equal(HCCL_OK, hccl_verbs_receive(world.peer[to][from], &key, data, bytes, &m));
    return m;
}

/* Waits; returns the error. */
static int await(hccl_verbs_message_t *m)
{
    for (long i = 0; HCCL_VERBS_UNDER_WAY == hccl_verbs_look(m); i++) {
        assert_true(i < 3000000);
        turn();
    }
    int error = m->error;
    hccl_verbs_message_free(m);
    return error;
}

/* Ends with a connection, and nothing counted. */
static void connect_two(void)
{
    char a = 1, b = 0;
    hccl_verbs_message_t *s = send(0, 1, 1, &a, 1);
    assert_int_equal(HCCL_OK, await(receive(1, 0, 1, &b, 1)));
    assert_int_equal(HCCL_OK, await(s));
    settle();
}

static hccl_verbs_counters_t counted(int process)
{
    hccl_verbs_counters_t c;
    hccl_verbs_count(world.v[process], &c);
    return c;
}

/* ---- one message ------------------------------------------------------------------------------ */

static void short_message(void **state)
{
    uint64_t a = 42, b = 0;
    (void) state;
    begin(2, &usual, 1);
    connect_two();
    hccl_verbs_message_t *r = receive(1, 0, 5, &b, 8);
    hccl_verbs_counters_t before = counted(0), there = counted(1);
    long done = fake.done;
    hccl_verbs_message_t *s = send(0, 1, 5, &a, 8);
    /* The sender may use its memory at once. */
    assert_int_equal(HCCL_VERBS_ENDED, hccl_verbs_look(s));
    a = 0;
    assert_int_equal(HCCL_OK, await(r));
    assert_int_equal(HCCL_OK, await(s));
    settle();
    hccl_verbs_counters_t after = counted(0);
    assert_int_equal(42, b);
    assert_int_equal(1, after.requests - before.requests);
    assert_int_equal(1, after.inlined - before.inlined);
    assert_int_equal(1, after.doorbells - before.doorbells);
    assert_int_equal(8, after.bytes - before.bytes);
    assert_int_equal(1, fake.done - done);
    assert_int_equal(0, after.completions - before.completions);
    hccl_verbs_counters_t now = counted(1);
    assert_int_equal(1, now.completions - there.completions);
    assert_int_equal(0, now.requests - there.requests);
    assert_int_equal(0, now.copied + now.registrations);
    end();
}

static void long_message(void **state)
{
    static char a[20000], b[20000];
    (void) state;
    memset(a, 3, sizeof(a));
    begin(2, &usual, 2);
    connect_two();
    for (int round = 0; round < 3; round++) {
        memset(b, 0, sizeof(b));
        hccl_verbs_message_t *r = receive(1, 0, 5, b, sizeof(b));
        hccl_verbs_counters_t before = counted(0), there = counted(1);
        hccl_verbs_message_t *s = send(0, 1, 5, a, sizeof(a));
        assert_int_equal(HCCL_VERBS_UNDER_WAY, hccl_verbs_look(s));
        assert_int_equal(HCCL_OK, await(r));
        assert_int_equal(HCCL_OK, await(s));
        settle();
        hccl_verbs_counters_t after = counted(0), now = counted(1);
        assert_memory_equal(a, b, sizeof(a));
        /* ASK; data and WRITTEN, by one call. HERE. */
        assert_int_equal(3, after.requests - before.requests);
        assert_int_equal(2, after.doorbells - before.doorbells);
        assert_int_equal(sizeof(a), after.bytes - before.bytes);
        assert_int_equal(1, now.requests - there.requests);
        assert_int_equal(0 == round ? 1 : 0, after.registrations - before.registrations);
        assert_int_equal(0 == round ? 1 : 0, now.registrations - there.registrations);
    }
    end();
}

/* Into memory that was offered, and on from there: nothing is registered for it, and nothing is shorter or
 * longer than for other memory. What fits a slot of the ring is copied, wherever it goes. */
static void offered_memory(void **state)
{
    static char a[20000], c[20000];
    static _Alignas(4096) char cell[1 << 16];
    (void) state;
    memset(a, 7, sizeof(a));
    begin(3, &usual, 5);
    connect_two();
    assert_true(hccl_verbs_offer(world.v[1], cell, sizeof(cell)));
    assert_true(hccl_verbs_writes_in_place(world.peer[1][0], EAGER + 1));
    assert_false(hccl_verbs_writes_in_place(world.peer[1][0], EAGER));
    for (size_t bytes = 20000; bytes > 0; bytes = bytes > EAGER ? bytes / 3 : 0) {
        bool is_long = bytes > EAGER;
        char *to = cell + 64 + bytes;
        memset(cell, 0, sizeof(cell));
        hccl_verbs_counters_t before = counted(1);
        hccl_verbs_message_t *r = receive(1, 0, 5, to, bytes);
        hccl_verbs_message_t *s = send(0, 1, 5, a, bytes);
        assert_int_equal(HCCL_OK, await(r));
        assert_int_equal(HCCL_OK, await(s));
        r = receive(2, 1, 6, c, bytes);
        s = send(1, 2, 6, to, bytes);
        assert_int_equal(HCCL_OK, await(r));
        assert_int_equal(HCCL_OK, await(s));
        hccl_verbs_counters_t after = counted(1);
        assert_memory_equal(a, c, bytes);
        assert_memory_equal(a, to, bytes);
        assert_int_equal(0, to[-1] | to[bytes]);
        assert_int_equal(is_long ? 1 : 0, after.straight - before.straight);
        assert_int_equal(is_long ? 1 : 0, after.from_there - before.from_there);
        assert_int_equal(0, after.registrations);
    }
    end();
}

/* Queue pairs fail while messages go into offered memory: none is said to have come before all of it has,
 * and nobody writes there afterwards. */
static void offered_memory_and_faults(void **state)
{
    enum { CELLS = 4, BYTES = 12000 };
    static char a[CELLS][BYTES];
    static _Alignas(4096) char cell[CELLS][BYTES];
    hccl_verbs_settings_t set = usual;
    (void) state;
    set.channels = 2;
    set.reconnects = 1000;
    begin(2, &set, 6);
    fake.loses_answers = true;
    connect_two();
    assert_true(hccl_verbs_offer(world.v[1], cell, sizeof(cell)));
    for (int round = 0; round < 60; round++) {
        hccl_verbs_message_t *r[CELLS], *s[CELLS];
        for (int i = 0; i < CELLS; i++) {
            memset(a[i], round + i + 1, BYTES);
            memset(cell[i], 0, BYTES);
            r[i] = receive(1, 0, i, cell[i], BYTES);
            s[i] = send(0, 1, i, a[i], BYTES);
        }
        for (int i = 0; i < CELLS; i++) {
            for (long j = 0; HCCL_VERBS_UNDER_WAY == hccl_verbs_look(r[i]); j++) {
                assert_true(j < 3000000);
                turn();
                if (0 == fake_random(100)) {
                    (void) fake_break();
                }
            }
            assert_int_equal(HCCL_OK, await(r[i]));
            assert_memory_equal(a[i], cell[i], BYTES);
            memset(cell[i], 99, BYTES); /* its owner has it now */
        }
        for (int i = 0; i < CELLS; i++) {
            assert_int_equal(HCCL_OK, await(s[i]));
            for (int j = 0; j < BYTES; j++) {
                assert_int_equal(99, cell[i][j]);
            }
        }
    }
    assert_true(counted(0).reconnections > 10);
    assert_int_equal(60 * CELLS, counted(1).straight);
    end();
}

static void many_channels(void **state)
{
    hccl_verbs_settings_t set = usual;
    static char a[20000], b[20000];
    (void) state;
    memset(a, 4, sizeof(a));
    set.channels = 4;
    begin(2, &set, 3);
    connect_two();
    assert_int_equal(4, counted(0).queue_pairs);
    hccl_verbs_message_t *r = receive(1, 0, 5, b, sizeof(b));
    hccl_verbs_counters_t before = counted(0);
    hccl_verbs_message_t *s = send(0, 1, 5, a, sizeof(a));
    assert_int_equal(HCCL_OK, await(r));
    assert_int_equal(HCCL_OK, await(s));
    hccl_verbs_counters_t after = counted(0);
    assert_memory_equal(a, b, sizeof(a));
    /* ASK, and four parts (20000 / 4096 = 4), each a write and its WRITTEN, posted together. */
    assert_int_equal(9, after.requests - before.requests);
    assert_int_equal(5, after.doorbells - before.doorbells);
    /* Less than two parts' worth stays on one. */
    r = receive(1, 0, 6, b, 8000);
    s = send(0, 1, 6, a, 8000);
    assert_int_equal(HCCL_OK, await(r));
    assert_int_equal(HCCL_OK, await(s));
    assert_int_equal(3, counted(0).requests - after.requests);
    end();
}

/* Longer than a work request of this device (32768 bytes): several in one chain. */
static void chains(void **state)
{
    static char a[150000], b[150000];
    hccl_verbs_settings_t set = usual;
    (void) state;
    memset(a, 9, sizeof(a));
    for (set.batch = 1; set.batch <= 16; set.batch *= 4) {
        begin(2, &set, 3);
        connect_two();
        memset(b, 0, sizeof(b));
        hccl_verbs_message_t *r = receive(1, 0, 5, b, sizeof(b));
        hccl_verbs_counters_t before = counted(0);
        hccl_verbs_message_t *s = send(0, 1, 5, a, sizeof(a));
        assert_int_equal(HCCL_OK, await(r));
        assert_int_equal(HCCL_OK, await(s));
        assert_memory_equal(a, b, sizeof(a));
        hccl_verbs_counters_t after = counted(0);
        /* Two parts of 75008 and 74992 bytes, three requests each, and two times WRITTEN: 8. */
        assert_int_equal(9, after.requests - before.requests);
        assert_int_equal(1 == set.batch   ? 9
                         : 4 == set.batch ? 3
                                          : 2,
                         after.doorbells - before.doorbells);
        end();
    }
}

/* ---- matching --------------------------------------------------------------------------------- */

static void order_and_tags(void **state)
{
    int a[40], b[40];
    hccl_verbs_message_t *s[40];
    (void) state;
    begin(2, &usual, 4);
    for (int i = 0; i < 40; i++) {
        a[i] = i;
        s[i] = send(0, 1, i % 4, &a[i], sizeof(a[i]));
    }
    settle();
    /* Nobody has asked; no slot was written twice, and the sender waits. */
    assert_int_equal(0, fake.not_ready);
    /* Tags in the opposite order, messages of a tag in theirs. */
    for (int tag = 3; tag >= 0; tag--) {
        for (int i = tag; i < 40; i += 4) {
            assert_int_equal(HCCL_OK, await(receive(1, 0, tag, &b[i], sizeof(b[i]))));
            assert_int_equal(a[i], b[i]);
        }
    }
    for (int i = 0; i < 40; i++) {
        assert_int_equal(HCCL_OK, await(s[i]));
    }
    assert_true(counted(1).unexpected >= 30 && counted(1).copied > 0);
    end();
}

static void empty_messages(void **state)
{
    (void) state;
    begin(2, &usual, 5);
    hccl_verbs_message_t *s = send(0, 1, 5, NULL, 0);
    assert_int_equal(HCCL_OK, await(receive(1, 0, 5, NULL, 0)));
    assert_int_equal(HCCL_OK, await(s));
    end();
}

static void too_long(void **state)
{
    static char a[5001], b[5001];
    (void) state;
    begin(2, &usual, 6);
    for (int early = 0; early < 2; early++) {
        for (size_t bytes = 100; bytes <= 5000; bytes *= 50) {
            hccl_verbs_message_t *s = NULL, *r = NULL;
            memset(b, 1, sizeof(b));
            if (1 == early) {
                s = send(0, 1, 5, a, bytes);
                settle();
            }
            r = receive(1, 0, 5, b, bytes - 1);
            s = NULL == s ? send(0, 1, 5, a, bytes) : s;
            assert_int_equal(HCCL_ERR_ARG, await(r));
            assert_int_equal(HCCL_OK, await(s));
            assert_int_equal(1, b[bytes - 1]);
            /* Less than there is room for is none. */
            r = receive(1, 0, 6, b, bytes + 1);
            s = send(0, 1, 6, a, bytes);
            assert_int_equal(HCCL_OK, await(r));
            assert_int_equal(HCCL_OK, await(s));
            assert_int_equal(1, b[bytes]);
        }
    }
    end();
}

/* One way only: the slots come back without a message in the other direction. */
static void credits(void **state)
{
    (void) state;
    begin(2, &usual, 7);
    connect_two();
    hccl_verbs_counters_t before = counted(1);
    for (int i = 0; i < 100; i++) {
        int b = -1;
        hccl_verbs_message_t *r = receive(1, 0, 5, &b, sizeof(b));
        hccl_verbs_message_t *s = send(0, 1, 5, &i, sizeof(i));
        assert_int_equal(HCCL_OK, await(s));
        assert_int_equal(HCCL_OK, await(r));
        assert_int_equal(i, b);
    }
    settle();
    assert_int_equal(0, fake.not_ready);
    /* Told once for each half of the ring. */
    assert_int_equal(100 / (SLOTS / 2), counted(1).requests - before.requests);
    end();
}

/* ---- random ----------------------------------------------------------------------------------- */

typedef struct stream {
    int from, to, tag;
    int sent, received; /* messages started */
} stream_t;

typedef struct flight {
    hccl_verbs_message_t *message;
    unsigned char *data;
    size_t bytes;
    bool receives;
    uint32_t seed;
} flight_t;

/* Length and contents of message `number` of a stream. */
static uint32_t seed_of(const stream_t *s, int number)
{
    return (uint32_t) (s->from * 31 + s->to * 17 + s->tag * 7 + number * 101 + 13) * 2654435761u;
}

static size_t bytes_of(uint32_t seed)
{
    return 0 == seed % 3 ? seed / 3 % 60000 : 1 == seed % 3 ? seed / 3 % 64 : seed / 3 % 600;
}

static unsigned char byte_of(uint32_t seed, size_t at)
{
    return (unsigned char) ((seed >> 8) + at * 11 + at / 251);
}

static flight_t start(const stream_t *s, int number, bool receives)
{
    flight_t f = {.receives = receives, .seed = seed_of(s, number)};
    f.bytes = bytes_of(f.seed);
    f.data = malloc(f.bytes + 1);
    for (size_t i = 0; i < f.bytes; i++) {
        f.data[i] = receives ? 0 : byte_of(f.seed, i);
    }
    f.message = receives ? receive(s->to, s->from, s->tag, f.data, f.bytes)
                         : send(s->from, s->to, s->tag, f.data, f.bytes);
    return f;
}

/* Whether a message has ended; it is checked then. */
static bool over(flight_t *f)
{
    if (HCCL_VERBS_UNDER_WAY == hccl_verbs_look(f->message)) {
        return false;
    }
    assert_int_equal(HCCL_OK, f->message->error);
    hccl_verbs_message_free(f->message);
    for (size_t i = 0; f->receives && i < f->bytes; i++) {
        assert_int_equal(byte_of(f->seed, i), f->data[i]);
    }
    memset(f->data, 0xee, f->bytes);
    /* The process may give the memory back, as free does for long blocks. */
    hccl_verbs_forget(world.v[0], f->data, f->bytes);
    hccl_verbs_forget(world.v[1], f->data, f->bytes);
    hccl_verbs_forget(world.v[2], f->data, f->bytes);
    free(f->data);
    return true;
}

enum { STREAMS = 12, FLIGHTS = 64 };

/* Each pair has two streams each way; up to 64 messages are under way, started on both sides in any
 * order. Every so many turns a queue pair breaks. */
static void run_random(const hccl_verbs_settings_t *set, uint32_t seed, int each, uint32_t faults)
{
    stream_t streams[STREAMS];
    flight_t flights[FLIGHTS];
    int n = 0, nflights = 0, left = 2 * STREAMS * each;
    begin(PROCS, set, seed);
    fake.loses_answers = true;
    for (int from = 0; from < PROCS; from++) {
        for (int to = 0; to < PROCS; to++) {
            for (int tag = 0; from != to && tag < 2; tag++) {
                streams[n++] = (stream_t){.from = from, .to = to, .tag = tag};
            }
        }
    }
    for (long i = 0; left > 0 || nflights > 0; i++) {
        assert_true(i < 20000000);
        stream_t *s = &streams[fake_random(STREAMS)];
        bool receives = 0 == fake_random(2);
        int *number = receives ? &s->received : &s->sent;
        /* Neither side may take all places. */
        int ahead = receives ? s->received - s->sent : s->sent - s->received;
        if (nflights < FLIGHTS && *number < each && ahead < 4) {
            flights[nflights++] = start(s, (*number)++, receives);
            left--;
        }
        turn();
        if (0 != faults && 0 == fake_random(faults)) {
            (void) fake_break();
        }
        for (int k = 0; k < nflights; k++) {
            if (over(&flights[k])) {
                flights[k--] = flights[--nflights];
            }
        }
    }
    settle();
    assert_int_equal(0, fake.not_ready);
    if (0 != faults) {
        assert_true(counted(0).reconnections + counted(1).reconnections > 0);
    }
    end();
}

static void any_order(void **state)
{
    hccl_verbs_settings_t set = usual;
    (void) state;
    for (uint32_t seed = 1; seed <= 6; seed++) {
        set.channels = 1 + (int) (seed % 3);
        set.batch = 1 << seed % 5;
        run_random(&set, seed, 60, 0);
    }
}

static void any_fault(void **state)
{
    hccl_verbs_settings_t set = usual;
    (void) state;
    for (uint32_t seed = 11; seed <= 22; seed++) {
        set.channels = 1 + (int) (seed % 3);
        set.reconnects = 1000;
        run_random(&set, seed, 60, 200);
    }
}

/* Hardly any memory can be registered: long messages go in pieces, on either side's account. */
static void little_memory(void **state)
{
    hccl_verbs_settings_t set = usual;
    static char a[60000], b[60000];
    (void) state;
    begin(2, &set, 8);
    connect_two();
    for (int i = 0; i < 6; i++) {
        /* Nothing; enough for one side; for both. */
        fake.lock_limit = fake.locked + (i % 3) * 65536;
        memset(a, i + 1, sizeof(a));
        hccl_verbs_message_t *r = receive(1, 0, 5, b, sizeof(b));
        hccl_verbs_message_t *s = send(0, 1, 5, a, sizeof(a));
        assert_int_equal(HCCL_OK, await(r));
        assert_int_equal(HCCL_OK, await(s));
        assert_memory_equal(a, b, sizeof(a));
        hccl_verbs_forget(world.v[0], a, sizeof(a));
        hccl_verbs_forget(world.v[1], b, sizeof(b));
    }
    assert_true(counted(0).found > 0 || counted(0).registrations > 0);
    end();
}

/* ---- what cannot be had ----------------------------------------------------------------------- */

static void unusable_ports(void **state)
{
    hccl_verbs_card_t card;
    hccl_verbs_t *v;
    (void) state;
    fake_reset(1);
    assert_int_equal(HCCL_ERR_NOTSUP,
                     hccl_verbs_open(&fake_verbs, &usual, "none", 1, 0, &card, &v));
    assert_int_equal(HCCL_VERBS_NO_DEVICE, card.state);
    fake.port_down = true;
    assert_int_equal(HCCL_ERR_NOTSUP,
                     hccl_verbs_open(&fake_verbs, &usual, "fake", 1, 0, &card, &v));
    assert_int_equal(HCCL_VERBS_PORT_DOWN, card.state);
    fake.port_down = false;
    assert_int_equal(HCCL_ERR_NOTSUP,
                     hccl_verbs_open(&fake_verbs, &usual, "fake", 1, -1, &card, &v));
    assert_int_equal(HCCL_VERBS_NO_GID, card.state);
    fake.no_gid = true;
    assert_int_equal(HCCL_ERR_NOTSUP,
                     hccl_verbs_open(&fake_verbs, &usual, "fake", 1, 0, &card, &v));
    assert_int_equal(HCCL_VERBS_NO_GID, card.state);
    fake.no_gid = false;
    fake.lock_limit = 65536;
    assert_int_equal(HCCL_ERR_NOTSUP,
                     hccl_verbs_open(&fake_verbs, &usual, "fake", 1, 0, &card, &v));
    assert_int_equal(HCCL_VERBS_NO_MEMORY, card.state);
    fake.lock_limit = 0;
    fake.queue_pairs_left = 0;
    assert_int_equal(HCCL_ERR_NOTSUP,
                     hccl_verbs_open(&fake_verbs, &usual, "fake", 1, 0, &card, &v));
    assert_int_equal(HCCL_VERBS_NO_MEMORY, card.state);
    assert_int_equal(0, fake.regions + fake.queue_pairs + fake.others);
}

/* One side has no queue pair left: both hand over what they have, and say so from then on. */
static void refused(void **state)
{
    char a[10] = "x", b[10];
    hccl_verbs_message_t *m[4];
    hccl_verbs_key_t key = {.comm = 7, .tag = 1};
    (void) state;
    begin(2, &usual, 9);
    fake.queue_pairs_left = 1;
    m[0] = send(0, 1, 1, a, 1);
    m[1] = send(0, 1, 1, a, 1000);
    m[2] = receive(1, 0, 1, b, 1);
    m[3] = receive(1, 0, 1, b, 1000);
    settle();
    for (int i = 0; i < 4; i++) {
        assert_int_equal(HCCL_VERBS_HANDED, hccl_verbs_look(m[i]));
        assert_ptr_equal(&world, m[i]->handed);
        hccl_verbs_message_free(m[i]);
    }
    assert_int_equal(4, world.handed);
    assert_int_equal(HCCL_ERR_NOTSUP, hccl_verbs_send(world.peer[0][1], &key, a, 1, &m[0]));
    assert_int_equal(HCCL_ERR_NOTSUP, hccl_verbs_receive(world.peer[1][0], &key, a, 1, &m[0]));
    assert_int_equal(0, fake.queue_pairs);
    end();
}

/* Nothing gets through: both sides give up, and everything that waits fails. */
static void lost(void **state)
{
    static char a[5000], b[5000];
    hccl_verbs_message_t *m[5];
    hccl_verbs_key_t key = {.comm = 7, .tag = 1};
    (void) state;
    begin(2, &usual, 10);
    connect_two();
    fake.unreachable = true;
    m[0] = send(0, 1, 1, a, 5000);
    m[1] = receive(1, 0, 1, b, 5000);
    m[2] = receive(1, 0, 2, b, 1);
    m[3] = receive(0, 1, 3, b, 1);
    m[4] = send(1, 0, 4, a, 5000);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(HCCL_ERR_SYS, await(m[i]));
    }
    settle();
    assert_int_equal(HCCL_ERR_SYS, hccl_verbs_send(world.peer[0][1], &key, a, 1, &m[0]));
    assert_int_equal(HCCL_ERR_SYS, hccl_verbs_receive(world.peer[1][0], &key, a, 1, &m[0]));
    assert_int_equal(0, fake.queue_pairs);
    end();
}

/* ---- choice ----------------------------------------------------------------------------------- */

static void pairs(void **state)
{
    hccl_verbs_card_t a = {.state = HCCL_VERBS_READY}, b = a;
    (void) state;
    a.gid[10] = a.gid[11] = b.gid[10] = b.gid[11] = 0xff;
    a.gid[15] = 1;
    b.gid[15] = 2;
#define BOTH(host_a, host_b) \
    (hccl_verbs_pair(&a, host_a, &b, host_b) && (hccl_verbs_pair(&b, host_b, &a, host_a)))
#define NEITHER(host_a, host_b) \
    (!hccl_verbs_pair(&a, host_a, &b, host_b) && !(hccl_verbs_pair(&b, host_b, &a, host_a)))
    assert_true(BOTH(1, 2));
    assert_true(BOTH(0, 0)); /* nobody shares memory with either */
    assert_true(NEITHER(1, 1));
    b.gid[10] = 0; /* IPv6 */
    assert_true(NEITHER(1, 2));
    a.gid[10] = 0;
    assert_true(BOTH(1, 2));
    for (int i = 0; i < HCCL_VERBS_STATES; i++) {
        b.state = (uint8_t) i;
        assert_true(HCCL_VERBS_READY == i ? BOTH(1, 2) : NEITHER(1, 2));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_message),  cmocka_unit_test(long_message),
        cmocka_unit_test(offered_memory), cmocka_unit_test(offered_memory_and_faults),
        cmocka_unit_test(many_channels),  cmocka_unit_test(chains),
        cmocka_unit_test(order_and_tags), cmocka_unit_test(empty_messages),
        cmocka_unit_test(too_long),       cmocka_unit_test(credits),
        cmocka_unit_test(any_order),      cmocka_unit_test(any_fault),
        cmocka_unit_test(little_memory),  cmocka_unit_test(unusable_ports),
        cmocka_unit_test(refused),        cmocka_unit_test(lost),
        cmocka_unit_test(pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
