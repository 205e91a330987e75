/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The patterns of exchanges: ring, several rings, pairwise, NHR and NB.
 *
 * NHR sends one message in each round where the number of members is a power of two, or three times
 * one. Else no order of blocks has all that travels together in a row: what goes over distance d are
 * members 2 d apart, counted round the end, which are not the same members as with the other parity.
 * HCCL sends several slices in such a round. Here it is about as many as the root of the odd part of n
 * (slots_of_strides), which shortens no round and adds no bytes; one message only would cost a copy of
 * all data, into the order in which they come and out of it, which on a fast network takes as long as
 * sending them.
 *
 * Used by algo/ only.
 */
#include "algo/exchange.h"

#include <stdlib.h>
#include <string.h>

/* Rounds of doubling distances. */
static int log_rounds(int n)
{
    int rounds = 0;

    while (1 << rounds < n) {
        rounds++;
    }
    return rounds;
}

static int linear_rounds(int n)
{
    return n - 1;
}

/* What came in the last round goes on to my neighbour. */
static hccl_round_t ring(int n, int i)
{
    (void) n;
    return (hccl_round_t){.to = 1, .first = -i, .stride = 1, .count = 1};
}

/* My block straight to everybody, one after the other. */
static hccl_round_t pairwise(int n, int i)
{
    (void) n;
    return (hccl_round_t){.to = i + 1, .first = 0, .stride = 1, .count = 1};
}

/* Nonuniform Bruck: I have the blocks of the members from me on; their number doubles, but for the
 * last round. */
static hccl_round_t nb(int n, int i)
{
    const int have = 1 << i;

    return (hccl_round_t){
        .to = -have, .first = 0, .stride = 1, .count = have <= n - have ? have : n - have};
}

/* Nonuniform hierarchical ring: distances halve, so that most data go to the next member. Before a
 * round over distance d I have the blocks of the members 2 d, 4 d, ... behind me. */
static hccl_round_t nhr(int n, int i)
{
    const int distance = 1 << (log_rounds(n) - 1 - i);

    return (hccl_round_t){.to = distance,
                          .first = 0,
                          .stride = -2 * distance,
                          .count = (n - 1 + distance) / (2 * distance)};
}

const hccl_pattern_t hccl_pattern_ring = {linear_rounds, ring, .linear = true, .passes = true};
static const hccl_pattern_t with_rings = {linear_rounds, ring, .linear = true, .passes = true,
                                          .turns = true};
static const hccl_pattern_t with_pairs = {linear_rounds, pairwise, .linear = true};
const hccl_pattern_t hccl_pattern_nhr = {log_rounds, nhr, .strides = true};
const hccl_pattern_t hccl_pattern_nb = {log_rounds, nb, .far = true};

static void doubling(hccl_builder_t *b, const hccl_team_t *team, int tmp, int src, int dst,
                     int first, int cuts)
{
    hccl_part_doubling(b, team, tmp, src, dst, first, cuts);
}

static int uncut(int n)
{
    (void) n;
    return 1;
}

static void halving(hccl_builder_t *b, const hccl_team_t *team, int tmp, int src, int dst,
                    int first, int cuts)
{
    const hccl_map_t map = hccl_map_even(first, 1);

    (void) cuts;
    hccl_part_halving(b, team, &map, tmp, src, dst);
    hccl_part_unhalving(b, team, &map, dst, -1);
}

static void double_tree(hccl_builder_t *b, const hccl_team_t *team, int tmp, int src, int dst,
                        int first, int cuts)
{
    hccl_part_double_allreduce(b, team, tmp, src, dst, first, cuts / 2);
}

static int halves(int n)
{
    (void) n;
    return 2;
}

static const hccl_way_t ways[] = {
    {"ring", HCCL_RAILS_SOME, .pattern = &hccl_pattern_ring},
    {"multi_ring", HCCL_RAILS_SOME, .pattern = &with_rings},
    {"pipeline", HCCL_RAILS_SOME, .pattern = &hccl_pattern_ring, .piped = true},
    {"ahc", HCCL_RAILS_ALL, .pattern = &hccl_pattern_ring},
    {"ahc_pipeline", HCCL_RAILS_ALL, .pattern = &hccl_pattern_ring, .piped = true},
    {"ahc_line", HCCL_RAILS_ALL, .cuts = uncut},
    {"ahc_double_tree", HCCL_RAILS_ALL, .cuts = halves},
    {"ahc_nhr", HCCL_RAILS_ALL, .pattern = &hccl_pattern_nhr},
    {"ahc_nb", HCCL_RAILS_ALL, .pattern = &hccl_pattern_nb},
    {"ahc_pairwise", HCCL_RAILS_ALL, .pattern = &with_pairs},
    {"2d", HCCL_RAILS_SOME, .pattern = &hccl_pattern_ring},
    {"pairwise", HCCL_RAILS_SOME, .pattern = &with_pairs},
    {"nhr", HCCL_RAILS_SOME, .pattern = &hccl_pattern_nhr},
    {"nb", HCCL_RAILS_SOME, .pattern = &hccl_pattern_nb},
    {"bruck", HCCL_RAILS_ONE, .pattern = &hccl_pattern_nb},
    {"rd", HCCL_RAILS_ONE, .across = doubling, .cuts = uncut},
    {"rd_slices", HCCL_RAILS_SOME, .across = doubling, .cuts = uncut},
    {"slices", HCCL_RAILS_SOME, .across = doubling, .cuts = uncut},
    {"double_tree", HCCL_RAILS_SOME, .across = double_tree, .cuts = halves, .areas = 2},
    {"rhd", HCCL_RAILS_SOME, .across = halving, .cuts = hccl_part_power},
    /* among all ranks, instead of too many runs */
    {"runs_slices", HCCL_RAILS_SOME, .across = halving, .cuts = hccl_part_power},
};

