/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints the RDMA ports that a process of the component finds, in the order of preference, one a line:
 * "DEVICE:PORT LINK STATE GID-INDEX GID MBPS MTU NUMA-NODE", "-" for an unknown GID.
 *
 *   ports [LIST [GID-INDEX]]   as coll_hccl_ib_hca and coll_hccl_ib_gid_index
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "topo/detect.h"

static const char *link_name(const hccl_port_t *port)
{
    switch (port->link_layer) {
    case HCCL_LINK_ETHERNET:
        return "ethernet";
    case HCCL_LINK_IB:
        return "infiniband";
    default:
        return "unknown";
    }
}

int main(int argc, char **argv)
{
    char why[400];
    hccl_card_t card;
    hccl_port_choice_t choice = {.gid_index = 2 < argc ? atoi(argv[2]) : -1};

    if (HCCL_OK != hccl_port_list_read(1 < argc ? argv[1] : NULL, &choice.list, why, sizeof(why))
        || HCCL_OK != hccl_detect_card(NULL, &choice, &card, why, sizeof(why))) {
        fprintf(stderr, "ports: %s\n", why);
        return 1;
    }
    for (int i = 0; i < card.nports; i++) {
        const hccl_port_t *port = &card.ports[i];
        char gid[INET6_ADDRSTRLEN] = "-";
        if (0 <= port->gid_index && NULL == inet_ntop(AF_INET6, port->gid, gid, sizeof(gid))) {
            perror("ports");
            return 1;
        }
        printf("%s:%d %s %s %d %s %u %u %d\n", port->name, port->number, link_name(port),
               port->active ? "up" : "down", port->gid_index, gid, (unsigned) port->speed_mbps,
               (unsigned) port->mtu, port->numa);
    }
    if ('\0' != why[0]) {
        printf("%s\n", why);
    }
    return 0;
}
