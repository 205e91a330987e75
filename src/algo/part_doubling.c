/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions over the network in log2(n) rounds: recursive doubling, halving (Rabenseifner) and
 * prefixes.
 *
 * Neighbours meet first, so that what a member holds is always the combination of a consecutive run
 * of members: all of these are ordered. Used by algo/ only.
 */
#include "algo/parts.h"

hccl_pairs_t hccl_pairs_of(const hccl_team_t *team)
{
    const int power = hccl_part_power(team->n);
    const int surplus = team->n - power;
    int me = team->me - surplus;

    if (team->me < 2 * surplus) {
        me = 0 == team->me % 2 ? team->me / 2 : -1;
    }
    return (hccl_pairs_t){.power = power, .surplus = surplus, .me = me};
}

int hccl_pairs_member(const hccl_pairs_t *pairs, int v)
{
    return v < pairs->surplus ? 2 * v : v + pairs->surplus;
}

/* The partner that a member is or belongs to. */
static int partner_of(const hccl_pairs_t *pairs, int member)
{
    return member < 2 * pairs->surplus ? member / 2 : member - pairs->surplus;
}

/* Whether a neighbour stands in for a member. */
static bool stood_in_for(const hccl_pairs_t *pairs, int member)
{
    return member < 2 * pairs->surplus && 1 == member % 2;
}

/* The rank of partner v. */
static int partner_rank(const hccl_team_t *team, const hccl_pairs_t *pairs, int v)
{
    return hccl_team_rank(team, hccl_pairs_member(pairs, v));
}

/* The first half of pairing: a pair's lower member takes over what the upper one has. Returns where
 * the partner's operand is: src, or dst after combining two. */
static int pairs_join(hccl_builder_t *b, const hccl_team_t *team, const hccl_pairs_t *pairs,
                      int tmp, int src, int dst, int first, int count)
{
    if (0 > pairs->me) {
        hccl_build_send(b, hccl_team_rank(team, team->me - 1), src, first, count);
        hccl_build_wait(b);
    } else if (pairs->me < pairs->surplus) {
        hccl_build_recv(b, hccl_team_rank(team, team->me + 1), tmp, first, count);
        hccl_build_wait(b);
        hccl_part_combine(b, dst, src, tmp, first, count);
        return dst;
    }
    return src;
}

/* The second half: the upper member gets the result. */
static void pairs_leave(hccl_builder_t *b, const hccl_team_t *team, const hccl_pairs_t *pairs,
                        int base, int first, int count)
{
    if (0 > pairs->me) {
        hccl_build_recv(b, hccl_team_rank(team, team->me - 1), base, first, count);
        hccl_build_wait(b);
    } else if (pairs->me < pairs->surplus) {
        hccl_build_send(b, hccl_team_rank(team, team->me + 1), base, first, count);
        hccl_build_wait(b);
    }
}

void hccl_part_doubling(hccl_builder_t *b, const hccl_team_t *team, int tmp, int src, int dst,
                        int first, int count)
{
    if (!hccl_team_member(team)) {
        return;
    }
    const hccl_pairs_t pairs = hccl_pairs_of(team);
    int mine = pairs_join(b, team, &pairs, tmp, src, dst, first, count);

    for (int bit = 1; 0 <= pairs.me && bit < pairs.power; bit *= 2) {
        const int peer = partner_rank(team, &pairs, pairs.me ^ bit);
        const bool lower = 0 == (pairs.me & bit);

        hccl_build_send(b, peer, mine, first, count);
        hccl_build_recv(b, peer, tmp, first, count);
        hccl_build_wait(b);
        hccl_part_combine(b, dst, lower ? mine : tmp, lower ? tmp : mine, first, count);
        mine = dst;
    }
    if (0 <= pairs.me) {
        hccl_part_move(b, dst, mine, first, count);
    }
    pairs_leave(b, team, &pairs, dst, first, count);
}

