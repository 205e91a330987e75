/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages by RDMA between processes of several ports: which pairs of ports they go over, that they go on
 * over others when ports fail, and that both sides give up alike when none is left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tier/verbs_engine.h"
#include "verbs_world.h"

/* All pairs of ports, once each; the ones in use first, then those with the same numbers. */
static void routes(void **state)
{
    (void) state;
    for (int na = 1; na <= 8; na++) {
        for (int nb = 1; nb <= 8; nb++) {
            hccl_verbs_t a = {.me = 3}, b = {.me = 5};
            hccl_verbs_peer_t of_a = {.v = &a, .number = 5}, of_b = {.v = &b, .number = 3};
            bool seen[8][8] = {{false}};
            a.ports.n = of_b.ports.n = na;
            b.ports.n = of_a.ports.n = nb;
            a.ports.first = of_b.ports.first = (nb + 1) % na;
            b.ports.first = of_a.ports.first = na == nb ? a.ports.first : na % nb;
            assert_int_equal(na * nb, hccl_verbs_routes(&of_a));
            for (int i = 0; i < na * nb; i++) {
                int mine, theirs, there, back;
                assert_true(hccl_verbs_route_ends(&of_a, i, &mine, &theirs));
                assert_true(hccl_verbs_route_ends(&of_b, i, &back, &there));
                assert_int_equal(mine, there);
                assert_int_equal(theirs, back);
                assert_false(seen[mine][theirs]);
                seen[mine][theirs] = true;
                if (0 == i) {
                    assert_int_equal(a.ports.first, mine);
                    assert_int_equal(b.ports.first, theirs);
                }
                if (na == nb && i < na) {
                    assert_int_equal(mine, theirs);
                }
            }
        }
    }
}

static hccl_verbs_message_t *some[4];
static char from[4][40000], to[4][40000];

/* Two long messages and two short ones, both ways. */
static void start_some(char value)
{
    for (int i = 0; i < 4; i++) {
        memset(from[i], value + i, sizeof(from[i]));
        memset(to[i], 0, sizeof(to[i]));
    }
    some[0] = world_send(0, 1, 7, from[0], sizeof(from[0]));
    some[1] = world_receive(1, 0, 7, to[0], sizeof(to[0]));
    some[2] = world_send(1, 0, 7, from[1], 100);
    some[3] = world_receive(0, 1, 7, to[1], 100);
}

static void end_some(int error)
{
    for (int i = 0; i < 4; i++) {
        /* A short one has ended when it is in its slot. */
        assert_int_equal(2 == i ? HCCL_OK : error, world_await(some[i]));
    }
    if (HCCL_OK == error) {
        assert_memory_equal(from[0], to[0], sizeof(from[0]));
        assert_memory_equal(from[1], to[1], 100);
    }
}

/* After each number of turns, the port in use goes down: of one side, then the last one of the other. */
static void moves(void **state)
{
    (void) state;
    for (int turns = 0; turns < 60; turns++) {
        world_begin(2, &world_usual, (uint32_t) turns, 2);
        fake.loses_answers = true;
        world_connect();
        start_some(1);
        for (int i = 0; i < turns; i++) {
            world_turn();
        }
        fake.down[turns % 4] = true; /* process 0 has 0 and 1, process 1 has 2 and 3 */
        end_some(HCCL_OK);
        start_some(2);
        end_some(HCCL_OK);
        world_settle();
        /* The ports that are not in use may fail. */
        bool used = 0 == turns % 4 || 2 == turns % 4;
        assert_int_equal(used ? 1 : 0, world_counted(0).moves);
        assert_int_equal(used ? 1 : 0, world_counted(1).moves);
        /* Ports 1 and 3, or 0 and 2, are in use now: then 1 and 2, or 0 and 3, are left. */
        fake.down[used ? 5 - turns % 4 * 2 - (0 == turns % 4 ? 2 : 0) : (turns % 4 + 2) % 4] = true;
        start_some(3);
        end_some(HCCL_OK);
        world_end();
    }
}

/* Ports come and go at random; queue pairs break for no reason. */
static int upset;

static void upset_ports(void)
{
    for (int i = 0; i < 2 * PROCS; i++) {
        fake.down[i] = false;
    }
    /* One of each process at most. */
    for (int i = 0; i < PROCS; i++) {
        uint32_t which = fake_random(4);
        if (which < 2) {
            fake.down[2 * (uint32_t) i + which] = true;
            upset++;
        }
    }
    if (0 == fake_random(3)) {
        (void) fake_break();
    }
}

