/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a connection is made of: rings and queue pairs. See verbs_engine.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tier/verbs_engine.h"

#define LINE_BYTES ((size_t) 128)

/* Where in a line the word of questions is, and in mine what was read of it. */
#define QUESTION_AT ((size_t) 64)
#define ECHO_AT ((size_t) 96)

/* ---- memory ----------------------------------------------------------------------------------- */

static size_t slot_bytes_of(const hccl_verbs_t *v, int channel)
{
    size_t bytes = sizeof(hccl_verbs_header_t) + v->set.eager;
    size_t wide = bytes < HCCL_VERBS_NARROW_SLOT ? HCCL_VERBS_NARROW_SLOT : (bytes + 63) / 64 * 64;
    return 0 == channel ? wide : HCCL_VERBS_NARROW_SLOT;
}

/* Bytes in front of a channel's part of the arena: two lines, the ring of the peer, and mine. */
static size_t arena_offset(const hccl_verbs_t *v, int channel)
{
    size_t at = 0;
    for (int i = 0; i < channel; i++) {
        at += 2 * LINE_BYTES + 2 * (size_t) v->set.slots * slot_bytes_of(v, i);
    }
    return at;
}

/* Gives the channel a number in the engine's table, by which completions find it. */
static bool enter(hccl_verbs_channel_t *ch)
{
    hccl_verbs_t *v = ch->peer->v;
    uint32_t at = 0;
    while (at < v->nchannels && NULL != v->channels[at]) {
        at++;
    }
    if (at == v->nchannels) {
        uint32_t n = v->nchannels + 64;
        hccl_verbs_channel_t **more = realloc(v->channels, n * sizeof(*more));
        if (NULL == more) {
            return false;
        }
        memset(more + v->nchannels, 0, 64 * sizeof(*more));
        v->channels = more;
        v->nchannels = n;
    }
    v->channels[at] = ch;
    ch->index = at;
    return true;
}

void hccl_verbs_unregister(hccl_verbs_peer_t *peer)
{
    if (NULL != peer->mr) {
        (void) peer->v->table->dereg_mr(peer->mr);
        peer->v->count.regions--;
        peer->mr = NULL;
    }
}

void hccl_verbs_free_arena(hccl_verbs_peer_t *peer)
{
    hccl_verbs_t *v = peer->v;
    if (NULL != peer->channel) {
        for (int i = 0; i < v->set.channels; i++) {
            hccl_verbs_channel_t *ch = &peer->channel[i];
            if (ch->entered) {
                v->channels[ch->index] = NULL;
            }
            free(ch->sent);
            free(ch->held);
            free(ch->lent);
        }
        free(peer->channel);
        peer->channel = NULL;
    }
    hccl_verbs_unregister(peer);
    free(peer->arena);
    peer->arena = NULL;
}

static bool set_channel(hccl_verbs_peer_t *peer, int number)
{
    hccl_verbs_channel_t *ch = &peer->channel[number];
    size_t slots = (size_t) peer->v->set.slots;
    char *base = peer->arena + arena_offset(peer->v, number);
    ch->peer = peer;
    ch->number = number;
    ch->slot_bytes = slot_bytes_of(peer->v, number);
    ch->credit = (uint64_t *) base;
    ch->asked = (uint64_t *) (base + QUESTION_AT);
    ch->report = (uint64_t *) (base + LINE_BYTES);
    ch->question = (uint64_t *) (base + LINE_BYTES + QUESTION_AT);
    ch->echo = (uint64_t *) (base + LINE_BYTES + ECHO_AT);
    ch->in = base + 2 * LINE_BYTES;
    ch->out = ch->in + slots * ch->slot_bytes;
    ch->last = &ch->waiting;
    ch->sent = calloc(slots, sizeof(*ch->sent));
    ch->held = calloc(slots, sizeof(*ch->held));
    ch->lent = calloc(slots, sizeof(*ch->lent));
    ch->entered = NULL != ch->sent && NULL != ch->held && NULL != ch->lent && enter(ch);
    return ch->entered;
}

static size_t arena_bytes(const hccl_verbs_t *v)
{
    return (arena_offset(v, v->set.channels) + 4095) / 4096 * 4096;
}

