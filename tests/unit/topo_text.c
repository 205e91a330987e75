/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The text form of shapes: what each part means, what is printed, what is refused and how, and that
 * no input of any kind crashes. HCCL_TEST_SEED changes the random inputs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topo/topo.h"

static hccl_shape_t *parse(const char *text, int nranks)
{
    char why[300] = "";
    hccl_shape_t *shape = NULL;

    if (HCCL_OK != hccl_shape_from_text(text, nranks, &shape, why, sizeof(why))) {
        fail_msg("%s: %s", text, why);
    }
    if (HCCL_OK != hccl_shape_check(shape, why, sizeof(why))) {
        fail_msg("%s: %s", text, why);
    }
    return shape;
}

static char *print(const hccl_shape_t *shape)
{
    int len = hccl_shape_print(shape, NULL, 0);
    assert_true(0 < len);
    char *text = malloc((size_t) len + 1);
    assert_non_null(text);
    assert_int_equal(len, hccl_shape_print(shape, text, (size_t) len + 1));
    assert_int_equal(len, strlen(text));
    return text;
}

static void assert_round_trip(const hccl_shape_t *shape)
{
    char *text = print(shape);
    hccl_shape_t *again = parse(text, -1);

    if (!hccl_shape_equal(shape, again)) {
        fail_msg("\"%s\" reads back as another shape", text);
    }
    hccl_shape_free(again);
    free(text);
}

/* "n.p.u.l.c" for each rank, blanks between; "-" for unknown. */
static void assert_places(const char *text, int nranks, const char *expected)
{
    hccl_shape_t *s = parse(text, nranks);
    char got[1000] = "";
    size_t used = 0;

    for (int rank = 0; rank < s->nranks; rank++) {
        const hccl_place_t *p = &s->place[rank];
        const int32_t ids[] = {p->node, p->package, p->numa, p->l3, p->core};
        for (int level = 0; level < 5; level++) {
            const char *before = 0 == rank ? "" : " ";
            before = 0 == level ? before : ".";
            used +=
                (size_t) (-1 == ids[level] ? snprintf(got + used, sizeof(got) - used, "%s-", before)
                                           : snprintf(got + used, sizeof(got) - used, "%s%d",
                                                      before, (int) ids[level]));
        }
    }
    assert_string_equal(expected, got);
    assert_round_trip(s);
    hccl_shape_free(s);
}

static void meaning(void **state)
{
    (void) state;
    assert_places("node:2", -1, "0.-.-.-.- 1.-.-.-.-");
    assert_places("core:2", -1, "0.-.-.-.0 0.-.-.-.1");
    assert_places("node:2 numa:2 core:1", -1, "0.-.0.-.0 0.-.1.-.1 1.-.0.-.0 1.-.1.-.1");
    assert_places("socket:2 l3:1", -1, "0.0.-.0.- 0.1.-.1.-");
    assert_places("node:2 rank:2", -1, "0.-.-.-.- 0.-.-.-.- 1.-.-.-.- 1.-.-.-.-");
    assert_places("node:1 core:2 rank:2", -1, "0.-.-.-.0 0.-.-.-.0 0.-.-.-.1 0.-.-.-.1");
    assert_places("node:3 core:(1,2,1)", -1, "0.-.-.-.0 1.-.-.-.0 1.-.-.-.1 2.-.-.-.0");
    assert_places("node:2 numa:(1,2) core:(2,1,1)", -1, "0.-.0.-.0 0.-.0.-.1 1.-.0.-.0 1.-.1.-.1");
    assert_places("node:1 package:1? core:(1,?)", -1, "0.0.-.-.0 0.-.-.-.-");
    assert_places("  node:2\t core:( 1 , 1 )  map:block ", -1, "0.-.-.-.0 1.-.-.-.0");
}

static void maps(void **state)
{
    (void) state;
    assert_places("node:2 core:2 map:cyclic", -1, "0.-.-.-.0 1.-.-.-.0 0.-.-.-.1 1.-.-.-.1");
    assert_places("node:3 core:(1,3,2) map:cyclic", -1,
                  "0.-.-.-.0 1.-.-.-.0 2.-.-.-.0 1.-.-.-.1 2.-.-.-.1 1.-.-.-.2");
    /* slots 2, 3, 0: the second node is met first */
    assert_places("node:2 core:2 map:2,3,0", -1, "0.-.-.-.0 0.-.-.-.1 1.-.-.-.0");
    assert_places("node:2 core:2 map:3,0-2", -1, "0.-.-.-.0 1.-.-.-.0 1.-.-.-.1 0.-.-.-.1");
}

