/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who takes part in a comparison: the names that hccl_versus knows, with the launcher and the options
 * that make each of them really do the work, and those the user makes up. Refuses to know sizes and
 * times. Called by versus_options.c and hccl_versus.c.
 */
#ifndef HCCL_BENCH_VERSUS_CONTENDER_H
#define HCCL_BENCH_VERSUS_CONTENDER_H

#include "served.h"
#include "versus_job.h"

enum { HCCL_BENCH_CONTENDERS = 12, HCCL_BENCH_NAME = 24 };

struct hccl_bench_contender {
    char name[HCCL_BENCH_NAME];
    struct hccl_bench_job job;
    bool known; /* one of the names below: its windows may stand for another's, see served */
    bool out;   /* could not be started, or has died: measured no more */
    /* For the collective and mode being measured: the component that serves it here, "?" if unknown. */
    char served[HCCL_BENCH_SERVED];
    int same; /* an earlier contender that would measure the same thing; -1: none */
};

/* Fills a contender by a known name. NULL, or why not: *missing tells that it is known and only not
 * installed. */
const char *hccl_bench_contender_known(struct hccl_bench_contender *c, const char *name,
                                       bool *missing);

/* Fills a contender with a name of its own and Open MPI's launcher. NULL, or why not. */
const char *hccl_bench_contender_own(struct hccl_bench_contender *c, const char *name,
                                     const char *options);

/* Puts the placing of ranks in front of the launcher's options, unless they speak of it themselves. */
void hccl_bench_contender_place(struct hccl_bench_contender *c);

/* Prints one line per known name, for the help. */
void hccl_bench_contender_list(void);

#endif
