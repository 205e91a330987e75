/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hazard_every.c: every collective of an intracommunicator once per mode and root, each result
 * checked. The recipes that say "each collective once" (other shapes, other algorithms, failed
 * set-up) share it.
 */
#include "hazard.h"

/* One sweep: the communicator, the block length and the mode. Lives for one hz_every. */
struct sweep {
    struct hz_ctx *hz;
    MPI_Comm comm;
    int rank, size; /* in comm */
    int count;      /* ints of a block */
    enum hz_mode mode;
    int *
        counts; /* of the v-forms: count, count + 1, count + 2, count, ...; all 0 when count is 0 */
    int *displs; /* blocks in order with one int of gap before each */
    int total;   /* ints that the blocks of the v-forms span, gaps included */
};

static size_t bytes(int ints)
{
    return (size_t) ints * sizeof(int);
}

static const char *name_of(const struct sweep *s, const char *collective, int root)
{
    static char text[96];

    snprintf(text, sizeof(text), "%s %s root %d of %d, count %d", hz_mode_name[s->mode], collective,
             root, s->size, s->count);
    return text;
}

/* Blocks of the v-forms: the data of each rank in place, the gaps between them untouched. */
static void check_blocks(struct sweep *s, const struct hz_buf *buf, const char *what)
{
    const int *got = hz_ints(buf);
    int filler;

    memset(&filler, HZ_FILLER, sizeof(filler));
    for (int r = 0; r < s->size; r++) {
        hz_check_ints(s->hz, got + s->displs[r], r, 0, (size_t) s->counts[r], what);
        HZ_CHECK(s->hz, filler == got[s->displs[r] - 1], "%s: gap before block %d written", what,
                 r);
    }
}

static void every_bcast(struct sweep *s, int root)
{
    struct hz_buf buf = hz_buf_new(bytes(s->count));
    const char *what = name_of(s, "bcast", root);

    if (root == s->rank) {
        hz_fill_ints(hz_ints(&buf), root, 0, (size_t) s->count);
    }
    HZ_CALL(s->mode, Bcast, bcast, (buf.data, s->count, MPI_INT, root), s->comm);
    hz_check_ints(s->hz, hz_ints(&buf), root, 0, (size_t) s->count, what);
    hz_buf_end(s->hz, &buf, what);
}

static void every_gather(struct sweep *s, int root)
{
    struct hz_buf in = hz_buf_new(bytes(s->count));
    struct hz_buf out = hz_buf_new(bytes(s->count * s->size));
    const char *what = name_of(s, "gather", root);

    hz_fill_ints(hz_ints(&in), s->rank, 0, (size_t) s->count);
    HZ_CALL(s->mode, Gather, gather,
            (in.data, s->count, MPI_INT, out.data, s->count, MPI_INT, root), s->comm);
    for (int r = 0; root == s->rank && r < s->size; r++) {
        hz_check_ints(s->hz, hz_ints(&out) + r * s->count, r, 0, (size_t) s->count, what);
    }
    hz_buf_end(s->hz, &in, what);
    hz_buf_end(s->hz, &out, what);
}

static void every_gatherv(struct sweep *s, int root)
{
    struct hz_buf in = hz_buf_new(bytes(s->counts[s->rank]));
    struct hz_buf out = hz_buf_new(bytes(s->total));
    const char *what = name_of(s, "gatherv", root);

    hz_fill_ints(hz_ints(&in), s->rank, 0, (size_t) s->counts[s->rank]);
    HZ_CALL(s->mode, Gatherv, gatherv,
            (in.data, s->counts[s->rank], MPI_INT, out.data, s->counts, s->displs, MPI_INT, root),
            s->comm);
    if (root == s->rank) {
        check_blocks(s, &out, what);
    }
    hz_buf_end(s->hz, &in, what);
    hz_buf_end(s->hz, &out, what);
}

