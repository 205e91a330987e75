/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hazard_inter.c: P47..P51, intercommunicators, neighbourhoods, persistent requests.
 */
#include "hazard.h"

/* Gatherv from the others to rank `root_rank` of the world, which is alone or the first in its
 * group. */
static void gatherv_to(struct hz_ctx *hz, MPI_Comm inter, bool receiving_group, int local_rank,
                       int remote_size, int first_remote, enum hz_mode mode)
{
    int root = !receiving_group ? 0 : (0 == local_rank ? MPI_ROOT : MPI_PROC_NULL);
    int own = 3 + hz->rank % 2;
    int *counts = malloc((size_t) remote_size * sizeof(int));
    int *displs = malloc((size_t) remote_size * sizeof(int));
    int total = 0;
    struct hz_buf in = hz_buf_new((size_t) own * sizeof(int));
    struct hz_buf out;

    for (int r = 0; r < remote_size; r++) {
        counts[r] = 3 + (first_remote + r) % 2;
        displs[r] = total;
        total += counts[r];
    }
    out = hz_buf_new((size_t) total * sizeof(int));
    hz_fill_ints(hz_ints(&in), hz->rank, 0, (size_t) own);
    HZ_CALL(mode, Gatherv, gatherv,
            (in.data, own, MPI_INT, out.data, counts, displs, MPI_INT, root), inter);
    for (int r = 0; MPI_ROOT == root && r < remote_size; r++) {
        hz_check_ints(hz, hz_ints(&out) + displs[r], first_remote + r, 0, (size_t) counts[r],
                      "gatherv");
    }
    hz_buf_end(hz, &in, "input");
    hz_buf_end(hz, &out, "result");
    free(counts);
    free(displs);
}

static void p47(struct hz_ctx *hz)
{
    for (int low = 1; low<hz->size; low += hz->size - 2> 0 ? hz->size - 2 : 1) {
        MPI_Comm local;
        MPI_Comm inter = hz_inter(hz, low, &local);
        bool is_low = hz->rank < low;
        int local_rank = is_low ? hz->rank : hz->rank - low;
        int remote_size = is_low ? hz->size - low : low;
        int first_remote = is_low ? low : 0;
        for (int mode = 0; mode < HZ_MODES; mode++) {
            gatherv_to(hz, inter, is_low, local_rank, remote_size, first_remote,
                       (enum hz_mode) mode);
            gatherv_to(hz, inter, !is_low, local_rank, remote_size, first_remote,
                       (enum hz_mode) mode);
        }
        MPI_Comm_free(&inter);
        MPI_Comm_free(&local);
    }
}

/* Reduce_scatter between groups of `low` and n - low, then a plain message of the same size
 * between the two first ranks: nothing of the collective may be left for it. */
static void p48_groups(struct hz_ctx *hz, int low, enum hz_mode mode)
{
    MPI_Comm local;
    MPI_Comm inter = hz_inter(hz, low, &local);
    bool is_low = hz->rank < low;
    int local_rank = is_low ? hz->rank : hz->rank - low;
    int local_size = is_low ? low : hz->size - low;
    int remote_size = hz->size - local_size;
    int first_remote = is_low ? low : 0;
    int unit = 40;
    int total = unit * low * (hz->size - low); /* both groups must scatter as much */
    int own = total / local_size;
    int *counts = malloc((size_t) local_size * sizeof(int));
    struct hz_buf in = hz_buf_new((size_t) total * sizeof(int));
    struct hz_buf out = hz_buf_new((size_t) own * sizeof(int));

    for (int r = 0; r < local_size; r++) {
        counts[r] = own;
    }
    hz_fill_ints(hz_ints(&in), hz->rank, 0, (size_t) total);
    HZ_CALL(mode, Reduce_scatter, reduce_scatter, (in.data, out.data, counts, MPI_INT, MPI_SUM),
            inter);
    for (int i = 0; i < own; i++) {
        int want = 0;
        for (int r = 0; r < remote_size; r++) {
            want += hz_value(first_remote + r, (size_t) (local_rank * own + i));
        }
        HZ_CHECK(hz, want == hz_ints(&out)[i], "%s, groups %d and %d: element %d is %d, not %d",
                 hz_mode_name[mode], low, hz->size - low, i, hz_ints(&out)[i], want);
    }
    if (0 == local_rank) {
        struct hz_buf got = hz_buf_new((size_t) total * sizeof(int));
        MPI_Status status;
        int length;
        MPI_Sendrecv(in.data, total, MPI_INT, 0, 1, got.data, total, MPI_INT, 0, MPI_ANY_TAG, inter,
                     &status);
        MPI_Get_count(&status, MPI_INT, &length);
        HZ_CHECK(hz, total == length && 1 == status.MPI_TAG,
                 "the message behind has %d ints and tag %d", length, status.MPI_TAG);
        hz_check_ints(hz, hz_ints(&got), first_remote, 0, (size_t) total,
                      "message behind reduce_scatter");
        hz_buf_end(hz, &got, "message");
    }
    hz_buf_end(hz, &in, "input");
    hz_buf_end(hz, &out, "result");
    free(counts);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}

