/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hazard_roots.c: P34..P45 and P68, P71, P74: roots, rank placement, group shapes, one-member and
 * two-member groups, many communicators. The shapes come from the runner.
 */
#include <sys/mman.h>

#include "hazard.h"

static void p34_count(struct hz_ctx *hz, int root, size_t count, enum hz_mode mode)
{
    size_t n = (size_t) hz->size;
    struct hz_buf one = hz_buf_new(count * sizeof(int));
    struct hz_buf all = hz_buf_new(n * count * sizeof(int));

    hz_fill_ints(hz_ints(&one), hz->rank, 0, count);
    HZ_CALL(mode, Gather, gather,
            (one.data, (int) count, MPI_INT, all.data, (int) count, MPI_INT, root), MPI_COMM_WORLD);
    for (size_t r = 0; root == hz->rank && r < n; r++) {
        hz_check_ints(hz, hz_ints(&all) + r * count, (int) r, 0, count, "gather");
    }
    memset(one.data, HZ_FILLER, one.size);
    HZ_CALL(mode, Scatter, scatter,
            (all.data, (int) count, MPI_INT, one.data, (int) count, MPI_INT, root), MPI_COMM_WORLD);
    hz_check_ints(hz, hz_ints(&one), hz->rank, 0, count, "scatter");
    hz_buf_end(hz, &one, "block");
    hz_buf_end(hz, &all, "blocks");
}

static void p34(struct hz_ctx *hz)
{
    size_t counts[HZ_SIZES];

    for (int root = 0; root < hz->size; root++) {
        for (size_t i = 0; i < hz_sizes(hz, counts); i++) {
            for (int mode = 0; mode < HZ_MODES; mode++) {
                p34_count(hz, root, counts[i], (enum hz_mode) mode);
            }
        }
    }
}

static void p35(struct hz_ctx *hz)
{
    size_t counts[HZ_SIZES];

    for (size_t i = 0; i < hz_sizes(hz, counts); i++) {
        for (int root = 0; root < hz->size; root++) {
            for (int mode = 0; mode < HZ_MODES; mode++) {
                size_t count = counts[i];
                bool at_root = root == hz->rank;
                struct hz_buf in = hz_buf_new(count * sizeof(int));
                struct hz_buf out = hz_buf_new(count * sizeof(int));
                hz_fill_ints(hz_ints(&in), hz->rank, 0, count);
                HZ_CALL(mode, Reduce, reduce,
                        (in.data, at_root ? out.data : NULL, (int) count, MPI_INT, MPI_SUM, root),
                        MPI_COMM_WORLD);
                if (at_root) {
                    hz_check_sums(hz, hz_ints(&out), hz->size, count, "reduce");
                }
                hz_check_ints(hz, hz_ints(&in), hz->rank, 0, count, "input of reduce");
                hz_buf_end(hz, &in, "input");
                hz_buf_end(hz, &out, "result");
            }
        }
    }
}

/* The root of a bcast may keep its data in memory that cannot be written; the type has a gap, so that
 * it is packed. */
static void p35_bcast(struct hz_ctx *hz)
{
    size_t counts[HZ_SIZES];
    MPI_Datatype type;

    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (size_t i = 0; i < hz_sizes(hz, counts); i++) {
        for (int root = 0; root < hz->size; root++) {
            for (int mode = 0; mode < HZ_MODES; mode++) {
                size_t count = counts[i];
                size_t bytes = 3 * count * sizeof(int) + 1;
                int *data =
                    mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                if (MAP_FAILED == (void *) data) {
                    HZ_CHECK(hz, false, "no memory");
                    return;
                }
                for (size_t at = 0; root == hz->rank && at < 3 * count; at++) {
                    data[at] = (int) (7 * at) + root;
                }
                mprotect(data, bytes, root == hz->rank ? PROT_READ : PROT_READ | PROT_WRITE);
                HZ_CALL(mode, Bcast, bcast, (data, (int) count, type, root), MPI_COMM_WORLD);
                for (size_t at = 0; at < 3 * count; at++) {
                    bool sent = 1 != at % 3 || root == hz->rank;
                    int want = sent ? (int) (7 * at) + root : 0;
                    if (want != data[at]) {
                        HZ_CHECK(hz, false, "root %d, int %zu: %d instead of %d", root, at,
                                 data[at], want);
                        break;
                    }
                }
                munmap(data, bytes);
            }
        }
    }
    MPI_Type_free(&type);
}

