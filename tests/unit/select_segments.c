/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Segments of the rules between nodes: what a ring sends at once is short of the 64 KiB from which
 * Open MPI's TCP wants a handshake, on any number of nodes and ranks. And how data are cut into segments
 * and slots of lanes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "algo/algo.h"
#include "select/segments.h"
#include "select/select.h"

static size_t segment(hccl_coll_t coll, const char *text)
{
    char why[256];
    hccl_shape_t *shape;

    assert_int_equal(HCCL_OK, hccl_shape_from_text(text, -1, &shape, why, sizeof(why)));
    const hccl_case_t c = {.coll = coll, .shape = shape};
    const hccl_query_t query = {.c = &c, .bytes = 16777216, .commutative = true};
    const hccl_choice_t choice = hccl_select(&query);

    hccl_shape_free(shape);
    return choice.segment;
}

/* An allreduce is cut into shares: one for each node and rank of the smallest node. */
static void shares_of_a_vector(void **state)
{
    (void) state;
    assert_int_equal(8 * 61440, segment(HCCL_COLL_ALLREDUCE, "node:4 core:2"));
    assert_int_equal(16 * 61440, segment(HCCL_COLL_ALLREDUCE, "node:4 core:4"));
    assert_int_equal(5 * 61440, segment(HCCL_COLL_ALLREDUCE, "node:5 core:1"));
}

/* Elsewhere segments are of one rank's block. */
static void blocks(void **state)
{
    (void) state;
    assert_int_equal(61440, segment(HCCL_COLL_REDUCE_SCATTER_BLOCK, "node:8 core:1"));
    assert_int_equal(61440, segment(HCCL_COLL_ALLGATHER, "node:8 core:1"));
}

static const size_t slots[HCCL_LANES] = {4096, 32768, 262144};

/* A vector of one block, published as a whole. */
static hccl_uncut_t vector(size_t unit, size_t units, size_t segment)
{
    return (hccl_uncut_t){.coll = HCCL_COLL_SCAN,
                          .unit = unit,
                          .units = units,
                          .blocks = 1,
                          .publishes = true,
                          .published = 1,
                          .publication = units,
                          .longest = units * unit,
                          .segment = segment,
                          .slot_bytes = slots};
}

static void expect_whole(const hccl_uncut_t *what, int lane)
{
    const hccl_cut_t cut = hccl_select_cut(what);

    assert_true(cut.whole);
    assert_int_equal(lane, cut.lane);
}

static void expect_cut(const hccl_uncut_t *what, int lane, size_t slot, size_t seg_units)
{
    const hccl_cut_t cut = hccl_select_cut(what);

    assert_false(cut.whole);
    assert_int_equal(lane, cut.lane);
    assert_int_equal(slot, cut.slot);
    assert_int_equal(seg_units, cut.seg_units);
}

static void messages_alone(void **state)
{
    hccl_uncut_t what = vector(4, 100, 120);

    (void) state;
    what.publishes = false;
    expect_cut(&what, -1, 0, 25); /* 30 would leave 10 for the last one */
    what.segment = 400;
    expect_whole(&what, -1);
    what.segment = 3; /* shorter than an element */
    expect_whole(&what, -1);
}

static void one_way_on_a_node(void **state)
{
    hccl_uncut_t what = vector(1, 4096, 32768);

    (void) state;
    what.alone = true;
    expect_whole(&what, HCCL_LANE_SMALL);
    what = vector(1, 16384, 32768);
    what.alone = true;
    expect_whole(&what, HCCL_LANE_LARGE);
    what = vector(1, 40000, 32768); /* 4 equal ones; no room for whole lines */
    what.alone = true;
    expect_cut(&what, HCCL_LANE_LARGE, 32768, 10000);
    what = vector(1, 20000, 32768); /* 8192 at least */
    what.alone = true;
    expect_cut(&what, HCCL_LANE_LARGE, 32768, 6720);
    what = vector(8, 1 << 20, 32768);
    what.alone = true;
    expect_cut(&what, HCCL_LANE_LARGE, 32768, 4096);
    what.alone = false; /* longer messages */
    expect_cut(&what, HCCL_LANE_WIDE, 262144, 4096);
}

/* With a root, shorter ones are cut, and what it combines into shorter pieces. */
static void to_or_from_a_root(void **state)
{
    static const struct {
        hccl_coll_t coll;
        size_t bytes, seg; /* seg 0: whole */
    } some[] = {
        {HCCL_COLL_BCAST, 12288, 0},       {HCCL_COLL_BCAST, 12289, 6208},
        {HCCL_COLL_BCAST, 16384, 8192},    {HCCL_COLL_BCAST, 65536, 16384},
        {HCCL_COLL_BCAST, 131072, 32768},  {HCCL_COLL_REDUCE, 12288, 0},
        {HCCL_COLL_REDUCE, 16384, 8192},   {HCCL_COLL_REDUCE, 65536, 9408}, /* 7 */
        {HCCL_COLL_REDUCE, 131072, 10112},                                  /* 13 */
        {HCCL_COLL_REDUCE, 131073, 26240},                                  /* 5 */
    };

    (void) state;
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        hccl_uncut_t what = vector(1, some[i].bytes, 32768);
        what.coll = some[i].coll;
        what.alone = true;
        if (0 == some[i].seg) {
            expect_whole(&what, HCCL_LANE_LARGE);
        } else {
            expect_cut(&what, HCCL_LANE_LARGE, 32768, some[i].seg);
        }
    }
}

/* Every publication fits its slot, in blocks of whole lines if there is room. */
static void all_ways(void **state)
{
    hccl_uncut_t what = vector(4, 300000, 0);

    (void) state;
    what.blocks = 3;
    what.published = 3;
    expect_cut(&what, HCCL_LANE_WIDE, 262144, 60000); /* 5 equal ones of at most 65,535 */
    what = vector(4, 65536, 0);
    expect_whole(&what, HCCL_LANE_WIDE);
    what = vector(4, 65537, 0);
    expect_cut(&what, HCCL_LANE_WIDE, 262144, 32784); /* 32,769 up to whole lines */
    what.segment = 1 << 16;
    expect_cut(&what, HCCL_LANE_WIDE, 262144, 13120);
    what = vector(4, 43690, 0);
    what.published = 3;
    what.publication = 3 * what.units;
    expect_cut(&what, HCCL_LANE_WIDE, 262144, 21845); /* no room for whole lines */
    what = vector(12, 43691, 0);
    expect_cut(&what, HCCL_LANE_WIDE, 262144, 14564); /* no lines */
    what = vector(1, (4 << 20) + 1, 0);
    what.alone = true;
    expect_cut(&what, HCCL_LANE_WIDE, 131072, 127104);
    what.longest = 4 << 20;
    expect_cut(&what, HCCL_LANE_WIDE, 262144, 246784);
}

static void not_alike(void **state)
{
    hccl_uncut_t what = vector(300000, 2, 0);

    (void) state;
    expect_cut(&what, HCCL_LANE_WIDE, 262144, 0); /* an element is longer than a slot */
    what = vector(1, 0, 0);                       /* blocks of different sizes */
    what.publication = 262145;
    expect_cut(&what, HCCL_LANE_WIDE, 262144, 0);
    what.publication = 262144;
    expect_whole(&what, HCCL_LANE_WIDE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_of_a_vector), cmocka_unit_test(blocks),
        cmocka_unit_test(messages_alone),     cmocka_unit_test(one_way_on_a_node),
        cmocka_unit_test(to_or_from_a_root),  cmocka_unit_test(all_ways),
        cmocka_unit_test(not_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
