/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See open.h.
 */
#include "exec/open.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "select/select.h"

/* Each rank says why it cannot, if asked: the others cannot know. */
static void tell_why(const hccl_comm_t *hc, int rc)
{
    const char *why = "injected for a test";
    if (HCCL_ERR_NOMEM == rc) {
        why = "this process's region is full (coll_hccl_region_size), or memory is short";
    } else if (HCCL_ERR_SYS == rc) {
        why = "the region of a process of this node cannot be had (limits of open files, "
              "address space and file size: ulimit -n, -v and -f; another user or PID namespace)";
    }
    hccl_log_info("no shared memory for communicator %s here: %s", hc->comm->c_name, why);
}

/* What is agreed upon: the minimum over all ranks of each. */
enum { AGREE_OK, AGREE_HASH, AGREE_NOT_HASH, AGREE_HEAPS, AGREE_MEMORY, AGREE_AWAKE, AGREE_VALUES };

struct hccl_agree {
    hccl_exec_t x; /* the allreduce */
    uint64_t mine[AGREE_VALUES];
    uint64_t all[AGREE_VALUES];
};

/* An allreduce of a few numbers, described without user objects. */
static int describe(struct hccl_agree *agree, hccl_exec_t *user)
{
    hccl_exec_t *x = &agree->x;
    memset(x, 0, sizeof(*x));
    x->call.coll = HCCL_COLL_ALLREDUCE;
    x->hc = user->hc;
    x->grid = HCCL_VIEW_VECTOR;
    x->unit = sizeof(uint64_t);
    x->units = AGREE_VALUES;
    x->commutative = true;
    x->combine.kernel = hccl_kernel_fold(HCCL_OP_MIN, HCCL_NUM_UINT64);
    x->combine.unit = x->unit;
    x->send = (hccl_view_t){
        .kind = HCCL_VIEW_VECTOR, .base = (char *) agree->mine, .units = AGREE_VALUES};
    x->recv =
        (hccl_view_t){.kind = HCCL_VIEW_VECTOR, .base = (char *) agree->all, .units = AGREE_VALUES};
    x->lane_kind = -1;
    /* The user's operation sends nothing before this has ended on its rank, and messages of one tag
     * keep their order: both can have the same tag. */
    x->tag = user->tag;
    return hccl_exec_plan(x, true);
}

int hccl_open_begin(hccl_exec_t *x)
{
    hccl_comm_t *hc = x->hc;
    const hccl_shape_t *shape = hc->shape;
    int node = shape->node_of[hc->rank];
    int nlocal = shape->node_start[node + 1] - shape->node_start[node];
    struct hccl_agree *agree = malloc(sizeof(*agree));
    if (NULL == agree) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    uint64_t key = hccl_comm_lane_key(hc, x->lane_kind, x->instance);
    int rc = HCCL_ERR_NOTSUP;
    if (!hccl_engine.inject) {
        rc = hccl_lane_prepare(x->lane, key, nlocal, shape->local_of[hc->rank], hc->regions);
    }
    if (HCCL_OK != rc) {
        tell_why(hc, rc);
    }
    uint64_t hash = hccl_engine.settings_hash ^ shape->hash;
    for (int i = 0; i < HCCL_LANES; i++) {
        hash = (hash ^ hc->slot_bytes[i]) * UINT64_C(0x9e3779b97f4a7c15);
    }
    agree->mine[AGREE_OK] = HCCL_OK == rc ? 1 : 0;
    agree->mine[AGREE_HASH] = hash;
    agree->mine[AGREE_NOT_HASH] = ~hash;
    agree->mine[AGREE_MEMORY] = HCCL_OK == rc && x->lane->sees_memory ? 1 : 0;
    agree->mine[AGREE_HEAPS] =
        HCCL_OK == rc && x->lane->maps_heaps && !hccl_engine.inject_heap ? 1 : 0;
    agree->mine[AGREE_AWAKE] = 0 == hccl_engine.sleep_after ? 1 : 0;
    rc = describe(agree, x);
    if (OMPI_SUCCESS == rc) {
        rc = hccl_run_begin(&agree->x);
    }
    if (OMPI_SUCCESS != rc) {
        free(agree);
        return rc;
    }
    x->agree = agree;
    x->state = HCCL_EXEC_OPENING;
    return OMPI_SUCCESS;
}

/* One line, once per process that leads, whatever the number of communicators. */
static void report(const hccl_exec_t *x, bool differ)
{
    static bool reported;
    if (!reported && 0 == x->hc->rank) {
        reported = true;
        hccl_log_warn("shared memory is not used on communicator %s: %s; all its ranks use the "
                      "network tier instead (--mca coll_hccl_verbose 2 tells more)",
                      x->hc->comm->c_name,
                      differ ? "its ranks have different settings or see different topologies"
                             : "a rank could not create or map a shared region");
    }
}

bool hccl_open_advance(hccl_exec_t *x, bool *moved)
{
    struct hccl_agree *agree = x->agree;
    if (!hccl_run_advance(&agree->x, moved)) {
        return false;
    }
    bool differ = agree->all[AGREE_HASH] != ~agree->all[AGREE_NOT_HASH];
    bool heaps = 1 == agree->all[AGREE_HEAPS];
    bool memory = 1 == agree->all[AGREE_MEMORY];
    bool sleepy = 1 != agree->all[AGREE_AWAKE];
    bool usable = 1 == agree->all[AGREE_OK] && !differ;
    if (OMPI_SUCCESS != hccl_exec_unbind(&agree->x)) {
        /* This rank does not know what the others have agreed upon. */
        hccl_log_fatal(
            "the network failed while the ranks of communicator %s agreed on shared memory",
            x->hc->comm->c_name);
    }
    free(agree);
    x->agree = NULL;
    x->hc->sees_memory = usable && memory;
    x->lane->sleepy = sleepy;
    if (!usable) {
        hccl_lane_abandon(x->lane);
        report(x, differ);
    } else if (HCCL_OK != hccl_lane_open(x->lane, heaps, memory)) {
        /* All ranks have announced their cells: this is a bug, and going on would hang. */
        hccl_log_fatal("a peer's announced shared memory is not there (communicator %s)",
                       x->hc->comm->c_name);
    }
    return true;
}
