/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hazard_errors.c: P83 and P84 (with variants), what collectives return; P86 and P64, victims for the runner, which
 * kills a rank.
 */
#include "hazard.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* Error checking on: everything that succeeds says so, and a status keeps no stale error. */
static void p83(struct hz_ctx *hz)
{
    enum { COUNT = 20000 };
    struct hz_buf buf = hz_buf_new(COUNT * sizeof(int));
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int round = 0; round < 40; round++) {
        int root = round % hz->size;
        int count = 0 == round % 2 ? COUNT : 1;
        int small = hz->rank;
        int rc;
        if (root == hz->rank) {
            hz_fill_ints(hz_ints(&buf), root, 0, (size_t) count);
        }
        rc = MPI_Ibcast(buf.data, count, MPI_INT, root, comm, &requests[0]);
        HZ_CHECK(hz, MPI_SUCCESS == rc, "round %d: Ibcast returns %d", round, rc);
        rc = MPI_Ibcast(&small, 1, MPI_INT, root, comm, &requests[1]);
        HZ_CHECK(hz, MPI_SUCCESS == rc, "round %d: second Ibcast returns %d", round, rc);
        rc = MPI_Waitall(2, requests, statuses);
        HZ_CHECK(hz, MPI_SUCCESS == rc, "round %d: Waitall returns %d (%d, %d)", round, rc,
                 statuses[0].MPI_ERROR, statuses[1].MPI_ERROR);
        HZ_CHECK(hz, root == small, "round %d: small bcast gave %d", round, small);
        hz_check_ints(hz, hz_ints(&buf), root, 0, (size_t) count, "ibcast");
        rc = MPI_Bcast(buf.data, count, MPI_INT, root, comm);
        HZ_CHECK(hz, MPI_SUCCESS == rc, "round %d: Bcast returns %d", round, rc);
    }
    MPI_Comm_free(&comm);
    hz_buf_end(hz, &buf, "ibcast");
}

/* The second rank has room for fewer ints than the first one sends: it must get an error of a
 * valid class, and in nobody's memory may anything beyond the room be written. */
static void p84(struct hz_ctx *hz)
{
    enum { SENT = 64, ROOM = 16 };
    struct hz_buf buf = hz_buf_new((0 == hz->rank ? SENT : ROOM) * sizeof(int));
    MPI_Comm comm;
    int rc;
    int class = MPI_SUCCESS;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    hz_fill_ints(hz_ints(&buf), hz->rank, 0, buf.size / sizeof(int));
    rc = MPI_Bcast(buf.data, (int) (buf.size / sizeof(int)), MPI_INT, 0, comm);
    if (MPI_SUCCESS != rc) {
        char text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_class(rc, &class);
        MPI_Error_string(rc, text, &length);
        HZ_CHECK(hz, MPI_SUCCESS < class && class <= MPI_ERR_LASTCODE && MPI_ERR_PENDING != class,
                 "code %d has class %d", rc, class);
    }
    HZ_CHECK(hz, 0 == hz->rank || MPI_SUCCESS != rc, "success, though %d ints came for %d", SENT,
             ROOM);
    hz_buf_end(hz, &buf, "bcast");
    /* The communicator is not freed: after an error nothing is promised of it. */
}

/* `sent` ints come from rank 0 for the others (or from all others for rank 0), who expect `room`. */
static int differ_once(struct hz_ctx *hz, MPI_Comm comm, int coll, int sent, int room, int *in,
                       int *out)
{
    int scounts[hz->size], rcounts[hz->size], places[hz->size];
    int me = hz->rank;

    for (int i = 0; i < hz->size; i++) {
        scounts[i] = 0 == me && i > 0 ? sent : 0;
        rcounts[i] = 0 == i && me > 0 ? room : 0;
        places[i] = 0;
    }
    if (0 == coll) {
        return MPI_Alltoallv(in, scounts, places, MPI_INT, out, rcounts, places, MPI_INT, comm);
    }
    if (1 == coll) {
        return MPI_Scatterv(in, scounts, places, MPI_INT, out, 0 == me ? 0 : room, MPI_INT, 0,
                            comm);
    }
    for (int i = 0; i < hz->size; i++) {
        rcounts[i] = 1 == i ? room : 0;
    }
    return MPI_Gatherv(in, 1 == me ? sent : 0, MPI_INT, out, rcounts, places, MPI_INT, 0, comm);
}

