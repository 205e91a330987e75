/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hazard_large.c: P27..P31, offsets and totals beyond INT_MAX. P27, P30 and P31 spread few elements
 * over untouched address space; P28 and P29 need gigabytes of memory and are run only where there
 * are some.
 */
#include "hazard.h"

#include <sys/mman.h>

#define GIB ((size_t) 1 << 30)
/* Between two elements: with four of them an offset passes 4 GiB, with two it passes INT_MAX. */
#define STEP ((size_t) 1400 << 20)

static unsigned char *space_new(size_t bytes)
{
    void *space = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (MAP_FAILED == space) {
        fprintf(stderr, "hazard_large: no address space of %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return space;
}

/* One int every STEP bytes. */
static MPI_Datatype sparse_new(void)
{
    MPI_Datatype type;

    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint) STEP, &type);
    MPI_Type_commit(&type);
    return type;
}

static int *sparse_at(unsigned char *space, size_t i)
{
    return (int *) (void *) (space + i * STEP);
}

static void p27(struct hz_ctx *hz)
{
    size_t n = (size_t) hz->size;
    unsigned char *space = space_new(n * STEP);
    MPI_Datatype sparse = sparse_new();

    for (int mode = 0; mode < HZ_MODES; mode++) {
        int mine = 1000 * mode + hz->rank;
        for (size_t r = 0; r < n; r++) {
            *sparse_at(space, r) = -1;
        }
        HZ_CALL(mode, Allgather, allgather, (&mine, 1, MPI_INT, space, 1, sparse), MPI_COMM_WORLD);
        for (size_t r = 0; r < n; r++) {
            HZ_CHECK(hz, 1000 * mode + (int) r == *sparse_at(space, r),
                     "%s allgather: block %zu is %d", hz_mode_name[mode], r, *sparse_at(space, r));
        }
    }
    for (int mode = 0; mode < HZ_MODES; mode++) {
        int received[64];
        for (size_t r = 0; r < n; r++) {
            *sparse_at(space, r) = 100 * hz->rank + (int) r;
        }
        HZ_CALL(mode, Alltoall, alltoall, (space, 1, sparse, received, 1, MPI_INT), MPI_COMM_WORLD);
        for (size_t r = 0; r < n; r++) {
            HZ_CHECK(hz, 100 * (int) r + hz->rank == received[r], "%s alltoall: block %zu is %d",
                     hz_mode_name[mode], r, received[r]);
        }
    }
    MPI_Type_free(&sparse);
    munmap(space, n * STEP);
}

static void add_sparse(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void) type;
    for (size_t i = 0; i < (size_t) *count; i++) {
        *sparse_at(inout, i) += *sparse_at(in, i);
    }
}

/* A reduction over a type with a huge extent: the lengths of scratch and copies pass INT_MAX. */
static void p27_reduce(struct hz_ctx *hz)
{
    enum { COUNT = 3 };
    unsigned char *in = space_new(COUNT * STEP);
    unsigned char *out = space_new(COUNT * STEP);
    MPI_Datatype sparse = sparse_new();
    MPI_Op op;

    MPI_Op_create(add_sparse, 1, &op);
    for (int mode = 0; mode < HZ_MODES; mode++) {
        for (size_t i = 0; i < COUNT; i++) {
            *sparse_at(in, i) = hz_value(hz->rank, i);
            *sparse_at(out, i) = -1;
        }
        HZ_CALL(mode, Allreduce, allreduce, (in, out, COUNT, sparse, op), MPI_COMM_WORLD);
        for (size_t i = 0; i < COUNT; i++) {
            HZ_CHECK(hz, hz_sum(hz->size, i) == *sparse_at(out, i),
                     "%s allreduce: sum %zu is %d, not %d", hz_mode_name[mode], i,
                     *sparse_at(out, i), hz_sum(hz->size, i));
        }
    }
    MPI_Op_free(&op);
    MPI_Type_free(&sparse);
    munmap(in, COUNT * STEP);
    munmap(out, COUNT * STEP);
}

static void p30(struct hz_ctx *hz)
{
    size_t n = (size_t) hz->size;
    unsigned char *space = space_new(n * STEP);
    MPI_Datatype sparse = sparse_new();

    for (int root = 0; root < hz->size; root++) {
        for (int mode = 0; mode < HZ_MODES; mode++) {
            int mine = 1000 * root + hz->rank;
            int back = -1;
            for (size_t r = 0; r < n; r++) {
                *sparse_at(space, r) = -1;
            }
            HZ_CALL(mode, Gather, gather, (&mine, 1, MPI_INT, space, 1, sparse, root),
                    MPI_COMM_WORLD);
            for (size_t r = 0; root == hz->rank && r < n; r++) {
                HZ_CHECK(hz, 1000 * root + (int) r == *sparse_at(space, r),
                         "%s gather: block %zu is %d", hz_mode_name[mode], r, *sparse_at(space, r));
            }
            HZ_CALL(mode, Scatter, scatter, (space, 1, sparse, &back, 1, MPI_INT, root),
                    MPI_COMM_WORLD);
            HZ_CHECK(hz, mine == back, "%s scatter: rank %d got %d", hz_mode_name[mode], hz->rank,
                     back);
        }
    }
    MPI_Type_free(&sparse);
    munmap(space, n * STEP);
}

