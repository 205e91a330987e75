/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists and maps of RDMA ports, and which port each process uses: cases worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topo/topo.h"

enum { MOST = 64 };

static hccl_card_t card[MOST];
static const hccl_card_t *cards[MOST];
static int ncards;

static hccl_port_t make_port(const char *name, int number, uint32_t mbps, int distance)
{
    hccl_port_t port;

    memset(&port, 0, sizeof(port));
    memcpy(port.name, name, strlen(name) + 1);
    port.number = (uint8_t) number;
    port.link_layer = HCCL_LINK_ETHERNET;
    port.active = 1;
    port.gid_index = 3;
    port.numa = -1;
    port.distance = (uint8_t) distance;
    port.mtu = 4096;
    port.speed_mbps = mbps;
    port.gid[10] = port.gid[11] = 0xff;
    port.gid[12] = 10;
    port.gid[15] = (uint8_t) number;
    return port;
}

/* A process of a host; digit k of `distances` tells how far NIC mlx5_k is: n(ear), p(ackage), f(ar), or
 * - (it does not see it). Ports are entered backwards: their order in the card must not matter. */
static void add_process(int host, const char *distances)
{
    char name[20];
    hccl_card_t *c = &card[ncards];

    hccl_card_init(c);
    c->host_key = (uint64_t) (host + 1);
    for (int k = (int) strlen(distances) - 1; 0 <= k; k--) {
        if ('-' != distances[k]) {
            const int far = 'f' == distances[k]   ? HCCL_FAR
                            : 'p' == distances[k] ? HCCL_SAME_PACKAGE
                                                  : HCCL_NEAR;
            snprintf(name, sizeof(name), "mlx5_%d", k);
            const hccl_port_t port = make_port(name, 1, 200000, far);
            hccl_card_add_port(c, &port);
        }
    }
    cards[ncards] = c;
    ncards++;
}

static int start(void **state)
{
    (void) state;
    ncards = 0;
    return 0;
}

/* One digit per process: the k of its mlx5_k, - for none. And rails are numbered alike. */
static void expect(const char *what, const char *digits)
{
    int port[MOST], rail[MOST];
    char found[MOST + 1] = "", rails[MOST + 1] = "";

    assert_int_equal(HCCL_OK, hccl_ports_assign(cards, ncards, port, rail));
    for (int i = 0; i < ncards; i++) {
        found[i] = 0 > port[i] ? '-' : card[i].ports[port[i]].name[5];
        rails[i] = (char) (0 > rail[i] ? '-' : '0' + rail[i]);
    }
    if (0 != strcmp(digits, found) || 0 != strcmp(digits, rails)) {
        fail_msg("%s: ports %s rails %s, not %s", what, found, rails, digits);
    }
}

/* NICs at one distance: rank i of n on NIC i modulo their number. */
static void all_alike(void **state)
{
    (void) state;
    static const char *const expected[] = {
        [1] = "0000000000000000",
        [2] = "0101010101010101",
        [4] = "0123012301230123",
        [8] = "0123456701234567",
    };

    for (int nics = 1; nics <= 8; nics *= 2) {
        for (int ranks = 1; ranks <= 16; ranks++) {
            char want[MOST] = "", what[40];
            ncards = 0;
            for (int i = 0; i < ranks; i++) {
                add_process(0, &"nnnnnnnn"[8 - nics]);
            }
            snprintf(want, sizeof(want), "%.*s", ranks, expected[nics]);
            snprintf(what, sizeof(what), "%d NICs, %d ranks", nics, ranks);
            expect(what, want);
        }
    }
}

/* Two packages with a NIC each, ranks packed; then three ranks on the first and one on the second:
 * one of the three must go to the far NIC, and it is the last one that can without moving others. */
