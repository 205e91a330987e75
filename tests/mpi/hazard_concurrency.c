/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hazard_concurrency.c: P53..P55 and P57..P60, operations that overlap on one or several
 * communicators, buffers overwritten right after return, objects freed while they are used. Threads
 * are in hazard_threads.c.
 */
#include "hazard.h"

static long repetitions(const struct hz_ctx *hz, long normal)
{
    return 0 < hz->repeat ? hz->repeat : normal;
}

/* The send buffer changes at once after each alltoall; one rank is late to read. */
static void p53(struct hz_ctx *hz)
{
    static const size_t blocks[] = {1, 700, 20000};
    size_t n = (size_t) hz->size;

    for (size_t b = 0; b < sizeof(blocks) / sizeof(*blocks); b++) {
        size_t count = blocks[b];
        struct hz_buf in = hz_buf_new(n * count * sizeof(int));
        struct hz_buf out = hz_buf_new(n * count * sizeof(int));
        long rounds = repetitions(hz, count < 10000 ? 200 : 20);
        for (long round = 0; round < rounds; round++) {
            size_t first = (size_t) round * 31;
            hz_fill_ints(hz_ints(&in), hz->rank, first, n * count);
            if (round % hz->size == hz->rank && 0 == round % 8) {
                hz_sleep_us(1000);
            }
            MPI_Alltoall(in.data, (int) count, MPI_INT, out.data, (int) count, MPI_INT,
                         MPI_COMM_WORLD);
            memset(in.data, 0x77, in.size);
            for (size_t r = 0; r < n; r++) {
                hz_check_ints(hz, hz_ints(&out) + r * count, (int) r,
                              first + (size_t) hz->rank * count, count, "alltoall");
            }
        }
        hz_buf_end(hz, &in, "input");
        hz_buf_end(hz, &out, "result");
    }
}

/* The other collectives that read a peer's memory, the same way. */
static void p53_others(struct hz_ctx *hz)
{
    enum { COUNT = 5000 };
    struct hz_buf in = hz_buf_new(COUNT * sizeof(int));
    struct hz_buf out = hz_buf_new(COUNT * (size_t) hz->size * sizeof(int));

    for (int round = 0; round < 100; round++) {
        int root = round % hz->size;
        size_t first = (size_t) round * 31;
        if ((round + 1) % hz->size == hz->rank && 0 == round % 8) {
            hz_sleep_us(1000);
        }
        hz_fill_ints(hz_ints(&in), root, first, root == hz->rank ? COUNT : 0);
        MPI_Bcast(in.data, COUNT, MPI_INT, root, MPI_COMM_WORLD);
        hz_check_ints(hz, hz_ints(&in), root, first, COUNT, "bcast");
        hz_fill_ints(hz_ints(&in), hz->rank, first, COUNT);
        MPI_Allgather(in.data, COUNT, MPI_INT, out.data, COUNT, MPI_INT, MPI_COMM_WORLD);
        memset(in.data, 0x77, in.size);
        for (size_t r = 0; r < (size_t) hz->size; r++) {
            hz_check_ints(hz, hz_ints(&out) + r * COUNT, (int) r, first, COUNT, "allgather");
        }
        hz_fill_ints(hz_ints(&in), hz->rank, 0, COUNT);
        MPI_Reduce(in.data, out.data, COUNT, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
        memset(in.data, 0x77, in.size);
        if (root == hz->rank) {
            hz_check_sums(hz, hz_ints(&out), hz->size, COUNT, "reduce");
        }
        hz_fill_ints(hz_ints(&in), hz->rank, 0, COUNT);
        MPI_Allreduce(in.data, out.data, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        memset(in.data, 0x77, in.size);
        hz_check_sums(hz, hz_ints(&out), hz->size, COUNT, "allreduce");
    }
    hz_buf_end(hz, &in, "input");
    hz_buf_end(hz, &out, "result");
}

static void p54(struct hz_ctx *hz)
{
    enum { DUPS = 5, COUNT = 500 };

    for (int round = 0; round < 10; round++) {
        MPI_Comm comm, dups[DUPS];
        MPI_Request requests[2 * DUPS];
        int data[DUPS][COUNT];
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int d = 0; d < DUPS; d++) {
            int root = d % hz->size;
            if (root == hz->rank) {
                hz_fill_ints(data[d], root, (size_t) d, COUNT);
            }
            MPI_Comm_idup(comm, &dups[d], &requests[2 * d]);
            MPI_Ibcast(data[d], COUNT, MPI_INT, root, comm, &requests[2 * d + 1]);
        }
        MPI_Waitall(2 * DUPS, requests, MPI_STATUSES_IGNORE);
        for (int d = 0; d < DUPS; d++) {
            int one = 1;
            int sum = 0;
            hz_check_ints(hz, data[d], d % hz->size, (size_t) d, COUNT, "ibcast");
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, dups[d]);
            HZ_CHECK(hz, hz->size == sum, "duplicate %d: sum %d", d, sum);
            MPI_Comm_free(&dups[d]);
        }
        MPI_Comm_free(&comm);
    }
}

