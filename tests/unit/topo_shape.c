/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Shapes: node numbering, the tier tree, subsets, cards. Expected values are written by hand, or
 * worked out by comparing every pair of ranks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topo/topo.h"

static hccl_shape_t *from_text(const char *text)
{
    char why[300] = "";
    hccl_shape_t *shape = NULL;

    if (HCCL_OK != hccl_shape_from_text(text, -1, &shape, why, sizeof(why))) {
        fail_msg("%s: %s", text, why);
    }
    return shape;
}

static hccl_shape_t *from_places(const hccl_place_t *places, int n)
{
    hccl_shape_t *shape = NULL;

    assert_int_equal(HCCL_OK, hccl_shape_from_places(places, n, &shape));
    return shape;
}

static void assert_sound(const hccl_shape_t *shape)
{
    char why[200] = "";

    if (HCCL_OK != hccl_shape_check(shape, why, sizeof(why))) {
        fail_msg("shape of %d ranks: %s", shape->nranks, why);
    }
}

#define assert_ints(actual, ...)                                   \
    do {                                                           \
        const int expected_[] = {__VA_ARGS__};                     \
        assert_memory_equal(actual, expected_, sizeof(expected_)); \
    } while (0)

static void assert_place(const hccl_place_t *p, int node, int package, int numa, int l3, int core)
{
    assert_int_equal(node, p->node);
    assert_int_equal(package, p->package);
    assert_int_equal(numa, p->numa);
    assert_int_equal(l3, p->l3);
    assert_int_equal(core, p->core);
}

static void one_rank(void **state)
{
    (void) state;
    hccl_place_t place = {77, -1, 5, -1, 9};
    hccl_shape_t *s = from_places(&place, 1);

    assert_sound(s);
    assert_int_equal(1, s->nranks);
    assert_int_equal(1, s->nnodes);
    assert_int_equal(1, s->ngroups);
    assert_int_equal(1, s->min_local);
    assert_int_equal(1, s->max_local);
    assert_true(s->contiguous && s->even);
    assert_place(&s->place[0], 0, -1, 0, -1, 0);
    assert_ints(s->node_start, 0, 1);
    assert_ints(s->group[0].reps, 0);
    hccl_shape_free(s);
}

/* Nodes 9 and 4, alternating; node 9 is met first and so becomes 0. */
static void nodes_are_numbered_by_lowest_rank(void **state)
{
    (void) state;
    const hccl_place_t places[] = {
        {9, -1, -1, -1, -1}, {4, -1, -1, -1, -1}, {9, -1, -1, -1, -1},
        {4, -1, -1, -1, -1}, {4, -1, -1, -1, -1},
    };
    hccl_shape_t *s = from_places(places, 5);

    assert_sound(s);
    assert_int_equal(2, s->nnodes);
    assert_ints(s->node_of, 0, 1, 0, 1, 1);
    assert_ints(s->local_of, 0, 0, 1, 1, 2);
    assert_ints(s->node_start, 0, 2, 5);
    assert_ints(s->node_ranks, 0, 2, 1, 3, 4);
    assert_int_equal(2, s->min_local);
    assert_int_equal(3, s->max_local);
    assert_false(s->even);
    assert_false(s->contiguous);
    assert_int_equal(2, s->ngroups);
    assert_ints(s->group[1].ranks, 1, 3, 4);
    assert_ints(s->group[1].reps, 1, 3, 4);
    hccl_shape_free(s);
}

/* One node; package 0 = {0,1,4,5} in two NUMA domains {0,4} and {1,5}, package 1 = {2,3} in one
 * domain, rank 6 bound to nothing. */
