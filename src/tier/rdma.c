/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See rdma.h.
 */
#include "tier/rdma.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tier/heap.h"
#include "tier/pml.h"
#include "tier/region.h"
#include "tier/verbs.h"

bool hccl_rdma_active;

static struct {
    hccl_verbs_t *v; /* NULL: not started */
    hccl_rdma_link_t *links;
    int n;
    int tag;
    hccl_rdma_ports_t ports;
    bool watches;       /* memory that goes is told */
    bool left;          /* MPI_COMM_WORLD has gone */
    _Atomic bool mixed; /* some message did not go by RDMA */
    bool refused;       /* my cells cannot be registered, and somebody was told */
    size_t offered;     /* bytes of them that are */
    opal_mutex_t lock;  /* of links that get a peer, and of the cells */
} rdma = {.lock = OPAL_MUTEX_STATIC_INIT};

/* An exchange: what a peer is told, and what it tells. */
typedef struct exchange {
    ompi_request_t *send; /* NULL: done */
    ompi_request_t *recv;
    int error;
} exchange_t;

/* ---- agreeing on a connection ----------------------------------------------------------------- */

static int begin_exchange(hccl_verbs_peer_t *peer, const hccl_verbs_info_t *mine,
                          hccl_verbs_info_t *theirs)
{
    exchange_t *e = *hccl_verbs_peer_slot(peer);
    int rank = hccl_verbs_peer_number(peer);
    if (NULL == e) {
        e = calloc(1, sizeof(*e));
        *hccl_verbs_peer_slot(peer) = e;
    }
    if (NULL == e || rdma.left) {
        return HCCL_ERR_SYS;
    }
    e->error = OMPI_SUCCESS;
    int rc = hccl_pml_receive(MPI_COMM_WORLD, rank, rdma.tag, theirs, sizeof(*theirs), &e->recv);
    if (OMPI_SUCCESS == rc) {
        rc = hccl_pml_send(MPI_COMM_WORLD, rank, rdma.tag, mine, sizeof(*mine), &e->send);
    }
    return OMPI_SUCCESS == rc ? HCCL_OK : HCCL_ERR_SYS;
}

/* Whether one of both messages has ended. */
static bool has_ended(ompi_request_t **request, int *error)
{
    int code;
    if (NULL != *request) {
        if (!hccl_pml_test(request, &code)) {
            return false;
        }
        *error = OMPI_SUCCESS == *error ? code : *error;
        *request = NULL;
    }
    return true;
}

static bool exchange_has_ended(hccl_verbs_peer_t *peer, int *code)
{
    exchange_t *e = *hccl_verbs_peer_slot(peer);
    bool sent = has_ended(&e->send, &e->error);
    if (!has_ended(&e->recv, &e->error) || !sent) {
        return false;
    }
    *code = OMPI_SUCCESS == e->error ? HCCL_OK : HCCL_ERR_SYS;
    return true;
}

static bool has_called(hccl_verbs_peer_t *peer)
{
    int matched = 0;
    ompi_status_public_t status;
    return !rdma.left
           && OMPI_SUCCESS
                  == MCA_PML_CALL(iprobe(hccl_verbs_peer_number(peer), rdma.tag, MPI_COMM_WORLD,
                                         &matched, &status))
           && 0 != matched;
}

static int hand_over(hccl_verbs_message_t *m)
{
    const hccl_verbs_key_t *key = &m->key;
    ompi_request_t *request = NULL;
    int rc = m->sends
                 ? hccl_pml_send(key->object, key->rank, key->tag, m->data, m->bytes, &request)
                 : hccl_pml_receive(key->object, key->rank, key->tag, m->data, m->bytes, &request);
    m->handed = request;
    atomic_store_explicit(&rdma.mixed, true, memory_order_relaxed);
    return OMPI_SUCCESS == rc ? HCCL_OK : HCCL_ERR_SYS;
}

static const hccl_verbs_carrier_t carrier = {begin_exchange, exchange_has_ended, has_called,
                                             hand_over};

/* ---- life ------------------------------------------------------------------------------------- */

static int progress(void)
{
    return hccl_verbs_progress(rdma.v);
}

/* Comes from inside munmap and the like. */
static void memory_goes(void *address, size_t bytes, void *data, bool from_allocator)
{
    (void) data;
    (void) from_allocator;
    hccl_verbs_forget(rdma.v, address, bytes);
}

/* Comes from the heap of MPI_Alloc_mem. */
static void heap_goes(void *address, size_t bytes)
{
    hccl_verbs_forget(rdma.v, address, bytes);
}

