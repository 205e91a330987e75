/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Cards: their form as bytes, and the order of their ports.
 *
 * Refuses to know how a card was found out and how its bytes travel.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/topo.h"

/* Block: magic, version, length, fields in the order of the struct, zeros, check sum; all little
 * endian. A change of any of it needs a new version: jobs with mixed builds must find out. */
enum { CARD_VERSION = 3, FIELDS_AT = 8, CHECK_AT = HCCL_CARD_BYTES - 4 };
static const uint8_t card_magic[4] = {'H', 'C', 'C', 'L'};

static uint8_t *put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        *at++ = (uint8_t) (value >> (8 * i));
    }
    return at;
}

static uint64_t get(const uint8_t **at, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++) {
        value |= (uint64_t) * (*at)++ << (8 * i);
    }
    return value;
}

static uint32_t check_sum(const uint8_t *block)
{
    uint32_t sum = UINT32_C(0x811c9dc5);

    for (int i = 0; i < CHECK_AT; i++) {
        sum = (sum ^ block[i]) * UINT32_C(0x01000193);
    }
    return sum;
}

void hccl_card_init(hccl_card_t *card)
{
    memset(card, 0, sizeof(*card));
    card->package = card->numa = card->l3 = card->core = -1;
    card->seat = card->site = -1;
    card->chosen = -1;
}

void hccl_card_pack(const hccl_card_t *card, uint8_t block[HCCL_CARD_BYTES])
{
    uint8_t *at = block + sizeof(card_magic);

    memset(block, 0, HCCL_CARD_BYTES);
    memcpy(block, card_magic, sizeof(card_magic));
    at = put(at, CARD_VERSION, 2);
    at = put(at, HCCL_CARD_BYTES, 2);
    at = put(at, card->host_key, 8);
    at = put(at, (uint32_t) card->package, 4);
    at = put(at, (uint32_t) card->numa, 4);
    at = put(at, (uint32_t) card->l3, 4);
    at = put(at, (uint32_t) card->core, 4);
    at = put(at, card->cpus.host, 8);
    at = put(at, card->cpus.set, 8);
    at = put(at, (uint32_t) card->cpus.count, 4);
    at = put(at, (uint32_t) card->cpus.quota, 4);
    at = put(at, (uint32_t) card->seat, 4);
    at = put(at, (uint32_t) card->site, 4);
    at = put(at, card->leads, 1);
    at = put(at, card->nports, 1);
    at = put(at, (uint8_t) card->chosen, 1);
    for (int i = 0; i < card->nports; i++) {
        const hccl_port_t *port = &card->ports[i];
        memcpy(at, port->name, sizeof(port->name));
        at = put(at + sizeof(port->name), port->number, 1);
        at = put(at, port->link_layer, 1);
        at = put(at, port->active, 1);
        at = put(at, (uint16_t) port->gid_index, 2);
        at = put(at, (uint16_t) port->numa, 2);
        at = put(at, port->distance, 1);
        at = put(at, port->mtu, 2);
        at = put(at, port->speed_mbps, 4);
        memcpy(at, port->gid, sizeof(port->gid));
        at += sizeof(port->gid);
    }
    put(block + CHECK_AT, check_sum(block), 4);
}

static void get_port(const uint8_t **at, hccl_port_t *port)
{
    memcpy(port->name, *at, sizeof(port->name));
    port->name[sizeof(port->name) - 1] = '\0';
    *at += sizeof(port->name);
    port->number = (uint8_t) get(at, 1);
    port->link_layer = (uint8_t) get(at, 1);
    port->active = (uint8_t) get(at, 1);
    port->gid_index = (int16_t) get(at, 2);
    port->numa = (int16_t) get(at, 2);
    port->distance = (uint8_t) get(at, 1);
    port->mtu = (uint16_t) get(at, 2);
    port->speed_mbps = (uint32_t) get(at, 4);
    memcpy(port->gid, *at, sizeof(port->gid));
    *at += sizeof(port->gid);
}

/* What is wrong with the frame of a block, or NULL. */
static const char *frame_fault(const uint8_t *block, size_t len)
{
    if (NULL == block || len < FIELDS_AT || 0 != memcmp(block, card_magic, sizeof(card_magic))) {
        return "not a card of this component";
    }
    const uint8_t *at = block + sizeof(card_magic);
    if (CARD_VERSION != get(&at, 2)) {
        return "a card of another version of this component: use one version on all hosts";
    }
    if (HCCL_CARD_BYTES != get(&at, 2) || HCCL_CARD_BYTES != len) {
        return "a card of the wrong length";
    }
    at = block + CHECK_AT;
    if (check_sum(block) != get(&at, 4)) {
        return "a damaged card";
    }
    return NULL;
}

int hccl_card_unpack(const uint8_t *block, size_t len, hccl_card_t *card, char *why, size_t whylen)
{
    const char *fault = frame_fault(block, len);
    hccl_card_t found;

    const uint8_t *at = block;
    hccl_card_init(&found);
    if (NULL == fault) {
        at += FIELDS_AT;
        found.host_key = get(&at, 8);
        found.package = (int32_t) get(&at, 4);
        found.numa = (int32_t) get(&at, 4);
        found.l3 = (int32_t) get(&at, 4);
        found.core = (int32_t) get(&at, 4);
        found.cpus.host = get(&at, 8);
        found.cpus.set = get(&at, 8);
        found.cpus.count = (int32_t) get(&at, 4);
        found.cpus.quota = (int32_t) get(&at, 4);
        found.seat = (int32_t) get(&at, 4);
        found.site = (int32_t) get(&at, 4);
        found.leads = (uint8_t) get(&at, 1);
        found.nports = (uint8_t) get(&at, 1);
        found.chosen = (int8_t) get(&at, 1);
        if (HCCL_MAX_PORTS < found.nports || found.chosen < -1 || found.seat < -1 || found.site < -1
            || found.chosen >= found.nports || found.package < -1 || found.numa < -1
            || found.l3 < -1 || found.core < -1 || found.cpus.count < 0 || found.cpus.quota < 0) {
            fault = "a card with impossible values";
        }
    }
    if (NULL != fault) {
        if (NULL != why && 0 < whylen) {
            snprintf(why, whylen, "%s", fault);
        }
        return HCCL_ERR_ARG;
    }
    for (int i = 0; i < found.nports; i++) {
        get_port(&at, &found.ports[i]);
    }
    *card = found;
    return HCCL_OK;
}

void hccl_card_add_port(hccl_card_t *card, const hccl_port_t *port)
{
    int at = card->nports;

    for (; 0 < at; at--) {
        const hccl_port_t *before = &card->ports[at - 1];
        if (before->active > port->active
            || (before->active == port->active && before->distance <= port->distance)) {
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
