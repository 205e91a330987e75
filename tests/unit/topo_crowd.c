/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * More processes than processors: by what they may run on, by limits of time, host by host.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "topo/topo.h"

enum { MOST = 16 };

static hccl_card_t card[MOST];
static const hccl_card_t *cards[MOST];
static int n;

static void begin(void)
{
    n = 0;
}

/* So many processes alike. */
static void add(int times, uint64_t host, uint64_t set, int count, int quota)
{
    for (int i = 0; i < times; i++) {
        hccl_card_init(&card[n]);
        card[n].host_key = host + (uint64_t) i; /* as the topology parameter may have it */
        card[n].cpus = (hccl_cpus_t){host, set, count, quota};
        cards[n] = &card[n];
        n++;
    }
}

static void assert_crowded(bool any, bool here, uint64_t host)
{
    bool found_any = !any;
    bool found_here = !here;
    assert_int_equal(HCCL_OK, hccl_cards_crowded(cards, n, host, &found_any, &found_here));
    assert_int_equal(any, found_any);
    assert_int_equal(here, found_here);
}

static void unbound(void **state)
{
    (void) state;
    begin();
    add(4, 1, 100, 4, 0);
    assert_crowded(false, false, 1);
    add(1, 1, 100, 4, 0);
    assert_crowded(true, true, 1);
    assert_crowded(true, false, 2);
}

static void bound_to_cores(void **state)
{
    (void) state;
    begin();
    for (uint64_t set = 0; set < 4; set++) {
        add(1, 1, set, 1, 0);
    }
    assert_crowded(false, false, 1);
    add(1, 1, 2, 1, 0);
    assert_crowded(true, true, 1);
}

/* The same numbers of processors on different hosts are different processors. */
static void other_hosts(void **state)
{
    (void) state;
    begin();
    add(2, 1, 100, 2, 0);
    add(2, 2, 100, 2, 0);
    add(2, 3, 100, 2, 0);
    assert_crowded(false, false, 2);
    add(1, 3, 100, 2, 0);
    assert_crowded(true, false, 2);
    assert_crowded(true, true, 3);
}

static void limited_time(void **state)
{
    (void) state;
    begin();
    add(1, 1, 1, 1, 2);
    add(1, 1, 2, 1, 2);
    assert_crowded(false, false, 1);
    add(1, 1, 3, 1, 2);
    assert_crowded(true, true, 1);
}

static void unknown(void **state)
{
    (void) state;
    begin();
    add(5, 0, 7, 1, 0); /* host unknown */
    add(5, 1, 7, 0, 0); /* processors unknown */
    cards[n++] = NULL;
    assert_crowded(false, false, 1);
    assert_crowded(false, false, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unbound),     cmocka_unit_test(bound_to_cores),
        cmocka_unit_test(other_hosts), cmocka_unit_test(limited_time),
        cmocka_unit_test(unknown),
    };
    return cmocka_run_group_tests_name("topo_crowd", tests, NULL, NULL);
}
