/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See turn.h.
 */
#include "exec/turn.h"

#include <stdlib.h>

#include "exec/open.h"
#include "exec/wait.h"

static hccl_order_t order_of(const hccl_exec_t *x)
{
    return NULL == x->request ? HCCL_BLOCKING : HCCL_NONBLOCKING;
}

static void assign_lane(hccl_exec_t *x)
{
    x->lane = NULL;
    if (x->lane_kind >= 0) {
        x->lane = x->persistent ? &x->request->lane : &x->hc->lanes[order_of(x)][x->lane_kind];
    }
}

/* The queue for its lane; only for operations that use the communicator's lanes. */
static hccl_queue_t *queue_of(const hccl_exec_t *x)
{
    return &x->hc->queues[order_of(x)][x->lane_kind];
}

/* Kinds of tags. Ranks must agree on the tag of an operation without asking. */
enum {
    TAGS_BLOCKING = HCCL_BLOCKING,
    TAGS_NONBLOCKING = HCCL_NONBLOCKING,
    TAGS_PERSISTENT,
    TAGS_ROOTED,
    TAGS_NEIGHBOR,
    TAGS_KINDS
};
_Static_assert(TAGS_KINDS <= HCCL_TAG_KINDS, "each kind has tags of its own");

static int tag_of_kind(int kind, uint32_t id)
{
    uint32_t ids = (uint32_t) hccl_engine.tag_ids; /* a power of two */
    return hccl_engine.tag_base + (int) ((uint32_t) kind * ids + (id & (ids - 1))) * HCCL_CURSORS;
}

