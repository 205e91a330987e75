/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Work of a test program shared out among processes: each takes the next item when it is done with one,
 * so none is left with the long ones. Items are numbers; what they mean the program knows.
 *
 *     shares_start(jobs);
 *     while (0 <= (i = shares_next(count))) { failed += !work(i); }
 *     return shares_end(failed);
 */
#ifndef HCCL_TESTS_MODEL_SHARES_H
#define HCCL_TESTS_MODEL_SHARES_H

enum { SHARES_MOST = 64 };

/** From here on the program runs `jobs` times (1 to SHARES_MOST). What it prints should be flushed item
 *  by item, in one piece. Ends the program if there is no process to be had. */
void shares_start(int jobs);

/** An item that no process has taken, in ascending order; -1 when all `count` are taken. */
int shares_next(int count);

/** The exit code of the program: 0 if nothing failed, here or in the other processes, which end in this
 *  call. */
int shares_end(int failed);

#endif