static void p48(struct hz_ctx *hz)
{
    for (int mode = 0; mode < HZ_MODES; mode++) {
        for (int low = 1; low < hz->size; low++) {
            p48_groups(hz, low, (enum hz_mode) mode);
        }
    }
}

/* On a periodic grid the block that a rank sends to slot s arrives in slot s^1 of that
 * neighbour. */
static void p49_grid(struct hz_ctx *hz, int dimensions, const int *extents, enum hz_mode mode)
{
    enum { COUNT = 3 };
    static const int periodic[2] = {1, 1};
    int slots = 2 * dimensions;
    int neighbours[4];
    struct hz_buf in = hz_buf_new((size_t) slots * COUNT * sizeof(int));
    struct hz_buf out = hz_buf_new((size_t) slots * COUNT * sizeof(int));
    MPI_Comm grid;

    MPI_Cart_create(MPI_COMM_WORLD, dimensions, extents, periodic, 0, &grid);
    if (MPI_COMM_NULL != grid) {
        int rank;
        MPI_Comm_rank(grid, &rank);
        for (int d = 0; d < dimensions; d++) {
            MPI_Cart_shift(grid, d, 1, &neighbours[2 * d], &neighbours[2 * d + 1]);
        }
        hz_fill_ints(hz_ints(&in), rank, 0, (size_t) slots * COUNT);
        HZ_CALL(mode, Neighbor_alltoall, neighbor_alltoall,
                (in.data, COUNT, MPI_INT, out.data, COUNT, MPI_INT), grid);
        for (int s = 0; s < slots; s++) {
            for (int i = 0; i < COUNT; i++) {
                int want = hz_value(neighbours[s], (size_t) ((s ^ 1) * COUNT + i));
                HZ_CHECK(hz, want == hz_ints(&out)[s * COUNT + i],
                         "%s, grid %d x %d: slot %d is not slot %d of rank %d", hz_mode_name[mode],
                         extents[0], dimensions > 1 ? extents[1] : 1, s, s ^ 1, neighbours[s]);
            }
        }
        MPI_Comm_free(&grid);
    }
    hz_buf_end(hz, &in, "input");
    hz_buf_end(hz, &out, "result");
}

static void p49(struct hz_ctx *hz)
{
    int line[1] = {hz->size};
    int flat[2] = {1, hz->size};
    int two[2] = {2, hz->size / 2};
    int single[1] = {1};
    int pair[1] = {2};

    for (int mode = 0; mode < HZ_MODES; mode++) {
        p49_grid(hz, 1, line, (enum hz_mode) mode);
        p49_grid(hz, 2, flat, (enum hz_mode) mode);
        p49_grid(hz, 2, two, (enum hz_mode) mode);
        p49_grid(hz, 1, single, (enum hz_mode) mode);
        p49_grid(hz, 1, pair, (enum hz_mode) mode);
    }
}

/* Eight persistent collectives over one set of buffers, whose contents change before every
 * start. */
enum { P50_COUNT = 25, P50_KINDS = 8 };

