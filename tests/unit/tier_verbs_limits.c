/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages by RDMA at the limits of counts, lengths, queues and devices, over a stand-in device
 * (fake_verbs.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tier/verbs_engine.h"
#include "verbs_world.h"

/* ---- counts ----------------------------------------------------------------------------------- */

/* Short and long messages both ways, more than a ring holds; every other time a queue pair breaks meanwhile. */
static void talk(bool breaks)
{
    enum { N = 3 * SLOTS };
    static char from[2][N][20000], to[2][N][20000];
    hccl_verbs_message_t *s[2][N], *r[2][N];
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 2; k++) {
            size_t bytes = 0 == i % 3 ? 20000 : 8;
            memset(from[k][i], 2 * i + k + 1, bytes);
            memset(to[k][i], 0, bytes);
            s[k][i] = world_send(k, 1 - k, 5, from[k][i], bytes);
            r[k][i] = world_receive(1 - k, k, 5, to[k][i], bytes);
        }
    }
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 2; k++) {
            if (breaks && N / 2 == i) {
                (void) fake_break();
            }
            assert_int_equal(HCCL_OK, world_await(s[k][i]));
            assert_int_equal(HCCL_OK, world_await(r[k][i]));
            assert_memory_equal(from[k][i], to[k][i], 0 == i % 3 ? 20000 : 8);
        }
    }
}

/* Counts of slots pass 2^31 and 2^32, and so do numbers of long messages. */
static void counts_go_round(void **state)
{
    static const uint64_t after[] = {UINT64_C(1) << 31, UINT64_C(1) << 32, UINT64_C(1) << 33};
    (void) state;
    for (int turn = 0; turn < 6; turn++) {
        hccl_verbs_settings_t set = world_usual;
        set.channels = 1 + turn % 2;
        world_begin(2, &set, (uint32_t) turn, 1);
        world_connect();
        world_age(after[turn / 2] - 2 * SLOTS, true);
        for (int i = 0; i < 2; i++) {
            world.peer[i][1 - i]->next_id = (uint32_t) (after[turn / 2] - 5);
        }
        talk(false);
        talk(true);
        assert_int_equal(0, fake.not_ready);
        world_end();
    }
}

/* A word that has stood there for 2^32 slots, because messages the other way told of all of them, tells of none:
 * nobody writes into slots that are not free. */
static void old_words(void **state)
{
    enum { N = 3 * SLOTS };
    int from[N], to[N];
    hccl_verbs_message_t *s[N], *r[N];
    (void) state;
    world_begin(2, &world_usual, 3, 1);
    world_connect();
    assert_int_equal(0, *world.peer[0][1]->channel[0].credit);
    world_age((UINT64_C(1) << 32) - SLOTS, false);
    for (int i = 0; i < N; i++) {
        from[i] = i + 1;
        s[i] = world_send(0, 1, 5, &from[i], sizeof(from[i]));
    }
    for (int i = 0; i < 300; i++) {
        (void) fake_step();
        (void) hccl_verbs_progress(world.v[0]); /* process 1 is elsewhere */
    }
    for (int i = 0; i < N; i++) {
        r[i] = world_receive(1, 0, 5, &to[i], sizeof(to[i]));
        assert_int_equal(HCCL_OK, world_await(r[i]));
        assert_int_equal(HCCL_OK, world_await(s[i]));
        assert_int_equal(from[i], to[i]);
    }
    world_end();
}

/* ---- queues ----------------------------------------------------------------------------------- */

/* The peer takes and sends all that it can, as soon as something is posted for it. */
static void peers_are_fast(void)
{
    static bool within;
    if (!within) {
        within = true;
        for (int i = 0; i < 40; i++) {
            (void) fake_step();
            (void) hccl_verbs_progress(world.v[0]);
        }
        within = false;
    }
}

/* Slots that are told of as free have a place in the receive queue, whenever that is told. */
static void always_ready(void **state)
{
    enum { N = 4 * SLOTS };
    static char from[20000], to[20000];
    (void) state;
    for (uint32_t seed = 1; seed <= 30; seed++) {
        int a[N], b[N];
        hccl_verbs_message_t *s[N], *r[N];
        world_begin(2, &world_usual, seed, 1);
        world_connect();
        hccl_verbs_message_t *there = world_receive(0, 1, 6, to, sizeof(to));
        for (int i = 0; i < N; i++) {
            a[i] = i;
            r[i] = world_receive(1, 0, 5, &b[i], sizeof(b[i]));
        }
        for (uint32_t i = 0; i < seed % 4; i++) {
            s[i] = world_send(0, 1, 5, &a[i], sizeof(a[i]));
        }
        world_settle();
        /* All of a ring arrives at once at process 1; the last one says where its long message goes. */
        hccl_verbs_message_t *here = world_send(1, 0, 6, from, sizeof(from));
        for (int i = (int) (seed % 4); i < N; i++) {
            s[i] = world_send(0, 1, 5, &a[i], sizeof(a[i]));
            if ((int) (seed % 4) + SLOTS - 3 == i) {
                for (int k = 0; k < 40; k++) {
                    (void) fake_step();
                    (void) hccl_verbs_progress(world.v[0]);
                }
            }
        }
        fake.meanwhile = peers_are_fast;
        for (int i = 0; i < N; i++) {
            assert_int_equal(HCCL_OK, world_await(r[i]));
            assert_int_equal(HCCL_OK, world_await(s[i]));
            assert_int_equal(i, b[i]);
        }
        assert_int_equal(HCCL_OK, world_await(here));
        assert_int_equal(HCCL_OK, world_await(there));
        assert_int_equal(0, fake.not_ready);
        world_end();
    }
}