/* Open MPI makes the duplicate with nonblocking collectives on the parent, which start whenever a
 * rank makes progress: anywhere between the blocking calls, and elsewhere on every rank. */
static void p54_blocking(struct hz_ctx *hz)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int round = 0; round < 100; round++) {
        MPI_Comm dup;
        MPI_Request request;
        int one = 1;
        int sum = 0;
        MPI_Comm_idup(comm, &dup, &request);
        for (int call = 0; call < 4; call++) {
            int root = call % hz->size;
            int data = root == hz->rank ? 10 * round + call : -1;
            if (0 == (round + call + hz->rank) % 3) {
                hz_sleep_us(100);
            }
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
            HZ_CHECK(hz, hz->size == sum, "round %d, call %d: sum %d", round, call, sum);
            MPI_Bcast(&data, 1, MPI_INT, root, comm);
            HZ_CHECK(hz, 10 * round + call == data, "round %d, call %d: got %d", round, call, data);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, dup);
        HZ_CHECK(hz, hz->size == sum, "round %d: sum %d on the duplicate", round, sum);
        MPI_Comm_free(&dup);
    }
    MPI_Comm_free(&comm);
}

static void p55(struct hz_ctx *hz)
{
    enum { CALLS = 3 };
    static const int base[CALLS] = {2000, 1, 300};
    int n = hz->size;
    struct hz_buf in[CALLS], out[CALLS];
    int *counts[CALLS], *displs[CALLS];
    MPI_Request requests[CALLS];

    for (int round = 0; round < 20; round++) {
        for (int c = 0; c < CALLS; c++) {
            int total = 0;
            counts[c] = malloc((size_t) n * sizeof(int));
            displs[c] = malloc((size_t) n * sizeof(int));
            for (int r = 0; r < n; r++) {
                counts[c][r] = base[c] + r;
                displs[c][r] = total;
                total += counts[c][r];
            }
            in[c] = hz_buf_new((size_t) counts[c][hz->rank] * sizeof(int));
            out[c] = hz_buf_new((size_t) total * sizeof(int));
            hz_fill_ints(hz_ints(&in[c]), hz->rank, (size_t) (10000 * c),
                         (size_t) counts[c][hz->rank]);
            MPI_Iallgatherv(in[c].data, counts[c][hz->rank], MPI_INT, out[c].data, counts[c],
                            displs[c], MPI_INT, MPI_COMM_WORLD, &requests[c]);
        }
        for (int c = CALLS - 1; c >= 0; c--) {
            MPI_Wait(&requests[c], MPI_STATUS_IGNORE);
            for (int r = 0; r < n; r++) {
                hz_check_ints(hz, hz_ints(&out[c]) + displs[c][r], r, (size_t) (10000 * c),
                              (size_t) counts[c][r], "iallgatherv");
            }
            hz_buf_end(hz, &in[c], "input");
            hz_buf_end(hz, &out[c], "result");
            free(counts[c]);
            free(displs[c]);
        }
    }
}

static void add_pairs(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < 2 * *count; i++) {
        ((int *) inout)[i] += ((int *) in)[i];
    }
}

static void take_left(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void) type;
    memcpy(inout, in, (size_t) *count * 2 * sizeof(int));
}

/* Type, operation and, if asked, communicator are freed while the reduction is pending; others
 * take their place. */
