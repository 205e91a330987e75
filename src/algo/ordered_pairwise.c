/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce_scatter in rank order, whatever the mapping: each run of ranks of a node (see runs.h) combines
 * every block and sends it straight to its rank, which combines what comes in the order of the runs. The ranks
 * of a run share out the blocks. What is of the node itself is read in shared memory.
 *
 * So a node sends, for each of its runs, the blocks of all other nodes. Where ranks alternate none can do with
 * less (ordered_slices.c says why), and there as much is sent as without a hierarchy; else it is less.
 *
 * Used through algorithms.def.
 */
#include "algo/runs.h"

/* Messages that a rank waits for at once: fewer rounds, and a scratch area of a whole vector for each. */
static int messages_at_once(const hccl_runs_t *runs)
{
    return 32 >= runs->n ? 16 : 128 >= runs->n ? 8 : 4;
}

typedef struct {
    hccl_ordered_t o;
    int run;     /* mine */
    int mine;    /* position of my block */
    int pub;     /* of everybody's vector, or what his node needs of it */
    int out;     /* scratch area: what my run has combined, of the blocks that I send */
    int low;     /* what lies before my run, so far */
    int at_once; /* messages that come */
    int in;      /* as many areas for them */
    bool lowest; /* low has something */
} pairwise_t;

static int length_of(const pairwise_t *p, int run)
{
    return p->o.runs.first[run + 1] - p->o.runs.first[run];
}

static bool is_near(const pairwise_t *p, int run)
{
    return p->o.c->shape->node_of[p->o.runs.first[run]] == p->o.here.node;
}

/* Which rank of a run sends the block of a rank. */
static int sender_of(const pairwise_t *p, int run, int rank)
{
    return p->o.runs.first[run] + rank % length_of(p, run);
}

/* Where what a rank of my node publishes begins: at all blocks, or at those of the node. */
static int published_first(const pairwise_t *p, int rank)
{
    const int run = hccl_runs_of(&p->o.runs, rank);

    return 1 < length_of(p, run) ? 0 : p->o.c->shape->node_start[p->o.here.node];
}

static void publish(pairwise_t *p)
{
    const int all = p->o.c->shape->nranks;
    bool single = true;

    for (int k = 0; k < p->o.runs.n; k++) {
        single = single && 1 == length_of(p, k);
    }
    p->pub = hccl_build_publications(p->o.b, 1, single ? p->o.c->shape->max_local : all);
    if (1 < p->o.here.n) {
        const int first = published_first(p, p->o.c->me);
        const bool whole = 1 < length_of(p, p->run);

        hccl_build_publish(p->o.b, p->pub, HCCL_BASE_SEND, first, whole ? all : p->o.here.n);
    }
}

/* Adds the ranks of a run of my node to a step that combines one position. */
static void add_run(pairwise_t *p, int run, int position)
{
    for (int rank = p->o.runs.first[run]; rank < p->o.runs.first[run + 1]; rank++) {
        if (rank == p->o.c->me) {
            hccl_build_fold_own(p->o.b, HCCL_BASE_SEND, position);
        } else {
            hccl_build_fold_peer(p->o.b, p->o.c->shape->local_of[rank], p->pub,
                                 published_first(p, rank), position);
        }
    }
}

/* What my run has combined to the ranks of a run, as far as that is for me to send. */
static void give(pairwise_t *p, int run)
{
    for (int rank = p->o.runs.first[run]; rank < p->o.runs.first[run + 1]; rank++) {
        const int position = hccl_build_position(p->o.b, rank);

        if (sender_of(p, p->run, rank) != p->o.c->me) {
            continue;
        }
        if (1 == length_of(p, p->run)) {
            hccl_build_send(p->o.b, rank, HCCL_BASE_SEND, position, 1);
            continue;
        }
        hccl_build_fold_begin(p->o.b, p->out, position, 1);
        add_run(p, p->run, position);
        hccl_build_fold_end(p->o.b);
        hccl_build_send(p->o.b, rank, p->out, position, 1);
    }
}

/* dst = dst, if it has something, and runs from, ..., end - 1: `first` is in the first area. */
static void combine(pairwise_t *p, int dst, bool any, int from, int end, int first)
{
    if (from == end) {
        return;
    }
    hccl_build_fold_begin(p->o.b, dst, p->mine, 1);
    if (any) {
        hccl_build_fold_own(p->o.b, dst, p->mine);
    }
    for (int k = from; k < end; k++) {
        if (is_near(p, k)) {
            add_run(p, k, p->mine);
        } else {
            hccl_build_fold_own(p->o.b, p->in + (k - first + p->o.runs.n) % p->o.runs.n, p->mine);
        }
    }
    hccl_build_fold_end(p->o.b);
}

/* Runs first, first + 1, ... (round the end), n of them, and as many behind mine. */
static void swap(pairwise_t *p, int t, int n)
{
    const int runs = p->o.runs.n;

    for (int i = 0; i < n; i++) {
        const int from = (p->run + t + i) % runs, to = (p->run - t - i + runs) % runs;

        if (!is_near(p, from)) {
            hccl_build_recv(p->o.b, sender_of(p, from, p->o.c->me), p->in + i, p->mine, 1);
        }
        if (!is_near(p, to)) {
            give(p, to);
        }
    }
    hccl_build_wait(p->o.b);
}

/* My block of all runs: those from mine on in RECV, those before it in low. */
static void gather(pairwise_t *p)
{
    const int runs = p->o.runs.n;
    bool any = false; /* in RECV */

    if (1 == runs) {
        combine(p, HCCL_BASE_RECV, false, 0, 1, 0);
    }
    for (int t = 1; t < runs; t += p->at_once) {
        const int n = runs - t < p->at_once ? runs - t : p->at_once;
        const int first = p->run + t, end = first + n;

        swap(p, t, n);
        if (first < runs || !any) {
            combine(p, HCCL_BASE_RECV, any, any ? first : p->run,
                    end < runs     ? end
                    : first < runs ? runs
                                   : p->run + 1,
                    first);
            any = true;
        }
        if (runs < end) {
            combine(p, p->low, p->lowest, first < runs ? 0 : first - runs, end - runs,
                    first % runs);
            p->lowest = true;
        }
    }
    if (p->lowest) {
        hccl_part_combine(p->o.b, HCCL_BASE_RECV, p->low, HCCL_BASE_RECV, p->mine, 1);
    }
}

int hccl_algo_reduce_scatter_hier_runs_pairwise(const hccl_case_t *c, int algorithm,
                                                hccl_plan_t **plan)
{
    const int n = c->shape->nranks;
    pairwise_t p = {.lowest = false};
    const int rc = hccl_ordered_open(&p.o, c, algorithm, n);

    if (HCCL_OK == rc) {
        hccl_order_by_node(p.o.b, c->shape);
        p.at_once = messages_at_once(&p.o.runs);
        p.run = hccl_runs_of(&p.o.runs, c->me);
        p.mine = hccl_build_position(p.o.b, c->me);
        p.out = hccl_build_scratch(p.o.b, n);
        p.low = hccl_build_scratch(p.o.b, n);
        p.in = hccl_build_scratch(p.o.b, n);
        for (int i = 1; i < p.at_once; i++) {
            hccl_build_scratch(p.o.b, n);
        }
        publish(&p);
        gather(&p);
    }
    return hccl_ordered_close(&p.o, rc, plan);
}