static void every_scatter(struct sweep *s, int root)
{
    struct hz_buf in = hz_buf_new(bytes(s->count * s->size));
    struct hz_buf out = hz_buf_new(bytes(s->count));
    const char *what = name_of(s, "scatter", root);

    for (int r = 0; r < s->size; r++) {
        hz_fill_ints(hz_ints(&in) + r * s->count, root == s->rank ? r : r + 100, 0,
                     (size_t) s->count);
    }
    HZ_CALL(s->mode, Scatter, scatter,
            (in.data, s->count, MPI_INT, out.data, s->count, MPI_INT, root), s->comm);
    hz_check_ints(s->hz, hz_ints(&out), s->rank, 0, (size_t) s->count, what);
    hz_buf_end(s->hz, &in, what);
    hz_buf_end(s->hz, &out, what);
}

static void every_scatterv(struct sweep *s, int root)
{
    struct hz_buf in = hz_buf_new(bytes(s->total));
    struct hz_buf out = hz_buf_new(bytes(s->counts[s->rank]));
    const char *what = name_of(s, "scatterv", root);

    for (int r = 0; r < s->size; r++) {
        hz_fill_ints(hz_ints(&in) + s->displs[r], root == s->rank ? r : r + 100, 0,
                     (size_t) s->counts[r]);
    }
    HZ_CALL(s->mode, Scatterv, scatterv,
            (in.data, s->counts, s->displs, MPI_INT, out.data, s->counts[s->rank], MPI_INT, root),
            s->comm);
    hz_check_ints(s->hz, hz_ints(&out), s->rank, 0, (size_t) s->counts[s->rank], what);
    hz_buf_end(s->hz, &in, what);
    hz_buf_end(s->hz, &out, what);
}

static void every_reduce(struct sweep *s, int root)
{
    struct hz_buf in = hz_buf_new(bytes(s->count));
    struct hz_buf out = hz_buf_new(bytes(s->count));
    const char *what = name_of(s, "reduce", root);

    hz_fill_ints(hz_ints(&in), s->rank, 0, (size_t) s->count);
    HZ_CALL(s->mode, Reduce, reduce, (in.data, out.data, s->count, MPI_INT, MPI_SUM, root),
            s->comm);
    if (root == s->rank) {
        hz_check_sums(s->hz, hz_ints(&out), s->size, (size_t) s->count, what);
    }
    hz_buf_end(s->hz, &in, what);
    hz_buf_end(s->hz, &out, what);
}

static void every_allgather(struct sweep *s)
{
    struct hz_buf in = hz_buf_new(bytes(s->counts[s->rank]));
    struct hz_buf out = hz_buf_new(bytes(s->total));
    const char *what = name_of(s, "allgather(v)", 0);

    hz_fill_ints(hz_ints(&in), s->rank, 0, (size_t) s->counts[s->rank]);
    HZ_CALL(s->mode, Allgather, allgather,
            (in.data, s->count, MPI_INT, out.data, s->count, MPI_INT), s->comm);
    for (int r = 0; r < s->size; r++) {
        hz_check_ints(s->hz, hz_ints(&out) + r * s->count, r, 0, (size_t) s->count, what);
    }
    memset(out.data, HZ_FILLER, out.size);
    HZ_CALL(s->mode, Allgatherv, allgatherv,
            (in.data, s->counts[s->rank], MPI_INT, out.data, s->counts, s->displs, MPI_INT),
            s->comm);
    check_blocks(s, &out, what);
    hz_buf_end(s->hz, &in, what);
    hz_buf_end(s->hz, &out, what);
}

/* Block that rank from sends to rank to: count ints of the values of rank from, starting at 10 *
 * to. */
