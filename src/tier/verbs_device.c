/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The port of this process, and what belongs to it as a whole: see verbs_engine.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tier/verbs_engine.h"

/* Completions that may be there at once, to begin with; more connections make it longer. */
#define FIRST_CQE 1024

/* Registered for a trial: as much as a few connections need. */
#define TRIAL_BYTES ((size_t) 1 << 20)

/* Bytes that a device takes with the work request, if it can. */
#define INLINE_WANTED 128

/* Longest work request: shorter ones tell sooner, and some devices count in 31 bits. */
#define LONGEST_REQUEST (UINT64_C(1) << 30)

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

void hccl_verbs_end(hccl_verbs_message_t *m, int error)
{
    hccl_verbs_cache_put(&m->peer->v->cache, m->reg);
    m->reg = NULL;
    m->error = error;
    atomic_store_explicit(&m->end, HCCL_VERBS_ENDED, memory_order_release);
}

/* ---- the port --------------------------------------------------------------------------------- */

/* What the port says of itself. */
static hccl_verbs_state_t ask_port(hccl_verbs_t *v)
{
    struct ibv_port_attr attr;
    union ibv_gid gid;
    memset(&gid, 0, sizeof(gid));
    if (0 != v->table->query_port(v->context, (uint8_t) v->port, &attr)
        || IBV_LINK_LAYER_ETHERNET != attr.link_layer) {
        return HCCL_VERBS_NO_DEVICE;
    }
    if (IBV_PORT_ACTIVE != attr.state) {
        return HCCL_VERBS_PORT_DOWN;
    }
    v->card.mtu = (uint8_t) attr.active_mtu;
    v->longest = attr.max_msg_sz < LONGEST_REQUEST && attr.max_msg_sz > 0 ? attr.max_msg_sz
                                                                          : LONGEST_REQUEST;
    static const union ibv_gid zero;
    if (v->gid_index < 0
        || 0 != v->table->query_gid(v->context, (uint8_t) v->port, v->gid_index, &gid)
        || 0 == memcmp(&gid, &zero, sizeof(gid))) {
        return HCCL_VERBS_NO_GID;
    }
    memcpy(v->card.gid, gid.raw, sizeof(v->card.gid));
    return HCCL_VERBS_READY;
}

/* Whether memory can be registered and a queue pair made: limits show here, and not in the middle of a
 * collective. */
static hccl_verbs_state_t try_port(hccl_verbs_t *v)
{
    struct ibv_device_attr attr;
    if (0 != v->table->query_device(v->context, &attr)) {
        return HCCL_VERBS_NO_DEVICE;
    }
    v->receive_depth = 2 * v->set.slots;
    v->send_depth = HCCL_VERBS_REQUESTS_PER_SLOT * v->set.slots;
    if (v->send_depth > attr.max_qp_wr || v->receive_depth > attr.max_qp_wr) {
        return HCCL_VERBS_NO_DEVICE;
    }
    v->cqe = FIRST_CQE < attr.max_cqe ? FIRST_CQE : attr.max_cqe;
    v->pd = v->table->alloc_pd(v->context);
    v->cq = NULL == v->pd ? NULL : v->table->create_cq(v->context, v->cqe, NULL, NULL, 0);
    if (NULL == v->cq) {
        return HCCL_VERBS_NO_MEMORY;
    }
    hccl_verbs_state_t state = HCCL_VERBS_NO_MEMORY;
    void *memory = aligned_alloc(4096, TRIAL_BYTES);
    struct ibv_mr *mr = NULL == memory
                            ? NULL
                            : v->table->reg_mr(v->pd, memory, TRIAL_BYTES, IBV_ACCESS_LOCAL_WRITE);
    if (NULL != mr) {
        struct ibv_qp *qp = hccl_verbs_queue_pair(v);
        if (NULL != qp) {
            (void) v->table->destroy_qp(qp);
            state = HCCL_VERBS_READY;
        }
        (void) v->table->dereg_mr(mr);
    }
    free(memory);
    return state;
}

struct ibv_qp *hccl_verbs_queue_pair(hccl_verbs_t *v)
{
    struct ibv_qp *qp;
    uint32_t bytes = INLINE_WANTED;
    do {
        struct ibv_qp_init_attr attr = {.send_cq = v->cq,
                                        .recv_cq = v->cq,
                                        .cap = {.max_send_wr = (uint32_t) v->send_depth,
                                                .max_recv_wr = (uint32_t) v->receive_depth,
                                                .max_send_sge = 1,
                                                .max_recv_sge = 1,
                                                .max_inline_data = bytes},
                                        .qp_type = IBV_QPT_RC};
        qp = v->table->create_qp(v->pd, &attr);
        if (NULL != qp) {
            v->inlines = attr.cap.max_inline_data;
            return qp;
        }
        bytes /= 2;
    } while (bytes >= sizeof(hccl_verbs_header_t));
    return NULL;
}

static void close_port(hccl_verbs_t *v)
{
    if (NULL != v->cq) {
        (void) v->table->destroy_cq(v->cq);
    }
    if (NULL != v->pd) {
        (void) v->table->dealloc_pd(v->pd);
    }
    if (NULL != v->context) {
        (void) v->table->close_device(v->context);
    }
    pthread_mutex_destroy(&v->lock);
    free(v);
}

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
    new->port = port;
    new->gid_index = gid_index;
    new->card.port = (uint8_t) port;
    snprintf(new->card.device, sizeof(new->card.device), "%s", device);
    new->context = table->open_device(device);
    hccl_verbs_state_t state = NULL == new->context ? HCCL_VERBS_NO_DEVICE : ask_port(new);
    state = HCCL_VERBS_READY == state ? try_port(new) : state;
    new->card.state = (uint8_t) state;
    *card = new->card;
    if (HCCL_VERBS_READY != state) {
        close_port(new);
        return HCCL_ERR_NOTSUP;
    }
    hccl_verbs_cache_init(&new->cache, table, new->pd, settings->registered_most, false);
    *v = new;
    return HCCL_OK;
}

void hccl_verbs_set_carrier(hccl_verbs_t *v, const hccl_verbs_carrier_t *carrier)
{
    v->carrier = carrier;
}

void hccl_verbs_keep(hccl_verbs_t *v, bool keeps)
{
    v->cache.keeps = keeps;
}

bool hccl_verbs_offer(hccl_verbs_t *v, const void *memory, size_t bytes)
{
    pthread_mutex_lock(&v->lock);
    bool offered = hccl_verbs_cache_fix(&v->cache, memory, bytes);
    pthread_mutex_unlock(&v->lock);
    return offered;
}

void hccl_verbs_refuse(hccl_verbs_t *v)
{
    v->refuses = true;
}

const hccl_verbs_card_t *hccl_verbs_card(const hccl_verbs_t *v)
{
    return &v->card;
}

void hccl_verbs_close(hccl_verbs_t *v)
{
    while (NULL != v->peers) {
        hccl_verbs_peer_t *peer = v->peers;
        v->peers = peer->next;
        hccl_verbs_peer_free(peer);
    }
    hccl_verbs_cache_fini(&v->cache);
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
    close_port(v);
}

void hccl_verbs_forget(hccl_verbs_t *v, const void *address, size_t bytes)
{
    hccl_verbs_cache_forget(&v->cache, address, bytes);
}

void hccl_verbs_count(hccl_verbs_t *v, hccl_verbs_counters_t *counters)
{
    pthread_mutex_lock(&v->lock);
    *counters = v->count;
    counters->registrations = v->cache.made;
    counters->found = v->cache.hits;
    pthread_mutex_unlock(&v->lock);
}
