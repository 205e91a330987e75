/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of algorithms: no call is left without one, whatever the communicator and operation.
 * That the plans are right is for tests/model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "algo/algo.h"

static hccl_shape_t *shape_of(const char *text)
{
    char why[300] = "";
    hccl_shape_t *shape = NULL;

    if (HCCL_OK != hccl_shape_from_text(text, -1, &shape, why, sizeof(why))) {
        fail_msg("%s: %s", text, why);
    }
    return shape;
}

static bool is_neighbor(hccl_coll_t coll)
{
    return 0 == strncmp(hccl_coll_info[coll].name, "neighbor", 8);
}

static bool is_scan(hccl_coll_t coll)
{
    return HCCL_COLL_SCAN == coll || HCCL_COLL_EXSCAN == coll;
}

/* How many algorithms may serve a case. */
static int choices(hccl_coll_t coll, const hccl_shape_t *shape, int nremote, bool commutative)
{
    const hccl_case_t c = {.coll = coll, .shape = shape, .nremote = nremote};
    int n = 0;

    for (int i = 0; i < hccl_algo_count; i++) {
        n += hccl_algo_fits(&hccl_algos[i], &c, commutative) ? 1 : 0;
    }
    return n;
}

/* Every key in a list "key, key" is one of sources.def. */
static bool has_sources(const char *list)
{
    while ('\0' != *list) {
        const size_t n = strcspn(list, ",");
        bool known = false;

        for (int i = 0; i < hccl_source_count; i++) {
            known |= n == strlen(hccl_sources[i].key) && 0 == strncmp(list, hccl_sources[i].key, n);
        }
        if (!known) {
            return false;
        }
        list += n + ('\0' == list[n] ? 0 : 2);
    }
    return true;
}

static void rows_make_sense(void **state)
{
    (void) state;
    for (int i = 0; i < hccl_algo_count; i++) {
        const hccl_algo_t *a = &hccl_algos[i];
        const unsigned order = HCCL_FITS_ORDERED | HCCL_FITS_ORDERED_IF_CONTIGUOUS;
        const bool inter = 0 != (a->fits & HCCL_FITS_INTER);

        assert_non_null(a->build);
        assert_true(0 < strlen(a->name) && 0 < strlen(a->about));
        assert_true(0 < strlen(a->rounds) && 0 < strlen(a->bytes) && 0 < strlen(a->source));
        if (!has_sources(a->source)) {
            fail_msg("%s %s: source '%s'", hccl_coll_info[a->coll].name, a->name, a->source);
        }
        assert_true(inter != (0 != (a->fits & HCCL_FITS_INTRA)));
        assert_int_equal(inter, 0 == strcmp("inter", a->name));
        assert_false(order == (a->fits & order));
        if (!hccl_coll_info[a->coll].reduces) {
            assert_int_equal(0, a->fits & order);
        }
        if (0 != (a->fits & HCCL_FITS_ONE_NODE_ONLY)) {
            assert_true(0 != (a->fits & HCCL_FITS_SHARED_MEMORY));
        }
        if (0 != (a->fits & HCCL_FITS_SHARED_MEMORY)) {
            assert_true(0 == strncmp("hier_", a->name, 5) || 0 == strcmp("hier", a->name)
                        || 0 != (a->fits & HCCL_FITS_ONE_NODE_ONLY));
        }
        for (int j = 0; j < i; j++) {
            assert_false(hccl_algos[j].coll == a->coll && 0 == strcmp(hccl_algos[j].name, a->name));
        }
    }
}

static void find_knows_every_name(void **state)
{
    (void) state;
    for (int i = 0; i < hccl_algo_count; i++) {
        assert_int_equal(i, hccl_algo_find(hccl_algos[i].coll, hccl_algos[i].name));
    }
    assert_int_equal(-1, hccl_algo_find(HCCL_COLL_BARRIER, "ring"));
    assert_int_equal(-1, hccl_algo_find(HCCL_COLL_BCAST, ""));
    assert_int_equal(-1, hccl_algo_find(HCCL_COLL_BCAST, "Tree"));
}

static void every_call_has_an_algorithm(void **state)
{
    static const char *const texts[] = {"rank:1",
                                        "rank:2",
                                        "rank:7",
                                        "node:4 rank:1",
                                        "node:2 rank:4",
                                        "node:2 rank:4 map:cyclic",
                                        "node:3 rank:(1,2,3)"};

    (void) state;
    for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
        hccl_shape_t *shape = shape_of(texts[k]);

        for (int coll = 0; coll < HCCL_COLL_COUNT; coll++) {
            for (int commutative = 0; commutative < 2; commutative++) {
                if (0 == choices(coll, shape, 0, 1 == commutative)) {
                    fail_msg("%s on %s, commutative %d", hccl_coll_info[coll].name, texts[k],
                             commutative);
                }
                /* MPI defines neither on inter-communicators; select/ counts on a single one */
                assert_int_equal(is_neighbor(coll) || is_scan(coll) ? 0 : 1,
                                 choices(coll, shape, 3, 1 == commutative));
                if (is_neighbor(coll)) {
                    assert_int_equal(1, choices(coll, shape, 0, 1 == commutative));
                }
            }
        }
        hccl_shape_free(shape);
    }
}

