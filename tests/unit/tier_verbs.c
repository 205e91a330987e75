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
#include <time.h>

#include <cmocka.h>

#include "fake_verbs.h"
#include "tier/verbs.h"
#include "verbs_world.h"

/* ---- one message ------------------------------------------------------------------------------ */

static void short_message(void **state)
{
    uint64_t a = 42, b = 0;
    (void) state;
    world_begin(2, &world_usual, 1, 1);
    world_connect();
    hccl_verbs_message_t *r = world_receive(1, 0, 5, &b, 8);
    hccl_verbs_counters_t before = world_counted(0), there = world_counted(1);
    long done = fake.done;
    hccl_verbs_message_t *s = world_send(0, 1, 5, &a, 8);
    /* The sender may use its memory at once. */
    assert_int_equal(HCCL_VERBS_ENDED, hccl_verbs_look(s));
    a = 0;
    assert_int_equal(HCCL_OK, world_await(r));
    assert_int_equal(HCCL_OK, world_await(s));
    world_settle();
    hccl_verbs_counters_t after = world_counted(0);
    assert_int_equal(42, b);
    assert_int_equal(1, after.requests - before.requests);
    assert_int_equal(1, after.inlined - before.inlined);
    assert_int_equal(1, after.doorbells - before.doorbells);
    assert_int_equal(8, after.bytes - before.bytes);
    assert_int_equal(1, fake.done - done);
    assert_int_equal(0, after.completions - before.completions);
    hccl_verbs_counters_t now = world_counted(1);
    assert_int_equal(1, now.completions - there.completions);
    assert_int_equal(0, now.requests - there.requests);
    assert_int_equal(0, now.copied + now.registrations);
    world_end();
}

static void long_message(void **state)
{
    static char a[20000], b[20000];
    (void) state;
    memset(a, 3, sizeof(a));
    world_begin(2, &world_usual, 2, 1);
    world_connect();
    for (int round = 0; round < 3; round++) {
        memset(b, 0, sizeof(b));
        hccl_verbs_message_t *r = world_receive(1, 0, 5, b, sizeof(b));
        hccl_verbs_counters_t before = world_counted(0), there = world_counted(1);
        hccl_verbs_message_t *s = world_send(0, 1, 5, a, sizeof(a));
        assert_int_equal(HCCL_VERBS_UNDER_WAY, hccl_verbs_look(s));
        assert_int_equal(HCCL_OK, world_await(r));
        assert_int_equal(HCCL_OK, world_await(s));
        world_settle();
        hccl_verbs_counters_t after = world_counted(0), now = world_counted(1);
        assert_memory_equal(a, b, sizeof(a));
        /* ASK; the data, which tells of itself. HERE. */
        assert_int_equal(2, after.requests - before.requests);
        assert_int_equal(2, after.doorbells - before.doorbells);
        assert_int_equal(sizeof(a), after.bytes - before.bytes);
        assert_int_equal(1, now.requests - there.requests);
        assert_int_equal(0 == round ? 1 : 0, after.registrations - before.registrations);
        assert_int_equal(0 == round ? 1 : 0, now.registrations - there.registrations);
    }
    world_end();
}

/* Into memory that was offered, and on from there: nothing is registered for it, and nothing is shorter or
 * longer than for other memory. What fits a slot of the ring is copied, wherever it goes. */
