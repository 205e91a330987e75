/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Exchanges over the network in log2(n) rounds that combine nothing: gatherings and the barrier.
 *
 * Used by algo/ only.
 */
#include "algo/parts.h"

void hccl_part_dissemination(hccl_builder_t *b, const hccl_team_t *team)
{
    const int n = team->n, me = team->me;

    if (!hccl_team_member(team)) {
        return;
    }
    for (int distance = 1; distance < n; distance *= 2) {
        hccl_build_send(b, hccl_team_rank(team, (me + distance) % n), HCCL_BASE_SEND, 0, 0);
        hccl_build_recv(b, hccl_team_rank(team, (me - distance + n) % n), HCCL_BASE_RECV, 0, 0);
        hccl_build_wait(b);
        if (distance > n / 2) {
            break; /* the next distance need not fit an int */
        }
    }
}

void hccl_part_doubling_allgather(hccl_builder_t *b, const hccl_team_t *team, const hccl_map_t *map,
                                  int base)
{
    const hccl_pairs_t pairs = hccl_pairs_of(team);
    const int n = team->n, me = team->me;

    if (!hccl_team_member(team)) {
        return;
    }
    if (0 > pairs.me) {
        hccl_build_send(b, hccl_team_rank(team, me - 1), base, hccl_map_first(map, me),
                        hccl_map_count(map, me, 1));
        hccl_build_recv(b, hccl_team_rank(team, me - 1), base, hccl_map_first(map, 0),
                        hccl_map_count(map, 0, me));
        hccl_build_recv(b, hccl_team_rank(team, me - 1), base, hccl_map_first(map, me + 1),
                        hccl_map_count(map, me + 1, n - me - 1));
        hccl_build_wait(b);
        return;
    }
    if (pairs.me < pairs.surplus) {
        hccl_build_recv(b, hccl_team_rank(team, me + 1), base, hccl_map_first(map, me + 1),
                        hccl_map_count(map, me + 1, 1));
        hccl_build_wait(b);
    }
    for (int bit = 1; bit < pairs.power; bit *= 2) {
        const int have = pairs.me & ~(bit - 1), want = have ^ bit; /* first partners of two runs */
        const int peer = hccl_team_rank(team, hccl_pairs_member(&pairs, pairs.me ^ bit));
        const int from = hccl_pairs_member(&pairs, have);
        const int to = hccl_pairs_member(&pairs, want);

        hccl_build_send(b, peer, base, hccl_map_first(map, from),
                        hccl_map_count(map, from, hccl_pairs_member(&pairs, have + bit) - from));
        hccl_build_recv(b, peer, base, hccl_map_first(map, to),
                        hccl_map_count(map, to, hccl_pairs_member(&pairs, want + bit) - to));
        hccl_build_wait(b);
    }
    if (pairs.me < pairs.surplus) {
        const int peer = hccl_team_rank(team, me + 1);

        hccl_build_send(b, peer, base, hccl_map_first(map, 0), hccl_map_count(map, 0, me + 1));
        hccl_build_send(b, peer, base, hccl_map_first(map, me + 2),
                        hccl_map_count(map, me + 2, n - me - 2));
        hccl_build_wait(b);
    }
}
