/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators of all sorts. See comms.h.
 */
#include "comms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COMMS 40
#define MAX_NEIGHBORS 64

static struct tcomm list[MAX_COMMS];
/* Kept apart from list[]: on ranks outside a communicator the list cannot tell. */
static enum need offers[MAX_COMMS];
static int ncomm;
static int wrank, wsize;

static struct tcomm *add(const char *name, MPI_Comm comm, enum need offer)
{
    struct tcomm *t = &list[ncomm];

    offers[ncomm++] = offer;
    *t = (struct tcomm){.comm = comm};
    snprintf(t->name, sizeof(t->name), "%s", name);
    if (MPI_COMM_NULL != comm) {
        MPI_Comm_rank(comm, &t->rank);
        MPI_Comm_size(comm, &t->size);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    }
    return t;
}

static void add_split(const char *name, int color, int key)
{
    MPI_Comm c;

    must(MPI_Comm_split(MPI_COMM_WORLD, color, key, &c), "comm_split");
    add(name, c, NEED_INTRA);
}

static void add_edge(struct edge *e, int *n, int peer, int slot, int nth)
{
    e[(*n)++] = (struct edge){peer, slot, nth};
}

/* A grid of up to two dimensions, row-major as MPI lays it out. */
static void add_cart(const char *name, int ndims, const int *dims, const int *periods)
{
    MPI_Comm c;
    struct tcomm *t;
    int coord[2], volume = dims[0] * (1 < ndims ? dims[1] : 1);

    must(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &c), "cart_create");
    t = add(name, c, NEED_TOPO);
    if (MPI_COMM_NULL == c || wrank >= volume) {
        return;
    }
    t->topo = true;
    t->in = xalloc(4 * sizeof(*t->in));
    t->out = xalloc(4 * sizeof(*t->out));
    coord[0] = 1 < ndims ? t->rank / dims[1] : t->rank;
    coord[1] = 1 < ndims ? t->rank % dims[1] : 0;
    for (int d = 0; d < ndims; d++) {
        for (int dir = 0; dir < 2; dir++) {
            int at[2] = {coord[0], coord[1]}, peer = MPI_PROC_NULL, slot = 2 * d + dir;

            at[d] += 0 == dir ? -1 : 1;
            if (0 != periods[d]) {
                at[d] = (at[d] + dims[d]) % dims[d];
            }
            if (0 <= at[d] && at[d] < dims[d]) {
                peer = 1 < ndims ? at[0] * dims[1] + at[1] : at[0];
            }
            add_edge(t->out, &t->nout, peer, slot, slot);
            add_edge(t->in, &t->nin, peer, slot ^ 1, slot ^ 1);
        }
    }
}

static int edges_before(const struct edge *e, int n, int peer)
{
    int before = 0;

    for (int i = 0; i < n; i++) {
        before += e[i].peer == peer ? 1 : 0;
    }
    return before;
}

/* Number of edges from a to b in the random graph of this seed. */
static int multiplicity(uint64_t seed, int a, int b)
{
    static const int draw[] = {0, 0, 0, 1, 1, 1, 1, 2};

    return draw[hash4(seed, 'g', (uint64_t) a, (uint64_t) b) % (avoid.multiedge ? 7 : 8)];
}

static void shuffle_peers(int *p, int n, uint64_t seed)
{
    struct rng r = {seed};

    for (int i = n - 1; i > 0; i--) {
        int j = (int) rng_below(&r, (uint64_t) i + 1), keep = p[i];

        p[i] = p[j];
        p[j] = keep;
    }
}