static void offered_memory(void **state)
{
    static char a[20000], c[20000];
    static _Alignas(4096) char cell[1 << 16];
    (void) state;
    memset(a, 7, sizeof(a));
    world_begin(3, &world_usual, 5, 1);
    world_connect();
    assert_true(hccl_verbs_offer(world.v[1], cell, sizeof(cell)));
    assert_true(hccl_verbs_writes_in_place(world.peer[1][0], EAGER + 1));
    assert_false(hccl_verbs_writes_in_place(world.peer[1][0], EAGER));
    for (size_t bytes = 20000; bytes > 0; bytes = bytes > EAGER ? bytes / 3 : 0) {
        bool is_long = bytes > EAGER;
        char *to = cell + 64 + bytes;
        memset(cell, 0, sizeof(cell));
        hccl_verbs_counters_t before = world_counted(1);
        hccl_verbs_message_t *r = world_receive(1, 0, 5, to, bytes);
        hccl_verbs_message_t *s = world_send(0, 1, 5, a, bytes);
        assert_int_equal(HCCL_OK, world_await(r));
        assert_int_equal(HCCL_OK, world_await(s));
        r = world_receive(2, 1, 6, c, bytes);
        s = world_send(1, 2, 6, to, bytes);
        assert_int_equal(HCCL_OK, world_await(r));
        assert_int_equal(HCCL_OK, world_await(s));
        hccl_verbs_counters_t after = world_counted(1);
        assert_memory_equal(a, c, bytes);
        assert_memory_equal(a, to, bytes);
        assert_int_equal(0, to[-1] | to[bytes]);
        assert_int_equal(is_long ? 1 : 0, after.straight - before.straight);
        assert_int_equal(is_long ? 1 : 0, after.from_there - before.from_there);
        assert_int_equal(0, after.registrations);
    }
    world_end();
}

/* Queue pairs fail while messages go into offered memory: none is said to have come before all of it has,
 * and nobody writes there afterwards. */
static void offered_memory_and_faults(void **state)
{
    enum { CELLS = 4, BYTES = 12000 };
    static char a[CELLS][BYTES];
    static _Alignas(4096) char cell[CELLS][BYTES];
    hccl_verbs_settings_t set = world_usual;
    (void) state;
    set.channels = 2;
    set.reconnects = 1000;
    world_begin(2, &set, 6, 1);
    fake.loses_answers = true;
    world_connect();
    assert_true(hccl_verbs_offer(world.v[1], cell, sizeof(cell)));
    for (int round = 0; round < 60; round++) {
        hccl_verbs_message_t *r[CELLS], *s[CELLS];
        for (int i = 0; i < CELLS; i++) {
            memset(a[i], round + i + 1, BYTES);
            memset(cell[i], 0, BYTES);
            r[i] = world_receive(1, 0, i, cell[i], BYTES);
            s[i] = world_send(0, 1, i, a[i], BYTES);
        }
        for (int i = 0; i < CELLS; i++) {
            for (long j = 0; HCCL_VERBS_UNDER_WAY == hccl_verbs_look(r[i]); j++) {
                assert_true(j < 3000000);
                world_turn();
                if (0 == fake_random(100)) {
                    (void) fake_break();
                }
            }
            assert_int_equal(HCCL_OK, world_await(r[i]));
            assert_memory_equal(a[i], cell[i], BYTES);
            memset(cell[i], 99, BYTES); /* its owner has it now */
        }
        for (int i = 0; i < CELLS; i++) {
            assert_int_equal(HCCL_OK, world_await(s[i]));
            for (int j = 0; j < BYTES; j++) {
                assert_int_equal(99, cell[i][j]);
            }
        }
    }
    assert_true(world_counted(0).reconnections > 10);
    assert_int_equal(60 * CELLS, world_counted(1).straight);
    world_end();
}

static void many_channels(void **state)
{
    hccl_verbs_settings_t set = world_usual;
    static char a[20000], b[20000];
    (void) state;
    memset(a, 4, sizeof(a));
    set.channels = 4;
    world_begin(2, &set, 3, 1);
    world_connect();
    assert_int_equal(4, world_counted(0).queue_pairs);
    hccl_verbs_message_t *r = world_receive(1, 0, 5, b, sizeof(b));
    hccl_verbs_counters_t before = world_counted(0);
    hccl_verbs_message_t *s = world_send(0, 1, 5, a, sizeof(a));
    assert_int_equal(HCCL_OK, world_await(r));
    assert_int_equal(HCCL_OK, world_await(s));
    hccl_verbs_counters_t after = world_counted(0);
    assert_memory_equal(a, b, sizeof(a));
    /* ASK, and four parts (20000 / 4096 = 4), each a write and its WRITTEN, posted together. */
    assert_int_equal(9, after.requests - before.requests);
    assert_int_equal(5, after.doorbells - before.doorbells);
    /* Less than two parts' worth stays on one. */
    r = world_receive(1, 0, 6, b, 8000);
    s = world_send(0, 1, 6, a, 8000);
    assert_int_equal(HCCL_OK, world_await(r));
    assert_int_equal(HCCL_OK, world_await(s));
    assert_int_equal(2, world_counted(0).requests - after.requests);
    world_end();
}