static void two_packages(void **state)
{
    (void) state;
    for (int i = 0; i < 8; i++) {
        add_process(0, i < 4 ? "nf" : "fn");
    }
    expect("packed", "00001111");
    ncards = 0;
    for (int i = 0; i < 8; i++) {
        add_process(0, 0 == i % 2 ? "fn" : "nf");
    }
    expect("alternating, the other way round", "10101010");
    ncards = 0;
    add_process(0, "nf");
    add_process(0, "nf");
    add_process(0, "nf");
    add_process(0, "fn");
    int port[MOST], near = 0, on_first = 0;
    assert_int_equal(HCCL_OK, hccl_ports_assign(cards, ncards, port, NULL));
    for (int i = 0; i < 4; i++) {
        near += HCCL_NEAR == card[i].ports[port[i]].distance;
        on_first += '0' == card[i].ports[port[i]].name[5];
    }
    assert_int_equal(2, on_first); /* evenly */
    assert_int_equal(3, near);     /* the most that is possible then */
}

/* Two packages, four NUMA domains, the third one without a NIC: its ranks use the one in their
 * package, and those of the fourth share it; NICs 0, 1, 2 hang on domains 0, 1, 3. Eight ranks on
 * three NICs: loads 3, 3, 2, so one of the four of the second package must leave. */
static void domain_without_nic(void **state)
{
    (void) state;
    int port[MOST], load[3] = {0}, cost = 0;
    static const char *const by_domain[] = {"npf", "pnf", "ffp", "ffn"};

    for (int i = 0; i < 4; i++) {
        add_process(0, by_domain[i]);
    }
    /* one rank per domain, three NICs: two ranks share one, best the two of the second package */
    expect("one rank per domain", "0122");
    ncards = 0;
    for (int i = 0; i < 8; i++) {
        add_process(0, by_domain[i / 2]);
    }
    assert_int_equal(HCCL_OK, hccl_ports_assign(cards, ncards, port, NULL));
    for (int i = 0; i < 8; i++) {
        load[card[i].ports[port[i]].name[5] - '0']++;
        cost += card[i].ports[port[i]].distance;
    }
    assert_true(3 >= load[0] && 3 >= load[1] && 3 == load[2]);
    /* near: 0 to 3, 6 and 7; one of domain 2 in its package (1), one far (2) */
    assert_int_equal(1 + 2, cost);
}

/* Same-index ranks of different nodes meet: hosts that are bound alike, and two that are not, whose
 * common choice is the one that is nearest in the sum. */
static void rails_meet(void **state)
{
    (void) state;
    for (int i = 0; i < 12; i++) {
        add_process(i % 3, i / 3 < 2 ? "nf" : "fn"); /* alternating hosts */
    }
    expect("three hosts, alternating", "000000111111");
    ncards = 0;
    for (int host = 0; host < 3; host++) {
        for (int i = 0; i < 4; i++) {
            /* the last host is bound the other way round: two to one */
            add_process(host, (i < 2) == (host < 2) ? "nf" : "fn");
        }
    }
    expect("two against one", "001100110011");
}

/* Nodes of 1, 2 and 3 ranks with two NICs, where nothing is nearer; one with other NICs; one rank
 * without a host key; one without a card. */
static void uneven_nodes(void **state)
{
    (void) state;
    add_process(0, "nn");
    add_process(1, "nn");
    add_process(1, "nn");
    add_process(2, "nn");
    add_process(2, "nn");
    add_process(2, "nn");
    expect("1, 2 and 3 ranks", "001010");
    add_process(3, "nnnn");
    add_process(3, "nnnn");
    add_process(3, "nnnn");
    expect("and one with four NICs", "001010012");
    add_process(4, "");
    add_process(5, "nn");
    card[10].host_key = 0;
    cards[ncards++] = NULL;
    expect("and none, no key, no card", "001010012-0-");
}

