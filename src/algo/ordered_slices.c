/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions of long vectors in rank order where nodes have ranks that are not in a row (see
 * ordered.c). Some ranks of each node stand for a slice of the vector, of which every node gets a share:
 * that of all runs, a message from each. It combines them; the result is gathered.
 *
 * Where ranks alternate between H nodes of L, a node sends (H-1)/H (L n + n). None can do with less:
 * say the vectors of the p = L H ranks are the leaves of a tree that combines neighbours, each vertex on
 * some node. A value moves where a vertex is on another node than the one above it. The leaves fall into
 * sets without moves between them, each on one node, that do not cross one another; between two leaves
 * of a set lie H - 1 of H - 1 other nodes, who are alone. So there are L (H - 1) + 1 sets, and L (H - 1)
 * moves; and the result has to get to H - 1 nodes.
 *
 * Each run on its way takes a scratch area; so where there are very many, they come in several rounds.
 */
#include "algo/exchange.h"
#include "algo/runs.h"

/* Runs that come at once. */
enum { AT_ONCE = 64 };

typedef struct {
    hccl_ordered_t o;
    int nodes;
    hccl_slices_t slices;
    hccl_team_t rail; /* who stand for my slice */
    int first;        /* of my slice */
    int acc;          /* scratch area: the runs that have come */
    int area;         /* AT_ONCE scratch areas, if there are as many runs: what each has combined */
} sliced_t;

static int open_sliced(sliced_t *p, const hccl_case_t *c, int algorithm)
{
    const int nodes = c->shape->nnodes, slices = c->shape->min_local;

    *p = (sliced_t){.nodes = nodes};
    const int rc = hccl_ordered_open(&p->o, c, algorithm, slices * nodes);

    if (HCCL_OK != rc) {
        return rc;
    }
    p->slices = (hccl_slices_t){slices, 0, hccl_map_even(0, nodes)};
    p->rail = hccl_team_rail(c, p->o.here.me);
    p->rail.me = p->o.here.me < slices ? p->o.here.node : -1;
    p->first = p->o.here.me * nodes;
    p->acc = hccl_build_scratch(p->o.b, slices * nodes);
    p->area = hccl_build_scratch(p->o.b, slices * nodes);
    for (int i = 1; i < p->o.runs.n && i < AT_ONCE; i++) {
        hccl_build_scratch(p->o.b, slices * nodes);
    }
    return HCCL_OK;
}

/* My slice of a run of my node. */
static void fold_mine(sliced_t *p, int pub, int run, int area)
{
    hccl_build_fold_begin(p->o.b, area, p->first, p->nodes);
    for (int rank = p->o.runs.first[run]; rank < p->o.runs.first[run + 1]; rank++) {
        const int peer = p->o.c->shape->local_of[rank];
        int begins = 0;
        const int number = hccl_part_node_pub(&p->slices, pub, peer, p->o.here.me, &begins);

        if (peer == p->o.here.me) {
            hccl_build_fold_own(p->o.b, HCCL_BASE_SEND, p->first);
        } else {
            hccl_build_fold_peer(p->o.b, peer, number, begins, p->first);
        }
    }
    hccl_build_fold_end(p->o.b);
}

/* Each node's share of my slice of a run of my node to that node. */
static void give(sliced_t *p, int area)
{
    for (int d = 1; d < p->nodes; d++) {
        const int to = (p->o.here.node + d) % p->nodes;

        hccl_build_send(p->o.b, hccl_team_rank(&p->rail, to), area, p->first + to, 1);
    }
}

/* My node's share of my slice of runs from, ..., end - 1. */
static void gather_runs(sliced_t *p, int pub, int from, int end)
{
    for (int k = from; k < end; k++) {
        const int node = p->o.c->shape->node_of[p->o.runs.first[k]], area = p->area + k - from;

        if (node != p->o.here.node) {
            hccl_build_recv(p->o.b, hccl_team_rank(&p->rail, node), area, p->first + p->o.here.node,
                            1);
        } else {
            fold_mine(p, pub, k, area);
            give(p, area);
        }
    }
    hccl_build_wait(p->o.b);
}

/* dst = my node's share of my slice, combined in the order of the ranks; on those who stand for one. It is
 * written last: it may be what is still read. */
static void reduce_shares(sliced_t *p, int dst)
{
    const int pub = hccl_part_node_publish(p->o.b, p->o.c, &p->slices, HCCL_BASE_SEND);
    const int mine = p->first + p->o.here.node, runs = p->o.runs.n;

    for (int from = 0; from < runs && hccl_team_member(&p->rail); from += AT_ONCE) {
        const int end = runs - from < AT_ONCE ? runs : from + AT_ONCE;

        gather_runs(p, pub, from, end);
        hccl_build_fold_begin(p->o.b, end == runs ? dst : p->acc, mine, 1);
        if (0 < from) {
            hccl_build_fold_own(p->o.b, p->acc, mine);
        }
        for (int k = from; k < end; k++) {
            hccl_build_fold_own(p->o.b, p->area + k - from, mine);
        }
        hccl_build_fold_end(p->o.b);
    }
}

/* The shares of my slice to all nodes, or to one (root; -1: none). */
static void gather_shares(sliced_t *p, int root, int base)
{
    const hccl_stream_t s = {p->rail, hccl_map_even(p->first, 1), 1};

    if (hccl_team_member(&p->rail)) {
        hccl_part_uniting(p->o.b, &s, root, base);
    }
}

int hccl_algo_allreduce_hier_runs_slices(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    sliced_t p;
    const int rc = open_sliced(&p, c, algorithm);

    if (HCCL_OK == rc) {
        reduce_shares(&p, HCCL_BASE_RECV);
        gather_shares(&p, -1, HCCL_BASE_RECV);
        hccl_part_node_spread(p.o.b, c, &p.slices, HCCL_BASE_RECV);
    }
    return hccl_ordered_close(&p.o, rc, plan);
}

/* The root fetches the slices from those of its node who stand for them. */
static void fetch_slices(sliced_t *p, int base)
{
    const int pub = hccl_build_publications(p->o.b, 1, p->nodes);
    const bool at_root = p->o.c->me == p->o.c->root;

    if (p->o.here.node != p->o.c->shape->node_of[p->o.c->root]) {
        return;
    }
    if (!at_root && hccl_team_member(&p->rail)) {
        hccl_build_publish(p->o.b, pub, base, p->first, p->nodes);
    }
    for (int i = 0; at_root && i < p->slices.n; i++) {
        if (i != p->o.here.me) {
            hccl_build_fetch(p->o.b, base, i * p->nodes, p->nodes, i, pub, i * p->nodes,
                             i * p->nodes);
        }
    }
}

int hccl_algo_reduce_hier_runs_slices(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    sliced_t p;
    const int rc = open_sliced(&p, c, algorithm);

    if (HCCL_OK == rc) {
        const int area = hccl_build_scratch(p.o.b, p.slices.n * p.nodes);
        const int base = c->me == c->root ? HCCL_BASE_RECV : area;

        reduce_shares(&p, base);
        gather_shares(&p, c->shape->node_of[c->root], base);
        fetch_slices(&p, base);
    }
    return hccl_ordered_close(&p.o, rc, plan);
}
