/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Hierarchical alltoall: aggregated by pairs of nodes (short blocks), and shared memory inside with
 * direct messages outside (long blocks), both for blocks of equal size. In alltoallv and alltoallw,
 * where the sizes are private, each block goes its own way.
 */
#include "algo/parts.h"

/* Node pairs that a node works on at a time: a window needs two publications per pair, and no more
 * than the smallest ring has. */
enum { WINDOW = 4 };

/* Of direct messages between nodes of different size: steps that are on their way at a time. */
enum { UNEVEN_STEPS = 8 };

/* What both builders walk over. Blocks are ordered node after node. */
typedef struct {
    hccl_builder_t *b;
    const hccl_case_t *c;
    const int *start; /* shape.node_start */
    hccl_node_t here;
    int nodes;
    int area; /* positions for the message of one pair */
    int out;  /* scratch: messages to send, one area per pair of the window */
    int in;   /* scratch: messages received */
} walk_t;

static int size_of(const walk_t *w, int node)
{
    return w->start[node + 1] - w->start[node];
}

/* The nodes d ahead of mine, and d behind. */
static int ahead(const walk_t *w, int d)
{
    return (w->here.node + d) % w->nodes;
}

static int behind(const walk_t *w, int d)
{
    return (w->here.node - d + w->nodes) % w->nodes;
}

/* Index of the rank that a node's messages over distance d leave from and arrive at. */
static int handler(const walk_t *w, int node, int d)
{
    return (d - 1) % size_of(w, node);
}

static int handler_rank(const walk_t *w, int node, int d)
{
    return w->c->shape->node_ranks[w->start[node] + handler(w, node, d)];
}

/* The handler of distance d collects all blocks from my node to the one ahead, by source then by
 * destination, sends them, and receives those from the node behind. */
static void handle(const walk_t *w, int d, int slot, int pub)
{
    const int to = ahead(w, d), from = behind(w, d), width = size_of(w, to);

    if (w->here.me != handler(w, w->here.node, d)) {
        return;
    }
    for (int peer = 0; peer < w->here.n; peer++) {
        const int place = slot * w->area + peer * width;

        if (peer == w->here.me) {
            hccl_build_copy(w->b, w->out, place, width, HCCL_BASE_SEND, w->start[to]);
        } else {
            hccl_build_fetch(w->b, w->out, place, width, peer, pub, w->start[to], w->start[to]);
        }
    }
    hccl_build_send(w->b, handler_rank(w, to, d), w->out, slot * w->area, w->here.n * width);
    hccl_build_recv(w->b, handler_rank(w, from, d), w->in, slot * w->area,
                    size_of(w, from) * w->here.n);
}

/* The blocks that have come for me from the node d behind: one of each of its ranks. */
static void take(const walk_t *w, int d, int slot, int pub)
{
    const int from = behind(w, d), by = handler(w, w->here.node, d);
    const int message = slot * w->area;

    for (int i = 0; i < size_of(w, from); i++) {
        const int block = message + i * w->here.n + w->here.me;

        if (by == w->here.me) {
            hccl_build_copy(w->b, HCCL_BASE_RECV, w->start[from] + i, 1, w->in, block);
        } else {
            hccl_build_fetch(w->b, HCCL_BASE_RECV, w->start[from] + i, 1, by, pub, message, block);
        }
    }
}

/* Distances d, ..., d + n - 1 between nodes: what my node has for others is on its way. */
static void depart(const walk_t *w, int d, int n)
{
    const int out = hccl_build_publications(w->b, n, w->c->shape->max_local);

    for (int i = 0; i < n; i++) {
        const int to = ahead(w, d + i);

        if (w->here.me != handler(w, w->here.node, d + i)) {
            hccl_build_publish(w->b, out + i, HCCL_BASE_SEND, w->start[to], size_of(w, to));
        }
    }
    for (int i = 0; i < n; i++) {
        handle(w, d + i, i, out + i);
    }
}

/* ... and what others have for my node is shared out. */
static void arrive(const walk_t *w, int d, int n)
{
    const int square = w->c->shape->max_local * w->c->shape->max_local;
    const int in = hccl_build_publications(w->b, n, square);

    hccl_build_wait(w->b);
    for (int i = 0; i < n && 1 < w->here.n; i++) {
        if (w->here.me == handler(w, w->here.node, d + i)) {
            hccl_build_publish(w->b, in + i, w->in, i * w->area,
                               size_of(w, behind(w, d + i)) * w->here.n);
        }
    }
    for (int i = 0; i < n; i++) {
        take(w, d + i, i, in + i);
    }
}

/* The blocks inside my node: rotated, one publication each, as alltoall mesh. how: of the others' */
static void inside(const walk_t *w, hccl_how_t how)
{
    const int first = w->start[w->here.node], n = w->here.n, me = w->here.me;
    const int pub = hccl_build_publications(w->b, n - 1, 1);

    hccl_build_how(w->b, how);
    for (int t = 1; t < n; t++) {
        const int peer = (me - t + n) % n;

        hccl_build_publish(w->b, pub + t - 1, HCCL_BASE_SEND, first + (me + t) % n, 1);
        if (1 == t) {
            hccl_part_own(w->b, w->c);
            hccl_build_how(w->b, how);
        }
        hccl_build_fetch(w->b, HCCL_BASE_RECV, first + peer, 1, peer, pub + t - 1, first + me,
                         first + me);
    }
    if (1 == n) {
        hccl_part_own(w->b, w->c);
    }
}

