/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * From items to work requests: see verbs_engine.h. An item is put into a slot when one is free at the
 * peer; slots are posted in order, as many as one call takes. What is posted can be posted again: a
 * new queue pair begins with the first slot that the peer has not seen.
 */
#include <arpa/inet.h>
#include <string.h>

#include "tier/verbs_engine.h"

void hccl_verbs_queue(hccl_verbs_channel_t *ch, hccl_verbs_item_t *item)
{
    item->next = NULL;
    *ch->last = item;
    ch->last = &item->next;
}

void hccl_verbs_withdraw(hccl_verbs_channel_t *ch, const hccl_verbs_message_t *message)
{
    hccl_verbs_item_t **at = &ch->waiting;
    while (NULL != *at) {
        hccl_verbs_item_t *item = *at;
        if (message == item->message) {
            *at = item->next;
            hccl_verbs_item_free(ch->peer->v, item);
        } else {
            at = &item->next;
        }
    }
    ch->last = at;
}

/* ---- slots ------------------------------------------------------------------------------------ */

static uint64_t slots_of(const hccl_verbs_channel_t *ch)
{
    return (uint64_t) ch->peer->v->set.slots;
}

static char *slot_at(const hccl_verbs_channel_t *ch, uint64_t number)
{
    return ch->out + number % slots_of(ch) * ch->slot_bytes;
}

/* Copies what the header is followed by; returns how much that is. */
static size_t payload(hccl_verbs_channel_t *ch, hccl_verbs_item_t *item, hccl_verbs_header_t *h)
{
    hccl_verbs_message_t *m = item->message;
    char *to = (char *) (h + 1);
    if (HCCL_VERBS_EAGER == item->kind && m->bytes > 0) {
        memcpy(to, m->data, m->bytes);
        ch->peer->v->count.bytes += m->bytes;
        return m->bytes;
    }
    if (HCCL_VERBS_PIECE == item->kind) {
        size_t rest = m->bytes - m->done;
        size_t n = rest < ch->peer->v->set.eager ? rest : ch->peer->v->set.eager;
        memcpy(to, m->data + m->done, n);
        m->done += n;
        ch->peer->v->count.bytes += n;
        return n;
    }
    if (HCCL_VERBS_HERE == item->kind) {
        hccl_verbs_place_t place = {.sender = item->their_id, .way = item->way};
        if (NULL != m) {
            place.receiver = m->id;
            place.address = (uint64_t) (uintptr_t) m->data;
            place.rkey = NULL == m->reg ? 0 : m->reg->mr->rkey;
        }
        memcpy(to, &place, sizeof(place));
        return sizeof(place);
    }
    return 0;
}

/* Fills the next slot with an item; true when nothing of it is left. */
static bool fill(hccl_verbs_channel_t *ch, hccl_verbs_item_t *item)
{
    hccl_verbs_message_t *m = item->message;
    hccl_verbs_sent_t *sent = &ch->sent[ch->filled % slots_of(ch)];
    hccl_verbs_header_t *h = (hccl_verbs_header_t *) slot_at(ch, ch->filled);
    memset(h, 0, sizeof(*h));
    memset(sent, 0, sizeof(*sent));
    h->kind = item->kind;
    if (HCCL_VERBS_EAGER == item->kind || HCCL_VERBS_ASK == item->kind) {
        h->comm = m->key.comm;
        h->tag = m->key.tag;
        h->bytes = m->bytes;
        h->id = m->id;
    } else if (HCCL_VERBS_HERE == item->kind) {
        h->bytes = NULL == m ? 0 : m->bytes;
    } else if (HCCL_VERBS_PIECE == item->kind) {
        h->id = m->their_id;
        h->bytes = m->done;
    } else if (HCCL_VERBS_WRITTEN == item->kind) {
        h->id = item->their_id;
        h->parts = item->parts;
        sent->message = m;
        sent->offset = item->offset;
        sent->length = item->length;
        ch->peer->v->count.bytes += item->length;
    }
    sent->bytes = sizeof(*h) + payload(ch, item, h);
    ch->filled++;
    if (HCCL_VERBS_EAGER == item->kind) {
        hccl_verbs_end(m, HCCL_OK);
    } else if (HCCL_VERBS_PIECE == item->kind) {
        if (m->done < m->bytes) {
            return false;
        }
        hccl_verbs_remove(&ch->peer->sending, m);
        hccl_verbs_end(m, HCCL_OK);
    }
    return true;
}

