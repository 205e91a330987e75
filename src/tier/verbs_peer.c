/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * When connections are made and what happens when they fail: see verbs_engine.h. How one goes:
 *
 *   IDLE -> WANTED        a message is there (on both sides, since a send has its receive)
 *   WANTED -> EXCHANGING  I have queue pairs, and have told the peer
 *   EXCHANGING -> CONNECTING -> CONNECTED
 *   CONNECTED -> BROKEN   a queue pair failed, or the peer begins anew: all are put in error, and what
 *                         had come before that is taken in; then WANTED again
 *   WANTED -> VOTING -> AGREED -> EXCHANGING   after that, where there are several routes: first both
 *                         say what they know of their ports, and so choose one
 *   EXCHANGING -> REFUSED one of both cannot connect: their messages take the other way
 *   ... -> LOST           one of both has given up: their messages fail
 *
 * In each generation of a connection either side sends once what it has, and receives once; and its
 * vote before that, if there is a choice.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tier/verbs_engine.h"

/* How often peers are asked whether they have begun anew, and how often and long a port that is not ready
 * is tried when both want to connect: not so long where there are other routes; ms. An attempt may take
 * seconds by itself, while the system asks the network for an address. */
#define LOOK_EVERY 50
#define TRY_EVERY 100
#define TRY_FOR 10000
#define TRY_ONE_OF_MANY_FOR 2500

/* A queue pair in error gives back what was posted in far less; ms. */
#define MOST_DRAIN 2000

/* ---- peers ------------------------------------------------------------------------------------ */

hccl_verbs_peer_t *hccl_verbs_peer_new(hccl_verbs_t *v, int number, const hccl_verbs_card_t *cards,
                                       int n, int first)
{
    hccl_verbs_peer_t *peer = calloc(1, sizeof(*peer));
    if (NULL == peer) {
        return NULL;
    }
    peer->v = v;
    peer->number = number;
    peer->ports.n = n;
    peer->ports.first = first;
    memcpy(peer->ports.card, cards, (size_t) n * sizeof(*cards));
    (void) hccl_verbs_route_ends(peer, 0, &peer->mine_at, &peer->theirs_at);
    peer->port = v->port[v->ports.first];
    pthread_mutex_lock(&v->lock);
    peer->next = v->peers;
    v->peers = peer;
    pthread_mutex_unlock(&v->lock);
    return peer;
}

int hccl_verbs_peer_number(const hccl_verbs_peer_t *peer)
{
    return peer->number;
}

void **hccl_verbs_peer_slot(hccl_verbs_peer_t *peer)
{
    return &peer->carrier_slot;
}

static void attend_to(hccl_verbs_peer_t *peer)
{
    if (!peer->attended) {
        peer->attended = true;
        peer->attention = peer->v->attention;
        peer->v->attention = peer;
    }
}

void hccl_verbs_want(hccl_verbs_peer_t *peer)
{
    if (HCCL_VERBS_IDLE == peer->state) {
        peer->state = HCCL_VERBS_WANTED;
        atomic_fetch_add(&peer->v->active, 1);
        attend_to(peer);
    }
}

/* ---- faults ----------------------------------------------------------------------------------- */

void hccl_verbs_fault(hccl_verbs_peer_t *peer, enum ibv_wc_status status)
{
    if (HCCL_VERBS_CONNECTED != peer->state && HCCL_VERBS_CONNECTING != peer->state) {
        return;
    }
    peer->state = HCCL_VERBS_BROKEN;
    peer->since = hccl_verbs_now();
    if (0 == peer->failures++) {
        peer->status = IBV_WC_SUCCESS;
    }
    peer->tried |= UINT64_C(1) << peer->route;
    if (IBV_WC_SUCCESS != status) {
        peer->status = status;
        hccl_log_info("the connection to rank %d over %s port %d failed: %s", peer->number,
                      peer->port->card.device, peer->port->card.port,
                      peer->v->table->status_text(status));
    }
    hccl_verbs_stop(peer);
    attend_to(peer);
}

