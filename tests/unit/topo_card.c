/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Cards as bytes, and the order of their ports.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topo/topo.h"

static hccl_port_t make_port(const char *name, int active, int distance)
{
    hccl_port_t port;

    memset(&port, 0, sizeof(port));
    memcpy(port.name, name, strlen(name) + 1);
    port.number = 1;
    port.link_layer = HCCL_LINK_ETHERNET;
    port.active = (uint8_t) active;
    port.gid_index = 3;
    port.numa = -1;
    port.distance = (uint8_t) distance;
    port.mtu = 4096;
    port.speed_mbps = 200000;
    port.gid[15] = 7;
    return port;
}

static hccl_card_t make_card(int nports)
{
    hccl_card_t card;

    hccl_card_init(&card);
    card.host_key = UINT64_C(0x1122334455667788);
    card.package = 0x01020304;
    card.l3 = 5;
    card.seat = 9;
    card.leads = 1;
    card.cpus = (hccl_cpus_t){UINT64_C(0x0102030405060708), UINT64_C(0x1112131415161718), 12, 3};
    for (int i = 0; i < nports; i++) {
        card.ports[i] = make_port("mlx5_bond_000_1", 1, HCCL_FAR);
    }
    card.nports = (uint8_t) nports;
    return card;
}

static void empty_card(void **state)
{
    (void) state;
    hccl_card_t card;

    memset(&card, 0x55, sizeof(card));
    hccl_card_init(&card);
    assert_true(0 == card.host_key);
    assert_int_equal(-1, card.package);
    assert_int_equal(-1, card.numa);
    assert_int_equal(-1, card.l3);
    assert_int_equal(-1, card.core);
    assert_int_equal(0, card.nports);
    assert_int_equal(-1, card.seat);
    assert_int_equal(-1, card.site);
    assert_int_equal(0, card.leads);
}

/* The first bytes are part of the protocol between builds: written out by hand. */
static void wire_form(void **state)
{
    (void) state;
    uint8_t block[HCCL_CARD_BYTES];
    hccl_card_t card = make_card(1);
    const uint8_t expected[] = {
        'H',  'C',  'C',  'L',  3,    0,    0xc0, 1,              /* magic, version, length */
        0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,           /* host_key */
        0x04, 0x03, 0x02, 0x01, 0xff, 0xff, 0xff, 0xff,           /* package, numa */
        5,    0,    0,    0,    0xff, 0xff, 0xff, 0xff,           /* l3, core */
        8,    7,    6,    5,    4,    3,    2,    1,              /* cpus: host */
        0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,           /* set */
        12,   0,    0,    0,    3,    0,    0,    0,              /* count, quota */
        9,    0,    0,    0,    0xff, 0xff, 0xff, 0xff,           /* seat, site */
        1,    1,                                                  /* leads, nports */
        0xff,                                                     /* chosen */
        'm',  'l',  'x',  '5',  '_',  'b',  'o',  'n',  'd', '_', /* name */
        '0',  '0',  '0',  '_',  '1',  0,    1,    2,    1,        /* number, link layer, active */
        3,    0,    0xff, 0xff, 2,    0,    0x10, /* GID index, numa, distance, mtu */
        0x40, 0x0d, 0x03, 0,                      /* speed */
    };

    hccl_card_pack(&card, block);
    assert_memory_equal(expected, block, sizeof(expected));
}

static void round_trip(void **state)
{
    (void) state;
    uint8_t block[HCCL_CARD_BYTES];
    char why[100] = "";

    for (int nports = 0; nports <= HCCL_MAX_PORTS; nports++) {
        hccl_card_t card = make_card(nports);
        hccl_card_t again;
        card.chosen = (int8_t) (nports - 1);
        card.site = nports;
        memset(&again, 0x55, sizeof(again));
        hccl_card_pack(&card, block);
        assert_int_equal(HCCL_OK, hccl_card_unpack(block, sizeof(block), &again, why, 100));
        assert_true(card.host_key == again.host_key);
        assert_int_equal(card.package, again.package);
        assert_int_equal(card.numa, again.numa);
        assert_int_equal(card.l3, again.l3);
        assert_int_equal(card.core, again.core);
        assert_memory_equal(&card.cpus, &again.cpus, sizeof(card.cpus));
        assert_int_equal(nports, again.nports);
        assert_int_equal(9, again.seat);
        assert_int_equal(nports, again.site);
        assert_int_equal(1, again.leads);
        assert_int_equal(nports - 1, again.chosen);
        for (int i = 0; i < nports; i++) {
            assert_string_equal(card.ports[i].name, again.ports[i].name);
            assert_int_equal(card.ports[i].number, again.ports[i].number);
            assert_int_equal(card.ports[i].link_layer, again.ports[i].link_layer);
            assert_int_equal(card.ports[i].active, again.ports[i].active);
            assert_int_equal(card.ports[i].gid_index, again.ports[i].gid_index);
            assert_int_equal(card.ports[i].numa, again.ports[i].numa);
            assert_int_equal(card.ports[i].distance, again.ports[i].distance);
            assert_int_equal(4096, again.ports[i].mtu);
            assert_true(card.ports[i].speed_mbps == again.ports[i].speed_mbps);
            assert_memory_equal(card.ports[i].gid, again.ports[i].gid, 16);
        }
    }
}