static void more_slots_than_ranks(void **state)
{
    (void) state;
    assert_places("node:2 core:2", 3, "0.-.-.-.0 0.-.-.-.1 1.-.-.-.0");
    assert_places("node:2 core:2", 2, "0.-.-.-.0 0.-.-.-.1");
    assert_places("node:2 core:2 map:cyclic", 2, "0.-.-.-.0 1.-.-.-.0");
    assert_places("node:2 core:2 map:3,1,0", 1, "0.-.-.-.0");
}

/* Canonical texts print as they are. */
static void printing(void **state)
{
    (void) state;
    const char *texts[] = {
        "node:1",
        "node:16",
        "node:4 numa:2 core:2",
        "node:3 core:(1,2,3)",
        "node:2 rank:3",
        "node:2 core:2 rank:2",
        "node:2 package:2 numa:2 l3:2 core:2",
        "node:2 package:(2?,1) core:(2,2,?,4)",
        "node:2 package:? l3:2 core:1",
        "node:4 rank:2 map:cyclic",
        "node:3 core:(3,1,2) map:cyclic",
        "node:2 core:4 map:0-1,4-5,2-3,6-7",
        "node:1 numa:2 map:cyclic",
        NULL,
    };

    for (int i = 0; NULL != texts[i]; i++) {
        hccl_shape_t *s = parse(texts[i], -1);
        char *text = print(s);
        /* a level that no rank knows leaves no trace; a map that moves nobody neither */
        const char *expected = texts[i];
        expected = 8 == i ? "node:2 l3:2 core:1" : expected;
        expected = 12 == i ? "node:1 numa:2" : expected;
        assert_string_equal(expected, text);
        free(text);
        hccl_shape_free(s);
    }
}

static void printing_into_little_room(void **state)
{
    (void) state;
    hccl_shape_t *s = parse("node:3 core:(1,2,3)", -1);

    for (size_t len = 0; len < 25; len++) {
        char buf[32];
        memset(buf, '#', sizeof(buf));
        assert_int_equal(19, hccl_shape_print(s, buf, len));
        size_t kept = len < 20 ? len : 20;
        assert_memory_equal("node:3 core:(1,2,3)", buf, 0 == kept ? 0 : kept - 1);
        if (0 < len) {
            assert_int_equal('\0', buf[kept - 1]);
        }
        assert_int_equal('#', buf[len]);
    }
    hccl_shape_free(s);
}

