/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hazard_inplace.c: P01..P10, MPI_IN_PLACE: the marker passed on to an inner step, type arguments
 * read beside it, one's own block looked for in the wrong place.
 */
#include "hazard.h"

static void check_allreduce(struct hz_ctx *hz, MPI_Comm comm, size_t count, enum hz_mode mode)
{
    struct hz_buf buf = hz_buf_new(count * sizeof(int));
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    hz_fill_ints(hz_ints(&buf), rank, 0, count);
    HZ_CALL(mode, Allreduce, allreduce, (MPI_IN_PLACE, buf.data, (int) count, MPI_INT, MPI_SUM),
            comm);
    hz_check_sums(hz, hz_ints(&buf), size, count, hz_mode_name[mode]);
    hz_buf_end(hz, &buf, hz_mode_name[mode]);
}

static void p01(struct hz_ctx *hz)
{
    size_t counts[HZ_SIZES];

    for (size_t i = 0; i < hz_sizes(hz, counts); i++) {
        for (int mode = 0; mode < HZ_MODES; mode++) {
            check_allreduce(hz, MPI_COMM_WORLD, counts[i], (enum hz_mode) mode);
        }
    }
}

static void gather_in_place(struct hz_ctx *hz, int root, size_t count, enum hz_mode mode)
{
    struct hz_buf out = hz_buf_new(count * (size_t) hz->size * sizeof(int));
    struct hz_buf in = hz_buf_new(count * sizeof(int));
    int *own = hz_ints(&out) + (size_t) root * count;

    if (root == hz->rank) {
        hz_fill_ints(own, root, 0, count);
        HZ_CALL(mode, Gather, gather,
                (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out.data, (int) count, MPI_INT, root),
                MPI_COMM_WORLD);
        for (int r = 0; r < hz->size; r++) {
            hz_check_ints(hz, hz_ints(&out) + (size_t) r * count, r, 0, count, "gather");
        }
    } else {
        hz_fill_ints(hz_ints(&in), hz->rank, 0, count);
        HZ_CALL(mode, Gather, gather,
                (in.data, (int) count, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root), MPI_COMM_WORLD);
    }
    hz_buf_end(hz, &out, "gather result");
    hz_buf_end(hz, &in, "gather input");
}

static void p02(struct hz_ctx *hz)
{
    size_t counts[HZ_SIZES];

    for (size_t i = 0; i < hz_sizes(hz, counts); i++) {
        for (int mode = 0; mode < HZ_MODES; mode++) {
            gather_in_place(hz, 0, counts[i], (enum hz_mode) mode);
            gather_in_place(hz, hz->size - 1, counts[i], (enum hz_mode) mode);
        }
    }
}

static void p03(struct hz_ctx *hz)
{
    struct hz_buf buf = hz_buf_new(100);

    for (int mode = 0; mode < HZ_MODES; mode++) {
        for (int i = 0; i < 100; i++) {
            buf.data[i] = (unsigned char) ((hz->rank + i) % 8); /* 16 ranks stay below 256 */
        }
        HZ_CALL(mode, Allreduce, allreduce,
                (MPI_IN_PLACE, buf.data, 100, MPI_UNSIGNED_CHAR, MPI_SUM), MPI_COMM_WORLD);
        for (int i = 0; i < 100; i++) {
            int want = 0;
            for (int r = 0; r < hz->size; r++) {
                want += (r + i) % 8;
            }
            HZ_CHECK(hz, want == buf.data[i], "%s: element %d is %d, not %d", hz_mode_name[mode], i,
                     buf.data[i], want);
        }
    }
    hz_buf_end(hz, &buf, "allreduce");
}

#define P04_COUNT 5

