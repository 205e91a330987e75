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

#include "exec/repeat.h"
#include "exec/turn.h"
#include "exec/wait.h"

static struct {
    bool ready;
    pthread_mutex_t lock;
    unsigned moves;      /* counts what the progress function has moved on; changed by its thread */
    int depth;           /* nesting of the thread that holds the lock */
    hccl_exec_t *active; /* linked by next_active, oldest first */
    hccl_exec_t **last;  /* where the next one is linked */
    opal_free_list_t requests;
} drive;

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
        bool over = hccl_turn_pump(x, &moved);
        if (moved) {
            __atomic_store_n(&drive.moves, drive.moves + 1, __ATOMIC_RELAXED);
        }
        if (!over) {
            at = &x->next_active;
            continue;
        }
        *at = x->next_active;
        if (drive.last == &x->next_active) {
            drive.last = at;
        }
        hccl_turn_dequeue(x);
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

bool hccl_drive_is_busy(void)
{
    return NULL != __atomic_load_n(&drive.active, __ATOMIC_RELAXED);
}

/* ---- blocking --------------------------------------------------------------------------------- */

static void wait_on_list(hccl_exec_t *x)
{
    lock_drive();
    x->finished = false;
    hccl_turn_enqueue(x);
    activate(x);
    unlock_drive();
    hccl_wait_t wait = {0};
    unsigned moves = 0;
    while (!__atomic_load_n(&x->finished, __ATOMIC_ACQUIRE)) {
        unsigned now = __atomic_load_n(&drive.moves, __ATOMIC_RELAXED);
        if (moves != now) {
            moves = now;
            hccl_wait_moved(&wait);
        }
        hccl_wait_pause(&wait, NULL, true);
    }
}

int hccl_drive_blocking(hccl_comm_t *hc, hccl_call_t call)
{
    hccl_exec_t exec;
    hccl_exec_t *x = &exec;
    bool nothing;
    x->call = call;
    x->hc = hc;
    x->persistent = false;
    x->instance = HCCL_INSTANCE_BLOCKING;
    x->request = NULL;
    int rc = hccl_turn_prepare(x, &nothing);
    if (OMPI_SUCCESS != rc || nothing) {
        return rc;
    }
    if (!hccl_turn_is_now(x)) {
        wait_on_list(x);
        return hccl_exec_unbind(x);
    }
    rc = hccl_run_begin(x);
    if (OMPI_SUCCESS != rc) {
        hccl_run_give_up(x);
    }
    hccl_wait_t wait = {0};
    bool moved = false;
    while (!hccl_run_advance(x, &moved)) {
        if (moved) {
            moved = false;
            hccl_wait_moved(&wait);
        } else {
            hccl_wait_pause(&wait, x->lane, x->plan->max_requests > 0);
        }
    }
    hccl_wait_moved(&wait);
    hccl_wait_tell(x->lane);
    if (OMPI_SUCCESS == x->error) {
        hccl_repeat_learn(x);
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
        hccl_compat_keep_comm(hc->comm);
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
    int rc = hccl_turn_prepare(x, &nothing);
    if (OMPI_SUCCESS == rc && nothing) {
        *ended = true;
    } else if (OMPI_SUCCESS == rc) {
        bool inner = drive.depth > 1;
        bool first = hccl_turn_is_now(x);
        if (!inner && first && hccl_turn_pump(x, &moved)) {
            *ended = true;
        } else {
            hccl_turn_enqueue(x);
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

/* Puts a persistent operation on the list of its communicator. */
static void list_persistent(hccl_request_t *request)
{
    hccl_comm_t *hc = request->x.hc;
    OPAL_THREAD_LOCK(&hc->plan_lock);
    request->next = hc->persistent;
    request->at = &hc->persistent;
    if (NULL != request->next) {
        request->next->at = &request->next;
    }
    hc->persistent = request;
    OPAL_THREAD_UNLOCK(&hc->plan_lock);
}

static void unlist_persistent(hccl_request_t *request)
{
    OPAL_THREAD_LOCK(&request->x.hc->plan_lock);
    *request->at = request->next;
    if (NULL != request->next) {
        request->next->at = request->at;
    }
    OPAL_THREAD_UNLOCK(&request->x.hc->plan_lock);
}

int hccl_drive_persistent(hccl_request_t *request, ompi_request_t **out)
{
    ompi_request_t *req = &request->super.super;
    OMPI_REQUEST_INIT(req, true);
    set_status(req, OMPI_SUCCESS);
    request->x.persistent = true;
    hccl_lane_init(&request->lane, hccl_engine.slots, hccl_engine.slot_bytes[HCCL_LANE_SMALL]);
    request->x.tag = 0; /* nobody's */
    int rc = hccl_exec_is_nothing(&request->x) ? OMPI_SUCCESS : hccl_turn_tag(&request->x);
    if (OMPI_SUCCESS != rc) {
        recycle(request);
        return rc;
    }
    list_persistent(request);
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
        unlist_persistent(request);
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
