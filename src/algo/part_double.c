/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Two binary trees over the network, each for one half of the data: who passes on in one of them is
 * a leaf of the other. So all members send, all the time, and nobody sends more than he receives.
 *
 * Sanders, Speck, Traff: "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
 * Parallel Computing 35 (2009). The trees are in order (everything left of a vertex, itself,
 * everything right of it), which they make of labels: vertex v has label v + 1 in tree 0, v + 2 in
 * tree 1, and the height of a label is the number of zeros it ends with. So odd vertices pass on in
 * tree 0, even ones in tree 1.
 *
 * Every member first does its work in the tree in which it passes on, so that it waits for nobody who
 * waits for the other tree.
 *
 * Used by algo/ only.
 */
#include "algo/parts.h"

/* One of the trees, of vertices 0..n-1; labels 1 + t..n + t. */
typedef struct {
    int t, n;
} half_t;

static int label_of(const half_t *h, int v)
{
    return v + 1 + h->t;
}

/* -1: v is the root */
static int parent_of(const half_t *h, int v)
{
    const int label = label_of(h, v), bit = label & -label;
    const int up = (label - bit) | bit << 1;
    const int parent = up <= h->n + h->t ? up : label - bit; /* 0: the label is the highest */

    return 0 == parent ? -1 : parent - 1 - h->t;
}

/* side 0: left, 1: right; -1: none */
static int child_of(const half_t *h, int v, int side)
{
    const int label = label_of(h, v);
    int reach = (label & -label) / 2;

    if (0 == side) {
        return 0 < reach && label - reach > h->t ? label - reach - 1 - h->t : -1;
    }
    while (0 < reach && label + reach > h->n + h->t) {
        reach /= 2;
    }
    return 0 < reach ? label + reach - 1 - h->t : -1;
}

static int root_of(const half_t *h)
{
    return hccl_part_power(h->n + h->t) - 1 - h->t;
}

/* The tree in which a vertex passes on. */
static int inner_tree(int v)
{
    return 0 == v % 2 ? 1 : 0;
}

/* Vertex v of the trees below a root that is in neither of them. */
static int below(const hccl_team_t *team, int root, int v)
{
    return hccl_team_rank(team, (root + 1 + v) % team->n);
}

void hccl_part_double_bcast(hccl_builder_t *b, const hccl_team_t *team, int root, int base,
                            int first, int half)
{
    const int v = (team->me - root + team->n) % team->n - 1;
    const int in = inner_tree(v);
    const half_t tree[2] = {{0, team->n - 1}, {1, team->n - 1}};

    for (int t = 1; 0 > v && 0 <= t && 1 < team->n; t--) {
        hccl_build_send(b, below(team, root, root_of(&tree[t])), base, first + t * half, half);
    }
    for (int i = 0; 0 <= v && i < 2; i++) {
        const half_t *h = &tree[0 == i ? in : 1 - in];
        const int parent = parent_of(h, v);

        hccl_build_recv(b, 0 > parent ? hccl_team_rank(team, root) : below(team, root, parent),
                        base, first + h->t * half, half);
        hccl_build_wait(b);
        for (int side = 0; 0 == i && side < 2; side++) {
            const int child = child_of(h, v, side);

            if (0 <= child) {
                hccl_build_send(b, below(team, root, child), base, first + h->t * half, half);
            }
        }
    }
}

/* Receives from the children of v, combines left, own and right into dst and returns dst; without
 * children src. `shift` is what vertex 0 is in the team. */
static int gather_half(hccl_builder_t *b, const hccl_team_t *team, int shift, const half_t *h,
                       int v, int tmp, int src, int dst, int first, int half)
{
    const int child[2] = {child_of(h, v, 0), child_of(h, v, 1)};

    for (int side = 0; side < 2; side++) {
        if (0 <= child[side]) {
            hccl_build_recv(b, hccl_team_rank(team, (shift + child[side]) % team->n), tmp + side,
                            first, half);
        }
    }
    hccl_build_wait(b);
    if (0 > child[0] && 0 > child[1]) {
        return src;
    }
    hccl_build_fold_begin(b, dst, first, half);
    if (0 <= child[0]) {
        hccl_build_fold_own(b, tmp, first);
    }
    hccl_build_fold_own(b, src, first);
    if (0 <= child[1]) {
        hccl_build_fold_own(b, tmp + 1, first);
    }
    hccl_build_fold_end(b);
    return dst;
}

/* The root receives the halves from the roots of the trees. */
static void reduce_at_root(hccl_builder_t *b, const hccl_team_t *team, int root,
                           const half_t tree[2], int tmp, int src, int dst, int first, int half)
{
    if (1 == team->n) {
        hccl_part_move(b, dst, src, first, 2 * half);
        return;
    }
    for (int t = 0; t < 2; t++) {
        hccl_build_recv(b, below(team, root, root_of(&tree[t])), tmp, first + t * half, half);
    }
    hccl_build_wait(b);
    hccl_part_combine(b, dst, src, tmp, first, 2 * half);
}

void hccl_part_double_reduce(hccl_builder_t *b, const hccl_team_t *team, int root, int tmp, int src,
                             int dst, int first, int half)
{
    const int v = (team->me - root + team->n) % team->n - 1;
    const half_t tree[2] = {{0, team->n - 1}, {1, team->n - 1}};

    if (0 > v) {
        reduce_at_root(b, team, root, tree, tmp, src, dst, first, half);
        return;
    }
    for (int i = 0; i < 2; i++) {
        /* as a leaf first: somebody waits for it */
        const half_t *h = &tree[0 == i ? 1 - inner_tree(v) : inner_tree(v)];
        const int parent = parent_of(h, v), at = first + h->t * half;
        const int mine =
            0 == i ? src
                   : gather_half(b, team, (root + 1) % team->n, h, v, tmp, src, tmp, at, half);

        hccl_build_send(b, 0 > parent ? hccl_team_rank(team, root) : below(team, root, parent),
                        mine, at, half);
    }
    hccl_build_wait(b);
}

void hccl_part_double_allreduce(hccl_builder_t *b, const hccl_team_t *team, int tmp, int src,
                                int dst, int first, int half)
{
    const int v = team->me;
    const half_t tree[2] = {{0, team->n}, {1, team->n}};
    const half_t *in = &tree[inner_tree(v)], *leaf = &tree[1 - inner_tree(v)];
    const int in_at = first + in->t * half, leaf_at = first + leaf->t * half;

    if (!hccl_team_member(team)) {
        return;
    }
    if (1 == team->n) {
        hccl_part_move(b, dst, src, first, 2 * half);
        return;
    }
    const int parent = parent_of(in, v);

    hccl_build_send(b, hccl_team_rank(team, parent_of(leaf, v)), src, leaf_at, half);
    const int mine = gather_half(b, team, 0, in, v, tmp, src, 0 > parent ? dst : tmp, in_at, half);

    if (0 <= parent) {
        hccl_build_send(b, hccl_team_rank(team, parent), mine, in_at, half);
        hccl_build_recv(b, hccl_team_rank(team, parent), dst, in_at, half);
        hccl_build_wait(b);
    }
    for (int side = 0; side < 2; side++) {
        const int child = child_of(in, v, side);

        if (0 <= child) {
            hccl_build_send(b, hccl_team_rank(team, child), dst, in_at, half);
        }
    }
    hccl_build_recv(b, hccl_team_rank(team, parent_of(leaf, v)), dst, leaf_at, half);
    hccl_build_wait(b);
}