/* The in-place forms whose send arguments are all null. */
static void p04_mode(struct hz_ctx *hz, enum hz_mode mode)
{
    size_t n = (size_t) hz->size;
    struct hz_buf buf = hz_buf_new(n * P04_COUNT * sizeof(int));
    int *own = hz_ints(&buf) + hz->rank * P04_COUNT;
    int *counts = malloc(n * sizeof(int));
    int *displs = malloc(n * sizeof(int));
    int *byte_displs = malloc(n * sizeof(int));
    MPI_Datatype *types = malloc(n * sizeof(*types));

    for (int r = 0; r < hz->size; r++) {
        counts[r] = P04_COUNT;
        displs[r] = r * P04_COUNT;
        byte_displs[r] = displs[r] * (int) sizeof(int);
        types[r] = MPI_INT;
    }
    for (int form = 0; form < 5; form++) {
        if (form < 2) {
            hz_fill_ints(own, hz->rank, 0, P04_COUNT);
        } else {
            hz_fill_ints(hz_ints(&buf), hz->rank, 0, n * P04_COUNT);
        }
        switch (form) {
        case 0:
            HZ_CALL(mode, Allgather, allgather,
                    (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buf.data, P04_COUNT, MPI_INT),
                    MPI_COMM_WORLD);
            break;
        case 1:
            HZ_CALL(mode, Allgatherv, allgatherv,
                    (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buf.data, counts, displs, MPI_INT),
                    MPI_COMM_WORLD);
            break;
        case 2:
            HZ_CALL(mode, Alltoall, alltoall,
                    (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buf.data, P04_COUNT, MPI_INT),
                    MPI_COMM_WORLD);
            break;
        case 3:
            HZ_CALL(mode, Alltoallv, alltoallv,
                    (MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, buf.data, counts, displs,
                     MPI_INT),
                    MPI_COMM_WORLD);
            break;
        default:
            HZ_CALL(mode, Alltoallw, alltoallw,
                    (MPI_IN_PLACE, NULL, NULL, NULL, buf.data, counts, byte_displs, types),
                    MPI_COMM_WORLD);
            break;
        }
        for (int r = 0; r < hz->size; r++) {
            hz_check_ints(hz, hz_ints(&buf) + r * P04_COUNT, r,
                          form < 2 ? 0 : (size_t) hz->rank * P04_COUNT, P04_COUNT,
                          form < 2 ? "allgather(v)" : "alltoall(v,w)");
        }
    }
    hz_buf_end(hz, &buf, "in place");
    free(counts);
    free(displs);
    free(byte_displs);
    free(types);
}

static void p04(struct hz_ctx *hz)
{
    for (int mode = 0; mode < HZ_MODES; mode++) {
        p04_mode(hz, (enum hz_mode) mode);
        for (int root = 0; root < hz->size; root++) {
            gather_in_place(hz, root, P04_COUNT, (enum hz_mode) mode);
        }
    }
}

static void p05(struct hz_ctx *hz)
{
    int n = hz->size;
    int *counts = malloc((size_t) n * sizeof(int));
    int *displs = malloc((size_t) n * sizeof(int));
    int at = 1;
    int filler;

    memset(&filler, HZ_FILLER, sizeof(filler));
    for (int r = n - 1; r >= 0; r--) {
        counts[r] = 2 + r % 3;
        displs[r] = at;
        at += counts[r] + 1 + r % 2;
    }
    for (int mode = 0; mode < HZ_MODES; mode++) {
        struct hz_buf buf = hz_buf_new((size_t) at * sizeof(int));
        hz_fill_ints(hz_ints(&buf) + displs[hz->rank], hz->rank, 0, (size_t) counts[hz->rank]);
        HZ_CALL(mode, Allgatherv, allgatherv,
                (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buf.data, counts, displs, MPI_INT),
                MPI_COMM_WORLD);
        for (int r = 0; r < n; r++) {
            hz_check_ints(hz, hz_ints(&buf) + displs[r], r, 0, (size_t) counts[r],
                          hz_mode_name[mode]);
            HZ_CHECK(hz, filler == hz_ints(&buf)[displs[r] - 1], "%s: gap before block %d written",
                     hz_mode_name[mode], r);
        }
        hz_buf_end(hz, &buf, hz_mode_name[mode]);
    }
    free(counts);
    free(displs);
}

