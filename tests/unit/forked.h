/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks as forked processes, for tests of shared memory: each has a region of its own, as in a real
 * job. A child reports by its exit code; it must not use cmocka's assertions, but CHECK.
 */
#ifndef HCCL_TESTS_FORKED_H
#define HCCL_TESTS_FORKED_H

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tier/region.h"

#define FORKED_MAX 8

/* What the ranks of one run share beside their regions: the part of the network. */
typedef struct forked {
    int size;
    _Atomic int arrived;
    _Atomic int phase;
    hccl_region_card_t cards[FORKED_MAX];
    _Atomic uint64_t words[256]; /* for the test's own use; 0 at the start */
} forked_t;

static forked_t *forked;

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1);                                                                 \
        }                                                                             \
    } while (0)

static inline void forked_barrier(void)
{
    int phase = atomic_load(&forked->phase);
    if (forked->size == atomic_fetch_add(&forked->arrived, 1) + 1) {
        atomic_store(&forked->arrived, 0);
        atomic_store(&forked->phase, phase + 1);
        return;
    }
    while (phase == atomic_load(&forked->phase)) {
        sched_yield();
    }
}

/* Waits until a word has a value: how one rank lets another go on. */
static inline void forked_await(int word, uint64_t value)
{
    while (value != atomic_load(&forked->words[word])) {
        sched_yield();
    }
}

/* Creates this rank's region and learns the cards of all. */
static inline void forked_regions(int rank, uint64_t size)
{
    const char *why = NULL;
    CHECK(HCCL_OK == hccl_region_create(size, &forked->cards[rank], &why));
    forked_barrier();
}

/* Runs body(rank) in size processes; true when all of them have ended well. */
static inline bool forked_run(int size, void (*body)(int rank))
{
    pid_t pids[FORKED_MAX];
    bool good = true;
    forked = mmap(NULL, sizeof(*forked), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (MAP_FAILED == (void *) forked) {
        return false;
    }
    forked->size = size;
    fflush(NULL);
    for (int rank = 0; rank < size; rank++) {
        pids[rank] = fork();
        if (pids[rank] < 0) {
            perror("fork");
            abort();
        }
        if (0 == pids[rank]) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            alarm(100); /* a hang is a failure */
            body(rank);
            hccl_region_destroy();
            _exit(0);
        }
    }
    for (int ended = 0; ended < size; ended++) {
        int status = -1;
        pid_t pid = waitpid(-1, &status, 0);
        bool failed = pid < 0 || 0 != status;
        for (int rank = 0; rank < size; rank++) {
            if (pid == pids[rank]) {
                pids[rank] = 0;
            } else if (failed && pids[rank] > 0) {
                kill(pids[rank], SIGKILL);
            }
        }
        if (failed && good) {
            fprintf(stderr, "a rank ended with wait status %#x\n", (unsigned) status);
        }
        good = good && !failed;
    }
    munmap(forked, sizeof(*forked));
    return good;
}

#endif
