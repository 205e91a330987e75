/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce_scatter in rank order, whatever the mapping, in few messages. The runs of a row (see rows.h) combine the
 * blocks of all nodes between nodes, so that each has those of its own node in the end; the rest is inside the
 * node, where each rank combines its block of all rows in shared memory. Where ranks alternate, a row is one rank of
 * every node. Blocks of a node that has no run in a row go there from who holds them at last.
 *
 * A node sends as much as in ordered_pairwise.c, which says why there is no less, in fewer messages and more rounds.
 *
 * Used through algorithms.def.
 */
#include <stdlib.h>

#include "algo/rows.h"

/* Groups that unite in a round; rows of which a rank receives its node's blocks at once because its node has no
 * run there. */
enum { RADIX = 4, AT_ONCE = 4 };

typedef struct {
    hccl_ordered_t o;
    hccl_rows_t rows;
    int run;    /* mine */
    int number; /* my row */
    hccl_row_t row;
    int shares; /* of the blocks: each rank of a run stands for one */
    int share;  /* mine; negative: none */
    int *node;  /* [nodes] all nodes in the order of their blocks */
    int *at;    /* [shares][nodes] position of the first block of a node in a share */
    int src;    /* base of what my run, then my group has combined */
    int acc;    /* scratch area for that */
    int in;     /* RADIX - 1 scratch areas for what comes */
    int away;   /* AT_ONCE scratch areas for rows without my node */
} halving_t;

/* ---- the order of the blocks -------------------------------------------------------------------- */

/* at[] and the order of the blocks: by share, then by node. HCCL_OK or HCCL_ERR_NOMEM. */
static int order_blocks(halving_t *h)
{
    const hccl_shape_t *shape = h->o.c->shape;
    int32_t *order = malloc((size_t) shape->nranks * sizeof(*order));
    int n = 0;

    if (NULL == order) {
        return HCCL_ERR_NOMEM;
    }
    for (int i = 0; i < h->shares * shape->nnodes; i++) {
        const int share = i / shape->nnodes, v = h->node[i % shape->nnodes];

        h->at[share * shape->nnodes + v] = n;
        for (int at = shape->node_start[v] + share; at < shape->node_start[v + 1];
             at += h->shares) {
            order[n++] = shape->node_ranks[at];
        }
    }
    hccl_build_order(h->o.b, order);
    free(order);
    return HCCL_OK;
}

/* ---- messages of a row ------------------------------------------------------------------------ */

/* A node's blocks in a share: where they begin; how many. */
static int begin_of(const halving_t *h, int share, int node)
{
    return h->at[share * h->row.nodes + node];
}

static int count_of(const halving_t *h, int share, int node)
{
    const hccl_shape_t *shape = h->o.c->shape;
    const int n = shape->node_start[node + 1] - shape->node_start[node];

    return (n - share + h->shares - 1) / h->shares;
}

/* The next positions of my share and a holder that lie together, from number *i of the nodes on. 0: no more. */
static int next_held(const halving_t *h, const hccl_row_group_t *g, int member, int *i, int *first)
{
    const int nodes = h->row.nodes;
    int count = 0;

    while (*i < nodes && member != g->holder[h->node[*i]]) {
        ++*i;
    }
    *first = *i < nodes ? begin_of(h, h->share, h->node[*i]) : 0;
    for (; *i < nodes && member == g->holder[h->node[*i]]; ++*i) {
        count += count_of(h, h->share, h->node[*i]);
    }
    return count;
}

/* The rank that stands for a run of my row, in my share. */
static int rank_of(const halving_t *h, int member)
{
    return h->o.runs.first[h->rows.begin[h->number] + member] + h->share;
}

/* Of all parts but mine: what is theirs from me, what is mine from them. */
static void exchange(halving_t *h, const hccl_row_group_t *g)
{
    int first, count;

    for (int part = 0; part < g->parts; part++) {
        if (part == g->mine) {
            continue;
        }
        for (int to = hccl_row_part(&h->row, g, part); to < hccl_row_part(&h->row, g, part + 1);
             to++) {
            if (h->row.me != hccl_row_mirror(&h->row, g, part, g->mine, to)) {
                continue;
            }
            for (int i = 0; 0 < (count = next_held(h, g, to, &i, &first));) {
                hccl_build_send(h->o.b, rank_of(h, to), h->src, first, count);
            }
        }
        const int from = hccl_row_mirror(&h->row, g, g->mine, part, h->row.me);
        const int in = h->in + (part < g->mine ? part : part - 1);

        for (int i = 0; 0 < (count = next_held(h, g, h->row.me, &i, &first));) {
            hccl_build_recv(h->o.b, rank_of(h, from), in, first, count);
        }
    }
    hccl_build_wait(h->o.b);
}