/* The peer's slots up to this one are free again (the low half of the count). What is free there has
 * arrived. */
void hccl_verbs_credit(hccl_verbs_channel_t *ch, uint32_t consumed)
{
    uint32_t more = consumed - (uint32_t) ch->freed;
    if (more > 0 && more <= slots_of(ch)) {
        ch->freed += more;
        hccl_verbs_acked(ch, ch->freed);
    }
}

void hccl_verbs_acked(hccl_verbs_channel_t *ch, uint64_t upto)
{
    while (ch->acked < upto) {
        const hccl_verbs_header_t *h = (const hccl_verbs_header_t *) slot_at(ch, ch->acked);
        hccl_verbs_sent_t *sent = &ch->sent[ch->acked++ % slots_of(ch)];
        if (hccl_verbs_is_progress(h->kind)) {
            ch->peer->failures = 0;
        }
        if (NULL != sent->message) {
            hccl_verbs_message_t *m = sent->message;
            sent->message = NULL;
            hccl_verbs_part_arrived(m);
        }
    }
}

/* Whether it tells where something is. */
static bool names_place(const hccl_verbs_header_t *h)
{
    hccl_verbs_place_t place = {.way = HCCL_VERBS_NO_ROOM};
    if (HCCL_VERBS_HERE == h->kind) {
        memcpy(&place, h + 1, sizeof(place));
    }
    return HCCL_VERBS_WRITTEN == h->kind || HCCL_VERBS_WRITE == place.way;
}

void hccl_verbs_void_places(hccl_verbs_channel_t *ch, uint64_t from)
{
    for (uint64_t i = from; i < ch->filled; i++) {
        hccl_verbs_header_t *h = (hccl_verbs_header_t *) slot_at(ch, i);
        if (names_place(h)) {
            h->kind = HCCL_VERBS_NOTHING;
            ch->sent[i % slots_of(ch)].message = NULL;
        }
    }
    hccl_verbs_item_t **at = &ch->waiting;
    while (NULL != *at) {
        hccl_verbs_item_t *item = *at;
        if (HCCL_VERBS_WRITTEN == item->kind
            || (HCCL_VERBS_HERE == item->kind && HCCL_VERBS_WRITE == item->way)) {
            *at = item->next;
            hccl_verbs_item_free(ch->peer->v, item);
        } else {
            at = &item->next;
        }
    }
    ch->last = at;
}

/* ---- work requests ---------------------------------------------------------------------------- */

/* Requests that are handed over in one call. */
typedef struct chain {
    struct ibv_send_wr wr[HCCL_VERBS_MAX_BATCH];
    struct ibv_sge sge[HCCL_VERBS_MAX_BATCH];
    int n;
} chain_t;

/* Rings the bell. */
static bool flush(hccl_verbs_channel_t *ch, chain_t *chain)
{
    struct ibv_send_wr *bad;
    hccl_verbs_t *v = ch->peer->v;
    if (0 == chain->n) {
        return true;
    }
    for (int i = 0; i < chain->n; i++) {
        struct ibv_send_wr *wr = &chain->wr[i];
        if (IBV_WR_RDMA_READ != wr->opcode && chain->sge[i].length <= ch->peer->port->inlines) {
            wr->send_flags |= IBV_SEND_INLINE;
            v->count.inlined++;
        }
    }
    chain->wr[chain->n - 1].next = NULL;
    v->count.doorbells++;
    v->count.requests += (uint64_t) chain->n;
    chain->n = 0;
    if (0 != v->table->post_send(ch->qp, chain->wr, &bad)) {
        hccl_verbs_fault(ch->peer, IBV_WC_GENERAL_ERR);
        return false;
    }
    return true;
}

/* One more request, written from bytes bytes at `from` to `to`. Now and then one tells when it is done:
 * often enough that there is room for more. */
