/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of runs, and how they unite: see rows.h.
 *
 * Used by algo/ only.
 */
#include "algo/rows.h"

#include <stdlib.h>

/* ---- rows ------------------------------------------------------------------------------------- */

int hccl_rows_make(const hccl_shape_t *shape, const hccl_runs_t *runs, hccl_rows_t *rows)
{
    int *last = malloc((size_t) shape->nnodes * sizeof(*last)); /* row with a run of a node */

    *rows = (hccl_rows_t){.shape = shape, .runs = runs};
    rows->begin = malloc(((size_t) runs->n + 1) * sizeof(*rows->begin));
    if (NULL == last || NULL == rows->begin) {
        free(last);
        return HCCL_ERR_NOMEM;
    }
    for (int v = 0; v < shape->nnodes; v++) {
        last[v] = -1;
    }
    for (int k = 0; k < runs->n; k++) {
        const int v = shape->node_of[runs->first[k]];

        if (0 == k || last[v] == rows->n - 1) {
            rows->begin[rows->n++] = k;
        }
        last[v] = rows->n - 1;
    }
    rows->begin[rows->n] = runs->n;
    free(last);
    return HCCL_OK;
}

void hccl_rows_free(hccl_rows_t *rows)
{
    free(rows->begin);
}

int hccl_rows_of(const hccl_rows_t *rows, int run)
{
    return hccl_runs_holding(rows->begin, rows->n, run);
}