/* Gather of rank numbers and of blocks, every root. */
static void p36(struct hz_ctx *hz)
{
    int *ranks = malloc((size_t) hz->size * sizeof(int));

    for (int root = 0; root < hz->size; root++) {
        for (int mode = 0; mode < HZ_MODES; mode++) {
            memset(ranks, 0xff, (size_t) hz->size * sizeof(int));
            HZ_CALL(mode, Gather, gather, (&hz->rank, 1, MPI_INT, ranks, 1, MPI_INT, root),
                    MPI_COMM_WORLD);
            for (int r = 0; root == hz->rank && r < hz->size; r++) {
                HZ_CHECK(hz, r == ranks[r], "root %d: block %d is of rank %d", root, r, ranks[r]);
            }
        }
    }
    free(ranks);
    p34(hz);
}

static void every_size(struct hz_ctx *hz)
{
    hz_every(hz, MPI_COMM_WORLD, 1);
    hz_every(hz, MPI_COMM_WORLD, 300);
    hz_every(hz, MPI_COMM_WORLD, (int) (hz->segment / sizeof(int)) + 1);
}

/* A receive from anybody stays open across barriers: a barrier must not complete it. On a
 * communicator of its own, because it would take the reports too. */
static void p38(struct hz_ctx *hz)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int round = 0; round < 50; round++) {
        int got = -1;
        int done = 0;
        int mine = 100 * round + hz->rank;
        MPI_Request request;
        MPI_Status status;
        MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
        for (int mode = 0; mode < HZ_MODES; mode++) {
            hz_barrier((enum hz_mode) mode, comm);
        }
        MPI_Test(&request, &done, &status);
        HZ_CHECK(hz, !done, "round %d: a barrier completed the user's receive", round);
        hz_barrier(HZ_BLOCKING, comm);
        MPI_Send(&mine, 1, MPI_INT, (hz->rank + 1) % hz->size, 5, comm);
        MPI_Wait(&request, &status);
        HZ_CHECK(hz, 100 * round + (hz->rank + hz->size - 1) % hz->size == got,
                 "round %d: received %d", round, got);
    }
    MPI_Comm_free(&comm);
}

/* One-member communicators: MPI_COMM_SELF and a split of the world. */
static void p41(struct hz_ctx *hz)
{
    MPI_Comm alone;
    MPI_Request requests[3];
    int in = 5 + hz->rank;
    int out[2] = {-1, -1};
    int done = 0;

    MPI_Comm_split(MPI_COMM_WORLD, hz->rank, 0, &alone);
    hz_every(hz, MPI_COMM_SELF, 7);
    hz_every(hz, alone, 7);
    hz_every(hz, alone, 0);
    MPI_Iallreduce(&in, &out[0], 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &requests[0]);
    MPI_Iallgather(&in, 1, MPI_INT, &out[1], 1, MPI_INT, alone, &requests[1]);
    MPI_Ibarrier(MPI_COMM_SELF, &requests[2]);
    for (int i = 0; i < 3; i++) {
        MPI_Status status;
        done = 0;
        while (!done) {
            MPI_Request_get_status(requests[i], &done, &status);
        }
        MPI_Test(&requests[i], &done, &status);
        HZ_CHECK(hz, done && MPI_REQUEST_NULL == requests[i], "request %d is not complete", i);
    }
    HZ_CHECK(hz, in == out[0] && in == out[1], "results %d and %d, not %d", out[0], out[1], in);
    MPI_Comm_free(&alone);
}

