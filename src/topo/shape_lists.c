/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the leaders and the ring of a text form: one number for each node.
 */
#include <stdio.h>
#include <stdlib.h>

#include "topo/shape_parse.h"

static const char *const names[HCCL_PARSE_LISTS] = {"lead", "ring"};

int hccl_parse_list(parser_t *p, int which)
{
    char what[40];
    int *number = malloc((size_t) p->ncells * sizeof(*number));

    p->list[which].from = p->at;
    p->list[which].number = number;
    if (NULL == number) {
        return HCCL_ERR_NOMEM;
    }
    snprintf(what, sizeof(what), "%s: each", names[which]);
    for (int n = 0;;) {
        if (n == p->ncells) {
            return hccl_parse_fault(p, p->at, "%s: one number for each node is accepted",
                                    names[which]);
        }
        int rc = hccl_parse_number(p, 0, p->ncells - 1, what, &number[n++]);
        p->list[which].n = n;
        if (HCCL_OK != rc || !hccl_parse_eat(p, ',')) {
            return rc;
        }
        hccl_parse_blanks(p);
    }
}

static int apply_lead(parser_t *p, hccl_shape_t *shape)
{
    const int n = p->list[HCCL_PARSE_LEAD].n;
    int *lead = malloc((size_t) shape->nnodes * sizeof(*lead));

    if (NULL == lead) {
        return HCCL_ERR_NOMEM;
    }
    for (int v = 0; v < shape->nnodes; v++) {
        lead[v] = p->list[HCCL_PARSE_LEAD].number[1 == n ? 0 : v < n ? v : 0];
    }
    int rc = 1 == n || n == shape->nnodes ? hccl_shape_set_lead(shape, lead) : HCCL_ERR_ARG;
    free(lead);
    if (HCCL_ERR_ARG == rc) {
        return hccl_parse_fault(
            p, p->list[HCCL_PARSE_LEAD].from,
            "lead: one number for all %d nodes or one for each is needed, below "
            "the number of its ranks",
            shape->nnodes);
    }
    return rc;
}

int hccl_parse_apply(parser_t *p, hccl_shape_t *shape)
{
    int rc = NULL == p->list[HCCL_PARSE_LEAD].number ? HCCL_OK : apply_lead(p, shape);

    if (HCCL_OK != rc || NULL == p->list[HCCL_PARSE_RING].number) {
        return rc;
    }
    if (p->list[HCCL_PARSE_RING].n == shape->nnodes) {
        rc = hccl_shape_set_ring(shape, p->list[HCCL_PARSE_RING].number);
    } else {
        rc = HCCL_ERR_ARG;
    }
    if (HCCL_ERR_ARG == rc) {
        return hccl_parse_fault(p, p->list[HCCL_PARSE_RING].from,
                                "ring: each of the nodes 0 to %d is needed once",
                                shape->nnodes - 1);
    }
    return rc;
}
