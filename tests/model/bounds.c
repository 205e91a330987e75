/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts what hierarchical algorithms send over each node's link and holds it against the least that
 * is possible: bounds. Prints one line per algorithm. n: units of the vector or of all blocks, H:
 * nodes, L: ranks of a node, m: a block.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/worlds.h"

/* One node's traffic in one run. */
typedef struct traffic {
    const hccl_shape_t *shape;
    int node, root_node;
    uint64_t n;        /* whole vector, or all blocks */
    uint64_t mine;     /* units of the node's own blocks */
    uint64_t smallest; /* of the blocks of any node */
    uint64_t out, in, messages;
    uint64_t rounds;  /* messages between nodes that wait for one another */
    uint64_t busiest; /* vectors: what the rank of the node that sends most sends to any rank */
} traffic_t;

typedef bool (*bound_t)(const traffic_t *t);

/* 2(H-1)/H n; the vector is cut so that this divides. */
static bool ring_allreduce(const traffic_t *t)
{
    uint64_t h = (uint64_t) t->shape->nnodes;
    return t->out == 2 * (h - 1) * t->n / h && t->in == t->out;
}

/* The same when H is a power of two. Else with P the power below: of the H - P pairs one node sends
 * and receives n, the other that on top of its 2(P-1)/P n. */
static bool halving_allreduce(const traffic_t *t)
{
    uint64_t h = (uint64_t) t->shape->nnodes, p = 1;
    while (2 * p <= h) {
        p *= 2;
    }
    uint64_t most = 2 * (p - 1) * t->n / p + (p == h ? 0 : t->n);
    return t->out <= most && t->in <= most && (p != h || t->out == most);
}

static bool once_in(const traffic_t *t)
{
    return t->in == (t->node == t->root_node ? 0 : t->n);
}

/* A tree: each node but the root's sends its result once. */
static bool once_out(const traffic_t *t)
{
    return t->out == (t->node == t->root_node ? 0 : t->n);
}

/* Two trees for half the data each: a node has at most two children in one and none in the other. */
static bool once_in_and_out(const traffic_t *t)
{
    bool root = t->node == t->root_node;
    return t->in == (root ? 0 : t->n) && t->out <= t->n;
}

static bool once_out_and_in(const traffic_t *t)
{
    bool root = t->node == t->root_node;
    return t->out == (root ? 0 : t->n) && t->in <= t->n;
}

static bool up_and_down(const traffic_t *t)
{
    return t->in <= 2 * t->n && t->out <= 2 * t->n;
}

/* From the root alone. */
static bool star_out(const traffic_t *t)
{
    uint64_t others = (uint64_t) t->shape->nnodes - 1;
    return once_in(t) && t->messages == (t->node == t->root_node ? others : 0);
}

static bool star_in(const traffic_t *t)
{
    return once_out(t) && t->messages == (t->node == t->root_node ? 0 : 1);
}

/* Digits to base 4: at most three children for each. */
static bool four_out(const traffic_t *t)
{
    uint64_t most = 0;
    for (int reach = 1; reach < t->shape->nnodes; reach *= 4) {
        most += 3;
    }
    return once_in(t) && t->messages <= most;
}

static bool gathers_all(const traffic_t *t)
{
    return t->in == t->n - t->mine;
}

static bool scatters_all(const traffic_t *t)
{
    return t->in <= t->n - t->smallest && t->out == t->n - t->mine;
}

/* The same, straight from each other node. */
static bool scatters_straight(const traffic_t *t)
{
    uint64_t others = (uint64_t) t->shape->nnodes - 1;
    return t->in == others * t->mine && t->out == t->n - t->mine && t->rounds == others;
}

static bool exchanges_all(const traffic_t *t)
{
    return t->out == t->mine * (t->n - t->mine) && t->in == t->out;
}

static bool exchanges_at_once(const traffic_t *t)
{
    return exchanges_all(t) && t->messages == (uint64_t) t->shape->nnodes - 1;
}

static bool gathers_at_root(const traffic_t *t)
{
    bool root = t->node == t->root_node;
    return t->out == (root ? 0 : t->mine) && t->in == (root ? t->n - t->mine : 0)
           && t->messages == (root ? 0 : 1);
}

static bool scatters_from_root(const traffic_t *t)
{
    bool root = t->node == t->root_node;
    return t->in == (root ? 0 : t->mine) && t->out == (root ? t->n - t->mine : 0)
           && t->messages == (root ? (uint64_t) t->shape->nnodes - 1 : 0);
}

