/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes the text form of a shape: the shortest levels that tell all its places, then the map.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/shape_internal.h"

typedef struct printer {
    char *buf;
    size_t len;
    size_t used; /* what the text needs so far, without the terminator */
    int n;
    hccl_place_rank_t *sorted; /* [n] the slots, in order, with their ranks */
    int *start;                /* [ncells + 1] where the objects of the last level begin */
    int *next;                 /* [n + 1] the same of the level being written */
    int *known;                /* [n] per object of the last level: known objects inside */
    char *unknown;             /* [n] and whether there is an unknown one */
    int ncells;
} printer_t;

__attribute__((format(printf, 2, 3))) static void emit(printer_t *p, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    bool room = p->used < p->len;
    int wrote =
        vsnprintf(room ? p->buf + p->used : NULL, room ? p->len - p->used : 0, format, args);
    va_end(args);
    p->used += (size_t) wrote;
}

/* Splits every cell by the ids of a level. False when no rank knows the level. */
static bool split(printer_t *p, int level, int *nobjects)
{
    bool any = false;
    int objects = 0;

    for (int cell = 0; cell < p->ncells; cell++) {
        p->known[cell] = 0;
        p->unknown[cell] = 0;
        for (int i = p->start[cell]; i < p->start[cell + 1]; i++) {
            int32_t id = hccl_place_id(&p->sorted[i].place, level);
            if (i > p->start[cell] && id == hccl_place_id(&p->sorted[i - 1].place, level)) {
                continue;
            }
            p->next[objects++] = i;
            p->known[cell] += -1 != id;
            p->unknown[cell] = p->unknown[cell] || -1 == id;
            any = any || -1 != id;
        }
    }
    p->next[objects] = p->n;
    *nobjects = objects;
    return any;
}

static void emit_count(printer_t *p, int known, bool unknown)
{
    if (0 < known) {
        emit(p, "%d", known);
    }
    if (unknown) {
        emit(p, "?");
    }
}

static void emit_counts(printer_t *p, const char *name)
{
    bool same = true;

    for (int cell = 1; cell < p->ncells; cell++) {
        same = same && p->known[cell] == p->known[0] && p->unknown[cell] == p->unknown[0];
    }
    emit(p, "%s%s:%s", 0 == p->used ? "" : " ", name, same ? "" : "(");
    for (int cell = 0; cell < (same ? 1 : p->ncells); cell++) {
        emit(p, "%s", 0 == cell ? "" : ",");
        emit_count(p, p->known[cell], 0 != p->unknown[cell]);
    }
    emit(p, "%s", same ? "" : ")");
}

static void emit_levels(printer_t *p)
{
    static const char *const names[] = {"node", "package", "numa", "l3", "core"};

    p->ncells = 1;
    p->start[0] = 0;
    p->start[1] = p->n;
    for (int level = 0; level < HCCL_LEVEL_COUNT; level++) {
        int objects;
        if (!split(p, level, &objects)) {
            continue;
        }
        emit_counts(p, names[level]);
        int *swap = p->start;
        p->start = p->next;
        p->next = swap;
        p->ncells = objects;
    }
    if (p->ncells < p->n) {
        for (int cell = 0; cell < p->ncells; cell++) {
            p->known[cell] = p->start[cell + 1] - p->start[cell];
            p->unknown[cell] = 0;
        }
        emit_counts(p, "rank");
    }
}

/* Whether the cyclic map gives every rank its slot. Uses up next and start; known is free now. */
static bool is_cyclic(printer_t *p, const hccl_shape_t *s, const int *slot)
{
    memcpy(p->next, s->node_start, (size_t) s->nnodes * sizeof(int));
    memcpy(p->start, s->node_start + 1, (size_t) s->nnodes * sizeof(int));
    hccl_slots_deal(p->next, p->start, s->nnodes, p->known);
    return 0 == memcmp(p->known, slot, (size_t) p->n * sizeof(int));
}

static void emit_map(printer_t *p, const hccl_shape_t *s, const int *slot)
{
    bool block = true;

    for (int rank = 0; rank < p->n; rank++) {
        block = block && rank == slot[rank];
    }
    if (block) {
        return;
    }
    if (is_cyclic(p, s, slot)) {
        emit(p, " map:cyclic");
        return;
    }
    emit(p, " map:");
    for (int rank = 0, last; rank < p->n; rank = last + 1) {
        for (last = rank; last + 1 < p->n && slot[last + 1] == slot[last] + 1;) {
            last++;
        }
        emit(p, "%s%d", 0 == rank ? "" : ",", slot[rank]);
        if (last > rank) {
            emit(p, "-%d", slot[last]);
        }
    }
}

static void emit_list(printer_t *p, const char *name, const int *number, int n)
{
    for (int i = 0; i < n; i++) {
        emit(p, "%s%d", 0 == i ? name : ",", number[i]);
    }
}

/* One number where all nodes have the same leader. */
static void emit_lists(printer_t *p, const hccl_shape_t *s)
{
    bool same = true;

    for (int v = 1; v < s->nnodes; v++) {
        same = same && s->lead[v] == s->lead[0];
    }
    if (s->led) {
        emit_list(p, " lead:", s->lead, same ? 1 : s->nnodes);
    }
    if (s->ringed) {
        emit_list(p, " ring:", s->ring, s->nnodes);
    }
}

int hccl_shape_print(const hccl_shape_t *shape, char *buf, size_t len)
{
    size_t n = (size_t) shape->nranks;
    printer_t p = {.buf = buf, .len = len, .n = shape->nranks};
    char *block = malloc(n * sizeof(hccl_place_rank_t) + (4 * n + 2) * sizeof(int) + n);

    if (NULL == block) {
        return HCCL_ERR_NOMEM;
    }
    p.sorted = (hccl_place_rank_t *) (void *) block;
    p.start = (int *) (void *) (p.sorted + n);
    p.next = p.start + n + 1;
    p.known = p.next + n + 1;
    int *slot = p.known + n;
    p.unknown = (char *) (slot + n);
    for (int rank = 0; rank < p.n; rank++) {
        p.sorted[rank] = (hccl_place_rank_t){shape->place[rank], rank};
    }
    hccl_place_sort(p.sorted, p.n);
    for (int i = 0; i < p.n; i++) {
        slot[p.sorted[i].rank] = i;
    }
    emit_levels(&p);
    emit_map(&p, shape, slot);
    emit_lists(&p, shape);
    free(block);
    return p.used > INT_MAX ? HCCL_ERR_ARG : (int) p.used;
}