int hccl_part_slot(const hccl_pairs_t *pairs, int v)
{
    int slot = 0;

    for (int bit = 1; bit < pairs->power; bit *= 2, v /= 2) {
        slot = 2 * slot + v % 2;
    }
    return slot;
}

void hccl_part_halving(hccl_builder_t *b, const hccl_team_t *team, const hccl_map_t *map, int tmp,
                       int src, int acc)
{
    if (!hccl_team_member(team)) {
        return;
    }
    const hccl_pairs_t pairs = hccl_pairs_of(team);
    int low = 0, mine;

    mine = pairs_join(b, team, &pairs, tmp, src, acc, hccl_map_first(map, 0),
                      hccl_map_count(map, 0, pairs.power));
    for (int bit = 1; 0 <= pairs.me && bit < pairs.power; bit *= 2) {
        const int half = pairs.power / bit / 2; /* slots */
        const int peer = partner_rank(team, &pairs, pairs.me ^ bit);
        const bool lower = 0 == (pairs.me & bit);
        const int keep = lower ? low : low + half;
        const int give = lower ? low + half : low;
        const int first = hccl_map_first(map, keep), count = hccl_map_count(map, keep, half);

        hccl_build_send(b, peer, mine, hccl_map_first(map, give), hccl_map_count(map, give, half));
        hccl_build_recv(b, peer, tmp, first, count);
        hccl_build_wait(b);
        hccl_part_combine(b, acc, lower ? mine : tmp, lower ? tmp : mine, first, count);
        mine = acc;
        low = keep;
    }
    if (0 <= pairs.me) {
        hccl_part_move(b, acc, mine, hccl_map_first(map, low), hccl_map_count(map, low, 1));
    }
}

void hccl_part_unhalving(hccl_builder_t *b, const hccl_team_t *team, const hccl_map_t *map,
                         int base, int root)
{
    if (!hccl_team_member(team)) {
        return;
    }
    const hccl_pairs_t pairs = hccl_pairs_of(team);
    const int source = 0 > root ? -1 : partner_of(&pairs, root);

    /* with the last partner of halving first: it has the other half of what was mine then */
    for (int bit = pairs.power / 2; 0 <= pairs.me && 0 < bit; bit /= 2) {
        const int width = pairs.power / bit / 2; /* slots that I have */
        const int peer = partner_rank(team, &pairs, pairs.me ^ bit);
        const int have = hccl_part_slot(&pairs, pairs.me) & ~(width - 1);
        const int want = have ^ width;

        /* a partner who differs from the source in lower bits alone has passed on the other half */
        if (0 > source || (pairs.me ^ bit ^ source) >= bit) {
            hccl_build_send(b, peer, base, hccl_map_first(map, have),
                            hccl_map_count(map, have, width));
        }
        if (0 > source || (pairs.me ^ source) >= bit) {
            hccl_build_recv(b, peer, base, hccl_map_first(map, want),
                            hccl_map_count(map, want, width));
        }
        hccl_build_wait(b);
    }
    if (0 > root || !stood_in_for(&pairs, root) || (root != team->me && root != team->me + 1)) {
        pairs_leave(b, team, &pairs, base, hccl_map_first(map, 0),
                    hccl_map_count(map, 0, pairs.power));
    }
}

/* Halving of which only what comes from one partner is done (away), or unhalving of which only what goes
 * to him is. In the step over `bit`, partners who differ from him in lower bits alone have to do with
 * those who differ in that bit too. */
static void rooted_step(hccl_builder_t *b, const hccl_team_t *team, const hccl_pairs_t *pairs,
                        const hccl_map_t *map, int root, int base, int bit, bool away)
{
    const int apart = pairs->me ^ root, width = pairs->power / bit / 2;
    const bool near = apart < bit;
    const int slot = hccl_part_slot(pairs, near ? pairs->me ^ bit : pairs->me) & ~(width - 1);
    const int first = hccl_map_first(map, slot), count = hccl_map_count(map, slot, width);
    const int peer = partner_rank(team, pairs, pairs->me ^ bit);

    if (apart >= 2 * bit) {
        return;
    }
    if (away == near) {
        hccl_build_send(b, peer, base, first, count);
    } else {
        hccl_build_recv(b, peer, base, first, count);
    }
    hccl_build_wait(b);
}