/* The place of a node's first run that is not before a row; past the node's last one: there is none. */
static int place_from(const hccl_rows_t *rows, int node, int row)
{
    int low = rows->runs->node[node], high = rows->runs->node[node + 1];

    while (low < high) {
        const int middle = (low + high) / 2;

        if (rows->runs->run[middle] < rows->begin[row]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int hccl_rows_run(const hccl_rows_t *rows, int node, int row)
{
    const int place = place_from(rows, node, row);
    const bool any =
        place < rows->runs->node[node + 1] && rows->runs->run[place] < rows->begin[row + 1];

    return any ? rows->runs->run[place] : -1;
}

int hccl_rows_away(const hccl_rows_t *rows, int node, int row)
{
    return row - (place_from(rows, node, row) - rows->runs->node[node]);
}

/* Of number i of the nodes without a run in a row; in the next row they begin with another one. */
static int deputy(const hccl_rows_t *rows, int row, int i)
{
    return (row + i) % (rows->begin[row + 1] - rows->begin[row]);
}

int hccl_rows_deputy(const hccl_rows_t *rows, int node, int row)
{
    int i = 0;

    for (int v = 0; v < node; v++) {
        i += 0 > hccl_rows_run(rows, v, row) ? 1 : 0;
    }
    return rows->begin[row] + deputy(rows, row, i);
}

/* ---- how a row unites ------------------------------------------------------------------------- */

int hccl_row_part(const hccl_row_t *row, const hccl_row_group_t *g, int i)
{
    return g->low + (i * g->n + (row->odd ? g->parts - 1 : 0)) / g->parts;
}

int hccl_row_mirror(const hccl_row_t *row, const hccl_row_group_t *g, int from, int to, int member)
{
    const int low = hccl_row_part(row, g, to), n = hccl_row_part(row, g, to + 1) - low;

    return low + (member - hccl_row_part(row, g, from)) % n;
}

static int part_with(const hccl_row_t *row, const hccl_row_group_t *g, int member)
{
    int i = 0;

    while (hccl_row_part(row, g, i + 1) <= member) {
        i++;
    }
    return i;
}

/* Into how many parts a group of n runs is divided that unites in so many rounds: few, and of one size if that
 * can be. */
static int parts_of(const hccl_row_t *row, int n, int rounds)
{
    int parts = 0;

    for (int k = 2; k <= row->most && (0 == parts || 0 != n % parts); k++) {
        const bool fits = hccl_part_rounds((n + k - 1) / k, row->most - 1) < rounds;

        parts = fits && (0 == parts || 0 == n % k) ? k : parts;
    }
    return parts < n ? parts : n;
}

/* Divides a row: holders[0..nodes-1] says who holds what at last. */
static void divide(hccl_row_t *row)
{
    int low = 0, n = row->n;

    for (int i = 0; i < row->rounds; i++) {
        hccl_row_group_t *g = &row->group[i];
        int *inner = row->holders + (i + 1) * row->nodes;

        *g = (hccl_row_group_t){low, n, parts_of(row, n, row->rounds - i), 0, inner - row->nodes};
        g->mine = part_with(row, g, row->me);
        for (int v = 0; v < row->nodes; v++) {
            const int from = part_with(row, g, g->holder[v]);

            inner[v] = from == g->mine ? g->holder[v]
                                       : hccl_row_mirror(row, g, from, g->mine, g->holder[v]);
        }
        low = hccl_row_part(row, g, g->mine);
        n = hccl_row_part(row, g, g->mine + 1) - low;
    }
}

/* A row of n runs, not divided yet: holders[0..nodes-1] is to be filled. HCCL_OK or HCCL_ERR_NOMEM. */
static int start_row(hccl_row_t *row, int nodes, int most, int n, int me, bool odd)
{
    *row = (hccl_row_t){.nodes = nodes, .n = n, .me = me, .most = most, .odd = odd};
    row->rounds = hccl_part_rounds(n, most - 1);
    row->holders = malloc((size_t) (row->rounds + 1) * (size_t) nodes * sizeof(*row->holders));
    return NULL == row->holders ? HCCL_ERR_NOMEM : HCCL_OK;
}

int hccl_row_make(const hccl_rows_t *rows, int run, int most, hccl_row_t *row)
{
    const int number = hccl_rows_of(rows, run), begin = rows->begin[number];
    const int n = rows->begin[number + 1] - begin, nodes = rows->shape->nnodes;
    const int rc = start_row(row, nodes, most, n, run - begin, 0 != number % 2);
    int others = 0;

    for (int v = 0; v < nodes && HCCL_OK == rc; v++) {
        const int own = hccl_rows_run(rows, v, number);

        row->holders[v] = 0 <= own ? own - begin : deputy(rows, number, others++);
    }
    if (HCCL_OK == rc) {
        divide(row);
    }
    return rc;
}

void hccl_row_free(hccl_row_t *row)
{
    free(row->holders);
}

/* ---- the order of the nodes ------------------------------------------------------------------- */

/* Nodes by who holds their blocks in a group; those with one holder stay as they are. room: [2 nodes + 1] */
static void sort_by(const hccl_row_t *row, const int *holder, int *node, int *room)
{
    int *sorted = room, *place = room + row->nodes;

    for (int i = 0; i <= row->n; i++) {
        place[i] = 0;
    }
    for (int v = 0; v < row->nodes; v++) {
        place[holder[v] + 1]++;
    }
    for (int i = 0; i < row->n; i++) {
        place[i + 1] += place[i];
    }
    for (int i = 0; i < row->nodes; i++) {
        sorted[place[holder[node[i]]]++] = node[i];
    }
    for (int i = 0; i < row->nodes; i++) {
        node[i] = sorted[i];
    }
}

int hccl_row_order(int nodes, int most, int *node)
{
    int *room = malloc((2 * (size_t) nodes + 1) * sizeof(*room));
    hccl_row_t row;
    int rc = start_row(&row, nodes, most, nodes, 0, false);

    if (NULL == room) {
        rc = HCCL_ERR_NOMEM;
    }
    for (int v = 0; v < nodes && HCCL_OK == rc; v++) {
        row.holders[v] = v;
        node[v] = v;
    }
    if (HCCL_OK == rc) {
        divide(&row);
        for (int i = 0; i < row.rounds; i++) {
            sort_by(&row, row.group[i].holder, node, room);
        }
    }
    hccl_row_free(&row);
    free(room);
    return rc;
}
