/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which receives of a plan may be read where the network tier has them, until when, and which have to come to
 * where the plan says: on plans written for it, and on those of algorithms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "exec/borrowing.h"
#include "bare_steps.h"
#include "built_plan.h"

static void source(hccl_step_t *s, int peer, int base, int first)
{
    if (0 == s->nsrc) {
        s->src = plan.nsources;
    }
    s->nsrc++;
    sources[plan.nsources++] = (hccl_source_t){.peer = peer, .base = base, .first = first};
}

/* RECV of positions [2, 4) of a base, and the WAIT. */
static void received(int base)
{
    begin();
    step(HCCL_STEP_RECV, base, 2, 2);
    step(HCCL_STEP_WAIT, 0, 0, 0);
}

/* The only borrowing: until which step, and whether it comes home. */
static void expect(int last, bool home)
{
    hccl_borrowings_t *all = hccl_borrowings_find(&plan);
    assert_non_null(all);
    assert_int_equal(1, all->n);
    assert_int_equal(0, all->borrowing[0].recv);
    assert_int_equal(1, all->borrowing[0].wait);
    assert_int_equal(last, all->borrowing[0].last);
    assert_int_equal(home, all->borrowing[0].home);
    assert_int_equal(0, all->step[0].number);
    assert_int_equal(1, all->step[last].reads);
    for (int i = 0; i < plan.nsteps; i++) {
        assert_true(i <= last || 0 == all->step[i].reads);
        assert_true(0 == i || -1 == all->step[i].number);
    }
    free(all);
}

static void scratch(void **state)
{
    (void) state;
    received(HCCL_BASE_TMP);
    expect(1, false); /* nobody reads it */
    hccl_step_t *s = step(HCCL_STEP_REDUCE, HCCL_BASE_RECV, 3, 1);
    source(s, -1, HCCL_BASE_RECV, 3);
    source(s, -1, HCCL_BASE_TMP, 3);
    expect(2, false);
    s = step(HCCL_STEP_FOLD, HCCL_BASE_RECV, 2, 1);
    source(s, 1, 0, 2);
    source(s, -1, HCCL_BASE_TMP, 2);
    expect(3, false);
    step(HCCL_STEP_PUBLISH, HCCL_BASE_TMP, 0, 4);
    step(HCCL_STEP_WAIT, 0, 0, 0);
    source(step(HCCL_STEP_COPY, HCCL_BASE_RECV, 2, 2), -1, HCCL_BASE_TMP, 2);
    source(step(HCCL_STEP_COPY, HCCL_BASE_RECV, 0, 2), -1, HCCL_BASE_TMP, 0);
    expect(6, false);
    step(HCCL_STEP_PUBLISH, HCCL_BASE_TMP, 3, 2);
    expect(8, false);
}

/* The next message to the same place, what combines it with itself, and a part of it: when it ends. */
static void ends(void **state)
{
    (void) state;
    received(HCCL_BASE_TMP);
    hccl_step_t *s = step(HCCL_STEP_REDUCE, HCCL_BASE_RECV, 2, 2);
    source(s, -1, HCCL_BASE_TMP, 2);
    source(s, -1, HCCL_BASE_RECV, 2);
    step(HCCL_STEP_RECV, HCCL_BASE_TMP, 2, 2);
    step(HCCL_STEP_WAIT, 0, 0, 0);
    s = step(HCCL_STEP_REDUCE, HCCL_BASE_TMP, 2, 2);
    source(s, -1, HCCL_BASE_TMP, 2);
    source(s, -1, HCCL_BASE_RECV, 2);
    step(HCCL_STEP_SEND, HCCL_BASE_TMP, 2, 2);
    hccl_borrowings_t *all = hccl_borrowings_find(&plan);
    assert_int_equal(2, all->n);
    assert_int_equal(2, all->borrowing[0].last);
    assert_int_equal(5, all->borrowing[1].last);
    assert_false(all->borrowing[0].home || all->borrowing[1].home);
    assert_int_equal(1, all->step[2].reads);
    assert_int_equal(2, all->step[5].reads);
    assert_int_equal(1, all->step[3].number);
    free(all);
    /* The user's buffer, but something else comes there. */
    received(HCCL_BASE_RECV);
    source(step(HCCL_STEP_COPY, HCCL_BASE_TMP, 0, 2), -1, HCCL_BASE_RECV, 2);
    source(step(HCCL_STEP_FETCH, HCCL_BASE_RECV, 1, 3), 1, 0, 1);
    expect(2, false);
}

