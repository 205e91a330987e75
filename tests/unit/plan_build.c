/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The plan builder: what it derives (acknowledgements, requests, kinds of steps, waits), the frozen
 * plan, and that a builder that steps out of range gets an error. That plans are right is for the
 * prover.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/build.h"

enum { BLOCKS = 4 };

static hccl_builder_t *start(void)
{
    hccl_case_t c = {.coll = HCCL_COLL_ALLREDUCE};
    hccl_builder_t *b = hccl_build_start(&c, 3, BLOCKS);
    assert_non_null(b);
    return b;
}

static hccl_plan_t *finish(hccl_builder_t *b)
{
    hccl_plan_t *plan = NULL;
    assert_int_equal(HCCL_OK, hccl_build_finish(b, &plan));
    assert_non_null(plan);
    return plan;
}

static void refuse(hccl_builder_t *b)
{
    hccl_plan_t *plan = (hccl_plan_t *) b; /* any address: it must stay */
    hccl_plan_t *before = plan;
    assert_int_equal(HCCL_ERR_INTERNAL, hccl_build_finish(b, &plan));
    assert_ptr_equal(before, plan);
}

static void empty_plan(void **state)
{
    (void) state;
    hccl_plan_t *plan = finish(start());
    assert_int_equal(HCCL_COLL_ALLREDUCE, plan->coll);
    assert_int_equal(3, plan->algorithm);
    assert_int_equal(BLOCKS, plan->nblocks);
    assert_int_equal(0, plan->nsteps + plan->nsources + plan->ntmp + plan->npub + plan->publishes
                            + plan->apart + plan->max_requests);
    assert_null(plan->order);
    free(plan);
}

static void kinds_follow_from_sources(void **state)
{
    (void) state;
    hccl_builder_t *b = start();
    int pub = hccl_build_publications(b, 2, 3);
    hccl_build_publish(b, pub, HCCL_BASE_SEND, 1, 3);
    hccl_build_copy(b, HCCL_BASE_RECV, 0, 2, HCCL_BASE_SEND, 1);
    hccl_build_fetch(b, HCCL_BASE_RECV, 2, 1, 5, pub + 1, 1, 2);
    hccl_build_fold_begin(b, HCCL_BASE_RECV, 0, 1);
    hccl_build_fold_own(b, HCCL_BASE_RECV, 3);
    hccl_build_fold_own(b, HCCL_BASE_SEND, 0);
    hccl_build_fold_end(b);
    hccl_build_fold_begin(b, HCCL_BASE_RECV, 0, 1);
    hccl_build_fold_own(b, HCCL_BASE_SEND, 0);
    hccl_build_fold_peer(b, 2, pub, 0, 0);
    hccl_build_fold_peer(b, 1, pub, 0, 0);
    hccl_build_fold_end(b);
    hccl_plan_t *plan = finish(b);
    const uint8_t kinds[] = {HCCL_STEP_PUBLISH, HCCL_STEP_COPY, HCCL_STEP_FETCH, HCCL_STEP_REDUCE,
                             HCCL_STEP_FOLD};
    const uint16_t nsrc[] = {0, 1, 1, 2, 3};
    assert_int_equal(5, plan->nsteps);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(kinds[i], plan->steps[i].kind);
        assert_int_equal(nsrc[i], plan->steps[i].nsrc);
    }
    assert_int_equal(7, plan->nsources);
    assert_int_equal(1, plan->publishes);
    assert_int_equal(2, plan->npub);
    assert_int_equal(3, plan->max_pub);
    const hccl_source_t *fetched = &plan->sources[plan->steps[2].src];
    assert_int_equal(5, fetched->peer);
    assert_int_equal(pub + 1, fetched->base);
    assert_int_equal(1, fetched->pub_first);
    assert_int_equal(2, fetched->first);
    const hccl_source_t *folded = &plan->sources[plan->steps[4].src];
    assert_int_equal(-1, folded[0].peer);
    assert_int_equal(HCCL_BASE_SEND, folded[0].base);
    assert_int_equal(2, folded[1].peer);
    assert_int_equal(1, folded[2].peer);
    free(plan);
}

