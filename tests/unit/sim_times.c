/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulator's times against times computed by hand, on a machine whose numbers are easy: links of
 * 1 GB/s, so 1000 bytes take 1 us.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../tools/flows.h"
#include "../../tools/sim.h"

#define US 1e-6

static hccl_machine_t easy(void)
{
    hccl_machine_t m;
    hccl_machine_default(&m);
    for (int i = 0; i < HCCL_TIERS; i++) {
        m.tier[i].alpha = (i + 1) * 10 * US;
        m.tier[i].bandwidth = 1e9 / (i + 1);
    }
    m.copy = 1e15;
    m.combine = m.bandwidth = m.inside_speed = 1e9;
    m.alpha = m.overhead = m.inside_alpha = m.rendezvous = 0;
    m.eager = 1e9;
    m.nics = 1;
    m.leaf = 0;
    return m;
}

static void assert_us(double seconds, double us)
{
    if (fabs(seconds / US - us) > 1e-6 * us + 1e-9) {
        fail_msg("%.9g us where %.9g us were expected", seconds / US, us);
    }
}

/* The time of a collective; vectors and blocks of `bytes`, one segment. */
static double run(const hccl_machine_t *m, hccl_coll_t coll, const char *algorithm,
                  const char *topology, size_t bytes, hccl_sim_report_t *report)
{
    char why[HCCL_SIM_WHY];
    hccl_shape_t *shape;
    hccl_sim_program_t *p;
    hccl_sim_report_t own;
    assert_int_equal(HCCL_OK, hccl_shape_from_text(topology, -1, &shape, why, sizeof(why)));
    hccl_sim_case_t c = {.algorithm = hccl_algo_find(coll, algorithm),
                         .shape = shape,
                         .leaf = (int) m->leaf,
                         .all_ranks = true};
    assert_true(c.algorithm >= 0);
    if (HCCL_OK != hccl_sim_compile(&c, &p, why)) {
        fail_msg("%s", why);
    }
    hccl_sim_setup_t setup = {.machine = m, .bytes = bytes, .nseg = 1};
    if (HCCL_OK != hccl_sim_run(p, &setup, &own, why)) {
        fail_msg("%s", why);
    }
    if (NULL != report) {
        *report = own; /* its links go with the program */
    }
    hccl_sim_free(p);
    hccl_shape_free(shape);
    return own.seconds;
}

static void one_message(void **state)
{
    (void) state;
    hccl_machine_t m = easy();
    m.alpha = 2 * US;
    m.overhead = 0.5 * US;
    /* sent after 0.5, gone after 1 more, there 2 later */
    assert_us(run(&m, HCCL_COLL_BCAST, "tree", "node:2", 1000, NULL), 3.5);
    /* not eager: 7 for the agreement */
    m.eager = 999;
    m.rendezvous = 7 * US;
    assert_us(run(&m, HCCL_COLL_BCAST, "tree", "node:2", 1000, NULL), 10.5);
    m.eager = 1000;
    assert_us(run(&m, HCCL_COLL_BCAST, "tree", "node:2", 1000, NULL), 3.5);
}

static void message_inside(void **state)
{
    (void) state;
    hccl_machine_t m = easy();
    m.inside_alpha = 3 * US;
    m.inside_speed = 5e8;
    /* 2 for the bytes, 3, and the flag's time between packages: 40 */
    assert_us(run(&m, HCCL_COLL_BCAST, "tree", "package:2", 1000, NULL), 45);
    assert_us(run(&m, HCCL_COLL_BCAST, "tree", "numa:2", 1000, NULL), 35);
    assert_us(run(&m, HCCL_COLL_BCAST, "tree", "l3:2", 1000, NULL), 25);
    assert_us(run(&m, HCCL_COLL_BCAST, "tree", "core:2", 1000, NULL), 15);
}