static void ports_come_and_go(void **state)
{
    hccl_verbs_settings_t set = world_usual;
    uint64_t moved = 0;
    (void) state;
    for (uint32_t seed = 31; seed <= 36; seed++) {
        set.channels = 1 + (int) (seed % 3);
        set.reconnects = 1000;
        world_random(&set, seed, 40, 2, 400, upset_ports);
        for (int i = 0; i < PROCS; i++) {
            moved += world_counted(i).moves;
        }
        world_end();
    }
    assert_true(upset > 0 && moved > 20);
}

/* Both ports of one side are down, or both sides' are: everything that waits fails, on both sides. */
static void none_left(void **state)
{
    hccl_verbs_key_t key = {.comm = 7, .tag = 1};
    (void) state;
    for (int sides = 1; sides <= 2; sides++) {
        hccl_verbs_settings_t set = world_usual;
        set.reconnects = 2 - sides;
        world_begin(2, &set, 5, 2);
        world_connect();
        for (int i = 0; i < 2 * sides; i++) {
            fake.down[i] = true;
        }
        start_some(1);
        end_some(HCCL_ERR_SYS);
        world_settle();
        assert_int_equal(HCCL_ERR_SYS, hccl_verbs_send(world.peer[0][1], &key, "", 1, &some[0]));
        assert_int_equal(HCCL_ERR_SYS, hccl_verbs_receive(world.peer[1][0], &key, to, 1, &some[0]));
        assert_int_equal(0, fake.queue_pairs);
        world_end();
    }
}

/* What waits is asked for while the connection moves, in each state: nothing stays registered for it when it
 * has ended. */
static void asked_for_meanwhile(void **state)
{
    static const hccl_verbs_peer_state_t states[] = {HCCL_VERBS_WANTED, HCCL_VERBS_VOTING,
                                                     HCCL_VERBS_AGREED, HCCL_VERBS_EXCHANGING,
                                                     HCCL_VERBS_CONNECTING};
    static char a[20000], b[20000];
    (void) state;
    for (uint32_t turn = 0; turn < 5 * 4; turn++) {
        world_begin(2, &world_usual, turn, 2);
        hccl_verbs_keep(world.v[0], false);
        hccl_verbs_keep(world.v[1], false);
        world_connect();
        int regions = fake.regions;
        memset(a, (int) turn + 1, sizeof(a));
        memset(b, 0, sizeof(b));
        hccl_verbs_message_t *s = world_send(0, 1, 7, a, sizeof(a));
        world_settle();
        fake.down[0] = true;
        char x = 1, y = 0;
        hccl_verbs_message_t *there = world_receive(0, 1, 8, &y, 1);
        hccl_verbs_message_t *here = world_send(1, 0, 8, &x, 1);
        while (states[turn % 5] != world.peer[1][0]->state) {
            assert_int_equal(HCCL_VERBS_UNDER_WAY, hccl_verbs_look(there));
            world_turn();
        }
        hccl_verbs_message_t *r = world_receive(1, 0, 7, b, sizeof(b));
        assert_int_equal(HCCL_OK, world_await(r));
        assert_int_equal(HCCL_OK, world_await(s));
        assert_int_equal(HCCL_OK, world_await(there));
        assert_int_equal(HCCL_OK, world_await(here));
        assert_memory_equal(a, b, sizeof(a));
        world_settle();
        assert_int_equal(1, world_counted(0).moves);
        assert_int_equal(regions, fake.regions);
        world_end();
    }
}

/* A message comes in pieces, since its sender has no memory to register. When the connection moves, the receiver says
 * anew where it goes, behind many others; by then all pieces may be there, and it may be gone. */
static void said_too_late(void **state)
{
    enum { N = 3 * SLOTS };
    static char a[6000], b[6000];
    (void) state;
    for (uint32_t turns = 0; turns < 300; turns++) {
        char x[N], y[N];
        hccl_verbs_message_t *s[N], *r[N];
        world_begin(2, &world_usual, turns, 2);
        world_connect();
        memset(a, (int) turns + 1, sizeof(a));
        assert_true(hccl_verbs_offer(world.v[1], b, sizeof(b)));
        fake.lock_limit = fake.locked + 1;
        hccl_verbs_message_t *there = world_send(0, 1, 7, a, sizeof(a));
        hccl_verbs_message_t *here = world_receive(1, 0, 7, b, sizeof(b));
        while (!there->in_pieces) {
            world_turn();
        }
        fake.lock_limit = 0;
        for (int i = 0; i < N; i++) {
            x[i] = (char) i;
            s[i] = world_send(1, 0, 8, &x[i], 1);
            r[i] = world_receive(0, 1, 8, &y[i], 1);
        }
        for (uint32_t i = 0; i < turns; i++) {
            world_turn();
        }
        fake.down[0] = true;
        while (HCCL_VERBS_UNDER_WAY == hccl_verbs_look(here)) {
            world_turn();
        }
        const hccl_verbs_item_t *item = world.peer[1][0]->channel[0].waiting;
        for (; NULL != item; item = item->next) {
            assert_ptr_not_equal(here, item->message);
        }
        assert_int_equal(HCCL_OK, world_await(here));
        assert_int_equal(HCCL_OK, world_await(there));
        assert_memory_equal(a, b, sizeof(a));
        for (int i = 0; i < N; i++) {
            assert_int_equal(HCCL_OK, world_await(s[i]));
            assert_int_equal(HCCL_OK, world_await(r[i]));
            assert_int_equal(i, y[i]);
        }
        world_end();
    }
}

