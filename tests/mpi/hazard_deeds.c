/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hazard_deeds.c: P86b, a rank that ends or stops itself in the middle of collectives, on many communicators. The
 * runner says by HCCL_HAZARD_DEED which deed, and in which family of operations: "kill nonblocking".
 */
#include "hazard.h"

#include <signal.h>
#include <unistd.h>

enum { COMMS = 8, ROUNDS = 60, DEED_ROUND = 30, PENDING = 4, COUNT = 3000, LONG_COUNT = 300000 };

/* Rank 1, in the middle of the job. */
static void act(const struct hz_ctx *hz, const char *deed, int round)
{
    if (1 != hz->rank || DEED_ROUND != round) {
        return;
    }
    if (0 == strcmp(deed, "kill")) {
        raise(SIGKILL);
    } else if (0 == strcmp(deed, "exit")) {
        exit(3);
    } else if (0 == strcmp(deed, "abort")) {
        MPI_Abort(MPI_COMM_WORLD, 5);
    } else {
        raise(SIGSTOP); /* the runner lets it go on */
    }
}

/* PENDING sums of COUNT ints, started on different communicators; then the deed. */
static void start_and_wait(const struct hz_ctx *hz, const char *deed, int round,
                           MPI_Request *persistent, const int *in, int *out, const MPI_Comm *comms)
{
    MPI_Request started[PENDING];
    MPI_Request *requests = NULL == persistent ? started : persistent;

    if (NULL == persistent) {
        for (int i = 0; i < PENDING; i++) {
            MPI_Iallreduce(in + i * COUNT, out + i * COUNT, COUNT, MPI_INT, MPI_SUM,
                           comms[(round + i) % COMMS], &started[i]);
        }
    } else {
        MPI_Startall(PENDING, persistent);
    }
    act(hz, deed, round);
    MPI_Waitall(PENDING, requests, MPI_STATUSES_IGNORE);
}

static void on_duplicate(const struct hz_ctx *hz, const char *deed, int round, const int *in,
                         int *out, MPI_Comm from)
{
    MPI_Comm comm;

    if (0 == round % 2) {
        MPI_Comm_dup(from, &comm);
    } else {
        MPI_Comm_split(from, 0, hz->rank, &comm);
    }
    act(hz, deed, round);
    MPI_Allreduce(in, out, PENDING * COUNT, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
}

static void p86b(struct hz_ctx *hz)
{
    struct hz_buf in = hz_buf_new(LONG_COUNT * sizeof(int));
    struct hz_buf out = hz_buf_new(LONG_COUNT * sizeof(int));
    MPI_Comm comms[COMMS];
    MPI_Request requests[PENDING];
    char deed[16] = "";
    char family[16] = "";
    const char *what = getenv("HCCL_HAZARD_DEED");

    if (NULL == what || 2 != sscanf(what, "%15s %15s", deed, family)) {
        hz_skip(hz, "HCCL_HAZARD_DEED says nothing");
        return;
    }
    bool nonblocking = 0 == strcmp(family, "nonblocking");
    bool persistent = 0 == strcmp(family, "persistent");
    bool duplicate = 0 == strcmp(family, "duplicate");
    size_t count = 0 == strcmp(family, "long") ? LONG_COUNT : PENDING * COUNT;
    hz_fill_ints(hz_ints(&in), hz->rank, 0, LONG_COUNT);
    for (int c = 0; c < COMMS; c++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]);
    }
    for (int i = 0; i < PENDING && persistent; i++) {
        MPIX_Allreduce_init(hz_ints(&in) + i * COUNT, hz_ints(&out) + i * COUNT, COUNT, MPI_INT,
                            MPI_SUM, comms[i], MPI_INFO_NULL, &requests[i]);
    }
    printf("# rank %d is process %d\n", hz->rank, (int) getpid());
    fflush(stdout);
    for (int round = 0; round < ROUNDS && !hz->failed; round++) {
        memset(out.data, 0, out.size);
        if (nonblocking || persistent) {
            start_and_wait(hz, deed, round, persistent ? requests : NULL, hz_ints(&in),
                           hz_ints(&out), comms);
        } else if (duplicate) {
            on_duplicate(hz, deed, round, hz_ints(&in), hz_ints(&out), comms[round % COMMS]);
        } else {
            act(hz, deed, round);
            MPI_Allreduce(in.data, out.data, (int) count, MPI_INT, MPI_SUM, comms[round % COMMS]);
        }
        hz_check_sums(hz, hz_ints(&out), hz->size, count, family);
    }
    for (int i = 0; i < PENDING && persistent; i++) {
        MPI_Request_free(&requests[i]);
    }
    for (int c = 0; c < COMMS; c++) {
        MPI_Comm_free(&comms[c]);
    }
    hz_buf_end(hz, &in, "input");
    hz_buf_end(hz, &out, "result");
}

int main(int argc, char **argv)
{
    static const struct hz_test tests[] = {{"P86b", 2, p86b}, {NULL, 0, NULL}};

    return hz_main(argc, argv, MPI_THREAD_SINGLE, tests);
}