const hccl_way_t *hccl_way_of(int algorithm)
{
    const char *name = hccl_algos[algorithm].name;

    name += 0 == strncmp(name, "hier_", 5) ? 5 : 0;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (0 == strcmp(name, ways[i].name)) {
            return &ways[i];
        }
    }
    return NULL;
}

/* Member numbers below n in the order of their reversed bits. */
static void reverse_slots(int *slot, int n)
{
    const int bits = log_rounds(n);
    int next = 0;

    for (int i = 0; i < 1 << bits; i++) {
        int member = 0;

        for (int bit = 0; bit < bits; bit++) {
            member |= (i >> bit & 1) << (bits - 1 - bit);
        }
        if (member < n) {
            slot[member] = next++;
        }
    }
}

/* Slots for sets of members whose numbers are some power of two apart, in as few runs as can be. Members
 * with the same remainder by the largest power of two in n are in a row: for such strides that is all of
 * a set. Among the m members of a row, m odd, those 2^j apart are neighbours, round the end: members 2^i
 * apart lie in 2^(j - i) runs, or, where i > j, in one for each, of which there are m / 2^i. So in all
 * rounds together there are about 2^j + m / 2^j runs. */
static void slots_of_strides(int *slot, int n)
{
    int rows = 1;

    while (0 == n / rows % 2) {
        rows *= 2;
    }
    const int m = n / rows;
    const long long apart = 1LL << log_rounds(m) / 2;

    reverse_slots(slot, rows);
    for (int r = 0; r < rows; r++) {
        const int first = slot[r] * m;

        for (int t = 0; t < m; t++) {
            slot[(int) (t * apart % m) * rows + r] = first + t;
        }
    }
}

int hccl_exchange_seats(const hccl_pattern_t *pattern, const hccl_shape_t *shape, const int **seat,
                        int **own)
{
    /* whoever goes straight to all others has no way to choose, and may keep the order of the nodes */
    *seat = pattern->linear && !pattern->passes ? NULL : shape->seat;
    *own = NULL;
    if (!pattern->far || !shape->ringed) {
        return HCCL_OK;
    }
    /* neighbours in the ring, whose numbers differ in the lowest bits, get those that differ in the
     * highest ones */
    const size_t n = (size_t) shape->nnodes;
    int *place = malloc(2 * n * sizeof(*place));

    if (NULL == place) {
        return HCCL_ERR_NOMEM;
    }
    reverse_slots(place + n, shape->nnodes);
    for (size_t v = 0; v < n; v++) {
        place[v] = place[n + (size_t) shape->seat[v]];
    }
    *seat = *own = place;
    return HCCL_OK;
}

int hccl_exchange_open(hccl_exchange_t *x, const hccl_pattern_t *pattern, int n)
{
    const size_t count = (size_t) n;

    *x = (hccl_exchange_t){.pattern = pattern, .n = n};
    x->slot = malloc(count * sizeof(*x->slot));
    x->run = calloc(count, sizeof(*x->run));
    x->met = calloc(count, sizeof(*x->met));
    if (NULL == x->slot || NULL == x->run || NULL == x->met) {
        return HCCL_ERR_NOMEM;
    }
    for (int i = 0; i < n; i++) {
        x->slot[i] = i;
    }
    if (pattern->strides) {
        slots_of_strides(x->slot, n);
    }
    return HCCL_OK;
}

bool hccl_exchange_begin(hccl_exchange_t *x, hccl_builder_t *b, const hccl_pattern_t *pattern,
                         int n)
{
    const int rc = hccl_exchange_open(x, pattern, n);

    if (HCCL_OK != rc) {
        hccl_build_fail(b, rc);
    }
    return HCCL_OK == rc;
}

void hccl_exchange_close(hccl_exchange_t *x)
{
    free(x->slot);
    free(x->run);
    free(x->met);
}

int hccl_exchange_rounds(const hccl_exchange_t *x)
{
    return x->pattern->rounds(x->n);
}

static int common_divisor(int a, int b)
{
    return 0 == b ? a : common_divisor(b, a % b);
}

/* 1, -1, then the other numbers that are prime to n, with both signs; from the first one again when
 * there are no more. */
int hccl_exchange_turn(const hccl_exchange_t *x, int i)
{
    if (NULL == x->pattern || !x->pattern->turns || 2 >= x->n) {
        return 1;
    }
    const int way = 0 < x->rings ? i % x->rings : i;

    if (x->along) {
        return 0 == way % 2 ? 1 : -1;
    }
    for (int left = way;;) {
        for (int turn = 1; 2 * turn < x->n; turn++) {
            if (1 == common_divisor(x->n, turn)) {
                if (left < 2) {
                    return 0 == left ? turn : -turn;
                }
                left -= 2;
            }
        }
    }
}
