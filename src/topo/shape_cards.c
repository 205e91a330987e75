/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The shape that the cards of a communicator make: places, leaders and the order of rings.
 *
 * Refuses to know how a card was found out and how its bytes travel.
 */
#include <stdlib.h>

#include "topo/links.h"

typedef struct key_rank {
    uint64_t key;
    int rank;
} key_rank_t;

static int compare_keys(const void *va, const void *vb)
{
    const key_rank_t *a = va;
    const key_rank_t *b = vb;

    return a->key < b->key ? -1 : a->key > b->key;
}

static int from_places(const hccl_card_t *const *cards, int n, hccl_shape_t **out)
{
    hccl_place_t *places = malloc((size_t) n * sizeof(*places));
    key_rank_t *keys = malloc((size_t) n * sizeof(*keys));
    int rc = HCCL_ERR_NOMEM;
    if (NULL != places && NULL != keys) {
        for (int rank = 0; rank < n; rank++) {
            keys[rank] = (key_rank_t){NULL == cards[rank] ? 0 : cards[rank]->host_key, rank};
        }
        qsort(keys, (size_t) n, sizeof(*keys), compare_keys);
        int node = 0;
        for (int i = 0; i < n; i++) {
            const hccl_card_t *card = cards[keys[i].rank];
            node += 0 < i && (0 == keys[i].key || keys[i].key != keys[i - 1].key);
            places[keys[i].rank] = (hccl_place_t){node, -1, -1, -1, -1};
            if (NULL != card) {
                places[keys[i].rank] =
                    (hccl_place_t){node, card->package, card->numa, card->l3, card->core};
            }
        }
        rc = hccl_shape_from_places(places, n, out);
    }
    free(keys);
    free(places);
    return rc;
}

/* ---- leaders -------------------------------------------------------------------------------------- */

/* How far a rank is from the network; below all others if the user wants it to lead. */
static int remoteness(const hccl_card_t *card, int port)
{
    if (NULL == card || (0 > port && 0 == card->leads)) {
        return HCCL_FAR + 1;
    }
    return 0 != card->leads ? -1 : card->ports[port].distance;
}

static int find_leaders(const hccl_card_t *const *cards, hccl_shape_t *shape)
{
    bool any = false;

    for (int i = 0; i < shape->nranks; i++) {
        any = any || (NULL != cards[i] && (0 < cards[i]->nports || 0 != cards[i]->leads));
    }
    if (!any) {
        return HCCL_OK;
    }
    int *port = malloc((size_t) shape->nranks * sizeof(*port));
    int *lead = calloc((size_t) shape->nnodes, sizeof(*lead));
    int rc = HCCL_ERR_NOMEM;
    if (NULL != port && NULL != lead) {
        rc = hccl_ports_assign(cards, shape->nranks, port, NULL);
    }
    for (int v = 0; HCCL_OK == rc && v < shape->nnodes; v++) {
        const int *ranks = shape->node_ranks + shape->node_start[v];

        for (int i = 1; i < shape->group[v].nranks; i++) {
            if (remoteness(cards[ranks[i]], port[ranks[i]])
                < remoteness(cards[ranks[lead[v]]], port[ranks[lead[v]]])) {
                lead[v] = i;
            }
        }
    }
    rc = HCCL_OK == rc ? hccl_shape_set_lead(shape, lead) : rc;
    free(port);
    free(lead);
    return rc;
}

/* ---- rings ---------------------------------------------------------------------------------------- */

/* The nodes by the seats that the user gives them; nodes with the same seat in their own order. */
static int seat_nodes(const int *seat, hccl_shape_t *shape)
{
    const size_t n = (size_t) shape->nnodes;
    key_rank_t *keys = malloc(n * sizeof(*keys));
    int *ring = malloc(n * sizeof(*ring));
    int rc = HCCL_ERR_NOMEM;

    if (NULL != keys && NULL != ring) {
        for (int v = 0; v < shape->nnodes; v++) {
            keys[v] = (key_rank_t){(uint64_t) seat[v] * n + (uint64_t) v, v};
        }
        qsort(keys, n, sizeof(*keys), compare_keys);
        for (int i = 0; i < shape->nnodes; i++) {
            ring[i] = keys[i].rank;
        }
        rc = hccl_shape_set_ring(shape, ring);
    }
    free(keys);
    free(ring);
    return rc;
}

static int find_ring(const hccl_card_t *const *cards, const hccl_links_t *links,
                     hccl_shape_t *shape)
{
    int *seat = malloc(2 * (size_t) shape->nnodes * sizeof(*seat));
    bool seated = true;
    int rc = HCCL_OK;

    if (NULL == seat) {
        return HCCL_ERR_NOMEM;
    }
    int *site = seat + shape->nnodes;
    for (int v = 0; v < shape->nnodes; v++) {
        const hccl_card_t *card = cards[shape->node_ranks[shape->node_start[v]]];

        seat[v] = NULL == card ? -1 : card->seat;
        site[v] = NULL == card || NULL == links || card->site >= links->nhosts ? -1 : card->site;
        seated = seated && 0 <= seat[v];
    }
    if (seated) {
        rc = seat_nodes(seat, shape);
    } else if (NULL != links) {
        rc = hccl_links_order(links, site, shape);
    }
    free(seat);
    return rc;
}

int hccl_shape_from_cards(const hccl_card_t *const *cards, int n, const hccl_links_t *links,
                          hccl_shape_t **out)
{
    hccl_shape_t *shape = NULL;

    if (NULL == cards || NULL == out || n < 1) {
        return HCCL_ERR_ARG;
    }
    int rc = from_places(cards, n, &shape);
    rc = HCCL_OK == rc ? find_leaders(cards, shape) : rc;
    rc = HCCL_OK == rc ? find_ring(cards, links, shape) : rc;
    if (HCCL_OK == rc) {
        *out = shape;
    } else {
        hccl_shape_free(shape);
    }
    return rc;
}