static void end_all(hccl_verbs_message_t **list)
{
    while (NULL != *list) {
        hccl_verbs_message_t *m = *list;
        *list = m->next;
        hccl_verbs_end(m, HCCL_ERR_SYS);
    }
}

/* Drops what waits for slots. Long messages are in lists as well. */
static void drop_items(hccl_verbs_channel_t *ch)
{
    while (NULL != ch->waiting) {
        hccl_verbs_item_t *item = ch->waiting;
        ch->waiting = item->next;
        if (HCCL_VERBS_EAGER == item->kind) {
            hccl_verbs_end(item->message, HCCL_ERR_SYS);
        }
        hccl_verbs_item_free(ch->peer->v, item);
    }
    ch->last = &ch->waiting;
    for (int i = 0; i < ch->peer->v->set.slots; i++) {
        ch->sent[i].message = NULL;
    }
}

/* Nothing can be sent to this peer or come from it any more. */
static void lose(hccl_verbs_peer_t *peer, const char *why)
{
    char tried[400];
    hccl_verbs_t *v = peer->v;
    peer->tried |= UINT64_C(1) << peer->route;
    hccl_verbs_print_tried(peer, tried, sizeof(tried));
    hccl_log_error("the connection to rank %d (ports: %s) is lost: %s. Check these ports "
                   "(ibv_devinfo), their GIDs and MTU, and the switch between them (PFC, ECN); "
                   "coll_hccl_rdma_timeout, rdma_retry_cnt and retry_count say how long to try, "
                   "and with coll_hccl_rdma off nothing depends on it",
                   peer->number, tried, why);
    peer->state = HCCL_VERBS_LOST;
    hccl_verbs_drop_queue_pairs(peer);
    for (int i = 0; NULL != peer->channel && i < v->set.channels; i++) {
        drop_items(&peer->channel[i]);
    }
    end_all(&peer->starting);
    end_all(&peer->posted);
    end_all(&peer->sending);
    end_all(&peer->receiving);
}

/* ---- attention -------------------------------------------------------------------------------- */

/* Tells the peer what stands in `mine`, and waits for the same of it in a state. */
static void tell(hccl_verbs_peer_t *peer, hccl_verbs_peer_state_t state)
{
    hccl_verbs_t *v = peer->v;
    peer->state = state;
    memset(&peer->theirs, 0, sizeof(peer->theirs));
    pthread_mutex_unlock(&v->lock);
    int rc = v->carrier->begin(peer, &peer->mine, &peer->theirs);
    pthread_mutex_lock(&v->lock);
    if (HCCL_OK != rc) {
        lose(peer, "Open MPI cannot reach it either");
    }
}

static void begin_telling(hccl_verbs_peer_t *peer)
{
    memset(&peer->mine, 0, sizeof(peer->mine));
    peer->mine.generation = peer->generation;
    peer->mine.status = peer->failures > 0 ? peer->status : IBV_WC_SUCCESS;
    peer->mine.failures = (uint32_t) peer->failures;
    peer->mine.refused = peer->failures > peer->v->set.reconnects ? 2 : 0;
}

static void vote(hccl_verbs_peer_t *peer)
{
    begin_telling(peer);
    peer->mine.votes = 1;
    peer->mine.working = hccl_verbs_working(peer->v);
    tell(peer, HCCL_VERBS_VOTING);
}

/* Tells the peer what I have. */
static void begin_exchange(hccl_verbs_peer_t *peer)
{
    begin_telling(peer);
    peer->connected = 0;
    if (0 == peer->mine.refused && !hccl_verbs_prepare(peer)) {
        peer->mine.refused = 1;
        hccl_verbs_drop_queue_pairs(peer);
    }
    tell(peer, HCCL_VERBS_EXCHANGING);
}

/* A connection is wanted, for the first time or again. */
static void begin(hccl_verbs_peer_t *peer)
{
    if (++peer->generation > 1 && hccl_verbs_routes(peer) > 1) {
        vote(peer);
    } else {
        begin_exchange(peer);
    }
}

