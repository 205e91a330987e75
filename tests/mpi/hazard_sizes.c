/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hazard_sizes.c: P22..P26, P32, P33 and P73, nothing to do, remainders and sizes around a
 * boundary; PAGE, places in a page. Buffers beyond 2 GiB are in hazard_large.c.
 */
#include "hazard.h"

static void check_allreduce(struct hz_ctx *hz, size_t count, enum hz_mode mode)
{
    struct hz_buf in = hz_buf_new(count * sizeof(int));
    struct hz_buf out = hz_buf_new(count * sizeof(int));

    hz_fill_ints(hz_ints(&in), hz->rank, 0, count);
    HZ_CALL(mode, Allreduce, allreduce, (in.data, out.data, (int) count, MPI_INT, MPI_SUM),
            MPI_COMM_WORLD);
    hz_check_sums(hz, hz_ints(&out), hz->size, count, hz_mode_name[mode]);
    hz_buf_end(hz, &in, "allreduce input");
    hz_buf_end(hz, &out, "allreduce result");
}

static void p22(struct hz_ctx *hz)
{
    int dummy = 0;

    for (int mode = 0; mode < HZ_MODES; mode++) {
        /* Above every component, Open MPI 4.1's MPIX_Reduce_init itself refuses two NULL
         * buffers. */
        void *nothing = HZ_PERSISTENT == mode ? &dummy : NULL;
        for (int root = 0; root < hz->size; root++) {
            HZ_CALL(mode, Reduce, reduce, (NULL, nothing, 0, MPI_INT, MPI_SUM, root),
                    MPI_COMM_WORLD);
        }
        HZ_CALL(mode, Allreduce, allreduce, (NULL, nothing, 0, MPI_DOUBLE, MPI_SUM),
                MPI_COMM_WORLD);
        check_allreduce(hz, 5, (enum hz_mode) mode);
    }
}

/* Rank 0 sends nothing, described as 3 elements of an empty type; rank 1 receives nothing,
 * likewise. Everybody else says count 0 to them. */
static void p23_mode(struct hz_ctx *hz, enum hz_mode mode)
{
    size_t n = (size_t) hz->size;
    int *send = malloc(n * sizeof(int));
    int *receive = malloc(n * sizeof(int));
    int *displs = malloc(n * sizeof(int));
    struct hz_buf in = hz_buf_new(n * sizeof(int));
    struct hz_buf out = hz_buf_new(n * sizeof(int));
    MPI_Datatype empty;

    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    for (int r = 0; r < hz->size; r++) {
        send[r] = 0 == hz->rank ? 3 : (1 == r ? 0 : 1);
        receive[r] = 1 == hz->rank ? 3 : (0 == r ? 0 : 1);
        displs[r] = r;
        hz_ints(&in)[r] = 100 * hz->rank + r;
    }
    HZ_CALL(mode, Alltoallv, alltoallv,
            (in.data, send, displs, 0 == hz->rank ? empty : MPI_INT, out.data, receive, displs,
             1 == hz->rank ? empty : MPI_INT),
            MPI_COMM_WORLD);
    for (int r = 0; r < hz->size; r++) {
        int want = 100 * r + hz->rank;
        if (0 == r || 1 == hz->rank) {
            memset(&want, HZ_FILLER, sizeof(want));
        }
        HZ_CHECK(hz, want == hz_ints(&out)[r], "%s: from rank %d came %d, not %d",
                 hz_mode_name[mode], r, hz_ints(&out)[r], want);
    }
    MPI_Type_free(&empty);
    hz_buf_end(hz, &in, "alltoallv input");
    hz_buf_end(hz, &out, "alltoallv result");
    free(send);
    free(receive);
    free(displs);
}

static void p23(struct hz_ctx *hz)
{
    for (int mode = 0; mode < HZ_MODES; mode++) {
        p23_mode(hz, (enum hz_mode) mode);
        check_allreduce(hz, 3, (enum hz_mode) mode);
    }
}

static void p24(struct hz_ctx *hz)
{
    hz_every(hz, MPI_COMM_WORLD, 5);
    hz_every(hz, MPI_COMM_WORLD, 0);
    hz_every(hz, MPI_COMM_WORLD, 5);
}

static void p25(struct hz_ctx *hz)
{
    for (int i = 0; i < 1000; i++) {
        MPI_Request request;
        MPI_Status status;
        int done = 0;
        MPI_Ibcast(NULL, 0, MPI_INT, i % hz->size, MPI_COMM_WORLD, &request);
        while (!done) {
            MPI_Test(&request, &done, &status);
        }
        HZ_CHECK(hz, MPI_REQUEST_NULL == request, "round %d: the request stays after completion",
                 i);
        MPI_Wait(&request, &status);
    }
    check_allreduce(hz, 4, HZ_NONBLOCKING);
}

