/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What tells of free slots gets lost, between processes of a stand-in device (fake_verbs.h) whose queue
 * pairs go on as if nothing had happened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "fake_verbs.h"
#include "tier/verbs_engine.h"
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

/* The engine's clock, which goes on by 2 ms whenever it is looked at: what takes seconds is over soon, and takes no
 * longer where others use the processor. */
static uint64_t clock_ms;

int clock_gettime(clockid_t which, struct timespec *t)
{
    if (CLOCK_MONOTONIC_COARSE != which) {
        return (int) syscall(SYS_clock_gettime, which, t);
    }
    clock_ms += 2;
    *t = (struct timespec){.tv_sec = (time_t) (clock_ms / 1000),
                           .tv_nsec = (long) (clock_ms % 1000) * 1000000};
    return 0;
}

static double now(void)
{
    return 1e-3 * (double) clock_ms;
}

/* What is said on standard error from here on, until said(): how often does it say this? */
static FILE *heard;
static int saved;

static void listen(void)
{
    heard = tmpfile();
    assert_non_null(heard);
    fflush(stderr);
    saved = dup(STDERR_FILENO);
    assert_true(dup2(fileno(heard), STDERR_FILENO) >= 0);
}

static void stop_listening(void)
{
    fflush(stderr);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
}

static int times(const char *what)
{
    char line[1000];
    int n = 0;
    rewind(heard);
    while (NULL != fgets(line, sizeof(line), heard)) {
        n += NULL != strstr(line, what) ? 1 : 0;
    }
    return n;
}

/* Whether the first line that says this says that too. */
static bool first(const char *what, const char *that)
{
    char line[1000];
    rewind(heard);
    while (NULL != fgets(line, sizeof(line), heard)) {
        if (NULL != strstr(line, what)) {
            return NULL != strstr(line, that);
        }
    }
    return false;
}

/* The peer asks, and is told again: on the same connection, soon. The first loss is not worth a warning, and the
 * second one says all. */
static void some_are_lost(void **state)
{
    (void) state;
    for (uint32_t seed = 1; seed <= 3; seed++) {
        world_begin(2, &world_usual, seed, 1);
        world_connect();
        fake.drops_words[1] = seed; /* of these, answers too */
        double started = now();
        listen();
        begin(3 * SLOTS);
        end(3 * SLOTS);
        stop_listening();
        assert_int_equal(0, fake.drops_words[1]);
        assert_true(now() - started < 5);
        assert_int_equal(0, world_counted(0).reconnections);
        assert_int_equal(0, fake.not_ready);
        /* A ring is told of by one word or two: of two, one may be lost. */
        assert_in_range(times("info ["), 3 == seed ? 1 : 0, 1);
        assert_in_range(times("warning ["), 3 == seed ? 1 : 0, 1 == seed ? 0 : 1);
        assert_int_equal(times("rank 0 was told that"), times("info [") + times("warning ["));
        assert_true(3 != seed || first("was told", "info ["));
        fclose(heard);
        world_end();
    }
}

/* Lets only process 0 act, for so long; returns after how long it has asked for the first time, or 0. */
static double alone(double seconds, bool wire)
{
    double started = now(), asked = 0;
    uint64_t requests = world_counted(0).requests;
    while (now() < started + seconds) {
        while (wire && fake_step()) {
        }
        (void) hccl_verbs_progress(world.v[0]);
        if (0 == asked && world_counted(0).requests > requests) {
            asked = now() - started;
        }
    }
    return asked;
}

/* Three are lost, and what was told then arrives; again and again: these are not four in a row. */
static void not_in_a_row(void **state)
{
    (void) state;
    world_begin(2, &world_usual, 4, 1);
    world_connect();
    for (int round = 0; round < 3; round++) {
        fake.drops_words[1] = 3;
        begin(2 * SLOTS);
        end(2 * SLOTS);
        assert_int_equal(0, fake.drops_words[1]);
    }
    assert_int_equal(0, world_counted(0).reconnections);
    world_end();
}

