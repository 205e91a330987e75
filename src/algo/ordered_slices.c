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
    const hccl_case_t *c;
    hccl_builder_t *b;
    hccl_node_t here;
    hccl_runs_t runs;
    int nodes;
    hccl_slices_t slices;
    hccl_team_t rail; /* who stand for my slice */
    int first;        /* of my slice */
    int acc;          /* scratch area: the runs that have come */
    int area;         /* AT_ONCE scratch areas, if there are as many runs: what each has combined */
} sliced_t;

static int open_sliced(sliced_t *o, const hccl_case_t *c, int algorithm)
{
    const int nodes = c->shape->nnodes, slices = c->shape->min_local;

    *o = (sliced_t){.c = c, .here = hccl_node_of(c, c->me), .nodes = nodes};
    const int rc = hccl_runs_make(c->shape, &o->runs);

    if (HCCL_OK != rc) {
        return rc;
    }
    o->b = hccl_build_start(c, algorithm, slices * nodes);
    if (NULL == o->b) {
        return HCCL_ERR_NOMEM;
    }
    o->slices = (hccl_slices_t){slices, 0, hccl_map_even(0, nodes)};
    o->rail = hccl_team_rail(c, o->here.me);
    o->rail.me = o->here.me < slices ? o->here.node : -1;
    o->first = o->here.me * nodes;
    o->acc = hccl_build_scratch(o->b, slices * nodes);
    o->area = hccl_build_scratch(o->b, slices * nodes);
    for (int i = 1; i < o->runs.n && i < AT_ONCE; i++) {
        hccl_build_scratch(o->b, slices * nodes);
    }
    return HCCL_OK;
}

static int close_sliced(sliced_t *o, int rc, hccl_plan_t **plan)
{
    hccl_runs_free(&o->runs);
    return HCCL_OK == rc ? hccl_build_finish(o->b, plan) : rc;
}

/* My slice of a run of my node. */
static void fold_mine(sliced_t *o, int pub, int run, int area)
{
    hccl_build_fold_begin(o->b, area, o->first, o->nodes);
    for (int rank = o->runs.first[run]; rank < o->runs.first[run + 1]; rank++) {
        const int peer = o->c->shape->local_of[rank];
        int begins = 0;
        const int number = hccl_part_node_pub(&o->slices, pub, peer, o->here.me, &begins);

        if (peer == o->here.me) {
            hccl_build_fold_own(o->b, HCCL_BASE_SEND, o->first);
        } else {
            hccl_build_fold_peer(o->b, peer, number, begins, o->first);
        }
    }
    hccl_build_fold_end(o->b);
}

/* Each node's share of my slice of a run of my node to that node. */
static void give(sliced_t *o, int area)
{
    for (int d = 1; d < o->nodes; d++) {
        const int to = (o->here.node + d) % o->nodes;

        hccl_build_send(o->b, hccl_team_rank(&o->rail, to), area, o->first + to, 1);
    }
}

/* My node's share of my slice of runs from, ..., end - 1. */
static void gather_runs(sliced_t *o, int pub, int from, int end)
{
    for (int k = from; k < end; k++) {
        const int node = o->c->shape->node_of[o->runs.first[k]], area = o->area + k - from;

        if (node != o->here.node) {
            hccl_build_recv(o->b, hccl_team_rank(&o->rail, node), area, o->first + o->here.node, 1);
        } else {
            fold_mine(o, pub, k, area);
            give(o, area);
        }
    }
    hccl_build_wait(o->b);
}

/* dst = my node's share of my slice, combined in the order of the ranks; on those who stand for one. It is
 * written last: it may be what is still read. */
static void reduce_shares(sliced_t *o, int dst)
{
    const int pub = hccl_part_node_publish(o->b, o->c, &o->slices, HCCL_BASE_SEND);
    const int mine = o->first + o->here.node, runs = o->runs.n;

    for (int from = 0; from < runs && hccl_team_member(&o->rail); from += AT_ONCE) {
        const int end = runs - from < AT_ONCE ? runs : from + AT_ONCE;

        gather_runs(o, pub, from, end);
        hccl_build_fold_begin(o->b, end == runs ? dst : o->acc, mine, 1);
        if (0 < from) {
            hccl_build_fold_own(o->b, o->acc, mine);
        }
        for (int k = from; k < end; k++) {
            hccl_build_fold_own(o->b, o->area + k - from, mine);
        }
        hccl_build_fold_end(o->b);
    }
}

/* The shares of my slice to all nodes, or to one (root; -1: none). */
static void gather_shares(sliced_t *o, int root, int base)
{
    const hccl_stream_t s = {o->rail, hccl_map_even(o->first, 1), 1};

    if (hccl_team_member(&o->rail)) {
        hccl_part_uniting(o->b, &s, root, base);
    }
}

int hccl_algo_allreduce_hier_runs_slices(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    sliced_t o;
    const int rc = open_sliced(&o, c, algorithm);

    if (HCCL_OK == rc) {
        reduce_shares(&o, HCCL_BASE_RECV);
        gather_shares(&o, -1, HCCL_BASE_RECV);
        hccl_part_node_spread(o.b, c, &o.slices, HCCL_BASE_RECV);
    }
    return close_sliced(&o, rc, plan);
}

/* The root fetches the slices from those of its node who stand for them. */
static void fetch_slices(sliced_t *o, int base)
{
    const int pub = hccl_build_publications(o->b, 1, o->nodes);
    const bool at_root = o->c->me == o->c->root;

    if (o->here.node != o->c->shape->node_of[o->c->root]) {
        return;
    }
    if (!at_root && hccl_team_member(&o->rail)) {
        hccl_build_publish(o->b, pub, base, o->first, o->nodes);
    }
    for (int i = 0; at_root && i < o->slices.n; i++) {
        if (i != o->here.me) {
            hccl_build_fetch(o->b, base, i * o->nodes, o->nodes, i, pub, i * o->nodes,
                             i * o->nodes);
        }
    }
}

int hccl_algo_reduce_hier_runs_slices(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    sliced_t o;
    const int rc = open_sliced(&o, c, algorithm);

    if (HCCL_OK == rc) {
        const int area = hccl_build_scratch(o.b, o.slices.n * o.nodes);
        const int base = c->me == c->root ? HCCL_BASE_RECV : area;

        reduce_shares(&o, base);
        gather_shares(&o, c->shape->node_of[c->root], base);
        fetch_slices(&o, base);
    }
    return close_sliced(&o, rc, plan);
}