static void combine(halving_t *h, const hccl_row_group_t *g)
{
    int first, count;

    for (int i = 0; 0 < (count = next_held(h, g, h->row.me, &i, &first));) {
        hccl_build_fold_begin(h->o.b, h->acc, first, count);
        for (int part = 0; part < g->parts; part++) {
            const int in = h->in + (part < g->mine ? part : part - 1);

            hccl_build_fold_own(h->o.b, part == g->mine ? h->src : in, first);
        }
        hccl_build_fold_end(h->o.b);
    }
    h->src = h->acc;
}

/* My row, from my run on outwards. */
static void unite(halving_t *h)
{
    for (int i = h->row.rounds - 1; 0 <= i; i--) {
        if (1 < h->row.group[i].n) {
            exchange(h, &h->row.group[i]);
            combine(h, &h->row.group[i]);
        }
    }
}

/* ---- rows and nodes --------------------------------------------------------------------------- */

/* Which rank of a node gets what row number `row` has for it, if that is number `away` of those without a run
 * there. */
static int taker(const halving_t *h, int node, int away)
{
    const hccl_shape_t *shape = h->o.c->shape;

    return shape->node_ranks[shape->node_start[node] + away % count_of(h, 0, node)];
}

/* The rank that sends what a row without a node has for it. */
static int giver(const halving_t *h, int node, int row)
{
    return h->o.runs.first[hccl_rows_deputy(&h->rows, node, row)];
}

/* What I hold at last for nodes without a run in my row. */
static void send_away(const halving_t *h)
{
    for (int v = 0; v < h->row.nodes; v++) {
        if (h->row.me == h->row.holders[v] && 0 > hccl_rows_run(&h->rows, v, h->number)) {
            hccl_build_send(h->o.b, taker(h, v, hccl_rows_away(&h->rows, v, h->number)), h->src,
                            begin_of(h, 0, v), count_of(h, 0, v));
        }
    }
}

/* ---- inside a node ---------------------------------------------------------------------------- */

/* acc = what my run has combined of my share, if it has several ranks. */
static void fold_run(halving_t *h)
{
    const int all = h->o.c->shape->nranks, me = h->o.c->me;
    const int first = h->o.runs.first[h->run], end = h->o.runs.first[h->run + 1];

    h->src = HCCL_BASE_SEND;
    if (h->o.runs.n == all) { /* every run is one rank */
        return;
    }
    const int pub = hccl_build_publications(h->o.b, 1, all);

    if (first + 1 == end) {
        return;
    }
    if (1 < h->shares || 0 > h->share) {
        hccl_build_publish(h->o.b, pub, HCCL_BASE_SEND, 0, all);
    }
    if (0 <= h->share) {
        const int at = begin_of(h, h->share, h->node[0]);
        const int count =
            (1 + h->share < h->shares ? begin_of(h, h->share + 1, h->node[0]) : all) - at;

        hccl_build_fold_begin(h->o.b, h->acc, at, count);
        for (int rank = first; rank < end; rank++) {
            hccl_runs_more(h->o.b, h->acc, at, count, rank - first);
            if (rank == me) {
                hccl_build_fold_own(h->o.b, HCCL_BASE_SEND, at);
            } else {
                hccl_build_fold_peer(h->o.b, h->o.c->shape->local_of[rank], pub, 0, at);
            }
        }
        hccl_build_fold_end(h->o.b);
        h->src = h->acc;
    }
}

/* The end of the rows from `row` on of which ranks of my node get AT_ONCE each. */
static int batch_end(const halving_t *h, int row)
{
    int away = 0;

    while (row < h->rows.n
           && (away < AT_ONCE * h->o.here.n || 0 <= hccl_rows_run(&h->rows, h->o.here.node, row))) {
        away += 0 > hccl_rows_run(&h->rows, h->o.here.node, row) ? 1 : 0;
        row++;
    }
    return row;
}

/* Numbers for publications of my node's blocks of rows from, ..., end - 1: of those with a run here, then of the
 * others, as many as one rank gets. Returns the first. */
static int reserve(const halving_t *h, int from, int end)
{
    const int node = h->o.here.node, n = h->o.here.n;
    const int away = hccl_rows_away(&h->rows, node, end) - hccl_rows_away(&h->rows, node, from);

    return hccl_build_publications(h->o.b, 1 + (away + n - 1) / n, h->o.c->shape->max_local);
}

/* Brings my node's blocks of rows from, ..., end - 1 to my node, as far as that is for me to do. If some come
 * from rows without a run here, there is one share. */
static void show(halving_t *h, int from, int end, int pub)
{
    const int node = h->o.here.node, at = begin_of(h, 0, node), n = h->o.here.n;
    const bool has = 0 <= h->share && from <= h->number && h->number < end;
    const int count = has ? count_of(h, h->share, node) : 0;
    int away = 0, come = 0;

    if (1 < count) {
        hccl_build_publish(h->o.b, pub, h->src, begin_of(h, h->share, node), count);
    }
    for (int row = from; row < end; row++) {
        if (0 > hccl_rows_run(&h->rows, node, row) && away++ % n == h->o.here.me) {
            hccl_build_recv(h->o.b, giver(h, node, row), h->away + come++, at, n);
        }
    }
    hccl_build_wait(h->o.b);
    for (int i = 0; i < come && 1 < n; i++) {
        hccl_build_publish(h->o.b, pub + 1 + i, h->away + i, at, n);
    }
}