/* Ports that are no rails: down, InfiniBand, no GID, slow; and one that only some see. */
static void unusable(void **state)
{
    (void) state;
    add_process(0, "nnnnn");
    add_process(0, "nnnnn");
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 5; k++) {
            hccl_port_t *port = &card[i].ports[k];
            switch (port->name[5]) {
            case '0':
                port->active = 0;
                break;
            case '1':
                port->link_layer = HCCL_LINK_IB;
                break;
            case '2':
                port->gid_index = -1;
                break;
            case '3':
                port->speed_mbps = 25000;
                break;
            default:
                break;
            }
        }
    }
    int port[MOST], rail[MOST];
    assert_int_equal(HCCL_OK, hccl_ports_assign(cards, 2, port, rail));
    for (int i = 0; i < 2; i++) {
        assert_int_equal('4', card[i].ports[port[i]].name[5]);
        assert_int_equal(0, rail[i]);
    }
    ncards = 0;
    add_process(0, "nn");
    add_process(0, "n-");
    add_process(0, "nn");
    add_process(0, "n-");
    expect("two see only the first", "1010");
}

/* mlx5_2 before mlx5_10, and port 1 of a device before port 2. */
static void names_in_order(void **state)
{
    (void) state;
    static const char *const names[] = {"mlx5_10", "mlx5_9", "mlx5_9", "mlx4_11"};
    static const int numbers[] = {1, 2, 1, 1};
    int port[4], rail[4];

    for (int i = 0; i < 4; i++) {
        add_process(0, "");
        for (int k = 0; k < 4; k++) {
            const hccl_port_t p = make_port(names[k], numbers[k], 100000, HCCL_NEAR);
            hccl_card_add_port(&card[i], &p);
        }
    }
    assert_int_equal(HCCL_OK, hccl_ports_assign(cards, 4, port, rail));
    static const int order[] = {3, 2, 1, 0}; /* in the card as entered */
    for (int i = 0; i < 4; i++) {
        assert_int_equal(order[i], port[i]);
        assert_int_equal(i, rail[i]);
    }
}

static void chosen(void **state)
{
    (void) state;
    for (int i = 0; i < 4; i++) {
        add_process(0, "nnn");
    }
    card[0].chosen = 0; /* entered backwards: mlx5_2 */
    card[3].chosen = 1;
    assert_string_equal("mlx5_2", card[0].ports[0].name);
    expect("two have chosen", "2121");
}

/* Leaders of four nodes of three ranks: nearest its port; the same for all ranks; the second one wanted
 * by the user; no port. And the seats of nodes in rings. */
static void leaders(void **state)
{
    (void) state;
    static const char *const distances[] = {"f", "p", "n", "n", "n", "n",
                                            "n", "f", "f", "",  "",  ""};
    static const int seats[] = {2, 0, 3, 1};
    hccl_shape_t *shape = NULL;
    char why[200] = "";

    for (int i = 0; i < 12; i++) {
        add_process(i / 3, distances[i]);
        card[i].seat = seats[i / 3];
    }
    card[7].leads = card[8].leads = 1;
    assert_int_equal(HCCL_OK, hccl_shape_from_cards(cards, 12, NULL, &shape));
    assert_int_equal(HCCL_OK, hccl_shape_check(shape, why, sizeof(why)));
    assert_memory_equal(((const int[]){2, 0, 1, 0}), shape->lead, 4 * sizeof(int));
    assert_memory_equal(((const int[]){1, 3, 0, 2}), shape->ring, 4 * sizeof(int));
    assert_true(shape->led && shape->ringed);
    hccl_shape_free(shape);
    card[11].seat = card[10].seat = card[9].seat = -1; /* not all have one: no order */
    assert_int_equal(HCCL_OK, hccl_shape_from_cards(cards, 12, NULL, &shape));
    assert_false(shape->ringed);
    hccl_shape_free(shape);
    /* two ranks share two NICs: each leads where its own one is near */
    ncards = 0;
    add_process(0, "ff");
    add_process(0, "fn");
    add_process(1, "nf");
    add_process(1, "fn");
    assert_int_equal(HCCL_OK, hccl_shape_from_cards(cards, 4, NULL, &shape));
    assert_memory_equal(((const int[]){1, 0}), shape->lead, 2 * sizeof(int));
    hccl_shape_free(shape);
}