/* Longer than a work request of this device (32768 bytes): several in one chain. */
static void chains(void **state)
{
    static char a[150000], b[150000];
    hccl_verbs_settings_t set = world_usual;
    (void) state;
    memset(a, 9, sizeof(a));
    for (set.batch = 1; set.batch <= 16; set.batch *= 4) {
        world_begin(2, &set, 3, 1);
        world_connect();
        memset(b, 0, sizeof(b));
        hccl_verbs_message_t *r = world_receive(1, 0, 5, b, sizeof(b));
        hccl_verbs_counters_t before = world_counted(0);
        hccl_verbs_message_t *s = world_send(0, 1, 5, a, sizeof(a));
        assert_int_equal(HCCL_OK, world_await(r));
        assert_int_equal(HCCL_OK, world_await(s));
        assert_memory_equal(a, b, sizeof(a));
        hccl_verbs_counters_t after = world_counted(0);
        /* Two parts of 75008 and 74992 bytes, three requests each, and two times WRITTEN: 8. */
        assert_int_equal(9, after.requests - before.requests);
        assert_int_equal(1 == set.batch   ? 9
                         : 4 == set.batch ? 3
                                          : 2,
                         after.doorbells - before.doorbells);
        world_end();
    }
}

/* ---- matching --------------------------------------------------------------------------------- */

static void order_and_tags(void **state)
{
    int a[40], b[40];
    hccl_verbs_message_t *s[40];
    (void) state;
    world_begin(2, &world_usual, 4, 1);
    for (int i = 0; i < 40; i++) {
        a[i] = i;
        s[i] = world_send(0, 1, i % 4, &a[i], sizeof(a[i]));
    }
    world_settle();
    /* Nobody has asked; no slot was written twice, and the sender waits. */
    assert_int_equal(0, fake.not_ready);
    /* Tags in the opposite order, messages of a tag in theirs. */
    for (int tag = 3; tag >= 0; tag--) {
        for (int i = tag; i < 40; i += 4) {
            assert_int_equal(HCCL_OK, world_await(world_receive(1, 0, tag, &b[i], sizeof(b[i]))));
            assert_int_equal(a[i], b[i]);
        }
    }
    for (int i = 0; i < 40; i++) {
        assert_int_equal(HCCL_OK, world_await(s[i]));
    }
    assert_true(world_counted(1).unexpected >= 30 && world_counted(1).copied > 0);
    world_end();
}

static void empty_messages(void **state)
{
    (void) state;
    world_begin(2, &world_usual, 5, 1);
    hccl_verbs_message_t *s = world_send(0, 1, 5, NULL, 0);
    assert_int_equal(HCCL_OK, world_await(world_receive(1, 0, 5, NULL, 0)));
    assert_int_equal(HCCL_OK, world_await(s));
    world_end();
}

/* Of a message that is longer than there is room for, what fits comes, and an error: whether it is in a slot of
 * the ring, written in parts or in pieces, and whoever is first. */
