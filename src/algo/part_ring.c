/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rings over the network: every member sends (n - 1)/n of the data in n - 1 steps to one neighbour.
 *
 * Used by algo/ only.
 */
#include "algo/parts.h"

void hccl_part_ring_reduce_scatter(hccl_builder_t *b, const hccl_team_t *team,
                                   const hccl_map_t *map, int tmp, int src, int dst)
{
    const int n = team->n, me = team->me;

    if (!hccl_team_member(team)) {
        return;
    }
    if (1 == n) {
        hccl_part_move(b, dst, src, hccl_map_first(map, 0), hccl_map_count(map, 0, 1));
        return;
    }
    /* the sum of member i's positions starts at member i + 1 and travels up to member i */
    for (int step = 0; step < n - 1; step++) {
        const int out = (me - step - 1 + n) % n;
        const int in = (me - step - 2 + 2 * n) % n;
        const int first = hccl_map_first(map, in), count = hccl_map_count(map, in, 1);

        hccl_build_send(b, hccl_team_rank(team, (me + 1) % n), 0 == step ? src : tmp,
                        hccl_map_first(map, out), hccl_map_count(map, out, 1));
        hccl_build_recv(b, hccl_team_rank(team, (me - 1 + n) % n), tmp, first, count);
        hccl_build_wait(b);
        hccl_part_combine(b, me == in ? dst : tmp, tmp, src, first, count);
    }
}

void hccl_part_ring_allgather(hccl_builder_t *b, const hccl_team_t *team, const hccl_map_t *map,
                              int base, int complete)
{
    const int n = team->n, me = team->me;

    if (!hccl_team_member(team)) {
        return;
    }
    for (int step = 0; step < n - 1; step++) {
        const int out = (me - step + n) % n;
        const int in = (me - step - 1 + n) % n;

        if ((me + 1) % n != complete) {
            hccl_build_send(b, hccl_team_rank(team, (me + 1) % n), base, hccl_map_first(map, out),
                            hccl_map_count(map, out, 1));
        }
        if (me != complete) {
            hccl_build_recv(b, hccl_team_rank(team, (me - 1 + n) % n), base,
                            hccl_map_first(map, in), hccl_map_count(map, in, 1));
        }
        hccl_build_wait(b);
    }
}
