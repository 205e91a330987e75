/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See trial.h. Two times count. How long the call keeps this rank; and the time from call to call,
 * since what is saved in the call may be paid between the calls: a line that a peer has read where it
 * lies is slow to write again, for the user, as a line of a slot is for the copy. In place wins if it
 * is the faster one in both.
 *
 * Calls are tried in blocks of one kind, of which the first half only warms up: buffers that take
 * turns have all been read then. The least of a few blocks counts, for whatever else happens makes
 * them longer. The root of a bcast or scatter that copies may leave long before its data has arrived,
 * and must not take that for speed: so timed runs of rooted collectives, of either kind, end when all
 * peers of the node have ended theirs.
 */
#include "exec/trial.h"

#include <stdlib.h>
#include <time.h>

#include "base/log.h"

/* Sizes are told apart by their number of binary digits; below LEAST_DIGITS nothing is published in
 * place unless a parameter wants it. */
enum { LEAST_DIGITS = 14, CLASSES = 20 };

/* Calls after which the trial is made again: what is faster can change with the cores that the
 * ranks run on. Rarely enough to cost less than what it can bring. */
#define HOLDS 10000

enum { BLOCK = 8, WARM = BLOCK / 2, RUNS = 10 * BLOCK };

/* By how much the least time of a call in place must be less. */
#define MARGIN 0.02f

/* How much of that gain may be lost between the calls, since that time is uncertain. */
#define TOLERANCE 0.15f

/* By collective, whether SEND and RECV are the same memory, whether peers reach the data in a heap or
 * through XPMEM (where a buffer's first use costs more), and size. */
struct hccl_trials {
    hccl_trial_t by[HCCL_COLL_COUNT][2][2][CLASSES];
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

/* The kind of a call: 0 copies, 1 publishes in place. */
static int kind_of(int run)
{
    return run / BLOCK % 2;
}

static void keep_least(float *least, float value)
{
    *least = 0 == *least || value < *least ? value : *least;
}

static void settle(const hccl_exec_t *x, hccl_trial_t *trial)
{
    float gain = trial->call[0] - trial->call[1];
    float us = trial->bytes / (float) (BLOCK - WARM) / 1000;
    trial->holds = HOLDS;
    trial->direct =
        gain > MARGIN * trial->call[0] && trial->cycle[1] < trial->cycle[0] + TOLERANCE * gain;
    hccl_log_info(
        "%s of about %.0f bytes on %s takes %.2f us copied and %.2f in place, from call to "
        "call %.2f and %.2f: %s from now on",
        hccl_coll_info[x->call.coll].name, (double) trial->bytes, x->hc->comm->c_name,
        (double) (trial->call[0] * us), (double) (trial->call[1] * us),
        (double) (trial->cycle[0] * us), (double) (trial->cycle[1] * us),
        0 != trial->direct ? "in place" : "copied");
}

/* The next call begins. False: the trial is over. */
static bool begin(const hccl_exec_t *x, hccl_trial_t *trial, size_t bytes)
{
    double t = now();
    int last = trial->runs - 1;
    if (last >= 0 && last % BLOCK >= WARM) {
        trial->cycles += (float) (t - trial->began) / trial->bytes;
    }
    if (BLOCK - 1 == last % BLOCK) {
        keep_least(&trial->call[kind_of(last)], trial->calls);
        keep_least(&trial->cycle[kind_of(last)], trial->cycles);
        trial->calls = trial->cycles = 0;
    }
    if (RUNS == trial->runs) {
        settle(x, trial);
        return false;
    }
    trial->began = t;
    trial->bytes = (float) bytes;
    trial->runs++;
    return true;
}

void hccl_trial_end(hccl_exec_t *x)
{
    hccl_trial_t *trial = x->trial;
    OPAL_THREAD_LOCK(&x->hc->plan_lock);
    if (x->trial_run % BLOCK >= WARM) {
        trial->calls += (float) ((now() - x->trial_began) / (double) x->trial_bytes);
    }
    OPAL_THREAD_UNLOCK(&x->hc->plan_lock);
    x->trial = NULL;
}

static bool in_heap(const hccl_view_t *view, const char *heap, size_t size)
{
    const char *at = HCCL_VIEW_NONE == view->kind    ? NULL
                     : HCCL_VIEW_TABLE == view->kind ? view->addr[0]
                                                     : view->base;
    return at >= heap && at < heap + size;
}

static hccl_trial_t *trial_of(hccl_comm_t *hc, hccl_coll_t coll, bool aliased, bool heap,
                              size_t bytes)
{
    if (NULL == hc->trials) {
        hc->trials = calloc(1, sizeof(*hc->trials));
        if (NULL == hc->trials) {
            return NULL;
        }
    }
    int number = -LEAST_DIGITS;
    for (size_t rest = bytes; rest > 0; rest /= 2) {
        number++;
    }
    number = number < 0 ? 0 : number < CLASSES ? number : CLASSES - 1;
    return &hc->trials->by[coll][aliased][heap][number];
}

/* Whether to publish in place, and whether to time it. */
static bool choose(hccl_exec_t *x, hccl_trial_t *trial, size_t bytes)
{
    if (trial->holds > 0) {
        if (0 == --trial->holds) {
            *trial = (hccl_trial_t){.direct = trial->direct};
        }
        return trial->direct;
    }
    if (!begin(x, trial, bytes)) {
        return trial->direct;
    }
    x->trial = trial;
    x->trial_run = trial->runs - 1;
    x->trial_closes = hccl_coll_info[x->call.coll].rooted;
    x->trial_bytes = bytes;
    x->trial_began = trial->began;
    return 1 == kind_of(x->trial_run);
}

void hccl_trial_choose(hccl_exec_t *x, size_t bytes)
{
    size_t size;
    x->direct = HCCL_DIRECT_NEVER;
    x->trial = NULL;
    if (HCCL_ZERO_COPY_NEVER == hccl_engine.zero_copy || x->lane_kind <= HCCL_LANE_SMALL) {
        return;
    }
    const char *heap = hccl_heap_range(&size);
    bool lies_in_heap =
        NULL != heap && (in_heap(&x->send, heap, size) || in_heap(&x->recv, heap, size));
    if (!lies_in_heap && !x->hc->sees_memory) {
        return;
    }
    bool aliased = MPI_IN_PLACE == x->call.send.buf || MPI_IN_PLACE == x->call.recv.buf;
    bool direct = true;
    if (HCCL_ZERO_COPY_TRIAL == hccl_engine.zero_copy) {
        hccl_trial_t *trial = trial_of(x->hc, x->call.coll, aliased, lies_in_heap, bytes);
        direct = NULL != trial && choose(x, trial, bytes);
    }
    if (direct) {
        x->direct = aliased ? HCCL_DIRECT_ALIASED : HCCL_DIRECT_APART;
    }
}
