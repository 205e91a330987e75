/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Cards of processes: published once in the modex, looked up and kept when a communicator needs
 * them.
 */
#include <string.h>

#include "coll_hccl.h"

/* What travels: the packed card, then the rest in this machine's byte order (a process of another
 * byte order is on another node, and its settings hash then differs, which is right: it is refused,
 * see coll_hccl_module.c). */
typedef struct wire {
    uint8_t card[HCCL_CARD_BYTES];
    hccl_region_card_t region;
    hccl_tuning_t tuning;
    uint64_t rdma;
    uint64_t settings;
} wire_t;

static opal_hash_table_t peers;
static bool have_table;
static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;

int hccl_procs_publish(const hccl_peer_t *mine)
{
    wire_t wire;
    int rc;
    memset(&wire, 0, sizeof(wire));
    hccl_card_pack(&mine->card, wire.card);
    wire.region = mine->region;
    wire.tuning = mine->tuning;
    wire.rdma = mine->rdma;
    wire.settings = mine->settings;
    OPAL_MODEX_SEND(rc, OPAL_PMIX_GLOBAL, &mca_coll_hccl_component.collm_version, &wire,
                    sizeof(wire));
    return rc;
}

/* Asks the modex. NULL: nothing there, or not of this version. */
static hccl_peer_t *receive(ompi_proc_t *proc)
{
    void *data = NULL;
    size_t size = 0;
    int rc;
    OPAL_MODEX_RECV(rc, &mca_coll_hccl_component.collm_version, &proc->super.proc_name, &data,
                    &size);
    hccl_peer_t *peer = NULL;
    if (OPAL_SUCCESS == rc && sizeof(wire_t) == size) {
        wire_t wire;
        memcpy(&wire, data, sizeof(wire));
        peer = malloc(sizeof(*peer));
        if (NULL != peer
            && HCCL_OK != hccl_card_unpack(wire.card, sizeof(wire.card), &peer->card, NULL, 0)) {
            free(peer);
            peer = NULL;
        } else if (NULL != peer) {
            peer->region = wire.region;
            peer->tuning = wire.tuning;
            peer->rdma = (uint8_t) wire.rdma;
            peer->settings = wire.settings;
        }
    }
    free(data);
    return peer;
}

const hccl_peer_t *hccl_procs_find(ompi_proc_t *proc)
{
    uint64_t key = (uint64_t) proc->super.proc_name.jobid << 32 | proc->super.proc_name.vpid;
    void *found = NULL;
    opal_mutex_lock(&lock);
    if (!have_table) {
        OBJ_CONSTRUCT(&peers, opal_hash_table_t);
        have_table = OPAL_SUCCESS == opal_hash_table_init(&peers, 64);
    }
    if (have_table && OPAL_SUCCESS != opal_hash_table_get_value_uint64(&peers, key, &found)) {
        found = receive(proc);
        if (NULL != found && OPAL_SUCCESS != opal_hash_table_set_value_uint64(&peers, key, found)) {
            free(found);
            found = NULL;
        }
    }
    opal_mutex_unlock(&lock);
    return found;
}

void hccl_procs_forget(void)
{
    uint64_t key;
    void *peer;
    void *node;
    if (!have_table) {
        return;
    }
    int rc = opal_hash_table_get_first_key_uint64(&peers, &key, &peer, &node);
    while (OPAL_SUCCESS == rc) {
        free(peer);
        rc = opal_hash_table_get_next_key_uint64(&peers, &key, &peer, node, &node);
    }
    OBJ_DESTRUCT(&peers);
    have_table = false;
}