static int next_rooted_tag(hccl_exec_t *x, int *tag)
{
    hccl_comm_t *hc = x->hc;
    if (HCCL_ROOT_NEAR == x->root) {
        *tag = 0; /* takes no part, and may not even have been called: nobody counts it */
        return OMPI_SUCCESS;
    }
    if (HCCL_ROOT_HERE == x->root) {
        *tag =
            tag_of_kind(TAGS_ROOTED, hc->next_here++ * (uint32_t) hc->size + (uint32_t) hc->rank);
        return OMPI_SUCCESS;
    }
    if (NULL == hc->next_rooted) {
        hc->next_rooted = calloc((size_t) hc->remote_size, sizeof(uint32_t));
        if (NULL == hc->next_rooted) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    *tag = tag_of_kind(TAGS_ROOTED, hc->next_rooted[x->root]++ * (uint32_t) hc->remote_size
                                        + (uint32_t) x->root);
    return OMPI_SUCCESS;
}

/* Whether a persistent operation has this tag that exists on this rank. */
static bool is_taken(hccl_comm_t *hc, int tag)
{
    OPAL_THREAD_LOCK(&hc->plan_lock);
    const hccl_request_t *r = hc->persistent;
    while (NULL != r && tag != r->x.tag) {
        r = r->next;
    }
    OPAL_THREAD_UNLOCK(&hc->plan_lock);
    return NULL != r;
}

/* The number of a new persistent operation: the next one whose tag no other one has. Once all tags have been
 * used, that is looked up. Ranks that can still start both operations all find the same; who has freed the
 * other one leaves no number out for it, so it should be freed on all ranks, or on none, before the new one
 * is made. */
static int next_number(hccl_exec_t *x, int kind, uint64_t *count, uint32_t *number)
{
    const uint64_t ids = (uint64_t) hccl_engine.tag_ids;
    for (uint64_t tries = 0; tries < ids; tries++) {
        ++*count;
        *number = (uint32_t) *count;
        x->tag = tag_of_kind(kind, *number);
        /* These are whose the communicator's own lanes are, and tags of other neighbourhood calls. */
        bool own = HCCL_INSTANCE_BLOCKING == *number % ids || HCCL_INSTANCE_NONBLOCKING == *number;
        if (!own && (*count < ids || !is_taken(x->hc, x->tag))) {
            return OMPI_SUCCESS;
        }
    }
    return OMPI_ERR_OUT_OF_RESOURCE;
}

/* The tag follows from counting, in the order of the calls (of persistent ones: of their making).
 * Open MPI's bindings return early, without calling us, where a count is zero; so an operation is
 * counted by those ranks alone that surely all count it:
 *  - usually all ranks of the communicator (calls that move nothing are not counted anywhere),
 *    blocking and nonblocking ones apart (comm.h);
 *  - rooted operations on inter-communicators: the root and the other group, root by root, since
 *    the arguments of the root's own group mean nothing and may be zero or not;
 *  - neighbourhoods: nobody (persistent ones: those who have neighbours). A rank without neighbours
 *    may pass zero. All messages of a neighbourhood collective start at once, so they match in the
 *    order of the calls. */
int hccl_turn_tag(hccl_exec_t *x)
{
    const hccl_coll_info_t *info = &hccl_coll_info[x->call.coll];
    bool is_neighbor = x->call.coll >= HCCL_COLL_NEIGHBOR_ALLGATHER;
    uint32_t number;
    if (is_neighbor && x->persistent) {
        return next_number(x, TAGS_NEIGHBOR, &x->hc->next_neighbor, &number);
    }
    if (is_neighbor) {
        x->tag = tag_of_kind(TAGS_NEIGHBOR, 0);
    } else if (x->hc->remote_size > 0 && info->rooted) {
        return next_rooted_tag(x, &x->tag);
    } else if (x->persistent) {
        return next_number(x, TAGS_PERSISTENT, &x->hc->next_persistent, &x->instance);
    } else {
        x->tag = tag_of_kind((int) order_of(x), x->hc->next_op[order_of(x)]++);
    }
    return OMPI_SUCCESS;
}

/* Takes the flat plan when the lane is known to be out of reach. */
static int avoid_lane(hccl_exec_t *x)
{
    if (NULL == x->lane || HCCL_LANE_UNAVAILABLE != x->lane->state) {
        return OMPI_SUCCESS;
    }
    x->lane = NULL;
    return hccl_exec_plan(x, true);
}

/* Binds, and gives the operation its tag. */
int hccl_turn_prepare(hccl_exec_t *x, bool *nothing)
{
    int rc = hccl_exec_bind(x, nothing);
    if (OMPI_SUCCESS != rc || *nothing) {
        return rc;
    }
    x->next = NULL;
    rc = x->persistent ? OMPI_SUCCESS : hccl_turn_tag(x);
    if (OMPI_SUCCESS == rc) {
        assign_lane(x);
        rc = avoid_lane(x);
    }
    if (OMPI_SUCCESS != rc) {
        hccl_exec_fail(x, rc);
        return hccl_exec_unbind(x);
    }
    if (x->persistent && NULL != x->lane && HCCL_LANE_NEW == x->lane->state) {
        hccl_lane_init(x->lane, hccl_engine.slots, x->hc->slot_bytes[x->lane_kind]);
    }
    return OMPI_SUCCESS;
}

/* Whether the lane can be used right now, without queue and opening. */
bool hccl_turn_is_now(const hccl_exec_t *x)
{
    if (NULL == x->lane) {
        return true;
    }
    return HCCL_LANE_OPEN == x->lane->state && (x->persistent || NULL == queue_of(x)->head);
}

/* Begins the run on an open lane, or the flat plan when the lane cannot be had. */
static int begin(hccl_exec_t *x)
{
    int rc = avoid_lane(x);
    return OMPI_SUCCESS == rc ? hccl_run_begin(x) : rc;
}

/* Goes as far as possible; true when the operation has ended. */
bool hccl_turn_pump(hccl_exec_t *x, bool *moved)
{
    int rc = OMPI_SUCCESS;
    if (HCCL_EXEC_BOUND == x->state) {
        if (NULL != x->lane && !x->persistent && queue_of(x)->head != x) {
            return false;
        }
        bool is_new = NULL != x->lane && HCCL_LANE_NEW == x->lane->state;
        rc = is_new ? hccl_open_begin(x) : begin(x);
        *moved = true;
    }
    if (OMPI_SUCCESS == rc && HCCL_EXEC_OPENING == x->state) {
        if (!hccl_open_advance(x, moved)) {
            return false;
        }
        rc = begin(x);
    }
    if (OMPI_SUCCESS != rc) {
        hccl_run_give_up(x);
    }
    bool ended = hccl_run_advance(x, moved);
    if (*moved) {
        hccl_wait_tell(x->lane);
    }
    return ended;
}

void hccl_turn_enqueue(hccl_exec_t *x)
{
    x->queue = NULL;
    if (NULL == x->lane || x->persistent) {
        return;
    }
    hccl_queue_t *q = queue_of(x);
    x->queue = q;
    if (NULL == q->head) {
        q->head = x;
    } else {
        q->tail->next = x;
    }
    q->tail = x;
}

/* The head has ended: its successor may start. Not by the lane: it may have been found
 * unavailable meanwhile. */
void hccl_turn_dequeue(hccl_exec_t *x)
{
    if (NULL != x->queue) {
        x->queue->head = x->next;
    }
}
