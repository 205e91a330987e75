/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is done with finished shapes: leaders and the order of rings, hash, subsets, comparison.
 */
#include <stdlib.h>
#include <string.h>

#include "topo/shape_internal.h"

static uint64_t mix(uint64_t hash, int32_t word)
{
    hash = (hash ^ (uint32_t) word) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

uint64_t hccl_shape_hash(const hccl_shape_t *shape)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (uint64_t) shape->nranks;

    for (int rank = 0; rank < shape->nranks; rank++) {
        for (int level = 0; level < HCCL_LEVEL_COUNT; level++) {
            hash = mix(hash, hccl_place_id(&shape->place[rank], level));
        }
    }
    for (int v = 0; shape->led && v < shape->nnodes; v++) {
        hash = mix(hash, shape->lead[v]);
    }
    for (int v = 0; shape->ringed && v < shape->nnodes; v++) {
        hash = mix(hash, -1 - shape->ring[v]);
    }
    return hash;
}

void hccl_shape_settle(hccl_shape_t *shape)
{
    shape->led = false;
    for (int v = 0; v < shape->nnodes; v++) {
        shape->led = shape->led || 0 < shape->lead[v];
        shape->lead_at[v] = shape->node_start[v] + shape->lead[v];
    }
    for (int i = 0, at = 0; i < shape->nnodes; i++) {
        const int v = shape->ring[i];

        for (int k = shape->node_start[v]; k < shape->node_start[v + 1]; k++) {
            shape->ring_ranks[at++] = shape->node_ranks[k];
        }
        shape->seat[v] = i;
        shape->ring_start[i] = shape->node_start[v];
        shape->ring_lead_at[i] = shape->lead_at[v];
    }
    shape->hash = hccl_shape_hash(shape);
}

int hccl_shape_set_lead(hccl_shape_t *shape, const int *lead)
{
    for (int v = 0; v < shape->nnodes; v++) {
        if (0 > lead[v] || lead[v] >= shape->group[v].nranks) {
            return HCCL_ERR_ARG;
        }
    }
    memcpy(shape->lead, lead, (size_t) shape->nnodes * sizeof(*lead));
    hccl_shape_settle(shape);
    return HCCL_OK;
}

int hccl_shape_set_ring(hccl_shape_t *shape, const int *ring)
{
    const size_t n = (size_t) shape->nnodes;

    memset(shape->seat, -1, n * sizeof(*shape->seat));
    bool right = true;
    for (int i = 0; right && i < shape->nnodes; i++) {
        right = 0 <= ring[i] && ring[i] < shape->nnodes && -1 == shape->seat[ring[i]];
        if (right) {
            shape->seat[ring[i]] = i;
        }
    }
    if (right) {
        memcpy(shape->ring, ring, n * sizeof(*ring));
        shape->ringed = true;
    }
    hccl_shape_settle(shape);
    return right ? HCCL_OK : HCCL_ERR_ARG;
}

/* Leaders and ring of a part: ranks[i] of `whole` is rank i. A node of the part is one of the whole. */
static int inherit(const hccl_shape_t *whole, const int *ranks, hccl_shape_t *part)
{
    const size_t n = (size_t) part->nnodes;
    int *lead = calloc(2 * n + (size_t) whole->nnodes, sizeof(*lead));

    if (NULL == lead) {
        return HCCL_ERR_NOMEM;
    }
    int *ring = lead + n, *node = ring + n; /* node: of the part, plus 1, by that of the whole */
    for (int i = 0; i < part->nranks; i++) {
        const int v = whole->node_of[ranks[i]];

        node[v] = part->node_of[i] + 1;
        if (whole->local_of[ranks[i]] == whole->lead[v]) {
            lead[part->node_of[i]] = part->local_of[i];
        }
    }
    for (int i = 0, k = 0; i < whole->nnodes; i++) {
        if (0 < node[whole->ring[i]]) {
            ring[k++] = node[whole->ring[i]] - 1;
        }
    }
    int rc = hccl_shape_set_lead(part, lead);
    if (HCCL_OK == rc && whole->ringed) {
        rc = hccl_shape_set_ring(part, ring);
    }
    free(lead);
    return rc;
}

int hccl_shape_flat(int n, hccl_shape_t **out)
{
    if (n < 1) {
        return HCCL_ERR_ARG;
    }
    hccl_place_t *places = malloc((size_t) n * sizeof(*places));
    if (NULL == places) {
        return HCCL_ERR_NOMEM;
    }
    for (int rank = 0; rank < n; rank++) {
        places[rank] = (hccl_place_t){rank, -1, -1, -1, -1};
    }
    int rc = hccl_shape_from_places(places, n, out);
    free(places);
    return rc;
}

int hccl_shape_subset(const hccl_shape_t *whole, const int *ranks, int n, hccl_shape_t **out)
{
    if (NULL == whole || NULL == ranks || n < 1) {
        return HCCL_ERR_ARG;
    }
    hccl_shape_t *part = NULL;
    hccl_place_t *places = malloc((size_t) n * sizeof(*places));
    if (NULL == places) {
        return HCCL_ERR_NOMEM;
    }
    int rc = HCCL_OK;
    for (int i = 0; i < n && HCCL_OK == rc; i++) {
        if (ranks[i] < 0 || ranks[i] >= whole->nranks) {
            rc = HCCL_ERR_ARG;
        } else {
            places[i] = whole->place[ranks[i]];
        }
    }
    if (HCCL_OK == rc) {
        rc = hccl_shape_from_places(places, n, &part);
    }
    free(places);
    rc = HCCL_OK == rc ? inherit(whole, ranks, part) : rc;
    if (HCCL_OK == rc) {
        *out = part;
    } else {
        hccl_shape_free(part);
    }
    return rc;
}

void hccl_shape_free(hccl_shape_t *shape)
{
    free(shape);
}

bool hccl_shape_equal(const hccl_shape_t *a, const hccl_shape_t *b)
{
    return a->nranks == b->nranks && a->hash == b->hash
           && 0 == memcmp(a->place, b->place, (size_t) a->nranks * sizeof(*a->place))
           && a->ringed == b->ringed
           && 0 == memcmp(a->lead, b->lead, (size_t) a->nnodes * sizeof(*a->lead))
           && 0 == memcmp(a->ring, b->ring, (size_t) a->nnodes * sizeof(*a->ring));
}
