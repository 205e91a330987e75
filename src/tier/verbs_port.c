/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One port of this process: see verbs_engine.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tier/verbs_engine.h"

/* Completions that may be there at once, to begin with; more connections make it longer. */
#define FIRST_CQE 1024

/* Registered for a trial: as much as a few connections need. */
#define TRIAL_BYTES ((size_t) 1 << 20)

/* Bytes that a device takes with the work request, if it can. */
#define INLINE_WANTED 128

/* Longest work request: shorter ones tell sooner, and some devices count in 31 bits. */
#define LONGEST_REQUEST (UINT64_C(1) << 30)

/* What the port says of itself now. */
static hccl_verbs_state_t ask_port(const hccl_verbs_t *v, const hccl_verbs_port_t *port,
                                   struct ibv_port_attr *attr, union ibv_gid *gid)
{
    static const union ibv_gid zero;
    const uint8_t number = port->card.port;
    memset(gid, 0, sizeof(*gid));
    if (0 != v->table->query_port(port->context, number, attr)
        || IBV_LINK_LAYER_ETHERNET != attr->link_layer) {
        return HCCL_VERBS_NO_DEVICE;
    }
    if (IBV_PORT_ACTIVE != attr->state) {
        return HCCL_VERBS_PORT_DOWN;
    }
    if (port->gid_index < 0 || port->gid_index > UINT8_MAX
        || 0 != v->table->query_gid(port->context, number, port->gid_index, gid)
        || 0 == memcmp(gid, &zero, sizeof(*gid))) {
        return HCCL_VERBS_NO_GID;
    }
    return HCCL_VERBS_READY;
}

static hccl_verbs_state_t learn_port(const hccl_verbs_t *v, hccl_verbs_port_t *port)
{
    struct ibv_port_attr attr;
    union ibv_gid gid;
    hccl_verbs_state_t state = ask_port(v, port, &attr, &gid);
    if (HCCL_VERBS_READY == state) {
        port->card.mtu = (uint8_t) attr.active_mtu;
        port->longest = attr.max_msg_sz < LONGEST_REQUEST && attr.max_msg_sz > 0 ? attr.max_msg_sz
                                                                                 : LONGEST_REQUEST;
        memcpy(port->card.gid, gid.raw, sizeof(port->card.gid));
    }
    return state;
}

/* Whether memory can be registered and a queue pair made: limits show here, and not in the middle of a
 * collective. */
static hccl_verbs_state_t try_port(const hccl_verbs_t *v, hccl_verbs_port_t *port)
{
    struct ibv_device_attr attr;
    if (0 != v->table->query_device(port->context, &attr) || v->send_depth > attr.max_qp_wr
        || v->receive_depth > attr.max_qp_wr) {
        return HCCL_VERBS_NO_DEVICE;
    }
    port->reads = attr.max_qp_rd_atom > 0 && attr.max_qp_init_rd_atom > 0;
    port->cqe = FIRST_CQE < attr.max_cqe ? FIRST_CQE : attr.max_cqe;
    port->pd = v->table->alloc_pd(port->context);
    if (v->set.sleeps) {
        port->channel = v->table->create_comp_channel(port->context);
    }
    port->cq = NULL == port->pd
                   ? NULL
                   : v->table->create_cq(port->context, port->cqe, NULL, port->channel, 0);
    if (NULL == port->cq) {
        return HCCL_VERBS_NO_MEMORY;
    }
    hccl_verbs_state_t state = HCCL_VERBS_NO_MEMORY;
    void *memory = aligned_alloc(4096, TRIAL_BYTES);
    struct ibv_mr *mr =
        NULL == memory ? NULL
                       : v->table->reg_mr(port->pd, memory, TRIAL_BYTES, IBV_ACCESS_LOCAL_WRITE);
    if (NULL != mr) {
        struct ibv_qp *qp = hccl_verbs_queue_pair(v, port);
        if (NULL != qp) {
            (void) v->table->destroy_qp(qp);
            state = HCCL_VERBS_READY;
        }
        (void) v->table->dereg_mr(mr);
    }
    free(memory);
    return state;
}