static bool fits(const char *name, hccl_coll_t coll, const char *text, bool commutative)
{
    hccl_shape_t *shape = shape_of(text);
    const hccl_case_t c = {.coll = coll, .shape = shape};
    const int i = hccl_algo_find(coll, name);
    const bool answer = 0 <= i && hccl_algo_fits(&hccl_algos[i], &c, commutative);

    assert_true(0 <= i);
    hccl_shape_free(shape);
    return answer;
}

static void nothing_is_offered_where_it_fails(void **state)
{
    static const char in_order[] = "node:2 rank:2", alternating[] = "node:2 rank:2 map:cyclic";

    (void) state;
    assert_true(fits("mesh", HCCL_COLL_ALLREDUCE, "rank:3", false));
    assert_false(fits("mesh", HCCL_COLL_ALLREDUCE, in_order, true));
    assert_true(fits("hier_rd", HCCL_COLL_ALLREDUCE, in_order, false));
    assert_true(fits("hier_rd", HCCL_COLL_ALLREDUCE, alternating, true));
    assert_false(fits("hier_rd", HCCL_COLL_ALLREDUCE, alternating, false));
    assert_true(fits("rd", HCCL_COLL_ALLREDUCE, alternating, false));
    assert_true(fits("ring", HCCL_COLL_ALLREDUCE, alternating, true));
    assert_false(fits("ring", HCCL_COLL_ALLREDUCE, in_order, false));
    /* groups inside the node, whose ranks are in a row or not */
    assert_false(fits("tier_slices", HCCL_COLL_ALLREDUCE, "numa:4", true));
    assert_false(fits("tier_slices", HCCL_COLL_ALLREDUCE, "node:2 numa:2 core:2", true));
    assert_true(fits("tier_slices", HCCL_COLL_ALLREDUCE, "numa:2 core:2", false));
    assert_true(fits("tier_tree", HCCL_COLL_REDUCE, "numa:2 core:2 map:0,2,1,3", true));
    assert_false(fits("tier_tree", HCCL_COLL_REDUCE, "numa:2 core:2 map:0,2,1,3", false));
    assert_true(fits("tier_tree", HCCL_COLL_BCAST, "numa:2 core:2 map:0,2,1,3", false));
    /* a prefix follows the ranks even where the operation commutes */
    assert_true(fits("hier_gaps", HCCL_COLL_SCAN, in_order, true));
    assert_true(fits("hier_gaps", HCCL_COLL_SCAN, alternating, true));
    assert_true(fits("hier_chain", HCCL_COLL_EXSCAN, alternating, false));
    assert_false(fits("hier_chain", HCCL_COLL_EXSCAN, "node:4", false));
    /* without an operation there is no order to keep */
    assert_true(fits("hier_tree", HCCL_COLL_BCAST, alternating, false));
}

static void builders_say_whose_plan_it_is(void **state)
{
    hccl_shape_t *shape = shape_of("rank:5");
    const int peers[] = {1, -1};

    (void) state;
    for (int i = 0; i < hccl_algo_count; i++) {
        const bool inter = 0 != (hccl_algos[i].fits & HCCL_FITS_INTER);
        const hccl_case_t c = {.coll = hccl_algos[i].coll,
                               .shape = shape,
                               .me = 2,
                               .root = inter ? HCCL_ROOT_NEAR : 4,
                               .nremote = inter ? 3 : 0,
                               .nsources = 2,
                               .ndests = 2,
                               .sources = peers,
                               .dests = peers};
        hccl_plan_t *plan = NULL;

        assert_int_equal(HCCL_OK, hccl_algos[i].build(&c, i, &plan));
        assert_non_null(plan);
        assert_int_equal(i, plan->algorithm);
        assert_int_equal(hccl_algos[i].coll, plan->coll);
        assert_true(0 < plan->nblocks);
        free(plan);
    }
    hccl_shape_free(shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_make_sense),
        cmocka_unit_test(find_knows_every_name),
        cmocka_unit_test(every_call_has_an_algorithm),
        cmocka_unit_test(nothing_is_offered_where_it_fails),
        cmocka_unit_test(builders_say_whose_plan_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