static void nothing_at_all(void **state)
{
    (void) state;
    int port;

    assert_int_equal(HCCL_ERR_ARG, hccl_ports_assign(cards, 0, &port, NULL));
    assert_int_equal(HCCL_ERR_ARG, hccl_ports_assign(NULL, 1, &port, NULL));
}

static void lines(void **state)
{
    (void) state;
    int port[MOST];
    char text[400];
    const int ranks[] = {1, 3, 5};

    for (int i = 0; i < 6; i++) {
        add_process(i % 2, i < 4 ? "nf" : "ff");
    }
    card[1].ports[0].numa = 1;
    assert_int_equal(HCCL_OK, hccl_ports_assign(cards, 6, port, NULL));
    hccl_ports_print(cards, ranks, 3, port, text, sizeof(text));
    assert_string_equal("mlx5_0:1 (200 Gbit/s, MTU 4096, GID 3 ::ffff:10.0.0.1, NUMA 1) rank 1,3; "
                        "mlx5_1:1 (200 Gbit/s, MTU 4096, GID 3 ::ffff:10.0.0.1) rank 5 (far)",
                        text);
    hccl_ports_print(cards, ranks, 3, port, text, 10);
    assert_string_equal("mlx5_0:1 ", text);
    for (int i = 0; i < 6; i++) {
        port[i] = -1;
    }
    hccl_ports_print(cards, ranks, 3, port, text, sizeof(text));
    assert_string_equal("", text);
}

/* ---- lists and maps ------------------------------------------------------------------------------- */

static void assert_allows(const char *text, const char *name, int number, bool expected)
{
    char why[200] = "";
    hccl_port_list_t list;
    const hccl_port_t port = make_port(name, number, 1, 0);

    if (HCCL_OK != hccl_port_list_read(text, &list, why, sizeof(why))) {
        fail_msg("\"%s\": %s", NULL == text ? "" : text, why);
    }
    if (expected != hccl_port_list_allows(&list, &port)) {
        fail_msg("\"%s\" %s %s:%d", NULL == text ? "" : text, expected ? "refuses" : "allows", name,
                 number);
    }
}

static void lists(void **state)
{
    (void) state;
    assert_allows(NULL, "mlx5_0", 1, true);
    assert_allows("", "mlx5_0", 1, true);
    assert_allows("mlx5_0:1,mlx5_1", "mlx5_0", 1, true);
    assert_allows("mlx5_0:1,mlx5_1", "mlx5_0", 2, false);
    assert_allows("mlx5_0:1,mlx5_1", "mlx5_1", 2, true);
    assert_allows("mlx5_0:1,mlx5_1", "mlx5_10", 1, false);
    assert_allows("^mlx5_0:1,mlx5_1", "mlx5_0", 1, false);
    assert_allows("^mlx5_0:1,mlx5_1", "mlx5_0", 2, true);
    assert_allows("^mlx5_0:1,mlx5_1", "mlx5_1", 1, false);
    assert_allows("^mlx5_0:1,mlx5_1", "mlx5_2", 1, true);
}

