/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiver's side of messages: see verbs_engine.h. A message that comes before it is asked for
 * stays in its slot, and so does one that is lent to who asked for it; when these take up half of the
 * ring, the oldest leaves for other memory, so that a sender always gets slots back.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tier/verbs_engine.h"

static char *slot_in(const hccl_verbs_channel_t *ch, uint64_t number)
{
    return ch->in + number % (uint64_t) ch->peer->v->set.slots * ch->slot_bytes;
}

static bool is_for(const hccl_verbs_key_t *key, const hccl_verbs_header_t *h)
{
    return key->comm == h->comm && key->tag == h->tag;
}

/* All slots before the oldest held one are free again. */
static void consume(hccl_verbs_channel_t *ch)
{
    uint64_t slots = (uint64_t) ch->peer->v->set.slots;
    while (ch->consumed < ch->received && !ch->held[ch->consumed % slots]) {
        ch->consumed++;
    }
}

/* ---- matched ---------------------------------------------------------------------------------- */

/* Of a message that is longer than there is room for comes what fits, and the error. Returns how much. */
static size_t take_room(hccl_verbs_message_t *m, size_t bytes)
{
    if (bytes > m->bytes) {
        m->error = HCCL_ERR_ARG;
        return m->bytes;
    }
    return bytes;
}

static void deliver(hccl_verbs_message_t *m, const hccl_verbs_header_t *h, const char *data)
{
    size_t n = take_room(m, h->bytes);
    if (n > 0) {
        memcpy(m->data, data, n);
        m->peer->v->count.taken++;
    }
    hccl_verbs_end(m, m->error);
}

/* Whether a message may stay where it has come. Who reads it there reads all that was asked for. */
static bool can_lend(const hccl_verbs_message_t *m, const hccl_verbs_header_t *h)
{
    return m->borrows && h->bytes == m->bytes && m->bytes > 0;
}

static void lend(hccl_verbs_message_t *m, hccl_verbs_channel_t *ch, uint64_t slot)
{
    uint64_t at = slot % (uint64_t) ch->peer->v->set.slots;
    ch->held[at] = true;
    ch->lent[at] = m;
    m->slot = slot;
    m->lent = true;
    hccl_verbs_end(m, HCCL_OK);
}

/* What is lent does not lie in its slot any more. */
static void end_loan(hccl_verbs_message_t *m)
{
    hccl_verbs_channel_t *ch = &m->peer->channel[0];
    uint64_t at = m->slot % (uint64_t) ch->peer->v->set.slots;
    ch->held[at] = false;
    ch->lent[at] = NULL;
    m->lent = false;
    consume(ch);
}

static hccl_verbs_item_t *new_answer(hccl_verbs_peer_t *peer, uint32_t their_id)
{
    hccl_verbs_item_t *item = hccl_verbs_item_new(peer->v);
    if (NULL == item) {
        /* The sender waits for an answer. */
        hccl_log_fatal("no memory for a message");
    }
    item->kind = HCCL_VERBS_HERE;
    item->their_id = their_id;
    item->way = HCCL_VERBS_NO_ROOM;
    return item;
}

/* Says where a message goes. */
static void give_place(hccl_verbs_message_t *m)
{
    hccl_verbs_peer_t *peer = m->peer;
    hccl_verbs_item_t *item = new_answer(peer, m->their_id);
    hccl_verbs_cache_put(&peer->port->cache,
                         m->reg); /* of a place that was not told before a move */
    m->reg = hccl_verbs_cache_get(&peer->port->cache, m->data, m->bytes, true);
    m->in_pieces = NULL == m->reg;
    peer->v->count.straight += NULL != m->reg && m->reg->fixed ? 1 : 0;
    item->message = m;
    item->way = m->in_pieces ? HCCL_VERBS_PIECES : HCCL_VERBS_WRITE;
    hccl_verbs_queue(&peer->channel[0], item);
}

