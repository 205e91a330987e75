/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rings over the network for one team: every member sends (n - 1)/n of the data in n - 1 steps to one
 * neighbour.
 *
 * Used by algo/ only.
 */
#include "algo/exchange.h"

void hccl_part_ring_reduce_scatter(hccl_builder_t *b, const hccl_team_t *team,
                                   const hccl_map_t *map, int tmp, int src, int dst)
{
    const hccl_stream_t s = {*team, *map, 1};
    hccl_exchange_t x;

    if (hccl_exchange_begin(&x, b, &hccl_pattern_ring, team->n)) {
        hccl_part_reducing(b, &x, &s, 1, src, tmp, tmp, dst);
    }
    hccl_exchange_close(&x);
}

void hccl_part_ring_allgather(hccl_builder_t *b, const hccl_team_t *team, const hccl_map_t *map,
                              int base, int complete)
{
    const hccl_stream_t s = {*team, *map, 1};
    hccl_exchange_t x;

    if (hccl_exchange_begin(&x, b, &hccl_pattern_ring, team->n)) {
        hccl_part_gathering(b, &x, &s, 1, base, complete);
    }
    hccl_exchange_close(&x);
}