static void refuse(hccl_verbs_peer_t *peer)
{
    hccl_log_info("messages to rank %d do not go over %s port %d: %s", peer->number,
                  peer->port->card.device, peer->port->card.port,
                  0 != peer->mine.refused
                      ? "there is no memory to register, or no queue pair"
                      : "that rank has no memory to register, or no queue pair");
    peer->state = HCCL_VERBS_REFUSING;
    hccl_verbs_drop_queue_pairs(peer);
    hccl_verbs_free_arena(peer);
}

/* The votes are there. */
static void read_votes(hccl_verbs_peer_t *peer)
{
    int route = hccl_verbs_next_route(peer);
    if (route != peer->route) {
        hccl_verbs_move(peer, route);
    }
    peer->state = HCCL_VERBS_AGREED;
}

/* One of both cannot connect. */
static void read_refusal(hccl_verbs_peer_t *peer)
{
    if (1 == peer->generation) {
        refuse(peer);
    } else if (1 == hccl_verbs_routes(peer)) {
        lose(peer, "after a fault there is no memory to register, or no queue pair");
    } else {
        hccl_verbs_drop_queue_pairs(peer);
        peer->failures++;
        peer->state = HCCL_VERBS_WANTED;
    }
}

/* The exchange has ended. */
static void read_answer(hccl_verbs_peer_t *peer, int code)
{
    const hccl_verbs_info_t *mine = &peer->mine, *theirs = &peer->theirs;
    uint32_t status = IBV_WC_SUCCESS != mine->status ? mine->status : theirs->status;
    if (HCCL_OK != code) {
        lose(peer, "Open MPI cannot reach it either");
    } else if (mine->generation != theirs->generation || mine->votes != theirs->votes) {
        lose(peer, "both sides do not agree on what has happened");
    } else if (2 == mine->refused || 2 == theirs->refused) {
        lose(peer, peer->v->table->status_text((enum ibv_wc_status) status));
    } else if (1 == mine->votes) {
        read_votes(peer);
    } else if (0 != mine->refused || 0 != theirs->refused) {
        read_refusal(peer);
    } else {
        peer->state = HCCL_VERBS_CONNECTING;
        peer->since = hccl_verbs_now();
        peer->next_try = 0;
        if (peer->moved) {
            hccl_verbs_place_anew(peer);
        }
    }
}

static void try_connecting(hccl_verbs_peer_t *peer)
{
    if (hccl_verbs_now() < peer->next_try || hccl_verbs_connect(peer)) {
        return;
    }
    bool single = 1 == hccl_verbs_routes(peer);
    uint64_t now = hccl_verbs_now();
    peer->next_try = now + TRY_EVERY;
    if (now > peer->since + (single ? TRY_FOR : TRY_ONE_OF_MANY_FOR)) {
        hccl_verbs_fault(peer, IBV_WC_RESP_TIMEOUT_ERR);
        if (single) {
            peer->failures = peer->v->set.reconnects + 1;
        }
    }
}

/* Whether all that was posted for receiving has come back: then nothing more can come. */
static bool is_drained(const hccl_verbs_peer_t *peer)
{
    for (int i = 0; i < peer->v->set.channels; i++) {
        if (peer->channel[i].receives > 0) {
            return false;
        }
    }
    return true;
}

static void clear_away(hccl_verbs_peer_t *peer)
{
    if (is_drained(peer)) {
        hccl_verbs_drop_queue_pairs(peer);
        peer->state = HCCL_VERBS_WANTED;
    } else if (hccl_verbs_now() > peer->since + MOST_DRAIN) {
        if (1 == hccl_verbs_routes(peer)) {
            peer->failures = peer->v->set.reconnects + 1;
        }
        hccl_verbs_drop_queue_pairs(peer);
        peer->state = HCCL_VERBS_WANTED;
    }
}

/* Hands messages over, oldest first; new ones queue behind these until none is left. */
static void hand_over(hccl_verbs_peer_t *peer)
{
    hccl_verbs_t *v = peer->v;
    for (;;) {
        hccl_verbs_message_t **list = NULL != peer->posted ? &peer->posted : &peer->starting;
        hccl_verbs_message_t *m = *list;
        if (NULL == m) {
            peer->state = HCCL_VERBS_REFUSED;
            atomic_fetch_sub(&v->active, 1);
            return;
        }
        *list = m->next;
        pthread_mutex_unlock(&v->lock);
        int rc = v->carrier->hand_over(m);
        pthread_mutex_lock(&v->lock);
        if (HCCL_OK == rc) {
            atomic_store_explicit(&m->end, HCCL_VERBS_HANDED, memory_order_release);
        } else {
            hccl_verbs_end(m, HCCL_ERR_SYS);
        }
    }
}