static void p50_kind(struct hz_ctx *hz, int kind, int root)
{
    static const char *const names[P50_KINDS] = {"gather",    "allreduce", "allreduce in place",
                                                 "bcast",     "alltoall",  "scatter",
                                                 "allgather", "reduce"};
    size_t n = (size_t) hz->size;
    struct hz_buf in = hz_buf_new(n * P50_COUNT * sizeof(int));
    struct hz_buf out = hz_buf_new(n * P50_COUNT * sizeof(int));
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Info no = MPI_INFO_NULL;
    int c = P50_COUNT;

    switch (kind) {
    case 0:
        MPIX_Gather_init(in.data, c, MPI_INT, out.data, c, MPI_INT, root, comm, no, &request);
        break;
    case 1:
        MPIX_Allreduce_init(in.data, out.data, c, MPI_INT, MPI_SUM, comm, no, &request);
        break;
    case 2:
        MPIX_Allreduce_init(MPI_IN_PLACE, out.data, c, MPI_INT, MPI_SUM, comm, no, &request);
        break;
    case 3:
        MPIX_Bcast_init(out.data, c, MPI_INT, root, comm, no, &request);
        break;
    case 4:
        MPIX_Alltoall_init(in.data, c, MPI_INT, out.data, c, MPI_INT, comm, no, &request);
        break;
    case 5:
        MPIX_Scatter_init(in.data, c, MPI_INT, out.data, c, MPI_INT, root, comm, no, &request);
        break;
    case 6:
        MPIX_Allgather_init(in.data, c, MPI_INT, out.data, c, MPI_INT, comm, no, &request);
        break;
    default:
        MPIX_Reduce_init(in.data, out.data, c, MPI_INT, MPI_SUM, root, comm, no, &request);
        break;
    }
    for (int round = 0; round < 5; round++) {
        size_t first = 1000 * (size_t) round;
        const int *got = hz_ints(&out);
        hz_fill_ints(hz_ints(&in), hz->rank, first, n * P50_COUNT);
        memset(out.data, HZ_FILLER, out.size);
        if (2 == kind || (3 == kind && root == hz->rank)) {
            hz_fill_ints(hz_ints(&out), hz->rank, first, P50_COUNT);
        }
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if ((0 == kind && root == hz->rank) || 6 == kind) {
            for (size_t r = 0; r < n; r++) {
                hz_check_ints(hz, got + r * P50_COUNT, (int) r, first, P50_COUNT, names[kind]);
            }
        } else if (4 == kind) {
            for (size_t r = 0; r < n; r++) {
                hz_check_ints(hz, got + r * P50_COUNT, (int) r,
                              first + (size_t) hz->rank * P50_COUNT, P50_COUNT, names[kind]);
            }
        } else if (3 == kind) {
            hz_check_ints(hz, got, root, first, P50_COUNT, names[kind]);
        } else if (5 == kind) {
            hz_check_ints(hz, got, root, first + (size_t) hz->rank * P50_COUNT, P50_COUNT,
                          names[kind]);
        } else if (1 == kind || 2 == kind || root == hz->rank) {
            for (size_t i = 0; i < P50_COUNT; i++) {
                HZ_CHECK(hz, hz_sum(hz->size, first + i) == got[i],
                         "%s, round %d: element %zu is %d", names[kind], round, i, got[i]);
            }
        }
        HZ_CHECK(hz, MPI_REQUEST_NULL != request, "%s: the request is gone after round %d",
                 names[kind], round);
    }
    MPI_Request_free(&request);
    hz_buf_end(hz, &in, names[kind]);
    hz_buf_end(hz, &out, names[kind]);
}

static void p50(struct hz_ctx *hz)
{
    for (int kind = 0; kind < P50_KINDS; kind++) {
        p50_kind(hz, kind, 0);
        p50_kind(hz, kind, hz->size - 1);
    }
}

/* Two persistent collectives active at once, started together or one by one, completed in either
 * order. */
static void p51(struct hz_ctx *hz)
{
    enum { COUNT = 3000 };
    struct hz_buf in = hz_buf_new(COUNT * sizeof(int));
    struct hz_buf out = hz_buf_new(COUNT * sizeof(int));
    struct hz_buf data = hz_buf_new(COUNT * sizeof(int));
    int root = hz->size - 1;
    MPI_Request requests[2];

    MPIX_Allreduce_init(in.data, out.data, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &requests[0]);
    MPIX_Bcast_init(data.data, COUNT, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < 20; round++) {
        size_t first = 100 * (size_t) round;
        int index;
        hz_fill_ints(hz_ints(&in), hz->rank, first, COUNT);
        memset(data.data, HZ_FILLER, data.size);
        if (root == hz->rank) {
            hz_fill_ints(hz_ints(&data), root, first, COUNT);
        }
        if (0 == round % 2) {
            MPI_Startall(2, requests);
        } else {
            MPI_Start(&requests[0]);
            MPI_Start(&requests[1]);
        }
        switch (round % 4) {
        case 0:
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            break;
        case 1:
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            break;
        default:
            MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
            HZ_CHECK(hz, 0 == index || 1 == index, "round %d: Waitany gave %d", round, index);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            break;
        }
        hz_check_ints(hz, hz_ints(&data), root, first, COUNT, "bcast");
        for (size_t i = 0; i < COUNT; i++) {
            HZ_CHECK(hz, hz_sum(hz->size, first + i) == hz_ints(&out)[i], "round %d: sum %zu is %d",
                     round, i, hz_ints(&out)[i]);
        }
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    hz_buf_end(hz, &in, "allreduce input");
    hz_buf_end(hz, &out, "allreduce result");
    hz_buf_end(hz, &data, "bcast");
}

int main(int argc, char **argv)
{
    static const struct hz_test tests[] = {
        {"P47", 2, p47}, {"P48", 2, p48}, {"P49", 2, p49},
        {"P50", 1, p50}, {"P51", 1, p51}, {NULL, 0, NULL},
    };

    return hz_main(argc, argv, MPI_THREAD_SINGLE, tests);
}
