/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hazard_spelling.c: P17..P19 and P70, the same data spelled with other counts and types on other
 * ranks, and arguments that only count at the root.
 */
#include "hazard.h"

/* --- P17, P70: one signature, several spellings */

/* Broadcast `ints` ints; every rank spells them by its own `count` elements of its own type,
 * whose ints lie `stride` bytes apart beginning `lead` bytes behind the origin. */
static void bcast_spelled(struct hz_ctx *hz, int root, int ints, int count, MPI_Datatype type,
                          int stride, int lead, enum hz_mode mode)
{
    struct hz_buf buf = hz_buf_new((size_t) lead + (size_t) ints * (size_t) stride);

    for (int i = 0; root == hz->rank && i < ints; i++) {
        int value = hz_value(root, (size_t) i);
        memcpy(buf.data + lead + (ptrdiff_t) i * stride, &value, sizeof(value));
    }
    HZ_CALL(mode, Bcast, bcast, (buf.data, count, type, root), MPI_COMM_WORLD);
    for (int i = 0; i < ints && !hz->failed; i++) {
        int value;
        const unsigned char *at = buf.data + lead + (ptrdiff_t) i * stride;
        memcpy(&value, at, sizeof(value));
        HZ_CHECK(hz, hz_value(root, (size_t) i) == value,
                 "%d ints from root %d, %d elements here: int %d is %d", ints, root, count, i,
                 value);
        for (int b = 4; b < stride; b++) {
            HZ_CHECK(hz, HZ_FILLER == at[b], "%d ints: hole behind int %d written", ints, i);
        }
    }
    for (int b = 0; b < lead; b++) {
        HZ_CHECK(hz, HZ_FILLER == buf.data[b], "%d ints: byte %d before the data written", ints, b);
    }
    hz_buf_end(hz, &buf, "bcast");
}

/* An int every 8 bytes. */
static MPI_Datatype wide_new(void)
{
    MPI_Datatype type;

    MPI_Type_create_resized(MPI_INT, 0, 8, &type);
    MPI_Type_commit(&type);
    return type;
}

static void p17(struct hz_ctx *hz)
{
    MPI_Datatype large = hz_ints_type(10000);
    MPI_Datatype shifted;
    MPI_Datatype inner;
    MPI_Aint lead = 64;
    int length = 40000;

    /* 40000 ints whose true lower bound is 64, though the lower bound says 0. */
    MPI_Type_create_hindexed(1, &length, &lead, MPI_INT, &inner);
    MPI_Type_create_resized(inner, 0, 64 + 40000 * 4, &shifted);
    MPI_Type_commit(&shifted);
    MPI_Type_free(&inner);
    for (int root = 0; root < hz->size; root++) {
        for (int mode = 0; mode < HZ_MODES; mode++) {
            enum hz_mode how = (enum hz_mode) mode;
            if (root == hz->rank) {
                bcast_spelled(hz, root, 40000, 40000, MPI_INT, 4, 0, how);
                bcast_spelled(hz, root, 40000, 1, shifted, 4, 64, how);
            } else {
                bcast_spelled(hz, root, 40000, 4, large, 4, 0, how);
                bcast_spelled(hz, root, 40000, hz->rank % 2 ? 4 : 1, hz->rank % 2 ? large : shifted,
                              4, hz->rank % 2 ? 0 : 64, how);
            }
        }
    }
    MPI_Type_free(&large);
    MPI_Type_free(&shifted);
}

static void p70(struct hz_ctx *hz)
{
    MPI_Datatype ten = hz_ints_type(10);
    MPI_Datatype wide = wide_new();

    for (int ints = 1; ints <= 1 << 20; ints *= 4) {
        int used = ints < 10 ? ints : ints / 10 * 10;
        for (int root = 0; root < hz->size; root += hz->size - 1) {
            for (int mode = 0; mode < HZ_MODES; mode++) {
                enum hz_mode how = (enum hz_mode) mode;
                int spelling = (hz->rank - root + hz->size) % hz->size % 3;
                if (1 == spelling && used >= 10) {
                    bcast_spelled(hz, root, used, used / 10, ten, 4, 0, how);
                } else if (2 == spelling || 1 == spelling) {
                    bcast_spelled(hz, root, used, used, wide, 8, 0, how);
                } else {
                    bcast_spelled(hz, root, used, used, MPI_INT, 4, 0, how);
                }
            }
        }
    }
    MPI_Type_free(&ten);
    MPI_Type_free(&wide);
}

/* --- P18, P19: arguments of the root, arguments for nobody */

