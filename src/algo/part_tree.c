/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Trees over the network: binomial and k-nomial (short messages), binary and chain (long ones,
 * pipelined by segments), and the star.
 *
 * Used by algo/ only.
 */
#include "algo/parts.h"

hccl_tree_t hccl_tree_nomial(const hccl_case_t *c)
{
    const int radix = c->dials.tree_radix;

    return (hccl_tree_t) (HCCL_TREE_NOMIAL + (2 > radix ? HCCL_TREE_RADIX : radix));
}

/* Base of the numbers whose digits make the tree, 0: it is of another kind. */
static int radix_of(hccl_tree_t tree)
{
    return HCCL_TREE_BINOMIAL == tree ? 2
           : HCCL_TREE_NOMIAL < tree  ? (int) tree - HCCL_TREE_NOMIAL
                                      : 0;
}

/* Trees are numbered from their root, vertex 0. Every subtree of a k-nomial tree and of a
 * chain is a range of vertices that begins with its root, and the children follow in ascending order:
 * that is what makes the reduction ordered. */
static int tree_parent(hccl_tree_t tree, int v)
{
    const int radix = radix_of(tree);
    int stride = 1;

    if (0 < radix) {
        while (0 == v / stride % radix) {
            stride *= radix;
        }
        return v - v / stride % radix * stride;
    }
    switch (tree) {
    case HCCL_TREE_BINARY:
        return (v - 1) / 2;
    case HCCL_TREE_STAR:
        return 0;
    default:
        return v - 1;
    }
}

/* Child number k of v: v with digit k / (radix - 1) set, while it and those below it are 0. */
static int nomial_child(int radix, int n, int v, int k)
{
    long stride = 1;

    for (int i = k / (radix - 1); 0 < i && stride < n; i--) {
        stride *= radix;
    }
    const long child = v + (k % (radix - 1) + 1) * stride;

    return stride < n && 0 == v % (stride * radix) && child < n ? (int) child : -1;
}

/* Child number k of vertex v, -1 when there are no more. */
static int tree_child(hccl_tree_t tree, int n, int v, int k)
{
    if (0 < radix_of(tree)) {
        return nomial_child(radix_of(tree), n, v, k);
    }
    switch (tree) {
    case HCCL_TREE_BINARY:
        return 2 > k && v < n / 2 && 2 * v + 1 + k < n ? 2 * v + 1 + k : -1;
    case HCCL_TREE_STAR:
        return 0 == v && k + 1 < n ? k + 1 : -1;
    default:
        return 0 == k && v + 1 < n ? v + 1 : -1;
    }
}

static int tree_children(hccl_tree_t tree, int n, int v)
{
    int k = 0;

    while (0 <= tree_child(tree, n, v, k)) {
        k++;
    }
    return k;
}

void hccl_part_bcast(hccl_builder_t *b, const hccl_team_t *team, int root, hccl_tree_t tree,
                     int base, int first, int count)
{
    const int n = team->n;

    if (!hccl_team_member(team)) {
        return;
    }
    if (HCCL_TREE_DOUBLE == tree) {
        hccl_part_double_bcast(b, team, root, base, first, count / 2);
        return;
    }
    const int v = (team->me - root + n) % n;

    if (0 != v) {
        const int parent = (tree_parent(tree, v) + root) % n;

        hccl_build_recv(b, hccl_team_rank(team, parent), base, first, count);
        hccl_build_wait(b);
    }
    /* the largest subtree has the longest way to go */
    for (int k = tree_children(tree, n, v) - 1; 0 <= k; k--) {
        const int child = (tree_child(tree, n, v, k) + root) % n;

        hccl_build_send(b, hccl_team_rank(team, child), base, first, count);
    }
}

int hccl_part_reduce_scratch(hccl_builder_t *b, hccl_tree_t tree, int n, bool at_root,
                             int positions)
{
    int areas = tree_children(tree, n, 0) + 1; /* and one for the members below the root */

    if (HCCL_TREE_DOUBLE == tree || (HCCL_TREE_STAR == tree && !at_root)) {
        areas = 2;
    }
    const int tmp = hccl_build_scratch(b, positions);

    for (int i = 1; i < areas; i++) {
        hccl_build_scratch(b, positions);
    }
    return tmp;
}

/* All straight to the root, which combines them at once. */
static void star_reduce(hccl_builder_t *b, const hccl_team_t *team, int root, int tmp, int src,
                        int dst, int first, int count)
{
    if (root != team->me) {
        hccl_build_send(b, hccl_team_rank(team, root), src, first, count);
        hccl_build_wait(b);
        return;
    }
    if (1 == team->n) {
        hccl_part_move(b, dst, src, first, count);
        return;
    }
    for (int i = 0; i < team->n; i++) {
        if (i != root) {
            hccl_build_recv(b, hccl_team_rank(team, i), tmp + i, first, count);
        }
    }
    hccl_build_wait(b);
    hccl_build_fold_begin(b, dst, first, count);
    for (int i = 0; i < team->n; i++) {
        hccl_build_fold_own(b, i == root ? src : tmp + i, first);
    }
    hccl_build_fold_end(b);
}