/* Answers ASK. */
static void answer(hccl_verbs_message_t *m, const hccl_verbs_header_t *h)
{
    hccl_verbs_peer_t *peer = m->peer;
    m->bytes = take_room(m, h->bytes);
    if (0 == m->bytes) {
        hccl_verbs_queue(&peer->channel[0], new_answer(peer, h->id));
        hccl_verbs_end(m, m->error);
        return;
    }
    m->their_id = h->id;
    m->id = hccl_verbs_next_id(peer);
    hccl_verbs_append(&peer->receiving, m);
    give_place(m);
}

void hccl_verbs_answer_anew(hccl_verbs_peer_t *peer)
{
    for (hccl_verbs_message_t *m = peer->receiving; NULL != m; m = m->next) {
        if (!m->in_pieces) {
            m->parts = 0;
            give_place(m);
        }
    }
}

/* ---- early ------------------------------------------------------------------------------------ */

static void free_early(hccl_verbs_peer_t *peer, hccl_verbs_early_t *e)
{
    hccl_verbs_channel_t *ch = &peer->channel[0];
    if (HCCL_VERBS_EAGER == e->header.kind && NULL == e->copy) {
        ch->held[e->slot % (uint64_t) peer->v->set.slots] = false;
        consume(ch);
    }
    free(e->copy);
    e->next = peer->v->free_early;
    peer->v->free_early = e;
}

void hccl_verbs_drop_early(hccl_verbs_peer_t *peer)
{
    while (NULL != peer->early) {
        hccl_verbs_early_t *e = peer->early;
        peer->early = e->next;
        free_early(peer, e);
    }
}

/* Makes an early message leave the oldest slot; false: there is none. */
static bool move_early(hccl_verbs_channel_t *ch)
{
    hccl_verbs_early_t *e = ch->peer->early;
    while (NULL != e
           && (HCCL_VERBS_EAGER != e->header.kind || NULL != e->copy || e->slot != ch->consumed)) {
        e = e->next;
    }
    if (NULL == e) {
        return false;
    }
    e->copy = malloc(e->header.bytes + 1);
    if (NULL == e->copy) {
        hccl_log_fatal("no memory for a message that came early");
    }
    memcpy(e->copy, slot_in(ch, e->slot) + sizeof(e->header), e->header.bytes);
    ch->held[e->slot % (uint64_t) ch->peer->v->set.slots] = false;
    ch->peer->v->count.copied++;
    consume(ch);
    return true;
}

/* As long as messages that stay take up more than half of the ring, the oldest leaves. One that is being read
 * cannot; it will be let go in no time. */
static void make_room(hccl_verbs_channel_t *ch)
{
    uint64_t slots = (uint64_t) ch->peer->v->set.slots;
    bool moved = true;
    while (moved && ch->received - ch->consumed > slots / 2) {
        hccl_verbs_message_t *m = ch->lent[ch->consumed % slots];
        if (NULL == m) {
            moved = move_early(ch);
        } else if (m->pinned) {
            moved = false;
        } else {
            memcpy(m->data, slot_in(ch, m->slot) + sizeof(hccl_verbs_header_t), m->bytes);
            ch->peer->v->count.taken++;
            end_loan(m);
        }
    }
}

static void keep(hccl_verbs_channel_t *ch, uint64_t slot, const hccl_verbs_header_t *h)
{
    hccl_verbs_t *v = ch->peer->v;
    hccl_verbs_early_t *e = v->free_early;
    if (NULL != e) {
        v->free_early = e->next;
        memset(e, 0, sizeof(*e));
    } else {
        e = calloc(1, sizeof(*e));
    }
    if (NULL == e) {
        hccl_log_fatal("no memory for a message that came early");
    }
    e->header = *h;
    e->slot = slot;
    hccl_verbs_early_t **at = &ch->peer->early;
    while (NULL != *at) {
        at = &(*at)->next;
    }
    *at = e;
    v->count.unexpected++;
    ch->held[slot % (uint64_t) v->set.slots] = HCCL_VERBS_EAGER == h->kind;
}

