/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See drive.h. Operations that are not blocking, and blocking ones that have to wait for their turn
 * on a lane, are on one list that the progress function walks. The list is guarded by a recursive
 * mutex: the network layer may call progress from inside a send, which may start operations of its
 * own; such inner calls only add to the list.
 */
#include "exec/drive.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "exec/open.h"

static struct {
    bool ready;
    pthread_mutex_t lock;
    int depth;           /* nesting of the thread that holds the lock */
    hccl_exec_t *active; /* linked by next_active, oldest first */
    hccl_exec_t **last;  /* where the next one is linked */
    opal_free_list_t requests;
} drive;

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* ---- one operation ---------------------------------------------------------------------------- */

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
static int assign_tag(hccl_exec_t *x)
{
    const hccl_coll_info_t *info = &hccl_coll_info[x->call.coll];
    if (x->call.coll >= HCCL_COLL_NEIGHBOR_ALLGATHER) {
        x->tag = tag_of_kind(TAGS_NEIGHBOR, x->persistent ? ++x->hc->next_neighbor : 0);
    } else if (x->hc->remote_size > 0 && info->rooted) {
        return next_rooted_tag(x, &x->tag);
    } else if (x->persistent) {
        x->instance = ++x->hc->next_persistent;
        x->tag = tag_of_kind(TAGS_PERSISTENT, x->instance);
    } else {
        x->tag = tag_of_kind((int) order_of(x), x->hc->next_op[order_of(x)]++);
    }
    return OMPI_SUCCESS;
}

/* Binds, and gives the operation its tag. */
static int make_ready(hccl_exec_t *x, bool *nothing)
{
    int rc = hccl_exec_bind(x, nothing);
    if (OMPI_SUCCESS != rc || *nothing) {
        return rc;
    }
    if (!x->persistent) {
        rc = assign_tag(x);
        if (OMPI_SUCCESS != rc) {
            hccl_exec_fail(x, rc);
            return hccl_exec_unbind(x);
        }
    }
    x->next = NULL;
    assign_lane(x);
    if (NULL != x->lane && HCCL_LANE_UNAVAILABLE == x->lane->state) {
        x->lane = NULL;
        return hccl_exec_plan(x, true);
    }
    if (x->persistent && NULL != x->lane && HCCL_LANE_NEW == x->lane->state) {
        hccl_lane_init(x->lane, hccl_engine.slots, hccl_engine.slot_bytes[x->lane_kind]);
    }
    return OMPI_SUCCESS;
}

/* Whether the lane can be used right now, without queue and opening. */
static bool lane_is_free(const hccl_exec_t *x)
{
    if (NULL == x->lane) {
        return true;
    }
    return HCCL_LANE_OPEN == x->lane->state && (x->persistent || NULL == queue_of(x)->head);
}

/* Begins the run on an open lane, or the flat plan when the lane cannot be had. */
static int begin(hccl_exec_t *x)
{
    if (NULL != x->lane && HCCL_LANE_UNAVAILABLE == x->lane->state) {
        int rc = hccl_exec_plan(x, true);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
        x->lane = NULL;
    }
    return hccl_run_begin(x);
}

/* Goes as far as possible; true when the operation has ended. */
static bool pump(hccl_exec_t *x, bool *moved)
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
    return hccl_run_advance(x, moved);
}

static void enqueue(hccl_exec_t *x)
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
static void dequeue(hccl_exec_t *x)
{
    if (NULL != x->queue) {
        x->queue->head = x->next;
    }
}

/* ---- the list --------------------------------------------------------------------------------- */

static void lock_drive(void)
{
    pthread_mutex_lock(&drive.lock);
    drive.depth++;
}

static void unlock_drive(void)
{
    drive.depth--;
    pthread_mutex_unlock(&drive.lock);
}

static void activate(hccl_exec_t *x)
{
    x->next_active = NULL;
    *drive.last = x;
    drive.last = &x->next_active;
}

static void end_request(hccl_request_t *request);

/* Walks the list once. Ended operations are taken off and, after the lock is gone, reported:
 * completing a request may run code of others. */
static int progress(void)
{
    hccl_exec_t *ended = NULL;
    hccl_exec_t **ended_last = &ended;
    int count = 0;
    if (NULL == drive.active || 0 != pthread_mutex_trylock(&drive.lock)) {
        return 0;
    }
    if (0 != drive.depth) {
        pthread_mutex_unlock(&drive.lock);
        return 0;
    }
    drive.depth++;
    hccl_exec_t **at = &drive.active;
    while (NULL != *at) {
        hccl_exec_t *x = *at;
        bool moved = false;
        if (!pump(x, &moved)) {
            at = &x->next_active;
            continue;
        }
        *at = x->next_active;
        if (drive.last == &x->next_active) {
            drive.last = at;
        }
        dequeue(x);
        x->next_active = NULL;
        *ended_last = x;
        ended_last = &x->next_active;
        count++;
    }
    unlock_drive();
    while (NULL != ended) {
        hccl_exec_t *x = ended;
        ended = x->next_active;
        if (NULL == x->request) {
            /* The caller's stack frame goes when it sees this: last access. */
            __atomic_store_n(&x->finished, true, __ATOMIC_RELEASE);
        } else {
            end_request(x->request);
        }
    }
    return count;
}

