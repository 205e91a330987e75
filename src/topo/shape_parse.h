/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the two readers of the text form share: shape_text.c for levels, shape_map.c for the map,
 * shape_lists.c for leaders and rings.
 */
#ifndef HCCL_TOPO_SHAPE_PARSE_H
#define HCCL_TOPO_SHAPE_PARSE_H

#include "topo/shape_internal.h"

/* What may follow the levels and the map. */
enum { HCCL_PARSE_LEAD, HCCL_PARSE_RING, HCCL_PARSE_LISTS };

typedef struct parser {
    const char *text;
    const char *at;
    char *why; /* may be NULL */
    size_t whylen;
    int level; /* the last one read, -1 before the first */
    const char *level_name;
    hccl_place_t *cells; /* [ncells] the objects of that level; in the end the slots */
    int ncells;
    int *slot; /* [nranks] the map */
    int nranks;
    struct {
        const char *from;
        int *number; /* [n], NULL: not given */
        int n;
    } list[HCCL_PARSE_LISTS];
} parser_t;

/* Writes "topology text, character N, "TOKEN": ..." into why, for the token that begins at `from`;
 * returns HCCL_ERR_ARG. */
HCCL_CHECKED int hccl_parse_fault(parser_t *p, const char *from, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A decimal number of min to max; `what` says what is counted. */
HCCL_CHECKED int hccl_parse_number(parser_t *p, int min, int max, const char *what, int *value);

/* Passes over one character if it is the wanted one. */
bool hccl_parse_eat(parser_t *p, char wanted);

void hccl_parse_blanks(parser_t *p);

/* Reads what follows "map:". */
HCCL_CHECKED int hccl_parse_map(parser_t *p);

/* Reads what follows "lead:" or "ring:". */
HCCL_CHECKED int hccl_parse_list(parser_t *p, int which);

/* Gives the shape the leaders and the ring that were read, if any. */
HCCL_CHECKED int hccl_parse_apply(parser_t *p, hccl_shape_t *shape);

/* The map of a text that gives none. */
HCCL_CHECKED int hccl_parse_no_map(parser_t *p);

#endif