static void p06(struct hz_ctx *hz)
{
    size_t counts[HZ_SIZES];

    for (int size = 2; size <= hz->size; size++) {
        MPI_Comm comm = hz_first_ranks(hz, size);
        if (MPI_COMM_NULL == comm) {
            continue;
        }
        double pair[2] = {hz->rank + 1.0, 100.0 * hz->rank};
        MPI_Request request;
        MPI_Iallreduce(MPI_IN_PLACE, pair, 2, MPI_DOUBLE, MPI_SUM, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        HZ_CHECK(hz, size * (size + 1) / 2.0 == pair[0] && 50.0 * size * (size - 1) == pair[1],
                 "%d ranks: sums are %g and %g", size, pair[0], pair[1]);
        for (size_t i = 0; i < hz_sizes(hz, counts); i++) {
            check_allreduce(hz, comm, counts[i], HZ_NONBLOCKING);
        }
        MPI_Comm_free(&comm);
    }
}

static void p07(struct hz_ctx *hz)
{
    static const size_t blocks[] = {1, 10000};

    for (size_t b = 0; b < 2; b++) {
        for (int mode = 0; mode < HZ_MODES; mode++) {
            size_t count = blocks[b];
            struct hz_buf buf = hz_buf_new(count * (size_t) hz->size * sizeof(int));
            hz_fill_ints(hz_ints(&buf), hz->rank, 0, count * (size_t) hz->size);
            HZ_CALL(mode, Alltoall, alltoall,
                    (MPI_IN_PLACE, (int) count, MPI_INT, buf.data, (int) count, MPI_INT),
                    MPI_COMM_WORLD);
            for (int r = 0; r < hz->size; r++) {
                hz_check_ints(hz, hz_ints(&buf) + (size_t) r * count, r, (size_t) hz->rank * count,
                              count, hz_mode_name[mode]);
            }
            hz_buf_end(hz, &buf, hz_mode_name[mode]);
        }
    }
}

/* Rank i and rank j exchange min(i,j)+1 elements: 1, 2 or 4 byte unsigned integers by (i+j) % 3. */
static void p08(struct hz_ctx *hz)
{
    static const size_t width[3] = {1, 2, 4};
    MPI_Datatype basic[3] = {MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T};
    size_t n = (size_t) hz->size;
    size_t block = 4 * n + 8;
    int *counts = malloc(n * sizeof(int));
    int *displs = malloc(n * sizeof(int));
    MPI_Datatype *types = malloc(n * sizeof(*types));

    for (int mode = 0; mode < HZ_MODES; mode++) {
        struct hz_buf buf = hz_buf_new(block * n);
        for (int r = 0; r < hz->size; r++) {
            int kind = (hz->rank + r) % 3;
            counts[r] = (r < hz->rank ? r : hz->rank) + 1;
            displs[r] = r * (int) block;
            types[r] = basic[kind];
            for (size_t i = 0; i < width[kind] * (size_t) counts[r]; i++) {
                buf.data[(size_t) r * block + i] = (unsigned char) (16 * hz->rank + r + (int) i);
            }
        }
        HZ_CALL(mode, Alltoallw, alltoallw,
                (MPI_IN_PLACE, NULL, NULL, NULL, buf.data, counts, displs, types), MPI_COMM_WORLD);
        for (int r = 0; r < hz->size; r++) {
            size_t used = width[(hz->rank + r) % 3] * (size_t) counts[r];
            for (size_t i = 0; i < block; i++) {
                int want = i < used ? (16 * r + hz->rank + (int) i) & 0xff : HZ_FILLER;
                HZ_CHECK(hz, want == buf.data[(size_t) r * block + i],
                         "%s: byte %zu from rank %d is %d, not %d", hz_mode_name[mode], i, r,
                         buf.data[(size_t) r * block + i], want);
            }
        }
        hz_buf_end(hz, &buf, hz_mode_name[mode]);
    }
    free(counts);
    free(displs);
    free(types);
}

/* A type of `count` ints at the absolute address of where, with the extent of the block. */
static MPI_Datatype absolute_type(const void *where, int count)
{
    MPI_Aint address;
    MPI_Datatype at, type;

    MPI_Get_address(where, &address);
    MPI_Type_create_hindexed(1, &count, &address, MPI_INT, &at);
    MPI_Type_create_resized(at, address, (MPI_Aint) ((size_t) count * sizeof(int)), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&at);
    return type;
}

static void p09(struct hz_ctx *hz)
{
    enum { COUNT = 6 };
    struct hz_buf in = hz_buf_new(COUNT * sizeof(int));
    struct hz_buf out = hz_buf_new(COUNT * (size_t) hz->size * sizeof(int));
    MPI_Datatype send = absolute_type(in.data, COUNT);
    MPI_Datatype receive = absolute_type(out.data, COUNT);

    for (int mode = 0; mode < HZ_MODES; mode++) {
        memset(out.data, HZ_FILLER, out.size);
        hz_fill_ints(hz_ints(&in), hz->rank, 0, COUNT);
        HZ_CALL(mode, Allgather, allgather, (MPI_BOTTOM, 1, send, MPI_BOTTOM, 1, receive),
                MPI_COMM_WORLD);
        for (int r = 0; r < hz->size; r++) {
            hz_check_ints(hz, hz_ints(&out) + r * COUNT, r, 0, COUNT, hz_mode_name[mode]);
        }
    }
    MPI_Type_free(&send);
    MPI_Type_free(&receive);
    hz_buf_end(hz, &in, "allgather input");
    hz_buf_end(hz, &out, "allgather result");
}

/* In-place alltoallv of pairs of ints 12 bytes apart, an alltoallw of single ints right behind
 * it. */
static void p10_mode(struct hz_ctx *hz, enum hz_mode mode)
{
    size_t n = (size_t) hz->size;
    struct hz_buf buf = hz_buf_new(n * 24 * sizeof(int));
    struct hz_buf in = hz_buf_new(n * sizeof(int));
    struct hz_buf out = hz_buf_new(n * sizeof(int));
    int *counts = malloc(n * sizeof(int));
    int *displs = malloc(n * sizeof(int));
    int *one = malloc(n * sizeof(int));
    int *byte_displs = malloc(n * sizeof(int));
    MPI_Datatype *types = malloc(n * sizeof(*types));
    MPI_Datatype pair, spaced;
    int filler;

    memset(&filler, HZ_FILLER, sizeof(filler));
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 12, &spaced);
    MPI_Type_commit(&spaced);
    MPI_Type_free(&pair);
    for (int r = 0; r < hz->size; r++) {
        counts[r] = 1 + (hz->rank + r) % 4;
        displs[r] = (hz->size - 1 - r) * 8 + 1;
        one[r] = 1;
        byte_displs[r] = r * (int) sizeof(int);
        types[r] = MPI_INT;
        hz_ints(&in)[r] = 1000 * hz->rank + r;
        for (int e = 0; e < counts[r]; e++) {
            hz_ints(&buf)[3 * (displs[r] + e)] = hz_value(hz->rank, (size_t) (100 * r + 2 * e));
            hz_ints(&buf)[3 * (displs[r] + e) + 1] =
                hz_value(hz->rank, (size_t) (100 * r + 2 * e + 1));
        }
    }
    HZ_CALL(mode, Alltoallv, alltoallv,
            (MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, buf.data, counts, displs, spaced),
            MPI_COMM_WORLD);
    HZ_CALL(mode, Alltoallw, alltoallw,
            (in.data, one, byte_displs, types, out.data, one, byte_displs, types), MPI_COMM_WORLD);
    for (int r = 0; r < hz->size; r++) {
        const int *block = hz_ints(&buf) + 3 * displs[r];
        for (int e = 0; e < counts[r]; e++) {
            hz_check_ints(hz, block + 3 * e, r, (size_t) (100 * hz->rank + 2 * e), 2,
                          hz_mode_name[mode]);
            HZ_CHECK(hz, filler == block[3 * e + 2], "%s: hole of element %d from rank %d written",
                     hz_mode_name[mode], e, r);
        }
        HZ_CHECK(hz, 1000 * r + hz->rank == hz_ints(&out)[r], "%s: alltoallw got %d from rank %d",
                 hz_mode_name[mode], hz_ints(&out)[r], r);
    }
    MPI_Type_free(&spaced);
    hz_buf_end(hz, &buf, "alltoallv");
    hz_buf_end(hz, &in, "alltoallw input");
    hz_buf_end(hz, &out, "alltoallw result");
    free(counts);
    free(displs);
    free(one);
    free(byte_displs);
    free(types);
}

static void p10(struct hz_ctx *hz)
{
    for (int mode = 0; mode < HZ_MODES; mode++) {
        p10_mode(hz, (enum hz_mode) mode);
    }
}

int main(int argc, char **argv)
{
    static const struct hz_test tests[] = {
        {"P01", 2, p01}, {"P02", 2, p02}, {"P03", 2, p03}, {"P04", 2, p04},
        {"P05", 2, p05}, {"P06", 2, p06}, {"P07", 2, p07}, {"P08", 2, p08},
        {"P09", 2, p09}, {"P10", 2, p10}, {NULL, 0, NULL},
    };

    return hz_main(argc, argv, MPI_THREAD_SINGLE, tests);
}