/* Each refusal: text, ranks, and the words that its message must have. */
static const struct {
    const char *text;
    int nranks;
    const char *words[3];
} refusals[] = {
    {"", -1, {"character 1", "no level given", "node, package (or socket), numa, l3, core, rank"}},
    {"   ", -1, {"character 4", "no level given", NULL}},
    {"numb:3", -1, {"character 1, \"numb:3\"", "no such level", "numa, l3, core, rank"}},
    {"node:2 Core:3", -1, {"character 8, \"Core:3\"", "no such level", NULL}},
    {"node", -1, {"character 1, \"node\"", "\":\" and a value must follow node", NULL}},
    {"node:", -1, {"character 6, at its end", "a number from 1 to", NULL}},
    {"node:0", -1, {"character 6, \"0\"", "a number from 1 to", NULL}},
    {"node:-3", -1, {"character 6, \"-3\"", "a number from 1 to", NULL}},
    {"node:two", -1, {"character 6, \"two\"", "a number from 1 to", NULL}},
    {"node:2x", -1, {"character 7, \"x\"", "a blank or the end must follow node:2", NULL}},
    {"node:99999999999999999999", -1, {"character 6", "a number from 1 to 1048576", NULL}},
    {"node:1000000 core:1000000", -1, {"character 19", "1000000000000 places", "1048576"}},
    {"node:2 core:524289", -1, {"character 13", "1048578 places", "at most 1048576"}},
    {"core:2 node:2", -1, {"character 8", "node can't come after core", "in this order"}},
    {"numa:2 numa:2", -1, {"character 8", "numa can't come after numa", NULL}},
    {"package:2 socket:2", -1, {"character 11", "socket can't come after package", NULL}},
    {"node:3 core:(1,2)", -1, {"character 13", "2 counts for 3 nodes", NULL}},
    {"node:2 core:(1,2,3)", -1, {"character 18, \"3\"", "more than 2 counts", NULL}},
    {"node:2 core:(1 2)", -1, {"character 16, \"2\"", "\",\" or \")\"", NULL}},
    {"node:2 core:(1,2", -1, {"character 17, at its end", "\",\" or \")\"", NULL}},
    {"node:2 core:()", -1, {"character 14, \")\"", "a number from 1 to", NULL}},
    {"node:2?", -1, {"character 6, \"2?\"", "node can't be unknown", NULL}},
    {"node:2 rank:?", -1, {"character 13, \"?\"", "rank can't be unknown", NULL}},
    {"map:cyclic", -1, {"character 1", "a level must come before map", NULL}},
    {"node:2 map:", -1, {"character 12, at its end", "block or cyclic", "from 0 to 1"}},
    {"node:2 map:circle", -1, {"character 12, \"circle\"", "block or cyclic", NULL}},
    {"node:2 map:0,2", -1, {"character 14, \"2\"", "from 0 to 1", NULL}},
    {"node:2 map:1,1", -1, {"character 14, \"1\"", "slot 1 is named twice", "rank"}},
    {"node:4 map:2-1", -1, {"character 12, \"2-1\"", "must ascend", NULL}},
    {"node:4 map:1-", -1, {"character 14, at its end", "end of a range", "from 0 to 3"}},
    {"node:4 map:0,", -1, {"character 14, at its end", "from 0 to 3", NULL}},
    {"node:2 lead:0 map:block", -1, {"character 15", "nothing but lead, then ring", NULL}},
    {"node:2 ring:0,1 lead:0", -1, {"character 17", "nothing but lead", NULL}},
    {"node:2 core:2 lead:0,2", -1, {"lead", "below the number of its ranks", NULL}},
    {"node:3 core:2 lead:0,1", -1, {"lead", "one number for all 3 nodes or one for each", NULL}},
    {"node:2 core:2 lead:4", -1, {"lead: each must be a number from 0 to 3", NULL}},
    {"node:2 core:2 lead:x", -1, {"lead: each must be a number", NULL}},
    {"node:3 ring:0,1", -1, {"ring: each of the nodes 0 to 2 is needed once", NULL}},
    {"node:3 ring:0,1,1", -1, {"ring: each of the nodes 0 to 2", NULL}},
    {"node:3 ring:0,1,2,2", -1, {"one number for each node is accepted", NULL}},
    {"node:4 ring:3,2,1,0", 2, {"ring: each of the nodes 0 to 1 is needed once", NULL}},
    {"lead:0 node:2", -1, {"a level must come before lead", NULL}},
    {"node:2 map:block core:2", -1, {"character 18", "nothing but lead, then ring", NULL}},
    {"node:2 core:2", 5, {"places for 4 ranks", "there are 5", NULL}},
    {"node:2 core:2 map:0,1,2", 4, {"places for 3 ranks", "there are 4", NULL}},
    {"node:2 \x01\x80:", -1, {"character 8, \"??:\"", "no such level", NULL}},
};

static void refused(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
        char why[300] = "";
        hccl_shape_t *shape = NULL;
        const char *text = refusals[i].text;
        if (HCCL_ERR_ARG
            != hccl_shape_from_text(text, refusals[i].nranks, &shape, why, sizeof(why))) {
            fail_msg("\"%s\" was accepted", text);
        }
        assert_null(shape);
        for (int k = 0; k < 3 && NULL != refusals[i].words[k]; k++) {
            if (NULL == strstr(why, refusals[i].words[k])) {
                fail_msg("\"%s\": no \"%s\" in: %s", text, refusals[i].words[k], why);
            }
        }
        assert_int_equal(HCCL_ERR_ARG,
                         hccl_shape_from_text(text, refusals[i].nranks, &shape, NULL, 0));
        char tiny[4] = {'x', 'x', 'x', 'x'};
        assert_int_equal(HCCL_ERR_ARG,
                         hccl_shape_from_text(text, refusals[i].nranks, &shape, tiny, 3));
        assert_int_equal('\0', tiny[2]);
        assert_int_equal('x', tiny[3]);
    }
}

static void refused_arguments(void **state)
{
    (void) state;
    hccl_shape_t *shape = NULL;
    char why[100] = "";

    assert_int_equal(HCCL_ERR_ARG, hccl_shape_from_text(NULL, -1, &shape, why, sizeof(why)));
    assert_true(0 < strlen(why));
    assert_int_equal(HCCL_ERR_ARG, hccl_shape_from_text("node:2", 0, &shape, why, sizeof(why)));
    assert_int_equal(HCCL_ERR_ARG, hccl_shape_from_text("node:2", -2, &shape, why, sizeof(why)));
    assert_null(shape);
}