/* ceil(log2 H) */
static uint64_t log_nodes(const traffic_t *t)
{
    uint64_t rounds = 0;
    for (int reach = 1; reach < t->shape->nnodes; reach *= 2) {
        rounds++;
    }
    return rounds;
}

/* The runs of ranks in a row that share a node. */
static uint64_t runs_of(const hccl_shape_t *shape, int node)
{
    uint64_t runs = 0;
    for (int i = 0; i < shape->nranks; i++) {
        runs += node == shape->node_of[i] && (0 == i || node != shape->node_of[i - 1]) ? 1 : 0;
    }
    return runs;
}

/* What each run has combined goes from its node to all others, the result of a share as well. */
static bool runs_allreduce(const traffic_t *t)
{
    uint64_t h = (uint64_t) t->shape->nnodes, share = t->n / h, others = 0;
    for (int v = 0; v < t->shape->nnodes; v++) {
        others += v == t->node ? 0 : runs_of(t->shape, v);
    }
    return t->out == (h - 1) * share * (runs_of(t->shape, t->node) + 1)
           && t->in == share * (others + h - 1);
}

/* lg H rounds, in each a message or, round the end, two. */
static bool runs_in_few_messages(const traffic_t *t)
{
    return t->rounds == log_nodes(t) && t->messages <= 2 * log_nodes(t);
}

static bool log_messages(const traffic_t *t)
{
    return t->messages == log_nodes(t);
}

/* The bytes of a ring in the fewest rounds for any H. */
static bool short_allreduce(const traffic_t *t)
{
    return ring_allreduce(t) && t->rounds == 2 * log_nodes(t);
}

static bool short_gather(const traffic_t *t)
{
    return gathers_all(t) && t->rounds == log_nodes(t);
}

/* ceil(log2 H), or of the power of two below H, and one more to and from the nodes beyond it. */
static uint64_t halving_rounds(const traffic_t *t)
{
    uint64_t rounds = 0, h = (uint64_t) t->shape->nnodes, p = 1;
    for (; 2 * p <= h; p *= 2) {
        rounds++;
    }
    return 2 * rounds + (p == h ? 0 : 2);
}

/* One vector to each run but the first of all, one from each but the last: none can do with less. */
static bool from_run_to_run(const traffic_t *t)
{
    const uint64_t runs = runs_of(t->shape, t->node);
    const bool first = t->node == t->shape->node_of[0];
    const bool last = t->node == t->shape->node_of[t->shape->nranks - 1];
    return t->in == (runs - (first ? 1 : 0)) * t->n && t->out == (runs - (last ? 1 : 0)) * t->n;
}

/* Few rounds; no rank gets more than one vector for its window and one for its gap in each. */
static bool by_windows(const traffic_t *t)
{
    const uint64_t runs = runs_of(t->shape, t->node);
    return t->rounds <= log_nodes(t) + 1 && t->in <= 2 * t->rounds * runs * t->n;
}

/* What each run has combined leaves its node once for each other node, in the rounds of a tree of base 4 and one
 * more where runs that follow one another do not have all nodes. */
static bool by_rows(const traffic_t *t)
{
    uint64_t rounds = 1;
    for (int reach = 1; reach < t->shape->nnodes; reach *= 4) {
        rounds++;
    }
    return t->out == runs_of(t->shape, t->node) * (t->n - t->mine) && t->rounds <= rounds;
}

/* Scattered and gathered, each in the rounds of a tree. */
static bool short_bcast(const traffic_t *t)
{
    return once_in(t) && t->rounds <= 2 * log_nodes(t);
}

static bool halving_bcast(const traffic_t *t)
{
    return once_in(t) && t->rounds <= halving_rounds(t);
}

/* (H-1)/H n is combined elsewhere, and others' shares, as many again at most, are passed to the root. */
static bool short_reduce(const traffic_t *t)
{
    uint64_t h = (uint64_t) t->shape->nnodes, combined = (h - 1) * t->n / h;
    bool root = t->node == t->root_node;
    return t->rounds <= 2 * log_nodes(t) && t->in <= 2 * combined
           && (root ? t->out == combined && t->in == 2 * combined : t->out >= t->n);
}

