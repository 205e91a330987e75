/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hazard_order.c: P11..P14, order and reproducibility of reductions: all ranks hold the same bits,
 * operations that do not commute are applied in rank order.
 */
#include "hazard.h"

#include <math.h>

/* --- P11: doubles of mixed magnitude */

static double mixed(int rank, size_t i)
{
    uint32_t state = (uint32_t) (rank * 7919 + (int) (i % 65521) * 31 + 1);
    double value = (double) hz_random(&state) / 3.0;

    value = ldexp(value, (int) (hz_random(&state) % 60) - 30);
    return 0 == hz_random(&state) % 2 ? value : -value;
}

/* Rank 0 compares the bytes of every rank with its own and with the bytes of the first round.
 * The standard does not ask for the same bits from different modes. */
static void same_bits(struct hz_ctx *hz, const double *sums, double *first, size_t count, int round,
                      const char *mode)
{
    double *other;

    if (0 != hz->rank) {
        MPI_Send(sums, (int) count, MPI_DOUBLE, 0, 11, MPI_COMM_WORLD);
        return;
    }
    if (0 == round) {
        memcpy(first, sums, count * sizeof(double));
    }
    HZ_CHECK(hz, 0 == memcmp(first, sums, count * sizeof(double)),
             "%s, %zu doubles: the second call gives other bits", mode, count);
    other = malloc(count * sizeof(double));
    for (int r = 1; r < hz->size; r++) {
        MPI_Recv(other, (int) count, MPI_DOUBLE, r, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        HZ_CHECK(hz, 0 == memcmp(other, sums, count * sizeof(double)),
                 "%s, %zu doubles: rank %d holds other bits", mode, count, r);
    }
    free(other);
}

static void p11(struct hz_ctx *hz)
{
    size_t segment = hz->segment / sizeof(double);
    size_t counts[] = {
        1,     2, 3, 7, 16, 100, 1000, 1024, 4099, 10000, segment, segment + 1, 3 * segment + 1,
        200003};

    for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
        size_t count = counts[c];
        struct hz_buf in = hz_buf_new(count * sizeof(double));
        struct hz_buf out = hz_buf_new(count * sizeof(double));
        double *mine = (double *) (void *) in.data;
        double *sums = (double *) (void *) out.data;
        double *first = malloc(count * sizeof(double));
        for (size_t i = 0; i < count; i++) {
            mine[i] = mixed(hz->rank, i);
        }
        for (int call = 0; call < 2 * HZ_MODES; call++) {
            HZ_CALL(call / 2, Allreduce, allreduce, (mine, sums, (int) count, MPI_DOUBLE, MPI_SUM),
                    MPI_COMM_WORLD);
            same_bits(hz, sums, first, count, call % 2, hz_mode_name[call / 2]);
        }
        for (size_t i = 0; i < count; i++) {
            long double exact = 0.0L;
            double scale = 0.0;
            for (int r = 0; r < hz->size; r++) {
                exact += (long double) mixed(r, i);
                scale += fabs(mixed(r, i));
            }
            HZ_CHECK(hz, fabs((double) (exact - (long double) sums[i])) <= 2e-16 * hz->size * scale,
                     "%zu doubles: sum %zu is %g, not %Lg", count, i, sums[i], exact);
        }
        free(first);
        hz_buf_end(hz, &in, "allreduce input");
        hz_buf_end(hz, &out, "allreduce result");
    }
}

/* --- P12, P14: products of 2x2 matrices of unsigned integers, which do not commute */

/* Where the four words of a matrix lie: after `lead` bytes, matrices `extent` bytes apart. */
struct shape {
    int lead;
    int extent;
    MPI_Datatype type;
};

static const struct shape *op_shape; /* what the running operation's type looks like */

static void multiply(const uint32_t *a, const uint32_t *b, uint32_t *out)
{
    uint32_t product[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                           a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};

    memcpy(out, product, sizeof(product));
}

static void multiply_all(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void) type;
    for (ptrdiff_t i = 0; i < *count; i++) {
        uint32_t a[4], b[4];
        unsigned char *at = (unsigned char *) inout + i * op_shape->extent + op_shape->lead;
        memcpy(a, (unsigned char *) in + i * op_shape->extent + op_shape->lead, sizeof(a));
        memcpy(b, at, sizeof(b));
        multiply(a, b, b);
        memcpy(at, b, sizeof(b));
    }
}

static void matrix(int rank, size_t i, uint32_t *out)
{
    for (int e = 0; e < 4; e++) {
        out[e] = (uint32_t) hz_value(rank + 1, 4 * i + (size_t) e) + (0 == e % 3 ? 1u : 0u);
    }
}

static struct shape shape_new(int lead, int extent)
{
    struct shape s = {.lead = lead, .extent = extent};
    int length = 4;
    MPI_Aint at = lead;
    MPI_Datatype block;

    MPI_Type_create_hindexed(1, &length, &at, MPI_UINT32_T, &block);
    MPI_Type_create_resized(block, lead, extent, &s.type);
    MPI_Type_commit(&s.type);
    MPI_Type_free(&block);
    return s;
}

static struct hz_buf matrices(const struct shape *s, int rank, size_t count, unsigned char **origin)
{
    struct hz_buf buf = hz_buf_new(count * (size_t) s->extent);

    *origin = buf.data - s->lead; /* the type's lower bound is its lead, which may be negative */
    for (size_t i = 0; rank >= 0 && i < count; i++) {
        uint32_t m[4];
        matrix(rank, i, m);
        memcpy(buf.data + i * (size_t) s->extent, m, sizeof(m));
    }
    return buf;
}

