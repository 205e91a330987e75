/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The sizes of slots: what the user says, else what the probe has found on this machine, now or for an
 * earlier job, else the usual ones.
 *
 * A process announces what it knows with its card. So all members of a communicator see the same
 * announcements and take the same one, the first in the order of their ranks: whose file can be read,
 * and who has measured, makes no difference.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "coll_hccl.h"
#include "hccl_config.h"
#include "tier/probe.h"
#include "topo/detect.h"

/* Longest that the probe may take. */
#define PROBE_SECONDS 0.03

enum { KEY_BYTES = 640, WHY_BYTES = PATH_MAX + 128 };

static bool leads(void)
{
    return 0 == ompi_process_info.my_local_rank;
}

static bool names_dir(void)
{
    return NULL != hccl_params.cache_dir && '\0' != hccl_params.cache_dir[0];
}

/* False: not possible now. */
static bool measure(hccl_tuning_t *tuning)
{
    int pair[2];
    hccl_tuning_t usual = {(uint32_t) hccl_params.slot_large, (uint32_t) hccl_params.slot_wide};
    if (HCCL_OK != hccl_detect_pair(opal_hwloc_topology, pair)
        || HCCL_OK != hccl_probe(pair, PROBE_SECONDS, &usual, tuning)) {
        hccl_log_info("the sizes of slots could not be measured: the usual ones are used");
        return false;
    }
    hccl_log_info("measured: slots of %u and %u bytes", tuning->slot_large, tuning->slot_wide);
    return true;
}

/* Measures, and keeps it for later jobs if it can. bad: what is wrong with the file that is there, NULL:
 * nothing. One message at most. */
static void measure_and_keep(const char *dir, const char *key, const char *bad,
                             hccl_tuning_t *tuning)
{
    char why[WHY_BYTES] = "it could not be measured";
    bool kept = measure(tuning) && NULL != dir
                && HCCL_OK == hccl_tuning_store(dir, key, tuning, why, sizeof(why));
    if (NULL != bad && kept) {
        hccl_log_warn("%s. It is measured anew and the file is replaced", bad);
    } else if (NULL != bad) {
        hccl_log_warn("%s. The file is not used, and is not replaced now (%s)", bad, why);
    } else if (!kept && NULL == dir && names_dir()) {
        hccl_log_warn("parameter coll_hccl_cache_dir: the name is too long; accepted: a directory "
                      "that can be written to. Every job measures anew");
    } else if (!kept && hccl_tuning_is_known(tuning) && names_dir()) {
        hccl_log_warn(
            "parameter coll_hccl_cache_dir: %s; accepted: a directory that can be written "
            "to. Every job measures anew",
            why);
    } else if (!kept && NULL != dir) {
        hccl_log_info("nothing is kept for later jobs: %s", why);
    }
}

void hccl_tuning_find(hccl_tuning_t *tuning)
{
    char key[KEY_BYTES];
    char path[PATH_MAX];
    char why[WHY_BYTES];
    *tuning = (hccl_tuning_t){0, 0};
    if (!hccl_params.probe || !hccl_params.shared_memory || ompi_process_info.num_local_peers < 1
        || (hccl_params_is_given("slot_large") && hccl_params_is_given("slot_wide"))) {
        return;
    }
    hccl_detect_machine("/proc/cpuinfo", HCCL_VERSION, key, sizeof(key));
    const char *dir =
        HCCL_OK == hccl_tuning_dir(hccl_params.cache_dir, path, sizeof(path)) ? path : NULL;
    int rc = HCCL_ERR_NOTSUP;
    if (NULL != dir) {
        rc = hccl_tuning_load(dir, key, tuning, why, sizeof(why));
    }
    if (HCCL_OK == rc) {
        hccl_log_info("measured earlier: slots of %u and %u bytes", tuning->slot_large,
                      tuning->slot_wide);
    } else if (leads()) {
        measure_and_keep(dir, key, HCCL_ERR_ARG == rc ? why : NULL, tuning);
    }
}

void hccl_tuning_apply(const ompi_communicator_t *comm, size_t slot_bytes[HCCL_LANES])
{
    const hccl_peer_t *knows = NULL;
    ompi_group_t *group = comm->c_local_group;
    int n = ompi_group_size(group);
    memcpy(slot_bytes, hccl_engine.slot_bytes, sizeof(hccl_engine.slot_bytes));
    for (int i = 0; i < n && NULL == knows; i++) {
        const hccl_peer_t *peer = hccl_procs_find(ompi_group_peer_lookup(group, i));
        knows = NULL != peer && hccl_tuning_is_known(&peer->tuning) ? peer : NULL;
    }
    if (NULL != knows && !hccl_params_is_given("slot_large")) {
        slot_bytes[HCCL_LANE_LARGE] = knows->tuning.slot_large;
    }
    if (NULL != knows && !hccl_params_is_given("slot_wide")) {
        slot_bytes[HCCL_LANE_WIDE] = knows->tuning.slot_wide;
    }
    if (MPI_COMM_WORLD == comm) {
        hccl_log_info("%s: slots of %zu bytes for long messages one way, of %zu for others",
                      comm->c_name, slot_bytes[HCCL_LANE_LARGE], slot_bytes[HCCL_LANE_WIDE]);
    }
}