static bool halving_reduce(const traffic_t *t)
{
    bool root = t->node == t->root_node;
    return t->rounds <= halving_rounds(t) && t->in <= 3 * t->n && (root || t->out >= t->n);
}

/* A node's own blocks come to it from lg H others, which is more than the ring's one where other nodes
 * are smaller. */
static bool short_scatter(const traffic_t *t)
{
    return t->out == t->n - t->mine && (t->in == t->out || !t->shape->even)
           && t->rounds == log_nodes(t);
}

/* Of 4 parts of the vector one crosses the network once for every rank, if nodes are even. */
static bool split_allreduce(const traffic_t *t)
{
    uint64_t h = (uint64_t) t->shape->nnodes, l = (uint64_t) t->shape->min_local;
    uint64_t often = t->shape->even ? l : 1;
    return t->out * 4 == 2 * (h - 1) * t->n / h * (3 + often) && t->in == t->out;
}

/* Every rank of a node sends an equal part of what the node sends, whatever the others' sizes. */
static bool shared_allreduce(const traffic_t *t)
{
    return ring_allreduce(t) && t->busiest * t->mine == t->out;
}

static bool shared_short_allreduce(const traffic_t *t)
{
    return shared_allreduce(t) && t->rounds == 2 * log_nodes(t);
}

