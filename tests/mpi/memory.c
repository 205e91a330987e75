/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 1 gets no memory in the middle of an operation: of an allreduce with a user's op (fold), or of an allgatherv
 * of which a message takes blocks that do not lie side by side (stage). Who ends the operation without an error must
 * have the right result; each rank that has not says so. A job that ends before that is fine, one that hangs is not.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

enum { COUNT = 40000, GAP = 5 };

/* glibc's own entry point, for programs that replace the allocator. */
void *__libc_memalign(size_t alignment, size_t bytes);

/* What is refused: blocks of such sizes, of which there were so many. */
static size_t least = 1, most;
static int refused;

/* In the place of the C library's, for the component too: this program exports it. */
__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t bytes)
{
    if (bytes >= least && bytes <= most) {
        refused++;
        return NULL;
    }
    return __libc_memalign(alignment, bytes);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < *count; i++) {
        ((int *) inout)[i] += ((int *) in)[i];
    }
}

static int fold(int rank, int size, const int *mine, int *all, int *wrong)
{
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    /* Two portions of 16 KiB, and what the pool adds. */
    least = 32768;
    most = 1 == rank ? 34000 : 0;
    int rc = MPI_Allreduce(mine, all, COUNT, MPI_INT, op, MPI_COMM_WORLD);
    most = 0;
    MPI_Op_free(&op);
    for (int i = 0; i < COUNT; i++) {
        *wrong += all[i] != size * i + size * (size - 1) / 2;
    }
    return rc;
}

static int stage(int rank, int size, const int *mine, int *all, int *wrong)
{
    int *counts = calloc(2 * (size_t) size, sizeof(*counts));
    int *displs = counts + size;
    for (int i = 0; i < size; i++) {
        counts[i] = COUNT;
        displs[i] = i * (COUNT + GAP);
    }
    /* Two blocks. */
    least = 2 * COUNT * sizeof(int);
    most = 1 == rank ? SIZE_MAX : 0;
    int rc = MPI_Allgatherv(mine, COUNT, MPI_INT, all, counts, displs, MPI_INT, MPI_COMM_WORLD);
    most = 0;
    for (int i = 0; i < size * COUNT; i++) {
        *wrong += all[displs[i / COUNT] + i % COUNT] != i / COUNT + i % COUNT;
    }
    free(counts);
    return rc;
}

int main(int argc, char **argv)
{
    int rank, size, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *mine = calloc(COUNT, sizeof(*mine));
    int *all = calloc((size_t) size * (COUNT + GAP), sizeof(*all));
    for (int i = 0; i < COUNT; i++) {
        mine[i] = rank + i;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    bool folds = argc > 1 && 0 == strcmp("fold", argv[1]);
    int rc = folds ? fold(rank, size, mine, all, &wrong) : stage(rank, size, mine, all, &wrong);
    if (1 == rank) {
        printf("# memory: %d blocks were refused\n", refused);
    }
    if (MPI_SUCCESS == rc && wrong > 0) {
        printf("not right on rank %d: %d of the values, and no error\n", rank, wrong);
    }
    fflush(stdout);
    free(mine);
    free(all);
    MPI_Finalize();
    return 0;
}
