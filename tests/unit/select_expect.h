/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the rules choose for a topology, for unit tests of select/. Include it behind cmocka.h.
 */
#ifndef HCCL_TESTS_SELECT_EXPECT_H
#define HCCL_TESTS_SELECT_EXPECT_H

#include "algo/algo.h"
#include "select/select.h"

static void expect(const char *algorithm, hccl_coll_t coll, const char *text, size_t bytes,
                   bool commutative)
{
    char why[256];
    hccl_shape_t *shape;

    assert_int_equal(HCCL_OK, hccl_shape_from_text(text, -1, &shape, why, sizeof(why)));
    const hccl_case_t c = {.coll = coll, .shape = shape};
    const hccl_query_t query = {.c = &c, .bytes = bytes, .commutative = commutative};

    assert_string_equal(algorithm, hccl_algos[hccl_select(&query).algorithm].name);
    hccl_shape_free(shape);
}

#endif
