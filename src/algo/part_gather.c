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

/* One or two messages with the positions of members i, i + 1, ..., i + count - 1 (round the
 * end). */
static void exchange_run(hccl_builder_t *b, const hccl_team_t *team, const hccl_map_t *map,
                         bool send, int peer, int base, int i, int count)
{
    const int head = i + count <= team->n ? count : team->n - i;
    const int runs[2][2] = {{i, head}, {0, count - head}};

    for (int k = 0; k < 2; k++) {
        const int first = hccl_map_first(map, runs[k][0]);
        const int positions = hccl_map_count(map, runs[k][0], runs[k][1]);

        if (0 == runs[k][1]) {
            continue;
        }
        if (send) {
            hccl_build_send(b, hccl_team_rank(team, peer), base, first, positions);
        } else {
            hccl_build_recv(b, hccl_team_rank(team, peer), base, first, positions);
        }
    }
}

void hccl_part_bruck_allgather(hccl_builder_t *b, const hccl_team_t *team, const hccl_map_t *map,
                               int base)
{
    const int n = team->n, me = team->me;

    if (!hccl_team_member(team)) {
        return;
    }
    /* I have the run of `have` members from me on; it grows by the run that follows */
    for (int have = 1; have < n;) {
        const int count = have <= n - have ? have : n - have;
        const int from = (me + have) % n;

        exchange_run(b, team, map, true, (me - have + n) % n, base, me, count);
        exchange_run(b, team, map, false, from, base, from, count);
        hccl_build_wait(b);
        have += count;
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