static void too_long(void **state)
{
    static const size_t lengths[] = {1, 100, EAGER, EAGER + 1, 5000, 40000};
    static char a[40000], b[40001];
    hccl_verbs_settings_t set = world_usual;
    (void) state;
    for (size_t i = 0; i < sizeof(a); i++) {
        a[i] = (char) (i * 7 + i / 256 + 3);
    }
    for (int turn = 0; turn < 12; turn++) {
        bool early = 0 != turn % 2, in_pieces = 0 != turn / 2 % 2;
        set.channels = 1 + turn / 4;
        world_begin(2, &set, 6 + (uint32_t) turn, 1);
        world_connect();
        fake.lock_limit = in_pieces ? fake.locked : 0;
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
            size_t bytes = lengths[i];
            const size_t rooms[] = {0, 1, bytes / 3, bytes - 1, bytes, bytes + 1};
            for (int k = 0; k < 6; k++) {
                size_t room = rooms[k], comes = bytes < room ? bytes : room;
                hccl_verbs_message_t *s = NULL, *r = NULL;
                memset(b, 1, sizeof(b));
                if (early) {
                    s = world_send(0, 1, 5, a, bytes);
                    world_settle();
                }
                r = world_receive(1, 0, 5, b, room);
                s = NULL == s ? world_send(0, 1, 5, a, bytes) : s;
                assert_int_equal(bytes > room ? HCCL_ERR_ARG : HCCL_OK, world_await(r));
                assert_int_equal(HCCL_OK, world_await(s));
                assert_memory_equal(a, b, comes);
                assert_int_equal(1, b[comes]);
            }
        }
        world_end();
    }
}

/* How queue pairs are connected is what the settings say. */
static void attributes(void **state)
{
    hccl_verbs_settings_t set = world_usual;
    (void) state;
    set.traffic_class = 104;
    set.service_level = 3;
    set.timeout = 13;
    set.retries = 5;
    world_begin(2, &set, 5, 1);
    world_connect();
    const struct ibv_ah_attr *ah = &fake.to_receive.ah_attr;
    assert_int_equal(104, ah->grh.traffic_class);
    assert_int_equal(3, ah->sl);
    assert_int_equal(3, ah->grh.sgid_index);
    assert_int_equal(1, ah->is_global);
    assert_int_equal(1, ah->port_num);
    assert_int_equal(IBV_MTU_1024, fake.to_receive.path_mtu);
    assert_int_equal(13, fake.to_send.timeout);
    assert_int_equal(5, fake.to_send.retry_cnt);
    world_end();
}

/* A receive that nobody sends to ends; one that has been matched goes on; what comes later is for others. */
static void cancelled(void **state)
{
    static char a[5000], b[5000];
    (void) state;
    memset(a, 6, sizeof(a));
    world_begin(2, &world_usual, 7, 1);
    hccl_verbs_message_t *r = world_receive(1, 0, 5, b, sizeof(b));
    hccl_verbs_cancel(r); /* not even connected */
    assert_int_equal(HCCL_OK, world_await(r));
    world_connect();
    r = world_receive(1, 0, 5, b, sizeof(b));
    hccl_verbs_message_t *s = world_send(0, 1, 5, a, sizeof(a));
    while (0 == world_counted(1).registrations) {
        world_turn();
    }
    hccl_verbs_cancel(r);
    assert_int_equal(HCCL_OK, world_await(r));
    assert_int_equal(HCCL_OK, world_await(s));
    assert_memory_equal(a, b, sizeof(a));
    world_end();
}

/* One way only: the slots come back without a message in the other direction. */
static void credits(void **state)
{
    (void) state;
    world_begin(2, &world_usual, 7, 1);
    world_connect();
    hccl_verbs_counters_t before = world_counted(1);
    for (int i = 0; i < 100; i++) {
        int b = -1;
        hccl_verbs_message_t *r = world_receive(1, 0, 5, &b, sizeof(b));
        hccl_verbs_message_t *s = world_send(0, 1, 5, &i, sizeof(i));
        assert_int_equal(HCCL_OK, world_await(s));
        assert_int_equal(HCCL_OK, world_await(r));
        assert_int_equal(i, b);
    }
    world_settle();
    assert_int_equal(0, fake.not_ready);
    /* Told once for each half of the ring. */
    assert_int_equal(100 / (SLOTS / 2), world_counted(1).requests - before.requests);
    world_end();
}

/* ---- random ----------------------------------------------------------------------------------- */

static void any_order(void **state)
{
    hccl_verbs_settings_t set = world_usual;
    (void) state;
    for (uint32_t seed = 1; seed <= 6; seed++) {
        set.channels = 1 + (int) (seed % 3);
        set.batch = 1 << seed % 5;
        world_random(&set, seed, 60, 1, 0, NULL);
        world_end();
    }
}

static void break_one(void)
{
    (void) fake_break();
}