static void tiers_inside_a_node(void **state)
{
    (void) state;
    const hccl_place_t places[] = {
        {0, 30, 7, -1, 3}, {0, 30, 2, -1, 2}, {0, 10, 1, -1, 1},   {0, 10, 1, -1, 0},
        {0, 30, 7, -1, 5}, {0, 30, 2, -1, 6}, {0, -1, -1, -1, -1},
    };
    hccl_shape_t *s = from_places(places, 7);

    assert_sound(s);
    assert_int_equal(5, s->ngroups); /* node, two packages, two domains of the first */
    assert_ints(s->group[0].ranks, 0, 1, 2, 3, 4, 5, 6);
    assert_int_equal(3, s->group[0].nreps);
    assert_ints(s->group[0].reps, 0, 2, 6);
    assert_int_equal(HCCL_LEVEL_PACKAGE, s->group[1].level);
    assert_int_equal(4, s->group[1].nranks);
    assert_ints(s->group[1].ranks, 0, 1, 4, 5);
    assert_int_equal(2, s->group[1].nreps);
    assert_ints(s->group[1].reps, 0, 1);
    assert_int_equal(2, s->group[2].nranks);
    assert_ints(s->group[2].ranks, 2, 3);
    assert_int_equal(0, s->group[2].parent);
    assert_int_equal(HCCL_LEVEL_NUMA, s->group[3].level);
    assert_int_equal(2, s->group[3].nranks);
    assert_ints(s->group[3].ranks, 0, 4);
    assert_ints(s->group[4].ranks, 1, 5);
    assert_int_equal(1, s->group[4].parent);
    assert_ints(s->inner_of, 3, 4, 2, 2, 3, 4, 0);
    assert_place(&s->place[1], 0, 0, 1, -1, 1);
    assert_place(&s->place[2], 0, 1, 2, -1, 2);
    assert_place(&s->place[6], 0, -1, -1, -1, -1);
    hccl_shape_free(s);
}

/* A level whose objects hold the same ranks as the level above adds no group. */
static void equal_levels_make_one_group(void **state)
{
    (void) state;
    hccl_shape_t *s = from_text("node:2 package:2 numa:1 l3:1 core:3");

    assert_sound(s);
    assert_int_equal(2 + 4, s->ngroups);
    for (int g = 2; g < 6; g++) {
        assert_int_equal(HCCL_LEVEL_PACKAGE, s->group[g].level);
        assert_int_equal(3, s->group[g].nranks);
        assert_int_equal((g - 2) / 2, s->group[g].parent);
    }
    hccl_shape_free(s);
    s = from_text("node:2 package:1 numa:1 l3:2 core:1");
    assert_sound(s);
    assert_int_equal(2, s->ngroups); /* the L3 have one rank each */
    hccl_shape_free(s);
}

static void flat(void **state)
{
    (void) state;
    hccl_shape_t *s = NULL;

    assert_int_equal(HCCL_OK, hccl_shape_flat(4, &s));
    assert_sound(s);
    assert_int_equal(4, s->nnodes);
    assert_int_equal(1, s->max_local);
    assert_ints(s->node_of, 0, 1, 2, 3);
    assert_true(s->contiguous && s->even);
    hccl_shape_free(s);
}

static void subset(void **state)
{
    (void) state;
    hccl_shape_t *whole = from_text("node:3 core:2");
    hccl_shape_t *part = NULL;
    const int ranks[] = {5, 0, 4, 1};
    const int bad[] = {0, 6};
    const int negative[] = {-1};

    assert_int_equal(HCCL_OK, hccl_shape_subset(whole, ranks, 4, &part));
    assert_sound(part);
    assert_int_equal(2, part->nnodes);
    assert_ints(part->node_of, 0, 1, 0, 1);
    assert_place(&part->place[2], 0, -1, -1, -1, 1);
    hccl_shape_t *unchanged = part;
    assert_int_equal(HCCL_ERR_ARG, hccl_shape_subset(whole, bad, 2, &part));
    assert_int_equal(HCCL_ERR_ARG, hccl_shape_subset(whole, negative, 1, &part));
    assert_int_equal(HCCL_ERR_ARG, hccl_shape_subset(whole, ranks, 0, &part));
    assert_ptr_equal(unchanged, part);
    hccl_shape_free(part);
    hccl_shape_free(whole);
}

static void bad_places(void **state)
{
    (void) state;
    const hccl_place_t no_node = {-1, 0, 0, 0, 0};
    const hccl_place_t no_core = {0, 0, 0, 0, -2};
    hccl_shape_t *shape = NULL;

    assert_int_equal(HCCL_ERR_ARG, hccl_shape_from_places(&no_node, 1, &shape));
    assert_int_equal(HCCL_ERR_ARG, hccl_shape_from_places(&no_core, 1, &shape));
    assert_int_equal(HCCL_ERR_ARG, hccl_shape_from_places(&no_core, 0, &shape));
    assert_int_equal(HCCL_ERR_ARG, hccl_shape_flat(0, &shape));
    assert_null(shape);
}