/* Rings for a first connection. */
static bool make_arena(hccl_verbs_peer_t *peer)
{
    hccl_verbs_t *v = peer->v;
    size_t bytes = arena_bytes(v);
    peer->arena = aligned_alloc(4096, bytes);
    peer->channel = calloc((size_t) v->set.channels, sizeof(*peer->channel));
    if (NULL == peer->arena || NULL == peer->channel) {
        return false;
    }
    memset(peer->arena, 0, bytes);
    for (int i = 0; i < v->set.channels; i++) {
        if (!set_channel(peer, i)) {
            return false;
        }
    }
    return true;
}

static bool register_arena(hccl_verbs_peer_t *peer)
{
    hccl_verbs_t *v = peer->v;
    peer->mr = v->table->reg_mr(peer->port->pd, peer->arena, arena_bytes(v),
                                IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE
                                    | (peer->port->reads ? IBV_ACCESS_REMOTE_READ : 0));
    v->count.regions += NULL == peer->mr ? 0 : 1;
    return NULL != peer->mr;
}

/* ---- queue pairs ------------------------------------------------------------------------------ */

/* Completions that a channel can have at once. */
static int cqe_of(const hccl_verbs_t *v)
{
    return v->send_depth + v->receive_depth;
}

void hccl_verbs_drop_queue_pairs(hccl_verbs_peer_t *peer)
{
    hccl_verbs_t *v = peer->v;
    for (int i = 0; NULL != peer->channel && i < v->set.channels; i++) {
        hccl_verbs_channel_t *ch = &peer->channel[i];
        if (NULL != ch->qp) {
            (void) v->table->destroy_qp(ch->qp);
            ch->qp = NULL;
            v->count.queue_pairs--;
            peer->port->cqe_used -= cqe_of(v);
        }
    }
}

bool hccl_verbs_refill(hccl_verbs_channel_t *ch)
{
    hccl_verbs_t *v = ch->peer->v;
    int missing = v->receive_depth - ch->receives;
    struct ibv_recv_wr wr[HCCL_VERBS_MAX_BATCH];
    struct ibv_recv_wr *bad;
    /* Half of the depth is a whole ring. */
    if (missing < v->receive_depth / 4) {
        return true;
    }
    while (missing > 0) {
        int n = missing < HCCL_VERBS_MAX_BATCH ? missing : HCCL_VERBS_MAX_BATCH;
        memset(wr, 0, (size_t) n * sizeof(wr[0]));
        for (int i = 0; i < n; i++) {
            wr[i].wr_id = HCCL_VERBS_RECEIVE | hccl_verbs_request_id(ch, 0);
            wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
        }
        if (0 != v->table->post_recv(ch->qp, wr, &bad)) {
            return false;
        }
        ch->receives += n;
        missing -= n;
    }
    return true;
}

/* A queue pair that accepts what is posted for receiving. */
static bool make_queue_pair(hccl_verbs_channel_t *ch)
{
    hccl_verbs_t *v = ch->peer->v;
    hccl_verbs_port_t *port = ch->peer->port;
    if (port->cqe_used + cqe_of(v) > port->cqe) {
        if (0 != v->table->resize_cq(port->cq, 2 * port->cqe)) {
            return false;
        }
        port->cqe *= 2;
    }
    ch->qp = hccl_verbs_queue_pair(v, port);
    if (NULL == ch->qp) {
        return false;
    }
    v->count.queue_pairs++;
    port->cqe_used += cqe_of(v);
    ch->receives = 0;
    ch->psn = (uint32_t) (hccl_verbs_now() * 7919 + ch->index * 104729) & 0xffffff;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .pkey_index = 0,
                               .port_num = port->card.port,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE
                                                  | (port->reads ? IBV_ACCESS_REMOTE_READ : 0)};
    return 0
               == v->table->modify_qp(ch->qp, &attr,
                                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT
                                          | IBV_QP_ACCESS_FLAGS)
           && hccl_verbs_refill(ch);
}

bool hccl_verbs_prepare(hccl_verbs_peer_t *peer)
{
    hccl_verbs_t *v = peer->v;
    if (v->refuses || NULL == peer->port || (NULL == peer->arena && !make_arena(peer))
        || (NULL == peer->mr && !register_arena(peer))) {
        return false;
    }
    for (int i = 0; i < v->set.channels; i++) {
        hccl_verbs_channel_t *ch = &peer->channel[i];
        if (!make_queue_pair(ch)) {
            return false;
        }
        peer->mine.channel[i].qp = ch->qp->qp_num;
        peer->mine.channel[i].psn = ch->psn;
        peer->mine.channel[i].received = ch->received;
        peer->mine.channel[i].consumed = ch->consumed;
    }
    peer->mine.arena = (uint64_t) (uintptr_t) peer->arena;
    peer->mine.rkey = peer->mr->rkey;
    peer->mine.reads = peer->port->reads ? 1 : 0;
    return true;
}

