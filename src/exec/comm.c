/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See comm.h.
 */
#include "exec/comm.h"

#include <stdlib.h>
#include <string.h>

#include "exec/arrivals.h"

hccl_engine_t hccl_engine;

void hccl_comm_init(hccl_comm_t *hc, ompi_communicator_t *comm, hccl_shape_t *shape, bool crowded,
                    const hccl_region_card_t **regions, const size_t slot_bytes[HCCL_LANES])
{
    memset(hc, 0, sizeof(*hc));
    hc->comm = comm;
    hc->local_comm = OMPI_COMM_IS_INTER(comm) ? comm->c_local_comm : comm;
    hc->rank = ompi_comm_rank(comm);
    hc->size = ompi_comm_size(comm);
    hc->remote_size = OMPI_COMM_IS_INTER(comm) ? ompi_comm_remote_size(comm) : 0;
    hc->shape = shape;
    hc->crowded = crowded;
    hc->regions = regions;
    memcpy(hc->slot_bytes, slot_bytes, sizeof(hc->slot_bytes));
    OBJ_CONSTRUCT(&hc->plan_lock, opal_mutex_t);
    for (int i = 0; i < HCCL_ORDERS * HCCL_LANES; i++) {
        hccl_lane_init(&hc->lanes[i / HCCL_LANES][i % HCCL_LANES], hccl_engine.slots,
                       slot_bytes[i % HCCL_LANES]);
    }
}

void hccl_comm_fini(hccl_comm_t *hc)
{
    for (int i = 0; i < HCCL_ORDERS * HCCL_LANES; i++) {
        hccl_lane_close(&hc->lanes[i / HCCL_LANES][i % HCCL_LANES]);
    }
    for (int i = 0; i < HCCL_REPEATS; i++) {
        free(hc->repeats[i]);
    }
    hccl_arrivals_free(hc);
    hccl_cache_clear(&hc->plans);
    OBJ_DESTRUCT(&hc->plan_lock);
    hccl_shape_free(hc->shape);
    hccl_shape_free(hc->flat);
    free(hc->regions);
    free(hc->sources);
    free(hc->next_rooted);
    free(hc->trials);
    memset(hc, 0, sizeof(*hc));
}

int hccl_comm_shape(hccl_comm_t *hc, bool flat, const hccl_shape_t **shape)
{
    if (flat && NULL == hc->flat) {
        int rc = hccl_shape_flat(hc->size, &hc->flat);
        if (HCCL_OK != rc) {
            hc->flat = NULL;
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    *shape = flat ? hc->flat : hc->shape;
    return OMPI_SUCCESS;
}

uint64_t hccl_comm_lane_key(const hccl_comm_t *hc, int kind, uint32_t instance)
{
    /* Keys below HCCL_KEY_FIRST are marks. Communicators' numbers are small: Open MPI uses them again. */
    return (hccl_compat_comm_number(hc->comm) << 34 | (uint64_t) instance << 2 | (uint64_t) kind)
           + HCCL_KEY_FIRST;
}