static hccl_verbs_early_t *take_early(hccl_verbs_peer_t *peer, const hccl_verbs_key_t *key)
{
    hccl_verbs_early_t **at = &peer->early;
    while (NULL != *at && !is_for(key, &(*at)->header)) {
        at = &(*at)->next;
    }
    hccl_verbs_early_t *e = *at;
    if (NULL != e) {
        *at = e->next;
    }
    return e;
}

/* ---- entry points ----------------------------------------------------------------------------- */

static void match_early(hccl_verbs_message_t *m)
{
    hccl_verbs_peer_t *peer = m->peer;
    hccl_verbs_early_t *e = take_early(peer, &m->key);
    if (NULL == e) {
        hccl_verbs_append(&peer->posted, m);
        return;
    }
    if (HCCL_VERBS_ASK == e->header.kind) {
        answer(m, &e->header);
    } else if (NULL == e->copy && can_lend(m, &e->header)) {
        lend(m, &peer->channel[0], e->slot);
        e->header.kind = HCCL_VERBS_NOTHING; /* it has no slot to give back */
    } else {
        const char *slot = slot_in(&peer->channel[0], e->slot) + sizeof(e->header);
        deliver(m, &e->header, NULL == e->copy ? slot : e->copy);
    }
    free_early(peer, e);
    hccl_verbs_pump(&peer->channel[0]);
}

static int receive(hccl_verbs_peer_t *peer, const hccl_verbs_key_t *key, void *data, size_t bytes,
                   bool borrows, hccl_verbs_message_t **message)
{
    hccl_verbs_t *v = peer->v;
    pthread_mutex_lock(&v->lock);
    hccl_verbs_message_t *m;
    int rc = hccl_verbs_message_new(peer, key, data, bytes, &m);
    if (HCCL_OK == rc) {
        *message = m;
        m->borrows = borrows;
        match_early(m);
        hccl_verbs_want(peer);
    }
    pthread_mutex_unlock(&v->lock);
    return rc;
}

int hccl_verbs_receive(hccl_verbs_peer_t *peer, const hccl_verbs_key_t *key, void *data,
                       size_t bytes, hccl_verbs_message_t **message)
{
    return receive(peer, key, data, bytes, false, message);
}

int hccl_verbs_borrow(hccl_verbs_peer_t *peer, const hccl_verbs_key_t *key, void *data,
                      size_t bytes, hccl_verbs_message_t **message)
{
    return receive(peer, key, data, bytes, true, message);
}

const char *hccl_verbs_pin(hccl_verbs_message_t *m)
{
    const char *data = NULL;
    pthread_mutex_lock(&m->peer->v->lock);
    if (m->lent) {
        m->pinned = true;
        data = slot_in(&m->peer->channel[0], m->slot) + sizeof(hccl_verbs_header_t);
    }
    pthread_mutex_unlock(&m->peer->v->lock);
    return data;
}

/* It is not being read any more. */
static void let_go(hccl_verbs_message_t *m, int copies)
{
    m->pinned = false;
    m->copied = m->copied || copies > 0;
    m->peer->v->count.taken += (uint64_t) copies;
}

void hccl_verbs_unpin(hccl_verbs_message_t *m, int copies)
{
    hccl_verbs_channel_t *ch = &m->peer->channel[0];
    pthread_mutex_lock(&m->peer->v->lock);
    let_go(m, copies);
    make_room(ch);
    hccl_verbs_pump(ch);
    pthread_mutex_unlock(&m->peer->v->lock);
}

void hccl_verbs_return(hccl_verbs_message_t *m, int copies)
{
    hccl_verbs_t *v = m->peer->v;
    pthread_mutex_lock(&v->lock);
    let_go(m, copies);
    if (m->lent) {
        v->count.lent += m->copied ? 0 : 1;
        end_loan(m);
        hccl_verbs_pump(&m->peer->channel[0]);
    }
    m->next = v->free_messages;
    v->free_messages = m;
    pthread_mutex_unlock(&v->lock);
}