static void free_pending(struct hz_ctx *hz, bool free_comm)
{
    enum { COUNT = 20000 };

    for (int round = 0; round < 10; round++) {
        struct hz_buf in = hz_buf_new(2 * COUNT * sizeof(int));
        struct hz_buf out = hz_buf_new(2 * COUNT * sizeof(int));
        MPI_Datatype pair, other;
        MPI_Op add, left;
        MPI_Comm comm, next;
        MPI_Request request;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Type_contiguous(2, MPI_INT, &pair);
        MPI_Type_commit(&pair);
        MPI_Op_create(add_pairs, 1, &add);
        hz_fill_ints(hz_ints(&in), hz->rank, 0, 2 * COUNT);
        if (0 == hz->rank) {
            hz_sleep_us(500);
        }
        MPI_Iallreduce(in.data, out.data, COUNT, pair, add, comm, &request);
        MPI_Type_free(&pair);
        MPI_Op_free(&add);
        if (free_comm) {
            MPI_Comm_free(&comm);
        }
        MPI_Type_vector(3, 1, 5, MPI_DOUBLE, &other);
        MPI_Type_commit(&other);
        MPI_Op_create(take_left, 0, &left);
        MPI_Comm_dup(MPI_COMM_WORLD, &next);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        hz_check_sums(hz, hz_ints(&out), hz->size, 2 * COUNT, "iallreduce");
        MPI_Type_free(&other);
        MPI_Op_free(&left);
        MPI_Comm_free(&next);
        if (!free_comm) {
            MPI_Comm_free(&comm);
        }
        hz_buf_end(hz, &in, "input");
        hz_buf_end(hz, &out, "result");
    }
}

static void p57(struct hz_ctx *hz)
{
    free_pending(hz, false);
}

static void p57_comm(struct hz_ctx *hz)
{
    free_pending(hz, true);
}

/* An inter-communicator between even and odd ranks. below: its number is below that of the communicator it
 * is made of, since two others have become free: the first goes to its own duplicate of that. */
static MPI_Comm even_odd(struct hz_ctx *hz, bool below)
{
    MPI_Comm local, inter, low[2];

    MPI_Comm_dup(MPI_COMM_WORLD, &low[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &low[1]);
    MPI_Comm_split(MPI_COMM_WORLD, hz->rank % 2, hz->rank, &local);
    for (int i = 0; below && i < 2; i++) {
        MPI_Comm_free(&low[i]);
    }
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - hz->rank % 2, 57, &inter);
    for (int i = 0; !below && i < 2; i++) {
        MPI_Comm_free(&low[i]);
    }
    MPI_Comm_free(&local);
    return inter;
}

enum { P57_COUNT = 50000 };

static void check_even_odd(struct hz_ctx *hz, const int *out, int round)
{
    int mine = hz->rank % 2;
    int others = 0 == mine ? hz->size / 2 : (hz->size + 1) / 2;

    for (int i = 0; i < P57_COUNT; i++) {
        int want = others * ((1 - mine) * 1000 + i);
        if (want != out[i]) {
            HZ_CHECK(hz, false, "round %d, element %d: %d instead of %d", round, i, out[i], want);
            break;
        }
    }
}

/* Freed with an operation under way, and with a persistent one that has yet to start. */
static void use_freed(struct hz_ctx *hz, bool below)
{
    struct hz_buf in = hz_buf_new(P57_COUNT * sizeof(int));
    struct hz_buf out = hz_buf_new(P57_COUNT * sizeof(int));

    for (int i = 0; i < P57_COUNT; i++) {
        hz_ints(&in)[i] = hz->rank % 2 * 1000 + i;
    }
    for (int round = 0; round < 20; round++) {
        MPI_Comm inter = even_odd(hz, below);
        MPI_Request request;
        if (round % hz->size == hz->rank) {
            hz_sleep_us(1000);
        }
        memset(out.data, HZ_FILLER, out.size);
        MPI_Iallreduce(in.data, out.data, P57_COUNT, MPI_INT, MPI_SUM, inter, &request);
        MPI_Comm_free(&inter);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_even_odd(hz, hz_ints(&out), round);
    }
    MPI_Comm inter = even_odd(hz, below);
    MPI_Request request;
    MPIX_Allreduce_init(in.data, out.data, P57_COUNT, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL,
                        &request);
    MPI_Comm_free(&inter);
    for (int round = 20; round < 23; round++) {
        memset(out.data, HZ_FILLER, out.size);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_even_odd(hz, hz_ints(&out), round);
    }
    MPI_Request_free(&request);
    hz_buf_end(hz, &in, "input");
    hz_buf_end(hz, &out, "result");
}

