/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The plan of an algorithm, for unit tests of what looks into finished plans. Include it behind cmocka.h.
 */
#ifndef HCCL_TESTS_UNIT_BUILT_PLAN_H
#define HCCL_TESTS_UNIT_BUILT_PLAN_H

#include "algo/algo.h"
#include "select/select.h"

/* Of one rank of a topology; freed with free. */
static inline hccl_plan_t *built_plan(hccl_coll_t coll, const char *algorithm, const char *text,
                                      int me)
{
    char why[256];
    hccl_shape_t *shape;
    hccl_plan_t *built;

    assert_int_equal(HCCL_OK, hccl_shape_from_text(text, -1, &shape, why, sizeof(why)));
    const hccl_case_t c = {.coll = coll, .shape = shape, .me = me};
    const int number = hccl_algo_find(coll, algorithm);

    assert_true(number >= 0);
    assert_int_equal(HCCL_OK, hccl_select_build(&c, number, &built));
    hccl_shape_free(shape);
    return built;
}

#endif