static const struct {
    hccl_coll_t coll;
    const char *name;
    bound_t bound;
    const char *text;
} bounds[] = {
    {HCCL_COLL_ALLREDUCE, "hier_ring", ring_allreduce, "out and in of each node 2(H-1)/H n"},
    {HCCL_COLL_ALLREDUCE, "hier_rhd", halving_allreduce,
     "out and in 2(H-1)/H n, H no power of two: at most 2(P-1)/P n + n"},
    {HCCL_COLL_ALLREDUCE, "hier_nhr", short_allreduce,
     "out and in of each node 2(H-1)/H n, 2 lg H rounds"},
    {HCCL_COLL_ALLREDUCE, "hier_nb", short_allreduce,
     "out and in of each node 2(H-1)/H n, 2 lg H rounds"},
    {HCCL_COLL_ALLREDUCE, "hier_pipeline", ring_allreduce, "out and in of each node 2(H-1)/H n"},
    {HCCL_COLL_ALLREDUCE, "hier_multi_ring", ring_allreduce, "out and in of each node 2(H-1)/H n"},
    {HCCL_COLL_ALLREDUCE, "hier_2d", split_allreduce,
     "out and in of each node 2(H-1)/H n for 3/4 of it, L times that for 1/4"},
    {HCCL_COLL_ALLREDUCE, "hier_ahc", shared_allreduce,
     "out and in of each node 2(H-1)/H n, all its ranks alike"},
    {HCCL_COLL_ALLREDUCE, "hier_ahc_nhr", shared_short_allreduce,
     "out and in of each node 2(H-1)/H n, all its ranks alike, 2 lg H rounds"},
    {HCCL_COLL_ALLREDUCE, "hier_ahc_nb", shared_short_allreduce,
     "out and in of each node 2(H-1)/H n, all its ranks alike, 2 lg H rounds"},
    {HCCL_COLL_ALLREDUCE, "hier_ahc_pairwise", shared_allreduce,
     "out and in of each node 2(H-1)/H n, all its ranks alike"},
    {HCCL_COLL_ALLREDUCE, "hier_double_tree", up_and_down, "at most 2 n out and in of each node"},
    {HCCL_COLL_ALLREDUCE, "hier_runs", runs_in_few_messages,
     "lg H rounds, at most 2 lg H messages from each node"},
    {HCCL_COLL_ALLREDUCE, "hier_runs_slices", runs_allreduce,
     "(H-1)/H n out of each node for each of its runs, and for the result"},
    {HCCL_COLL_BCAST, "hier_tree", once_in, "n into each node"},
    {HCCL_COLL_BCAST, "hier_tree4", four_out,
     "n into each node, at most 3 messages a level out of each"},
    {HCCL_COLL_BCAST, "hier_star", star_out, "n into each node, all from the root's"},
    {HCCL_COLL_BCAST, "hier_double_tree", once_in_and_out,
     "n into each node, at most n out of each"},
    {HCCL_COLL_BCAST, "hier_binary", once_in, "n into each node"},
    {HCCL_COLL_BCAST, "hier_chain", once_in, "n into each node"},
    {HCCL_COLL_BCAST, "hier_scatter_ring", once_in, "n into each node"},
    {HCCL_COLL_BCAST, "hier_scatter_nhr", short_bcast, "n into each node, 2 lg H rounds"},
    {HCCL_COLL_BCAST, "hier_scatter_nb", short_bcast, "n into each node, 2 lg H rounds"},
    {HCCL_COLL_BCAST, "hier_scatter_rhd", halving_bcast,
     "n into each node, 2 lg H rounds, H no power of two: 2 lg P + 2"},
    {HCCL_COLL_REDUCE, "hier_nhr", short_reduce,
     "at most 2(H-1)/H n into each node, 2 lg H rounds"},
    {HCCL_COLL_REDUCE, "hier_nb", short_reduce, "at most 2(H-1)/H n into each node, 2 lg H rounds"},
    {HCCL_COLL_REDUCE, "hier_rhd", halving_reduce,
     "at most 3 n into each node, 2 lg H rounds, H no power of two: 2 lg P + 2"},
    {HCCL_COLL_REDUCE, "hier_chain", once_out, "n out of each node"},
    {HCCL_COLL_REDUCE, "hier_line", once_out, "n out of each node"},
    {HCCL_COLL_REDUCE, "hier_tree", once_out, "n out of each node"},
    {HCCL_COLL_REDUCE, "hier_tree4", once_out, "n out of each node"},
    {HCCL_COLL_REDUCE, "hier_star", star_in, "n out of each node, in one message"},
    {HCCL_COLL_REDUCE, "hier_double_tree", once_out_and_in,
     "n out of each node, at most n into each"},
    {HCCL_COLL_ALLGATHER, "hier_ring", gathers_all, "(H-1)/H n into each node"},
    {HCCL_COLL_ALLGATHER, "hier_bruck", gathers_all, "(H-1)/H n into each node"},
    {HCCL_COLL_ALLGATHER, "hier_nhr", short_gather, "(H-1)/H n into each node, lg H rounds"},
    {HCCL_COLL_ALLGATHER, "hier_nb", short_gather, "(H-1)/H n into each node, lg H rounds"},
    {HCCL_COLL_ALLGATHER, "hier_ahc_nhr", short_gather, "(H-1)/H n into each node, lg H rounds"},
    {HCCL_COLL_ALLGATHER, "hier_ahc_nb", short_gather, "(H-1)/H n into each node, lg H rounds"},
    {HCCL_COLL_ALLGATHER, "hier_ahc_pairwise", gathers_all, "(H-1)/H n into each node"},
    {HCCL_COLL_ALLGATHER, "hier_ahc", gathers_all, "(H-1)/H n into each node"},
    {HCCL_COLL_ALLGATHERV, "hier_nhr", short_gather, "(H-1)/H n into each node, lg H rounds"},
    {HCCL_COLL_ALLGATHERV, "hier_nb", short_gather, "(H-1)/H n into each node, lg H rounds"},
    {HCCL_COLL_ALLGATHERV, "hier_ahc_nhr", short_gather, "(H-1)/H n into each node, lg H rounds"},
    {HCCL_COLL_ALLGATHERV, "hier_ahc_nb", short_gather, "(H-1)/H n into each node, lg H rounds"},
    {HCCL_COLL_ALLGATHERV, "hier_ahc_pairwise", gathers_all, "(H-1)/H n into each node"},
    {HCCL_COLL_ALLGATHERV, "hier_ahc", gathers_all, "(H-1)/H n into each node"},
    {HCCL_COLL_ALLGATHERV, "hier_ring", gathers_all, "(H-1)/H n into each node"},
    {HCCL_COLL_ALLGATHERV, "hier_bruck", gathers_all, "(H-1)/H n into each node"},
    {HCCL_COLL_REDUCE_SCATTER, "hier_nhr", short_scatter,
     "(H-1)/H n out of each node, lg H rounds"},
    {HCCL_COLL_REDUCE_SCATTER, "hier_nb", short_scatter, "(H-1)/H n out of each node, lg H rounds"},
    {HCCL_COLL_REDUCE_SCATTER, "hier_pipeline", scatters_all, "(H-1)/H n out of each node"},
    {HCCL_COLL_REDUCE_SCATTER, "hier_ahc_nhr", short_scatter,
     "(H-1)/H n out of each node, lg H rounds"},
    {HCCL_COLL_REDUCE_SCATTER, "hier_ahc_nb", short_scatter,
     "(H-1)/H n out of each node, lg H rounds"},
    {HCCL_COLL_REDUCE_SCATTER, "hier_ahc_pairwise", scatters_straight,
     "(H-1)/H n out of each node"},
    {HCCL_COLL_REDUCE_SCATTER, "hier_ahc", scatters_all, "(H-1)/H n out of each node"},
    {HCCL_COLL_REDUCE_SCATTER, "hier_pairwise", scatters_straight, "(H-1)/H n out of each node"},
    {HCCL_COLL_REDUCE_SCATTER, "hier_runs_halving", by_rows,
     "(H-1)/H n out of each node for each of its runs, log4 H + 1 rounds"},
    {HCCL_COLL_REDUCE_SCATTER, "hier_ring", scatters_all, "(H-1)/H n out of each node"},
    {HCCL_COLL_REDUCE_SCATTER_BLOCK, "hier_nhr", short_scatter,
     "(H-1)/H n out of each node, lg H rounds"},
    {HCCL_COLL_REDUCE_SCATTER_BLOCK, "hier_nb", short_scatter,
     "(H-1)/H n out of each node, lg H rounds"},
    {HCCL_COLL_REDUCE_SCATTER_BLOCK, "hier_pipeline", scatters_all, "(H-1)/H n out of each node"},
    {HCCL_COLL_REDUCE_SCATTER_BLOCK, "hier_ahc_nhr", short_scatter,
     "(H-1)/H n out of each node, lg H rounds"},
    {HCCL_COLL_REDUCE_SCATTER_BLOCK, "hier_ahc_nb", short_scatter,
     "(H-1)/H n out of each node, lg H rounds"},
    {HCCL_COLL_REDUCE_SCATTER_BLOCK, "hier_ahc_pairwise", scatters_straight,
     "(H-1)/H n out of each node"},
    {HCCL_COLL_REDUCE_SCATTER_BLOCK, "hier_ahc", scatters_all, "(H-1)/H n out of each node"},
    {HCCL_COLL_REDUCE_SCATTER_BLOCK, "hier_ring", scatters_all, "(H-1)/H n out of each node"},
    {HCCL_COLL_ALLTOALL, "hier", exchanges_at_once, "L^2 (H-1) m out of each node, H-1 messages"},
    {HCCL_COLL_ALLTOALL, "hier_pairwise", exchanges_all, "L^2 (H-1) m out of each node"},
    {HCCL_COLL_GATHER, "hier", gathers_at_root, "each node's blocks in one message"},
    {HCCL_COLL_GATHERV, "hier", gathers_at_root, "each node's blocks in one message"},
    {HCCL_COLL_SCATTER, "hier", scatters_from_root, "each node's blocks in one message"},
    {HCCL_COLL_SCATTERV, "hier", scatters_from_root, "each node's blocks in one message"},
    {HCCL_COLL_SCAN, "hier_chain", from_run_to_run,
     "n into each node for each of its runs but the first of all"},
    {HCCL_COLL_SCAN, "hier_gaps", by_windows,
     "at most lg H + 1 rounds, of two vectors for each run"},
    {HCCL_COLL_EXSCAN, "hier_chain", from_run_to_run,
     "n into each node for each of its runs but the first of all"},
    {HCCL_COLL_EXSCAN, "hier_gaps", by_windows,
     "at most lg H + 1 rounds, of two vectors for each run"},
    {HCCL_COLL_BARRIER, "hier", log_messages, "log2 H messages out of each node"},
};

