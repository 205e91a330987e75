/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Constants of a machine from measured times: least squares over the simulator, robust against rows
 * that do not fit. Knows neither files nor the command line.
 */
#ifndef HCCL_TOOLS_FIT_H
#define HCCL_TOOLS_FIT_H

#include "sim.h"

/** One measured time. */
typedef struct hccl_fit_row {
    hccl_sim_program_t *program; /* borrowed */
    size_t bytes, segment;
    double measured;  /* seconds */
    double predicted; /* by the fitted machine */
    double weight;    /* that it had in the end: 1, less for those that do not fit */
} hccl_fit_row_t;

enum { HCCL_FIT_KEYS = 32 };

/** What is fitted. */
typedef struct hccl_fit_key {
    const char *name; /* a key of machine files whose value is not 0 */
    bool known;       /* false: no row's time depends on it; it has its old value */
} hccl_fit_key_t;

/** Changes the machine's numbers behind `keys`, and fills in what rows and keys say about the
 *  result. Minimises the squares of log(predicted / measured), with Huber's weights. HCCL_OK,
 *  HCCL_ERR_NOMEM; HCCL_ERR_INTERNAL: a simulation fails, see why[HCCL_SIM_WHY]. */
HCCL_CHECKED int hccl_fit(hccl_machine_t *machine, hccl_fit_key_t *keys, int nkeys,
                          hccl_fit_row_t *rows, int nrows, char *why);

#endif
