/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of the engine, and lists that belong to the process as a whole: see verbs_engine.h.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tier/verbs_engine.h"

uint64_t hccl_verbs_now(void)
{
    struct timespec now;
    (void) clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

/* ---- lists ------------------------------------------------------------------------------------ */

/* These two come from lists that keep what was used: no memory is asked for in the long run. */
hccl_verbs_item_t *hccl_verbs_item_new(hccl_verbs_t *v)
{
    hccl_verbs_item_t *item = v->free_items;
    if (NULL != item) {
        v->free_items = item->next;
        memset(item, 0, sizeof(*item));
        return item;
    }
    return calloc(1, sizeof(*item));
}

void hccl_verbs_item_free(hccl_verbs_t *v, hccl_verbs_item_t *item)
{
    item->next = v->free_items;
    v->free_items = item;
}

int hccl_verbs_message_new(hccl_verbs_peer_t *peer, const hccl_verbs_key_t *key, void *data,
                           size_t bytes, hccl_verbs_message_t **message)
{
    if (HCCL_VERBS_REFUSED == peer->state || HCCL_VERBS_LOST == peer->state) {
        return HCCL_VERBS_REFUSED == peer->state ? HCCL_ERR_NOTSUP : HCCL_ERR_SYS;
    }
    hccl_verbs_message_t *m = peer->v->free_messages;
    if (NULL != m) {
        peer->v->free_messages = m->next;
        memset(m, 0, sizeof(*m));
    } else {
        m = calloc(1, sizeof(*m));
    }
    if (NULL == m) {
        return HCCL_ERR_NOMEM;
    }
    m->peer = peer;
    m->key = *key;
    m->data = data;
    m->bytes = bytes;
    *message = m;
    return HCCL_OK;
}

void hccl_verbs_message_free(hccl_verbs_message_t *m)
{
    hccl_verbs_t *v = m->peer->v;
    pthread_mutex_lock(&v->lock);
    m->next = v->free_messages;
    v->free_messages = m;
    pthread_mutex_unlock(&v->lock);
}

void hccl_verbs_append(hccl_verbs_message_t **list, hccl_verbs_message_t *m)
{
    while (NULL != *list) {
        list = &(*list)->next;
    }
    m->next = NULL;
    *list = m;
}

void hccl_verbs_remove(hccl_verbs_message_t **list, hccl_verbs_message_t *m)
{
    while (NULL != *list && m != *list) {
        list = &(*list)->next;
    }
    if (NULL != *list) {
        *list = m->next;
    }
}

hccl_verbs_message_t *hccl_verbs_find(hccl_verbs_message_t *list, uint32_t id)
{
    while (NULL != list && id != list->id) {
        list = list->next;
    }
    return list;
}

uint32_t hccl_verbs_next_id(hccl_verbs_peer_t *peer)
{
    peer->next_id = (peer->next_id + 1) & ~HCCL_VERBS_WHOLE;
    return peer->next_id;
}

void hccl_verbs_end(hccl_verbs_message_t *m, int error)
{
    if (NULL != m->reg) {
        hccl_verbs_cache_put(&m->peer->port->cache, m->reg);
        m->reg = NULL;
    }
    m->error = error;
    atomic_store_explicit(&m->end, HCCL_VERBS_ENDED, memory_order_release);
}

/* ---- life ------------------------------------------------------------------------------------- */

int hccl_verbs_open(const hccl_verbs_table_t *table, const hccl_verbs_settings_t *settings,
                    const char *device, int port, int gid_index, hccl_verbs_card_t *card,
                    hccl_verbs_t **v)
{
    memset(card, 0, sizeof(*card));
    card->state = HCCL_VERBS_NO_MEMORY;
    hccl_verbs_t *new = calloc(1, sizeof(*new));
    if (NULL == new) {
        return HCCL_ERR_NOMEM;
    }
    pthread_mutex_init(&new->lock, NULL);
    new->table = table;
    new->set = *settings;
    new->receive_depth = 2 * settings->slots;
    new->send_depth = HCCL_VERBS_REQUESTS_PER_SLOT * settings->slots;
    hccl_verbs_port_open(new, device, port, gid_index, card, &new->port[0]);
    if (HCCL_VERBS_READY != card->state) {
        pthread_mutex_destroy(&new->lock);
        free(new);
        return HCCL_ERR_NOTSUP;
    }
    new->ports.n = 1;
    new->ports.card[0] = *card;
    new->gid_index[0] = gid_index;
    *v = new;
    return HCCL_OK;
}

void hccl_verbs_set_ports(hccl_verbs_t *v, int me, const hccl_verbs_card_t *cards,
                          const int *gid_index, int n, int first)
{
    hccl_verbs_port_t *open = v->port[v->ports.first];
    v->port[v->ports.first] = NULL;
    v->port[first] = open;
    v->me = me;
    v->ports.n = n;
    v->ports.first = first;
    for (int i = 0; i < n; i++) {
        v->ports.card[i] = i == first ? open->card : cards[i];
        v->gid_index[i] = gid_index[i];
    }
}

void hccl_verbs_set_carrier(hccl_verbs_t *v, const hccl_verbs_carrier_t *carrier)
{
    v->carrier = carrier;
}

void hccl_verbs_keep(hccl_verbs_t *v, bool keeps)
{
    v->keeps = keeps;
    for (int i = 0; i < v->ports.n; i++) {
        if (NULL != v->port[i]) {
            v->port[i]->cache.keeps = keeps;
        }
    }
}

bool hccl_verbs_offer(hccl_verbs_t *v, const void *memory, size_t bytes)
{
    pthread_mutex_lock(&v->lock);
    hccl_verbs_offer_t *more = realloc(v->offers, (v->noffers + 1) * sizeof(*more));
    bool offered = NULL != more;
    v->offers = offered ? more : v->offers;
    for (int i = 0; offered && i < v->ports.n; i++) {
        offered = NULL == v->port[i] || hccl_verbs_cache_fix(&v->port[i]->cache, memory, bytes);
    }
    if (offered) {
        v->offers[v->noffers++] = (hccl_verbs_offer_t){memory, bytes};
    }
    pthread_mutex_unlock(&v->lock);
    return offered;
}

void hccl_verbs_refuse(hccl_verbs_t *v)
{
    v->refuses = true;
}

const hccl_verbs_card_t *hccl_verbs_card(const hccl_verbs_t *v)
{
    return &v->ports.card[v->ports.first];
}

void hccl_verbs_close(hccl_verbs_t *v)
{
    while (NULL != v->peers) {
        hccl_verbs_peer_t *peer = v->peers;
        v->peers = peer->next;
        hccl_verbs_peer_free(peer);
    }
    for (int i = 0; i < v->ports.n; i++) {
        if (NULL != v->port[i]) {
            hccl_verbs_port_close(v, v->port[i]);
        }
    }
    while (NULL != v->free_items) {
        hccl_verbs_item_t *item = v->free_items;
        v->free_items = item->next;
        free(item);
    }
    while (NULL != v->free_messages) {
        hccl_verbs_message_t *m = v->free_messages;
        v->free_messages = m->next;
        free(m);
    }
    while (NULL != v->free_early) {
        hccl_verbs_early_t *e = v->free_early;
        v->free_early = e->next;
        free(e);
    }
    free(v->channels);
    free(v->offers);
    pthread_mutex_destroy(&v->lock);
    free(v);
}

void hccl_verbs_forget(hccl_verbs_t *v, const void *address, size_t bytes)
{
    for (int i = 0; i < HCCL_VERBS_MAX_PORTS; i++) {
        hccl_verbs_port_t *port = __atomic_load_n(&v->port[i], __ATOMIC_ACQUIRE);
        if (NULL != port) {
            hccl_verbs_cache_forget(&port->cache, address, bytes);
        }
    }
}

void hccl_verbs_count(hccl_verbs_t *v, hccl_verbs_counters_t *counters)
{
    pthread_mutex_lock(&v->lock);
    *counters = v->count;
    for (int i = 0; i < v->ports.n; i++) {
        if (NULL != v->port[i]) {
            counters->registrations += v->port[i]->cache.made;
            counters->found += v->port[i]->cache.hits;
        }
    }
    pthread_mutex_unlock(&v->lock);
}