/* MPI_Comm_free of an inter-communicator lets go of the communicator of the local group at once, which
 * the operation still uses. */
static void p57_inter(struct hz_ctx *hz)
{
    use_freed(hz, false);
}

/* And one that nobody frees, for MPI_Finalize. */
static void p57_below(struct hz_ctx *hz)
{
    MPI_Comm left = even_odd(hz, true);
    MPI_Request request;

    MPI_Ibarrier(left, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use_freed(hz, true);
}

/* Started in one order, completed in another on every rank. */
static void p58(struct hz_ctx *hz)
{
    enum { COMMS = 3, COUNT = 30000 };
    static const int orders[6][COMMS] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2},
                                         {0, 2, 1}, {2, 0, 1}, {1, 2, 0}};
    MPI_Comm comms[COMMS];
    struct hz_buf in = hz_buf_new(COUNT * sizeof(int));
    struct hz_buf out[COMMS];
    MPI_Request requests[COMMS];

    hz_fill_ints(hz_ints(&in), hz->rank, 0, COUNT);
    for (int c = 0; c < COMMS; c++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]);
        out[c] = hz_buf_new(COUNT * sizeof(int));
    }
    for (int round = 0; round < 30; round++) {
        const int *order = orders[(hz->rank + round) % 6];
        int count = 0 == round % 2 ? COUNT : 5;
        for (int c = 0; c < COMMS; c++) {
            memset(out[c].data, HZ_FILLER, out[c].size);
            MPI_Iallreduce(in.data, out[c].data, count, MPI_INT, MPI_SUM, comms[c], &requests[c]);
        }
        for (int c = 0; c < COMMS; c++) {
            MPI_Wait(&requests[order[c]], MPI_STATUS_IGNORE);
            hz_check_sums(hz, hz_ints(&out[order[c]]), hz->size, (size_t) count, "iallreduce");
        }
    }
    for (int c = 0; c < COMMS; c++) {
        MPI_Comm_free(&comms[c]);
        hz_buf_end(hz, &out[c], "result");
    }
    hz_buf_end(hz, &in, "input");
}

/* Large reductions; the runner makes the eager limit tiny. */
static void p59(struct hz_ctx *hz)
{
    for (size_t mib = 1; mib <= 8; mib *= 2) {
        size_t count = (mib << 20) / sizeof(int);
        struct hz_buf in = hz_buf_new(count * sizeof(int));
        struct hz_buf out = hz_buf_new(count * sizeof(int));
        hz_fill_ints(hz_ints(&in), hz->rank, 0, count);
        for (int mode = 0; mode < HZ_MODES; mode++) {
            int root = (int) (mib % (size_t) hz->size);
            HZ_CALL(mode, Reduce, reduce, (in.data, out.data, (int) count, MPI_INT, MPI_SUM, root),
                    MPI_COMM_WORLD);
            if (root == hz->rank) {
                hz_check_sums(hz, hz_ints(&out), hz->size, count, hz_mode_name[mode]);
            }
        }
        hz_buf_end(hz, &in, "input");
        hz_buf_end(hz, &out, "result");
    }
}