/* Likewise for questions: one arrives after three, or the peer takes messages though it was not asked. */
static void questions_not_in_a_row(void **state)
{
    (void) state;
    for (int way = 0; way < 2; way++) {
        world_begin(2, &world_usual, 4, 1);
        world_connect();
        begin(3 * SLOTS);
        for (int round = 0; round < 2; round++) {
            fake.drops_words[0] = 3;
            (void) alone(0 == way ? 2.2 : 1.5 + 0.3 * round, true);
            assert_int_equal(0, fake.drops_words[0]);
            for (int i = 0; 1 == way && i < 20; i++) {
                (void) hccl_verbs_progress(world.v[1]);
                (void) fake_step();
            }
        }
        end(3 * SLOTS);
        assert_int_equal(0, world_counted(0).reconnections);
        world_end();
    }
}

/* Nobody asks before what was told can be known to be lost: twice the timeout of a packet, or 0.2 s if that is more,
 * and 0.2 s. That is looked at every 50 ms. */
static void asks_in_time(void **state)
{
    hccl_verbs_settings_t set = world_usual;
    (void) state;
    for (set.timeout = 14; set.timeout <= 16; set.timeout += 2) {
        double due = 14 == set.timeout ? 0.4 : 2 * 4.096e-6 * 65536 + 0.2;
        world_begin(2, &set, 5, 1);
        world_connect();
        begin(2 * SLOTS);
        double asked = alone(due + 0.3, true);
        assert_true(asked >= due && asked < due + 0.11);
        end(2 * SLOTS);
        world_end();
    }
}

/* Somebody takes messages, but slowly: nobody asks. */
static void a_peer_is_slow(void **state)
{
    (void) state;
    world_begin(2, &world_usual, 5, 1);
    world_connect();
    uint64_t before = world_counted(0).requests;
    begin(4 * SLOTS);
    for (int ring = 0; ring < 4; ring++) {
        (void) alone(0.3, true);
        for (int i = 0; i < 20; i++) {
            (void) hccl_verbs_progress(world.v[1]);
            (void) fake_step();
        }
    }
    end(4 * SLOTS);
    assert_int_equal(4 * SLOTS, world_counted(0).requests - before);
    world_end();
}

/* Somebody is there, but takes nothing: what it knows is what it was told. */
static void a_peer_takes_nothing(void **state)
{
    (void) state;
    world_begin(2, &world_usual, 5, 1);
    world_connect();
    listen();
    begin(3 * SLOTS);
    (void) alone(0.5, true);
    fake.mute[1] = true;
    for (double until = now() + 3; now() < until;) {
        world_turn();
    }
    fake.mute[1] = false;
    end(3 * SLOTS);
    stop_listening();
    assert_int_equal(0, times("was asked") + times("was told"));
    fclose(heard);
    assert_int_equal(0, world_counted(0).reconnections);
    world_end();
}