static void add_dist_graph(const char *name, uint64_t seed, bool empty)
{
    int src[MAX_NEIGHBORS], dst[MAX_NEIGHBORS], weight[MAX_NEIGHBORS], nsrc = 0, ndst = 0;
    MPI_Comm c;
    struct tcomm *t;

    for (int p = 0; p < wsize && !empty; p++) {
        for (int k = multiplicity(seed, p, wrank); 0 < k; k--) {
            src[nsrc++] = p;
        }
        for (int k = multiplicity(seed, wrank, p); 0 < k; k--) {
            dst[ndst++] = p;
        }
    }
    shuffle_peers(src, nsrc, hash4(seed, 's', (uint64_t) wrank, 0));
    shuffle_peers(dst, ndst, hash4(seed, 'd', (uint64_t) wrank, 0));
    for (int i = 0; i < MAX_NEIGHBORS; i++) {
        weight[i] = 1;
    }
    must(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, nsrc, src, weight, ndst, dst, weight,
                                        MPI_INFO_NULL, 0, &c),
         "dist_graph_create_adjacent");
    t = add(name, c, NEED_TOPO);
    t->topo = true;
    t->in = xalloc(MAX_NEIGHBORS * sizeof(*t->in));
    t->out = xalloc(MAX_NEIGHBORS * sizeof(*t->out));
    for (int i = 0; i < nsrc; i++) {
        add_edge(t->in, &t->nin, src[i], 0, edges_before(t->in, t->nin, src[i]));
    }
    for (int i = 0; i < ndst; i++) {
        add_edge(t->out, &t->nout, dst[i], 0, edges_before(t->out, t->nout, dst[i]));
    }
}

/* A ring with a chord to the opposite rank, as an old-style (symmetric) graph. */
static int ring_neighbors(int rank, int *peers)
{
    int n = 0;

    if (1 == wsize) {
        return 0;
    }
    peers[n++] = (rank + wsize - 1) % wsize;
    if (2 < wsize) {
        peers[n++] = (rank + 1) % wsize;
    }
    if (3 < wsize && 0 == wsize % 2) {
        peers[n++] = (rank + wsize / 2) % wsize;
    }
    return n;
}

static void add_graph(const char *name)
{
    int *index = xalloc((size_t) wsize * sizeof(*index)),
        *edges = xalloc((size_t) wsize * 3 * sizeof(*edges));
    int total = 0, peers[3];
    MPI_Comm c;
    struct tcomm *t;

    for (int r = 0; r < wsize; r++) {
        total += ring_neighbors(r, edges + total);
        index[r] = total;
    }
    must(MPI_Graph_create(MPI_COMM_WORLD, wsize, index, edges, 0, &c), "graph_create");
    free(index);
    free(edges);
    t = add(name, c, NEED_TOPO);
    t->topo = true;
    t->in = xalloc(3 * sizeof(*t->in));
    t->out = xalloc(3 * sizeof(*t->out));
    for (int i = 0, n = ring_neighbors(wrank, peers); i < n; i++) {
        add_edge(t->in, &t->nin, peers[i], 0, 0);
        add_edge(t->out, &t->nout, peers[i], 0, 0);
    }
}

static void add_inter(const char *name, int side, int leader0, int leader1)
{
    MPI_Comm local, c;
    struct tcomm *t;

    must(MPI_Comm_split(MPI_COMM_WORLD, side, wrank, &local), "comm_split");
    must(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 0 == side ? leader1 : leader0, 28900, &c),
         "intercomm_create");
    MPI_Comm_free(&local);
    t = add(name, c, NEED_INTER);
    t->side = side;
    MPI_Comm_remote_size(c, &t->rsize);
}

static void add_random_inter(const char *name, uint64_t seed)
{
    int side = 0, leader[2] = {-1, -1};

    /* Ranks 0 and wsize - 1 in different groups: neither is empty. */
    for (int r = wsize - 1; r >= 0; r--) {
        int s = 0 == r ? 0 : wsize - 1 == r ? 1 : (int) (hash4(seed, 'i', (uint64_t) r, 0) % 2);

        leader[s] = r;
        side = r == wrank ? s : side;
    }
    add_inter(name, side, leader[0], leader[1]);
}

