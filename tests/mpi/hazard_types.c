/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hazard_types.c: P15, P16, P20 and P21, derived datatypes: lower bounds, holes, alignment.
 */
#include "hazard.h"

/* --- P15: one int 12 bytes behind or 16 bytes before the origin */

static int op_at; /* where the int of the running operation's type lies */

static void add_shifted(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void) type;
    for (ptrdiff_t i = 0; i < *count; i++) {
        *(int *) (void *) ((char *) inout + op_at + 4 * i) +=
            *(int *) (void *) ((char *) in + op_at + 4 * i);
    }
}

static void p15_at(struct hz_ctx *hz, int at, int count, enum hz_mode mode)
{
    int one = 1;
    MPI_Aint where = at;
    MPI_Datatype type;
    MPI_Op op;
    struct hz_buf in = hz_buf_new((size_t) count * sizeof(int));
    struct hz_buf out = hz_buf_new((size_t) count * sizeof(int));
    unsigned char *in_at = in.data - at;
    unsigned char *out_at = out.data - at;

    op_at = at;
    MPI_Type_create_hindexed(1, &one, &where, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(add_shifted, 1, &op);
    hz_fill_ints(hz_ints(&in), hz->rank, 0, (size_t) count);
    HZ_CALL(mode, Allreduce, allreduce, (in_at, out_at, count, type, op), MPI_COMM_WORLD);
    hz_check_sums(hz, hz_ints(&out), hz->size, (size_t) count, "allreduce");
    for (int root = 0; root < hz->size; root++) {
        memset(out.data, HZ_FILLER, out.size);
        HZ_CALL(mode, Reduce, reduce, (in_at, out_at, count, type, op, root), MPI_COMM_WORLD);
        if (root == hz->rank) {
            hz_check_sums(hz, hz_ints(&out), hz->size, (size_t) count, "reduce");
        }
    }
    HZ_CALL(mode, Scan, scan, (in_at, out_at, count, type, op), MPI_COMM_WORLD);
    hz_check_sums(hz, hz_ints(&out), hz->rank + 1, (size_t) count, "scan");
    HZ_CALL(mode, Exscan, exscan, (in_at, out_at, count, type, op), MPI_COMM_WORLD);
    if (0 < hz->rank) {
        hz_check_sums(hz, hz_ints(&out), hz->rank, (size_t) count, "exscan");
    }
    hz_buf_end(hz, &in, "input of the reductions");
    hz_buf_end(hz, &out, "result of the reductions");
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

/* The same for the two reductions whose input is n blocks. */
static void p15_scattered(struct hz_ctx *hz, int at, int count, enum hz_mode mode)
{
    int one = 1;
    MPI_Aint where = at;
    MPI_Datatype type;
    MPI_Op op;
    size_t all = (size_t) count * (size_t) hz->size;
    int *counts = malloc((size_t) hz->size * sizeof(int));
    struct hz_buf in = hz_buf_new(all * sizeof(int));
    struct hz_buf out = hz_buf_new((size_t) count * sizeof(int));

    op_at = at;
    MPI_Type_create_hindexed(1, &one, &where, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(add_shifted, 1, &op);
    hz_fill_ints(hz_ints(&in), hz->rank, 0, all);
    for (int r = 0; r < hz->size; r++) {
        counts[r] = count;
    }
    for (int form = 0; form < 2; form++) {
        memset(out.data, HZ_FILLER, out.size);
        if (0 == form) {
            HZ_CALL(mode, Reduce_scatter_block, reduce_scatter_block,
                    (in.data - at, out.data - at, count, type, op), MPI_COMM_WORLD);
        } else {
            HZ_CALL(mode, Reduce_scatter, reduce_scatter,
                    (in.data - at, out.data - at, counts, type, op), MPI_COMM_WORLD);
        }
        for (int i = 0; i < count; i++) {
            int want = hz_sum(hz->size, (size_t) (hz->rank * count + i));
            HZ_CHECK(hz, want == hz_ints(&out)[i], "reduce_scatter%s: element %d is %d, not %d",
                     0 == form ? "_block" : "", i, hz_ints(&out)[i], want);
        }
    }
    hz_buf_end(hz, &in, "input of reduce_scatter");
    hz_buf_end(hz, &out, "result of reduce_scatter");
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    free(counts);
}

static void p15(struct hz_ctx *hz)
{
    static const int places[2] = {12, -16};
    int counts[2] = {3, (int) (3 * hz->segment / sizeof(int))};

    for (int p = 0; p < 2; p++) {
        for (int c = 0; c < 2; c++) {
            for (int mode = 0; mode < HZ_MODES; mode++) {
                p15_at(hz, places[p], counts[c], (enum hz_mode) mode);
                p15_scattered(hz, places[p], counts[c], (enum hz_mode) mode);
            }
        }
    }
}

/* --- P16: gatherv and scatterv of a type with holes */

/* 3 blocks of 2 ints, 4 ints apart, 12 ints long. */
#define HOLES_INTS 12

static MPI_Datatype holes_new(void)
{
    MPI_Datatype vector, type;

    MPI_Type_vector(3, 2, 4, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, HOLES_INTS * (MPI_Aint) sizeof(int), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&vector);
    return type;
}

/* Position i of an element with holes: its number among the data ints, or -1 for a hole. */
static int holes_place(int i)
{
    return i % 4 < 2 ? i / 4 * 2 + i % 4 : -1;
}

static void holes_fill(int *at, int rank, int elements)
{
    for (int i = 0; i < elements * HOLES_INTS; i++) {
        int place = holes_place(i % HOLES_INTS);
        if (0 <= place) {
            at[i] = hz_value(rank, (size_t) (i / HOLES_INTS * 6 + place));
        }
    }
}

static void holes_check(struct hz_ctx *hz, const int *at, int rank, int elements, const char *what)
{
    int filler;

    memset(&filler, HZ_FILLER, sizeof(filler));
    for (int i = 0; i < elements * HOLES_INTS; i++) {
        int place = holes_place(i % HOLES_INTS);
        int want = place < 0 ? filler : hz_value(rank, (size_t) (i / HOLES_INTS * 6 + place));
        HZ_CHECK(hz, want == at[i], "%s: int %d of rank %d is %d, not %d%s", what, i, rank, at[i],
                 want, place < 0 ? " (a hole)" : "");
    }
}

static void p16_root(struct hz_ctx *hz, MPI_Datatype type, int root, enum hz_mode mode)
{
    int n = hz->size;
    int *counts = malloc((size_t) n * sizeof(int));
    int *displs = malloc((size_t) n * sizeof(int));
    int at = 0;
    struct hz_buf one, all;

    for (int r = n - 1; r >= 0; r--) {
        counts[r] = 1 + r % 3 * 2;
        displs[r] = at + 1;
        at += counts[r] + 1;
    }
    one = hz_buf_new((size_t) counts[hz->rank] * HOLES_INTS * sizeof(int));
    all = hz_buf_new((size_t) at * HOLES_INTS * sizeof(int));
    holes_fill(hz_ints(&one), hz->rank, counts[hz->rank]);
    HZ_CALL(mode, Gatherv, gatherv,
            (one.data, counts[hz->rank], type, all.data, counts, displs, type, root),
            MPI_COMM_WORLD);
    for (int r = 0; root == hz->rank && r < n; r++) {
        holes_check(hz, hz_ints(&all) + displs[r] * HOLES_INTS, r, counts[r], "gatherv");
    }
    memset(all.data, HZ_FILLER, all.size);
    memset(one.data, HZ_FILLER, one.size);
    for (int r = 0; r < n; r++) {
        holes_fill(hz_ints(&all) + displs[r] * HOLES_INTS, root == hz->rank ? r : r + 50,
                   counts[r]);
    }
    HZ_CALL(mode, Scatterv, scatterv,
            (all.data, counts, displs, type, one.data, counts[hz->rank], type, root),
            MPI_COMM_WORLD);
    holes_check(hz, hz_ints(&one), hz->rank, counts[hz->rank], "scatterv");
    hz_buf_end(hz, &one, "one block");
    hz_buf_end(hz, &all, "all blocks");
    free(counts);
    free(displs);
}

static void p16(struct hz_ctx *hz)
{
    MPI_Datatype type = holes_new();

    for (int root = 0; root < hz->size; root++) {
        for (int mode = 0; mode < HZ_MODES; mode++) {
            p16_root(hz, type, root, (enum hz_mode) mode);
        }
    }
    MPI_Type_free(&type);
}

/* --- P20: other types on the two sides of an alltoall */

static void p20(struct hz_ctx *hz)
{
    MPI_Datatype holes = holes_new();
    size_t n = (size_t) hz->size;
    struct hz_buf wide = hz_buf_new(n * HOLES_INTS * sizeof(int));
    struct hz_buf plain = hz_buf_new(n * 6 * sizeof(int));

    for (int mode = 0; mode < HZ_MODES; mode++) {
        memset(wide.data, HZ_FILLER, wide.size);
        holes_fill(hz_ints(&wide), hz->rank, hz->size);
        HZ_CALL(mode, Alltoall, alltoall, (wide.data, 1, holes, plain.data, 6, MPI_INT),
                MPI_COMM_WORLD);
        for (size_t r = 0; r < n; r++) {
            hz_check_ints(hz, hz_ints(&plain) + 6 * r, (int) r, 6 * (size_t) hz->rank, 6,
                          "alltoall to plain ints");
        }
        /* And back: every block returns to where it came from. */
        memset(wide.data, HZ_FILLER, wide.size);
        HZ_CALL(mode, Alltoall, alltoall, (plain.data, 6, MPI_INT, wide.data, 1, holes),
                MPI_COMM_WORLD);
        holes_check(hz, hz_ints(&wide), hz->rank, hz->size, "alltoall back to holes");
        memset(plain.data, HZ_FILLER, plain.size);
        HZ_CALL(mode, Allgather, allgather, (wide.data, 1, holes, plain.data, 6, MPI_INT),
                MPI_COMM_WORLD);
        for (size_t r = 0; r < n; r++) {
            hz_check_ints(hz, hz_ints(&plain) + 6 * r, (int) r, 0, 6, "allgather to plain ints");
        }
    }
    MPI_Type_free(&holes);
    hz_buf_end(hz, &wide, "blocks with holes");
    hz_buf_end(hz, &plain, "plain blocks");
}

/* --- P21: operands of operations stay aligned */

/* What a user operation on vector types would load with aligned instructions. */
struct aligned {
    _Alignas(16) int32_t value[4];
};

static bool op_misaligned;

static void add_aligned(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const struct aligned *a = in;
    struct aligned *b = inout;

    (void) type;
    if (0 != (uintptr_t) in % _Alignof(struct aligned)
        || 0 != (uintptr_t) inout % _Alignof(struct aligned)) {
        op_misaligned = true;
        return;
    }
    for (int i = 0; i < *count; i++) {
        for (int e = 0; e < 4; e++) {
            b[i].value[e] += a[i].value[e];
        }
    }
}

static void p21_struct(struct hz_ctx *hz, int count, enum hz_mode mode)
{
    MPI_Datatype type = hz_ints_type(4);
    MPI_Op op;
    size_t ints = 4 * (size_t) count;
    struct hz_buf in = hz_buf_new(ints * sizeof(int));
    struct hz_buf out = hz_buf_new(ints * sizeof(int));

    MPI_Op_create(add_aligned, 1, &op);
    hz_fill_ints(hz_ints(&in), hz->rank, 0, ints);
    for (int root = 0; root < hz->size; root++) {
        HZ_CALL(mode, Reduce, reduce, (in.data, out.data, count, type, op, root), MPI_COMM_WORLD);
        if (root == hz->rank && !op_misaligned) {
            hz_check_sums(hz, hz_ints(&out), hz->size, ints, "reduce of aligned structs");
        }
    }
    HZ_CALL(mode, Allreduce, allreduce, (in.data, out.data, count, type, op), MPI_COMM_WORLD);
    HZ_CHECK(hz, !op_misaligned, "%s, %d elements: the operation got a misaligned operand",
             hz_mode_name[mode], count);
    hz_buf_end(hz, &in, "input");
    hz_buf_end(hz, &out, "result");
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

static void p21_long_double(struct hz_ctx *hz, int count, enum hz_mode mode)
{
    struct hz_buf in = hz_buf_new((size_t) count * sizeof(long double));
    struct hz_buf out = hz_buf_new((size_t) count * sizeof(long double));
    long double *mine = (long double *) (void *) in.data;
    long double *sums = (long double *) (void *) out.data;

    for (int i = 0; i < count; i++) {
        mine[i] = hz_value(hz->rank, (size_t) i);
    }
    for (int root = 0; root < hz->size; root++) {
        HZ_CALL(mode, Reduce, reduce, (mine, sums, count, MPI_LONG_DOUBLE, MPI_SUM, root),
                MPI_COMM_WORLD);
        for (int i = 0; root == hz->rank && i < count; i++) {
            HZ_CHECK(hz, hz_sum(hz->size, (size_t) i) == (int) sums[i], "long double %d is %Lg", i,
                     sums[i]);
        }
    }
    hz_buf_end(hz, &in, "input");
    hz_buf_end(hz, &out, "result");
}

static void p21(struct hz_ctx *hz)
{
    static const int counts[] = {1, 3, 7, 1001};

    for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
        for (int mode = 0; mode < HZ_MODES; mode++) {
            p21_struct(hz, counts[c], (enum hz_mode) mode);
            p21_long_double(hz, counts[c], (enum hz_mode) mode);
        }
    }
}

int main(int argc, char **argv)
{
    static const struct hz_test tests[] = {
        {"P15", 2, p15}, {"P16", 2, p16}, {"P20", 2, p20}, {"P21", 2, p21}, {NULL, 0, NULL},
    };

    return hz_main(argc, argv, MPI_THREAD_SINGLE, tests);
}