/* Allgather, gather and scatter between a group of one and the others. */
static void p31(struct hz_ctx *hz)
{
    bool low = 0 == hz->rank;
    MPI_Comm local;
    MPI_Comm inter = hz_inter(hz, 1, &local);
    size_t others = low ? (size_t) hz->size - 1 : 1;
    int first = low ? 1 : 0;
    unsigned char *space = space_new(others * STEP);
    MPI_Datatype sparse = sparse_new();

    for (int mode = 0; mode < HZ_MODES; mode++) {
        int mine = 1000 * mode + hz->rank;
        int got = -1;
        int root = low ? MPI_ROOT : 0;
        memset(space, 0, sizeof(int));
        HZ_CALL(mode, Allgather, allgather, (&mine, 1, MPI_INT, space, 1, sparse), inter);
        for (size_t r = 0; r < others; r++) {
            HZ_CHECK(hz, 1000 * mode + (int) r + first == *sparse_at(space, r),
                     "%s allgather: block %zu is %d", hz_mode_name[mode], r, *sparse_at(space, r));
            *sparse_at(space, r) = -1;
        }
        HZ_CALL(mode, Gather, gather, (&mine, 1, MPI_INT, space, 1, sparse, root), inter);
        for (size_t r = 0; low && r < others; r++) {
            HZ_CHECK(hz, 1000 * mode + (int) r + first == *sparse_at(space, r),
                     "%s gather: block %zu is %d", hz_mode_name[mode], r, *sparse_at(space, r));
        }
        HZ_CALL(mode, Scatter, scatter, (space, 1, sparse, &got, 1, MPI_INT, root), inter);
        HZ_CHECK(hz, low || mine == got, "%s scatter: rank %d got %d", hz_mode_name[mode], hz->rank,
                 got);
    }
    MPI_Type_free(&sparse);
    munmap(space, others * STEP);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}

/* Memory that the system says is available, in bytes; 0 when it does not say. */
static size_t available(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    size_t kib = 0;

    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        if (1 == sscanf(line, "MemAvailable: %zu", &kib)) {
            break;
        }
    }
    if (NULL != file) {
        fclose(file);
    }
    return 1024 * kib;
}

/* Rank 0 judges for all, so that all skip alike. */
static bool has_memory(struct hz_ctx *hz, size_t need)
{
    int enough = available() >= need;

    for (int r = 1; 0 == hz->rank && r < hz->size; r++) {
        MPI_Send(&enough, 1, MPI_INT, r, 28, MPI_COMM_WORLD);
    }
    if (0 != hz->rank) {
        MPI_Recv(&enough, 1, MPI_INT, 0, 28, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!enough) {
        hz_skip(hz, "%zu GiB of memory are not free", need / GIB);
    }
    return enough;
}

static void p28(struct hz_ctx *hz)
{
    size_t block = 800000000;
    size_t total = block * (size_t) hz->size;
    int *counts;
    unsigned char *in, *out;

    if (!has_memory(hz, 20 * GIB)) {
        return;
    }
    counts = malloc((size_t) hz->size * sizeof(int));
    for (int r = 0; r < hz->size; r++) {
        counts[r] = (int) block;
    }
    in = space_new(total); /* zero, but for one byte in 4 KiB */
    out = space_new(block);
    for (size_t i = 0; i < total; i += 4096) {
        in[i] = (unsigned char) (1 << hz->rank);
    }
    MPI_Reduce_scatter(in, out, counts, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    for (size_t i = 0; i < block; i++) {
        int want = 0 == ((size_t) hz->rank * block + i) % 4096 ? (1 << hz->size) - 1 : 0;
        if (want != out[i]) {
            hz_fail(hz, "byte %zu is %d, not %d", i, out[i], want);
            break;
        }
    }
    munmap(in, total);
    munmap(out, block);
    free(counts);
}

static void p29(struct hz_ctx *hz)
{
    size_t count = ((size_t) 1 << 29) + 1;
    int *data;

    if (!has_memory(hz, 12 * GIB)) {
        return;
    }
    data = (int *) (void *) space_new(count * sizeof(int));
    for (size_t i = 0; 0 == hz->rank && i < count; i++) {
        data[i] = (int) (i * 2654435761u);
    }
    MPI_Bcast(data, (int) count, MPI_INT, 0, MPI_COMM_WORLD);
    for (size_t i = 0; i < count; i++) {
        if ((int) (i * 2654435761u) != data[i]) {
            hz_fail(hz, "int %zu is %d", i, data[i]);
            break;
        }
    }
    munmap(data, count * sizeof(int));
}

int main(int argc, char **argv)
{
    static const struct hz_test tests[] = {
        {"P27", 2, p27}, {"P27b", 2, p27_reduce}, {"P28", 3, p28}, {"P29", 2, p29},
        {"P30", 2, p30}, {"P31", 2, p31},         {NULL, 0, NULL},
    };

    return hz_main(argc, argv, MPI_THREAD_SINGLE, tests);
}
