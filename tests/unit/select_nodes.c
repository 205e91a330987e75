/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The rules for several nodes: exchanges that take rounds by the logarithm of the number of nodes, with
 * the bytes of a ring whatever that number is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "select_expect.h"

static void odd_numbers_of_nodes_send_no_more(void **state)
{
    (void) state;
    expect("hier_pipeline", HCCL_COLL_ALLREDUCE, "node:3 rank:2", 32 << 10, true);
    expect("hier_nb", HCCL_COLL_ALLREDUCE, "node:7 rank:2", 8 << 10, true);
    expect("hier_rd_slices", HCCL_COLL_ALLREDUCE, "node:8 rank:2", 8 << 10, true);
    expect("hier_pipeline", HCCL_COLL_ALLREDUCE, "node:4 rank:2", 64 << 10, true);
    expect("hier_nb", HCCL_COLL_ALLREDUCE, "node:9 rank:2", 64 << 10, true);
    expect("hier_rhd", HCCL_COLL_ALLREDUCE, "node:16 rank:2", 64 << 10, true);
    expect("hier_radix", HCCL_COLL_ALLREDUCE, "node:3 rank:2", 4 << 10, true);
    expect("hier_pipeline", HCCL_COLL_ALLREDUCE, "node:3 rank:2", 1 << 20, true);
    expect("nb", HCCL_COLL_ALLREDUCE, "node:6", 64 << 10, true);
    expect("rhd", HCCL_COLL_ALLREDUCE, "node:8", 64 << 10, true);
    expect("nb", HCCL_COLL_REDUCE_SCATTER, "node:6", 1 << 10, true);
    expect("nb", HCCL_COLL_REDUCE_SCATTER, "node:8", 1 << 10, true);
    expect("ring", HCCL_COLL_REDUCE_SCATTER, "node:8", 64 << 10, true);
}

static void many_nodes_take_few_rounds(void **state)
{
    (void) state;
    expect("hier_pipeline", HCCL_COLL_ALLREDUCE, "node:24 rank:2", 512 << 10, true);
    expect("hier_pipeline", HCCL_COLL_ALLREDUCE, "node:24 rank:2", 16 << 20, true);
    expect("hier_nhr", HCCL_COLL_ALLREDUCE, "node:257 rank:2", 16 << 20, true);
    expect("hier_pipeline", HCCL_COLL_ALLREDUCE, "node:8 rank:2", 16 << 20, true);
    expect("hier_pipeline", HCCL_COLL_ALLREDUCE, "node:16 rank:2", 16 << 20, true);
    expect("hier_rhd", HCCL_COLL_ALLREDUCE, "node:32 rank:2", 16 << 20, true);
    expect("hier_rhd", HCCL_COLL_ALLREDUCE, "node:8 rank:2", 512 << 10, true);
    expect("hier_pipeline", HCCL_COLL_ALLREDUCE, "node:7 rank:2", 8 << 20, true);
    expect("hier_nhr", HCCL_COLL_ALLREDUCE, "node:7 rank:2", 64 << 10, true);
    expect("hier_nhr", HCCL_COLL_ALLGATHER, "node:8 rank:2", 4 << 10, true);
    expect("hier_ring", HCCL_COLL_ALLGATHER, "node:8 rank:2", 8 << 10, true);
    expect("hier_nhr", HCCL_COLL_ALLGATHER, "node:16 rank:2", 8 << 10, true);
    expect("hier_nb", HCCL_COLL_ALLGATHER, "node:7 rank:2", 4 << 10, true);
    expect("hier_ring", HCCL_COLL_ALLGATHER, "node:3 rank:2", 256, true);
    expect("hier_nhr", HCCL_COLL_ALLGATHER, "node:4 rank:2", 4 << 10, true);
    expect("hier_nhr", HCCL_COLL_REDUCE_SCATTER_BLOCK, "node:8 rank:2", 2 << 10, true);
    expect("hier_pipeline", HCCL_COLL_REDUCE_SCATTER_BLOCK, "node:8 rank:2", 4 << 10, true);
    expect("hier_nhr", HCCL_COLL_REDUCE_SCATTER, "node:16 rank:2", 4 << 10, true);
    expect("hier_pipeline", HCCL_COLL_REDUCE_SCATTER, "node:16 rank:2", 4 << 20, true);
}