static uint64_t rng_state;
static unsigned rng(unsigned below)
{
    rng_state = rng_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned) (rng_state >> 33) % below;
}

/* Some leaders and some order of the nodes. */
static void lead_at_random(hccl_shape_t *s)
{
    int lead[48], ring[48];

    for (int v = 0; v < s->nnodes; v++) {
        lead[v] = (int) rng((unsigned) (s->node_start[v + 1] - s->node_start[v]));
        const int other = (int) rng((unsigned) v + 1);
        ring[v] = ring[other];
        ring[other] = v;
    }
    assert_int_equal(HCCL_OK, hccl_shape_set_lead(s, lead));
    if (0 == rng(2)) {
        assert_int_equal(HCCL_OK, hccl_shape_set_ring(s, ring));
    }
}

static void random_places_round_trip(void **state)
{
    (void) state;
    hccl_place_t places[48];

    for (int round = 0; round < 3000; round++) {
        int n = 1 + (int) rng(48);
        unsigned spread = 1 + rng(5);
        for (int rank = 0; rank < n; rank++) {
            int32_t ids[5];
            for (int level = 0; level < 5; level++) {
                ids[level] = (int32_t) rng(spread + 1) - (0 == level ? 0 : 1);
            }
            places[rank] = (hccl_place_t){ids[0], ids[1], ids[2], ids[3], ids[4]};
        }
        hccl_shape_t *s = NULL;
        assert_int_equal(HCCL_OK, hccl_shape_from_places(places, n, &s));
        if (0 == round % 2) {
            lead_at_random(s);
        }
        assert_round_trip(s);
        hccl_shape_free(s);
    }
}

/* Ranks 3, 4 and 8 lead the nodes. A part without node 0: its own node 0 is node 2, node 1 is node 1. */
static void parts_inherit(void **state)
{
    (void) state;
    static const int ranks[] = {8, 5, 4};
    hccl_shape_t *whole = parse("node:3 rank:(4,3,2) lead:3,0,1 ring:1,0,2", -1), *part = NULL;

    assert_int_equal(3, whole->lead_at[0]);
    assert_int_equal(4, whole->lead_at[1]);
    assert_int_equal(8, whole->lead_at[2]);
    assert_int_equal(HCCL_OK, hccl_shape_subset(whole, ranks, 3, &part));
    assert_int_equal(2, part->nnodes);
    assert_int_equal(0, part->lead[0]);
    assert_int_equal(1, part->lead[1]);
    assert_true(part->ringed);
    assert_int_equal(1, part->ring[0]);
    assert_int_equal(0, part->ring[1]);
    assert_false(hccl_shape_equal(whole, part));
    hccl_shape_free(part);
    hccl_shape_free(whole);
}

/* Uneven shapes under every kind of map, and under every subset of small ones. */
static void all_maps_round_trip(void **state)
{
    (void) state;
    const char *texts[] = {"node:1 rank:4",
                           "node:2 core:3",
                           "node:3 core:(1,2,3)",
                           "node:2 numa:(1,2) core:(3,1,2)",
                           "node:6",
                           "core:2 rank:3",
                           "node:2 package:1? l3:(2,?,1,?) rank:1"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        for (unsigned map = 0; map < 20; map++) {
            char text[200];
            hccl_shape_t *s = parse(texts[i], -1);
            int n = s->nranks;
            snprintf(text, sizeof(text), "%s%s", texts[i], 1 == map ? " map:cyclic" : " map:");
            if (1 != map) {
                int slot[16];
                for (int k = 0; k < n; k++) {
                    int other = 0 == map ? k : (int) rng((unsigned) k + 1);
                    slot[k] = slot[other];
                    slot[other] = k;
                }
                for (int k = 0; k < n; k++) {
                    size_t used = strlen(text);
                    snprintf(text + used, sizeof(text) - used, "%s%d", 0 == k ? "" : ",", slot[k]);
                }
            }
            hccl_shape_t *mapped = parse(text, -1);
            assert_int_equal(n, mapped->nranks);
            assert_round_trip(mapped);
            for (unsigned bits = 1; bits < 1u << n && n <= 6; bits++) {
                int ranks[6];
                int used = 0;
                for (int k = 0; k < n; k++) {
                    if (0 != (bits >> k & 1)) {
                        ranks[used++] = k;
                    }
                }
                hccl_shape_t *part = NULL;
                assert_int_equal(HCCL_OK, hccl_shape_subset(mapped, ranks, used, &part));
                assert_round_trip(part);
                hccl_shape_free(part);
            }
            hccl_shape_free(mapped);
            hccl_shape_free(s);
        }
    }
}

