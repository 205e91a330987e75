/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Barrier: publications and messages that carry nothing but their arrival.
 */
#include "algo/tiers.h"

static void raise_flag(hccl_builder_t *b, int pub)
{
    hccl_build_publish(b, pub, HCCL_BASE_SEND, 0, 0);
}

static void await_flag(hccl_builder_t *b, int peer, int pub)
{
    hccl_build_fetch(b, HCCL_BASE_RECV, 0, 0, peer, pub, 0, 0);
}

int hccl_algo_barrier_mesh(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);
    const int n = c->shape->nranks;

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int pub = hccl_build_publications(b, 1, 0);

    if (1 < n) {
        raise_flag(b, pub);
    }
    for (int k = 1; k < n; k++) {
        await_flag(b, (c->me + k) % n, pub);
    }
    return hccl_build_finish(b, plan);
}

int hccl_algo_barrier_tier_tree(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_tiers_t t;
    const int rc = hccl_tiers_leaders(c, -1, &t);

    if (HCCL_OK != rc) {
        return rc;
    }
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);

    if (NULL != b) {
        t.flags = true;
        hccl_tiers_meet(&t);
        hccl_tiers_up(b, &t, HCCL_BASE_SEND, HCCL_BASE_RECV, HCCL_BASE_RECV);
        hccl_tiers_down(b, &t, HCCL_BASE_RECV);
    }
    hccl_tiers_free(&t);
    return NULL == b ? HCCL_ERR_NOMEM : hccl_build_finish(b, plan);
}

/* The flags of my node reach its leader, who meets those of the other nodes and tells mine. */
static void through_leader(hccl_builder_t *b, const hccl_case_t *c)
{
    const hccl_node_t here = hccl_node_of(c, c->me);
    const hccl_team_t leaders = hccl_team_leaders(c, -1);
    const int lead = hccl_team_lead(c, -1);
    const int arrived = hccl_build_publications(b, 1, 0);
    const int released = hccl_build_publications(b, 1, 0);

    if (lead != here.me) {
        raise_flag(b, arrived);
        await_flag(b, lead, released);
        return;
    }
    for (int k = 1; k < here.n; k++) {
        await_flag(b, (lead + k) % here.n, arrived);
    }
    hccl_part_dissemination(b, &leaders);
    if (1 < here.n) {
        raise_flag(b, released);
    }
}

/* The rank of an index learns of the others through the groups of my node. false: there is no memory;
 * else the caller frees the groups. */
static bool up_groups(hccl_builder_t *b, const hccl_case_t *c, int index, hccl_tiers_t *t)
{
    const int first = c->shape->node_start[c->shape->node_of[c->me]];
    const int rc = hccl_tiers_leaders(c, c->shape->node_ranks[first + index], t);

    if (HCCL_OK != rc) {
        hccl_build_fail(b, rc);
        return false;
    }
    t->flags = true;
    hccl_tiers_up(b, t, HCCL_BASE_SEND, HCCL_BASE_RECV, HCCL_BASE_RECV);
    return true;
}

/* The same through the groups of my node. */
static void through_groups(hccl_builder_t *b, const hccl_case_t *c)
{
    const hccl_team_t leaders = hccl_team_leaders(c, -1);
    hccl_tiers_t t;

    if (!up_groups(b, c, hccl_team_lead(c, -1), &t)) {
        return;
    }
    hccl_part_dissemination(b, &leaders);
    hccl_tiers_down(b, &t, HCCL_BASE_RECV);
    hccl_tiers_free(&t);
}

int hccl_algo_barrier_hier(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    if (hccl_tiers_gather(c->shape, c->shape->node_of[c->me])) {
        through_groups(b, c);
    } else {
        through_leader(b, c);
    }
    return hccl_build_finish(b, plan);
}

/* Whose partners over this distance, the node's ranks of index 0, 1, ..., are not all nodes away:
 * those who take part in the round. */
static int active_rails(const hccl_case_t *c, int radix, int distance)
{
    const int most = (c->shape->nnodes - 1) / distance;

    return most < radix - 1 ? most : radix - 1;
}

