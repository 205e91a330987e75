/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which RDMA ports the host has, through libibverbs and sysfs.
 *
 * Most hosts have none, or hide them from containers: no failure here is an error.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hccl_config.h"
#include "topo/detect.h"

#if HCCL_HAVE_VERBS
#include <infiniband/verbs.h>
#endif

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

int hccl_detect_gid(const char *sysfs, const char *device, int port, uint8_t gid[16])
{
    int best = -1;
    int best_rank = 0;
    char line[64];

    memset(gid, 0, 16);
    for (int i = 0; i < GID_TABLE_MAX; i++) {
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

#if HCCL_HAVE_VERBS

static uint32_t lanes(uint8_t width)
{
    switch (width) {
    case 1:
        return 1;
    case 2:
        return 4;
    case 4:
        return 8;
    case 8:
        return 12;
    case 16:
        return 2;
    default:
        return 0;
    }
}

/* Mbit/s of a lane: SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR. */
static uint32_t lane_speed(uint8_t speed)
{
    static const uint32_t speeds[] = {2500, 5000, 10000, 10000, 14000, 25000, 50000, 100000};

    for (int i = 0; i < 8; i++) {
        if (1u << i == speed) {
            return speeds[i];
        }
    }
    return 0;
}

static int device_numa(const char *device)
{
    char line[32];
    int numa = -1;

    if (read_line(line, sizeof(line), "/sys/class/infiniband/%s/device/numa_node", device)) {
        numa = atoi(line);
    }
    return 0 <= numa && numa <= INT16_MAX ? numa : -1;
}

static bool query_port(struct ibv_context *context, const char *device, int number,
                       hccl_port_t *port)
{
    struct ibv_port_attr attr;
    union ibv_gid gid;

    memset(port, 0, sizeof(*port));
    if (0 != ibv_query_port(context, (uint8_t) number, &attr)) {
        return false;
    }
    snprintf(port->name, sizeof(port->name), "%s", device);
    port->number = (uint8_t) number;
    port->active = IBV_PORT_ACTIVE == attr.state;
    port->speed_mbps = lanes(attr.active_width) * lane_speed(attr.active_speed);
    port->numa = (int16_t) device_numa(device);
    port->gid_index = -1;
    if (IBV_LINK_LAYER_ETHERNET == attr.link_layer) {
        port->link_layer = HCCL_LINK_ETHERNET;
        port->gid_index = (int16_t) hccl_detect_gid("/sys", device, number, port->gid);
    } else if (IBV_LINK_LAYER_INFINIBAND == attr.link_layer) {
        port->link_layer = HCCL_LINK_IB;
        if (0 == ibv_query_gid(context, (uint8_t) number, 0, &gid)) {
            port->gid_index = 0;
            memcpy(port->gid, gid.raw, sizeof(port->gid));
        }
    }
    return true;
}

#endif

void hccl_card_add_port(hccl_card_t *card, const hccl_port_t *port)
{
    int at = card->nports;

    for (; 0 < at; at--) {
        const hccl_port_t *before = &card->ports[at - 1];
        bool near = -1 != port->numa && port->numa == card->numa;
        bool before_near = -1 != before->numa && before->numa == card->numa;
        if (before->active > port->active
            || (before->active == port->active && before_near >= near)) {
            break;
        }
    }
    if (HCCL_MAX_PORTS == at) {
        return;
    }
    int last = card->nports < HCCL_MAX_PORTS ? card->nports++ : HCCL_MAX_PORTS - 1;
    memmove(&card->ports[at + 1], &card->ports[at], (size_t) (last - at) * sizeof(*port));
    card->ports[at] = *port;
}

void hccl_detect_ports(hccl_card_t *card)
{
    card->nports = 0;
    memset(card->ports, 0, sizeof(card->ports));
#if HCCL_HAVE_VERBS
    int ndevices = 0;
    struct ibv_device **devices = ibv_get_device_list(&ndevices);
    for (int i = 0; NULL != devices && i < ndevices; i++) {
        const char *name = ibv_get_device_name(devices[i]);
        struct ibv_context *context = ibv_open_device(devices[i]);
        struct ibv_device_attr attr;
        if (NULL == context) {
            continue;
        }
        /* a cut name could not be opened again */
        bool usable = strlen(name) < HCCL_PORT_NAME && 0 == ibv_query_device(context, &attr);
        for (int number = 1; usable && number <= attr.phys_port_cnt; number++) {
            hccl_port_t port;
            if (query_port(context, name, number, &port)) {
                hccl_card_add_port(card, &port);
            }
        }
        ibv_close_device(context);
    }
    if (NULL != devices) {
        ibv_free_device_list(devices);
    }
#endif
}
