/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Scan and exscan where nodes have ranks that are not in a row (see runs.h), by all ranks that end a run: each
 * finds out what the runs between the last one of its node and its own have combined, its gap. The rest
 * is inside the node: before a rank of a run lie the gaps and runs of the node up to there, and all of
 * them together are all ranks before it.
 *
 * Between nodes windows of runs double: in round i the end of run k, who has what the 2^i runs up to
 * k have combined, gets the same of run k - 2^i. A gap is put together of such windows, one for each binary
 * digit of its length, from its end on. Windows that nobody needs are not made. So there are as many rounds as
 * the longest gap has digits. Where ranks alternate between H nodes, that are log2(H), and this is
 * doubling of distances (Hillis and Steele), but for its last rounds, which are inside the nodes.
 *
 * Used through algorithms.def.
 */
#include <stdlib.h>

#include "algo/runs.h"

typedef struct {
    hccl_ordered_t o;
    int run;      /* mine */
    bool ends;    /* I am its last rank */
    int rounds;   /* digits of the longest gap */
    bool *needed; /* [rounds + 1][runs] windows of 2^i runs up to run k that somebody needs */
    int window;   /* base of what my run's window has combined so far */
    bool any;     /* the gap has something */
    int areas;    /* of scratch, see below */
    int pub;      /* numbers, see below */
} gaps_t;

/* Scratch areas. OTHERS: two. */
enum { TOTAL, WINDOW, GAP, OWN, UPTO, OTHERS, AREAS = OTHERS + 2 };

/* Publications: a rank's vector, the gap before a run, that and the run, the windows of each round. */
enum { VECTORS, WINDOWS };

static int node_of_run(const gaps_t *g, int run)
{
    return g->o.c->shape->node_of[g->o.runs.first[run]];
}

/* The rank that ends a run. */
static int end_of(const gaps_t *g, int run)
{
    return g->o.runs.first[run + 1] - 1;
}

/* The run whose window of 2^i is a part of a run's gap; negative: none is. */
static int source_of(const gaps_t *g, int run, int i)
{
    const int gap = hccl_runs_gap(&g->o.runs, node_of_run(g, run), run), size = 1 << i;

    return 0 != (gap & size) ? run - 1 - gap % size : -1; /* negative: in front of all */
}

/* Whether the window of 2^i runs up to a run is needed; fewer if there are no more. */
static bool *needed(const gaps_t *g, int i, int run)
{
    return &g->needed[i * g->o.runs.n + run];
}

/* From long windows to short ones, of which they are made. */
static void find_needed(gaps_t *g)
{
    for (int i = g->rounds - 1; 0 <= i; i--) {
        for (int k = 0; k < g->o.runs.n; k++) {
            const int source = source_of(g, k, i);

            if (0 <= source) {
                *needed(g, i, source) = true;
            }
            if (*needed(g, i + 1, k)) {
                *needed(g, i, k) = true;
                if (1 << i <= k) {
                    *needed(g, i, k - (1 << i)) = true;
                }
            }
        }
    }
}

/* My window to those who need it: for their gap, for their window or, once, for both. */
static void give(gaps_t *g, int i)
{
    const int behind = g->run + (1 << i);
    const bool extends = behind < g->o.runs.n && *needed(g, i + 1, behind);

    for (int k = g->run + 1; k < g->o.runs.n; k++) {
        if (g->run != source_of(g, k, i) && !(extends && k == behind)) {
            continue;
        }
        if (node_of_run(g, k) != g->o.here.node) {
            hccl_build_send(g->o.b, end_of(g, k), g->window, 0, 1);
        } else {
            hccl_build_publish(g->o.b, g->pub + WINDOWS + i, g->window, 0, 1);
        }
    }
}

/* base = the window of another run, in round i. */
static void receive(gaps_t *g, int run, int i, int base)
{
    if (node_of_run(g, run) != g->o.here.node) {
        hccl_build_recv(g->o.b, end_of(g, run), base, 0, 1);
    } else {
        hccl_build_fetch(g->o.b, base, 0, 1, g->o.c->shape->local_of[end_of(g, run)],
                         g->pub + WINDOWS + i, 0, 0);
    }
}

/* A round of the end of a run. */
static void double_windows(gaps_t *g, int i)
{
    const int source = source_of(g, g->run, i), gap = g->areas + GAP, in = g->areas + OTHERS;
    const int below = *needed(g, i + 1, g->run) ? g->run - (1 << i) : -1;
    const int piece = source == below ? in : in + 1;

    give(g, i);
    if (0 <= source && source != below) {
        receive(g, source, i, g->any ? piece : gap);
    }
    if (0 <= below) {
        receive(g, below, i, in);
    }
    hccl_build_wait(g->o.b);
    if (0 <= source && g->any) {
        hccl_part_combine(g->o.b, gap, piece, gap, 0, 1);
    } else if (0 <= source && source == below) {
        hccl_part_move(g->o.b, gap, in, 0, 1);
    }
    g->any = g->any || 0 <= source;
    if (0 <= below) {
        hccl_part_combine(g->o.b, g->areas + WINDOW, in, g->window, 0, 1);
        g->window = g->areas + WINDOW;
    }
}

