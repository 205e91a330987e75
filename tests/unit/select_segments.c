/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Segments of the rules between nodes: what a ring sends at once is short of the 64 KiB from which
 * Open MPI's TCP wants a handshake, on any number of nodes and ranks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "algo/algo.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_of_a_vector),
        cmocka_unit_test(blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
