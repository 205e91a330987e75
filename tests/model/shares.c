/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Work shared out among processes (shares.h): a counter in memory that all of them have.
 */
#include "shares.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int *next;
static pid_t others[SHARES_MOST];
static int nothers;
static bool first = true; /* the process that started the others */

void shares_start(int jobs)
{
    void *p = mmap(NULL, sizeof(*next), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (MAP_FAILED == p) {
        perror("mmap");
        exit(2);
    }
    next = p;
    fflush(NULL);
    if (0 != setvbuf(stdout, NULL, _IOFBF, 1 << 16)) {
        fprintf(stderr, "setvbuf failed\n");
        exit(2);
    }
    for (; nothers < jobs - 1; nothers++) {
        others[nothers] = fork();
        if (0 > others[nothers]) {
            perror("fork");
            exit(2);
        }
        if (0 == others[nothers]) {
            first = false;
            return;
        }
    }
}

int shares_next(int count)
{
    const int i = atomic_fetch_add(next, 1);

    return i < count ? i : -1;
}

int shares_end(int failed)
{
    int rc = 0 == failed ? 0 : 1;

    if (!first) {
        exit(rc);
    }
    for (int i = 0; i < nothers; i++) {
        int status;

        if (others[i] != waitpid(others[i], &status, 0) || !WIFEXITED(status)
            || 0 != WEXITSTATUS(status)) {
            fprintf(stderr, "process %d of %d failed or was killed\n", i + 2, nothers + 1);
            rc = 1;
        }
    }
    return rc;
}