/* A message has ended for its sender, whose device knows that it has arrived; but the receiver's device dies
 * before it says so. */
static void untold(void **state)
{
    (void) state;
    world_begin(2, &world_usual, 6, 2);
    world_connect();
    start_some(1);
    while (HCCL_VERBS_UNDER_WAY == hccl_verbs_look(some[0])) {
        /* All parts are on their way: only what process 1 has to say of its memory came before that. */
        fake.mute[2] = fake.mute[2] || some[0]->parts > 0;
        world_turn();
    }
    assert_true(fake.mute[2]);
    assert_int_equal(HCCL_VERBS_UNDER_WAY, hccl_verbs_look(some[1]));
    fake.down[2] = true;
    char a = 5, b = 0;
    hccl_verbs_message_t *s = world_send(0, 1, 9, &a, 1), *r = world_receive(1, 0, 9, &b, 1);
    end_some(HCCL_OK);
    assert_int_equal(HCCL_OK, world_await(s));
    assert_int_equal(HCCL_OK, world_await(r));
    assert_int_equal(5, b);
    fake.mute[2] = false;
    world_end();
}

/* What is short gets through, as where a switch has too small an MTU: that must not look like success for
 * ever. */
static void only_short_ones(void **state)
{
    (void) state;
    for (int ports = 1; ports <= 2; ports++) {
        world_begin(2, &world_usual, 6, ports);
        world_connect();
        fake.longest = 1024;
        start_some(1);
        assert_int_equal(HCCL_ERR_SYS, world_await(some[0]));
        assert_int_equal(HCCL_ERR_SYS, world_await(some[1]));
        assert_int_equal(HCCL_OK, world_await(some[2]));
        assert_int_equal(HCCL_OK, world_await(some[3]));
        assert_true(world_counted(0).reconnections <= (uint64_t) world_usual.reconnects + 1);
        world_end();
    }
}

/* The next port cannot be opened, is down, has another address than it had, or can register nothing any
 * more: the one after it is taken. */
static void lame_ports(void **state)
{
    (void) state;
    for (int reason = 0; reason < 4; reason++) {
        world_begin(2, &world_usual, 5, 3);
        world_connect();
        if (3 == reason) { /* as after a fault, all ports are open */
            assert_int_equal(7, hccl_verbs_working(world.v[0]));
        }
        fake.down[0] = true;
        fake.broken[1] = 0 == reason || 3 == reason;
        fake.down[4] = 1 == reason;
        fake.renamed[1] = 2 == reason;
        start_some(1);
        end_some(HCCL_OK);
        world_settle();
        assert_int_equal(3 == reason ? 2 : 1, world_counted(0).moves);
        assert_string_equal("fake2", world.v[0]->ports.card[world.peer[0][1]->mine_at].device);
        assert_string_equal("fake5", world.v[1]->ports.card[world.peer[1][0]->mine_at].device);
        world_end();
    }
}

/* What has failed is named. */
static void names(void **state)
{
    char text[200];
    (void) state;
    world_begin(2, &world_usual, 5, 2);
    hccl_verbs_peer_t *peer = world.peer[0][1];
    peer->tried = 5; /* the first and the third route */
    hccl_verbs_print_tried(peer, text, sizeof(text));
    assert_string_equal("fake0/1 to its fake2/1, fake0/1 to its fake3/1", text);
    hccl_verbs_print_tried(peer, text, 10);
    assert_string_equal("fake0/1 t", text);
    world_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes),
        cmocka_unit_test(moves),
        cmocka_unit_test(asked_for_meanwhile),
        cmocka_unit_test(said_too_late),
        cmocka_unit_test(ports_come_and_go),
        cmocka_unit_test(none_left),
        cmocka_unit_test(only_short_ones),
        cmocka_unit_test(untold),
        cmocka_unit_test(lame_ports),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