/* Where two ranks alone know a block's size, and differ: who has too little room says so, writes nothing
 * beyond it and has what fits; nobody hangs, and what follows is right. Lengths of each kind: below
 * and above those of blocks that share a message, and below and above one slot. */
static void p84_sizes(struct hz_ctx *hz)
{
    static const int lengths[] = {3, 100, 5000, 100000, 400000};
    enum { N = sizeof(lengths) / sizeof(lengths[0]) };

    for (int k = 0; k < N * N * 3; k++) {
        const int sent = lengths[k / 3 % N], room = lengths[k / 3 / N], coll = k % 3;
        const bool receives = 2 == coll ? 0 == hz->rank : 0 != hz->rank;
        const int from = 2 == coll ? 1 : 0, least = sent < room ? sent : room;
        struct hz_buf in = hz_buf_new((size_t) sent * sizeof(int));
        struct hz_buf out = hz_buf_new((size_t) room * sizeof(int));
        int class = MPI_SUCCESS;
        MPI_Comm comm;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        hz_fill_ints(hz_ints(&in), hz->rank, 0, (size_t) sent);
        int rc = differ_once(hz, comm, coll, sent, room, hz_ints(&in), hz_ints(&out));
        if (MPI_SUCCESS != rc) {
            MPI_Error_class(rc, &class);
        }
        HZ_CHECK(hz, (receives && sent > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS) == class,
                 "case %d: class %d, though %d ints came for %d", k, class, sent, room);
        if (receives) {
            hz_check_ints(hz, hz_ints(&out), from, 0, (size_t) least, "what fits");
        }
        hz_buf_end(hz, &in, "sent");
        hz_buf_end(hz, &out, "received");
        MPI_Barrier(comm);
    }
}

/* The same on one communicator, by readers whose calls are alike: what they know of the sizes is kept
 * from call to call, and what comes differs. */
static void p84_again(struct hz_ctx *hz)
{
    static const int sent[] = {100, 100, 100, 60, 100, 140, 100, 20000, 100, 1, 100};
    enum { ROOM_AGAIN = 100, CALLS = sizeof(sent) / sizeof(sent[0]) };
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int k = 0; k < 3 * CALLS; k++) {
        const int coll = k / CALLS, n = sent[k % CALLS];
        const bool receives = 2 == coll ? 0 == hz->rank : 0 != hz->rank;
        struct hz_buf in = hz_buf_new((size_t) n * sizeof(int));
        struct hz_buf out = hz_buf_new(ROOM_AGAIN * sizeof(int));
        int class = MPI_SUCCESS;

        hz_fill_ints(hz_ints(&in), hz->rank, 0, (size_t) n);
        int rc = differ_once(hz, comm, coll, n, ROOM_AGAIN, hz_ints(&in), hz_ints(&out));
        if (MPI_SUCCESS != rc) {
            MPI_Error_class(rc, &class);
        }
        HZ_CHECK(hz, (receives && n > ROOM_AGAIN ? MPI_ERR_TRUNCATE : MPI_SUCCESS) == class,
                 "call %d: class %d, though %d ints came for %d", k, class, n, ROOM_AGAIN);
        if (receives) {
            hz_check_ints(hz, hz_ints(&out), 2 == coll ? 1 : 0, 0,
                          (size_t) (n < ROOM_AGAIN ? n : ROOM_AGAIN), "what fits");
        }
        hz_buf_end(hz, &in, "sent");
        hz_buf_end(hz, &out, "received");
    }
}

/* Blocks of one size in other places, and of other sizes in the same places, in turn: ranks keep what
 * they know of such calls apart, though first and last numbers are alike. */