static struct ibv_send_wr *request(hccl_verbs_channel_t *ch, chain_t *chain, const void *from,
                                   size_t bytes, uint32_t lkey, uint64_t to, uint32_t rkey)
{
    hccl_verbs_t *v = ch->peer->v;
    struct ibv_send_wr *wr = &chain->wr[chain->n];
    struct ibv_sge *sge = &chain->sge[chain->n];
    *sge = (struct ibv_sge){
        .addr = (uint64_t) (uintptr_t) from, .length = (uint32_t) bytes, .lkey = lkey};
    memset(wr, 0, sizeof(*wr));
    wr->wr_id = hccl_verbs_request_id(ch, (uint32_t) ++ch->requests);
    wr->sg_list = sge;
    wr->num_sge = 1;
    wr->opcode = IBV_WR_RDMA_WRITE;
    wr->wr.rdma.remote_addr = to;
    wr->wr.rdma.rkey = rkey;
    if (ch->requests - ch->signalled >= (uint64_t) v->send_depth / 4) {
        wr->send_flags |= IBV_SEND_SIGNALED;
        ch->signalled = ch->requests;
    }
    chain->n++;
    wr->next = chain->n < HCCL_VERBS_MAX_BATCH ? wr + 1 : NULL;
    return wr;
}

/* Whether the send queue takes n more. */
static bool has_room(const hccl_verbs_channel_t *ch, uint64_t n)
{
    return ch->requests - ch->done + n <= (uint64_t) ch->peer->v->send_depth;
}

/* Whether the slot `posted` stays empty: its message is written as a whole, and the write tells of itself. */
static bool is_whole(const hccl_verbs_channel_t *ch)
{
    const hccl_verbs_header_t *h = (const hccl_verbs_header_t *) slot_at(ch, ch->posted);
    return NULL != ch->sent[ch->posted % slots_of(ch)].message && 1 == h->parts;
}

/* The slot `posted`, and what goes in front of it or instead of it. */
static bool post_slot(hccl_verbs_channel_t *ch, chain_t *chain)
{
    hccl_verbs_peer_t *peer = ch->peer;
    hccl_verbs_t *v = peer->v;
    uint64_t number = ch->posted % slots_of(ch);
    hccl_verbs_sent_t *sent = &ch->sent[number];
    hccl_verbs_message_t *m = sent->message;
    hccl_verbs_header_t *h = (hccl_verbs_header_t *) slot_at(ch, ch->posted);
    struct ibv_send_wr *wr = NULL;
    bool whole = is_whole(ch);
    for (size_t at = 0; NULL != m && at < sent->length;) {
        size_t n = sent->length - at < peer->port->longest ? sent->length - at
                                                           : (size_t) peer->port->longest;
        if (chain->n >= v->set.batch && !flush(ch, chain)) {
            return false;
        }
        wr = request(ch, chain, m->data + sent->offset + at, n, m->reg->mr->lkey,
                     m->address + sent->offset + at, m->rkey);
        at += n;
    }
    if (!whole) {
        if (chain->n >= v->set.batch && !flush(ch, chain)) {
            return false;
        }
        h->consumed = (uint32_t) ch->consumed;
        ch->told = ch->consumed;
        wr = request(ch, chain, h, sent->bytes, peer->mr->lkey,
                     ch->remote + number * ch->slot_bytes, peer->theirs.rkey);
    }
    wr->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    wr->imm_data =
        htonl(whole ? h->id | HCCL_VERBS_WHOLE : (uint32_t) ch->posted & ~HCCL_VERBS_WHOLE);
    if (NULL != m) {
        /* Its sender waits for this. */
        wr->send_flags |= IBV_SEND_SIGNALED;
        ch->signalled = ch->requests;
    }
    sent->last = ch->requests;
    ch->posted++;
    return true;
}

/* Requests that the slot `posted` takes. */
static uint64_t requests_of(const hccl_verbs_channel_t *ch)
{
    const hccl_verbs_sent_t *sent = &ch->sent[ch->posted % slots_of(ch)];
    uint64_t longest = ch->peer->port->longest;
    return (is_whole(ch) ? 0 : 1)
           + (NULL == sent->message ? 0 : (sent->length + longest - 1) / longest);
}

