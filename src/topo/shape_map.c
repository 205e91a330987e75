/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Maps ranks to the slots of a text form: block, cyclic, or a list that it reads.
 */
#include <stdlib.h>
#include <string.h>

#include "topo/shape_parse.h"

static int map_block(parser_t *p)
{
    p->nranks = p->ncells;
    for (int i = 0; i < p->nranks; i++) {
        p->slot[i] = i;
    }
    return HCCL_OK;
}

int hccl_slots_deal(int *next, int *end, int nnodes, int *slot)
{
    int rank = 0;

    for (int open = nnodes; 0 < open;) {
        int left = 0;
        for (int v = 0; v < open; v++) {
            slot[rank++] = next[v];
            if (next[v] + 1 < end[v]) {
                next[left] = next[v] + 1;
                end[left++] = end[v];
            }
        }
        open = left;
    }
    return rank;
}

static int map_cyclic(parser_t *p)
{
    int *next = malloc(2 * (size_t) p->ncells * sizeof(int));
    int nnodes = 0;

    if (NULL == next) {
        return HCCL_ERR_NOMEM;
    }
    int *end = next + p->ncells;
    for (int i = 0; i < p->ncells; i++) {
        if (0 == i || p->cells[i].node != p->cells[i - 1].node) {
            next[nnodes++] = i;
        }
        end[nnodes - 1] = i + 1;
    }
    p->nranks = hccl_slots_deal(next, end, nnodes, p->slot);
    free(next);
    return HCCL_OK;
}

static int read_slots(parser_t *p, bool *taken)
{
    p->nranks = 0;
    for (;;) {
        const char *from = p->at;
        int first;
        int last;
        int rc = hccl_parse_number(p, 0, p->ncells - 1, "map: a slot (or block or cyclic)", &first);
        last = first;
        if (HCCL_OK == rc && hccl_parse_eat(p, '-')) {
            rc = hccl_parse_number(p, 0, p->ncells - 1, "map: the end of a range of slots", &last);
        }
        if (HCCL_OK != rc) {
            return rc;
        }
        if (last < first) {
            return hccl_parse_fault(p, from, "map: a range of slots must ascend");
        }
        for (int slot = first; slot <= last; slot++) {
            if (taken[slot]) {
                return hccl_parse_fault(p, from,
                                        "map: slot %d is named twice; level \"rank\" puts several "
                                        "ranks in one place",
                                        slot);
            }
            taken[slot] = true;
            p->slot[p->nranks++] = slot;
        }
        if (!hccl_parse_eat(p, ',')) {
            return HCCL_OK;
        }
        hccl_parse_blanks(p);
    }
}

static int slots_open(parser_t *p)
{
    p->slot = malloc((size_t) p->ncells * sizeof(int));
    return NULL == p->slot ? HCCL_ERR_NOMEM : HCCL_OK;
}

int hccl_parse_no_map(parser_t *p)
{
    int rc = slots_open(p);

    return HCCL_OK == rc ? map_block(p) : rc;
}

int hccl_parse_map(parser_t *p)
{
    int len = (int) strcspn(p->at, " \t");
    int rc = slots_open(p);

    if (HCCL_OK != rc) {
        return rc;
    }
    if (5 == len && 0 == strncmp(p->at, "block", 5)) {
        p->at += len;
        return map_block(p);
    }
    if (6 == len && 0 == strncmp(p->at, "cyclic", 6)) {
        p->at += len;
        return map_cyclic(p);
    }
    bool *taken = calloc((size_t) p->ncells, sizeof(*taken));
    if (NULL == taken) {
        return HCCL_ERR_NOMEM;
    }
    rc = read_slots(p, taken);
    free(taken);
    return rc;
}
