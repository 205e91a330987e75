/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Tells a person which RDMA ports the processes of a node use.
 */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>

#include "topo/topo.h"

typedef struct line {
    char *buf;
    size_t len, used;
} line_t;

__attribute__((format(printf, 2, 3))) static void emit(line_t *line, const char *format, ...)
{
    va_list args;

    if (line->used + 1 >= line->len) {
        return;
    }
    va_start(args, format);
    const int wrote = vsnprintf(line->buf + line->used, line->len - line->used, format, args);
    va_end(args);
    line->used += 0 < wrote ? (size_t) wrote : 0;
}

static void emit_port(line_t *line, const hccl_port_t *port)
{
    char gid[INET6_ADDRSTRLEN] = "?";

    inet_ntop(AF_INET6, port->gid, gid, sizeof(gid));
    emit(line, "%s:%d (", port->name, port->number);
    if (0 < port->speed_mbps) {
        emit(line, "%g Gbit/s, ", (double) port->speed_mbps / 1000);
    }
    if (0 < port->mtu) {
        emit(line, "MTU %d, ", port->mtu);
    }
    emit(line, "GID %d %s", port->gid_index, gid);
    if (0 <= port->numa) {
        emit(line, ", NUMA %d", port->numa);
    }
    emit(line, ")");
}

/* Whether the process uses this port. */
static bool uses(const hccl_card_t *card, int k, const hccl_port_t *port)
{
    const hccl_port_name_t none = {.device = ""};
    hccl_port_name_t name = none;

    if (NULL == card || 0 > k) {
        return false;
    }
    for (int i = 0; i < HCCL_PORT_NAME; i++) {
        name.device[i] = port->name[i];
    }
    name.number = port->number;
    return hccl_port_is_named(&card->ports[k], &name);
}

/* The ranks from ranks[i] on that use the port of ranks[i]; far ones are marked. */
static void emit_ranks(line_t *line, const hccl_card_t *const *cards, const int *ranks, int n,
                       const int *port, int i)
{
    const hccl_port_t *used = &cards[ranks[i]]->ports[port[ranks[i]]];
    int count = 0;

    for (int k = i; k < n; k++) {
        const hccl_card_t *card = cards[ranks[k]];

        if (uses(card, port[ranks[k]], used)) {
            emit(line, "%s%d%s", 0 == count++ ? " rank " : ",", ranks[k],
                 HCCL_FAR == card->ports[port[ranks[k]]].distance ? " (far)" : "");
        }
    }
}

void hccl_ports_print(const hccl_card_t *const *cards, const int *ranks, int n, const int *port,
                      char *buf, size_t len)
{
    line_t line = {buf, len, 0};

    if (0 < len) {
        buf[0] = '\0';
    }
    for (int i = 0; i < n; i++) {
        bool fresh = NULL != cards[ranks[i]] && 0 <= port[ranks[i]];

        for (int k = 0; fresh && k < i; k++) {
            fresh = !uses(cards[ranks[k]], port[ranks[k]], &cards[ranks[i]]->ports[port[ranks[i]]]);
        }
        if (fresh) {
            emit(&line, "%s", 0 == line.used ? "" : "; ");
            emit_port(&line, &cards[ranks[i]]->ports[port[ranks[i]]]);
            emit_ranks(&line, cards, ranks, n, port, i);
        }
    }
}
