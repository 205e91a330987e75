/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that are read in the ring that they came through: where their bytes are, when their slots are free
 * again, that nobody is held up by one that is not returned, and what faults do to them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "fake_verbs.h"
#include "tier/verbs.h"
#include "verbs_world.h"

/* Process 1 asks process 0. */
static hccl_verbs_message_t *borrow(int tag, void *data, size_t bytes)
{
    hccl_verbs_key_t key = {.comm = 7, .tag = tag};
    hccl_verbs_message_t *m = NULL;
    assert_int_equal(HCCL_OK, hccl_verbs_borrow(world.peer[1][0], &key, data, bytes, &m));
    return m;
}

/* Waits; the message stays. */
static int await(hccl_verbs_message_t *m)
{
    time_t limit = time(NULL) + 20;
    while (HCCL_VERBS_UNDER_WAY == hccl_verbs_look(m)) {
        assert_true(time(NULL) < limit);
        world_turn();
    }
    return m->error;
}

static void begin(uint32_t seed)
{
    world_begin(2, &world_usual, seed, 1);
    world_connect();
}

/* One work request, one doorbell, one completion, and no copy at the receiver; asked for before or after. */
static void read_in_the_ring(void **state)
{
    (void) state;
    for (int early = 0; early < 2; early++) {
        uint64_t a = 42, b = 7;
        hccl_verbs_message_t *r = NULL, *s = NULL;
        begin(1);
        hccl_verbs_counters_t before = world_counted(0), there = world_counted(1);
        if (0 == early) {
            r = borrow(5, &b, 8);
        }
        s = world_send(0, 1, 5, &a, 8);
        if (1 == early) {
            world_settle();
            r = borrow(5, &b, 8);
        }
        assert_int_equal(HCCL_OK, await(r));
        assert_int_equal(HCCL_OK, world_await(s));
        const char *at = hccl_verbs_pin(r);
        assert_non_null(at);
        assert_memory_equal(&a, at, 8);
        hccl_verbs_unpin(r, 0);
        assert_ptr_equal(at, hccl_verbs_pin(r)); /* again, by another step */
        hccl_verbs_return(r, 0);
        assert_int_equal(7, b);
        world_settle();
        hccl_verbs_counters_t after = world_counted(0), now = world_counted(1);
        assert_int_equal(1, after.requests - before.requests);
        assert_int_equal(1, after.inlined - before.inlined);
        assert_int_equal(1, after.doorbells - before.doorbells);
        assert_int_equal(1, now.completions - there.completions);
        assert_int_equal(0, now.requests - there.requests);
        assert_int_equal(there.taken, now.taken);
        assert_int_equal(1, now.lent);
        world_end();
    }
}

/* A reader that only copies is a copy, and a message that is received as ever is one. */
static void copies_are_counted(void **state)
{
    uint64_t a = 42, b = 7;
    (void) state;
    begin(2);
    uint64_t taken = world_counted(1).taken;
    hccl_verbs_message_t *r = world_receive(1, 0, 5, &b, 8);
    hccl_verbs_message_t *s = world_send(0, 1, 5, &a, 8);
    assert_int_equal(HCCL_OK, world_await(r));
    assert_int_equal(HCCL_OK, world_await(s));
    assert_int_equal(taken + 1, world_counted(1).taken);
    r = borrow(5, &b, 8);
    s = world_send(0, 1, 5, &a, 8);
    assert_int_equal(HCCL_OK, await(r));
    assert_non_null(hccl_verbs_pin(r));
    hccl_verbs_unpin(r, 1);
    assert_non_null(hccl_verbs_pin(r));
    hccl_verbs_return(r, 1);
    assert_int_equal(HCCL_OK, world_await(s));
    assert_int_equal(taken + 3, world_counted(1).taken);
    assert_int_equal(0, world_counted(1).lent);
    world_end();
}