static void assert_refused(const uint8_t *block, size_t len, const char *word)
{
    hccl_card_t card = make_card(0);
    char why[100] = "";

    assert_int_equal(HCCL_ERR_ARG, hccl_card_unpack(block, len, &card, why, sizeof(why)));
    if (NULL == strstr(why, word)) {
        fail_msg("no \"%s\" in \"%s\"", word, why);
    }
    assert_int_equal(5, card.l3); /* untouched */
    assert_int_equal(HCCL_ERR_ARG, hccl_card_unpack(block, len, &card, NULL, 0));
}

static void refused(void **state)
{
    (void) state;
    hccl_card_t card = make_card(2);
    uint8_t good[HCCL_CARD_BYTES + 1] = {0};
    uint8_t block[HCCL_CARD_BYTES];

    hccl_card_pack(&card, good);
    assert_refused(NULL, 0, "not a card");
    assert_refused(good, 0, "not a card");
    assert_refused(good, HCCL_CARD_BYTES - 1, "length");
    assert_refused(good, HCCL_CARD_BYTES + 1, "length");
    for (size_t i = 0; i < HCCL_CARD_BYTES; i++) {
        memcpy(block, good, sizeof(block));
        block[i] ^= 0x10;
        const char *word = i < 4 ? "not a card" : "damaged";
        word = 4 == i || 5 == i ? "another version" : word;
        word = 6 == i || 7 == i ? "length" : word;
        assert_refused(block, sizeof(block), word);
    }
    card.numa = -2;
    hccl_card_pack(&card, block);
    assert_refused(block, sizeof(block), "impossible");
    card.numa = -1;
    card.site = -2;
    hccl_card_pack(&card, block);
    assert_refused(block, sizeof(block), "impossible");
    card.site = -1;
    card.chosen = 2; /* of two ports, 0 and 1 */
    hccl_card_pack(&card, block);
    assert_refused(block, sizeof(block), "impossible");
}

static void ports_in_order(void **state)
{
    (void) state;
    hccl_card_t card = make_card(0);
    const struct {
        const char *name;
        int active;
        int distance;
    } ports[] = {{"down", 0, HCCL_NEAR},         {"far0", 1, HCCL_FAR},     {"near0", 1, HCCL_NEAR},
                 {"mid0", 1, HCCL_SAME_PACKAGE}, {"down_too", 0, HCCL_FAR}, {"far1", 1, HCCL_FAR},
                 {"near1", 1, HCCL_NEAR},        {"far2", 1, HCCL_FAR},     {"far3", 1, HCCL_FAR},
                 {"far4", 1, HCCL_FAR}};
    const char *const kept[] = {"near0", "near1", "mid0", "far0", "far1", "far2", "far3", "far4"};

    for (int i = 0; i < 10; i++) {
        hccl_port_t port = make_port(ports[i].name, ports[i].active, ports[i].distance);
        hccl_card_add_port(&card, &port);
        assert_int_equal(i < 8 ? i + 1 : 8, card.nports);
    }
    for (int i = 0; i < 8; i++) {
        assert_string_equal(kept[i], card.ports[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_card),     cmocka_unit_test(wire_form),
        cmocka_unit_test(round_trip),     cmocka_unit_test(refused),
        cmocka_unit_test(ports_in_order),
    };
    return cmocka_run_group_tests_name("topo_card", tests, NULL, NULL);
}