static void check_product(struct hz_ctx *hz, const struct shape *s, const struct hz_buf *buf,
                          int size, size_t count, const char *what)
{
    for (size_t i = 0; i < count && !hz->failed; i++) {
        uint32_t want[4], next[4];
        const unsigned char *at = buf->data + i * (size_t) s->extent;
        matrix(0, i, want);
        for (int r = 1; r < size; r++) {
            matrix(r, i, next);
            multiply(want, next, want);
        }
        HZ_CHECK(hz, 0 == memcmp(at, want, sizeof(want)),
                 "%s, %d ranks, lead %d: product %zu of %zu is wrong", what, size, s->lead, i,
                 count);
        for (int hole = 16; hole < s->extent; hole++) {
            HZ_CHECK(hz, HZ_FILLER == at[hole], "%s, lead %d: hole behind element %zu written",
                     what, s->lead, i);
        }
    }
}

/* root < 0: allreduce; count matrices over comm. */
static void reduce_matrices(struct hz_ctx *hz, const struct shape *s, MPI_Op op, MPI_Comm comm,
                            int root, size_t count, enum hz_mode mode)
{
    int rank, size;
    unsigned char *in_at, *out_at;
    struct hz_buf in, out;
    const char *what = root < 0 ? "allreduce" : "reduce";

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    op_shape = s;
    in = matrices(s, rank, count, &in_at);
    out = matrices(s, -1, count, &out_at);
    if (root < 0) {
        HZ_CALL(mode, Allreduce, allreduce, (in_at, out_at, (int) count, s->type, op), comm);
    } else {
        HZ_CALL(mode, Reduce, reduce, (in_at, out_at, (int) count, s->type, op, root), comm);
    }
    if (root < 0 || root == rank) {
        check_product(hz, s, &out, size, count, what);
    }
    hz_buf_end(hz, &in, what);
    hz_buf_end(hz, &out, what);
}

static void p12(struct hz_ctx *hz)
{
    struct shape shapes[3] = {shape_new(0, 16), shape_new(24, 32), shape_new(-20, 28)};
    MPI_Op op;

    MPI_Op_create(multiply_all, 0, &op);
    for (int s = 0; s < 3; s++) {
        for (int mode = 0; mode < HZ_MODES; mode++) {
            for (int root = -1; root < hz->size; root++) {
                reduce_matrices(hz, &shapes[s], op, MPI_COMM_WORLD, root, 1, (enum hz_mode) mode);
                reduce_matrices(hz, &shapes[s], op, MPI_COMM_WORLD, root, 5000,
                                (enum hz_mode) mode);
            }
        }
        MPI_Type_free(&shapes[s].type);
    }
    MPI_Op_free(&op);
}

static void p14(struct hz_ctx *hz)
{
    struct shape plain = shape_new(0, 16);
    MPI_Op op;

    MPI_Op_create(multiply_all, 0, &op);
    for (int size = 2; size <= hz->size; size++) {
        MPI_Comm comm = hz_first_ranks(hz, size);
        if (MPI_COMM_NULL == comm) {
            continue;
        }
        for (int mode = 0; mode < HZ_MODES; mode++) {
            reduce_matrices(hz, &plain, op, comm, -1, 1, (enum hz_mode) mode);
            reduce_matrices(hz, &plain, op, comm, -1, 3 * hz->segment / 16 + 1,
                            (enum hz_mode) mode);
        }
        MPI_Comm_free(&comm);
    }
    MPI_Type_free(&plain.type);
    MPI_Op_free(&op);
}

/* --- P13: runs of ranks joined in the order of arrival */

/* The run of ranks first..last; broken when two runs that do not touch were joined. */
struct run {
    int first, last, broken;
};

static void join(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const struct run *left = in;
    struct run *right = inout;

    (void) type;
    for (int i = 0; i < *count; i++) {
        right[i].broken = left[i].broken || right[i].broken || left[i].last + 1 != right[i].first;
        right[i].first = left[i].first;
    }
}

static void p13(struct hz_ctx *hz)
{
    enum { COUNT = 17 };
    uint32_t random = (uint32_t) hz->rank * 99991u + 5u;
    struct run mine[COUNT], joined[COUNT];
    MPI_Datatype type;
    MPI_Op op;

    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(join, 0, &op);
    for (int round = 0; round < 30; round++) {
        int root = round % hz->size;
        for (int i = 0; i < COUNT; i++) {
            mine[i] = (struct run){hz->rank, hz->rank, 0};
            joined[i] = (struct run){-1, -1, 1};
        }
        hz_sleep_us((long) (hz_random(&random) % 4000));
        HZ_CALL(round % HZ_MODES, Reduce, reduce, (mine, joined, COUNT, type, op, root),
                MPI_COMM_WORLD);
        for (int i = 0; root == hz->rank && i < COUNT; i++) {
            HZ_CHECK(hz,
                     0 == joined[i].first && hz->size - 1 == joined[i].last && !joined[i].broken,
                     "round %d root %d: element %d is run %d..%d%s", round, root, i,
                     joined[i].first, joined[i].last, joined[i].broken ? ", broken" : "");
        }
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    static const struct hz_test tests[] = {
        {"P11", 2, p11}, {"P12", 2, p12}, {"P13", 2, p13}, {"P14", 2, p14}, {NULL, 0, NULL},
    };

    return hz_main(argc, argv, MPI_THREAD_SINGLE, tests);
}