/* Far more queue pairs than the completion queue has room for to begin with. */
static void many_queue_pairs(void **state)
{
    hccl_verbs_settings_t set = world_usual;
    (void) state;
    set.channels = 32;
    world_random(&set, 5, 20, 1, 0, NULL);
    assert_int_equal(2 * 32, world_counted(0).queue_pairs);
    world_end();
}

/* Nothing wakes who waits for a free slot: a word in memory makes no completion. */
static void no_sleep_without_slots(void **state)
{
    enum { N = 2 * SLOTS };
    hccl_verbs_settings_t set = world_usual;
    int a[N], b;
    bool busy;
    hccl_verbs_message_t *s[N];
    (void) state;
    set.sleeps = true;
    world_begin(2, &set, 8, 1);
    world_connect();
    for (int i = 0; i < N; i++) {
        a[i] = i;
        s[i] = world_send(0, 1, 9, &a[i], sizeof(a[i]));
        assert_true(hccl_verbs_arm(world.v[0], &busy));
        assert_int_equal(i + 1 >= SLOTS, busy); /* one slot was used to connect */
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(HCCL_OK, world_await(world_receive(1, 0, 9, &b, sizeof(b))));
        assert_int_equal(i, b);
        assert_int_equal(HCCL_OK, world_await(s[i]));
    }
    world_settle();
    assert_true(hccl_verbs_arm(world.v[0], &busy));
    assert_false(busy);
    world_end();
}

/* ---- lengths ---------------------------------------------------------------------------------- */

/* Address space for so many bytes, in which all blocks of 64 MiB are the same one. */
static char *fold(size_t bytes)
{
    const size_t block = (size_t) 64 << 20;
    int file = memfd_create("fold", 0);
    assert_true(file >= 0 && 0 == ftruncate(file, (off_t) block));
    char *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(MAP_FAILED, at);
    for (size_t i = 0; i < bytes; i += block) {
        assert_ptr_equal(at + i, mmap(at + i, bytes - i < block ? bytes - i : block,
                                      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0));
    }
    close(file);
    return at;
}

/* More than 2^31 and more than 2^32 bytes: in requests of 2^30, of which a part has four. */
static void long_ones(void **state)
{
    (void) state;
    for (int turn = 0; turn < 2; turn++) {
        size_t bytes = ((size_t) 1 << (31 + turn)) + 5 * 4096 + 3;
        char *from = fold(bytes), *to = fold(bytes);
        memset(from, 5, 1 << 20);
        fake_reset(1);
        world_begin(2, &world_usual, 1, 1);
        world_end();
        world_begin(2, &world_usual, 2, 1);
        for (int i = 0; i < 2; i++) {
            world.v[i]->port[0]->longest = UINT64_C(1) << 30;
        }
        world_connect();
        hccl_verbs_counters_t before = world_counted(0);
        hccl_verbs_message_t *r = world_receive(1, 0, 5, to, bytes);
        hccl_verbs_message_t *s = world_send(0, 1, 5, from, bytes);
        assert_int_equal(HCCL_OK, world_await(r));
        assert_int_equal(HCCL_OK, world_await(s));
        hccl_verbs_counters_t after = world_counted(0);
        assert_int_equal(bytes, after.bytes - before.bytes);
        /* ASK; 3 requests for 2 GiB and a bit. Or two parts of 2 GiB and a bit, and WRITTEN behind each. */
        assert_int_equal(0 == turn ? 4 : 1 + 2 * (3 + 1), after.requests - before.requests);
        assert_memory_equal(from, to, 1 << 20);
        world_end();
        munmap(from, bytes);
        munmap(to, bytes);
    }
}

/* ---- devices ---------------------------------------------------------------------------------- */

/* No bytes go with a work request. */
static void nothing_inline(void **state)
{
    hccl_verbs_card_t card;
    hccl_verbs_t *v = NULL;
    (void) state;
    fake_reset(1);
    fake.inlines = 0;
    assert_int_equal(HCCL_OK, hccl_verbs_open(&fake_verbs, &world_usual, "fake", 1, 0, &card, &v));
    hccl_verbs_close(v);
    world_begin(2, &world_usual, 2, 1);
    fake.inlines = 0;
    world_connect();
    talk(true);
    assert_int_equal(0, world_counted(0).inlined);
    world_end();
}

/* An index that does not fit into what a queue pair is told. */
static void too_many_gids(void **state)
{
    hccl_verbs_card_t card;
    hccl_verbs_t *v = NULL;
    (void) state;
    fake_reset(1);
    assert_int_equal(HCCL_ERR_NOTSUP,
                     hccl_verbs_open(&fake_verbs, &world_usual, "fake", 1, 256, &card, &v));
    assert_int_equal(HCCL_VERBS_NO_GID, card.state);
    assert_int_equal(HCCL_OK,
                     hccl_verbs_open(&fake_verbs, &world_usual, "fake", 1, 254, &card, &v));
    hccl_verbs_close(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_go_round),        cmocka_unit_test(old_words),
        cmocka_unit_test(always_ready),           cmocka_unit_test(many_queue_pairs),
        cmocka_unit_test(no_sleep_without_slots), cmocka_unit_test(long_ones),
        cmocka_unit_test(nothing_inline),         cmocka_unit_test(too_many_gids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
