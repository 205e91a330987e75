/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Bcast: on one node, hierarchical, and flat. The root has its data in RECV as all others.
 */
#include "algo/tiers.h"

/* Positions that the data are cut into. */
static int parts_of(hccl_tree_t tree)
{
    return HCCL_TREE_DOUBLE == tree ? 2 : 1;
}

/* A tree of one rank per node, the root's node represented by the root, then a publication. */
static int hierarchical_tree(const hccl_case_t *c, int algorithm, hccl_plan_t **plan,
                             hccl_tree_t tree)
{
    const int parts = parts_of(tree);
    hccl_builder_t *b = hccl_build_start(c, algorithm, parts);
    const hccl_node_t home = hccl_node_of(c, c->root);
    const hccl_team_t leaders = hccl_team_ring_leaders(c, c->root);
    const hccl_slices_t whole = {1, hccl_team_lead(c, c->root), hccl_map_even(0, parts)};

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    hccl_part_bcast(b, &leaders, c->shape->seat[home.node], tree, HCCL_BASE_RECV, 0, parts);
    hccl_part_node_spread(b, c, &whole, HCCL_BASE_RECV);
    return hccl_build_finish(b, plan);
}

int hccl_algo_bcast_mesh(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical_tree(c, algorithm, plan, HCCL_TREE_BINOMIAL);
}

int hccl_algo_bcast_hier_tree(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical_tree(c, algorithm, plan, HCCL_TREE_BINOMIAL);
}

int hccl_algo_bcast_hier_tree4(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical_tree(c, algorithm, plan, hccl_tree_nomial(c));
}

int hccl_algo_bcast_hier_star(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical_tree(c, algorithm, plan, HCCL_TREE_STAR);
}

int hccl_algo_bcast_hier_double_tree(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical_tree(c, algorithm, plan, HCCL_TREE_DOUBLE);
}

int hccl_algo_bcast_hier_binary(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical_tree(c, algorithm, plan, HCCL_TREE_BINARY);
}

int hccl_algo_bcast_hier_chain(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical_tree(c, algorithm, plan, HCCL_TREE_CHAIN);
}

/* The rank of a node that has index `rail` in hier_radix: in the root's node the root is the first
 * one, in exchange with who would be. */
static int radix_rank(const hccl_case_t *c, int node, int rail)
{
    const int *ranks = c->shape->node_ranks + c->shape->node_start[node];
    const hccl_node_t home = hccl_node_of(c, c->root);

    if (node == home.node && (0 == rail || home.me == rail)) {
        rail = home.me - rail;
    }
    return ranks[rail];
}

/* A tree of nodes in which the ranks of a node send to different nodes at the same time: in round
 * i, rank r of every node that has the data sends to the node (r + 1) * radix^i ahead, whose first
 * rank receives and publishes. Nodes are numbered from the root's. The number of rounds is the least
 * possible: with L ranks per node those who have the data become L + 1 times as many in each. */
int hccl_algo_bcast_hier_radix(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const hccl_node_t here = hccl_node_of(c, c->me), home = hccl_node_of(c, c->root);
    const int nodes = c->shape->nnodes;
    const int radix =
        hccl_part_radix(nodes, hccl_part_rounds(nodes, hccl_part_ports(c, c->shape->min_local)));

    if (2 >= radix) {
        return hccl_algo_bcast_hier_tree(c, algorithm, plan);
    }
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);
    const int v = (here.node - home.node + nodes) % nodes;
    const hccl_slices_t whole = {1, 0 == v ? home.me : 0, hccl_map_even(0, 1)};
    int rail = here.me;
    long stride = 1; /* nodes that have the data before the round */

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    if (0 == v && (0 == rail || home.me == rail)) {
        rail = home.me - rail;
    }
    while (stride * radix <= v) {
        stride *= radix;
    }
    if (0 < v && 0 == here.me) {
        const int from = (int) (home.node + v % stride) % nodes;

        hccl_build_recv(b, radix_rank(c, from, (int) (v / stride) - 1), HCCL_BASE_RECV, 0, 1);
        hccl_build_wait(b);
    }
    hccl_part_node_spread(b, c, &whole, HCCL_BASE_RECV);
    if (0 < v) {
        stride *= radix;
    }
    for (; rail + 1 < radix && v + (rail + 1) * stride < nodes; stride *= radix) {
        const long child = v + (rail + 1) * stride;

        hccl_build_send(b, radix_rank(c, (int) ((home.node + child) % nodes), 0), HCCL_BASE_RECV, 0,
                        1);
    }
    return hccl_build_finish(b, plan);
}

static int tiered(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, hccl_tiers_t *t)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, t->n);

    if (NULL != b) {
        hccl_tiers_down(b, t, HCCL_BASE_RECV);
    }
    hccl_tiers_free(t);
    return NULL == b ? HCCL_ERR_NOMEM : hccl_build_finish(b, plan);
}

int hccl_algo_bcast_tier_tree(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_tiers_t t;
    const int rc = hccl_tiers_leaders(c, c->root, &t);

    return HCCL_OK == rc ? tiered(c, algorithm, plan, &t) : rc;
}

/* The ranks of a group share out what they fetch from outside. */
int hccl_algo_bcast_tier_slices(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_tiers_t t;
    const int rc = hccl_tiers_slices(c, c->root, HCCL_TIERS_TO_ALL, &t);

    return HCCL_OK == rc ? tiered(c, algorithm, plan, &t) : rc;
}

static int flat_tree(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, hccl_team_t team,
                     int root, hccl_tree_t tree)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, parts_of(tree));

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    hccl_part_bcast(b, &team, root, tree, HCCL_BASE_RECV, 0, parts_of(tree));
    return hccl_build_finish(b, plan);
}

int hccl_algo_bcast_tree(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat_tree(c, algorithm, plan, hccl_team_all(c), c->root, HCCL_TREE_BINOMIAL);
}

int hccl_algo_bcast_tree4(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat_tree(c, algorithm, plan, hccl_team_by_ring(c), hccl_by_ring(c, c->root),
                     hccl_tree_nomial(c));
}

int hccl_algo_bcast_star(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat_tree(c, algorithm, plan, hccl_team_by_ring(c), hccl_by_ring(c, c->root),
                     HCCL_TREE_STAR);
}

int hccl_algo_bcast_double_tree(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat_tree(c, algorithm, plan, hccl_team_by_ring(c), hccl_by_ring(c, c->root),
                     HCCL_TREE_DOUBLE);
}

int hccl_algo_bcast_binary(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat_tree(c, algorithm, plan, hccl_team_all(c), c->root, HCCL_TREE_BINARY);
}

int hccl_algo_bcast_chain(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat_tree(c, algorithm, plan, hccl_team_by_ring(c), hccl_by_ring(c, c->root),
                     HCCL_TREE_CHAIN);
}
