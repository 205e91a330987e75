/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which RDMA ports the host has, through libibverbs and sysfs, and how far they are.
 *
 * Most hosts have none, or hide them from containers: no failure here is an error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hccl_config.h"
#include "topo/detect.h"

#if HCCL_HAVE_VERBS
#include <infiniband/verbs.h>

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

/* Of all ports of a device; and the last one that a queue pair can be told to use. */
enum { MAX_GIDS = 1024, LAST_GID = 255 };

/* One call for the whole table: most of its entries are empty, and sysfs has a file for each. */
static int query_roce_gid(struct ibv_context *context, int number, int wanted, uint8_t gid[16])
{
    struct ibv_gid_entry *all = calloc(MAX_GIDS, sizeof(*all));
    hccl_gid_t *table = calloc(MAX_GIDS, sizeof(*table));
    int n = 0;

    const ssize_t found =
        NULL == all || NULL == table ? 0 : ibv_query_gid_table(context, all, MAX_GIDS, 0);
    for (ssize_t i = 0; i < found; i++) {
        if ((uint32_t) number == all[i].port_num && LAST_GID >= all[i].gid_index) {
            table[n].index = (int) all[i].gid_index;
            table[n].roce_v2 = IBV_GID_TYPE_ROCE_V2 == all[i].gid_type;
            memcpy(table[n].gid, all[i].gid.raw, sizeof(table[n].gid));
            n++;
        }
    }
    const int index = hccl_detect_gid(table, n, wanted, gid);
    free(all);
    free(table);
    return index;
}

static void query_gid(struct ibv_context *context, uint8_t link_layer, int wanted,
                      hccl_port_t *port)
{
    union ibv_gid gid;

    port->gid_index = -1;
    if (IBV_LINK_LAYER_ETHERNET == link_layer) {
        port->link_layer = HCCL_LINK_ETHERNET;
        port->gid_index = (int16_t) query_roce_gid(context, port->number, wanted, port->gid);
    } else if (IBV_LINK_LAYER_INFINIBAND == link_layer) {
        port->link_layer = HCCL_LINK_IB;
        if (0 == ibv_query_gid(context, port->number, 0, &gid)) {
            port->gid_index = 0;
            memcpy(port->gid, gid.raw, sizeof(port->gid));
        }
    }
}

static bool query_port(struct ibv_context *context, const char *device, int number, int wanted_gid,
                       hccl_port_t *port)
{
    struct ibv_port_attr attr;

    memset(port, 0, sizeof(*port));
    if (0 != ibv_query_port(context, (uint8_t) number, &attr)) {
        return false;
    }
    snprintf(port->name, sizeof(port->name), "%s", device);
    port->number = (uint8_t) number;
    port->active = IBV_PORT_ACTIVE == attr.state;
    port->speed_mbps = lanes(attr.active_width) * lane_speed(attr.active_speed);
    port->mtu = (uint16_t) (IBV_MTU_256 <= attr.active_mtu && attr.active_mtu <= IBV_MTU_4096
                                ? 128 << attr.active_mtu
                                : 0);
    port->numa = (int16_t) hccl_detect_device_numa("/sys", device);
    query_gid(context, attr.link_layer, wanted_gid, port);
    return true;
}

/* What there is and what was asked for, for messages. */
typedef struct report {
    char seen[200];                  /* all ports of the host */
    bool met[HCCL_MAX_NAMES];        /* entries of the list that name one of them */
    char no_gid[HCCL_PORT_NAME + 8]; /* the first port that has nothing at the wanted GID index */
} report_t;

static void note_port(const hccl_port_choice_t *choice, const hccl_port_t *port, report_t *r)
{
    const size_t len = strlen(r->seen);

    snprintf(r->seen + len, sizeof(r->seen) - len, "%s%s:%d", 0 == len ? "" : ", ", port->name,
             port->number);
    for (int i = 0; i < choice->list.n; i++) {
        r->met[i] = r->met[i] || hccl_port_is_named(port, &choice->list.name[i]);
    }
}

static void add_device(struct ibv_context *context, const char *name,
                       const hccl_port_choice_t *choice, const hccl_near_t *near, hccl_card_t *card,
                       report_t *r)
{
    struct ibv_device_attr attr;

    /* a cut name could not be opened again */
    if (strlen(name) >= HCCL_PORT_NAME || 0 != ibv_query_device(context, &attr)) {
        return;
    }
    for (int number = 1; number <= attr.phys_port_cnt; number++) {
        hccl_port_t port;

        if (!query_port(context, name, number, choice->gid_index, &port)) {
            continue;
        }
        note_port(choice, &port, r);
        if (!hccl_port_list_allows(&choice->list, &port)) {
            continue;
        }
        if (0 <= choice->gid_index && HCCL_LINK_ETHERNET == port.link_layer && 0 > port.gid_index
            && '\0' == r->no_gid[0]) {
            snprintf(r->no_gid, sizeof(r->no_gid), "%s:%d", name, number);
        }
        port.distance = (uint8_t) hccl_detect_distance(near->topology, near->binding, port.numa);
        hccl_card_add_port(card, &port);
    }
}

static void explain(const hccl_port_choice_t *choice, const report_t *r, char *why, size_t whylen)
{
    const char *all = '\0' == r->seen[0] ? "none" : r->seen;

    for (int i = 0; i < choice->list.n; i++) {
        const hccl_port_name_t *name = &choice->list.name[i];
        char number[8] = "";

        if (!r->met[i]) {
            if (0 < name->number) {
                snprintf(number, sizeof(number), ":%d", name->number);
            }
            snprintf(why, whylen,
                     "coll_hccl_ib_hca (HCCL_IB_HCA): this host has no port %s%s; it has: %s. The "
                     "entry is passed over",
                     name->device, number, all);
            return;
        }
    }
    if ('\0' != r->no_gid[0]) {
        snprintf(why, whylen,
                 "coll_hccl_ib_gid_index (HCCL_IB_GID_INDEX): port %s has no GID for RoCE v2 at "
                 "index %d; /sys/class/infiniband/*/ports/*/gid_attrs/types shows which ones are. "
                 "The port is not used",
                 r->no_gid, choice->gid_index);
    }
}

#endif

void hccl_detect_ports(const hccl_near_t *near, const hccl_port_choice_t *choice, hccl_card_t *card,
                       char *why, size_t whylen)
{
    card->nports = 0;
    memset(card->ports, 0, sizeof(card->ports));
    snprintf(why, whylen, "%s", "");
#if HCCL_HAVE_VERBS
    report_t report = {.seen = ""};
    int ndevices = 0;
    struct ibv_device **devices = ibv_get_device_list(&ndevices);
    for (int i = 0; NULL != devices && i < ndevices; i++) {
        struct ibv_context *context = ibv_open_device(devices[i]);
        if (NULL != context) {
            add_device(context, ibv_get_device_name(devices[i]), choice, near, card, &report);
            ibv_close_device(context);
        }
    }
    if (NULL != devices) {
        ibv_free_device_list(devices);
    }
    explain(choice, &report, why, whylen);
#else
    (void) near;
    (void) choice;
#endif
}
