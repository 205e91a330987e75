/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Gatherv and scatterv on one node and on several. All but the root know no block's size but their
 * own, so blocks move as plan.h says of private sizes: in pieces within the root's node; elsewhere
 * short ones in one box per node, long ones straight.
 */
#include "algo/parts.h"

typedef struct {
    hccl_builder_t *b;
    const hccl_case_t *c;
    const int *start;       /* shape.node_start */
    const int *ranks;       /* shape.node_ranks */
    hccl_node_t here, home; /* my node; the root's */
    int box;                /* positions of a box */
    int tmp;                /* scratch: one box per node */
    int pub;
    int mine; /* my position */
} walk_t;

static bool walk_start(walk_t *w, const hccl_case_t *c, int algorithm, bool gathers)
{
    *w = (walk_t){.c = c,
                  .start = c->shape->node_start,
                  .ranks = c->shape->node_ranks,
                  .here = hccl_node_of(c, c->me),
                  .home = hccl_node_of(c, c->root),
                  .box = 1 < c->shape->nnodes ? c->shape->max_local : 0,
                  .mine = hccl_by_node(c, c->me)};
    w->b = hccl_build_start(c, algorithm, c->shape->nranks);
    if (NULL == w->b) {
        return false;
    }
    hccl_order_by_node(w->b, c->shape);
    hccl_build_apart(w->b, w->box);
    w->tmp = 0 < w->box ? hccl_build_scratch(w->b, c->shape->nnodes * w->box) : -1;
    /* What is in pieces has a number for each block, since each has one reader. */
    const bool one = gathers || w->here.node != w->home.node;

    w->pub =
        hccl_build_publications(w->b, one ? 1 : w->here.n - 1, gathers ? 1 : c->shape->max_local);
    return true;
}

static int size_of(const walk_t *w, int node)
{
    return w->start[node + 1] - w->start[node];
}

/* Where a node's box is. */
static int box_of(const walk_t *w, int node)
{
    return node * w->box;
}

/* The first rank of a node deals with the root for its node. */
static bool leads(const walk_t *w)
{
    return 0 == w->here.me;
}

static int leader(const walk_t *w, int node)
{
    return w->ranks[w->start[node]];
}

/* At the root: every block that is too long for pieces or parcels. */
static void all_long(const walk_t *w, bool gathers)
{
    hccl_build_how(w->b, HCCL_HOW_LONG);
    for (int k = 1; k < w->c->shape->nranks; k++) {
        const int at = (w->mine + k) % w->c->shape->nranks;

        if (gathers) {
            hccl_build_recv(w->b, w->ranks[at], HCCL_BASE_RECV, at, 1);
        } else {
            hccl_build_send(w->b, w->ranks[at], HCCL_BASE_SEND, at, 1);
        }
    }
}

static void gather_at_root(const walk_t *w)
{
    const int nodes = w->c->shape->nnodes, first = w->start[w->home.node];

    all_long(w, true);
    hccl_build_how(w->b, HCCL_HOW_PARCELS);
    for (int d = 1; d < nodes; d++) {
        const int node = (w->home.node + d) % nodes;

        hccl_build_recv(w->b, leader(w, node), w->tmp, box_of(w, node), size_of(w, node));
    }
    hccl_part_own(w->b, w->c);
    hccl_build_how(w->b, HCCL_HOW_PIECES);
    for (int k = 1; k < w->here.n; k++) {
        const int peer = (w->here.me + k) % w->here.n;

        hccl_build_fetch(w->b, HCCL_BASE_RECV, first + peer, 1, peer, w->pub, first + peer,
                         first + peer);
    }
    hccl_build_how(w->b, HCCL_HOW_PARCELS);
    hccl_build_wait(w->b);
    for (int d = 1; d < nodes; d++) {
        const int node = (w->home.node + d) % nodes;

        hccl_build_copy(w->b, HCCL_BASE_RECV, w->start[node], size_of(w, node), w->tmp,
                        box_of(w, node));
    }
}