/* Everything, between a root and the neighbour who stands in for it. */
static void rooted_pair(hccl_builder_t *b, const hccl_team_t *team, const hccl_pairs_t *pairs,
                        const hccl_map_t *map, int root, int base, bool away)
{
    const int all = hccl_map_count(map, 0, pairs->power), first = hccl_map_first(map, 0);
    const bool at_root = team->me == root;

    if (!stood_in_for(pairs, root) || (!at_root && team->me != root - 1)) {
        return;
    }
    if (at_root == away) {
        hccl_build_send(b, hccl_team_rank(team, at_root ? root - 1 : root), base, first, all);
    } else {
        hccl_build_recv(b, hccl_team_rank(team, at_root ? root - 1 : root), base, first, all);
    }
    hccl_build_wait(b);
}

void hccl_part_halving_scatter(hccl_builder_t *b, const hccl_team_t *team, const hccl_map_t *map,
                               int root, int base)
{
    if (!hccl_team_member(team)) {
        return;
    }
    const hccl_pairs_t pairs = hccl_pairs_of(team);

    rooted_pair(b, team, &pairs, map, root, base, true);
    for (int bit = 1; 0 <= pairs.me && bit < pairs.power; bit *= 2) {
        rooted_step(b, team, &pairs, map, partner_of(&pairs, root), base, bit, true);
    }
}

void hccl_part_halving_gather(hccl_builder_t *b, const hccl_team_t *team, const hccl_map_t *map,
                              int root, int base)
{
    if (!hccl_team_member(team)) {
        return;
    }
    const hccl_pairs_t pairs = hccl_pairs_of(team);

    for (int bit = pairs.power / 2; 0 <= pairs.me && 0 < bit; bit /= 2) {
        rooted_step(b, team, &pairs, map, partner_of(&pairs, root), base, bit, false);
    }
    rooted_pair(b, team, &pairs, map, root, base, false);
}

void hccl_part_scan(hccl_builder_t *b, const hccl_team_t *team, int tmp, int src, int dst,
                    int first, int count)
{
    int mine = src;

    if (!hccl_team_member(team)) {
        return;
    }
    for (int distance = 1; distance < team->n; distance *= 2) {
        const bool sends = team->me + distance < team->n;
        const bool receives = team->me >= distance;

        if (sends) {
            hccl_build_send(b, hccl_team_rank(team, team->me + distance), mine, first, count);
        }
        if (receives) {
            hccl_build_recv(b, hccl_team_rank(team, team->me - distance), tmp, first, count);
        }
        if (sends || receives) {
            hccl_build_wait(b);
        }
        if (receives) {
            hccl_part_combine(b, dst, tmp, mine, first, count);
            mine = dst;
        }
    }
    hccl_part_move(b, dst, mine, first, count);
}

void hccl_part_exscan(hccl_builder_t *b, const hccl_team_t *team, int tmp, int src, int dst,
                      int first, int count)
{
    /* a scan of everybody's left neighbour */
    const hccl_team_t others = hccl_team_part(team, 1, team->n - 1);

    if (!hccl_team_member(team)) {
        return;
    }
    if (team->me + 1 < team->n) {
        hccl_build_send(b, hccl_team_rank(team, team->me + 1), src, first, count);
    }
    if (0 < team->me) {
        hccl_build_recv(b, hccl_team_rank(team, team->me - 1), tmp, first, count);
    }
    if (1 < team->n) {
        hccl_build_wait(b);
    }
    hccl_part_scan(b, &others, tmp + 1, tmp, dst, first, count);
}
