/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The cache of plans: every key finds its own plan, pointers stay good while the cache grows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/cache.h"

static hccl_plan_t *new_plan(int mark)
{
    hccl_plan_t *plan = calloc(1, sizeof(*plan));
    assert_non_null(plan);
    plan->nsteps = mark;
    return plan;
}

static hccl_plan_key_t key_of(int i)
{
    /* Keys that differ in one field only, among them negative roots. */
    return (hccl_plan_key_t){
        .coll = i % 3, .algorithm = i / 3 % 5, .root = i / 30 - 2, .flat = i / 15 % 2};
}

static void empty_finds_nothing(void **state)
{
    (void) state;
    hccl_plan_cache_t cache = {NULL, 0, 0};
    hccl_plan_key_t key = key_of(0);
    assert_null(hccl_cache_find(&cache, &key));
    hccl_cache_clear(&cache);
    assert_null(hccl_cache_find(&cache, &key));
}

static void every_key_has_its_plan(void **state)
{
    (void) state;
    enum { KEYS = 3000 };
    hccl_plan_cache_t cache = {NULL, 0, 0};
    static const hccl_plan_t *first[KEYS];
    for (int i = 0; i < KEYS; i++) {
        hccl_plan_key_t key = key_of(i);
        assert_null(hccl_cache_find(&cache, &key));
        assert_int_equal(HCCL_OK, hccl_cache_add(&cache, &key, new_plan(i)));
        first[i] = hccl_cache_find(&cache, &key);
        assert_non_null(first[i]);
    }
    for (int i = 0; i < KEYS; i++) {
        hccl_plan_key_t key = key_of(i);
        assert_ptr_equal(first[i], hccl_cache_find(&cache, &key));
        assert_int_equal(i, first[i]->nsteps);
    }
    hccl_plan_key_t other = key_of(0);
    other.flat = 2;
    assert_null(hccl_cache_find(&cache, &other));
    hccl_cache_clear(&cache);
    hccl_plan_key_t key = key_of(0);
    assert_null(hccl_cache_find(&cache, &key));
    assert_int_equal(HCCL_OK, hccl_cache_add(&cache, &key, new_plan(1)));
    hccl_cache_clear(&cache);
}

static void plans_are_never_replaced(void **state)
{
    (void) state;
    hccl_plan_cache_t cache = {NULL, 0, 0};
    hccl_plan_key_t key = key_of(4);
    assert_int_equal(HCCL_OK, hccl_cache_add(&cache, &key, new_plan(1)));
    const hccl_plan_t *plan = hccl_cache_find(&cache, &key);
    assert_int_equal(HCCL_ERR_INTERNAL, hccl_cache_add(&cache, &key, new_plan(2)));
    assert_ptr_equal(plan, hccl_cache_find(&cache, &key));
    assert_int_equal(1, plan->nsteps);
    hccl_cache_clear(&cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_finds_nothing),
        cmocka_unit_test(every_key_has_its_plan),
        cmocka_unit_test(plans_are_never_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