int hccl_rdma_start(hccl_verbs_t *v, hccl_rdma_link_t *links, int n, int tag,
                    hccl_rdma_ports_t ports)
{
    rdma.v = v;
    rdma.links = links;
    rdma.n = n;
    rdma.tag = tag;
    rdma.ports = ports;
    rdma.left = false;
    rdma.mixed = false;
    rdma.refused = false;
    rdma.offered = 0;
    hccl_verbs_set_carrier(v, &carrier);
    rdma.watches = hccl_compat_watch_memory(memory_goes);
    hccl_verbs_keep(v, rdma.watches);
    int rc = opal_progress_register(progress);
    if (OPAL_SUCCESS != rc) {
        if (rdma.watches) {
            hccl_compat_unwatch_memory(memory_goes);
        }
        rdma.v = NULL;
        return rc;
    }
    hccl_heap_watch(heap_goes);
    hccl_rdma_active = true;
    return OMPI_SUCCESS;
}

/* Takes back what no peer will answer. */
static void cancel(ompi_request_t **request)
{
    if (NULL != *request) {
        (void) ompi_request_cancel(*request);
        (void) ompi_request_free(request);
    }
}

void hccl_rdma_leave(void)
{
    rdma.left = true;
    if (NULL != rdma.v) {
        /* All have said that they are done; what fails from now on is of no use to anybody. */
        (void) opal_progress_unregister(progress);
    }
    for (int i = 0; NULL != rdma.v && i < rdma.n; i++) {
        hccl_verbs_peer_t *peer = rdma.links[i].peer;
        exchange_t *e = NULL == peer ? NULL : *hccl_verbs_peer_slot(peer);
        if (NULL != e) {
            cancel(&e->recv);
            cancel(&e->send);
        }
    }
}

static void tell_counters(void)
{
    hccl_verbs_counters_t c;
    hccl_verbs_count(rdma.v, &c);
    hccl_log_info("rdma: messages %llu, payload %llu bytes, work requests %llu (%llu inline), "
                  "doorbells %llu, completions %llu, early %llu (%llu copied), registrations %llu "
                  "(%llu found again), connections %llu, again %llu, moved %llu, straight %llu in, "
                  "%llu out, out of rings %llu, read there %llu",
                  (unsigned long long) c.messages, (unsigned long long) c.bytes,
                  (unsigned long long) c.requests, (unsigned long long) c.inlined,
                  (unsigned long long) c.doorbells, (unsigned long long) c.completions,
                  (unsigned long long) c.unexpected, (unsigned long long) c.copied,
                  (unsigned long long) c.registrations, (unsigned long long) c.found,
                  (unsigned long long) c.connections, (unsigned long long) c.reconnections,
                  (unsigned long long) c.moves, (unsigned long long) c.straight,
                  (unsigned long long) c.from_there, (unsigned long long) c.taken,
                  (unsigned long long) c.lent);
}

void hccl_rdma_stop(void)
{
    if (NULL == rdma.v) {
        return;
    }
    hccl_rdma_active = false;
    if (!rdma.left) {
        (void) opal_progress_unregister(progress);
    }
    hccl_heap_watch(NULL);
    if (rdma.watches) {
        hccl_compat_unwatch_memory(memory_goes);
    }
    tell_counters();
    for (int i = 0; i < rdma.n; i++) {
        if (NULL != rdma.links[i].peer) {
            free(*hccl_verbs_peer_slot(rdma.links[i].peer));
        }
    }
    hccl_verbs_close(rdma.v);
    free(rdma.links);
    rdma.v = NULL;
    rdma.links = NULL;
}

/* ---- messages --------------------------------------------------------------------------------- */

/* The process with this rank, if it is reached by RDMA. */
static hccl_rdma_link_t *link_of(ompi_communicator_t *comm, int rank, uint32_t *vpid)
{
    const opal_process_name_t *name = &ompi_comm_peer_lookup(comm, rank)->super.proc_name;
    *vpid = name->vpid;
    if (name->jobid != OMPI_PROC_MY_NAME->jobid || name->vpid >= (uint32_t) rdma.n
        || !rdma.links[name->vpid].used) {
        return NULL;
    }
    return &rdma.links[name->vpid];
}

static hccl_verbs_peer_t *peer_of(hccl_rdma_link_t *link, uint32_t vpid)
{
    hccl_verbs_peer_t *peer = __atomic_load_n(&link->peer, __ATOMIC_ACQUIRE);
    if (NULL == peer) {
        opal_mutex_lock(&rdma.lock);
        peer = link->peer;
        if (NULL == peer) {
            hccl_verbs_card_t cards[HCCL_VERBS_MAX_PORTS];
            int first;
            int n = rdma.ports((int) vpid, cards, &first);
            peer = hccl_verbs_peer_new(rdma.v, (int) vpid, cards, n, first);
            __atomic_store_n(&link->peer, peer, __ATOMIC_RELEASE);
        }
        opal_mutex_unlock(&rdma.lock);
    }
    return peer;
}

/* Completions are not all that messages wait for. */
static void other_way(void)
{
    if (!atomic_load_explicit(&rdma.mixed, memory_order_relaxed)) {
        atomic_store_explicit(&rdma.mixed, true, memory_order_relaxed);
    }
}