static void add_topologies(uint64_t seed)
{
    int dims[2] = {0, 0};

    MPI_Dims_create(wsize, 2, dims);
    add_cart("cart1", 1, (int[]){wsize}, (int[]){0});
    add_cart("cart2", 2, dims, (int[]){2 < dims[0] || !avoid.tinygrid, 0});
    if (2 < wsize || !avoid.tinygrid) {
        add_cart("cart1p", 1, (int[]){wsize}, (int[]){1});
    }
    if (!avoid.tinygrid) {
        add_cart("cart1n", 2, (int[]){1, wsize}, (int[]){1, 1});
    }
    if (0 == wsize % 2 && !avoid.tinygrid) {
        add_cart("cart2n", 2, (int[]){2, wsize / 2}, (int[]){1, 1});
    }
    if (3 < wsize || (1 < wsize && !avoid.tinygrid)) {
        add_cart("cartpart", 1, (int[]){wsize - 1}, (int[]){1});
    }
    add_graph("graph");
    add_dist_graph("dist0", seed, false);
    add_dist_graph("dist1", seed + 1, false);
    add_dist_graph("distempty", seed, true);
}

void comms_init(uint64_t seed)
{
    MPI_Comm c;

    MPI_Comm_rank(MPI_COMM_WORLD, &wrank);
    MPI_Comm_size(MPI_COMM_WORLD, &wsize);
    add("world", MPI_COMM_WORLD, NEED_INTRA);
    must(MPI_Comm_dup(MPI_COMM_WORLD, &c), "comm_dup");
    add("dup", c, NEED_INTRA);
    add_split("reversed", 0, wsize - wrank);
    add_split("random0", (int) (hash4(seed, 'r', (uint64_t) wrank, 0) % 2), wrank);
    add_split("random1", (int) (hash4(seed, 'r', (uint64_t) wrank, 1) % 3),
              (int) (hash4(seed, 'k', (uint64_t) wrank, 0) % 100));
    add_split("shuffled", 0, (int) (hash4(seed, 'k', (uint64_t) wrank, 1) % 1000));
    add_split("evenodd", wrank % 2, wrank);
    add_split("allbutlast", wrank == wsize - 1 && 0 < wrank ? MPI_UNDEFINED : 0, wrank);
    add_split("single", wrank, 0);
    add("self", MPI_COMM_SELF, NEED_INTRA);
    add_topologies(seed);
    if (1 < wsize && !avoid.inter) {
        add_random_inter("inter0", seed);
        add_random_inter("inter1", seed + 1);
        add_inter("inter1n", 0 == wrank ? 0 : 1, 0, 1);
        add_inter("intern1", wrank == wsize - 1 ? 1 : 0, 0, wsize - 1);
    }
}

void comms_free(void)
{
    for (int i = 0; i < ncomm; i++) {
        free(list[i].in);
        free(list[i].out);
        if (MPI_COMM_NULL != list[i].comm && MPI_COMM_WORLD != list[i].comm
            && MPI_COMM_SELF != list[i].comm) {
            MPI_Comm_free(&list[i].comm);
        }
    }
    ncomm = 0;
}

int comms_count(void)
{
    return ncomm;
}

struct tcomm *comms_get(int i)
{
    return &list[i];
}

bool comms_fits(int i, enum need need)
{
    switch (need) {
    case NEED_INTRA:
        return NEED_INTER != offers[i];
    case NEED_TOPO:
    case NEED_INTER:
        return need == offers[i];
    default:
        return true;
    }
}

int comms_find(const char *name)
{
    for (int i = 0; i < ncomm; i++) {
        if (0 == strcmp(list[i].name, name)) {
            return i;
        }
    }
    return -1;
}

struct tcomm *comms_fresh(int i)
{
    struct tcomm *t = xalloc(sizeof(*t));

    *t = list[i];
    if (MPI_COMM_NULL != t->comm) {
        must(MPI_Comm_dup(list[i].comm, &t->comm), "comm_dup");
        MPI_Comm_set_errhandler(t->comm, MPI_ERRORS_RETURN);
    }
    return t;
}

void comms_fresh_free(struct tcomm *t)
{
    if (MPI_COMM_NULL != t->comm) {
        MPI_Comm_free(&t->comm);
    }
    free(t);
}