static const char *const shapes[] = {
    "node:2 rank:2",
    "node:4 rank:2",
    "node:4 rank:2 map:cyclic",
    "node:2 rank:4 map:cyclic",
    "node:3 rank:4",
    "node:3 rank:4 map:cyclic",
    "node:3 rank:(1,2,3)",
    "node:4 rank:(2,5,3,2) map:cyclic",
    "node:5 rank:3",
    "node:8 rank:8",
    "node:8 rank:4 map:cyclic",
    "node:7 rank:(1,1,2,3,5,8,1)",
    "node:6",
    "node:4 rank:4 map:0,5,2,9,1,3,8,12,4,6,7,15,10,11,13,14",
    "node:8 rank:2 map:0,15,1,14,2,13,3,12,4,11,5,10,6,9,7,8",
    "node:16 rank:3",
    "node:2 numa:2 core:4",
    "node:3 package:2 numa:2 core:2 map:cyclic",
};

static uint64_t node_ranks(const hccl_shape_t *shape, int node)
{
    return (uint64_t) (shape->node_start[node + 1] - shape->node_start[node]);
}

/* What the rank of a node that sends most sends, of a vector of n units. */
static uint64_t busiest_rank(const world_t *w, const hccl_shape_t *shape, int node, uint64_t n)
{
    uint64_t most = 0;
    for (int i = shape->node_start[node]; i < shape->node_start[node + 1]; i++) {
        const hccl_plan_t *plan = w->plans[shape->node_ranks[i]];
        uint64_t blocks = 0;
        for (int j = 0; j < plan->nsteps; j++) {
            if (HCCL_STEP_SEND == plan->steps[j].kind) {
                blocks += (uint64_t) plan->steps[j].count;
            }
        }
        most = blocks > most ? blocks : most;
    }
    return most * n / (uint64_t) w->plans[0]->nblocks;
}