static void cards(void **state)
{
    (void) state;
    hccl_card_t card[4];
    for (int i = 0; i < 4; i++) {
        hccl_card_init(&card[i]);
    }
    card[0].host_key = UINT64_C(0xffffffff00000001);
    card[1].host_key = 1; /* equal in the low half only */
    card[2].host_key = UINT64_C(0xffffffff00000001);
    card[0].package = 24; /* ids have gaps */
    card[2].package = 0;
    card[0].core = card[2].core = 24;
    /* card[3] has no key, and two ranks have no card */
    const hccl_card_t *const list[] = {&card[0], &card[1], NULL, &card[2], &card[3], NULL};
    hccl_shape_t *s = NULL;

    assert_int_equal(HCCL_OK, hccl_shape_from_cards(list, 6, NULL, &s));
    assert_sound(s);
    assert_int_equal(5, s->nnodes);
    assert_ints(s->node_of, 0, 1, 2, 0, 3, 4);
    assert_place(&s->place[0], 0, 0, -1, -1, 0);
    assert_place(&s->place[3], 0, 1, -1, -1, 1); /* the same core id in another package */
    hccl_shape_free(s);
    assert_int_equal(HCCL_ERR_ARG, hccl_shape_from_cards(list, 0, NULL, &s));
}

static uint64_t rng_state = 42;
static unsigned rng(unsigned below)
{
    rng_state = rng_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned) (rng_state >> 33) % below;
}

static int32_t random_id(void)
{
    return (int32_t) rng(4) - 1;
}

/* Whether two ranks share a known object of a level, all ids above it being equal. */
static bool share(const hccl_place_t *a, const hccl_place_t *b, int level)
{
    const int32_t x[] = {a->node, a->package, a->numa, a->l3};
    const int32_t y[] = {b->node, b->package, b->numa, b->l3};

    return 0 == memcmp(x, y, (size_t) (level + 1) * sizeof(*x)) && -1 != x[level];
}

/* Every set of ranks that share an object, of at least two and fewer than the set around it, is a
 * group, and there are no others: counted from the places alone, each set at its lowest rank. */
static int count_groups(const hccl_place_t *places, int n)
{
    int groups = 0;

    for (int rank = 0; rank < n; rank++) {
        int around = 0; /* ranks in the smallest set so far */
        for (int level = HCCL_LEVEL_NODE; level <= HCCL_LEVEL_L3; level++) {
            int size = 0;
            int lowest = -1;
            for (int other = 0; other < n; other++) {
                bool same = share(&places[rank], &places[other], level);
                lowest = same && -1 == lowest ? other : lowest;
                size += same;
            }
            if (HCCL_LEVEL_NODE == level || (2 <= size && size < around)) {
                around = size;
                groups += rank == lowest;
            }
        }
    }
    return groups;
}

static void random_places(void **state)
{
    (void) state;
    hccl_place_t places[40];

    for (int round = 0; round < 3000; round++) {
        int n = 1 + (int) rng(40);
        int nodes = 1 + (int) rng(6);
        for (int rank = 0; rank < n; rank++) {
            places[rank] = (hccl_place_t){(int32_t) rng((unsigned) nodes), random_id(), random_id(),
                                          random_id(), random_id()};
        }
        hccl_shape_t *s = from_places(places, n);
        assert_sound(s);
        assert_int_equal(count_groups(places, n), s->ngroups);
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                for (int level = 0; level <= HCCL_LEVEL_L3; level++) {
                    assert_int_equal(share(&places[a], &places[b], level),
                                     share(&s->place[a], &s->place[b], level));
                }
            }
        }
        /* canonical places are left as they are */
        hccl_shape_t *again = from_places(s->place, n);
        assert_true(hccl_shape_equal(s, again));
        hccl_shape_free(again);
        hccl_shape_free(s);
    }
}