/* After each step: nothing below this number is read any more. */
static void acknowledgements(void **state)
{
    (void) state;
    hccl_builder_t *b = start();
    int pub = hccl_build_publications(b, 6, 1);
    hccl_build_publish(b, pub, HCCL_BASE_SEND, 0, 1);            /* reads to come: 2 0 5 */
    hccl_build_fetch(b, HCCL_BASE_RECV, 0, 1, 1, pub + 2, 0, 0); /* 0 5 */
    hccl_build_fetch(b, HCCL_BASE_RECV, 1, 1, 1, pub + 0, 0, 0); /* 5 */
    hccl_build_copy(b, HCCL_BASE_RECV, 2, 1, HCCL_BASE_SEND, 0); /* 5 */
    hccl_build_fetch(b, HCCL_BASE_RECV, 3, 1, 1, pub + 5, 0, 0); /* none */
    hccl_build_publish(b, pub + 3, HCCL_BASE_SEND, 0, 1);
    hccl_plan_t *plan = finish(b);
    const int32_t acks[] = {0, 0, 5, 5, 6, 6};
    assert_int_equal(6, plan->nsteps);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(acks[i], plan->steps[i].ack);
    }
    free(plan);
}

static void requests_and_waits(void **state)
{
    (void) state;
    hccl_builder_t *b = start();
    hccl_build_wait(b); /* nothing to wait for: no step */
    hccl_build_send(b, 1, HCCL_BASE_SEND, 0, 1);
    hccl_build_recv(b, 2, HCCL_BASE_RECV, 0, 4);
    hccl_build_recv(b, 3 | HCCL_PEER_REMOTE, HCCL_BASE_RECV, 0, 0);
    hccl_build_wait(b);
    hccl_build_wait(b);
    hccl_build_send(b, 1, HCCL_BASE_SEND, 0, 1);
    hccl_plan_t *plan = finish(b);
    const uint8_t kinds[] = {HCCL_STEP_SEND, HCCL_STEP_RECV, HCCL_STEP_RECV,
                             HCCL_STEP_WAIT, HCCL_STEP_SEND, HCCL_STEP_WAIT};
    assert_int_equal(6, plan->nsteps);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(kinds[i], plan->steps[i].kind);
    }
    assert_int_equal(3, plan->max_requests);
    assert_int_equal(2, plan->steps[1].peer);
    assert_int_equal(3, HCCL_PEER_RANK(plan->steps[2].peer));
    assert_int_equal(-1, plan->steps[3].peer);
    free(plan);
}

static void scratch_and_order(void **state)
{
    (void) state;
    const int32_t order[BLOCKS] = {2, 0, 3, 1};
    hccl_builder_t *b = start();
    assert_int_equal(3, hccl_build_position(b, 3));
    hccl_build_order(b, order);
    assert_int_equal(0, hccl_build_position(b, 2));
    assert_int_equal(3, hccl_build_position(b, 1));
    int small = hccl_build_scratch(b, BLOCKS);
    int large = hccl_build_scratch(b, 9);
    assert_int_equal(HCCL_BASE_TMP, small);
    assert_int_equal(HCCL_BASE_TMP + 1, large);
    hccl_build_recv(b, 1, large, 0, 9);
    hccl_plan_t *plan = finish(b);
    assert_int_equal(2, plan->ntmp);
    assert_int_equal(9, plan->tmp_blocks);
    assert_memory_equal(order, plan->order, sizeof(order));
    /* One block of memory. */
    const char *start_of = (const char *) plan;
    assert_true((const char *) (plan->steps + plan->nsteps) <= start_of + plan->bytes);
    assert_true((const char *) (plan->order + BLOCKS) == start_of + plan->bytes);
    free(plan);
}

/* A rank that uses none of the areas takes no memory for them; an area in front of a used one stays. */
static void unused_scratch_is_dropped(void **state)
{
    (void) state;
    hccl_builder_t *b = start();
    (void) hccl_build_scratch(b, BLOCKS);
    hccl_build_send(b, 1, HCCL_BASE_SEND, 0, 1);
    hccl_plan_t *plan = finish(b);
    assert_int_equal(0, plan->ntmp);
    assert_int_equal(BLOCKS, plan->tmp_blocks);
    free(plan);
    b = start();
    (void) hccl_build_scratch(b, BLOCKS);
    int read = hccl_build_scratch(b, BLOCKS);
    (void) hccl_build_scratch(b, BLOCKS);
    hccl_build_copy(b, HCCL_BASE_RECV, 0, 1, read, 0);
    plan = finish(b);
    assert_int_equal(2, plan->ntmp);
    free(plan);
}