static void two_share_a_nic(void **state)
{
    (void) state;
    hccl_machine_t m = easy();
    m.alpha = 1 * US;
    /* two senders, one receiver's NIC: 2 for the bytes of both */
    assert_us(run(&m, HCCL_COLL_GATHER, "star", "node:3", 1000, NULL), 3);
    /* one sender's NIC */
    assert_us(run(&m, HCCL_COLL_SCATTER, "star", "node:3", 1000, NULL), 3);
    /* 4 messages leave and enter each node at a time; over two NICs, 2 each */
    m.inside_speed = 1e12;
    m.tier[HCCL_TIER_L3].alpha = 0;
    assert_us(run(&m, HCCL_COLL_ALLTOALL, "star", "node:2 rank:2", 1000, NULL), 5);
    m.nics = 2;
    assert_us(run(&m, HCCL_COLL_ALLTOALL, "star", "node:2 rank:2", 1000, NULL), 3);
}

static void later_sender_waits_for_its_share(void **state)
{
    (void) state;
    hccl_machine_t m = easy();
    m.overhead = 0.5 * US;
    /* scatter to 2: the first message alone from 0.5 to 1.0 (500 bytes), then both at half the rate:
     * the first ends at 2.0, the second has 500 bytes left, and ends at 2.5 */
    assert_us(run(&m, HCCL_COLL_SCATTER, "star", "node:3", 1000, NULL), 2.5);
}

static void burst(void **state)
{
    (void) state;
    hccl_machine_t m = easy();
    m.burst = 400;
    m.peak = 1e15;
    /* the third of three broadcasts in a row: nothing of the burst has come back */
    assert_us(run(&m, HCCL_COLL_BCAST, "tree", "node:2", 1000, NULL), 1);
    /* the network rests for 0.3 while the message is on its way: 300 bytes come back */
    m.alpha = 0.3 * US;
    assert_us(run(&m, HCCL_COLL_BCAST, "tree", "node:2", 1000, NULL), 0.7 + 0.3);
    /* ... and all 400 in 1 */
    m.alpha = 1 * US;
    assert_us(run(&m, HCCL_COLL_BCAST, "tree", "node:2", 1000, NULL), 0.6 + 1);
    /* two messages to one NIC have 1600 bytes left */
    assert_us(run(&m, HCCL_COLL_GATHER, "star", "node:3", 1000, NULL), 1.6 + 1);
    /* at 3 GB/s the burst is used up after 0.2, with 600 bytes gone: 400 are left */
    m.peak = 3e9;
    assert_us(run(&m, HCCL_COLL_BCAST, "tree", "node:2", 1000, NULL), 0.6 + 1);
    assert_us(run(&m, HCCL_COLL_BCAST, "tree", "node:2", 600, NULL), 0.2 + 1);
}

static void burst_comes_back(void **state)
{
    (void) state;
    const double capacity[] = {100};
    const int link[] = {0};
    hccl_flows_t *f = hccl_flows_new(1, capacity);
    assert_non_null(f);
    hccl_flows_burst(f, 0, 50, 200);
    /* 50 are used up at 0.5, with 100 bytes gone; 100 more take 1 */
    assert_true(hccl_flows_add(f, 0, link, 1, 200, 7));
    assert_float_equal(hccl_flows_next(f, 0), 0.5, 1e-9);
    assert_int_equal(-1, hccl_flows_take(f, 0.5));
    assert_float_equal(hccl_flows_next(f, 0.5), 1.5, 1e-9);
    assert_int_equal(7, hccl_flows_take(f, 1.5));
    assert_true(isinf(hccl_flows_next(f, 1.5)));
    /* idle for 0.2: 20 are back, and used up after another 0.2, with 40 bytes gone */
    assert_true(hccl_flows_add(f, 1.7, link, 1, 90, 8));
    assert_float_equal(hccl_flows_next(f, 1.7), 1.9, 1e-9);
    assert_int_equal(-1, hccl_flows_take(f, 1.9));
    assert_float_equal(hccl_flows_next(f, 1.9), 2.4, 1e-9);
    assert_int_equal(8, hccl_flows_take(f, 2.4));
    hccl_flows_free(f);
}