/* The end of a run: its gap; what my node needs of it. alone: the run is this rank. Returns whether RECV has the
 * result. */
static bool find_gap(gaps_t *g, bool alone, int total, bool inclusive)
{
    const int place = g->o.runs.place[g->run], node = g->o.here.node,
              found = g->pub + WINDOWS + g->rounds;
    const bool first = place == g->o.runs.node[node], last = place + 1 == g->o.runs.node[node + 1];
    const int gap = g->areas + GAP, upto = first && inclusive ? HCCL_BASE_RECV : g->areas + UPTO;

    g->window = total;
    for (int i = 0; i < g->rounds; i++) {
        double_windows(g, i);
    }
    if (g->any && !alone) {
        hccl_build_publish(g->o.b, found, gap, 0, 1);
    }
    if (!last && g->any) {
        hccl_part_combine(g->o.b, upto, gap, total, 0, 1);
    }
    if (!last) {
        hccl_build_publish(g->o.b, found + 1, g->any ? upto : total, 0, 1);
    }
    return !last && g->any && HCCL_BASE_RECV == upto;
}

/* RECV = the runs of my node before mine with the gaps before them, the gap before mine, own (negative: nothing) */
static void put_together(gaps_t *g, int own)
{
    const hccl_runs_t *runs = &g->o.runs;
    const int begin = runs->node[g->o.here.node], me = runs->place[g->run];
    const int found = g->pub + WINDOWS + g->rounds;
    int n = 0;

    hccl_build_fold_begin(g->o.b, HCCL_BASE_RECV, 0, 1);
    for (int place = begin; place < me; place++) {
        hccl_runs_more(g->o.b, HCCL_BASE_RECV, 0, 1, n++);
        hccl_build_fold_peer(g->o.b, g->o.c->shape->local_of[end_of(g, runs->run[place])],
                             found + 1, 0, 0);
    }
    if (g->ends) {
        hccl_build_fold_own(g->o.b, g->areas + GAP, 0);
    } else {
        hccl_build_fold_peer(g->o.b, g->o.c->shape->local_of[end_of(g, g->run)], found, 0, 0);
    }
    if (0 <= own) {
        hccl_build_fold_own(g->o.b, own, 0);
    }
    hccl_build_fold_end(g->o.b);
}

static int open_gaps(gaps_t *g, const hccl_case_t *c, int algorithm)
{
    *g = (gaps_t){.run = -1};
    const int rc = hccl_ordered_open(&g->o, c, algorithm, 1);

    if (HCCL_OK != rc) {
        return rc;
    }
    g->run = hccl_runs_of(&g->o.runs, c->me);
    g->ends = c->me == end_of(g, g->run);
    g->rounds = hccl_runs_gap_digits(&g->o.runs, c->shape);
    g->needed = calloc((size_t) (g->rounds + 1) * (size_t) g->o.runs.n, sizeof(*g->needed));
    if (NULL == g->needed) {
        return HCCL_ERR_NOMEM;
    }
    find_needed(g);
    g->areas = hccl_build_scratch(g->o.b, 1);
    for (int i = 1; i < AREAS; i++) {
        hccl_build_scratch(g->o.b, 1);
    }
    g->pub = hccl_build_publications(g->o.b, WINDOWS + g->rounds + 2, 1);
    return HCCL_OK;
}

static int by_gaps(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, bool inclusive)
{
    gaps_t g;
    const int rc = open_gaps(&g, c, algorithm);

    if (HCCL_OK == rc) {
        const int first = g.o.runs.first[g.run], end = inclusive ? c->me + 1 : c->me;
        const bool alone = g.ends && first == c->me, last = g.o.runs.n - 1 == g.run;
        int total = HCCL_BASE_SEND, own = -1;

        if (!g.ends) {
            hccl_build_publish(g.o.b, g.pub + VECTORS, HCCL_BASE_SEND, 0, 1);
        }
        if (!alone && g.ends && (inclusive || !last)) {
            total = g.areas + TOTAL;
            hccl_runs_fold(g.o.b, c, g.pub + VECTORS, first, c->me + 1, total, 0);
        }
        if (inclusive && g.ends) {
            own = total;
        } else if (first < end) {
            own = g.areas + OWN;
            hccl_runs_fold(g.o.b, c, g.pub + VECTORS, first, end, own, 0);
        }
        const bool done = g.ends && find_gap(&g, alone, total, inclusive);

        if (0 < g.run && !done) {
            put_together(&g, own);
        } else if (0 == g.run && 0 <= own) {
            hccl_part_move(g.o.b, HCCL_BASE_RECV, own, 0, 1);
        }
    }
    free(g.needed);
    return hccl_ordered_close(&g.o, rc, plan);
}

int hccl_algo_scan_hier_gaps(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return by_gaps(c, algorithm, plan, true);
}

int hccl_algo_exscan_hier_gaps(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return by_gaps(c, algorithm, plan, false);
}
