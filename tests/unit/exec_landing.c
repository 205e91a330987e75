/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which receives of a plan may land in the slot in which they are published, and who reads from there:
 * on plans written for it, and on those of algorithms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "exec/landing.h"
#include "bare_steps.h"
#include "built_plan.h"

/* A step with one source in my own memory. */
static void step_from(hccl_step_kind_t kind, int base, int first, int count, int from, int at)
{
    hccl_step_t *s = step(kind, base, first, count);
    s->nsrc = 1;
    s->src = plan.nsources;
    sources[plan.nsources++] = (hccl_source_t){.peer = -1, .base = from, .first = at};
}

static void publish(int base, int first, int count, int pub)
{
    step(HCCL_STEP_PUBLISH, base, first, count)->pub = pub;
}

static hccl_landings_t *find(void)
{
    hccl_landings_t *l = hccl_landings_find(&plan);
    assert_non_null(l);
    assert_ptr_equal(&plan, l->plan);
    return l;
}

/* How many landings the steps so far have. */
static int count(void)
{
    hccl_landings_t *l = find();
    int n = l->n;
    free(l);
    return n;
}

static void received_and_published(void **state)
{
    (void) state;
    begin();
    step(HCCL_STEP_RECV, HCCL_BASE_RECV, 0, 2);
    step(HCCL_STEP_WAIT, 0, 0, 0);
    step(HCCL_STEP_SEND, HCCL_BASE_RECV, 1, 1);
    publish(HCCL_BASE_RECV, 0, 2, 3);
    step(HCCL_STEP_SEND, HCCL_BASE_RECV, 0, 1);
    hccl_landings_t *l = find();
    assert_int_equal(1, l->n);
    assert_int_equal(0, l->landing[0].recv);
    assert_int_equal(3, l->landing[0].publish);
    assert_true(l->landing[0].whole);
    assert_true(l->landing[0].home); /* the user wants it */
    assert_int_equal(0, l->of[0]);
    assert_int_equal(0, l->of[2]);  /* sent on from the slot, */
    assert_int_equal(-1, l->of[4]); /* and from the buffer when that has it */
    assert_int_equal(-1, l->published[0]);
    assert_int_equal(3, l->published[3]);
    free(l);
}

static void part_of_a_publication(void **state)
{
    (void) state;
    begin();
    step(HCCL_STEP_RECV, HCCL_BASE_RECV, 1, 1);
    step(HCCL_STEP_RECV, HCCL_BASE_RECV, 3, 1);
    step(HCCL_STEP_WAIT, 0, 0, 0);
    step_from(HCCL_STEP_COPY, HCCL_BASE_RECV, 0, 1, HCCL_BASE_SEND, 1);
    publish(HCCL_BASE_RECV, 0, 4, 0);
    hccl_landings_t *l = find();
    assert_int_equal(2, l->n);
    assert_false(l->landing[0].whole);
    assert_false(l->landing[1].whole);
    assert_int_equal(1, l->of[1]);
    free(l);
}

static void scratch_stays_there(void **state)
{
    (void) state;
    begin();
    step(HCCL_STEP_RECV, HCCL_BASE_TMP, 4, 4);
    step(HCCL_STEP_WAIT, 0, 0, 0);
    publish(HCCL_BASE_TMP, 4, 4, 0);
    step_from(HCCL_STEP_COPY, HCCL_BASE_RECV, 0, 2, HCCL_BASE_TMP, 5);
    step(HCCL_STEP_RECV, HCCL_BASE_TMP, 4, 4); /* the next one, which nobody publishes */
    step(HCCL_STEP_WAIT, 0, 0, 0);
    step_from(HCCL_STEP_COPY, HCCL_BASE_RECV, 0, 2, HCCL_BASE_TMP, 5);
    hccl_landings_t *l = find();
    assert_int_equal(1, l->n);
    assert_false(l->landing[0].home);
    assert_int_equal(0, l->of[3]);
    assert_int_equal(-1, l->of[4]);
    assert_int_equal(-1, l->of[6]);
    free(l);
    /* Published once more, from where the plan says; the slot has it all the same. */
    begin();
    step(HCCL_STEP_RECV, HCCL_BASE_TMP, 0, 1);
    step(HCCL_STEP_WAIT, 0, 0, 0);
    publish(HCCL_BASE_TMP, 0, 1, 0);
    publish(HCCL_BASE_TMP, 0, 2, 1);
    step(HCCL_STEP_SEND, HCCL_BASE_TMP, 0, 1);
    l = find();
    assert_int_equal(1, l->n);
    assert_true(l->landing[0].home);
    assert_int_equal(0, l->of[4]);
    free(l);
    /* A later step that adds to it needs it where it was. */
    begin();
    step(HCCL_STEP_RECV, HCCL_BASE_TMP, 0, 1);
    step(HCCL_STEP_WAIT, 0, 0, 0);
    publish(HCCL_BASE_TMP, 0, 1, 0);
    step_from(HCCL_STEP_REDUCE, HCCL_BASE_TMP, 0, 1, HCCL_BASE_TMP, 0);
    step(HCCL_STEP_SEND, HCCL_BASE_TMP, 0, 1);
    l = find();
    assert_int_equal(1, l->n);
    assert_true(l->landing[0].home);
    assert_int_equal(-1, l->of[3]);
    assert_int_equal(-1, l->of[4]);
    free(l);
}