/* RECV = my block of rows before `from`, which it has, and of rows from, ..., end - 1. */
static void fold_rows(halving_t *h, int from, int end, int pub)
{
    const hccl_shape_t *shape = h->o.c->shape;
    const int node = h->o.here.node, n = h->o.here.n;
    const int share = h->o.here.me % h->shares, at = begin_of(h, share, node);
    const int mine = hccl_build_position(h->o.b, h->o.c->me);
    int away = 0, sources = 0;

    hccl_build_fold_begin(h->o.b, HCCL_BASE_RECV, mine, 1);
    if (0 < from) {
        hccl_build_fold_own(h->o.b, HCCL_BASE_RECV, mine);
        sources++;
    }
    for (int row = from; row < end; row++) {
        const int run = hccl_rows_run(&h->rows, node, row), number = 0 > run ? away / n : -1;
        const int peer = 0 > run ? away++ % n : shape->local_of[h->o.runs.first[run] + share];

        hccl_runs_more(h->o.b, HCCL_BASE_RECV, mine, 1, sources++);
        if (peer == h->o.here.me) {
            hccl_build_fold_own(h->o.b, 0 > run ? h->away + number : h->src, mine);
        } else {
            hccl_build_fold_peer(h->o.b, peer, pub + 1 + number, at, mine);
        }
    }
    hccl_build_fold_end(h->o.b);
}

/* ---- the plan --------------------------------------------------------------------------------- */

/* Where one row has all runs, they share out the blocks to as many ranks as the shortest of them has. */
static int count_shares(const halving_t *h)
{
    const int *first = h->o.runs.first;
    int least = first[1] - first[0];

    for (int k = 1; k < h->o.runs.n; k++) {
        least = first[k + 1] - first[k] < least ? first[k + 1] - first[k] : least;
    }
    return 1 == h->rows.n ? least : 1;
}

static int open_halving(halving_t *h, const hccl_case_t *c, int algorithm)
{
    const int n = c->shape->nranks, most = hccl_part_ports(c, RADIX - 1) + 1;

    *h = (halving_t){.run = -1};
    int rc = hccl_ordered_open(&h->o, c, algorithm, n);

    if (HCCL_OK != rc) {
        return rc;
    }
    h->run = hccl_runs_of(&h->o.runs, c->me);
    rc = hccl_rows_make(c->shape, &h->o.runs, &h->rows);
    if (HCCL_OK != rc) {
        return rc;
    }
    h->number = hccl_rows_of(&h->rows, h->run);
    h->shares = count_shares(h);
    h->share = c->me - h->o.runs.first[h->run] < h->shares ? c->me - h->o.runs.first[h->run] : -1;
    h->node = malloc((size_t) (1 + h->shares) * (size_t) c->shape->nnodes * sizeof(*h->node));
    if (NULL == h->node) {
        return HCCL_ERR_NOMEM;
    }
    h->at = h->node + c->shape->nnodes;
    rc = hccl_row_make(&h->rows, h->run, most, &h->row);
    rc = HCCL_OK == rc ? hccl_row_order(c->shape->nnodes, most, h->node) : rc;
    rc = HCCL_OK == rc ? order_blocks(h) : rc;
    const bool complete = h->rows.n * c->shape->nnodes == h->o.runs.n; /* all rows have all nodes */

    h->acc = hccl_build_scratch(h->o.b, n);
    h->in = h->acc + 1;
    h->away = h->in + RADIX - 1;
    for (int i = 1; i < RADIX + (complete ? 0 : AT_ONCE); i++) {
        hccl_build_scratch(h->o.b, n);
    }
    return rc;
}

int hccl_algo_reduce_scatter_hier_runs_halving(const hccl_case_t *c, int algorithm,
                                               hccl_plan_t **plan)
{
    halving_t h;
    const int rc = open_halving(&h, c, algorithm);

    if (HCCL_OK == rc) {
        fold_run(&h);
        if (0 <= h.share) {
            unite(&h);
            send_away(&h);
        }
        for (int row = 0; row < h.rows.n;) {
            const int end = batch_end(&h, row);
            const int pub = reserve(&h, row, end);

            show(&h, row, end, pub);
            fold_rows(&h, row, end, pub);
            row = end;
        }
        hccl_build_wait(h.o.b);
    }
    hccl_row_free(&h.row);
    hccl_rows_free(&h.rows);
    free(h.node);
    return hccl_ordered_close(&h.o, rc, plan);
}