bool hccl_verbs_writes_in_place(hccl_verbs_peer_t *peer, size_t bytes)
{
    pthread_mutex_lock(&peer->v->lock);
    bool reached = HCCL_VERBS_REFUSING != peer->state && HCCL_VERBS_REFUSED != peer->state
                   && HCCL_VERBS_LOST != peer->state;
    pthread_mutex_unlock(&peer->v->lock);
    return reached && bytes > peer->v->set.eager;
}

void hccl_verbs_cancel(hccl_verbs_message_t *m)
{
    hccl_verbs_peer_t *peer = m->peer;
    pthread_mutex_lock(&peer->v->lock);
    hccl_verbs_message_t *found = peer->posted;
    while (NULL != found && m != found) {
        found = found->next;
    }
    if (NULL != found) {
        hccl_verbs_remove(&peer->posted, m);
        hccl_verbs_end(m, HCCL_OK);
    }
    pthread_mutex_unlock(&peer->v->lock);
}

/* All of a long message is there. */
static void complete(hccl_verbs_message_t *m)
{
    /* After a move its place may still have to be said anew, though it came in pieces. */
    hccl_verbs_withdraw(&m->peer->channel[0], m);
    hccl_verbs_remove(&m->peer->receiving, m);
    hccl_verbs_end(m, m->error);
}

/* A part of a long message, or a piece. */
static void take_part(hccl_verbs_peer_t *peer, const hccl_verbs_header_t *h, const char *data)
{
    hccl_verbs_message_t *m = hccl_verbs_find(peer->receiving, h->id);
    if (NULL == m) {
        return;
    }
    bool is_last;
    if (HCCL_VERBS_WRITTEN == h->kind) {
        is_last = (uint32_t) ++m->parts == h->parts;
    } else {
        size_t rest = m->bytes - (size_t) h->bytes;
        size_t n = rest < peer->v->set.eager ? rest : peer->v->set.eager;
        memcpy(m->data + h->bytes, data, n);
        peer->v->count.taken++;
        m->done += n;
        is_last = m->done == m->bytes;
    }
    if (is_last) {
        complete(m);
    }
}

/* EAGER or ASK: the first receive that was posted for it, or none. */
static void match_posted(hccl_verbs_channel_t *ch, uint64_t slot, const hccl_verbs_header_t *h,
                         const char *data)
{
    hccl_verbs_message_t *m = ch->peer->posted;
    while (NULL != m && !is_for(&m->key, h)) {
        m = m->next;
    }
    if (NULL == m) {
        keep(ch, slot, h);
        return;
    }
    hccl_verbs_remove(&ch->peer->posted, m);
    if (HCCL_VERBS_ASK == h->kind) {
        answer(m, h);
    } else if (can_lend(m, h)) {
        lend(m, ch, slot);
    } else {
        deliver(m, h, data);
    }
}

void hccl_verbs_arrived(hccl_verbs_channel_t *ch, uint64_t slot)
{
    const hccl_verbs_header_t *h = (const hccl_verbs_header_t *) slot_in(ch, slot);
    const char *data = (const char *) (h + 1);
    hccl_verbs_place_t place;
    if (hccl_verbs_is_progress(h->kind)) {
        ch->peer->failures = 0;
    }
    hccl_verbs_credit(ch, h->consumed);
    switch ((hccl_verbs_kind_t) h->kind) {
    case HCCL_VERBS_EAGER:
    case HCCL_VERBS_ASK:
        match_posted(ch, slot, h, data);
        break;
    case HCCL_VERBS_HERE:
        memcpy(&place, data, sizeof(place));
        hccl_verbs_take_place(ch->peer, &place, h->bytes);
        break;
    case HCCL_VERBS_WRITTEN:
    case HCCL_VERBS_PIECE:
        take_part(ch->peer, h, data);
        break;
    case HCCL_VERBS_NOTHING:
        break;
    }
    consume(ch);
    make_room(ch);
}

void hccl_verbs_whole_arrived(hccl_verbs_channel_t *ch, uint32_t id)
{
    hccl_verbs_message_t *m = hccl_verbs_find(ch->peer->receiving, id);
    ch->peer->failures = 0;
    if (NULL != m) {
        complete(m);
    }
    consume(ch);
    make_room(ch);
}