void hccl_part_reduce(hccl_builder_t *b, const hccl_team_t *team, int root, hccl_tree_t tree,
                      int tmp, int src, int dst, int first, int count)
{
    if (!hccl_team_member(team)) {
        return;
    }
    if (HCCL_TREE_DOUBLE == tree) {
        hccl_part_double_reduce(b, team, root, tmp, src, dst, first, count / 2);
        return;
    }
    if (HCCL_TREE_STAR == tree) {
        star_reduce(b, team, root, tmp, src, dst, first, count);
        return;
    }
    const bool at_root = root == team->me;
    const bool below = team->me < root;
    const hccl_team_t mine = hccl_team_part(team, below ? 0 : root, below ? root : team->n - root);
    const int children = tree_children(tree, mine.n, mine.me);
    const bool joins = at_root && 0 < root; /* I receive what the members below me have combined */
    const int left = tmp + children;

    for (int k = 0; k < children; k++) {
        const int child = tree_child(tree, mine.n, mine.me, k);

        hccl_build_recv(b, hccl_team_rank(&mine, child), tmp + k, first, count);
    }
    if (joins) {
        hccl_build_recv(b, hccl_team_rank(team, 0), left, first, count);
    }
    if (0 < children || joins) {
        hccl_build_wait(b);
        hccl_build_fold_begin(b, at_root ? dst : tmp, first, count);
        if (joins) {
            hccl_build_fold_own(b, left, first);
        }
        hccl_build_fold_own(b, src, first);
        for (int k = 0; k < children; k++) {
            hccl_build_fold_own(b, tmp + k, first);
        }
        hccl_build_fold_end(b);
        src = tmp;
    } else if (at_root) {
        hccl_part_move(b, dst, src, first, count);
    }
    if (!at_root) {
        const int parent = 0 == mine.me ? hccl_team_rank(team, root)
                                        : hccl_team_rank(&mine, tree_parent(tree, mine.me));

        hccl_build_send(b, parent, src, first, count);
        hccl_build_wait(b);
    }
}

void hccl_part_scatter(hccl_builder_t *b, const hccl_team_t *team, int root, const hccl_map_t *map,
                       int src, int dst)
{
    if (!hccl_team_member(team)) {
        return;
    }
    if (root != team->me) {
        hccl_build_recv(b, hccl_team_rank(team, root), dst, hccl_map_first(map, team->me),
                        hccl_map_count(map, team->me, 1));
    } else {
        for (int k = 1; k < team->n; k++) {
            const int i = (root + k) % team->n;

            hccl_build_send(b, hccl_team_rank(team, i), src, hccl_map_first(map, i),
                            hccl_map_count(map, i, 1));
        }
    }
}

void hccl_part_gather(hccl_builder_t *b, const hccl_team_t *team, int root, const hccl_map_t *map,
                      int src, int dst)
{
    if (!hccl_team_member(team)) {
        return;
    }
    if (root != team->me) {
        hccl_build_send(b, hccl_team_rank(team, root), src, hccl_map_first(map, team->me),
                        hccl_map_count(map, team->me, 1));
    } else {
        for (int k = 1; k < team->n; k++) {
            const int i = (root + k) % team->n;

            hccl_build_recv(b, hccl_team_rank(team, i), dst, hccl_map_first(map, i),
                            hccl_map_count(map, i, 1));
        }
    }
}

/* Vertices of the subtree of child number k of some vertex. */
static int binomial_size(int n, int child, int k)
{
    return n - child < 1 << k ? n - child : 1 << k;
}

void hccl_part_tree_gather(hccl_builder_t *b, const hccl_team_t *team, int root, int own, int base)
{
    const int n = team->n;
    const int v = (team->me - root + n) % n;
    const int children = tree_children(HCCL_TREE_BINOMIAL, n, v);
    int size = 1;

    for (int k = 0; k < children; k++) {
        const int child = tree_child(HCCL_TREE_BINOMIAL, n, v, k);
        const int below = binomial_size(n, child, k);

        hccl_build_recv(b, hccl_team_rank(team, (child + root) % n), base, child, below);
        size += below;
    }
    if (0 < children || 0 == v) {
        hccl_build_copy(b, base, v, 1, own, v);
        hccl_build_wait(b);
        own = base;
    }
    if (0 != v) {
        const int parent = (tree_parent(HCCL_TREE_BINOMIAL, v) + root) % n;

        hccl_build_send(b, hccl_team_rank(team, parent), own, v, size);
        hccl_build_wait(b);
    }
}

void hccl_part_tree_scatter(hccl_builder_t *b, const hccl_team_t *team, int root, int src, int tmp,
                            int dst)
{
    const int n = team->n;
    const int v = (team->me - root + n) % n;
    const int children = tree_children(HCCL_TREE_BINOMIAL, n, v);

    if (0 != v) {
        const int parent = (tree_parent(HCCL_TREE_BINOMIAL, v) + root) % n;
        int size = 1;

        for (int k = 0; k < children; k++) {
            size += binomial_size(n, tree_child(HCCL_TREE_BINOMIAL, n, v, k), k);
        }
        src = 0 < children ? tmp : dst;
        hccl_build_recv(b, hccl_team_rank(team, parent), src, v, size);
        hccl_build_wait(b);
    }
    for (int k = children - 1; 0 <= k; k--) {
        const int child = tree_child(HCCL_TREE_BINOMIAL, n, v, k);

        hccl_build_send(b, hccl_team_rank(team, (child + root) % n), src, child,
                        binomial_size(n, child, k));
    }
    hccl_part_move(b, dst, src, v, 1);
    hccl_build_wait(b);
}