/* Whoever asks for other than what comes gets it as ever: reading on behind it would be wrong. */
static void not_what_was_asked_for(void **state)
{
    static char a[5000], b[5000];
    (void) state;
    memset(a, 3, sizeof(a));
    begin(3);
    static const size_t sent[] = {0, 8, 8, EAGER, EAGER + 1, 5000};
    static const size_t asked[] = {0, 9, 7, EAGER, EAGER + 1, 5000};
    for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++) {
        memset(b, 1, sizeof(b));
        hccl_verbs_message_t *r = borrow(5, b, asked[i]);
        hccl_verbs_message_t *s = world_send(0, 1, 5, a, sent[i]);
        assert_int_equal(sent[i] > asked[i] ? HCCL_ERR_ARG : HCCL_OK, await(r));
        assert_int_equal(HCCL_OK, world_await(s));
        if (EAGER == sent[i]) {
            assert_memory_equal(a, hccl_verbs_pin(r), EAGER);
        } else {
            assert_null(hccl_verbs_pin(r));
            assert_true(sent[i] > asked[i] || 0 == memcmp(a, b, sent[i]));
        }
        hccl_verbs_return(r, 0);
    }
    assert_int_equal(1, world_counted(1).lent);
    world_end();
}

/* A loan that is not returned holds up nobody: the ring takes its slot back. One that is being read stays, and
 * who sends waits until it is let go. */
static void nobody_is_held_up(void **state)
{
    enum { MORE = 5 * SLOTS };
    enum { ASKED, EARLY, PINNED, PINNED_AND_RETURNED, WAYS };
    (void) state;
    for (int way = ASKED; way < WAYS; way++) {
        bool pinned = PINNED == way || PINNED_AND_RETURNED == way;
        int a = 1000, b = 0;
        int from[MORE], to[MORE];
        hccl_verbs_message_t *s[MORE], *r[MORE];
        begin(4);
        hccl_verbs_message_t *loan = EARLY == way ? NULL : borrow(5, &b, sizeof(b));
        hccl_verbs_message_t *first = world_send(0, 1, 5, &a, sizeof(a));
        if (EARLY == way) {
            world_settle();
            loan = borrow(5, &b, sizeof(b));
        }
        assert_int_equal(HCCL_OK, await(loan));
        const char *at = pinned ? hccl_verbs_pin(loan) : NULL;
        for (int i = 0; i < MORE; i++) {
            from[i] = i;
            r[i] = world_receive(1, 0, 6, &to[i], sizeof(to[i]));
            s[i] = world_send(0, 1, 6, &from[i], sizeof(from[i]));
        }
        world_settle();
        int ended = 0;
        for (int i = 0; i < MORE; i++) {
            ended += HCCL_VERBS_ENDED == hccl_verbs_look(r[i]) ? 1 : 0;
        }
        if (pinned) {
            /* Nobody has told of the slot before the loan's, either. */
            assert_int_equal(SLOTS - 2, ended);
            assert_int_equal(0, b);
            assert_memory_equal(&a, at, sizeof(a));
        } else {
            assert_int_equal(MORE, ended);
        }
        if (PINNED == way) {
            hccl_verbs_unpin(loan, 0);
        }
        if (PINNED_AND_RETURNED != way) {
            assert_int_equal(a, b); /* it is there now */
            assert_null(hccl_verbs_pin(loan));
        }
        hccl_verbs_return(loan, 0);
        for (int i = 0; i < MORE; i++) {
            assert_int_equal(HCCL_OK, world_await(r[i]));
            assert_int_equal(HCCL_OK, world_await(s[i]));
            assert_int_equal(i, to[i]);
        }
        assert_int_equal(HCCL_OK, world_await(first));
        assert_int_equal(0, fake.not_ready);
        assert_int_equal(PINNED_AND_RETURNED == way ? 1 : 0, world_counted(1).lent);
        world_end();
    }
}