static bool walk_start(walk_t *w, const hccl_case_t *c, int algorithm)
{
    *w = (walk_t){.c = c,
                  .start = c->shape->node_start,
                  .here = hccl_node_of(c, c->me),
                  .nodes = c->shape->nnodes,
                  .area = c->shape->max_local * c->shape->max_local};
    w->b = hccl_build_start(c, algorithm, c->shape->nranks);
    if (NULL != w->b) {
        hccl_order_by_node(w->b, c->shape);
    }
    return NULL != w->b;
}

int hccl_algo_alltoall_hier(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const int n = c->shape->nranks;
    walk_t w;

    if (!walk_start(&w, c, algorithm)) {
        return HCCL_ERR_NOMEM;
    }
    const int positions = WINDOW * w.area > n ? WINDOW * w.area : n;

    w.out = hccl_build_scratch(w.b, positions);
    w.in = hccl_build_scratch(w.b, positions);
    inside(&w, HCCL_HOW_WHOLE);
    for (int d = 1; d < w.nodes; d += WINDOW) {
        const int many = d + WINDOW <= w.nodes ? WINDOW : w.nodes - d;

        depart(&w, d, many);
        arrive(&w, d, many);
    }
    return hccl_build_finish(w.b, plan);
}

/* My exchange with all ranks of the nodes d ahead and d behind, straight. d 0: of my own node. */
static void direct(const walk_t *w, int d)
{
    const int *ranks = w->c->shape->node_ranks;
    const int to = ahead(w, d), from = behind(w, d), first = 0 == d ? 1 : 0;

    for (int k = first; k < size_of(w, to); k++) {
        const int at = w->start[to] + (w->here.me + k) % size_of(w, to);

        hccl_build_send(w->b, ranks[at], HCCL_BASE_SEND, at, 1);
    }
    for (int k = first; k < size_of(w, from); k++) {
        const int at = w->start[from] + (w->here.me + size_of(w, from) - k) % size_of(w, from);

        hccl_build_recv(w->b, ranks[at], HCCL_BASE_RECV, at, 1);
    }
}

/* On nodes of one size all are in step. Others wait for the larger ones in every step, while their link
 * is idle, unless messages of several steps are on their way. */
int hccl_algo_alltoall_hier_pairwise(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const int steps = c->shape->even ? 1 : UNEVEN_STEPS;
    walk_t w;

    if (!walk_start(&w, c, algorithm)) {
        return HCCL_ERR_NOMEM;
    }
    inside(&w, HCCL_HOW_WHOLE);
    for (int d = 1; d < w.nodes; d++) {
        direct(&w, d);
        if (0 == d % steps || d + 1 == w.nodes) {
            hccl_build_wait(w.b);
        }
    }
    return hccl_build_finish(w.b, plan);
}

/* Node by node: as many messages cross the network in each step, and no more at a time than between
 * two nodes. */
int hccl_algo_alltoallv_hier_pairwise(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    walk_t w;

    if (!walk_start(&w, c, algorithm)) {
        return HCCL_ERR_NOMEM;
    }
    direct(&w, 0);
    hccl_part_own(w.b, c);
    for (int d = 1; d < w.nodes; d++) {
        hccl_build_wait(w.b);
        direct(&w, d);
    }
    return hccl_build_finish(w.b, plan);
}

/* Long blocks to and from the nodes of distances d, ..., d + n - 1, each in its own message. */
static void start_long(const walk_t *w, int d, int n)
{
    hccl_build_how(w->b, HCCL_HOW_LONG);
    for (int i = 0; i < n; i++) {
        direct(w, d + i);
    }
}

/* Between nodes short blocks in one message per pair of nodes, as above, long ones straight: no more
 * of them at a time than those of a window. Inside in pieces. */
int hccl_algo_alltoallv_hier(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    walk_t w;

    if (!walk_start(&w, c, algorithm)) {
        return HCCL_ERR_NOMEM;
    }
    if (1 < w.nodes) {
        hccl_build_apart(w.b, w.area);
        w.out = hccl_build_scratch(w.b, WINDOW * w.area);
        w.in = hccl_build_scratch(w.b, WINDOW * w.area);
    } else {
        hccl_build_apart(w.b, 0);
    }
    start_long(&w, 0, 1);
    for (int d = 1; d == 1 || d < w.nodes; d += WINDOW) {
        const int n = d + WINDOW <= w.nodes ? WINDOW : w.nodes - d;

        start_long(&w, d, n);
        hccl_build_how(w.b, HCCL_HOW_PARCELS);
        depart(&w, d, n);
        if (1 == d) {
            inside(&w, HCCL_HOW_PIECES);
            hccl_build_how(w.b, HCCL_HOW_PARCELS);
        }
        arrive(&w, d, n);
        hccl_build_how(w.b, HCCL_HOW_LONG);
        hccl_build_wait(w.b);
    }
    return hccl_build_finish(w.b, plan);
}