static void lists_refused(void **state)
{
    (void) state;
    static const struct {
        const char *text, *entry, *word;
    } cases[] = {
        {"mlx5_0,,mlx5_1", "\"\"", "1 to 15 characters"},
        {",mlx5_0", "\"\"", "1 to 15"},
        {"^", "\"\"", "1 to 15"},
        {"mlx5_0,", "\"\"", "1 to 15"},
        {"mlx5_0:0", "\"mlx5_0:0\"", "1 to 255"},
        {"mlx5_0:256", "\"mlx5_0:256\"", "1 to 255"},
        {"mlx5_0:99999999999999999999", "mlx5_0:999", "1 to 255"},
        {"mlx5_0:", "\"mlx5_0:\"", "1 to 255"},
        {"mlx5_0:1x", "\"mlx5_0:1x\"", "1 to 255"},
        {"mlx5_0:x", "\"mlx5_0:x\"", "1 to 255"},
        {"ok,mlx5 0", "\"mlx5 0\"", "letters"},
        {"ok,^mlx5_0", "\"^mlx5_0\"", "letters"},
        {"a234567890123456", "a234567890123456", "1 to 15"},
        {"0=mlx5_0", "\"0=mlx5_0\"", "not accepted here"},
        {"a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,b", "\"b\"",
         "at most 32"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char why[200] = "";
        hccl_port_list_t list;
        assert_int_equal(HCCL_ERR_ARG, hccl_port_list_read(cases[i].text, &list, why, sizeof(why)));
        if (NULL == strstr(why, cases[i].entry) || NULL == strstr(why, cases[i].word)) {
            fail_msg("\"%s\": %s", cases[i].text, why);
        }
    }
}

/* Rank, index and what the map has for them. */
static void assert_mapped(const char *text, int rank, int index, const char *device, int number)
{
    char why[200] = "";
    hccl_port_name_t name;

    if (HCCL_OK != hccl_port_map_find(text, rank, index, &name, why, sizeof(why))) {
        fail_msg("\"%s\": %s", NULL == text ? "" : text, why);
    }
    assert_string_equal(device, name.device);
    assert_int_equal(number, name.number);
}

static void maps(void **state)
{
    (void) state;
    static const char *const by_rank = "0-3=mlx5_0:1,4-7=mlx5_1:2,9=mlx5_2,5=mlx5_3";
    hccl_port_name_t name;
    char why[200];

    assert_mapped(NULL, 0, 0, "", 0);
    assert_mapped("", 5, 1, "", 0);
    assert_mapped("mlx5_0:1,mlx5_1", 7, 0, "mlx5_0", 1);
    assert_mapped("mlx5_0:1,mlx5_1", 7, 1, "mlx5_1", 0);
    assert_mapped("mlx5_0:1,mlx5_1", 7, 2, "mlx5_0", 1);
    assert_mapped("mlx5_0:1,mlx5_1", 7, 5, "mlx5_1", 0);
    assert_mapped(by_rank, 3, 9, "mlx5_0", 1);
    assert_mapped(by_rank, 4, 9, "mlx5_1", 2);
    assert_mapped(by_rank, 5, 0, "mlx5_3", 0); /* the last one that names it */
    assert_mapped(by_rank, 8, 0, "", 0);
    assert_mapped(by_rank, 9, 0, "mlx5_2", 0);
    static const char *const bad[] = {"0-=a", "-3=a",  "3-2=a", "x=a",   "1-2-3=a",     "=a",
                                      "0=",   "0=a,b", "a,0=b", "0=a:0", "2000000000=a"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (HCCL_ERR_ARG != hccl_port_map_find(bad[i], 0, 0, &name, why, sizeof(why))) {
            fail_msg("\"%s\" is accepted", bad[i]);
        }
        assert_non_null(strstr(why, "entry \""));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_alike, start),
        cmocka_unit_test_setup(two_packages, start),
        cmocka_unit_test_setup(domain_without_nic, start),
        cmocka_unit_test_setup(rails_meet, start),
        cmocka_unit_test_setup(uneven_nodes, start),
        cmocka_unit_test_setup(unusable, start),
        cmocka_unit_test_setup(names_in_order, start),
        cmocka_unit_test_setup(chosen, start),
        cmocka_unit_test_setup(leaders, start),
        cmocka_unit_test_setup(nothing_at_all, start),
        cmocka_unit_test_setup(lines, start),
        cmocka_unit_test(lists),
        cmocka_unit_test(lists_refused),
        cmocka_unit_test(maps),
    };
    return cmocka_run_group_tests_name("topo_ports", tests, NULL, NULL);
}