/* The first rank of another node fills the node's box. */
static void gather_box(const walk_t *w)
{
    const int at = box_of(w, w->here.node), first = w->start[w->here.node];

    hccl_build_copy(w->b, w->tmp, at, 1, HCCL_BASE_SEND, w->mine);
    for (int peer = 1; peer < w->here.n; peer++) {
        hccl_build_fetch(w->b, w->tmp, at + peer, 1, peer, w->pub, first + peer, first + peer);
    }
    hccl_build_send(w->b, w->c->root, w->tmp, at, w->here.n);
}

int hccl_algo_gatherv_hier(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    walk_t w;

    if (!walk_start(&w, c, algorithm, true)) {
        return HCCL_ERR_NOMEM;
    }
    if (c->me == c->root) {
        gather_at_root(&w);
        return hccl_build_finish(w.b, plan);
    }
    hccl_build_how(w.b, HCCL_HOW_LONG);
    hccl_build_send(w.b, c->root, HCCL_BASE_SEND, w.mine, 1);
    hccl_build_how(w.b, w.here.node == w.home.node ? HCCL_HOW_PIECES : HCCL_HOW_PARCELS);
    if (w.here.node != w.home.node && leads(&w)) {
        gather_box(&w);
    } else {
        hccl_build_publish(w.b, w.pub, HCCL_BASE_SEND, w.mine, 1);
    }
    return hccl_build_finish(w.b, plan);
}

static void scatter_at_root(const walk_t *w)
{
    const int nodes = w->c->shape->nnodes, first = w->start[w->home.node];

    all_long(w, false);
    hccl_build_how(w->b, HCCL_HOW_PARCELS);
    for (int d = 1; d < nodes; d++) {
        const int node = (w->home.node + d) % nodes;

        hccl_build_copy(w->b, w->tmp, box_of(w, node), size_of(w, node), HCCL_BASE_SEND,
                        w->start[node]);
        hccl_build_send(w->b, leader(w, node), w->tmp, box_of(w, node), size_of(w, node));
    }
    hccl_build_how(w->b, HCCL_HOW_PIECES);
    for (int k = 1; k < w->here.n; k++) {
        hccl_build_publish(w->b, w->pub + k - 1, HCCL_BASE_SEND,
                           first + (w->here.me + k) % w->here.n, 1);
    }
    hccl_part_own(w->b, w->c);
}

/* My block in pieces. First a step that does nothing: what I don't read must not wait for me. */
static void fetch_pieces(const walk_t *w)
{
    const int k = (w->here.me - w->home.me + w->here.n) % w->here.n;

    hccl_build_how(w->b, HCCL_HOW_WHOLE);
    hccl_build_copy(w->b, HCCL_BASE_RECV, w->mine, 0, HCCL_BASE_RECV, w->mine);
    hccl_build_how(w->b, HCCL_HOW_PIECES);
    hccl_build_fetch(w->b, HCCL_BASE_RECV, w->mine, 1, w->home.me, w->pub + k - 1, w->mine,
                     w->mine);
}

static void fetch_parcel(const walk_t *w)
{
    const int at = box_of(w, w->here.node);

    hccl_build_how(w->b, HCCL_HOW_PARCELS);
    if (!leads(w)) {
        hccl_build_fetch(w->b, HCCL_BASE_RECV, w->mine, 1, 0, w->pub, at, at + w->here.me);
        return;
    }
    hccl_build_recv(w->b, w->c->root, w->tmp, at, w->here.n);
    hccl_build_wait(w->b);
    if (1 < w->here.n) {
        hccl_build_publish(w->b, w->pub, w->tmp, at, w->here.n);
    }
    hccl_build_copy(w->b, HCCL_BASE_RECV, w->mine, 1, w->tmp, at);
}

int hccl_algo_scatterv_hier(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    walk_t w;

    if (!walk_start(&w, c, algorithm, false)) {
        return HCCL_ERR_NOMEM;
    }
    if (c->me == c->root) {
        scatter_at_root(&w);
        return hccl_build_finish(w.b, plan);
    }
    hccl_build_how(w.b, HCCL_HOW_LONG);
    hccl_build_recv(w.b, c->root, HCCL_BASE_RECV, w.mine, 1);
    if (w.here.node == w.home.node) {
        fetch_pieces(&w);
    } else {
        fetch_parcel(&w);
    }
    return hccl_build_finish(w.b, plan);
}