static void ring(void **state)
{
    (void) state;
    hccl_machine_t m = easy();
    m.alpha = 2 * US;
    m.overhead = 0.25 * US;
    m.combine = 2e9;
    /* 5 ranks, 5000 bytes: 8 rounds of 1000 bytes, each with one message sent and one received;
     * 4 times 1000 bytes are combined */
    double round = 2 + 1 + 2 * 0.25;
    hccl_sim_report_t r;
    double least = 8 * (round - 0.25) + 4 * 0.5, most = 8 * round + 4 * 0.5;
    double us = run(&m, HCCL_COLL_ALLREDUCE, "ring", "node:5", 5000, &r) / US;
    /* whether a message leaves before or after its rank has started to receive is the plan's choice */
    if (fabs(us - least) > 1e-6 && fabs(us - most) > 1e-6) {
        fail_msg("%.9g us, neither %.9g nor %.9g", us, least, most);
    }
    assert_int_equal(8, r.rounds);
    m.overhead = 0;
    assert_us(run(&m, HCCL_COLL_ALLREDUCE, "ring", "node:5", 5000, NULL), 8 * 3 + 4 * 0.5);
}

static void narrow_uplink(void **state)
{
    (void) state;
    hccl_machine_t m = easy();
    m.alpha = 1 * US;
    m.leaf = 2;
    m.leaf_alpha = 5 * US;
    m.oversubscribed = 4;
    /* gather from 1, below the root's switch, and from 2 and 3, whose uplink has half of a NIC's
     * bandwidth: these take 4, arrive 6 later; the root's NIC is not the limit then */
    assert_us(run(&m, HCCL_COLL_GATHER, "star", "node:4", 1000, NULL), 10);
    /* without oversubscription the root's NIC is: three messages */
    m.oversubscribed = 1;
    assert_us(run(&m, HCCL_COLL_GATHER, "star", "node:4", 1000, NULL), 9);
    m.leaf = 0;
    assert_us(run(&m, HCCL_COLL_GATHER, "star", "node:4", 1000, NULL), 4);
}

static void shared_memory(void **state)
{
    (void) state;
    hccl_machine_t m = easy();
    m.copy = 5e8;
    /* published after 2, seen 10 later, read in 1; between domains 30 later and in 3 */
    assert_us(run(&m, HCCL_COLL_BCAST, "mesh", "core:2", 1000, NULL), 13);
    assert_us(run(&m, HCCL_COLL_BCAST, "mesh", "numa:2", 1000, NULL), 35);
    /* mesh allreduce of 3: own copy out 2, flag 10, two reads 2 x 1, two combinations 2 x 1 */
    assert_us(run(&m, HCCL_COLL_ALLREDUCE, "mesh", "core:3", 1000, NULL), 16);
}

/* ---- flows ------------------------------------------------------------------------------------ */

static void max_min(void **state)
{
    (void) state;
    const double capacity[] = {10, 2, 8};
    const int a[] = {0, 1}, b[] = {0, 2}, c[] = {2};
    hccl_flows_t *f = hccl_flows_new(3, capacity);
    assert_non_null(f);
    /* a is held to 2 by link 1; b and c share link 2: 4 each; link 0 has 4 left */
    assert_true(hccl_flows_add(f, 0, a, 2, 20, 100));
    assert_true(hccl_flows_add(f, 0, b, 2, 8, 101));
    assert_true(hccl_flows_add(f, 0, c, 1, 12, 102));
    assert_float_equal(hccl_flows_next(f, 0), 2, 1e-9);
    assert_int_equal(101, hccl_flows_take(f, 2));
    assert_int_equal(-1, hccl_flows_take(f, 2));
    /* c has 4 left, alone at 8 */
    assert_float_equal(hccl_flows_next(f, 2), 2.5, 1e-9);
    assert_int_equal(102, hccl_flows_take(f, 2.5));
    assert_float_equal(hccl_flows_next(f, 2.5), 10, 1e-9);
    assert_int_equal(100, hccl_flows_take(f, 10));
    assert_true(isinf(hccl_flows_next(f, 10)));
    hccl_flows_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_message),
        cmocka_unit_test(message_inside),
        cmocka_unit_test(two_share_a_nic),
        cmocka_unit_test(later_sender_waits_for_its_share),
        cmocka_unit_test(burst),
        cmocka_unit_test(burst_comes_back),
        cmocka_unit_test(ring),
        cmocka_unit_test(narrow_uplink),
        cmocka_unit_test(shared_memory),
        cmocka_unit_test(max_min),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
