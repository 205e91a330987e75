/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The rules for nodes that are divided: who gets tier_*, and that others keep what they had.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "select_expect.h"

static void large_nodes_that_are_divided_use_their_groups(void **state)
{
    (void) state;
    expect("tier_tree", HCCL_COLL_ALLREDUCE, "numa:2 core:8", 64, true);
    expect("tier_slices", HCCL_COLL_ALLREDUCE, "numa:2 core:8", 1 << 20, false);
    expect("tier_slices", HCCL_COLL_ALLREDUCE, "package:2 l3:2 core:2", 1 << 20, true);
    expect("tier_tree", HCCL_COLL_BARRIER, "l3:4 core:4", 0, true);
    expect("tier_tree", HCCL_COLL_BCAST, "numa:2 core:4", 64, true);
    expect("tier_slices", HCCL_COLL_REDUCE, "numa:2 core:4", 1 << 20, true);
    expect("tier_slices", HCCL_COLL_ALLGATHER, "numa:2 core:4", 1 << 16, true);
    expect("tier_slices", HCCL_COLL_REDUCE_SCATTER_BLOCK, "numa:2 core:4", 1 << 16, true);
}

static void others_keep_their_algorithms(void **state)
{
    static const char *const texts[] = {
        "rank:16",                                      /* one level */
        "numa:16 core:1",                               /* one rank to a part */
        "numa:2 core:2",                                /* few ranks */
        "numa:15 core:(2,1,1,1,1,1,1,1,1,1,1,1,1,1,1)", /* mostly one rank to a part */
    };

    (void) state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        expect("mesh", HCCL_COLL_ALLREDUCE, texts[i], 64, true);
        expect("slices", HCCL_COLL_ALLREDUCE, texts[i], 1 << 20, true);
        expect("mesh", HCCL_COLL_BARRIER, texts[i], 0, true);
        expect("mesh", HCCL_COLL_BCAST, texts[i], 1 << 20, true);
        expect("mesh", HCCL_COLL_ALLGATHER, texts[i], 1 << 16, true);
    }
    /* ranks that are not in a row can't keep the order of an op that does not commute */
    expect("slices", HCCL_COLL_ALLREDUCE, "numa:2 core:4 map:0,4,1,5,2,6,3,7", 1 << 20, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_nodes_that_are_divided_use_their_groups),
        cmocka_unit_test(others_keep_their_algorithms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