/* false: some node breaks the bound, described in why. */
static bool check_world(const world_t *w, const hccl_shape_t *shape, int root, bound_t bound,
                        char *why)
{
    hccl_checker_t *k;
    hccl_check_report_t r;
    hccl_check_setup_t setup = {.nseg = 1, .slots = 8, .unit_bytes = 1};
    int rc = hccl_check_start(&w->check, &k, why);
    if (HCCL_OK != rc) {
        return false;
    }
    rc = hccl_check_run(k, &setup, &r);
    if (HCCL_OK != rc) {
        memcpy(why, r.why, HCCL_CHECK_WHY);
    }
    traffic_t t = {.shape = shape, .root_node = shape->node_of[root], .n = r.total_units};
    t.smallest = (uint64_t) shape->min_local;
    for (int v = 0; v < shape->nnodes && HCCL_OK == rc; v++) {
        t.node = v;
        t.mine = node_ranks(shape, v);
        t.out = r.node_out[v];
        t.in = r.node_in[v];
        t.messages = r.node_messages[v];
        t.rounds = (uint64_t) r.rounds;
        t.busiest = busiest_rank(w, shape, v, t.n);
        if (!bound(&t)) {
            snprintf(why, HCCL_CHECK_WHY,
                     "node %d: out %llu in %llu in %llu messages and %llu rounds, its busiest rank "
                     "sends "
                     "%llu, n = %llu",
                     v, (unsigned long long) t.out, (unsigned long long) t.in,
                     (unsigned long long) t.messages, (unsigned long long) t.rounds,
                     (unsigned long long) t.busiest, (unsigned long long) t.n);
            rc = HCCL_ERR_INTERNAL;
        }
    }
    hccl_check_end(k);
    return HCCL_OK == rc;
}

static bool check_shape(int algorithm, const char *text, bound_t bound, char *why)
{
    hccl_shape_t *shape;
    bool ok = true;
    if (HCCL_OK != hccl_shape_from_text(text, -1, &shape, why, HCCL_CHECK_WHY)) {
        return false;
    }
    int end = hccl_coll_info[hccl_algos[algorithm].coll].rooted ? shape->nranks : 1;
    for (int root = 0; root < end && ok; root += 1 + end / 5) {
        world_t w;
        ok = world_make(&w, algorithm, shape, NULL, root, NULL, why);
        if (ok) {
            ok = check_world(&w, shape, root, bound, why);
            world_free(&w);
        }
    }
    hccl_shape_free(shape);
    return ok;
}

int main(void)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        const char *coll = hccl_coll_info[bounds[i].coll].name;
        int algorithm = hccl_algo_find(bounds[i].coll, bounds[i].name);
        char why[HCCL_CHECK_WHY] = "no such algorithm";
        const char *where = "";
        bool ok = algorithm >= 0;
        for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]) && ok; s++) {
            where = shapes[s];
            ok = check_shape(algorithm, where, bounds[i].bound, why);
        }
        if (ok) {
            printf("ok bytes/%s/%s\n#   %s, %zu shapes\n", coll, bounds[i].name, bounds[i].text,
                   sizeof(shapes) / sizeof(shapes[0]));
        } else {
            printf("not ok bytes/%s/%s: %s: %s: %s\n", coll, bounds[i].name, bounds[i].text, where,
                   why);
            failed++;
        }
    }
    return 0 == failed ? 0 : 1;
}