static void p18_count(struct hz_ctx *hz, int root, int pairs, enum hz_mode mode)
{
    MPI_Datatype pair = hz_ints_type(2);
    size_t block = 2 * (size_t) pairs;
    struct hz_buf in = hz_buf_new(block * (size_t) hz->size * sizeof(int));
    struct hz_buf out = hz_buf_new(block * sizeof(int));

    hz_fill_ints(hz_ints(&in), root, 0, block * (size_t) hz->size);
    for (int in_place = 0; in_place < 2; in_place++) {
        memset(out.data, HZ_FILLER, out.size);
        if (root != hz->rank) {
            HZ_CALL(mode, Scatter, scatter,
                    (NULL, 0, MPI_DATATYPE_NULL, out.data, 2 * pairs, MPI_INT, root),
                    MPI_COMM_WORLD);
        } else if (0 == in_place) {
            HZ_CALL(mode, Scatter, scatter,
                    (in.data, 2 * pairs, MPI_INT, out.data, pairs, pair, root), MPI_COMM_WORLD);
        } else {
            HZ_CALL(mode, Scatter, scatter,
                    (in.data, pairs, pair, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root),
                    MPI_COMM_WORLD);
        }
        if (root != hz->rank || 0 == in_place) {
            hz_check_ints(hz, hz_ints(&out), root, block * (size_t) hz->rank, block, "scatter");
        }
    }
    hz_check_ints(hz, hz_ints(&in), root, 0, block * (size_t) hz->size, "input of scatter");
    hz_buf_end(hz, &in, "scatter input");
    hz_buf_end(hz, &out, "scatter result");
    MPI_Type_free(&pair);
}

static void p18(struct hz_ctx *hz)
{
    for (int root = 0; root < hz->size; root++) {
        for (int mode = 0; mode < HZ_MODES; mode++) {
            p18_count(hz, root, 1, (enum hz_mode) mode);
            p18_count(hz, root, 3000, (enum hz_mode) mode);
        }
    }
}

static void p19(struct hz_ctx *hz)
{
    enum { COUNT = 1000 };
    struct hz_buf one = hz_buf_new(COUNT * sizeof(int));
    struct hz_buf all = hz_buf_new(COUNT * (size_t) hz->size * sizeof(int));
    int *counts = malloc((size_t) hz->size * sizeof(int));
    int *displs = malloc((size_t) hz->size * sizeof(int));

    for (int r = 0; r < hz->size; r++) {
        counts[r] = COUNT;
        displs[r] = r * COUNT;
    }
    for (int root = 0; root < hz->size; root++) {
        bool at_root = root == hz->rank;
        MPI_Datatype type = at_root ? MPI_INT : MPI_DATATYPE_NULL;
        void *there = at_root ? all.data : NULL;
        int *where = at_root ? displs : NULL;
        int *sizes = at_root ? counts : NULL;
        int count = at_root ? COUNT : 0;
        for (int mode = 0; mode < HZ_MODES; mode++) {
            for (int form = 0; form < 2; form++) {
                memset(all.data, HZ_FILLER, all.size);
                hz_fill_ints(hz_ints(&one), hz->rank, 0, COUNT);
                if (0 == form) {
                    HZ_CALL(mode, Gather, gather,
                            (one.data, COUNT, MPI_INT, there, count, type, root), MPI_COMM_WORLD);
                } else {
                    HZ_CALL(mode, Gatherv, gatherv,
                            (one.data, COUNT, MPI_INT, there, sizes, where, type, root),
                            MPI_COMM_WORLD);
                }
                for (int r = 0; at_root && r < hz->size; r++) {
                    hz_check_ints(hz, hz_ints(&all) + r * COUNT, r, 0, COUNT, "gather(v)");
                }
                memset(one.data, HZ_FILLER, one.size);
                if (0 == form) {
                    HZ_CALL(mode, Scatter, scatter,
                            (there, count, type, one.data, COUNT, MPI_INT, root), MPI_COMM_WORLD);
                } else {
                    HZ_CALL(mode, Scatterv, scatterv,
                            (there, sizes, where, type, one.data, COUNT, MPI_INT, root),
                            MPI_COMM_WORLD);
                }
                hz_check_ints(hz, hz_ints(&one), hz->rank, 0, COUNT, "scatter(v)");
            }
        }
    }
    hz_buf_end(hz, &one, "block");
    hz_buf_end(hz, &all, "blocks");
    free(counts);
    free(displs);
}

int main(int argc, char **argv)
{
    static const struct hz_test tests[] = {
        {"P17", 2, p17}, {"P18", 2, p18}, {"P19", 2, p19}, {"P70", 2, p70}, {NULL, 0, NULL},
    };

    return hz_main(argc, argv, MPI_THREAD_SINGLE, tests);
}
