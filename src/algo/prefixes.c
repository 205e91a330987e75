/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Scan and exscan of short vectors where nodes have ranks that are not in a row (see runs.h), in log2(H)
 * rounds: in round i one rank of each node gets what the 2^i nodes behind it have combined, and combines
 * it with what the 2^i nodes up to its own have. Of a set of nodes, what can be combined are the
 * stretches of ranks that lie in the set: the more nodes, the longer these are, until all ranks are one.
 * Where ranks alternate, a set of nodes has as many stretches as each of its nodes has ranks.
 *
 * If the number of nodes is no power of two, the last round brings fewer nodes than the ones before. What these
 * have combined is made as the binary digits of their number say, along with the rest.
 *
 * Where the runs of every node follow one another closely, gaps.c needs hardly more rounds, and more ranks take
 * part.
 *
 * Used through algorithms.def.
 */
#include <stdlib.h>

#include "algo/runs.h"

/* ---- sets of nodes ---------------------------------------------------------------------------- */

enum { MOST_ROUNDS = 31 };

/* The nodes from, from - 1, ... (round the end): n of them. */
typedef struct {
    int from, n;
    int first; /* position of what their first stretch has combined; the others behind it */
    int count; /* of their stretches */
} set_t;

typedef struct {
    hccl_ordered_t o;
    int lead;    /* index of the rank that stands for my node */
    int area;    /* the only scratch area: vectors */
    int acc;     /* a position of it */
    int before;  /* position of what lies before my node's first run; the others behind it */
    int taken;   /* positions */
    bool *known; /* [my node's runs] whether the nodes so far have anything before it */
    int *pieces; /* [runs] positions */
    int rounds;  /* these are at the leader only: */
    set_t mine[MOST_ROUNDS], theirs[MOST_ROUNDS]; /* of a round: what I have and what comes */
    set_t rest[MOST_ROUNDS], more[MOST_ROUNDS];   /* the same for the last round, if not all fit */
} prefixes_t;

enum { OWN, FETCHED, FIRST }; /* positions of the area */

static bool holds(const prefixes_t *p, const set_t *set, int run)
{
    const int nodes = p->o.c->shape->nnodes;

    return (set->from - p->o.c->shape->node_of[p->o.runs.first[run]] + nodes) % nodes < set->n;
}

/* All runs but the last, which nobody asks for. */
static int asked_runs(const prefixes_t *p)
{
    return p->o.runs.n - 1;
}

/* Room for what a set has combined. */
static set_t take(prefixes_t *p, int from, int n)
{
    const int nodes = p->o.c->shape->nnodes;
    set_t set = {.from = (from + nodes) % nodes, .n = n, .first = p->taken};
    bool inside = false;

    for (int k = 0; k < asked_runs(p); k++) {
        const bool in = holds(p, &set, k);

        set.count += in && !inside ? 1 : 0;
        inside = in;
    }
    p->taken += set.count;
    return set;
}

/* What the leader has and gets in each round. */
static void lay_out(prefixes_t *p)
{
    const int nodes = p->o.c->shape->nnodes, v = p->o.here.node;

    p->mine[0] = take(p, v, 1);
    for (int i = 0, d = 1; d < nodes; i++, d *= 2) {
        const int rest = nodes % d; /* nodes that the lower digits stand for */

        p->rounds = i + 1;
        if (2 * d >= nodes) {
            p->theirs[i] = take(p, v - d, nodes - d);
            return;
        }
        p->theirs[i] = take(p, v - d, d);
        p->mine[i + 1] = take(p, v, 2 * d);
        p->rest[i + 1] = p->rest[i];
        if (0 != (nodes & d) && 0 < rest) {
            p->more[i] = take(p, v - d, rest);
            p->rest[i + 1] = take(p, v, rest + d);
        } else if (0 != (nodes & d)) {
            p->rest[i + 1] = p->mine[i];
        }
    }
}

/* One position of the area = pieces[0], ..., pieces[n - 1] of it combined. */
static void fold_pieces(prefixes_t *p, int dst, int n)
{
    hccl_build_fold_begin(p->o.b, p->area, dst, 1);
    for (int i = 0; i < n; i++) {
        hccl_runs_more(p->o.b, p->area, dst, 1, i);
        hccl_build_fold_own(p->o.b, p->area, p->pieces[i]);
    }
    hccl_build_fold_end(p->o.b);
}

/* What two sets have combined, together. */
static void unite(prefixes_t *p, const set_t *mine, const set_t *theirs, const set_t *both)
{
    int at = both->first, m = mine->first - 1, t = theirs->first - 1, n = 0;
    const set_t *last = NULL;

    for (int k = 0; k <= asked_runs(p); k++) {
        const bool end = asked_runs(p) == k;
        const set_t *set = end                   ? NULL
                           : holds(p, mine, k)   ? mine
                           : holds(p, theirs, k) ? theirs
                                                 : NULL;

        if (NULL == set && 0 < n) {
            fold_pieces(p, at++, n);
            n = 0;
        } else if (NULL != set && set != last) {
            p->pieces[n++] = set == mine ? ++m : ++t;
        }
        last = set;
    }
}