/* One call on the world, the same on pairs, sizes between which a threshold may lie. */
static void p42(struct hz_ctx *hz)
{
    MPI_Comm pair;
    int rank, size;

    MPI_Comm_split(MPI_COMM_WORLD, hz->rank / 2, hz->rank, &pair);
    MPI_Comm_rank(pair, &rank);
    MPI_Comm_size(pair, &size);
    for (size_t count = 1; count <= 1u << 18; count *= 4) {
        struct hz_buf in = hz_buf_new(count * sizeof(int));
        struct hz_buf out = hz_buf_new(count * sizeof(int));
        for (int round = 0; round < 2; round++) {
            hz_fill_ints(hz_ints(&in), hz->rank, 0, count);
            MPI_Allreduce(in.data, out.data, (int) count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            hz_check_sums(hz, hz_ints(&out), hz->size, count, "allreduce on the world");
            hz_fill_ints(hz_ints(&in), rank, 0, count);
            MPI_Allreduce(in.data, out.data, (int) count, MPI_INT, MPI_SUM, pair);
            hz_check_sums(hz, hz_ints(&out), size, count, "allreduce on a pair");
        }
        hz_buf_end(hz, &in, "input");
        hz_buf_end(hz, &out, "result");
    }
    hz_every(hz, pair, 20);
    MPI_Comm_free(&pair);
}

static void p44_comm(struct hz_ctx *hz, MPI_Comm comm, int count)
{
    size_t bytes = (size_t) count * sizeof(int);
    int counts[1] = {count};

    for (int mode = 0; mode < HZ_MODES; mode++) {
        /* The input is longer than the block: what lies behind must not be copied. */
        struct hz_buf in = hz_buf_new(bytes + 256);
        struct hz_buf out = hz_buf_new(bytes);
        hz_fill_ints(hz_ints(&in), hz->rank, 0, in.size / sizeof(int));
        HZ_CALL(mode, Reduce_scatter_block, reduce_scatter_block,
                (in.data, out.data, count, MPI_INT, MPI_SUM), comm);
        hz_check_ints(hz, hz_ints(&out), hz->rank, 0, (size_t) count, "reduce_scatter_block");
        memset(out.data, HZ_FILLER, out.size);
        HZ_CALL(mode, Reduce_scatter, reduce_scatter, (in.data, out.data, counts, MPI_INT, MPI_SUM),
                comm);
        hz_check_ints(hz, hz_ints(&out), hz->rank, 0, (size_t) count, "reduce_scatter");
        HZ_CALL(mode, Reduce_scatter_block, reduce_scatter_block,
                (MPI_IN_PLACE, in.data, count, MPI_INT, MPI_SUM), comm);
        hz_check_ints(hz, hz_ints(&in), hz->rank, 0, in.size / sizeof(int),
                      "reduce_scatter_block in place");
        hz_buf_end(hz, &in, "input");
        hz_buf_end(hz, &out, "result");
    }
}

static void p44(struct hz_ctx *hz)
{
    MPI_Comm alone;

    MPI_Comm_split(MPI_COMM_WORLD, hz->rank, 0, &alone);
    p44_comm(hz, MPI_COMM_SELF, 9);
    p44_comm(hz, alone, 9);
    p44_comm(hz, alone, 0);
    MPI_Comm_free(&alone);
}

static void p68(struct hz_ctx *hz)
{
    enum { COMMS = 200 };
    MPI_Comm comms[COMMS];

    for (int c = 0; c < COMMS; c++) {
        /* Duplicates, and splits with the ranks reversed. */
        if (0 == c % 2) {
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]);
        } else {
            MPI_Comm_split(MPI_COMM_WORLD, 0, -hz->rank, &comms[c]);
        }
    }
    for (int round = 0; round < 2; round++) {
        for (int c = 0; c < COMMS; c++) {
            int rank;
            int in[2] = {hz->rank + c, round};
            int out[2];
            int root_value = -1;
            MPI_Comm_rank(comms[c], &rank);
            MPI_Allreduce(in, out, 2, MPI_INT, MPI_SUM, comms[c]);
            HZ_CHECK(hz,
                     hz->size * (hz->size - 1) / 2 + hz->size * c == out[0]
                         && hz->size * round == out[1],
                     "communicator %d: sums %d, %d", c, out[0], out[1]);
            if (c % hz->size == rank) {
                root_value = c;
            }
            MPI_Bcast(&root_value, 1, MPI_INT, c % hz->size, comms[c]);
            HZ_CHECK(hz, c == root_value, "communicator %d: bcast gave %d", c, root_value);
        }
    }
    for (int c = 0; c < COMMS; c++) {
        MPI_Comm_free(&comms[(c * 7) % COMMS]);
    }
}

/* A communicator that the component may refuse (an intercommunicator) beside the world: the
 * world goes on as before. */
static void p74(struct hz_ctx *hz)
{
    MPI_Comm local;
    MPI_Comm inter = hz_inter(hz, 1, &local);
    int one = 1;
    int sum = 0;

    hz_every(hz, MPI_COMM_WORLD, 11);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    HZ_CHECK(hz, (0 == hz->rank ? hz->size - 1 : 1) == sum, "sum of the other group is %d", sum);
    MPI_Comm_free(&inter);
    hz_every(hz, MPI_COMM_WORLD, 11);
    hz_every(hz, local, 11);
    MPI_Comm_free(&local);
}

int main(int argc, char **argv)
{
    static const struct hz_test tests[] = {
        {"P34", 2, p34},        {"P35", 2, p35},        {"P35b", 1, p35_bcast},
        {"P36", 2, p36},        {"P37", 1, every_size}, {"P38", 2, p38},
        {"P39", 2, every_size}, {"P40", 2, every_size}, {"P41", 1, p41},
        {"P42", 2, p42},        {"P44", 1, p44},        {"P45", 3, every_size},
        {"P68", 1, p68},        {"P71", 1, every_size}, {"P74", 2, p74},
        {NULL, 0, NULL},
    };

    return hz_main(argc, argv, MPI_THREAD_SINGLE, tests);
}