static void hash_tells_shapes_apart(void **state)
{
    (void) state;
    const char *texts[] = {"node:4",
                           "node:2 rank:2",
                           "node:2 core:2",
                           "node:2 numa:2",
                           "node:1 core:4",
                           "node:2 l3:2",
                           "node:5",
                           "node:2 package:2",
                           "node:2 rank:(1,3)",
                           "node:2 rank:2 map:cyclic"};
    uint64_t hash[10];

    for (int i = 0; i < 10; i++) {
        hccl_shape_t *s = from_text(texts[i]);
        hash[i] = s->hash;
        for (int k = 0; k < i; k++) {
            assert_true(hash[i] != hash[k]);
        }
        hccl_shape_free(s);
    }
    /* ids do not matter, who shares what does */
    const hccl_place_t a[] = {{3, -1, 8, -1, 1}, {3, -1, 2, -1, 2}, {1, -1, 2, -1, 2}};
    const hccl_place_t b[] = {{0, -1, 0, -1, 7}, {0, -1, 5, -1, 7}, {9, -1, 2, -1, 2}};
    hccl_shape_t *x = from_places(a, 3);
    hccl_shape_t *y = from_places(b, 3);
    assert_true(x->hash == y->hash);
    assert_true(hccl_shape_equal(x, y));
    hccl_shape_free(x);
    hccl_shape_free(y);
}

/* hccl_shape_check finds each of these faults. */
static void check_finds_faults(void **state)
{
    (void) state;
    char why[200];
    int found = 0;

    for (int fault = 0;; fault++) {
        hccl_shape_t *s = from_text("node:3 package:2 numa:2 core:2 map:cyclic");
        int *reps = (int *) (uintptr_t) s->group[3].reps;
        int *ranks = (int *) (uintptr_t) s->group[3].ranks;
        int *faults[] = {
            &s->nnodes,
            &s->ngroups,
            &s->min_local,
            &s->max_local,
            &s->node_of[7],
            &s->local_of[7],
            &s->node_start[0],
            &s->node_start[1],
            &s->node_start[3],
            &s->node_ranks[3],
            &s->inner_of[7],
            &s->inner_of[0],
            &reps[0],
            &reps[1],
            &ranks[0],
            &ranks[3],
            &s->group[3].node,
            &s->group[3].parent,
            &s->group[3].nranks,
            &s->group[3].nreps,
            &s->group[0].node,
            &s->group[11].parent,
            &s->place[20].core,
            &s->place[3].numa,
            &s->place[3].l3,
            &s->place[9].package,
            &s->place[9].node,
            &s->nranks,
        };
        int nfaults = (int) (sizeof(faults) / sizeof(*faults));
        if (fault == nfaults + 4) {
            assert_int_equal(nfaults + 4, found);
            hccl_shape_free(s);
            return;
        }
        assert_int_equal(HCCL_OK, hccl_shape_check(s, why, sizeof(why)));
        if (fault < nfaults) {
            --*faults[fault];
        } else if (nfaults == fault) {
            s->contiguous = !s->contiguous;
        } else if (nfaults + 1 == fault) {
            s->even = !s->even;
        } else if (nfaults + 2 == fault) {
            s->hash++;
        } else {
            s->group[3].level = HCCL_LEVEL_L3;
        }
        int rc = hccl_shape_check(s, why, sizeof(why));
        if (HCCL_ERR_INTERNAL != rc || 0 == strlen(why)) {
            print_message("# fault %d was not found\n", fault);
        }
        found += HCCL_ERR_INTERNAL == rc;
        hccl_shape_free(s);
    }
}

static void hundred_thousand_ranks(void **state)
{
    (void) state;
    hccl_shape_t *s = from_text("node:3125 package:2 numa:2 l3:2 core:4 map:cyclic");

    assert_sound(s);
    assert_int_equal(100000, s->nranks);
    assert_int_equal(3125 * 15, s->ngroups);
    assert_int_equal(3124, s->node_of[3124]);
    assert_int_equal(0, s->node_of[3125]);
    hccl_shape_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank),
        cmocka_unit_test(nodes_are_numbered_by_lowest_rank),
        cmocka_unit_test(tiers_inside_a_node),
        cmocka_unit_test(equal_levels_make_one_group),
        cmocka_unit_test(flat),
        cmocka_unit_test(subset),
        cmocka_unit_test(bad_places),
        cmocka_unit_test(cards),
        cmocka_unit_test(random_places),
        cmocka_unit_test(hash_tells_shapes_apart),
        cmocka_unit_test(check_finds_faults),
        cmocka_unit_test(hundred_thousand_ranks),
    };
    return cmocka_run_group_tests_name("topo_shape", tests, NULL, NULL);
}