/* ---- blocking --------------------------------------------------------------------------------- */

static void pause_waiting(const hccl_exec_t *x, int *polls)
{
    if (++*polls
        < (x->plan->max_requests > 0 || hccl_engine.oversubscribed ? 1 : hccl_engine.spin)) {
        relax();
        return;
    }
    /* Whatever the peers wait for, this process's point-to-point traffic must go on. */
    *polls = 0;
    opal_progress();
    if (hccl_engine.oversubscribed) {
        sched_yield();
    }
}

static void wait_on_list(hccl_exec_t *x)
{
    lock_drive();
    x->finished = false;
    enqueue(x);
    activate(x);
    unlock_drive();
    while (!__atomic_load_n(&x->finished, __ATOMIC_ACQUIRE)) {
        opal_progress();
        if (hccl_engine.oversubscribed) {
            sched_yield();
        }
    }
}

int hccl_drive_blocking(hccl_exec_t *x)
{
    bool nothing;
    x->persistent = false;
    x->instance = HCCL_INSTANCE_BLOCKING;
    x->request = NULL;
    int rc = make_ready(x, &nothing);
    if (OMPI_SUCCESS != rc || nothing) {
        return rc;
    }
    if (!lane_is_free(x)) {
        wait_on_list(x);
        return hccl_exec_unbind(x);
    }
    rc = hccl_run_begin(x);
    if (OMPI_SUCCESS != rc) {
        hccl_run_give_up(x);
    }
    int polls = 0;
    bool moved = false;
    while (!hccl_run_advance(x, &moved)) {
        if (moved) {
            moved = false;
            polls = 0;
        } else {
            pause_waiting(x, &polls);
        }
    }
    return hccl_exec_unbind(x);
}

/* ---- requests --------------------------------------------------------------------------------- */

static int free_request(ompi_request_t **req);
static int start_requests(size_t count, ompi_request_t **requests);

/* Open MPI's bindings keep the user's op and datatypes alive while a request derived from
 * ompi_coll_base_nbc_request_t is pending (HAZARDS P57), but not those of persistent requests, which
 * they find complete; these, and the communicator, are kept here. */
OBJ_CLASS_INSTANCE(hccl_request_t, ompi_coll_base_nbc_request_t, NULL, NULL);

hccl_request_t *hccl_drive_request(hccl_comm_t *hc)
{
    opal_free_list_item_t *item = opal_free_list_get(&drive.requests);
    hccl_request_t *request = (hccl_request_t *) item;
    if (NULL != request) {
        ompi_request_t *req = &request->super.super;
        req->req_type = OMPI_REQUEST_COLL;
        req->req_free = free_request;
        req->req_cancel = NULL;
        req->req_start = start_requests;
        req->req_mpi_object.comm = hc->comm;
        OBJ_RETAIN(hc->comm);
        if (hc->local_comm != hc->comm) {
            OBJ_RETAIN(hc->local_comm); /* MPI_Comm_free lets go of it at once */
        }
        request->x.hc = hc;
        request->x.request = request;
        request->x.persistent = false;
        request->x.instance = HCCL_INSTANCE_NONBLOCKING;
        /* Left over when the operation ended before Open MPI asked to hear of its end. */
        request->super.data.objs.objs[0] = NULL;
        request->super.data.objs.objs[1] = NULL;
    }
    return request;
}

/* The request's memory is free again; the communicator may go with this reference. */
static void recycle(hccl_request_t *request)
{
    ompi_communicator_t *comm = request->x.hc->comm;
    ompi_communicator_t *local_comm = request->x.hc->local_comm;
    OMPI_REQUEST_FINI(&request->super.super);
    opal_free_list_return(&drive.requests, (opal_free_list_item_t *) request);
    if (local_comm != comm) {
        OBJ_RELEASE(local_comm);
    }
    OBJ_RELEASE(comm);
}

static void set_status(ompi_request_t *req, int error)
{
    req->req_status.MPI_SOURCE = MPI_ANY_SOURCE;
    req->req_status.MPI_TAG = MPI_ANY_TAG;
    req->req_status.MPI_ERROR = ompi_errcode_get_mpi_code(error);
    req->req_status._cancelled = 0;
    req->req_status._ucount = 0;
}

/* The operation has ended: results to the user, then the request. */
static void end_request(hccl_request_t *request)
{
    ompi_request_t *req = &request->super.super;
    set_status(req, hccl_exec_unbind(&request->x));
    hccl_fate_t fate = __atomic_exchange_n(&request->fate, HCCL_FATE_ENDING, __ATOMIC_ACQ_REL);
    ompi_request_complete(req, true);
    if (HCCL_FATE_ABANDONED == fate) {
        (void) free_request(&req);
    }
}