/* Barriers keep a shared count in step: nobody is a round ahead of anybody by more than one. */
static void p60(struct hz_ctx *hz)
{
    long rounds = repetitions(hz, 2000);
    volatile int *arrived;
    void *base;
    MPI_Aint size;
    int unit;
    MPI_Win window;
    MPI_Comm node;
    int rank, ranks;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &ranks);
    MPI_Win_allocate_shared(0 == rank ? 64 * (MPI_Aint) ranks : 0, 1, MPI_INFO_NULL, node, &base,
                            &window);
    MPI_Win_shared_query(window, 0, &size, &unit, &base);
    arrived = base;
    arrived[16 * rank] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 1; round <= (int) rounds; round++) {
        int data[2] = {-1, -1};
        arrived[16 * rank] = round;
        MPI_Barrier(MPI_COMM_WORLD);
        for (int r = 0; r < ranks; r++) {
            int seen = arrived[16 * r];
            HZ_CHECK(hz, seen == round || seen == round + 1,
                     "after barrier %d rank %d is in round %d", round, r, seen);
        }
        if (round % hz->size == hz->rank) {
            data[0] = round;
            data[1] = ~round;
        }
        MPI_Bcast(data, 2, MPI_INT, round % hz->size, MPI_COMM_WORLD);
        HZ_CHECK(hz, round == data[0] && ~round == data[1], "bcast %d gave %d, %d", round, data[0],
                 data[1]);
    }
    MPI_Win_free(&window);
    MPI_Comm_free(&node);
}

/* --- P57e: a persistent operation that outlives so many others that all tags have been used again. Two that
 * had the same one would take each other's messages, since ranks may start them in different orders. */

enum { ALL_TAGS = 1 << 23 }; /* of Open MPI's point-to-point layer ob1; others have fewer */

static void make_many(MPI_Comm comm, bool neighbors)
{
    for (int i = 0; i < ALL_TAGS - 1; i++) {
        MPI_Request request;
        int none = 0;
        if (neighbors) {
            MPIX_Neighbor_allgather_init(&none, 1, MPI_INT, &none, 1, MPI_INT, comm, MPI_INFO_NULL,
                                         &request);
        } else {
            MPIX_Barrier_init(comm, MPI_INFO_NULL, &request);
        }
        MPI_Request_free(&request);
    }
}

/* Two operations, started in an order that differs from rank to rank. */
static void start_both(struct hz_ctx *hz, MPI_Request *request)
{
    MPI_Start(&request[hz->rank % 2]);
    MPI_Start(&request[1 - hz->rank % 2]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

static void p57_tags(struct hz_ctx *hz)
{
    MPI_Comm comm;
    MPI_Request request[2];
    int in[2] = {1, 100}, out[2] = {0, 0};

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 2; i++) {
        MPIX_Allreduce_init(&in[i], &out[i], 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request[i]);
        if (0 == i) {
            make_many(comm, false);
        }
    }
    start_both(hz, request);
    HZ_CHECK(hz, hz->size == out[0] && 100 * hz->size == out[1], "sums of 1 and 100: %d and %d",
             out[0], out[1]);
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
    MPI_Comm_free(&comm);
}

static void p57_neighbor_tags(struct hz_ctx *hz)
{
    MPI_Comm comm;
    MPI_Request request[2];
    int from = (hz->rank + 1) % hz->size, to = (hz->rank + hz->size - 1) % hz->size;
    int in[2] = {hz->rank, 100 + hz->rank}, out[2] = {-1, -1}, weight = 1;

    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, &weight, 1, &to, &weight,
                                   MPI_INFO_NULL, 0, &comm);
    for (int i = 0; i < 2; i++) {
        MPIX_Neighbor_allgather_init(&in[i], 1, MPI_INT, &out[i], 1, MPI_INT, comm, MPI_INFO_NULL,
                                     &request[i]);
        if (0 == i) {
            make_many(comm, true);
        }
    }
    start_both(hz, request);
    HZ_CHECK(hz, from == out[0] && 100 + from == out[1], "from neighbour %d: %d and %d", from,
             out[0], out[1]);
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    static const struct hz_test tests[] = {
        {"P53", 2, p53},
        {"P53b", 2, p53_others},
        {"P54", 1, p54},
        {"P54b", 1, p54_blocking},
        {"P55", 2, p55},
        {"P57", 2, p57},
        {"P57b", 2, p57_comm},
        {"P57c", 2, p57_inter},
        {"P57d", 2, p57_below},
        {"P57e", 2, p57_tags},
        {"P57f", 2, p57_neighbor_tags},
        {"P58", 2, p58},
        {"P59", 2, p59},
        {"P60", 2, p60},
        {NULL, 0, NULL},
    };

    return hz_main(argc, argv, MPI_THREAD_SINGLE, tests);
}
