/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What tells of free slots gets lost, between processes of a stand-in device (fake_verbs.h) whose queue
 * pairs go on as if nothing had happened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_verbs.h"
#include "tier/verbs.h"
#include "verbs_world.h"

enum { MOST = 4 * SLOTS };

static int sent[MOST], got[MOST];
static hccl_verbs_message_t *s[MOST], *r[MOST];

/* Process 0 sends and process 1 receives n messages; nothing goes back. All are there at once. */
static void begin(int n)
{
    for (int i = 0; i < n; i++) {
        sent[i] = i + 1;
        got[i] = 0;
        r[i] = world_receive(1, 0, 5, &got[i], sizeof(got[i]));
    }
    for (int i = 0; i < n; i++) {
        s[i] = world_send(0, 1, 5, &sent[i], sizeof(sent[i]));
    }
}

static void end(int n)
{
    for (int i = 0; i < n; i++) {
        assert_int_equal(HCCL_OK, world_await(r[i]));
        assert_int_equal(HCCL_OK, world_await(s[i]));
        assert_int_equal(i + 1, got[i]);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* The peer asks, and is told again: on the same connection, soon. */
static void some_are_lost(void **state)
{
    (void) state;
    for (uint32_t seed = 1; seed <= 3; seed++) {
        world_begin(2, &world_usual, seed, 1);
        world_connect();
        fake.drops_words[1] = seed; /* of these, answers too */
        double started = now();
        begin(3 * SLOTS);
        end(3 * SLOTS);
        assert_int_equal(0, fake.drops_words[1]);
        assert_true(now() - started < 5);
        assert_int_equal(0, world_counted(0).reconnections);
        assert_int_equal(0, fake.not_ready);
        world_end();
    }
}

/* A question is lost: there is another one. */
static void questions_are_lost(void **state)
{
    (void) state;
    world_begin(2, &world_usual, 4, 1);
    world_connect();
    fake.drops_words[0] = 2;
    fake.drops_words[1] = 2;
    begin(3 * SLOTS);
    end(3 * SLOTS);
    assert_int_equal(0, fake.drops_words[0] + fake.drops_words[1]);
    assert_int_equal(0, world_counted(0).reconnections);
    world_end();
}

/* None ever arrives: the connection is made again, which both sides take for a fault like others. */
static void all_are_lost(void **state)
{
    hccl_verbs_settings_t set = world_usual;
    (void) state;
    for (set.channels = 1; set.channels <= 2; set.channels++) {
        world_begin(2, &set, 6, 1);
        world_connect();
        fake.drops_words[1] = -1;
        double started = now();
        begin(2 * SLOTS);
        end(2 * SLOTS);
        assert_true(now() - started < 10);
        assert_true(world_counted(0).reconnections >= 1);
        assert_true(world_counted(1).reconnections >= 1);
        world_end();
    }
}

/* Who does not take messages has lost nothing: no connection is made again however long that lasts, and nobody
 * says a word. */
static void a_peer_is_busy(void **state)
{
    (void) state;
    world_begin(2, &world_usual, 7, 1);
    world_connect();
    begin(2 * SLOTS);
    for (double until = now() + 2; now() < until;) {
        while (fake_step()) {
        }
        (void) hccl_verbs_progress(world.v[0]);
        usleep(100);
    }
    uint64_t asked = world_counted(0).requests;
    end(2 * SLOTS);
    assert_true(asked > SLOTS + 3); /* it did ask */
    assert_int_equal(0, world_counted(0).reconnections + world_counted(1).reconnections);
    world_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_are_lost),
        cmocka_unit_test(questions_are_lost),
        cmocka_unit_test(all_are_lost),
        cmocka_unit_test(a_peer_is_busy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