/* What lies before a run of my node in its stretch of both sets: pieces[0..n-1], then what lies before it in
 * its stretch of my set. Returns where the pieces are combined, which takes their place. */
static int extend(prefixes_t *p, int number, int n)
{
    const int dst = p->before + number;
    int acc = p->pieces[0];

    if (1 < n) {
        fold_pieces(p, p->acc, n);
        acc = p->acc;
    }
    hccl_build_fold_begin(p->o.b, p->area, dst, 1);
    hccl_build_fold_own(p->o.b, p->area, acc);
    if (p->known[number]) {
        hccl_build_fold_own(p->o.b, p->area, dst);
    }
    hccl_build_fold_end(p->o.b);
    p->known[number] = true;
    return acc;
}

/* What lies before each run of my node in both sets, where so far it was in mine. */
static void look_back(prefixes_t *p, const set_t *mine, const set_t *theirs)
{
    int m = mine->first - 1, t = theirs->first - 1, n = 0, number = 0;
    const set_t *last = NULL;

    for (int k = 0; k < p->o.runs.n; k++) {
        const set_t *set = holds(p, mine, k) ? mine : holds(p, theirs, k) ? theirs : NULL;

        if (NULL == set) {
            n = 0;
        } else if (set != last) {
            if (NULL != last) {
                p->pieces[n++] = last == mine ? m : t;
            }
            *(set == mine ? &m : &t) += 1;
        }
        last = set;
        if (p->o.c->shape->node_of[p->o.runs.first[k]] == p->o.here.node) {
            if (0 < n) {
                p->pieces[0] = extend(p, number, n);
                n = 1;
            }
            number++;
        }
    }
}

static void send_set(prefixes_t *p, int to, const set_t *set)
{
    if (0 < set->count) {
        hccl_build_send(p->o.b, to, p->area, set->first, set->count);
    }
}

static void receive_set(prefixes_t *p, int from, const set_t *set)
{
    if (0 < set->count) {
        hccl_build_recv(p->o.b, from, p->area, set->first, set->count);
    }
}

/* Among the leaders. */
static void exchange(prefixes_t *p)
{
    const hccl_team_t leaders = hccl_team_leaders(p->o.c, -1);
    const int nodes = leaders.n;

    for (int i = 0; i < p->rounds; i++) {
        const int d = 1 << i, to = hccl_team_rank(&leaders, (leaders.me + d) % nodes);
        const int from = hccl_team_rank(&leaders, (leaders.me - d + nodes) % nodes);
        const set_t *mine = &p->mine[i], *theirs = &p->theirs[i];
        const bool last = p->rounds - 1 == i;

        send_set(p, to, last && nodes - d < d ? &p->rest[i] : mine);
        receive_set(p, from, theirs);
        if (0 < p->more[i].n) {
            send_set(p, to, &p->rest[i]);
            receive_set(p, from, &p->more[i]);
        }
        hccl_build_wait(p->o.b);
        if (!last) {
            unite(p, mine, theirs, &p->mine[i + 1]);
        }
        if (0 < p->more[i].n) {
            unite(p, mine, &p->more[i], &p->rest[i + 1]);
        }
        look_back(p, mine, theirs);
    }
}

/* ---- the plan --------------------------------------------------------------------------------- */

static int most_runs(const prefixes_t *p)
{
    int most = 1;

    for (int v = 0; v < p->o.c->shape->nnodes; v++) {
        const int n = hccl_runs_count(&p->o.runs, v);

        most = n > most ? n : most;
    }
    return most;
}

/* Whether a rank of my node other than its leader is in another run than the first of all. */
static bool others_ask(const prefixes_t *p)
{
    const hccl_shape_t *shape = p->o.c->shape;
    const int *ranks = shape->node_ranks + shape->node_start[p->o.here.node];
    const int last = p->o.here.n - 1 == p->lead ? p->o.here.n - 2 : p->o.here.n - 1;

    return 0 <= last && 0 < hccl_runs_of(&p->o.runs, ranks[last]);
}