/* One round: rank r of every node tells the node (r + 1) * distance ahead, then its own node. */
static void radix_round(hccl_builder_t *b, const hccl_case_t *c, int rails, int distance, int pub)
{
    const hccl_node_t here = hccl_node_of(c, c->me);
    const hccl_team_t rail = hccl_team_rail(c, here.me);
    const int nodes = c->shape->nnodes;
    const int far = (here.me + 1) * distance;

    if (here.me < rails) {
        hccl_build_send(b, hccl_team_rank(&rail, (here.node + far) % nodes), HCCL_BASE_SEND, 0, 0);
        hccl_build_recv(b, hccl_team_rank(&rail, (here.node - far + nodes) % nodes), HCCL_BASE_RECV,
                        0, 0);
        hccl_build_wait(b);
        raise_flag(b, pub);
    }
}

static void await_rails(hccl_builder_t *b, int me, int rails, int pub)
{
    for (int peer = 0; peer < rails; peer++) {
        if (peer != me) {
            await_flag(b, peer, pub);
        }
    }
}

/* Dissemination between nodes; `active` ranks of each know that the ranks of their node have
 * arrived. They follow all rounds, the first `told` ranks wait for the last one. */
static void radix_rounds(hccl_builder_t *b, const hccl_case_t *c, int radix, int active, int told)
{
    const hccl_node_t here = hccl_node_of(c, c->me);
    const int nodes = c->shape->nnodes;

    for (long distance = 1; distance < nodes; distance *= radix) {
        const int pub = hccl_build_publications(b, 1, 0);
        const int rails = active_rails(c, radix, (int) distance);

        radix_round(b, c, rails, (int) distance, pub);
        if (here.me < (distance * radix < nodes ? active : told)) {
            await_rails(b, here.me, rails, pub);
        }
    }
}

/* The first `active` ranks wait for the flags of all. */
static void arrive(hccl_builder_t *b, hccl_node_t here, int active)
{
    const int arrived = hccl_build_publications(b, 1, 0);

    raise_flag(b, arrived);
    for (int k = 1; k < here.n && here.me < active; k++) {
        await_flag(b, (here.me + k) % here.n, arrived);
    }
}

/* The first rank learns of the others through the groups of my node, and tells them that way. */
static void radix_through_groups(hccl_builder_t *b, const hccl_case_t *c, int radix)
{
    const hccl_node_t here = hccl_node_of(c, c->me);
    hccl_tiers_t t;

    if (!up_groups(b, c, 0, &t)) {
        return;
    }
    const int arrived = hccl_build_publications(b, 1, 0);

    if (0 == here.me) {
        raise_flag(b, arrived);
    } else if (here.me < radix - 1) {
        await_flag(b, 0, arrived);
    }
    radix_rounds(b, c, radix, radix - 1, 1);
    hccl_tiers_down(b, &t, HCCL_BASE_RECV);
    hccl_tiers_free(&t);
}

/* Dissemination in which the ranks of a node talk to different nodes at the same time. */
int hccl_algo_barrier_hier_radix(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const hccl_node_t here = hccl_node_of(c, c->me);
    const int nodes = c->shape->nnodes;
    const int radix =
        hccl_part_radix(nodes, hccl_part_rounds(nodes, hccl_part_ports(c, c->shape->min_local)));
    hccl_builder_t *b;

    if (2 >= radix) {
        return hccl_algo_barrier_hier(c, algorithm, plan);
    }
    b = hccl_build_start(c, algorithm, 1);
    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    if (hccl_tiers_gather(c->shape, here.node)) {
        radix_through_groups(b, c, radix);
    } else {
        arrive(b, here, radix - 1);
        radix_rounds(b, c, radix, radix - 1, here.n);
    }
    return hccl_build_finish(b, plan);
}

int hccl_algo_barrier_dissemination(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);
    const hccl_team_t team = hccl_team_all(c);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    hccl_part_dissemination(b, &team);
    return hccl_build_finish(b, plan);
}