/* What stands between RECV and PUBLISH decides. */
static void in_between(void **state)
{
    (void) state;
    for (int which = 0; which < 9; which++) {
        begin();
        step(HCCL_STEP_RECV, HCCL_BASE_RECV, 2, 2);
        step(HCCL_STEP_WAIT, 0, 0, 0);
        switch (which) {
        case 0: /* written again, a part of it */
            step_from(HCCL_STEP_COPY, HCCL_BASE_RECV, 3, 1, HCCL_BASE_SEND, 0);
            break;
        case 1: /* combined */
            step_from(HCCL_STEP_REDUCE, HCCL_BASE_TMP, 0, 1, HCCL_BASE_RECV, 2);
            break;
        case 2: /* sent together with its neighbour */
            step(HCCL_STEP_SEND, HCCL_BASE_RECV, 1, 2);
            break;
        case 3: /* published in part before */
            publish(HCCL_BASE_RECV, 2, 1, 0);
            break;
        case 4: /* received again */
            step(HCCL_STEP_RECV, HCCL_BASE_RECV, 2, 2);
            step(HCCL_STEP_SEND, HCCL_BASE_RECV, 0, 3);
            break;
        case 5: /* copied together with its neighbour */
            step_from(HCCL_STEP_COPY, HCCL_BASE_TMP, 0, 2, HCCL_BASE_RECV, 3);
            break;
        case 6: /* its neighbours, all of that */
            step_from(HCCL_STEP_COPY, HCCL_BASE_RECV, 4, 1, HCCL_BASE_SEND, 0);
            step(HCCL_STEP_SEND, HCCL_BASE_RECV, 0, 2);
            step(HCCL_STEP_SEND, HCCL_BASE_TMP, 2, 2);
            break;
        case 7: /* another buffer is published */
            publish(HCCL_BASE_TMP, 2, 2, 0);
            break;
        default: /* a copy of it, in the slot as well as anywhere */
            step_from(HCCL_STEP_COPY, HCCL_BASE_TMP, 0, 1, HCCL_BASE_RECV, 3);
            break;
        }
        publish(HCCL_BASE_RECV, 2, 2, 1);
        assert_int_equal(which < 6 ? 0 : 1, count());
    }
    /* Nobody publishes. */
    begin();
    step(HCCL_STEP_RECV, HCCL_BASE_RECV, 0, 1);
    step(HCCL_STEP_WAIT, 0, 0, 0);
    assert_int_equal(0, count());
    /* No data. */
    step(HCCL_STEP_RECV, HCCL_BASE_RECV, 0, 0);
    publish(HCCL_BASE_RECV, 0, 0, 0);
    assert_int_equal(0, count());
}

/* Landings of a rank in an algorithm's plan, and how many of them nobody wants elsewhere. */
static int landings_of(hccl_coll_t coll, const char *algorithm, const char *text, int me,
                       int *not_home)
{
    hccl_plan_t *built = built_plan(coll, algorithm, text, me);
    hccl_landings_t *l = hccl_landings_find(built);
    assert_non_null(l);
    int n = l->n;
    *not_home = 0;
    for (int i = 0; i < n; i++) {
        *not_home += l->landing[i].home ? 0 : 1;
    }
    free(l);
    free(built);
    return n;
}

static void algorithms(void **state)
{
    int not_home;
    (void) state;
    assert_int_equal(1, landings_of(HCCL_COLL_BCAST, "hier_chain", "node:3 core:2", 2, &not_home));
    assert_int_equal(0, landings_of(HCCL_COLL_BCAST, "hier_chain", "node:3 core:2", 0, &not_home));
    assert_int_equal(2, landings_of(HCCL_COLL_BCAST, "hier_double_tree", "node:3 core:2", 2,
                                    &not_home));
    assert_int_equal(2,
                     landings_of(HCCL_COLL_ALLGATHER, "hier_ring", "node:3 core:2", 0, &not_home));
    assert_int_equal(0, not_home);
    /* Of two exchanges, the one whose result is sent along with the rank's own goes home. */
    assert_int_equal(1,
                     landings_of(HCCL_COLL_ALLREDUCE, "hier_rhd", "node:4 core:2", 0, &not_home));
    assert_int_equal(2,
                     landings_of(HCCL_COLL_ALLREDUCE, "hier_ring", "node:3 core:2", 0, &not_home));
    assert_int_equal(1, landings_of(HCCL_COLL_SCATTER, "hier", "node:2 core:2", 2, &not_home));
    assert_int_equal(1, not_home);
    assert_int_equal(1, landings_of(HCCL_COLL_ALLTOALL, "hier", "node:2 core:2", 0, &not_home));
    assert_int_equal(1, not_home);
    assert_int_equal(0, landings_of(HCCL_COLL_ALLTOALL, "pairwise", "node:2 core:2", 0, &not_home));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(received_and_published),
        cmocka_unit_test(part_of_a_publication),
        cmocka_unit_test(scratch_stays_there),
        cmocka_unit_test(in_between),
        cmocka_unit_test(algorithms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