static void bcast_to_many_nodes_has_no_long_chain(void **state)
{
    (void) state;
    expect("hier_chain", HCCL_COLL_BCAST, "node:2 rank:2", 64 << 10, true);
    expect("hier_scatter_ring", HCCL_COLL_BCAST, "node:3 rank:2", 32 << 10, true);
    expect("hier_double_tree", HCCL_COLL_BCAST, "node:3 rank:2", 128 << 10, true);
    expect("hier_tree4", HCCL_COLL_BCAST, "node:4 rank:2", 4 << 10, true);
    expect("hier_scatter_nb", HCCL_COLL_BCAST, "node:4 rank:2", 64 << 10, true);
    expect("hier_tree4", HCCL_COLL_BCAST, "node:5 rank:2", 4 << 10, true);
    expect("hier_scatter_nb", HCCL_COLL_BCAST, "node:16 rank:2", 128 << 10, true);
    expect("hier_scatter_nb", HCCL_COLL_BCAST, "node:8 rank:2", 256 << 10, true);
    expect("hier_scatter_nb", HCCL_COLL_BCAST, "node:16 rank:2", 256 << 10, true);
    expect("hier_chain", HCCL_COLL_BCAST, "node:16 rank:2", 1 << 20, true);
    expect("hier_double_tree", HCCL_COLL_BCAST, "node:32 rank:2", 512 << 10, true);
    expect("hier_tree", HCCL_COLL_BCAST, "node:32 rank:2", 4 << 10, true);
    expect("hier_double_tree", HCCL_COLL_BCAST, "node:64 rank:2", 2 << 20, true);
    expect("hier_chain", HCCL_COLL_BCAST, "node:64 rank:2", 4 << 20, true);
    expect("tree", HCCL_COLL_BCAST, "node:16", 1 << 10, true);
    expect("scatter_nb", HCCL_COLL_BCAST, "node:16", 64 << 10, true);
    expect("scatter_ring", HCCL_COLL_BCAST, "node:8", 256 << 10, true);
    expect("chain", HCCL_COLL_BCAST, "node:16", 1 << 20, true);
    expect("scatter_nb", HCCL_COLL_BCAST, "node:64", 1 << 20, true);
}

static void reduce_from_many_nodes_has_no_long_chain(void **state)
{
    (void) state;
    expect("hier_line", HCCL_COLL_REDUCE, "node:2 rank:4", 64 << 10, true);
    expect("hier_tree4", HCCL_COLL_REDUCE, "node:5 rank:2", 2 << 10, true);
    expect("hier_double_tree", HCCL_COLL_REDUCE, "node:5 rank:2", 8 << 10, true);
    expect("hier_nb", HCCL_COLL_REDUCE, "node:9 rank:2", 8 << 10, true);
    expect("hier_nb", HCCL_COLL_REDUCE, "node:5 rank:2", 128 << 10, true);
    expect("hier_double_tree", HCCL_COLL_REDUCE, "node:5 rank:2", 256 << 10, true);
    expect("hier_line", HCCL_COLL_REDUCE, "node:16 rank:2", 2 << 20, true);
    expect("hier_double_tree", HCCL_COLL_REDUCE, "node:32 rank:2", 4 << 20, true);
    expect("nb", HCCL_COLL_REDUCE, "node:8", 64 << 10, true);
    expect("chain", HCCL_COLL_REDUCE, "node:8", 1 << 20, true);
    expect("hier_tree", HCCL_COLL_REDUCE, "node:5 rank:2", 32 << 10, false);
    expect("hier_chain", HCCL_COLL_REDUCE, "node:5 rank:2", 64 << 10, false);
    expect("tree", HCCL_COLL_REDUCE, "node:5", 32 << 10, false);
}

