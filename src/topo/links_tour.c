/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The order of hosts in a short ring.
 *
 * Few hosts: all subsets are looked at (Held, Karp: A dynamic programming approach to sequencing
 * problems, SIAM J. 10, 1962). More: two tours, as given and always to the nearest host, improved by
 * turning stretches round (Croes: A method for solving traveling-salesman problems, Operations Research
 * 6, 1958) and by moving short ones (Or, 1976), up to a bounded number of looks. All in integers, so that
 * every processor finds the same.
 */
#include <stdlib.h>
#include <string.h>

#include "topo/links.h"

/* Costs are scaled to at most this; the sum of MAX_HOSTS third powers fits 64 bits. */
#define COST_TOP ((uint64_t) 30000)

/* Pairs of places that a tour's improvement looks at. */
#define MOST_LOOKS 8000000L

typedef struct graph {
    int n;
    uint64_t *cube; /* [n][n] */
} graph_t;

static uint64_t cube_at(const graph_t *g, int a, int b)
{
    return g->cube[(size_t) a * (size_t) g->n + (size_t) b];
}

static uint64_t length(const graph_t *g, const int *tour)
{
    uint64_t sum = 0;

    for (int i = 0; i < g->n; i++) {
        sum += cube_at(g, tour[i], tour[(i + 1) % g->n]);
    }
    return sum;
}

static int make_graph(const hccl_links_t *links, const int *host, int n, graph_t *g)
{
    uint64_t top = 1;

    *g = (graph_t){.n = n, .cube = malloc((size_t) n * (size_t) n * sizeof(*g->cube))};
    if (NULL == g->cube) {
        return HCCL_ERR_NOMEM;
    }
    for (int a = 0; a < n; a++) {
        for (int b = 0; b < n; b++) {
            const uint64_t cost =
                links->cost[(size_t) host[a] * (size_t) links->nhosts + (size_t) host[b]];

            g->cube[(size_t) a * (size_t) n + (size_t) b] = cost;
            top = cost > top ? cost : top;
        }
    }
    for (size_t i = 0; i < (size_t) n * (size_t) n; i++) {
        const uint64_t cost = 1 + g->cube[i] * (COST_TOP - 1) / top;

        g->cube[i] = cost * cost * cost;
    }
    return HCCL_OK;
}

/* ---- few hosts ------------------------------------------------------------------------------------ */

/* best[set][last]: the shortest way from host 0 through all of set (hosts 1, 2, ... as bits) that ends
 * with host last + 1. */
static int exact(const graph_t *g, int *tour)
{
    const int m = g->n - 1, sets = 1 << m;
    uint64_t *best = malloc((size_t) sets * (size_t) m * sizeof(*best));

    if (NULL == best) {
        return HCCL_ERR_NOMEM;
    }
    for (int set = 1; set < sets; set++) {
        for (int last = 0; last < m; last++) {
            const int rest = set & ~(1 << last);
            uint64_t *b = &best[set * m + last];

            *b = 0 == rest ? cube_at(g, 0, last + 1) : UINT64_MAX;
            for (int k = 0; set != rest && k < m; k++) {
                if (0 != (rest >> k & 1)) {
                    const uint64_t way = best[rest * m + k] + cube_at(g, k + 1, last + 1);
                    *b = way < *b ? way : *b;
                }
            }
        }
    }
    tour[0] = 0;
    for (int at = m, set = sets - 1, next = 0; 0 < at; at--) {
        int last = -1;
        for (int k = 0; k < m; k++) {
            if (0 != (set >> k & 1)
                && (0 > last
                    || best[set * m + k] + cube_at(g, k + 1, next)
                           < best[set * m + last] + cube_at(g, last + 1, next))) {
                last = k;
            }
        }
        tour[at] = next = last + 1;
        set &= ~(1 << last);
    }
    free(best);
    return HCCL_OK;
}

/* ---- many hosts ----------------------------------------------------------------------------------- */

static void nearest(const graph_t *g, int *tour)
{
    for (int i = 0; i < g->n; i++) {
        tour[i] = i;
    }
    for (int i = 1; i < g->n; i++) {
        int next = i;
        for (int k = i + 1; k < g->n; k++) {
            const uint64_t there = cube_at(g, tour[i - 1], tour[k]);
            const uint64_t best = cube_at(g, tour[i - 1], tour[next]);

            if (there < best || (there == best && tour[k] < tour[next])) {
                next = k;
            }
        }
        const int swap = tour[i];
        tour[i] = tour[next];
        tour[next] = swap;
    }
}

static void turn(int *tour, int from, int to)
{
    for (; from < to; from++, to--) {
        const int swap = tour[from];
        tour[from] = tour[to];
        tour[to] = swap;
    }
}

/* Turns round stretches i + 1, ..., k where that shortens the tour. */
static bool turn_stretches(const graph_t *g, int *tour, long *looks)
{
    bool shorter = false;

    for (int i = 0; i + 2 < g->n && 0 < *looks; i++) {
        for (int k = i + 2; k < g->n; k++, --*looks) {
            const int a = tour[i], b = tour[i + 1], c = tour[k], d = tour[(k + 1) % g->n];

            if (cube_at(g, a, c) + cube_at(g, b, d) < cube_at(g, a, b) + cube_at(g, c, d)) {
                turn(tour, i + 1, k);
                shorter = true;
            }
        }
    }
    return shorter;
}