static void p26(struct hz_ctx *hz)
{
    for (int count = 1; count <= hz->size + 2; count++) {
        for (int root = 0; root < hz->size; root++) {
            for (int mode = 0; mode < HZ_MODES; mode++) {
                struct hz_buf buf = hz_buf_new((size_t) count * sizeof(int));
                if (root == hz->rank) {
                    hz_fill_ints(hz_ints(&buf), root, 0, (size_t) count);
                }
                HZ_CALL(mode, Bcast, bcast, (buf.data, count, MPI_INT, root), MPI_COMM_WORLD);
                hz_check_ints(hz, hz_ints(&buf), root, 0, (size_t) count, "bcast");
                hz_buf_end(hz, &buf, "bcast");
            }
        }
        check_allreduce(hz, (size_t) count, HZ_BLOCKING);
    }
}

/* The rooted and the rootless collectives with fewer elements than ranks. */
static void p32(struct hz_ctx *hz)
{
    p26(hz);
    hz_every(hz, MPI_COMM_WORLD, 1);
}

static void p33(struct hz_ctx *hz)
{
    size_t segment = hz->segment / sizeof(int);

    for (size_t k = 1; k <= 4; k++) {
        for (size_t off = 0; off < 3; off++) {
            for (int mode = 0; mode < HZ_MODES; mode++) {
                check_allreduce(hz, k * segment - 1 + off, (enum hz_mode) mode);
            }
        }
    }
}

/* Around every power of two, where thresholds lie: one element less, exactly, one more; the
 * ranks spell the data by two types, so that a choice by count would differ. */
static void p73(struct hz_ctx *hz)
{
    MPI_Datatype pair;

    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (size_t power = 4; power <= 1u << 18; power *= 2) {
        for (size_t count = power - 2; count <= power + 2; count += 2) {
            struct hz_buf buf = hz_buf_new(count * sizeof(int));
            bool pairs = 0 == hz->rank % 2;
            if (0 == hz->rank) {
                hz_fill_ints(hz_ints(&buf), 0, 0, count);
            }
            MPI_Bcast(buf.data, (int) (pairs ? count / 2 : count), pairs ? pair : MPI_INT, 0,
                      MPI_COMM_WORLD);
            hz_check_ints(hz, hz_ints(&buf), 0, 0, count, "bcast");
            hz_buf_end(hz, &buf, "bcast");
            check_allreduce(hz, count / 2 + 1, HZ_BLOCKING);
        }
    }
    MPI_Type_free(&pair);
}

/* Buffers that begin at each 16 bytes of a page, so that each slot of a ring is met at each distance
 * from them: where one begins at nearly the place of its page that the other one has, copies are slow on some
 * processors, and the component takes another place. */
static void page(struct hz_ctx *hz)
{
    enum { PAGE = 4096, STEP = 16, COUNT = 2500, OTHER = 700 };
    size_t ranks = (size_t) hz->size, most = ranks * COUNT;
    int *counts = malloc(ranks * sizeof(int)), *displs = malloc(ranks * sizeof(int));

    for (size_t r = 0; r < ranks; r++) {
        counts[r] = 0 == r % 2 ? COUNT : OTHER;
        displs[r] = (int) r * COUNT;
    }
    for (size_t shift = 0; shift < PAGE; shift += STEP) {
        struct hz_buf in = hz_buf_new(PAGE + COUNT * sizeof(int));
        struct hz_buf out = hz_buf_new(PAGE + most * sizeof(int));
        int *from = (int *) (void *) (in.data + shift);
        int *to = (int *) (void *) (out.data + shift);

        hz_fill_ints(from, hz->rank, 0, COUNT);
        MPI_Allreduce(from, to, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        hz_check_sums(hz, to, hz->size, COUNT, "allreduce");
        MPI_Allgatherv(from, counts[hz->rank], MPI_INT, to, counts, displs, MPI_INT,
                       MPI_COMM_WORLD);
        for (size_t r = 0; r < ranks; r++) {
            hz_check_ints(hz, to + displs[r], (int) r, 0, (size_t) counts[r], "allgatherv");
        }
        for (int root = 0; root < hz->size; root++) {
            MPI_Request request;
            /* A blocking one that is like the one before goes another way. */
            MPI_Igatherv(from, counts[hz->rank], MPI_INT, to, counts, displs, MPI_INT, root,
                         MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Gatherv(from, counts[hz->rank], MPI_INT, to, counts, displs, MPI_INT, root,
                        MPI_COMM_WORLD);
            for (size_t r = 0; root == hz->rank && r < ranks; r++) {
                hz_check_ints(hz, to + displs[r], (int) r, 0, (size_t) counts[r], "gatherv");
            }
            MPI_Bcast(from, COUNT, MPI_INT, root, MPI_COMM_WORLD);
            hz_check_ints(hz, from, root, 0, COUNT, "bcast");
            hz_fill_ints(from, hz->rank, 0, COUNT);
        }
        hz_buf_end(hz, &in, "send");
        hz_buf_end(hz, &out, "receive");
    }
    free(counts);
    free(displs);
}

int main(int argc, char **argv)
{
    static const struct hz_test tests[] = {
        {"P22", 1, p22}, {"P23", 2, p23}, {"P24", 1, p24}, {"P25", 1, p25},   {"P26", 1, p26},
        {"P32", 1, p32}, {"P33", 1, p33}, {"P73", 2, p73}, {"PAGE", 1, page}, {NULL, 0, NULL},
    };

    return hz_main(argc, argv, MPI_THREAD_SINGLE, tests);
}