static void look_for_call(hccl_verbs_peer_t *peer)
{
    hccl_verbs_t *v = peer->v;
    pthread_mutex_unlock(&v->lock);
    bool called = v->carrier->called(peer);
    pthread_mutex_lock(&v->lock);
    if (called) {
        hccl_verbs_fault(peer, IBV_WC_SUCCESS);
    }
}

static void poll_exchange(hccl_verbs_peer_t *peer)
{
    hccl_verbs_t *v = peer->v;
    int code = HCCL_OK;
    pthread_mutex_unlock(&v->lock);
    bool ended = v->carrier->ended(peer, &code);
    pthread_mutex_lock(&v->lock);
    if (ended) {
        read_answer(peer, code);
    }
}

/* One look at a peer; true: at rest. */
static bool look_after(hccl_verbs_peer_t *peer)
{
    switch (peer->state) {
    case HCCL_VERBS_WANTED:
        begin(peer);
        return false;
    case HCCL_VERBS_AGREED:
        begin_exchange(peer);
        return false;
    case HCCL_VERBS_VOTING:
    case HCCL_VERBS_EXCHANGING:
        poll_exchange(peer);
        return false;
    case HCCL_VERBS_CONNECTING:
        try_connecting(peer);
        return false;
    case HCCL_VERBS_BROKEN:
        clear_away(peer);
        return false;
    case HCCL_VERBS_REFUSING:
        hand_over(peer);
        return true;
    case HCCL_VERBS_IDLE:
    case HCCL_VERBS_CONNECTED:
    case HCCL_VERBS_REFUSED:
    case HCCL_VERBS_LOST:
        break;
    }
    return true;
}

/* Whether something is expected of the peer. */
static bool expects(const hccl_verbs_peer_t *peer)
{
    if (HCCL_VERBS_CONNECTING == peer->state) {
        return true;
    }
    if (HCCL_VERBS_CONNECTED != peer->state) {
        return false;
    }
    if (NULL != peer->posted || NULL != peer->sending || NULL != peer->receiving) {
        return true;
    }
    for (int i = 0; i < peer->v->set.channels; i++) {
        if (NULL != peer->channel[i].waiting) {
            return true;
        }
    }
    return false;
}

void hccl_verbs_attend(hccl_verbs_t *v)
{
    if (atomic_exchange(&v->attending, true)) {
        return;
    }
    pthread_mutex_lock(&v->lock);
    hccl_verbs_peer_t *list = v->attention;
    v->attention = NULL;
    while (NULL != list) {
        hccl_verbs_peer_t *peer = list;
        list = peer->attention;
        peer->attended = false;
        if (!look_after(peer)) {
            attend_to(peer);
        }
    }
    uint64_t now = hccl_verbs_now();
    if (now >= v->looked + LOOK_EVERY) {
        v->looked = now;
        for (hccl_verbs_peer_t *peer = v->peers; NULL != peer; peer = peer->next) {
            if (HCCL_VERBS_CONNECTED == peer->state) {
                hccl_verbs_look_for_credits(peer, now);
            }
            if (expects(peer)) {
                look_for_call(peer);
            }
        }
    }
    pthread_mutex_unlock(&v->lock);
    atomic_store(&v->attending, false);
}

void hccl_verbs_peer_free(hccl_verbs_peer_t *peer)
{
    hccl_verbs_drop_queue_pairs(peer);
    for (int i = 0; NULL != peer->channel && i < peer->v->set.channels; i++) {
        drop_items(&peer->channel[i]);
    }
    if (NULL != peer->channel) {
        hccl_verbs_drop_early(peer);
    }
    hccl_verbs_free_arena(peer);
    free(peer);
}