static void every_alltoall(struct sweep *s)
{
    int room = s->size * (s->count + 1);
    int *one = malloc(bytes(s->size));
    int *shift = malloc(bytes(s->size));
    MPI_Datatype *types = malloc((size_t) s->size * sizeof(*types));
    struct hz_buf in = hz_buf_new(bytes(room));
    struct hz_buf out = hz_buf_new(bytes(room));
    const char *what = name_of(s, "alltoall(v,w)", 0);

    for (int form = 0; form < 3; form++) {
        int step = s->count + (0 == form ? 0 : 1);
        memset(out.data, HZ_FILLER, out.size);
        for (int r = 0; r < s->size; r++) {
            one[r] = s->count;
            shift[r] = r * step * (2 == form ? (int) sizeof(int) : 1);
            types[r] = MPI_INT;
            hz_fill_ints(hz_ints(&in) + r * step, s->rank, 10 * (size_t) r, (size_t) s->count);
        }
        if (0 == form) {
            HZ_CALL(s->mode, Alltoall, alltoall,
                    (in.data, s->count, MPI_INT, out.data, s->count, MPI_INT), s->comm);
        } else if (1 == form) {
            HZ_CALL(s->mode, Alltoallv, alltoallv,
                    (in.data, one, shift, MPI_INT, out.data, one, shift, MPI_INT), s->comm);
        } else {
            HZ_CALL(s->mode, Alltoallw, alltoallw,
                    (in.data, one, shift, types, out.data, one, shift, types), s->comm);
        }
        for (int r = 0; r < s->size; r++) {
            hz_check_ints(s->hz, hz_ints(&out) + r * step, r, 10 * (size_t) s->rank,
                          (size_t) s->count, what);
        }
    }
    hz_buf_end(s->hz, &in, what);
    hz_buf_end(s->hz, &out, what);
    free(one);
    free(shift);
    free(types);
}

static void every_allreduce(struct sweep *s)
{
    struct hz_buf in = hz_buf_new(bytes(s->count));
    struct hz_buf out = hz_buf_new(bytes(s->count));
    const char *what = name_of(s, "allreduce", 0);

    hz_fill_ints(hz_ints(&in), s->rank, 0, (size_t) s->count);
    HZ_CALL(s->mode, Allreduce, allreduce, (in.data, out.data, s->count, MPI_INT, MPI_SUM),
            s->comm);
    hz_check_sums(s->hz, hz_ints(&out), s->size, (size_t) s->count, what);
    hz_buf_end(s->hz, &in, what);
    hz_buf_end(s->hz, &out, what);
}

static void every_reduce_scatter(struct sweep *s)
{
    int sum = 0;
    int before = 0;
    struct hz_buf in, out;
    const char *what = name_of(s, "reduce_scatter(_block)", 0);

    for (int r = 0; r < s->size; r++) {
        before += r < s->rank ? s->counts[r] : 0;
        sum += s->counts[r];
    }
    in = hz_buf_new(bytes(sum));
    out = hz_buf_new(bytes(s->counts[s->rank]));
    hz_fill_ints(hz_ints(&in), s->rank, 0, (size_t) sum);
    HZ_CALL(s->mode, Reduce_scatter_block, reduce_scatter_block,
            (in.data, out.data, s->count, MPI_INT, MPI_SUM), s->comm);
    for (int i = 0; i < s->count; i++) {
        HZ_CHECK(s->hz, hz_sum(s->size, (size_t) (s->rank * s->count + i)) == hz_ints(&out)[i],
                 "%s: element %d", what, i);
    }
    HZ_CALL(s->mode, Reduce_scatter, reduce_scatter,
            (in.data, out.data, s->counts, MPI_INT, MPI_SUM), s->comm);
    for (int i = 0; i < s->counts[s->rank]; i++) {
        HZ_CHECK(s->hz, hz_sum(s->size, (size_t) (before + i)) == hz_ints(&out)[i],
                 "%s: v, element %d", what, i);
    }
    hz_buf_end(s->hz, &in, what);
    hz_buf_end(s->hz, &out, what);
}

static void every_scan(struct sweep *s)
{
    struct hz_buf in = hz_buf_new(bytes(s->count));
    struct hz_buf out = hz_buf_new(bytes(s->count));
    const char *what = name_of(s, "scan/exscan", 0);

    hz_fill_ints(hz_ints(&in), s->rank, 0, (size_t) s->count);
    HZ_CALL(s->mode, Scan, scan, (in.data, out.data, s->count, MPI_INT, MPI_SUM), s->comm);
    hz_check_sums(s->hz, hz_ints(&out), s->rank + 1, (size_t) s->count, what);
    HZ_CALL(s->mode, Exscan, exscan, (in.data, out.data, s->count, MPI_INT, MPI_SUM), s->comm);
    if (0 < s->rank) {
        hz_check_sums(s->hz, hz_ints(&out), s->rank, (size_t) s->count, what);
    }
    hz_buf_end(s->hz, &in, what);
    hz_buf_end(s->hz, &out, what);
}

