/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Gather and scatter: on one node, hierarchical, and flat, which also serves gatherv and scatterv.
 */
#include <stdlib.h>

#include "algo/parts.h"

/* My node's blocks, node after node; who deals with the root for my node; where its data are. */
typedef struct {
    hccl_node_t here, home; /* my node; the root's */
    hccl_team_t leaders;    /* with the root for its own node */
    hccl_map_t map;         /* positions of nodes */
    int lead;               /* index of the leader in my node */
    int first;              /* first position of my node */
    int mine;               /* my position */
    bool at_root, leads;
} place_t;

static place_t place_of(const hccl_case_t *c)
{
    place_t p = {.here = hccl_node_of(c, c->me),
                 .home = hccl_node_of(c, c->root),
                 .leaders = hccl_team_leaders(c, c->root),
                 .map = hccl_map_nodes(c),
                 .mine = hccl_by_node(c, c->me),
                 .at_root = c->me == c->root};

    p.lead = hccl_team_lead(c, c->root);
    p.leads = p.here.me == p.lead;
    p.first = hccl_map_first(&p.map, p.here.node);
    return p;
}

/* The leader of each node fetches its ranks' blocks and sends them to the root in one message; the root
 * fetches those of its own node meanwhile. On one node it fetches all. */
int hccl_algo_gather_hier(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const place_t p = place_of(c);
    hccl_builder_t *b = hccl_build_start(c, algorithm, c->shape->nranks);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    hccl_order_by_node(b, c->shape);
    const int tmp = hccl_build_scratch(b, c->shape->nranks);
    const int pub = hccl_build_publications(b, 1, 1);
    const int base = p.at_root ? HCCL_BASE_RECV : 1 == p.here.n ? HCCL_BASE_SEND : tmp;

    if (!p.leads) {
        hccl_build_publish(b, pub, HCCL_BASE_SEND, p.mine, 1);
        return hccl_build_finish(b, plan);
    }
    if (p.at_root) {
        hccl_part_gather(b, &p.leaders, p.home.node, &p.map, base, base);
    }
    hccl_part_move(b, base, HCCL_BASE_SEND, p.mine, 1);
    for (int k = 1; k < p.here.n; k++) {
        const int peer = (p.here.me + k) % p.here.n;

        hccl_build_fetch(b, base, p.first + peer, 1, peer, pub, p.first + peer, p.first + peer);
    }
    if (!p.at_root) {
        hccl_part_gather(b, &p.leaders, p.home.node, &p.map, base, base);
    }
    return hccl_build_finish(b, plan);
}

/* The reverse. */
int hccl_algo_scatter_hier(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const place_t p = place_of(c);
    hccl_builder_t *b = hccl_build_start(c, algorithm, c->shape->nranks);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    hccl_order_by_node(b, c->shape);
    const int tmp = hccl_build_scratch(b, c->shape->nranks);
    const int pub = hccl_build_publications(b, 1, c->shape->max_local);
    const int base = p.at_root ? HCCL_BASE_SEND : 1 == p.here.n ? HCCL_BASE_RECV : tmp;

    if (!p.leads) {
        hccl_build_fetch(b, HCCL_BASE_RECV, p.mine, 1, p.lead, pub, p.first, p.mine);
        return hccl_build_finish(b, plan);
    }
    hccl_part_scatter(b, &p.leaders, p.home.node, &p.map, base, base);
    if (!p.at_root) {
        hccl_build_wait(b);
    }
    if (1 < p.here.n) {
        hccl_build_publish(b, pub, base, p.first, p.here.n);
    }
    hccl_part_move(b, HCCL_BASE_RECV, base, p.mine, 1);
    return hccl_build_finish(b, plan);
}

/* The root publishes what lies above its own block, and what lies below. */
int hccl_algo_scatter_mesh(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const int n = c->shape->nranks, root = c->root;
    hccl_builder_t *b = hccl_build_start(c, algorithm, n);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int pub = hccl_build_publications(b, 2, n - 1);

    if (c->me > root) {
        hccl_build_fetch(b, HCCL_BASE_RECV, c->me, 1, root, pub, root + 1, c->me);
    } else if (c->me < root) {
        hccl_build_fetch(b, HCCL_BASE_RECV, c->me, 1, root, pub + 1, 0, c->me);
    } else {
        if (root + 1 < n) {
            hccl_build_publish(b, pub, HCCL_BASE_SEND, root + 1, n - root - 1);
        }
        if (0 < root) {
            hccl_build_publish(b, pub + 1, HCCL_BASE_SEND, 0, root);
        }
        hccl_part_own(b, c);
    }
    return hccl_build_finish(b, plan);
}

/* Straight between the root and every other rank. */
static int star(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, bool gathers)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, c->shape->nranks);
    const hccl_team_t team = hccl_team_all(c);
    const hccl_map_t map = hccl_map_even(0, 1);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    if (gathers) {
        hccl_part_gather(b, &team, c->root, &map, HCCL_BASE_SEND, HCCL_BASE_RECV);
    } else {
        hccl_part_scatter(b, &team, c->root, &map, HCCL_BASE_SEND, HCCL_BASE_RECV);
    }
    if (c->me == c->root) {
        hccl_part_own(b, c);
    }
    return hccl_build_finish(b, plan);
}

int hccl_algo_gather_star(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return star(c, algorithm, plan, true);
}

int hccl_algo_scatter_star(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return star(c, algorithm, plan, false);
}

/* A plan with the blocks in the order of ranks from the root on, round the end. */
static hccl_builder_t *start_rotated(const hccl_case_t *c, int algorithm)
{
    const int n = c->shape->nranks;
    int32_t *order = malloc((size_t) n * sizeof(*order));
    hccl_builder_t *b = NULL == order ? NULL : hccl_build_start(c, algorithm, n);

    for (int i = 0; NULL != b && i < n; i++) {
        order[i] = (c->root + i) % n;
    }
    if (NULL != b && 0 != c->root) {
        hccl_build_order(b, order);
    }
    free(order);
    return b;
}

int hccl_algo_gather_binomial(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = start_rotated(c, algorithm);
    const hccl_team_t team = hccl_team_all(c);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int tmp = hccl_build_scratch(b, team.n);

    hccl_part_tree_gather(b, &team, c->root, HCCL_BASE_SEND,
                          c->me == c->root ? HCCL_BASE_RECV : tmp);
    return hccl_build_finish(b, plan);
}

int hccl_algo_scatter_binomial(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = start_rotated(c, algorithm);
    const hccl_team_t team = hccl_team_all(c);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int tmp = hccl_build_scratch(b, team.n);

    hccl_part_tree_scatter(b, &team, c->root, HCCL_BASE_SEND, tmp, HCCL_BASE_RECV);
    return hccl_build_finish(b, plan);
}
