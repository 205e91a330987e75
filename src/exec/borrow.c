/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See borrow.h.
 */
#include "exec/borrow.h"

#include "base/pool.h"
#include "exec/layout.h"
#include "exec/steps.h"

size_t hccl_borrow_room(const hccl_exec_t *x)
{
    return NULL == x->borrowings ? 0 : (size_t) x->borrowings->n * sizeof(hccl_loan_t);
}

static const hccl_step_t *recv_of(const hccl_exec_t *x, int number)
{
    return &x->plan->steps[x->borrowings->borrowing[number].recv];
}

/* Those that are lent, and that a step reads or ends. */
static uint32_t lent_to(const hccl_exec_t *x, const hccl_cursor_t *c, const hccl_step_t *step)
{
    return x->borrowings->step[step - x->plan->steps].reads & c->lent;
}

/* ---- receiving -------------------------------------------------------------------------------- */

bool hccl_borrow_begin(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step, size_t bytes,
                       const hccl_address_t *from)
{
    int number = x->borrowings->step[step - x->plan->steps].number;
    if (number < 0 || bytes != hccl_range_units(x, c, step->first, step->count) * x->unit) {
        return false;
    }
    const hccl_borrowing_t *b = &x->borrowings->borrowing[number];
    hccl_run_t run = {NULL, 0};
    bool is_run = hccl_locate_range(x, c, step->base, step->first, step->count, &run);
    if (is_run && b->home && b->last == b->wait) {
        return false; /* it comes home at once: the tier does that */
    }
    hccl_loan_t *loan = &c->loans[number];
    loan->at = NULL;
    loan->stage = NULL;
    if (!is_run || HCCL_LAND_ALWAYS == hccl_engine.land) {
        loan->stage = hccl_pool_take(sizeof(*loan->stage) + bytes);
        if (NULL == loan->stage) {
            hccl_run_give_up(x); /* the peer would wait for ever */
        }
    }
    char *data = NULL == loan->stage ? run.ptr : loan->stage->data;
    int rc = hccl_tier_borrow(from, data, bytes, &loan->message);
    if (OMPI_SUCCESS == rc) {
        c->asked |= UINT32_C(1) << number;
        return true;
    }
    hccl_exec_fail(x, rc);
    if (NULL != loan->stage) {
        hccl_pool_give(loan->stage);
    }
    return true;
}

/* The message is not read any more. copies: that the last step has made of it. */
static void drop(hccl_cursor_t *c, int number, int copies)
{
    hccl_loan_t *loan = &c->loans[number];
    if (hccl_tier_lends(&loan->message)) {
        hccl_tier_return(&loan->message, copies);
    }
    if (NULL != loan->stage) {
        hccl_pool_give(loan->stage);
    }
    loan->at = NULL;
    c->lent &= ~(UINT32_C(1) << number);
}

bool hccl_borrow_wait(hccl_exec_t *x, hccl_cursor_t *c)
{
    while (0 != c->asked) {
        int number = __builtin_ctz(c->asked);
        hccl_loan_t *loan = &c->loans[number];
        int error;
        if (!hccl_tier_test(&loan->message, &error)) {
            return false;
        }
        c->asked &= c->asked - 1;
        c->lent |= UINT32_C(1) << number;
        if (OMPI_SUCCESS != error) {
            hccl_exec_fail(x, error);
            drop(c, number, 0);
        } else if (NULL == loan->stage && !hccl_tier_lends(&loan->message)) {
            drop(c, number, 0);
        }
    }
    return true;
}

/* ---- reading ---------------------------------------------------------------------------------- */

void hccl_borrow_open(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    for (uint32_t rest = lent_to(x, c, step); 0 != rest; rest &= rest - 1) {
        int number = __builtin_ctz(rest);
        hccl_loan_t *loan = &c->loans[number];
        loan->at = hccl_tier_lends(&loan->message) ? hccl_tier_pin(&loan->message) : NULL;
        if (NULL == loan->at && NULL != loan->stage) {
            loan->at = loan->stage->data;
        } else if (NULL == loan->at) {
            drop(c, number, 0); /* the tier has copied it to where the plan says */
        }
    }
}

const char *hccl_borrow_find(const hccl_exec_t *x, const hccl_cursor_t *c, int base, int first,
                             int count)
{
    for (uint32_t rest = c->lent; 0 != rest; rest &= rest - 1) {
        int number = __builtin_ctz(rest);
        const hccl_step_t *r = recv_of(x, number);
        if (NULL != c->loans[number].at && r->base == base && r->first <= first
            && first + count <= r->first + r->count) {
            return c->loans[number].at
                   + hccl_range_units(x, c, r->first, first - r->first) * x->unit;
        }
    }
    return NULL;
}

bool hccl_borrow_reads(const hccl_exec_t *x, const hccl_cursor_t *c, const hccl_step_t *step)
{
    return 0 != lent_to(x, c, step);
}

static void come_home(hccl_exec_t *x, hccl_cursor_t *c, int number, int copies)
{
    hccl_step_scatter(x, c, c->loans[number].at, recv_of(x, number));
    drop(c, number, copies + 1);
}

void hccl_borrow_bring_home(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    for (uint32_t rest = lent_to(x, c, step); 0 != rest; rest &= rest - 1) {
        come_home(x, c, __builtin_ctz(rest), 0);
    }
}

void hccl_borrow_close(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step, bool done,
                       int copies)
{
    int at = (int) (step - x->plan->steps);
    for (uint32_t rest = lent_to(x, c, step); 0 != rest; rest &= rest - 1) {
        int number = __builtin_ctz(rest);
        const hccl_borrowing_t *b = &x->borrowings->borrowing[number];
        hccl_loan_t *loan = &c->loans[number];
        bool ends = done && b->last == at;
        if (ends && b->home) {
            come_home(x, c, number, copies);
        } else if (ends) {
            drop(c, number, copies);
        } else {
            if (hccl_tier_lends(&loan->message)) {
                hccl_tier_unpin(&loan->message, copies);
            }
            loan->at = NULL;
        }
    }
}