static void p84_places(struct hz_ctx *hz)
{
    enum { WIDE = 16, VARIANTS = 6 };
    const int p = hz->size, me = hz->rank;

    for (int k = 0; k < 24 * VARIANTS; k++) {
        const int variant = (k * k + k / 5) % VARIANTS;
        int scounts[p], rcounts[p], places[p];
        struct hz_buf in = hz_buf_new((size_t) (p * WIDE) * sizeof(int));
        struct hz_buf out = hz_buf_new((size_t) (p * WIDE) * sizeof(int));

        for (int i = 0; i < p; i++) {
            const bool middle = 0 < i && i < p - 1;
            /* Sizes in the middle depend on the variant and on both ranks alike. */
            scounts[i] = middle && 0 < me && me < p - 1 ? 1 + (i + me + variant) % 3 : 2;
            rcounts[i] = scounts[i];
            places[i] = WIDE * (middle && variant > 2 ? p - 1 - i : i) + (middle ? variant % 3 : 0);
        }
        for (int i = 0; i < p; i++) {
            hz_fill_ints(hz_ints(&in) + places[i], me, (size_t) (1000 * k + 10 * i),
                         (size_t) scounts[i]);
        }
        MPI_Alltoallv(hz_ints(&in), scounts, places, MPI_INT, hz_ints(&out), rcounts, places,
                      MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; i < p; i++) {
            hz_check_ints(hz, hz_ints(&out) + places[i], i, (size_t) (1000 * k + 10 * me),
                          (size_t) rcounts[i], "a block");
        }
        hz_buf_end(hz, &in, "sent");
        hz_buf_end(hz, &out, "received");
    }
}

#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
/* An operation that cannot start, for its packed data would need 2 PB: waiting for it tells. */
static void p84_persistent(struct hz_ctx *hz)
{
    MPI_Datatype type;
    MPI_Comm comm;
    char buf[1];

    MPI_Type_vector(1 << 20, 1, 2, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int all = 0; all < 2; all++) {
        MPI_Request request;
        MPIX_Bcast_init(buf, INT_MAX, type, 0, comm, MPI_INFO_NULL, &request);
        int started = all ? MPI_Startall(1, &request) : MPI_Start(&request);
        int waited = MPI_Wait(&request, MPI_STATUS_IGNORE);
        HZ_CHECK(hz, MPI_SUCCESS == started && MPI_SUCCESS < waited && waited <= MPI_ERR_LASTCODE,
                 "start gives %d, wait %d", started, waited);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    hz_every(hz, comm, 10);
    MPI_Comm_free(&comm);
    MPI_Type_free(&type);
}
#endif

/* Prints each rank's process id, then runs collectives for ever (a minute at most): the runner
 * kills a rank. */
static void p86(struct hz_ctx *hz)
{
    double end = MPI_Wtime() + 60.0;
    int go = 1;
    struct hz_buf in = hz_buf_new(hz->segment);
    struct hz_buf out = hz_buf_new(hz->segment);
    int count = (int) (hz->segment / sizeof(int));

    hz_fill_ints(hz_ints(&in), hz->rank, 0, (size_t) count);
    MPI_Allreduce(in.data, out.data, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    hz_every(hz, MPI_COMM_WORLD, 10);
    printf("# rank %d is process %ld\n", hz->rank, (long) getpid());
    fflush(stdout);
    while (go) {
        MPI_Allreduce(in.data, out.data, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        go = MPI_Wtime() < end;
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    hz_buf_end(hz, &in, "input");
    hz_buf_end(hz, &out, "result");
    hz_fail(hz, "nobody was killed");
}

int main(int argc, char **argv)
{
    static const struct hz_test tests[] = {
        {"P83", 2, p83},
        {"P84", 2, p84},
        {"P84c", 2, p84_sizes},
        {"P84d", 2, p84_again},
        {"P84e", 2, p84_places},
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
        {"P84b", 1, p84_persistent},
#endif
        {"P86", 2, p86},
        {NULL, 0, NULL},
    };

    /* P84c: where one rank reads another's memory, Open MPI 4.1 writes what is too long for its receiver
     * beyond its end. */
    if (0 != setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 1)) {
        return 2;
    }
    return hz_main(argc, argv, MPI_THREAD_SINGLE, tests);
}