static void any_fault(void **state)
{
    hccl_verbs_settings_t set = world_usual;
    (void) state;
    for (uint32_t seed = 11; seed <= 22; seed++) {
        set.channels = 1 + (int) (seed % 3);
        set.reconnects = 1000;
        world_random(&set, seed, 60, 1, 200, break_one);
        world_end();
    }
}

/* Hardly any memory can be registered: long messages go in pieces, on either side's account. */
static void little_memory(void **state)
{
    hccl_verbs_settings_t set = world_usual;
    static char a[60000], b[60000];
    (void) state;
    world_begin(2, &set, 8, 1);
    world_connect();
    for (int i = 0; i < 6; i++) {
        /* Nothing; enough for one side; for both. */
        fake.lock_limit = fake.locked + (i % 3) * 65536;
        memset(a, i + 1, sizeof(a));
        hccl_verbs_message_t *r = world_receive(1, 0, 5, b, sizeof(b));
        hccl_verbs_message_t *s = world_send(0, 1, 5, a, sizeof(a));
        assert_int_equal(HCCL_OK, world_await(r));
        assert_int_equal(HCCL_OK, world_await(s));
        assert_memory_equal(a, b, sizeof(a));
        hccl_verbs_forget(world.v[0], a, sizeof(a));
        hccl_verbs_forget(world.v[1], b, sizeof(b));
    }
    assert_true(world_counted(0).found > 0 || world_counted(0).registrations > 0);
    world_end();
}

/* ---- what cannot be had ----------------------------------------------------------------------- */

static void unusable_ports(void **state)
{
    hccl_verbs_card_t card;
    hccl_verbs_t *v;
    (void) state;
    fake_reset(1);
    assert_int_equal(HCCL_ERR_NOTSUP,
                     hccl_verbs_open(&fake_verbs, &world_usual, "none", 1, 0, &card, &v));
    assert_int_equal(HCCL_VERBS_NO_DEVICE, card.state);
    fake.down[0] = true;
    assert_int_equal(HCCL_ERR_NOTSUP,
                     hccl_verbs_open(&fake_verbs, &world_usual, "fake", 1, 0, &card, &v));
    assert_int_equal(HCCL_VERBS_PORT_DOWN, card.state);
    fake.down[0] = false;
    assert_int_equal(HCCL_ERR_NOTSUP,
                     hccl_verbs_open(&fake_verbs, &world_usual, "fake", 1, -1, &card, &v));
    assert_int_equal(HCCL_VERBS_NO_GID, card.state);
    fake.no_gid = true;
    assert_int_equal(HCCL_ERR_NOTSUP,
                     hccl_verbs_open(&fake_verbs, &world_usual, "fake", 1, 0, &card, &v));
    assert_int_equal(HCCL_VERBS_NO_GID, card.state);
    fake.no_gid = false;
    fake.lock_limit = 65536;
    assert_int_equal(HCCL_ERR_NOTSUP,
                     hccl_verbs_open(&fake_verbs, &world_usual, "fake", 1, 0, &card, &v));
    assert_int_equal(HCCL_VERBS_NO_MEMORY, card.state);
    fake.lock_limit = 0;
    fake.queue_pairs_left = 0;
    assert_int_equal(HCCL_ERR_NOTSUP,
                     hccl_verbs_open(&fake_verbs, &world_usual, "fake", 1, 0, &card, &v));
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
    world_begin(2, &world_usual, 9, 1);
    fake.queue_pairs_left = 1;
    m[0] = world_send(0, 1, 1, a, 1);
    m[1] = world_send(0, 1, 1, a, 1000);
    m[2] = world_receive(1, 0, 1, b, 1);
    m[3] = world_receive(1, 0, 1, b, 1000);
    world_settle();
    for (int i = 0; i < 4; i++) {
        assert_int_equal(HCCL_VERBS_HANDED, hccl_verbs_look(m[i]));
        assert_ptr_equal(&world, m[i]->handed);
        hccl_verbs_message_free(m[i]);
    }
    assert_int_equal(4, world.handed);
    assert_int_equal(HCCL_ERR_NOTSUP, hccl_verbs_send(world.peer[0][1], &key, a, 1, &m[0]));
    assert_int_equal(HCCL_ERR_NOTSUP, hccl_verbs_receive(world.peer[1][0], &key, a, 1, &m[0]));
    assert_int_equal(0, fake.queue_pairs);
    world_end();
}

