/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The sender's side of messages: see verbs_engine.h.
 */
#include "base/log.h"
#include "tier/verbs_engine.h"

/* Parts of a long message begin at multiples of this. */
#define PART_ALIGN ((size_t) 64)

/* Most work requests for one part: several parts fit into a send queue. */
#define PART_REQUESTS 4

static bool queue_item(hccl_verbs_channel_t *ch, hccl_verbs_message_t *m, hccl_verbs_kind_t kind)
{
    hccl_verbs_item_t *item = hccl_verbs_item_new(m->peer->v);
    if (NULL == item) {
        return false;
    }
    item->kind = kind;
    item->message = m;
    hccl_verbs_queue(ch, item);
    return true;
}

/* On a connection. */
void hccl_verbs_start(hccl_verbs_message_t *m)
{
    hccl_verbs_peer_t *peer = m->peer;
    bool is_long = m->bytes > peer->v->set.eager;
    hccl_verbs_t *v = peer->v;
    v->count.messages++;
    if (0 != v->set.break_every && 0 == v->count.messages % (uint64_t) v->set.break_every) {
        hccl_verbs_stop(peer);
    }
    if (is_long) {
        m->id = hccl_verbs_next_id(peer);
        hccl_verbs_append(&peer->sending, m);
    }
    if (!queue_item(&peer->channel[0], m, is_long ? HCCL_VERBS_ASK : HCCL_VERBS_EAGER)) {
        if (is_long) {
            hccl_verbs_remove(&peer->sending, m);
        }
        hccl_verbs_end(m, HCCL_ERR_NOMEM);
    }
}

int hccl_verbs_send(hccl_verbs_peer_t *peer, const hccl_verbs_key_t *key, const void *data,
                    size_t bytes, hccl_verbs_message_t **message)
{
    hccl_verbs_t *v = peer->v;
    pthread_mutex_lock(&v->lock);
    hccl_verbs_message_t *m;
    int rc = hccl_verbs_message_new(peer, key, (void *) (uintptr_t) data, bytes, &m);
    if (HCCL_OK == rc) {
        m->sends = true;
        *message = m;
        if (HCCL_VERBS_CONNECTED == peer->state) {
            hccl_verbs_start(m);
            hccl_verbs_pump(&peer->channel[0]);
        } else {
            hccl_verbs_append(&peer->starting, m);
            hccl_verbs_want(peer);
        }
    }
    pthread_mutex_unlock(&v->lock);
    return rc;
}

/* Parts of a long message: one for each channel that is worth it, and no longer than a send queue
 * should have to hold. */
static size_t parts_of(const hccl_verbs_peer_t *peer, size_t bytes)
{
    const hccl_verbs_t *v = peer->v;
    size_t parts = bytes / v->set.part_min;
    size_t most = (size_t) peer->port->longest * PART_REQUESTS;
    parts = parts < (size_t) v->set.channels ? parts : (size_t) v->set.channels;
    return parts > (bytes + most - 1) / most ? parts : (bytes + most - 1) / most;
}

/* Writes it where the peer said, part by part; false: it cannot be done that way. */
static bool write_parts(hccl_verbs_message_t *m)
{
    hccl_verbs_peer_t *peer = m->peer;
    hccl_verbs_t *v = peer->v;
    size_t parts = parts_of(peer, m->bytes);
    size_t each = (m->bytes / parts + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
    parts = (m->bytes + each - 1) / each;
    hccl_verbs_item_t *items = NULL;
    for (size_t i = 0; i < parts; i++) {
        hccl_verbs_item_t *item = hccl_verbs_item_new(v);
        if (NULL == item) {
            break;
        }
        item->next = items;
        items = item;
        m->parts++;
    }
    bool all = parts == (size_t) m->parts;
    m->reg = all ? hccl_verbs_cache_get(&peer->port->cache, m->data, m->bytes, false) : NULL;
    for (size_t i = 0; i < (size_t) m->parts; i++) {
        hccl_verbs_item_t *item = items;
        items = item->next;
        if (NULL == m->reg) {
            hccl_verbs_item_free(v, item);
            continue;
        }
        item->kind = HCCL_VERBS_WRITTEN;
        item->message = m;
        item->their_id = m->their_id;
        item->parts = (uint32_t) parts;
        item->offset = i * each;
        item->length = m->bytes - item->offset < each ? m->bytes - item->offset : each;
        hccl_verbs_queue(&peer->channel[i % (size_t) v->set.channels], item);
    }
    v->count.from_there += NULL != m->reg && m->reg->fixed ? 1 : 0;
    m->parts = NULL == m->reg ? 0 : m->parts;
    return NULL != m->reg;
}

/* The peer says once more where a message goes that has ended here: so all of it is there. */
static void repeat_end(hccl_verbs_peer_t *peer, const hccl_verbs_place_t *place)
{
    hccl_verbs_item_t *item = hccl_verbs_item_new(peer->v);
    if (NULL == item) {
        /* The receiver waits for it. */
        hccl_log_fatal("no memory for a message");
    }
    item->kind = HCCL_VERBS_WRITTEN;
    item->their_id = place->receiver;
    item->parts = 1;
    hccl_verbs_queue(&peer->channel[0], item);
}

/* The peer has matched what I asked for, and says where it goes. What does not fit there stays here: it is the
 * receiver's error, and he reports it. */
void hccl_verbs_take_place(hccl_verbs_peer_t *peer, const hccl_verbs_place_t *place, uint64_t room)
{
    hccl_verbs_message_t *m = hccl_verbs_find(peer->sending, place->sender);
    if (NULL == m) {
        repeat_end(peer, place);
        return;
    }
    if (m->in_pieces) {
        return; /* said once more; pieces need no place */
    }
    m->their_id = place->receiver;
    m->address = place->address;
    m->rkey = place->rkey;
    m->bytes = room < m->bytes ? (size_t) room : m->bytes;
    if (HCCL_VERBS_NO_ROOM == place->way) {
        hccl_verbs_remove(&peer->sending, m);
        hccl_verbs_end(m, HCCL_OK);
    } else if (HCCL_VERBS_WRITE == place->way && write_parts(m)) {
        hccl_verbs_pump_all(peer);
    } else if (queue_item(&peer->channel[0], m, HCCL_VERBS_PIECE)) {
        m->in_pieces = true;
    } else {
        hccl_verbs_remove(&peer->sending, m);
        hccl_verbs_end(m, HCCL_ERR_NOMEM);
    }
}

void hccl_verbs_part_arrived(hccl_verbs_message_t *m)
{
    if (0 == --m->parts) {
        hccl_verbs_remove(&m->peer->sending, m);
        hccl_verbs_end(m, HCCL_OK);
    }
}
