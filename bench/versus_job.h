/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One of the jobs of hccl_versus, seen from outside: started, asked for windows, ended. Speaks
 * the protocol of control.h. Refuses to know sizes, rounds and ratios. Called by hccl_versus.c.
 */
#ifndef HCCL_BENCH_VERSUS_JOB_H
#define HCCL_BENCH_VERSUS_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct hccl_bench_job {
    const char *name;     /* the contender's, fit for a file name */
    const char *launcher; /* mpirun and its leading words */
    const char *options;  /* what tells this job from the others; split at blanks */
    const char *program;  /* hccl_test */
    int ranks;
    int seconds;        /* longest wait for one answer */
    pid_t pid;          /* the launcher; 0: none */
    int *commands;      /* one pipe per rank, write ends */
    int answers;        /* read end */
    char directory[64]; /* where the pipes are */
    char cpus[256];     /* what the ranks say they run on, rank order */
};

/* One window's answer; times in microseconds, flags in nanoseconds. */
struct hccl_bench_answer {
    long iterations, batch;
    double min, p5, median, max, flag_before, flag_after, wrong;
};

/* Creates the pipes in the directory and starts the job with the words of hccl_test's command line.
 * False: a message was printed. */
bool hccl_bench_job_start(struct hccl_bench_job *j, const char *directory, char **words);

/* Waits until the job has said hello. False: a message was printed. */
bool hccl_bench_job_greet(struct hccl_bench_job *j);

/* Who serves a collective in this job, or "?" where the program cannot tell. False: the job has
 * ended, a message was printed. */
bool hccl_bench_job_served(struct hccl_bench_job *j, const char *collective, int mode, char *name,
                           size_t room);

/* One window; the other jobs sleep meanwhile. False: a message was printed. */
bool hccl_bench_job_window(struct hccl_bench_job *j, const char *collective, int mode, size_t bytes,
                           struct hccl_bench_answer *a);

/* Ends the job, the hard way if it does not go by itself, and removes its pipes. Safe to call on a
 * job that was never started. */
void hccl_bench_job_end(struct hccl_bench_job *j);

#endif
