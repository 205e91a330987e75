/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The start-up probe: it ends in time, with a result that a ring can have, or with none; and what it
 * makes of given times. For that, the source is part of this test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include "../../src/tier/probe.c"

static const hccl_tuning_t usual = {32768, 262144};

/* The first two processors that this process may run on; the same one twice if there is one. */
static void take_pair(int pair[2])
{
    cpu_set_t set;
    int n = 0;
    assert_int_equal(0, sched_getaffinity(0, sizeof(set), &set));
    for (int i = 0; i < CPU_SETSIZE && n < 2; i++) {
        if (CPU_ISSET(i, &set)) {
            pair[n++] = i;
        }
    }
    pair[1] = n < 2 ? pair[0] : pair[1];
}

static void finds_sizes(void **state)
{
    cpu_set_t before, after;
    hccl_tuning_t found = {0, 0};
    int pair[2];
    (void) state;
    take_pair(pair);
    assert_int_equal(0, sched_getaffinity(0, sizeof(before), &before));
    /* Time enough for the slowest machine under a sanitizer. */
    assert_int_equal(HCCL_OK, hccl_probe(pair, 60, &usual, &found));
    assert_true(hccl_tuning_is_known(&found));
    assert_true(32768 == found.slot_large || 65536 == found.slot_large
                || 131072 == found.slot_large);
    assert_true(65536 == found.slot_wide || 131072 == found.slot_wide || 262144 == found.slot_wide);
    /* The caller stays where it was. */
    assert_int_equal(0, sched_getaffinity(0, sizeof(after), &after));
    assert_true(CPU_EQUAL(&before, &after));
}

static void ends_in_time(void **state)
{
    hccl_tuning_t found = {1, 2};
    int pair[2];
    (void) state;
    take_pair(pair);
    double began = now();
    assert_int_equal(HCCL_ERR_NOTSUP, hccl_probe(pair, 0, &usual, &found));
    assert_true(now() - began < 5);
    assert_int_equal(1, found.slot_large);
    assert_int_equal(2, found.slot_wide);
}

/* One of the threads cannot begin: the other must not wait for it. */
static void processors_that_are_not_there(void **state)
{
    hccl_tuning_t found;
    int pair[2];
    (void) state;
    take_pair(pair);
    double began = now();
    int none[2] = {pair[0], -1};
    assert_int_equal(HCCL_ERR_NOTSUP, hccl_probe(none, 60, &usual, &found));
    none[1] = 1 << 20;
    assert_int_equal(HCCL_ERR_NOTSUP, hccl_probe(none, 60, &usual, &found));
    assert_true(now() - began < 30);
}

/* Times of the candidates: 32, 64, 128 KiB one way, 256, 128, 64 KiB both ways. */
static uint32_t winner_of(bool both_ways, uint32_t usual_slot, double a, double b, double c)
{
    probe_t p;
    /* The other kind's times would always win, the other thread's would never. */
    double *least = p.side[0].least;
    for (int i = 0; i < CANDIDATES; i++) {
        least[i] = 1e-9;
        p.side[1].least[i] = 1e9;
    }
    least += both_ways ? 3 : 0;
    least[0] = a;
    least[1] = b;
    least[2] = c;
    return winner(&p, both_ways, usual_slot);
}

/* The usual size stays unless another takes a tenth less; then the fastest one. */
static void who_wins(void **state)
{
    (void) state;
    assert_int_equal(32768, winner_of(false, 32768, 100, 100, 100));
    assert_int_equal(32768, winner_of(false, 32768, 100, 91, 120));
    assert_int_equal(65536, winner_of(false, 32768, 100, 89, 120));
    assert_int_equal(131072, winner_of(false, 32768, 100, 89, 85));
    assert_int_equal(65536, winner_of(false, 32768, 100, 85, 89));
    assert_int_equal(32768, winner_of(false, 65536, 80, 100, 100));
    assert_int_equal(262144, winner_of(true, 262144, 100, 95, 95));
    assert_int_equal(131072, winner_of(true, 262144, 100, 50, 60));
    assert_int_equal(65536, winner_of(true, 262144, 100, 60, 50));
    /* A usual size that is no candidate, set by a parameter. */
    assert_int_equal(8192, winner_of(false, 8192, 100, 10, 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_sizes),
        cmocka_unit_test(ends_in_time),
        cmocka_unit_test(processors_that_are_not_there),
        cmocka_unit_test(who_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