struct ibv_qp *hccl_verbs_queue_pair(const hccl_verbs_t *v, hccl_verbs_port_t *port)
{
    struct ibv_qp *qp;
    /* As much as there is, if a header at least fits; else nothing. */
    static const uint32_t inlines[] = {INLINE_WANTED, 64, sizeof(hccl_verbs_header_t), 0};
    for (size_t i = 0; i < sizeof(inlines) / sizeof(inlines[0]); i++) {
        struct ibv_qp_init_attr attr = {.send_cq = port->cq,
                                        .recv_cq = port->cq,
                                        .cap = {.max_send_wr = (uint32_t) v->send_depth,
                                                .max_recv_wr = (uint32_t) v->receive_depth,
                                                .max_send_sge = 1,
                                                .max_recv_sge = 1,
                                                .max_inline_data = inlines[i]},
                                        .qp_type = IBV_QPT_RC};
        qp = v->table->create_qp(port->pd, &attr);
        if (NULL != qp) {
            port->inlines = attr.cap.max_inline_data;
            return qp;
        }
    }
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------- */

void hccl_verbs_port_close(const hccl_verbs_t *v, hccl_verbs_port_t *port)
{
    hccl_verbs_cache_fini(&port->cache);
    if (NULL != port->cq) {
        (void) v->table->destroy_cq(port->cq);
    }
    if (NULL != port->channel) {
        (void) v->table->destroy_comp_channel(port->channel);
    }
    if (NULL != port->pd) {
        (void) v->table->dealloc_pd(port->pd);
    }
    if (NULL != port->context) {
        (void) v->table->close_device(port->context);
    }
    free(port);
}

void hccl_verbs_port_open(const hccl_verbs_t *v, const char *device, int number, int gid_index,
                          hccl_verbs_card_t *card, hccl_verbs_port_t **port)
{
    memset(card, 0, sizeof(*card));
    card->state = HCCL_VERBS_NO_MEMORY;
    hccl_verbs_port_t *new = calloc(1, sizeof(*new));
    if (NULL == new) {
        return;
    }
    new->gid_index = gid_index;
    new->card.port = (uint8_t) number;
    snprintf(new->card.device, sizeof(new->card.device), "%s", device);
    new->context = v->table->open_device(device);
    hccl_verbs_state_t state = NULL == new->context ? HCCL_VERBS_NO_DEVICE : learn_port(v, new);
    state = HCCL_VERBS_READY == state ? try_port(v, new) : state;
    new->card.state = (uint8_t) state;
    hccl_verbs_cache_init(&new->cache, v->table, new->pd, v->set.registered_most, v->keeps);
    *card = new->card;
    if (HCCL_VERBS_READY == state) {
        *port = new;
    } else {
        hccl_verbs_port_close(v, new);
    }
}

hccl_verbs_port_t *hccl_verbs_port_at(hccl_verbs_t *v, int at)
{
    if (NULL == v->port[at]) {
        const hccl_verbs_card_t *known = &v->ports.card[at];
        hccl_verbs_card_t card;
        hccl_verbs_port_t *port = NULL;
        hccl_verbs_port_open(v, known->device, known->port, v->gid_index[at], &card, &port);
        for (size_t i = 0; NULL != port && i < v->noffers; i++) {
            const hccl_verbs_offer_t *offer = &v->offers[i];
            if (!hccl_verbs_cache_fix(&port->cache, offer->memory, offer->bytes)) {
                /* Then it is message by message, or they go in pieces. */
                hccl_log_info("%s port %d: shared memory cannot be registered as a whole",
                              known->device, known->port);
                break;
            }
        }
        /* Who forgets memory reads this without the lock. */
        __atomic_store_n(&v->port[at], port, __ATOMIC_RELEASE);
    }
    return v->port[at];
}

bool hccl_verbs_port_works(hccl_verbs_t *v, int at)
{
    struct ibv_port_attr attr;
    union ibv_gid gid;
    const hccl_verbs_port_t *port = hccl_verbs_port_at(v, at);
    return NULL != port && HCCL_VERBS_READY == ask_port(v, port, &attr, &gid)
           && 0 == memcmp(gid.raw, v->ports.card[at].gid, sizeof(gid.raw));
}
