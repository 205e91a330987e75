/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Completions: see verbs_engine.h.
 */
#include <arpa/inet.h>

#include "base/log.h"
#include "tier/verbs_engine.h"

#define AT_ONCE 16

/* Calls of progress between two looks at the clock. */
#define CALLS 256

/* The channel that a completion is about; NULL: its queue pair is gone. */
static hccl_verbs_channel_t *channel_of(const hccl_verbs_t *v, const hccl_verbs_port_t *port,
                                        const struct ibv_wc *wc)
{
    uint32_t index = HCCL_VERBS_INDEX(wc->wr_id);
    hccl_verbs_channel_t *ch = index < v->nchannels ? v->channels[index] : NULL;
    return NULL == ch || NULL == ch->qp || ch->peer->port != port || ch->qp->qp_num != wc->qp_num
                   || HCCL_VERBS_GENERATION(wc->wr_id) != (ch->peer->generation & 0xff)
               ? NULL
               : ch;
}

static void received(hccl_verbs_channel_t *ch, const struct ibv_wc *wc)
{
    ch->receives--;
    if (IBV_WC_SUCCESS != wc->status) {
        hccl_verbs_fault(ch->peer, wc->status);
        return;
    }
    uint32_t imm = ntohl(wc->imm_data), due = (uint32_t) ch->received & ~HCCL_VERBS_WHOLE;
    uint64_t slot = ch->received++;
    if (0 != (imm & HCCL_VERBS_WHOLE)) {
        hccl_verbs_whole_arrived(ch, imm & ~HCCL_VERBS_WHOLE);
        return;
    }
    if (imm != due) {
        hccl_log_fatal("rank %d sent message %u where %u was due", ch->peer->number, imm, due);
    }
    hccl_verbs_arrived(ch, slot);
}

static void sent(hccl_verbs_channel_t *ch, const struct ibv_wc *wc)
{
    if (IBV_WC_SUCCESS != wc->status) {
        hccl_verbs_fault(ch->peer, wc->status);
        return;
    }
    ch->done += (uint32_t) wc->wr_id - (uint32_t) ch->done;
    uint64_t upto = ch->acked;
    uint64_t slots = (uint64_t) ch->peer->v->set.slots;
    while (upto < ch->posted && ch->sent[upto % slots].last <= ch->done) {
        upto++;
    }
    hccl_verbs_acked(ch, upto);
}

static int poll_once(hccl_verbs_t *v, const hccl_verbs_port_t *port)
{
    struct ibv_wc wc[AT_ONCE];
    int n = v->table->poll_cq(port->cq, AT_ONCE, wc);
    if (n < 0) {
        hccl_log_fatal("%s port %d: its completions cannot be read any more", port->card.device,
                       port->card.port);
    }
    for (int i = 0; i < n; i++) {
        hccl_verbs_channel_t *ch = channel_of(v, port, &wc[i]);
        if (NULL == ch) {
            continue;
        }
        if (0 != (wc[i].wr_id & HCCL_VERBS_RECEIVE)) {
            received(ch, &wc[i]);
        } else {
            sent(ch, &wc[i]);
        }
    }
    /* What one completion, or several of one channel, have made possible. */
    for (int i = 0; i < n; i++) {
        hccl_verbs_channel_t *ch = channel_of(v, port, &wc[i]);
        if (NULL != ch) {
            hccl_verbs_pump(ch);
        }
    }
    v->count.completions += (uint64_t) n;
    return n;
}

static int poll_port(hccl_verbs_t *v, const hccl_verbs_port_t *port)
{
    int n = 0;
    int got;
    do {
        got = poll_once(v, port);
        n += got;
    } while (AT_ONCE == got && n < 8 * AT_ONCE);
    return n;
}

int hccl_verbs_progress(hccl_verbs_t *v)
{
    if (0 == atomic_load_explicit(&v->active, memory_order_relaxed)
        || 0 != pthread_mutex_trylock(&v->lock)) {
        return 0;
    }
    int n = 0;
    for (int i = 0; i < v->ports.n; i++) {
        n += NULL == v->port[i] ? 0 : poll_port(v, v->port[i]);
    }
    if (v->stalled) {
        v->stalled = false;
        for (hccl_verbs_peer_t *peer = v->peers; NULL != peer; peer = peer->next) {
            hccl_verbs_pump_all(peer);
        }
    }
    bool attend = NULL != v->attention || 0 == ++v->calls % CALLS;
    pthread_mutex_unlock(&v->lock);
    if (attend) {
        hccl_verbs_attend(v);
    }
    return n;
}
