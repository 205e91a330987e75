/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The topologies: all ways to put up to 8 ranks on nodes, in node order, dealt and shuffled; larger
 * ones, divided nodes, other leaders and rings by kind; samples of 1,024 and 4,096 ranks.
 */
#include "shapes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(shape_list_t *list, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(shape_list_t *list, const char *format, ...)
{
    char(*moved)[128] = realloc(list->text, ((size_t) list->n + 1) * sizeof(*moved));
    if (NULL == moved) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    list->text = moved;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(list->text[list->n], sizeof(*moved), format, args);
    va_end(args);
    if (n < (int) sizeof(*moved)) {
        list->n++;
    }
}

/* Composition number `code` of p ranks: bit i set starts a new node behind rank i. */
static int composition(int p, int code, char *text, size_t size)
{
    int nodes = 0, run = 1;
    size_t at = 0;
    for (int i = 0; i < p; i++) {
        if (i + 1 < p && 0 == (code >> i & 1)) {
            run++;
            continue;
        }
        at += (size_t) snprintf(text + at, size - at, "%s%d", 0 == nodes ? "" : ",", run);
        nodes++;
        run = 1;
    }
    return nodes;
}

/* A map of p slots in a scrambled order that differs with seed. */
static void shuffled(int p, unsigned seed, char *text, size_t size)
{
    int slot[64];
    size_t at = 0;
    unsigned x = seed * 2654435761u + 12345;
    for (int i = 0; i < p; i++) {
        slot[i] = i;
    }
    for (int i = p - 1; i > 0; i--) {
        x = x * 1103515245u + 12345;
        int j = (int) (x >> 16) % (i + 1);
        int other = slot[i];
        slot[i] = slot[j];
        slot[j] = other;
    }
    for (int i = 0; i < p; i++) {
        at += (size_t) snprintf(text + at, size - at, "%s%d", 0 == i ? "" : ",", slot[i]);
    }
}

static void add_small(shape_list_t *list, int most)
{
    char parts[64], map[64];
    for (int p = 1; p <= most; p++) {
        for (int code = 0; code < 1 << (p - 1); code++) {
            int nodes = composition(p, code, parts, sizeof(parts));
            add(list, "node:%d rank:(%s)", nodes, parts);
            if (1 == nodes || nodes == p) {
                continue;
            }
            add(list, "node:%d rank:(%s) map:cyclic", nodes, parts);
            if (0 == code % 5) {
                shuffled(p, (unsigned) code, map, sizeof(map));
                add(list, "node:%d rank:(%s) map:%s", nodes, parts, map);
            }
        }
    }
}

static void add_middle(shape_list_t *list)
{
    static const char *const shapes[] = {
        "rank:9",
        "rank:16",
        "rank:17",
        "rank:31",
        "rank:64",
        "node:9",
        "node:11",
        "node:12",
        "node:16",
        "node:23",
        "node:32",
        "node:64",
        "node:2 rank:8",
        "node:3 rank:4",
        "node:4 rank:4",
        "node:5 rank:3",
        "node:7 rank:3",
        "node:8 rank:8",
        "node:16 rank:4",
        "node:3 rank:16",
        "node:4 rank:4 map:cyclic",
        "node:8 rank:8 map:cyclic",
        "node:6 rank:5 map:cyclic",
        "node:3 rank:(1,5,9)",
        "node:3 rank:(9,1,5) map:cyclic",
        "node:4 rank:(16,1,1,1)",
        "node:4 rank:(1,1,1,16)",
        "node:5 rank:(2,3,4,5,6)",
        "node:5 rank:(2,3,4,5,6) map:cyclic",
        "node:6 rank:(8,8,8,8,8,7)",
        "node:2 numa:2 core:4",
        "node:2 package:2 numa:2 core:2 map:cyclic",
        /* reversed; communicators with one rank of some nodes and all of others */
        "node:3 rank:3 map:8,7,6,5,4,3,2,1,0",
        "node:4 rank:3 map:11,10,9,8,7,6,5,4,3,2,1,0",
        "node:5 rank:2 map:9,8,7,6,5,4,3,2,1,0",
        "node:3 rank:(1,2,3) map:5,4,3,2,1,0",
        "node:4 rank:(1,4,1,4)",
        "node:4 rank:(4,1,4,1) map:cyclic",
        "node:6 rank:(1,4,4,1,4,1)",
        "node:7 rank:(3,1,3,1,1,3,3) map:cyclic",
        "node:9 rank:(1,2,1,2,2,1,2,2,1) map:13,0,12,1,11,2,10,3,9,4,8,5,7,6",
        "node:4 rank:4 map:0,4,8,12,13,9,5,1,2,6,10,14,15,11,7,3",
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        add(list, "%s", shapes[i]);
    }
    for (int p = 9; p <= 64; p += 5) {
        char map[sizeof(*list->text)];
        add(list, "node:%d", p);
        add(list, "node:%d rank:%d", p / 3, 3);
        if (p <= 29) {
            shuffled(p / 2 * 2, (unsigned) p, map, sizeof(map));
            add(list, "node:%d rank:2 map:%s", p / 2, map);
        }
    }
}