static void set_route(const hccl_verbs_peer_t *peer, struct ibv_ah_attr *ah)
{
    const hccl_verbs_settings_t *set = &peer->v->set;
    memset(ah, 0, sizeof(*ah));
    ah->port_num = peer->port->card.port;
    ah->sl = (uint8_t) set->service_level;
    ah->is_global = 1;
    memcpy(ah->grh.dgid.raw, peer->ports.card[peer->theirs_at].gid, sizeof(ah->grh.dgid.raw));
    ah->grh.sgid_index = (uint8_t) peer->port->gid_index;
    ah->grh.hop_limit = 64;
    ah->grh.traffic_class = (uint8_t) set->traffic_class;
}

/* Connects a queue pair to the peer's. */
static bool connect_queue_pair(hccl_verbs_channel_t *ch)
{
    hccl_verbs_peer_t *peer = ch->peer;
    hccl_verbs_t *v = peer->v;
    uint8_t mtu = peer->port->card.mtu, theirs = peer->ports.card[peer->theirs_at].mtu;
    mtu = theirs < mtu ? theirs : mtu;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .path_mtu = (enum ibv_mtu) mtu,
                               .dest_qp_num = peer->theirs.channel[ch->number].qp,
                               .rq_psn = peer->theirs.channel[ch->number].psn,
                               .max_dest_rd_atomic = peer->port->reads ? 1 : 0,
                               .min_rnr_timer = 12};
    set_route(peer, &attr.ah_attr);
    if (0
        != v->table->modify_qp(ch->qp, &attr,
                               IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN
                                   | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC
                                   | IBV_QP_MIN_RNR_TIMER)) {
        return false;
    }
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                                .timeout = (uint8_t) v->set.timeout,
                                .retry_cnt = (uint8_t) v->set.retries,
                                .rnr_retry = 7, /* for ever: the ring's credits see to it */
                                .max_rd_atomic = peer->port->reads ? 1 : 0,
                                .sq_psn = ch->psn};
    return 0
           == v->table->modify_qp(ch->qp, &attr,
                                  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT
                                      | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* All queue pairs are connected: goes on where the rings had got to. */
static void resume(hccl_verbs_channel_t *ch)
{
    hccl_verbs_peer_t *peer = ch->peer;
    uint64_t at = arena_offset(peer->v, ch->number);
    ch->remote = peer->theirs.arena + at + 2 * LINE_BYTES;
    ch->remote_credit = peer->theirs.arena + at;
    ch->remote_asked = peer->theirs.arena + at + QUESTION_AT;
    ch->lost = 0;
    ch->stuck_since = 0;
    ch->told_then = ch->told;
    ch->told_since = hccl_verbs_now();
    ch->requests = 0;
    ch->done = 0;
    ch->signalled = 0;
    ch->posted = peer->theirs.channel[ch->number].received;
    ch->told = peer->mine.channel[ch->number].consumed;
    hccl_verbs_acked(ch, ch->posted);
    hccl_verbs_credit(ch, (uint32_t) peer->theirs.channel[ch->number].consumed);
}

/* What is connected already stays so. */
bool hccl_verbs_connect(hccl_verbs_peer_t *peer)
{
    hccl_verbs_t *v = peer->v;
    for (; peer->connected < v->set.channels; peer->connected++) {
        if (!connect_queue_pair(&peer->channel[peer->connected])) {
            return false;
        }
    }
    for (int i = 0; i < v->set.channels; i++) {
        resume(&peer->channel[i]);
    }
    peer->state = HCCL_VERBS_CONNECTED;
    if (1 == peer->generation) {
        v->count.connections++;
    } else {
        v->count.reconnections++;
        hccl_log_info("rank %d is connected again over %s port %d", peer->number,
                      peer->port->card.device, peer->port->card.port);
    }
    while (NULL != peer->starting) {
        hccl_verbs_message_t *m = peer->starting;
        peer->starting = m->next;
        hccl_verbs_start(m);
    }
    hccl_verbs_pump_all(peer);
    return true;
}

void hccl_verbs_stop(hccl_verbs_peer_t *peer)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    for (int i = 0; NULL != peer->channel && i < peer->v->set.channels; i++) {
        if (NULL != peer->channel[i].qp) {
            (void) peer->v->table->modify_qp(peer->channel[i].qp, &attr, IBV_QP_STATE);
        }
    }
}