/* The user wants it, or a step: then it is lent until it is published, or not at all. */
static void comes_home(void **state)
{
    (void) state;
    received(HCCL_BASE_RECV);
    expect(1, true);
    source(step(HCCL_STEP_COPY, HCCL_BASE_TMP, 0, 2), -1, HCCL_BASE_RECV, 2);
    expect(1, true);
    step(HCCL_STEP_PUBLISH, HCCL_BASE_RECV, 2, 2);
    expect(3, true);
    source(step(HCCL_STEP_COPY, HCCL_BASE_TMP, 0, 2), -1, HCCL_BASE_RECV, 2);
    expect(3, true);
    for (int which = 0; which < 6; which++) {
        hccl_step_t *s;
        received(HCCL_BASE_TMP);
        source(step(HCCL_STEP_COPY, HCCL_BASE_RECV, 0, 2), -1, HCCL_BASE_TMP, 2);
        switch (which) {
        case 0: /* sent on */
            step(HCCL_STEP_SEND, HCCL_BASE_TMP, 3, 1);
            break;
        case 1: /* a part of it is written */
            source(step(HCCL_STEP_FETCH, HCCL_BASE_TMP, 3, 1), 1, 0, 3);
            break;
        case 2: /* and read */
            s = step(HCCL_STEP_REDUCE, HCCL_BASE_TMP, 2, 1);
            source(s, -1, HCCL_BASE_TMP, 2);
            source(s, -1, HCCL_BASE_RECV, 2);
            break;
        case 3: /* combined together with its neighbour */
            s = step(HCCL_STEP_REDUCE, HCCL_BASE_RECV, 3, 2);
            source(s, -1, HCCL_BASE_TMP, 3);
            source(s, -1, HCCL_BASE_RECV, 3);
            break;
        case 4: /* likewise, and written */
            s = step(HCCL_STEP_REDUCE, HCCL_BASE_TMP, 1, 3);
            source(s, -1, HCCL_BASE_TMP, 1);
            source(s, -1, HCCL_BASE_RECV, 1);
            break;
        default: /* a part comes anew */
            step(HCCL_STEP_RECV, HCCL_BASE_TMP, 1, 2);
            break;
        }
        hccl_borrowings_t *all = hccl_borrowings_find(&plan);
        assert_true(all->borrowing[0].home);
        assert_int_equal(1, all->borrowing[0].last);
        assert_int_equal(0, all->step[2].reads);
        free(all);
    }
    /* Somebody has to do with it before it is there: not ours. */
    begin();
    step(HCCL_STEP_RECV, HCCL_BASE_TMP, 2, 2);
    step(HCCL_STEP_SEND, HCCL_BASE_TMP, 2, 2);
    step(HCCL_STEP_WAIT, 0, 0, 0);
    hccl_borrowings_t *all = hccl_borrowings_find(&plan);
    assert_int_equal(0, all->n);
    free(all);
}

/* Borrowings of a rank in an algorithm's plan: how many never come home, and how many do so only after the node can
 * read them. */
static void count(hccl_coll_t coll, const char *algorithm, const char *text, int me, int never,
                  int later)
{
    hccl_plan_t *built = built_plan(coll, algorithm, text, me);
    hccl_borrowings_t *all = hccl_borrowings_find(built);
    assert_non_null(all);
    for (int i = 0; i < all->n; i++) {
        const hccl_borrowing_t *b = &all->borrowing[i];
        never -= b->home ? 0 : 1;
        later -= b->home && b->last > b->wait ? 1 : 0;
    }
    assert_int_equal(0, never);
    assert_int_equal(0, later);
    free(all);
    free(built);
}

static void algorithms(void **state)
{
    (void) state;
    count(HCCL_COLL_ALLREDUCE, "hier_radix", "node:2 core:2", 0, 1, 0);
    count(HCCL_COLL_ALLREDUCE, "hier_radix", "node:2 core:2", 1, 0, 0);
    count(HCCL_COLL_ALLREDUCE, "hier_rd_slices", "node:2 core:2", 3, 1, 0);
    count(HCCL_COLL_ALLREDUCE, "radix", "node:4", 2, 2, 0);
    count(HCCL_COLL_REDUCE, "hier_tree", "node:2 core:2", 0, 1, 0);
    count(HCCL_COLL_REDUCE_SCATTER_BLOCK, "hier_pipeline", "node:2 core:2", 1, 1, 0);
    count(HCCL_COLL_BCAST, "hier_tree", "node:2 core:2", 2, 0, 1);
    count(HCCL_COLL_ALLGATHER, "hier_ring", "node:2 core:2", 0, 0, 1);
    count(HCCL_COLL_SCATTER, "hier", "node:2 core:2", 2, 1, 0);
    count(HCCL_COLL_ALLTOALL, "hier", "node:2 core:2", 0, 1, 0);
    count(HCCL_COLL_BARRIER, "hier_radix", "node:2 core:2", 0, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scratch),
        cmocka_unit_test(ends),
        cmocka_unit_test(comes_home),
        cmocka_unit_test(algorithms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
