/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What sysfs tells of an RDMA device: the GIDs of its ports and the NUMA node next to it.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/detect.h"

enum { GID_TABLE_MAX = 1024 };

/* First line of a sysfs file, without its end; false when it can't be read. */
__attribute__((format(printf, 3, 4))) static bool read_line(char *line, size_t len,
                                                            const char *format, ...)
{
    char path[PATH_MAX];
    va_list args;

    va_start(args, format);
    int wrote = vsnprintf(path, sizeof(path), format, args);
    va_end(args);
    if (wrote < 0 || (size_t) wrote >= sizeof(path)) {
        return false;
    }
    FILE *file = fopen(path, "re");
    if (NULL == file) {
        return false;
    }
    /* the kernel answers EINVAL for the type of an empty entry: that is a failed read here */
    bool got = NULL != fgets(line, (int) len, file);
    fclose(file);
    if (got) {
        line[strcspn(line, "\r\n")] = '\0';
    }
    return got;
}

/* "fe80:0000:…", eight groups of four hex digits. */
static bool parse_gid(const char *text, uint8_t gid[16])
{
    unsigned group[8];
    int used = 0;

    int got = sscanf(text, "%4x:%4x:%4x:%4x:%4x:%4x:%4x:%4x%n", &group[0], &group[1], &group[2],
                     &group[3], &group[4], &group[5], &group[6], &group[7], &used);
    if (8 != got || '\0' != text[used]) {
        return false;
    }
    for (int i = 0; i < 8; i++) {
        gid[2 * i] = (uint8_t) (group[i] >> 8);
        gid[2 * i + 1] = (uint8_t) group[i];
    }
    return true;
}

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

int hccl_detect_gid(const char *sysfs, const char *device, int port, int wanted, uint8_t gid[16])
{
    int best = -1;
    int best_rank = 0;
    char line[64];

    memset(gid, 0, 16);
    for (int i = 0 <= wanted ? wanted : 0; i < GID_TABLE_MAX; i++) {
        if (0 <= wanted && wanted < i) {
            break;
        }
        uint8_t found[16];
        const char *format = "%s/class/infiniband/%s/ports/%d/gids/%d";
        if (!read_line(line, sizeof(line), format, sysfs, device, port, i)) {
            break;
        }
        if (!parse_gid(line, found) || gid_rank(found) <= best_rank) {
            continue;
        }
        format = "%s/class/infiniband/%s/ports/%d/gid_attrs/types/%d";
        if (read_line(line, sizeof(line), format, sysfs, device, port, i)
            && 0 == strcmp(line, "RoCE v2")) {
            best = i;
            best_rank = gid_rank(found);
            memcpy(gid, found, sizeof(found));
        }
    }
    return best;
}

int hccl_detect_device_numa(const char *sysfs, const char *device)
{
    char line[32];
    char *end = line;
    long numa = -1;

    if (read_line(line, sizeof(line), "%s/class/infiniband/%s/device/numa_node", sysfs, device)) {
        numa = strtol(line, &end, 10);
    }
    return end != line && 0 <= numa && numa <= INT16_MAX ? (int) numa : -1;
}