/* Whatever comes in: a sound shape that prints and parses, or an error with a message. */
static int feed(const char *text)
{
    char why[300] = "";
    hccl_shape_t *shape = NULL;
    int nranks = 0 == rng(3) ? 1 + (int) rng(20) : -1;
    int rc = hccl_shape_from_text(text, nranks, &shape, why, sizeof(why));

    if (HCCL_OK != rc) {
        assert_int_equal(HCCL_ERR_ARG, rc);
        assert_null(shape);
        if (NULL == strstr(why, "topology text, character ")) {
            fail_msg("\"%s\" was refused with: %s", text, why);
        }
        return 0;
    }
    if (shape->nranks <= 2000) {
        if (HCCL_OK != hccl_shape_check(shape, why, sizeof(why))) {
            fail_msg("\"%s\": %s", text, why);
        }
        assert_round_trip(shape);
    }
    hccl_shape_free(shape);
    return 1;
}

static void random_bytes(void **state)
{
    (void) state;
    for (int round = 0; round < 20000; round++) {
        char text[40];
        unsigned len = rng(sizeof(text));
        for (unsigned i = 0; i < len; i++) {
            text[i] = (char) (1 + rng(255));
        }
        text[len] = '\0';
        feed(text);
    }
}

/* Pieces of the grammar in any order, and valid texts with a few bytes changed. */
static void mutated_texts(void **state)
{
    (void) state;
    const char *pieces[] = {"node",   "package", "socket",      "numa",       "l3", "core",
                            "rank",   "map",     ":",           ":",          ":2", ":3",
                            "(",      ")",       ",",           " ",          " ",  "?",
                            "1",      "2",       "0",           "-",          "17", "block",
                            "cyclic", ":(1,2)",  " map:cyclic", "99999999999"};
    const char *texts[] = {"node:4 numa:2 core:2", "node:3 core:(1,2,3) map:cyclic",
                           "node:2 package:(2?,1) core:(2,2,?,4) rank:2 map:0-3,7,5,4,6",
                           "socket:2 l3:2 core:4 map:block"};
    const char bytes[] = "0123456789:(),?- \tnodecrkumapl3x\x7f\xff";
    int accepted = 0;

    for (int round = 0; round < 20000; round++) {
        char text[400] = "";
        for (unsigned i = 0, n = 1 + rng(12); i < n; i++) {
            strcat(text, pieces[rng(sizeof(pieces) / sizeof(*pieces))]);
        }
        accepted += feed(text);
        strcpy(text, texts[rng(4)]);
        for (unsigned i = 0, n = 1 + rng(3); i < n; i++) {
            size_t len = strlen(text);
            size_t at = rng((unsigned) len + 1);
            char byte = bytes[rng(sizeof(bytes) - 1)];
            if (0 != rng(3)) {
                /* mostly another digit, so that many stay valid */
                at += strcspn(text + at, "0123456789");
                text[at] = (char) (at < len ? '1' + rng(9) : 0);
            } else if (0 == rng(2) && at < len) {
                text[at] = byte;
            } else if (0 == rng(2) && at < len) {
                memmove(text + at, text + at + 1, len - at);
            } else {
                memmove(text + at + 1, text + at, len - at + 1);
                text[at] = byte;
            }
        }
        accepted += feed(text);
    }
    print_message("# %d of 40000 mutated texts were valid\n", accepted);
    assert_true(2000 < accepted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meaning),
        cmocka_unit_test(maps),
        cmocka_unit_test(more_slots_than_ranks),
        cmocka_unit_test(printing),
        cmocka_unit_test(printing_into_little_room),
        cmocka_unit_test(refused),
        cmocka_unit_test(refused_arguments),
        cmocka_unit_test(random_places_round_trip),
        cmocka_unit_test(parts_inherit),
        cmocka_unit_test(all_maps_round_trip),
        cmocka_unit_test(random_bytes),
        cmocka_unit_test(mutated_texts),
    };
    const char *seed = getenv("HCCL_TEST_SEED");

    rng_state = NULL == seed ? 42 : strtoull(seed, NULL, 10);
    print_message("# seed %llu\n", (unsigned long long) rng_state);
    return cmocka_run_group_tests_name("topo_text", tests, NULL, NULL);
}