/* Nodes that are divided: one to three levels, even and uneven, groups of one, unknown places, ranks
 * of a group in a row or not. */
static void add_divided(shape_list_t *list)
{
    static const char *const shapes[] = {
        "numa:2 core:2",
        "numa:2 core:2 map:0,2,1,3",
        "numa:2 core:(1,2)",
        "numa:2 core:(2,1) map:2,0,1",
        "numa:3 core:(1,3,1)",
        "numa:2 core:(2,5)",
        "numa:2? core:2",
        "numa:2 core:4 map:0,4,1,5,2,6,3,7",
        "package:2 numa:2 core:2",
        "package:2 numa:2 core:2 map:7,0,6,1,5,2,4,3",
        "package:2 numa:(1,2) core:(3,2,2)",
        "package:2 numa:2 core:(1,4,1,2)",
        "package:2 numa:2 l3:1 core:2",
        "l3:3 core:(2,3,2)",
        "l3:8 core:4",
        "numa:7 core:2",
        "numa:2 l3:4 core:2 map:0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15",
        "package:2 numa:2 l3:2 core:2",
        "package:2 numa:2 l3:2 core:(1,2,3,1,1,1,4,2)",
        "package:2 numa:2 l3:2 core:(3,1,2,2,5,1,1,2) "
        "map:16,0,15,1,14,2,13,3,12,4,11,5,10,6,9,7,8",
        "package:2 numa:4 core:8",
        "package:3 numa:(2,1,3) l3:2 core:3",
        "node:2 numa:2 core:2",
        "node:2 numa:2 core:4 map:cyclic",
        "node:3 numa:2 core:(4,4,1,8,2,1)",
        "node:2 package:2 numa:2 l3:2 core:2",
        "node:3 numa:(1,2,3) core:(9,4,5,3,3,4)",
        "node:2 numa:2 core:4 map:0,4,8,12,1,5,9,13,2,6,10,14,3,7,11,15",
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        add(list, "%s", shapes[i]);
    }
}

/* Nodes that another rank than their first leads, and rings in other orders than that of nodes. */
static void add_led(shape_list_t *list)
{
    static const char *const shapes[] = {
        "node:2 rank:2 lead:1",
        "node:2 rank:3 lead:2,1 ring:1,0",
        "node:3 rank:2 ring:0,2,1",
        "node:3 rank:2 map:cyclic lead:0,1,1 ring:2,1,0",
        "node:3 rank:(1,2,3) lead:0,1,2 ring:1,0,2",
        "node:3 rank:(3,1,2) map:cyclic lead:2,0,1",
        "node:4 ring:0,2,1,3",
        "node:4 rank:2 lead:1,0,1,0 ring:3,1,0,2",
        "node:4 rank:(1,4,1,4) lead:0,3,0,1 ring:2,0,3,1",
        "node:4 rank:3 map:11,10,9,8,7,6,5,4,3,2,1,0 lead:2 ring:1,3,0,2",
        "node:5 rank:3 lead:1 ring:0,2,4,1,3",
        "node:5 rank:(2,3,4,5,6) lead:1,2,0,4,5 ring:4,2,0,3,1",
        "node:6 rank:2 map:cyclic ring:5,3,1,0,2,4",
        "node:7 rank:(3,1,3,1,1,3,3) lead:2,0,1,0,0,1,2 ring:0,6,1,5,2,4,3",
        "node:8 rank:4 lead:3 ring:0,4,1,5,2,6,3,7",
        "node:9 ring:8,0,7,1,6,2,5,3,4",
        "node:16 rank:2 lead:1 ring:0,8,4,12,2,10,6,14,1,9,5,13,3,11,7,15",
        "numa:2 core:4 lead:5",
        "node:2 numa:2 core:4 lead:4,6 ring:1,0",
        "node:3 numa:2 core:4 map:cyclic lead:3 ring:2,0,1",
        "node:2 package:2 numa:2 l3:2 core:2 lead:9,3",
        "node:3 numa:(1,2,3) core:(9,4,5,3,3,4) lead:8,4,9 ring:0,2,1",
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        add(list, "%s", shapes[i]);
    }
}

static void add_large(shape_list_t *list, shape_extent_t extent)
{
    add(list, "node:16 rank:16 map:cyclic");
    add(list, "node:128 rank:8");
    add(list, "node:1000");
    add(list, "node:1024");
    add(list, "node:16 rank:64 map:cyclic");
    add(list, "node:333 rank:3 map:cyclic");
    add(list, "node:512 rank:8");
    add(list, "node:64 rank:64");
    add(list, "node:4096");
    if (SHAPES_LONG == extent) {
        add(list, "node:100 rank:10");
        add(list, "node:128 rank:8 map:cyclic");
        add(list, "node:1024 rank:4 map:cyclic");
        add(list, "node:1365 rank:3");
        add(list, "node:4095");
    }
}

void shapes_make(shape_list_t *list, shape_extent_t extent)
{
    list->n = 0;
    list->text = NULL;
    add_small(list, SHAPES_LONG == extent ? 10 : 8);
    add_middle(list);
    add_divided(list);
    add_led(list);
    add_large(list, extent);
}

void shapes_free(shape_list_t *list)
{
    free(list->text);
}