/* Growing lists keep what was in them. */
static void long_plan(void **state)
{
    (void) state;
    enum { STEPS = 5000 };
    hccl_builder_t *b = start();
    for (int i = 0; i < STEPS; i++) {
        hccl_build_fold_begin(b, HCCL_BASE_RECV, i % BLOCKS, 1);
        for (int j = 0; j < 2 + i % 3; j++) {
            hccl_build_fold_own(b, HCCL_BASE_SEND, (i + j) % BLOCKS);
        }
        hccl_build_fold_end(b);
    }
    hccl_plan_t *plan = finish(b);
    assert_int_equal(STEPS, plan->nsteps);
    for (int i = 0; i < STEPS; i++) {
        assert_int_equal(i % BLOCKS, plan->steps[i].first);
        assert_int_equal(2 + i % 3, plan->steps[i].nsrc);
        for (int j = 0; j < 2 + i % 3; j++) {
            assert_int_equal((i + j) % BLOCKS, plan->sources[plan->steps[i].src + j].first);
        }
    }
    free(plan);
}

/* --- Out of range --------------------------------------------------------------------------------- */

static void operands_out_of_range(void **state)
{
    (void) state;
    static const struct {
        int base, first, count;
    } wrong[] = {
        {-1, 0, 1},
        {HCCL_BASE_SEND, -1, 1},
        {HCCL_BASE_SEND, 0, -1},
        {HCCL_BASE_SEND, 0, BLOCKS + 1},
        {HCCL_BASE_RECV, BLOCKS, 1},
        {HCCL_BASE_RECV, 1, 0x7fffffff},
        {HCCL_BASE_RECV, 0x7fffffff, 1},
        {HCCL_BASE_TMP, 0, 7},
        {HCCL_BASE_TMP + 1, 0, 1},
        {HCCL_BASE_TMP + 256, 0, 1},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        hccl_builder_t *b = start();
        hccl_build_scratch(b, 6);
        hccl_build_send(b, 1, wrong[i].base, wrong[i].first, wrong[i].count);
        hccl_build_wait(b);
        refuse(b);
        b = start();
        hccl_build_scratch(b, 6);
        int count = wrong[i].count >= 0 && wrong[i].count <= BLOCKS ? wrong[i].count : BLOCKS;
        hccl_build_copy(b, HCCL_BASE_RECV, 0, count, wrong[i].base,
                        count == wrong[i].count ? wrong[i].first : 7);
        refuse(b);
    }
}

static void publications_out_of_range(void **state)
{
    (void) state;
    hccl_builder_t *b = start();
    hccl_build_publish(b, 0, HCCL_BASE_SEND, 0, 1); /* none reserved */
    refuse(b);
    b = start();
    hccl_build_publish(b, hccl_build_publications(b, 2, 1) + 2, HCCL_BASE_SEND, 0, 1);
    refuse(b);
    b = start();
    hccl_build_publish(b, hccl_build_publications(b, 2, 1), HCCL_BASE_SEND, 0, 2);
    refuse(b);
    b = start();
    hccl_build_fetch(b, HCCL_BASE_RECV, 0, 1, 1, hccl_build_publications(b, 2, 1) + 2, 0, 0);
    refuse(b);
    b = start();
    hccl_build_fetch(b, HCCL_BASE_RECV, 0, 1, -1, hccl_build_publications(b, 2, 1), 0, 0);
    refuse(b);
    b = start();
    hccl_build_fetch(b, HCCL_BASE_RECV, 0, 1, 1, hccl_build_publications(b, 2, 1), 2, 1);
    refuse(b);
}

static void other_mistakes(void **state)
{
    (void) state;
    const int32_t twice[BLOCKS] = {0, 1, 1, 3};
    const int32_t beyond[BLOCKS] = {0, 1, 2, 4};
    hccl_builder_t *b = start();
    hccl_build_order(b, twice);
    refuse(b);
    b = start();
    hccl_build_order(b, beyond);
    refuse(b);
    b = start();
    hccl_build_fold_begin(b, HCCL_BASE_RECV, 0, 1);
    hccl_build_fold_end(b); /* no source */
    refuse(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_plan),
        cmocka_unit_test(kinds_follow_from_sources),
        cmocka_unit_test(acknowledgements),
        cmocka_unit_test(requests_and_waits),
        cmocka_unit_test(scratch_and_order),
        cmocka_unit_test(unused_scratch_is_dropped),
        cmocka_unit_test(long_plan),
        cmocka_unit_test(operands_out_of_range),
        cmocka_unit_test(publications_out_of_range),
        cmocka_unit_test(other_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