static int open_prefixes(prefixes_t *p, const hccl_case_t *c, int algorithm)
{
    *p = (prefixes_t){.lead = hccl_team_lead(c, -1)};
    const int rc = hccl_ordered_open(&p->o, c, algorithm, 1);

    if (HCCL_OK != rc) {
        return rc;
    }
    p->known = calloc((size_t) p->o.runs.n, sizeof(*p->known));
    p->pieces = calloc((size_t) p->o.runs.n + 1, sizeof(*p->pieces));
    if (NULL == p->known || NULL == p->pieces) {
        return HCCL_ERR_NOMEM;
    }
    p->before = FIRST;
    p->acc = p->before + hccl_runs_count(&p->o.runs, p->o.here.node);
    p->taken = p->acc + 1;
    if (p->lead == p->o.here.me) {
        lay_out(p);
    }
    p->area = hccl_build_scratch(p->o.b, p->taken);
    return HCCL_OK;
}

static int close_prefixes(prefixes_t *p, int rc, hccl_plan_t **plan)
{
    free(p->known);
    free(p->pieces);
    return hccl_ordered_close(&p->o, rc, plan);
}

/* The runs of my node, at its leader. */
static void fold_runs(prefixes_t *p, int pub)
{
    const hccl_runs_t *runs = &p->o.runs;
    int at = p->mine[0].first;

    for (int place = runs->node[p->o.here.node]; place < runs->node[p->o.here.node + 1]; place++) {
        const int k = runs->run[place];

        if (k < asked_runs(p)) {
            hccl_runs_fold(p->o.b, p->o.c, pub, runs->first[k], runs->first[k + 1], p->area, at++);
        }
    }
}

/* RECV = what lies before my run, then what my run has up to me. */
static void join(prefixes_t *p, int position, bool any)
{
    hccl_build_fold_begin(p->o.b, HCCL_BASE_RECV, 0, 1);
    hccl_build_fold_own(p->o.b, p->area, position);
    if (any) {
        hccl_build_fold_own(p->o.b, p->area, OWN);
    }
    hccl_build_fold_end(p->o.b);
}

static int by_sets(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, bool inclusive)
{
    const hccl_shape_t *shape = c->shape;
    const int end = inclusive ? c->me + 1 : c->me;
    prefixes_t p;
    const int rc = open_prefixes(&p, c, algorithm);

    if (HCCL_OK != rc) {
        return close_prefixes(&p, rc, plan);
    }
    const int k = hccl_runs_of(&p.o.runs, c->me), first = p.o.runs.first[k];
    const int place = p.o.runs.node[p.o.here.node], number = p.o.runs.place[k] - place;
    const bool leads = p.lead == p.o.here.me, behind = c->me + 1 < shape->nranks;
    const bool asked =
        (behind && shape->node_of[c->me + 1] == p.o.here.node) || (!leads && k < asked_runs(&p));
    const int skip = 0 == p.o.runs.run[place] ? 1 : 0; /* nothing lies before the first run */
    const int pub = hccl_build_publications(p.o.b, 1, 1);
    const int found = hccl_build_publications(p.o.b, 1, most_runs(&p));

    if (asked) {
        hccl_build_publish(p.o.b, pub, HCCL_BASE_SEND, 0, 1);
    }
    if (leads) {
        fold_runs(&p, pub);
    }
    if (first < end) {
        hccl_runs_fold(p.o.b, c, pub, first, end, 0 == k ? HCCL_BASE_RECV : p.area, OWN);
    }
    if (leads) {
        exchange(&p);
    }
    if (leads && others_ask(&p)) {
        hccl_build_publish(p.o.b, found, p.area, p.before + skip,
                           hccl_runs_count(&p.o.runs, p.o.here.node) - skip);
    }
    if (0 < k && !leads) {
        hccl_build_fetch(p.o.b, p.area, FETCHED, 1, p.lead, found, p.before + skip,
                         p.before + number);
    }
    if (0 < k) {
        join(&p, leads ? p.before + number : FETCHED, first < end);
    }
    return close_prefixes(&p, rc, plan);
}

/* Whether the way of gaps.c, where all ranks that end a run send, has more rounds. */
static int gaps_are_long(const hccl_shape_t *shape, bool *are)
{
    hccl_runs_t runs;
    const int rc = hccl_runs_make(shape, &runs);

    if (HCCL_OK == rc) {
        *are = hccl_runs_gap_digits(&runs, shape) > hccl_part_rounds(shape->nnodes, 1) + 1;
    }
    hccl_runs_free(&runs);
    return rc;
}

int hccl_algo_scan_hier_runs(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    bool are = false;
    const int rc = gaps_are_long(c->shape, &are);

    if (HCCL_OK != rc) {
        return rc;
    }
    return are ? by_sets(c, algorithm, plan, true) : hccl_algo_scan_hier_gaps(c, algorithm, plan);
}

int hccl_algo_exscan_hier_runs(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    bool are = false;
    const int rc = gaps_are_long(c->shape, &are);

    if (HCCL_OK != rc) {
        return rc;
    }
    return are ? by_sets(c, algorithm, plan, false)
               : hccl_algo_exscan_hier_gaps(c, algorithm, plan);
}