/* Nothing gets anywhere for a while: what is still under way is not lost. */
static void the_wire_is_slow(void **state)
{
    (void) state;
    world_begin(2, &world_usual, 5, 1);
    world_connect();
    listen();
    begin(2 * SLOTS);
    assert_true(0 != alone(0.5, true)); /* one question has arrived */
    assert_true(0 != alone(3, false));
    end(2 * SLOTS);
    stop_listening();
    assert_int_equal(0, times("was asked") + times("was told"));
    fclose(heard);
    assert_int_equal(0, world_counted(0).reconnections);
    world_end();
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

/* None ever arrives: the connection is made again, which both sides take for a fault like others; also where the
 * counts go round. */
static void all_are_lost(void **state)
{
    hccl_verbs_settings_t set = world_usual;
    (void) state;
    for (int turn = 0; turn < 3; turn++) {
        set.channels = 1 + turn / 2;
        world_begin(2, &set, 6, 1);
        world_connect();
        world_age(1 == turn ? (UINT64_C(1) << 32) - SLOTS : 0, true);
        fake.drops_words[1] = -1;
        double started = now();
        begin(2 * SLOTS);
        end(2 * SLOTS);
        /* The fourth question, 0.4 s after each other, and a look at the clock for each; two rings at most. */
        uint64_t again = world_counted(0).reconnections;
        assert_in_range(again, 1, 2);
        assert_int_equal(again, world_counted(1).reconnections);
        assert_true(now() - started >= 1.6 * (double) again);
        assert_true(now() - started < 2.3 * (double) again);
        world_end();
    }
}

/* On another channel, where nothing else tells of free slots: parts of long messages go there. */
static void on_another_channel(void **state)
{
    enum { N = 3 * SLOTS };
    static char a[N][8192], b[N][8192];
    hccl_verbs_settings_t set = world_usual;
    (void) state;
    set.channels = 2;
    world_begin(2, &set, 6, 1);
    world_connect();
    fake.drops_words[1] = -1;
    for (int i = 0; i < N; i++) {
        memset(a[i], i + 1, sizeof(a[i]));
        r[i] = world_receive(1, 0, 5, b[i], sizeof(b[i]));
        s[i] = world_send(0, 1, 5, a[i], sizeof(a[i]));
        assert_int_equal(HCCL_OK, world_await(r[i]));
        assert_int_equal(HCCL_OK, world_await(s[i]));
        assert_memory_equal(a[i], b[i], sizeof(a[i]));
    }
    assert_true(world_counted(0).reconnections >= 1);
    world_end();
}

/* Nothing arrives, neither what was told nor a question: who asks finds that out by itself, names ports and peer, and
 * the connection is made again. */
static void questions_too(void **state)
{
    hccl_verbs_settings_t set = world_usual;
    (void) state;
    for (set.channels = 1; set.channels <= 2; set.channels++) {
        world_begin(2, &set, 8, 1);
        world_connect();
        fake.drops_words[0] = -1;
        fake.drops_words[1] = -1;
        double started = now();
        listen();
        begin(2 * SLOTS);
        end(2 * SLOTS);
        stop_listening();
        /* Four times 0.4 s, and 0.4 s before the first question; two rings at most. */
        uint64_t again = world_counted(0).reconnections;
        assert_in_range(again, 1, 2);
        assert_int_equal(again, world_counted(1).reconnections);
        assert_true(now() - started >= 2 * (double) again);
        assert_true(now() - started < 2.45 * (double) again);
        assert_true(first("was asked", "info ["));
        /* One for each, by who asks; the first question that is lost is not worth one. */
        assert_int_equal(world_counted(0).reconnections, times("warning ["));
        assert_int_equal(2 * times("warning ["),
                         times("rank 1 was asked which messages it has taken, but the question is "
                               "not in its memory, though the queue pair (fake0/1 to its fake1/1) "
                               "has status: success. It is asked again, and after 4 times"));
        fclose(heard);
        world_end();
    }
}

/* One of both devices does not read, or is not read: then a question is all that there is. */
static void without_reads(void **state)
{
    (void) state;
    for (int side = 0; side < 2; side++) {
        world_begin(2, &world_usual, 9, 1);
        world.v[side]->port[0]->reads = false;
        world_connect();
        fake.drops_words[0] = 2;
        fake.drops_words[1] = 2;
        listen();
        begin(2 * SLOTS);
        (void) alone(2.2, true); /* more questions than are lost in a row at most */
        end(2 * SLOTS);
        stop_listening();
        assert_int_equal(0, times("was asked"));
        fclose(heard);
        assert_int_equal(0, world_counted(0).reconnections);
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
    listen();
    begin(2 * SLOTS);
    (void) alone(3, true);
    uint64_t asked = world_counted(0).requests;
    end(2 * SLOTS);
    world_settle(); /* it looks */
    stop_listening();
    assert_int_equal(0, times("was told") + times("was asked") + times("connection"));
    fclose(heard);
    /* A ring, of which world_connect has used one slot, and what is there to ask with: two each time, seven or so
     * times in 3 s. */
    assert_in_range(asked, SLOTS + 2 * 5, SLOTS + 2 * 7);
    assert_int_equal(0, world_counted(0).reconnections + world_counted(1).reconnections);
    world_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_are_lost),          cmocka_unit_test(not_in_a_row),
        cmocka_unit_test(questions_not_in_a_row), cmocka_unit_test(asks_in_time),
        cmocka_unit_test(a_peer_is_slow),         cmocka_unit_test(a_peer_takes_nothing),
        cmocka_unit_test(the_wire_is_slow),       cmocka_unit_test(questions_are_lost),
        cmocka_unit_test(all_are_lost),           cmocka_unit_test(on_another_channel),
        cmocka_unit_test(questions_too),          cmocka_unit_test(without_reads),
        cmocka_unit_test(a_peer_is_busy),
    };
    hccl_log_init(HCCL_LOG_INFO, -1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
