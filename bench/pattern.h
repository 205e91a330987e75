/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The numbers in the buffers: what a rank sends and, worked out without MPI, what a reduction over
 * ranks must give, exactly and in any order. Refuses to know collectives and MPI. Called by
 * problem.c.
 *
 * Element g of rank r holds value(g + 17 r + 29 salt) with a period of 61, a prime, so that a block
 * from a wrong rank, place or iteration differs. The first element of each cache line is apart: it
 * holds value(17 r + 29 touch), one number for the whole vector, rewritten in each iteration
 * (touch), so that no iteration finds its peers' copies of a line still good.
 */
#ifndef HCCL_BENCH_PATTERN_H
#define HCCL_BENCH_PATTERN_H

#include "collectives.h"

enum { HCCL_BENCH_PERIOD = 61, HCCL_BENCH_REPEATS = 32, HCCL_BENCH_LINE = 64 };

/* One period, repeated, of one type: a rank's own numbers, or the reduction over some ranks. */
struct hccl_bench_pattern {
    size_t size; /* of an element */
    unsigned char values[HCCL_BENCH_PERIOD * HCCL_BENCH_REPEATS * 8];
};

/* A stretch of the vector that a pattern describes. */
struct hccl_bench_stretch {
    const struct hccl_bench_pattern *pattern;
    size_t rank;  /* whose numbers; 0 for a reduction, whose pattern holds its ranks already */
    size_t first; /* index of the stretch's first element */
    size_t count;
    size_t salt, touch;
};

/* The reduction over ranks first..last (inclusive; first == last == 0: a rank's own numbers). */
void hccl_bench_pattern_make(struct hccl_bench_pattern *p, const struct hccl_bench_type *type,
                             enum hccl_bench_op_kind op, size_t first, size_t last);

/* Writes the stretch to buffer. */
void hccl_bench_pattern_fill(void *buffer, const struct hccl_bench_stretch *s);

/* Writes only the first element of each line; the rest of the stretch must be there already. */
void hccl_bench_pattern_touch(void *buffer, const struct hccl_bench_stretch *s);

/* How many elements of buffer differ from the stretch; *where is the index of the first one within
 * the buffer, if there is any. */
size_t hccl_bench_pattern_check(const void *buffer, const struct hccl_bench_stretch *s,
                                size_t *where);

#endif