/* Nothing gets through: both sides give up, and everything that waits fails. */
static void lost(void **state)
{
    static char a[5000], b[5000];
    hccl_verbs_message_t *m[5];
    hccl_verbs_key_t key = {.comm = 7, .tag = 1};
    (void) state;
    world_begin(2, &world_usual, 10, 1);
    world_connect();
    fake.unreachable = true;
    m[0] = world_send(0, 1, 1, a, 5000);
    m[1] = world_receive(1, 0, 1, b, 5000);
    m[2] = world_receive(1, 0, 2, b, 1);
    m[3] = world_receive(0, 1, 3, b, 1);
    m[4] = world_send(1, 0, 4, a, 5000);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(HCCL_ERR_SYS, world_await(m[i]));
    }
    world_settle();
    assert_int_equal(HCCL_ERR_SYS, hccl_verbs_send(world.peer[0][1], &key, a, 1, &m[0]));
    assert_int_equal(HCCL_ERR_SYS, hccl_verbs_receive(world.peer[1][0], &key, a, 1, &m[0]));
    assert_int_equal(0, fake.queue_pairs);
    world_end();
}

/* ---- sleep ------------------------------------------------------------------------------------ */

static uint64_t slept(uint64_t ns)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    hccl_verbs_sleep(world.v[1], ns);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (uint64_t) (b.tv_sec - a.tv_sec) * 1000000000 + (uint64_t) b.tv_nsec
           - (uint64_t) a.tv_nsec;
}

/* A completion ends the sleep, also one that came before it began, but after it was announced; without one
 * it lasts as long as it may. */
static void sleeps(void **state)
{
    hccl_verbs_settings_t set = world_usual;
    bool busy;
    char a = 3, b = 0;
    (void) state;
    set.sleeps = true;
    world_begin(2, &set, 8, 1);
    assert_false(hccl_verbs_arm(world.v[1], &busy)); /* no connection: nothing can come */
    hccl_verbs_message_t *early = world_receive(1, 0, 9, &b, 1);
    (void) hccl_verbs_progress(world.v[1]);
    assert_true(hccl_verbs_arm(world.v[1], &busy) && busy); /* one is being made */
    world_connect();
    for (int i = 0; i < 3; i++) {
        assert_true(hccl_verbs_arm(world.v[1], &busy));
        assert_false(busy);
        assert_true(slept(20000000) >= 20000000);
        assert_true(hccl_verbs_arm(world.v[1], &busy));
        hccl_verbs_message_t *s = world_send(0, 1, 9, &a, 1);
        while (fake_step()) {
        }
        assert_true(slept(UINT64_C(10000000000)) < UINT64_C(5000000000));
        assert_int_equal(HCCL_OK, world_await(early));
        assert_int_equal(HCCL_OK, world_await(s));
        assert_int_equal(3, b);
        early = world_receive(1, 0, 9, &b, 1);
    }
    assert_int_equal(HCCL_OK, world_await(world_send(0, 1, 9, &a, 1)));
    assert_int_equal(HCCL_OK, world_await(early));
    world_end();
    /* Nobody sleeps. */
    world_begin(2, &world_usual, 9, 1);
    world_connect();
    assert_false(hccl_verbs_arm(world.v[1], &busy));
    assert_int_equal(0, fake.channels);
    world_end();
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
        cmocka_unit_test(too_long),       cmocka_unit_test(attributes),
        cmocka_unit_test(credits),        cmocka_unit_test(any_order),
        cmocka_unit_test(any_fault),      cmocka_unit_test(little_memory),
        cmocka_unit_test(unusable_ports), cmocka_unit_test(refused),
        cmocka_unit_test(lost),           cmocka_unit_test(cancelled),
        cmocka_unit_test(sleeps),         cmocka_unit_test(pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