/* Binds and starts what can start. *ended: it is over already. */
static int launch(hccl_request_t *request, bool *ended)
{
    hccl_exec_t *x = &request->x;
    bool nothing;
    bool moved = false;
    *ended = false;
    request->fate = HCCL_FATE_OPEN;
    lock_drive();
    int rc = make_ready(x, &nothing);
    if (OMPI_SUCCESS == rc && nothing) {
        *ended = true;
    } else if (OMPI_SUCCESS == rc) {
        bool inner = drive.depth > 1;
        bool first = lane_is_free(x);
        if (!inner && first && pump(x, &moved)) {
            *ended = true;
        } else {
            enqueue(x);
            activate(x);
        }
    }
    unlock_drive();
    return rc;
}

int hccl_drive_nonblocking(hccl_request_t *request, ompi_request_t **out)
{
    ompi_request_t *req = &request->super.super;
    bool ended;
    OMPI_REQUEST_INIT(req, false);
    req->req_state = OMPI_REQUEST_ACTIVE;
    set_status(req, OMPI_SUCCESS);
    int rc = launch(request, &ended);
    if (OMPI_SUCCESS != rc) {
        recycle(request);
        return rc;
    }
    *out = req;
    if (ended) {
        end_request(request);
    }
    return OMPI_SUCCESS;
}

int hccl_drive_persistent(hccl_request_t *request, ompi_request_t **out)
{
    ompi_request_t *req = &request->super.super;
    OMPI_REQUEST_INIT(req, true);
    set_status(req, OMPI_SUCCESS);
    request->x.persistent = true;
    hccl_lane_init(&request->lane, hccl_engine.slots, hccl_engine.slot_bytes[HCCL_LANE_SMALL]);
    int rc = hccl_exec_is_nothing(&request->x) ? OMPI_SUCCESS : assign_tag(&request->x);
    if (OMPI_SUCCESS != rc) {
        recycle(request);
        return rc;
    }
    hccl_exec_hold(&request->x, true);
    *out = req;
    return OMPI_SUCCESS;
}

/* MPI_Start hands our code to the user as it is, and MPI_Startall drops it (HAZARDS P84): so an
 * operation that cannot start ends with its error, and waiting for it tells. */
static int start_requests(size_t count, ompi_request_t **requests)
{
    for (size_t i = 0; i < count; i++) {
        hccl_request_t *request = (hccl_request_t *) requests[i];
        bool ended;
        requests[i]->req_complete = REQUEST_PENDING;
        requests[i]->req_state = OMPI_REQUEST_ACTIVE;
        if (OMPI_SUCCESS != launch(request, &ended) || ended) {
            end_request(request);
        }
    }
    return OMPI_SUCCESS;
}

static int free_request(ompi_request_t **req)
{
    hccl_request_t *request = (hccl_request_t *) *req;
    ompi_request_t *freed = *req;
    *req = MPI_REQUEST_NULL;
    if (!REQUEST_COMPLETE(freed)) {
        hccl_fate_t fate =
            __atomic_exchange_n(&request->fate, HCCL_FATE_ABANDONED, __ATOMIC_ACQ_REL);
        if (HCCL_FATE_OPEN == fate) {
            return OMPI_SUCCESS; /* it ends by itself, and end_request comes here again */
        }
        while (!REQUEST_COMPLETE(freed)) {
            sched_yield(); /* another thread is in end_request */
        }
    }
    if (freed->req_persistent) {
        hccl_lane_close(&request->lane);
        hccl_exec_hold(&request->x, false);
    }
    recycle(request);
    return OMPI_SUCCESS;
}

/* ---- life ------------------------------------------------------------------------------------- */

int hccl_drive_init(void)
{
    pthread_mutexattr_t attributes;
    drive.depth = 0;
    drive.active = NULL;
    drive.last = &drive.active;
    if (0 != pthread_mutexattr_init(&attributes)
        || 0 != pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE)
        || 0 != pthread_mutex_init(&drive.lock, &attributes)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    pthread_mutexattr_destroy(&attributes);
    OBJ_CONSTRUCT(&drive.requests, opal_free_list_t);
    int rc =
        opal_free_list_init(&drive.requests, sizeof(hccl_request_t), 64, OBJ_CLASS(hccl_request_t),
                            0, 0, 0, -1, 8, NULL, 0, NULL, NULL, NULL);
    if (OMPI_SUCCESS == rc) {
        rc = opal_progress_register(progress);
    }
    drive.ready = true;
    return rc;
}

void hccl_drive_fini(void)
{
    if (!drive.ready) {
        return;
    }
    drive.ready = false;
    (void) opal_progress_unregister(progress);
    OBJ_DESTRUCT(&drive.requests);
    pthread_mutex_destroy(&drive.lock);
}