bool hccl_rdma_arm(bool *others)
{
    bool busy = false;
    bool armed = hccl_rdma_active && hccl_verbs_arm(rdma.v, &busy);
    *others = busy || atomic_load_explicit(&rdma.mixed, memory_order_relaxed);
    return armed;
}

void hccl_rdma_sleep(uint64_t ns)
{
    hccl_verbs_sleep(rdma.v, ns);
}

int hccl_rdma_message(ompi_communicator_t *comm, int rank, int tag, hccl_rdma_kind_t kind,
                      void *data, size_t bytes, hccl_verbs_message_t **message)
{
    uint32_t vpid;
    *message = NULL;
    hccl_rdma_link_t *link = link_of(comm, rank, &vpid);
    if (NULL == link) {
        other_way();
        return OMPI_SUCCESS;
    }
    hccl_verbs_peer_t *peer = peer_of(link, vpid);
    if (NULL == peer) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    hccl_verbs_key_t key = {
        .comm = (uint32_t) hccl_compat_comm_number(comm), .tag = tag, .object = comm, .rank = rank};
    int rc = HCCL_RDMA_SEND == kind      ? hccl_verbs_send(peer, &key, data, bytes, message)
             : HCCL_RDMA_RECEIVE == kind ? hccl_verbs_receive(peer, &key, data, bytes, message)
                                         : hccl_verbs_borrow(peer, &key, data, bytes, message);
    if (HCCL_ERR_NOTSUP == rc) {
        other_way();
    }
    return HCCL_OK == rc || HCCL_ERR_NOTSUP == rc ? OMPI_SUCCESS
           : HCCL_ERR_NOMEM == rc                 ? OMPI_ERR_OUT_OF_RESOURCE
                                                  : OMPI_ERR_UNREACH;
}

/* Whether these bytes of my cells are registered, as far as that can be had. What has been handed out so far
 * is registered at once: few registrations, and no page that nobody uses. */
static bool is_offered(const char *data, size_t bytes)
{
    size_t used;
    const char *cells = hccl_region_cells(&used);
    size_t end = (size_t) (data - cells) + bytes;
    if (NULL == cells || data < cells || end > used) {
        return false;
    }
    opal_mutex_lock(&rdma.lock);
    if (end > rdma.offered && !rdma.refused) {
        rdma.refused = !hccl_verbs_offer(rdma.v, cells + rdma.offered, used - rdma.offered);
        if (rdma.refused) {
            hccl_log_warn(
                "%zu bytes of shared memory cannot be registered for RDMA (the limit of locked "
                "memory, "
                "ulimit -l, should be unlimited): what other nodes send is copied into it instead",
                used - rdma.offered);
        } else {
            rdma.offered = used;
        }
    }
    bool offered = end <= rdma.offered;
    opal_mutex_unlock(&rdma.lock);
    return offered;
}

bool hccl_rdma_lands(ompi_communicator_t *comm, int rank, const void *data, size_t bytes)
{
    uint32_t vpid;
    hccl_rdma_link_t *link = link_of(comm, rank, &vpid);
    hccl_verbs_peer_t *peer = NULL == link ? NULL : peer_of(link, vpid);
    return NULL != peer && hccl_verbs_writes_in_place(peer, bytes) && is_offered(data, bytes);
}

void hccl_rdma_cancel(hccl_verbs_message_t *m)
{
    if (HCCL_VERBS_HANDED == hccl_verbs_look(m)) {
        hccl_pml_cancel(m->handed);
    } else {
        hccl_verbs_cancel(m);
    }
}

const char *hccl_rdma_pin(hccl_verbs_message_t *m)
{
    return hccl_verbs_pin(m);
}

void hccl_rdma_unpin(hccl_verbs_message_t *m, int copies)
{
    hccl_verbs_unpin(m, copies);
}

void hccl_rdma_return(hccl_verbs_message_t *m, int copies)
{
    hccl_verbs_return(m, copies);
}

bool hccl_rdma_test(hccl_verbs_message_t **message, int *error)
{
    hccl_verbs_message_t *m = *message;
    ompi_request_t *request;
    switch (hccl_verbs_look(m)) {
    case HCCL_VERBS_UNDER_WAY:
        return false;
    case HCCL_VERBS_HANDED:
        request = m->handed;
        if (!hccl_pml_test(&request, error)) {
            return false;
        }
        break;
    case HCCL_VERBS_ENDED:
        *error = HCCL_OK == m->error          ? OMPI_SUCCESS
                 : HCCL_ERR_ARG == m->error   ? MPI_ERR_TRUNCATE
                 : HCCL_ERR_NOMEM == m->error ? OMPI_ERR_OUT_OF_RESOURCE
                                              : OMPI_ERR_UNREACH;
        if (m->borrows && HCCL_OK == m->error) {
            return true;
        }
        break;
    }
    hccl_verbs_message_free(m);
    *message = NULL;
    return true;
}
