/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line of hccl_versus. Refuses to print (but for the help) and to start anything: on a bad
 * argument it leaves one message. Called by hccl_versus.c.
 */
#ifndef HCCL_BENCH_VERSUS_OPTIONS_H
#define HCCL_BENCH_VERSUS_OPTIONS_H

#include "options.h"
#include "versus_contender.h"

struct hccl_bench_versus_options {
    /* In the order of the command line; the first one is compared with all others. */
    struct hccl_bench_contender contenders[HCCL_BENCH_CONTENDERS];
    int count;
    int ranks;
    int seconds;                    /* longest wait for one window */
    struct hccl_bench_options test; /* hccl_test's options: sizes, rounds, ... */
    char **test_words;              /* the same, as the jobs get them; ended by NULL */
    const char *json;               /* file to write, or NULL */
    const char *windows;            /* CSV of each single window, or NULL */
    const char *plot;               /* names of plots without their ending, or NULL */
    const char *goals;              /* "builtin", a file's name, or NULL */
    bool help;
    char notes[HCCL_BENCH_MESSAGE];   /* known contenders left out since they are not installed */
    char message[HCCL_BENCH_MESSAGE]; /* what is wrong; empty: nothing */
};

/* On false, message says why. */
bool hccl_bench_versus_options_parse(struct hccl_bench_versus_options *o, int argc, char **argv);

/* Prints what hccl_versus -h shows. */
void hccl_bench_versus_options_help(void);

#endif
