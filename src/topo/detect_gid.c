/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which GID of a port RoCE v2 should use, and the NUMA node next to a device, which sysfs tells.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/detect.h"

/* How useful a RoCE v2 GID is between hosts: routed networks carry IPv4 nearly always. */
static int gid_rank(const uint8_t gid[16])
{
    static const uint8_t zero[16];
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

    if (0 == memcmp(gid, zero, sizeof(zero))) {
        return 0;
    }
    if (0 == memcmp(gid, mapped, sizeof(mapped))) {
        return 3;
    }
    return 0xfe == gid[0] && 0x80 == (gid[1] & 0xc0) ? 1 : 2;
}

int hccl_detect_gid(const hccl_gid_t *table, int n, int wanted, uint8_t gid[16])
{
    int best = -1;
    int best_rank = 0;

    memset(gid, 0, 16);
    for (int i = 0; i < n; i++) {
        const hccl_gid_t *entry = &table[i];

        if (entry->roce_v2 && (0 > wanted || wanted == entry->index)
            && best_rank < gid_rank(entry->gid)) {
            best = entry->index;
            best_rank = gid_rank(entry->gid);
            memcpy(gid, entry->gid, sizeof(entry->gid));
        }
    }
    return best;
}

int hccl_detect_device_numa(const char *sysfs, const char *device)
{
    char path[PATH_MAX];
    char line[32];
    char *end = line;
    long numa = -1;

    const int len =
        snprintf(path, sizeof(path), "%s/class/infiniband/%s/device/numa_node", sysfs, device);
    FILE *file = 0 < len && (size_t) len < sizeof(path) ? fopen(path, "re") : NULL;
    if (NULL == file) {
        return -1;
    }
    if (NULL != fgets(line, (int) sizeof(line), file)) {
        numa = strtol(line, &end, 10);
    }
    fclose(file);
    return end != line && 0 <= numa && numa <= INT16_MAX ? (int) numa : -1;
}