/* A periodic line of all ranks: slot 0 is the left neighbour, slot 1 the right one. */
static void every_neighbor(struct sweep *s)
{
    int periodic = 1;
    int peers[2];
    int one[2] = {s->count, s->count};
    int shift[2] = {0, s->count};
    MPI_Aint byte_shift[2] = {0, (MPI_Aint) bytes(s->count)};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Comm line;
    struct hz_buf in = hz_buf_new(bytes(2 * s->count));
    struct hz_buf out = hz_buf_new(bytes(2 * s->count));
    const char *what = name_of(s, "neighbor", 0);

    MPI_Cart_create(s->comm, 1, &s->size, &periodic, 0, &line);
    MPI_Cart_shift(line, 0, 1, &peers[0], &peers[1]);
    hz_fill_ints(hz_ints(&in), s->rank, 0, 2 * (size_t) s->count);
    for (int form = 0; form < 5; form++) {
        memset(out.data, HZ_FILLER, out.size);
        if (0 == form) {
            HZ_CALL(s->mode, Neighbor_allgather, neighbor_allgather,
                    (in.data, s->count, MPI_INT, out.data, s->count, MPI_INT), line);
        } else if (1 == form) {
            HZ_CALL(s->mode, Neighbor_allgatherv, neighbor_allgatherv,
                    (in.data, s->count, MPI_INT, out.data, one, shift, MPI_INT), line);
        } else if (2 == form) {
            HZ_CALL(s->mode, Neighbor_alltoall, neighbor_alltoall,
                    (in.data, s->count, MPI_INT, out.data, s->count, MPI_INT), line);
        } else if (3 == form) {
            HZ_CALL(s->mode, Neighbor_alltoallv, neighbor_alltoallv,
                    (in.data, one, shift, MPI_INT, out.data, one, shift, MPI_INT), line);
        } else {
            HZ_CALL(s->mode, Neighbor_alltoallw, neighbor_alltoallw,
                    (in.data, one, byte_shift, types, out.data, one, byte_shift, types), line);
        }
        /* With one or two ranks both neighbours are the same process: P49 judges which block
         * comes first. */
        for (int slot = 0; s->size > 2 && slot < 2; slot++) {
            size_t first = form < 2 ? 0 : (size_t) ((1 - slot) * s->count);
            hz_check_ints(s->hz, hz_ints(&out) + slot * s->count, peers[slot], first,
                          (size_t) s->count, what);
        }
    }
    MPI_Comm_free(&line);
    hz_buf_end(s->hz, &in, what);
    hz_buf_end(s->hz, &out, what);
}

static void every_mode(struct sweep *s)
{
    hz_barrier(s->mode, s->comm);
    for (int root = 0; root < s->size; root++) {
        every_bcast(s, root);
        every_gather(s, root);
        every_gatherv(s, root);
        every_scatter(s, root);
        every_scatterv(s, root);
        every_reduce(s, root);
    }
    every_allgather(s);
    every_alltoall(s);
    every_allreduce(s);
    every_reduce_scatter(s);
    every_scan(s);
    every_neighbor(s);
}

void hz_every(struct hz_ctx *hz, MPI_Comm comm, int count)
{
    struct sweep s = {.hz = hz, .comm = comm, .count = count};
    int three[3] = {1, 2, 3};
    int sums[3] = {10, 20, 30};

    MPI_Comm_rank(comm, &s.rank);
    MPI_Comm_size(comm, &s.size);
    s.counts = malloc(bytes(s.size));
    s.displs = malloc(bytes(s.size));
    s.total = 0;
    for (int r = 0; r < s.size; r++) {
        s.counts[r] = 0 == count ? 0 : count + r % 3;
        s.displs[r] = s.total + 1;
        s.total += s.counts[r] + 1;
    }
    for (int mode = 0; mode < HZ_MODES; mode++) {
        s.mode = (enum hz_mode) mode;
        every_mode(&s);
    }
    MPI_Reduce_local(three, sums, 3, MPI_INT, MPI_SUM);
    for (int i = 0; i < 3; i++) {
        HZ_CHECK(hz, 11 * (i + 1) == sums[i], "reduce_local: element %d is %d", i, sums[i]);
    }
    free(s.counts);
    free(s.displs);
}