/* Tells the peer which of its slots are free, where no message of mine has said so for long. */
static void report(hccl_verbs_channel_t *ch, chain_t *chain)
{
    if ((!ch->must_tell && ch->consumed - ch->told < slots_of(ch) / 2) || !has_room(ch, 1)) {
        return;
    }
    if (chain->n >= ch->peer->v->set.batch && !flush(ch, chain)) {
        return;
    }
    *ch->report = ch->consumed;
    ch->told = ch->consumed;
    ch->must_tell = false;
    (void) request(ch, chain, ch->report, sizeof(*ch->report), ch->peer->mr->lkey,
                   ch->remote_credit, ch->peer->theirs.rkey);
}

/* What the peer has written of its slots. That may be long ago, since messages tell of them too: so all of it
 * counts, not its low half. */
static void read_credit(hccl_verbs_channel_t *ch)
{
    uint64_t consumed = __atomic_load_n(ch->credit, __ATOMIC_ACQUIRE);
    if (consumed > ch->freed) {
        hccl_verbs_credit(ch, (uint32_t) consumed);
    }
}

void hccl_verbs_pump(hccl_verbs_channel_t *ch)
{
    hccl_verbs_t *v = ch->peer->v;
    chain_t chain;
    chain.n = 0;
    if (HCCL_VERBS_CONNECTED != ch->peer->state) {
        return;
    }
    /* What is posted tells of free slots, and each of these needs a place in the receive queue. */
    if (!hccl_verbs_refill(ch)) {
        hccl_verbs_fault(ch->peer, IBV_WC_GENERAL_ERR);
        return;
    }
    for (bool more = true; more;) {
        more = false;
        if (NULL != ch->waiting && ch->filled - ch->freed >= slots_of(ch)) {
            read_credit(ch);
        }
        while (NULL != ch->waiting && ch->filled - ch->freed < slots_of(ch)) {
            hccl_verbs_item_t *item = ch->waiting;
            if (fill(ch, item)) {
                ch->waiting = item->next;
                ch->last = NULL == ch->waiting ? &ch->waiting : ch->last;
                hccl_verbs_item_free(v, item);
            }
        }
        while (ch->posted < ch->filled && has_room(ch, requests_of(ch))) {
            more = true;
            if (!post_slot(ch, &chain)) {
                return;
            }
        }
    }
    report(ch, &chain);
    (void) flush(ch, &chain);
    if (NULL != ch->waiting || ch->posted < ch->filled) {
        v->stalled = true;
    }
}

bool hccl_verbs_waits_for_credit(const hccl_verbs_channel_t *ch)
{
    return NULL != ch->waiting && ch->posted == ch->filled
           && ch->filled - ch->freed >= slots_of(ch);
}

void hccl_verbs_ask(hccl_verbs_channel_t *ch)
{
    const hccl_verbs_peer_t *peer = ch->peer;
    chain_t chain;
    chain.n = 0;
    if (!has_room(ch, 2)) {
        return;
    }
    *ch->question = (uint64_t) ++ch->questions << 32 | (uint32_t) ch->freed;
    (void) request(ch, &chain, ch->question, sizeof(*ch->question), peer->mr->lkey,
                   ch->remote_asked, peer->theirs.rkey);
    if (peer->port->reads && 0 != peer->theirs.reads) {
        /* Nothing overtakes anything on a queue pair. */
        struct ibv_send_wr *wr = request(ch, &chain, ch->echo, sizeof(*ch->echo), peer->mr->lkey,
                                         ch->remote_asked, peer->theirs.rkey);
        wr->opcode = IBV_WR_RDMA_READ;
        wr->send_flags = IBV_SEND_SIGNALED;
        ch->signalled = ch->requests;
        ch->read_by = ch->requests;
    }
    (void) flush(ch, &chain);
}

void hccl_verbs_tell(hccl_verbs_channel_t *ch)
{
    ch->must_tell = true;
    hccl_verbs_pump(ch);
}

void hccl_verbs_pump_all(hccl_verbs_peer_t *peer)
{
    for (int i = 0; NULL != peer->channel && i < peer->v->set.channels; i++) {
        hccl_verbs_pump(&peer->channel[i]);
    }
}
