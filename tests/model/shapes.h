/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of topologies on which every algorithm is proven.
 */
#ifndef HCCL_TESTS_MODEL_SHAPES_H
#define HCCL_TESTS_MODEL_SHAPES_H

#include "topo/topo.h"

/** A topology in text form (topo.h). The list is the same in every process. */
typedef struct shape_list {
    int n;
    char (*text)[128]; /* [n] smaller shapes first */
} shape_list_t;

/** How much: SHORT is part of every check. */
typedef enum { SHAPES_SHORT, SHAPES_LONG } shape_extent_t;

void shapes_make(shape_list_t *list, shape_extent_t extent);
void shapes_free(shape_list_t *list);

#endif