/* What a tour gains when the hosts in places i + 1, ..., i + len move between places k and k + 1, k
 * behind them; turned: the other way round. Negative: it loses. */
static int64_t gain(const graph_t *g, const int *tour, int i, int len, int k, bool turned)
{
    const int a = tour[i], b = tour[i + 1], c = tour[i + len], d = tour[i + len + 1];
    const int e = tour[k], f = tour[(k + 1) % g->n];
    const uint64_t now = cube_at(g, a, b) + cube_at(g, c, d) + cube_at(g, e, f);
    const uint64_t then =
        cube_at(g, a, d)
        + (turned ? cube_at(g, e, c) + cube_at(g, b, f) : cube_at(g, e, b) + cube_at(g, c, f));

    return (int64_t) now - (int64_t) then;
}

/* Places first, ..., first + len - 1 move behind place `last`. */
static void move_on(int *tour, int first, int len, int last)
{
    turn(tour, first, first + len - 1);
    turn(tour, first + len, last);
    turn(tour, first, last);
}

static bool move_stretches(const graph_t *g, int *tour, long *looks)
{
    bool shorter = false;

    for (int len = 1; len <= 3; len++) {
        for (int i = 0; i + len + 1 < g->n && 0 < *looks; i++) {
            for (int k = i + len + 1; k < g->n; k++, --*looks) {
                const bool turned =
                    gain(g, tour, i, len, k, true) > gain(g, tour, i, len, k, false);

                if (0 < gain(g, tour, i, len, k, turned)) {
                    move_on(tour, i + 1, len, k);
                    if (turned) {
                        turn(tour, k - len + 1, k);
                    }
                    shorter = true;
                    break;
                }
            }
        }
    }
    return shorter;
}

static void improve(const graph_t *g, int *tour)
{
    long looks = MOST_LOOKS;
    bool shorter = true;

    while (shorter && 0 < looks) {
        shorter = turn_stretches(g, tour, &looks);
        shorter = move_stretches(g, tour, &looks) || shorter;
    }
}

static int heuristic(const graph_t *g, int *tour)
{
    int *other = malloc((size_t) g->n * sizeof(*other));

    if (NULL == other) {
        return HCCL_ERR_NOMEM;
    }
    for (int i = 0; i < g->n; i++) {
        tour[i] = i;
    }
    nearest(g, other);
    improve(g, tour);
    improve(g, other);
    if (length(g, other) < length(g, tour)) {
        memcpy(tour, other, (size_t) g->n * sizeof(*tour));
    }
    free(other);
    return HCCL_OK;
}

/* Where the ring should begin: behind its slowest link, if there are several, behind the one with the
 * lowest host. */
static int start_of(const graph_t *g, const int *tour)
{
    int start = 0;

    for (int i = 1; i < g->n; i++) {
        const uint64_t here = cube_at(g, tour[i - 1], tour[i]);
        const uint64_t best = cube_at(g, tour[0 == start ? g->n - 1 : start - 1], tour[start]);

        if (here > best || (here == best && tour[i] < tour[start])) {
            start = i;
        }
    }
    return start;
}

/* As given if that is as short; else from a certain host, towards the lower end. */
static void straighten(const graph_t *g, int *tour)
{
    const int n = g->n;
    uint64_t sum = 0;

    for (int i = 0; i < n; i++) {
        sum += cube_at(g, i, (i + 1) % n);
    }
    if (sum <= length(g, tour)) {
        for (int i = 0; i < n; i++) {
            tour[i] = i;
        }
        return;
    }
    const int start = start_of(g, tour);
    turn(tour, 0, start - 1);
    turn(tour, start, n - 1);
    turn(tour, 0, n - 1);
    if (tour[0] > tour[n - 1]) {
        turn(tour, 0, n - 1);
    }
}

int hccl_links_tour(const hccl_links_t *links, const int *host, int n, int *ring)
{
    graph_t g;
    int rc = make_graph(links, host, n, &g);

    if (HCCL_OK == rc) {
        rc = 1 < n && n <= HCCL_LINKS_EXACT ? exact(&g, ring) : heuristic(&g, ring);
    }
    if (HCCL_OK == rc) {
        straighten(&g, ring);
    }
    free(g.cube);
    return rc;
}

int hccl_links_order(const hccl_links_t *links, const int *host, hccl_shape_t *shape)
{
    const int n = shape->nnodes;
    uint32_t least = UINT32_MAX, most = 0;

    for (int a = 0; a < n; a++) {
        if (!links->weighted || 0 > host[a]) {
            return HCCL_OK;
        }
    }
    for (int a = 0; a < n; a++) {
        for (int b = 0; b < a; b++) {
            const uint32_t cost =
                links->cost[(size_t) host[a] * (size_t) links->nhosts + (size_t) host[b]];

            least = cost < least ? cost : least;
            most = cost > most ? cost : most;
        }
    }
    if (least >= most) {
        return HCCL_OK;
    }
    int *ring = malloc((size_t) n * sizeof(*ring));
    if (NULL == ring) {
        return HCCL_ERR_NOMEM;
    }
    int rc = hccl_links_tour(links, host, n, ring);
    if (HCCL_OK == rc) {
        rc = hccl_shape_set_ring(shape, ring);
    }
    free(ring);
    return rc;
}
