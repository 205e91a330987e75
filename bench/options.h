/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line of hccl_test: one parser for hccl_test and hccl_versus, which needs the same
 * sizes. Refuses to print and to exit: on a bad argument it leaves one message for the caller, the
 * same at all ranks.
 */
#ifndef HCCL_BENCH_OPTIONS_H
#define HCCL_BENCH_OPTIONS_H

#include "collectives.h"

enum { HCCL_BENCH_LIST = 32, HCCL_BENCH_MESSAGE = 600 };

struct hccl_bench_options {
    const struct hccl_bench_collective *list[HCCL_BENCH_LIST]; /* what to run, in order */
    int listed;
    bool modes[HCCL_BENCH_MODES];
    size_t least, most; /* bytes */
    double factor;      /* from one size to the next; used when step is 0 */
    size_t step;        /* bytes from one size to the next */
    long iterations;    /* per size; 0: by size */
    long warmup;        /* per size */
    long batch;         /* iterations timed together; 0: by duration */
    long window;        /* longest timed part of a size, milliseconds; 0: the usual */
    const struct hccl_bench_type *type;
    const struct hccl_bench_op *op;
    int root; /* -1: rotate */
    bool check, in_place, mpi_memory, help;
    size_t offset;       /* of the buffers from a page boundary, bytes */
    const char *net;     /* interface whose bytes are counted, or NULL */
    const char *csv;     /* file to write, or NULL */
    const char *control; /* prefix of hccl_versus' pipes, or NULL */
    const char *versus;  /* the other selection, or NULL; the rest only goes with it */
    const char *select;  /* this selection */
    int ranks;           /* 0: one per core */
    long rounds;
    char message[HCCL_BENCH_MESSAGE]; /* what is wrong; empty: nothing */
};

/* argv[0] is skipped. On false, message says why. */
bool hccl_bench_options_parse(struct hccl_bench_options *o, int argc, char **argv);

/* What depends on the number of ranks. On false, message says why. */
bool hccl_bench_options_fit(struct hccl_bench_options *o, int ranks);

/* The size after `bytes`, or 0 at the end; the first one is hccl_bench_options_first. Sizes are
 * whole elements; a collective without data has one size, 0, so *more says whether there is one. */
size_t hccl_bench_options_first(const struct hccl_bench_options *o,
                                const struct hccl_bench_collective *c);
size_t hccl_bench_options_next(const struct hccl_bench_options *o,
                               const struct hccl_bench_collective *c, size_t bytes, bool *more);

/* Leaves a message in message[HCCL_BENCH_MESSAGE]; false, for the caller to return. */
__attribute__((format(printf, 2, 3))) bool hccl_bench_refuse(char *message, const char *format,
                                                             ...);

/* A whole decimal number from least to most. */
bool hccl_bench_parse_number(const char *text, long least, long most, long *number);

/* Bytes: a whole number with K, M or G for powers of 1024. */
bool hccl_bench_parse_bytes(const char *text, size_t *bytes);

/* Prints what hccl_test -h shows: the flags, then what the tables hold. */
void hccl_bench_options_help(void);

#endif