static void nodes_of_different_size_use_all_ranks(void **state)
{
    (void) state;
    expect("hier_ahc_pipeline", HCCL_COLL_ALLREDUCE, "node:3 rank:(1,2,3)", 1 << 20, true);
    expect("hier_ahc_pipeline", HCCL_COLL_ALLREDUCE, "node:3 rank:(1,2,3)", 16 << 10, true);
    expect("hier_ahc_nhr", HCCL_COLL_ALLREDUCE, "node:8 rank:(1,2,3,1,2,3,1,2)", 64 << 10, true);
    expect("hier_ahc_nb", HCCL_COLL_ALLREDUCE, "node:9 rank:(1,2,3,1,2,3,1,2,3)", 64 << 10, true);
    expect("hier_ahc_pipeline", HCCL_COLL_ALLREDUCE, "node:9 rank:(1,2,3,1,2,3,1,2,3)", 1 << 20,
           true);
    expect("hier_ahc_pipeline", HCCL_COLL_ALLREDUCE, "node:9 rank:(1,2,3,1,2,3,1,2,3)", 2 << 20,
           true);
    expect("hier_ahc_pipeline", HCCL_COLL_ALLREDUCE, "node:4 rank:(5,5,5,4)", 1 << 20, true);
    expect("hier_pipeline", HCCL_COLL_ALLREDUCE, "node:4 rank:(6,6,6,5)", 1 << 20, true);
    expect("hier_ahc_scatter_nb", HCCL_COLL_BCAST, "node:4 rank:(2,2,2,1)", 64 << 10, true);
    expect("hier_scatter_nb", HCCL_COLL_BCAST, "node:4 rank:(3,3,3,2)", 64 << 10, true);
    expect("hier_ahc_pipeline", HCCL_COLL_REDUCE_SCATTER, "node:3 rank:(1,2,3)", 64 << 10, true);
    expect("hier_ahc_pipeline", HCCL_COLL_REDUCE_SCATTER, "node:3 rank:(1,2,3)", 64, true);
    expect("hier_nb", HCCL_COLL_REDUCE_SCATTER, "node:6 rank:(2,3,2,3,2,3)", 64, true);
    expect("hier_ahc_nb", HCCL_COLL_REDUCE_SCATTER, "node:6 rank:(2,3,2,3,2,3)", 2 << 10, true);
    expect("hier_nhr", HCCL_COLL_REDUCE_SCATTER, "node:4 rank:2", 64, true);
    expect("hier_ahc_pipeline", HCCL_COLL_REDUCE_SCATTER_BLOCK, "node:6 rank:(2,3,2,3,2,3)",
           4 << 10, true);
    expect("hier_ahc_nb", HCCL_COLL_ALLGATHER, "node:6 rank:(2,3,2,3,2,3)", 4 << 10, true);
    expect("hier_ahc", HCCL_COLL_ALLGATHER, "node:3 rank:(1,2,3)", 64 << 10, true);
}

static void order_is_kept(void **state)
{
    (void) state;
    expect("hier_rhd", HCCL_COLL_ALLREDUCE, "node:3 rank:2", 64 << 10, false);
    expect("rhd", HCCL_COLL_ALLREDUCE, "node:6", 64 << 10, false);
    expect("hier_runs_pairwise", HCCL_COLL_REDUCE_SCATTER, "node:8 rank:2", 4 << 10, false);
    expect("rhd", HCCL_COLL_REDUCE_SCATTER, "node:8", 4 << 10, false);
    /* ranks that are not in a row */
    expect("hier_runs", HCCL_COLL_ALLREDUCE, "node:4 rank:4 map:cyclic", 8, false);
    expect("hier_runs_slices", HCCL_COLL_ALLREDUCE, "node:4 rank:4 map:cyclic", 64 << 10, false);
    expect("hier_runs_slices", HCCL_COLL_REDUCE, "node:3 rank:(1,2,3) map:cyclic", 1 << 20, false);
    expect("hier_runs", HCCL_COLL_SCAN, "node:2 rank:4 map:cyclic", 8, true);
    expect("hier_gaps", HCCL_COLL_EXSCAN, "node:3 rank:4", 16 << 10, true);
    expect("hier_chain", HCCL_COLL_SCAN, "node:4 rank:2 map:cyclic", 64 << 10, false);
    expect("chain", HCCL_COLL_SCAN, "node:4", 128 << 10, false);
    expect("hier_runs_halving", HCCL_COLL_REDUCE_SCATTER, "node:2 rank:4 map:cyclic", 1024, false);
    expect("hier_runs_pairwise", HCCL_COLL_REDUCE_SCATTER, "node:2 rank:4 map:cyclic", 1025, false);
    expect("hier_runs_halving", HCCL_COLL_REDUCE_SCATTER, "node:12 rank:2 map:cyclic", 2048, false);
    expect("hier_runs_halving", HCCL_COLL_REDUCE_SCATTER, "node:12 rank:2", 256, false);
    expect("hier_runs_pairwise", HCCL_COLL_REDUCE_SCATTER, "node:12 rank:2", 257, false);
    expect("hier_runs_pairwise", HCCL_COLL_REDUCE_SCATTER, "node:2 rank:4 map:cyclic", 64 << 10,
           false);
    expect("hier_runs_pairwise", HCCL_COLL_REDUCE_SCATTER, "node:8 rank:2", 1 << 20, false);
    expect("hier_runs_pairwise", HCCL_COLL_REDUCE_SCATTER, "node:6 rank:2", 1 << 20, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_numbers_of_nodes_send_no_more),
        cmocka_unit_test(many_nodes_take_few_rounds),
        cmocka_unit_test(bcast_to_many_nodes_has_no_long_chain),
        cmocka_unit_test(reduce_from_many_nodes_has_no_long_chain),
        cmocka_unit_test(nodes_of_different_size_use_all_ranks),
        cmocka_unit_test(order_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