/* Slots come back when loans are returned, in any order, without a message in the other direction. */
static void slots_come_back(void **state)
{
    enum { LOANS = SLOTS / 2 };
    (void) state;
    begin(5);
    for (int round = 0; round < 50; round++) {
        int a[LOANS], b[LOANS];
        hccl_verbs_message_t *r[LOANS], *s[LOANS];
        for (int i = 0; i < LOANS; i++) {
            a[i] = round * LOANS + i;
            b[i] = -1;
            r[i] = borrow(i, &b[i], sizeof(b[i]));
            s[i] = world_send(0, 1, i, &a[i], sizeof(a[i]));
        }
        for (int i = 0; i < LOANS; i++) {
            assert_int_equal(HCCL_OK, await(r[i]));
            assert_int_equal(HCCL_OK, world_await(s[i]));
        }
        for (int i = 0; i < LOANS; i++) {
            int k = (i * 3 + round) % LOANS;
            const char *at = hccl_verbs_pin(r[k]);
            assert_non_null(at);
            assert_memory_equal(&a[k], at, sizeof(a[k]));
            hccl_verbs_return(r[k], 0);
            assert_int_equal(-1, b[k]);
        }
    }
    assert_int_equal(50 * LOANS, world_counted(1).lent);
    world_end();
}

/* A loan outlives queue pairs: nobody writes to its slot before it is returned. */
static void faults(void **state)
{
    enum { LOANS = 3, BYTES = 100 };
    static char a[LOANS][BYTES], b[LOANS][BYTES];
    hccl_verbs_settings_t set = world_usual;
    (void) state;
    set.reconnects = 1000;
    world_begin(2, &set, 6, 1);
    fake.loses_answers = true;
    world_connect();
    uint64_t in_place = 0;
    for (int round = 0; round < 80; round++) {
        hccl_verbs_message_t *r[LOANS], *s[LOANS];
        for (int i = 0; i < LOANS; i++) {
            memset(a[i], round * 3 + i + 1, BYTES);
            memset(b[i], 0, BYTES);
            r[i] = borrow(i, b[i], BYTES);
            s[i] = world_send(0, 1, i, a[i], BYTES);
        }
        for (int i = 0; i < LOANS; i++) {
            assert_int_equal(HCCL_OK, await(r[i]));
            for (int turn = 0; turn < 200; turn++) {
                world_turn();
                if (0 == fake_random(60)) {
                    (void) fake_break();
                }
            }
            /* More messages go by, while the first loans wait. */
            char x = (char) i, y = 0;
            hccl_verbs_message_t *other = world_receive(1, 0, 9, &y, 1);
            hccl_verbs_message_t *sent = world_send(0, 1, 9, &x, 1);
            assert_int_equal(HCCL_OK, world_await(other));
            assert_int_equal(HCCL_OK, world_await(sent));
            assert_int_equal(x, y);
        }
        for (int i = 0; i < LOANS; i++) {
            const char *at = hccl_verbs_pin(r[i]);
            in_place += NULL == at ? 0 : 1;
            assert_memory_equal(a[i], NULL == at ? b[i] : at, BYTES);
            hccl_verbs_return(r[i], 0);
            assert_int_equal(HCCL_OK, world_await(s[i]));
        }
    }
    assert_true(world_counted(0).reconnections > 10);
    assert_int_equal(in_place, world_counted(1).lent);
    assert_true(in_place >= 80 && in_place < 80 * LOANS); /* the oldest had to leave */
    world_end();
}

/* Nobody will send: as other receives. */
static void cancelled(void **state)
{
    uint64_t b = 7;
    (void) state;
    begin(7);
    hccl_verbs_message_t *r = borrow(5, &b, 8);
    hccl_verbs_cancel(r);
    assert_int_equal(HCCL_OK, await(r));
    assert_null(hccl_verbs_pin(r));
    hccl_verbs_return(r, 0);
    world_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_in_the_ring),
        cmocka_unit_test(copies_are_counted),
        cmocka_unit_test(not_what_was_asked_for),
        cmocka_unit_test(nobody_is_held_up),
        cmocka_unit_test(slots_come_back),
        cmocka_unit_test(faults),
        cmocka_unit_test(cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
