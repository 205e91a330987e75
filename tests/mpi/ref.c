/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The point-to-point reference of all collectives. See ref.h.
 */
#include "ref.h"

#include <stdlib.h>
#include <string.h>

#define REF_TAG 28000

const struct coll_info colls[COLL_COUNT] = {
#define COLL(low, Cap, pattern, style, vary, inplace, inter, ...) \
    {#low, pattern, style, vary, inplace, inter},
#include "colls.def"
#undef COLL
};

/* Messages posted and not yet complete, and packed copies that they send from. */
struct post {
    MPI_Comm comm;
    MPI_Request *req;
    int nreq, capacity;
    void **scratch;
    int nscratch;
};

/* Where one block lies. */
struct piece {
    char *at;
    int count;
    MPI_Datatype type;
};

bool coll_is_reduction(enum coll_id c)
{
    return PAT_REDUCE <= colls[c].pattern && colls[c].pattern <= PAT_EXSCAN;
}

bool coll_is_rooted(enum coll_id c)
{
    enum pattern p = colls[c].pattern;

    return PAT_BCAST == p || PAT_GATHER == p || PAT_SCATTER == p || PAT_REDUCE == p;
}

bool coll_is_neighbor(enum coll_id c)
{
    return PAT_NALLGATHER <= colls[c].pattern;
}

int call_peers(const struct call *c)
{
    return 0 < c->tc->rsize ? c->tc->rsize : c->tc->size;
}

static void post_open(struct post *p, const struct call *c, int messages)
{
    *p = (struct post){.comm = c->comm, .capacity = messages};
    p->req = xalloc((size_t) messages * sizeof(*p->req));
    p->scratch = xalloc((size_t) messages * sizeof(*p->scratch));
}

static void post_close(struct post *p)
{
    must(MPI_Waitall(p->nreq, p->req, MPI_STATUSES_IGNORE), "reference waitall");
    for (int i = 0; i < p->nscratch; i++) {
        free(p->scratch[i]);
    }
    free(p->scratch);
    free(p->req);
}

static void send_piece(struct post *p, struct piece b, int peer, int slot)
{
    must(MPI_Isend(b.at, b.count, b.type, peer, REF_TAG + slot, p->comm, &p->req[p->nreq++]),
         "isend");
}

static void recv_piece(struct post *p, struct piece b, int peer, int slot)
{
    must(MPI_Irecv(b.at, b.count, b.type, peer, REF_TAG + slot, p->comm, &p->req[p->nreq++]),
         "irecv");
}

/* Sends the present content of a block that is about to be overwritten. */
static void send_packed(struct post *p, struct piece b, int peer)
{
    int bytes, at = 0;
    void *copy;

    must(MPI_Pack_size(b.count, b.type, p->comm, &bytes), "pack_size");
    copy = xalloc((size_t) bytes);
    p->scratch[p->nscratch++] = copy;
    must(MPI_Pack(b.at, b.count, b.type, copy, bytes, &at, p->comm), "pack");
    send_piece(p, (struct piece){copy, at, MPI_PACKED}, peer, 0);
}

static struct piece whole(const struct args *a)
{
    return (struct piece){a->buf, a->count, a->type};
}

/* Block i of a side that has one block per peer. */
static struct piece block(const struct call *c, const struct args *a, int i)
{
    MPI_Aint lb, extent;
    char *base = a->buf;

    if (TYP == colls[c->coll].style) {
        return (struct piece){base + (NULL != a->adispls ? a->adispls[i] : a->displs[i]),
                              a->counts[i], a->types[i]};
    }
    must(MPI_Type_get_extent(a->type, &lb, &extent), "type_get_extent");
    if (VEC == colls[c->coll].style) {
        return (struct piece){base + a->displs[i] * extent, a->counts[i], a->type};
    }
    return (struct piece){base + (MPI_Aint) i * a->count * extent, a->count, a->type};
}

/* Is this rank the root, and if not, does it take part, and who is the root? */
static bool is_root(const struct call *c)
{
    return 0 < c->tc->rsize ? MPI_ROOT == c->root : c->root == c->tc->rank;
}

static bool bystander(const struct call *c)
{
    return 0 < c->tc->rsize && MPI_PROC_NULL == c->root;
}

static void ref_barrier(struct call *c)
{
    int n = call_peers(c);
    double *entered = xalloc((size_t) n * sizeof(*entered));
    struct post p;

    post_open(&p, c, 2 * n);
    for (int i = 0; i < n; i++) {
        recv_piece(&p, (struct piece){(char *) &entered[i], 1, MPI_DOUBLE}, i, 0);
        send_piece(&p, (struct piece){(char *) &c->entered, 1, MPI_DOUBLE}, i, 0);
    }
    post_close(&p);
    for (int i = 0; i < n; i++) {
        if (entered[i] > c->left) {
            fail("barrier: left %.6f s before rank %d entered", entered[i] - c->left, i);
        }
    }
    free(entered);
}

static void ref_bcast(struct call *c)
{
    struct post p;

    post_open(&p, c, call_peers(c));
    if (is_root(c)) {
        for (int i = 0; i < call_peers(c); i++) {
            if (0 < c->tc->rsize || i != c->tc->rank) {
                send_piece(&p, whole(&c->r), i, 0);
            }
        }
    } else if (!bystander(c)) {
        recv_piece(&p, whole(&c->r), c->root, 0);
    }
    post_close(&p);
}

static void ref_allgather(struct call *c)
{
    bool inplace = MPI_IN_PLACE == c->s.buf;
    struct piece mine = inplace ? block(c, &c->r, c->tc->rank) : whole(&c->s);
    struct post p;

    post_open(&p, c, 2 * call_peers(c));
    for (int i = 0; i < call_peers(c); i++) {
        if (!inplace || i != c->tc->rank) {
            recv_piece(&p, block(c, &c->r, i), i, 0);
            send_piece(&p, mine, i, 0);
        }
    }
    post_close(&p);
}

static void ref_gather(struct call *c)
{
    struct post p;

    post_open(&p, c, call_peers(c) + 1);
    if (is_root(c)) {
        for (int i = 0; i < call_peers(c); i++) {
            if (MPI_IN_PLACE != c->s.buf || i != c->tc->rank) {
                recv_piece(&p, block(c, &c->r, i), i, 0);
            }
        }
    }
    if (!bystander(c) && MPI_ROOT != c->root && MPI_IN_PLACE != c->s.buf) {
        send_piece(&p, whole(&c->s), c->root, 0);
    }
    post_close(&p);
}

static void ref_scatter(struct call *c)
{
    struct post p;

    post_open(&p, c, call_peers(c) + 1);
    if (!bystander(c) && MPI_ROOT != c->root && MPI_IN_PLACE != c->r.buf) {
        recv_piece(&p, whole(&c->r), c->root, 0);
    }
    if (is_root(c)) {
        for (int i = 0; i < call_peers(c); i++) {
            if (MPI_IN_PLACE != c->r.buf || i != c->tc->rank) {
                send_piece(&p, block(c, &c->s, i), i, 0);
            }
        }
    }
    post_close(&p);
}

static void ref_alltoall(struct call *c)
{
    bool inplace = MPI_IN_PLACE == c->s.buf;
    struct post p;

    post_open(&p, c, 2 * call_peers(c));
    for (int i = 0; i < call_peers(c); i++) {
        if (inplace) {
            send_packed(&p, block(c, &c->r, i), i);
        } else {
            send_piece(&p, block(c, &c->s, i), i, 0);
        }
    }
    for (int i = 0; i < call_peers(c); i++) {
        recv_piece(&p, block(c, &c->r, i), i, 0);
    }
    post_close(&p);
}

/* Memory for `count` items of the call's layout; *base is to be freed. */
static char *scratch_items(const struct call *c, char **base)
{
    ptrdiff_t lo, hi;

    layout_span(c->lay, (size_t) c->total, &lo, &hi);
    *base = xalloc((size_t) (hi - lo) + 64);
    memset(*base, 0x5a, (size_t) (hi - lo) + 64);
    return *base + 32 - lo;
}

/* Contributions of ranks [0, upto) come here and are folded in rank order; items [skip, skip + count) of the
 * result go to `out`. The sends posted before end here too: only then may `out` change in place. */
static void fold(struct call *c, struct post *p, int upto, size_t skip, int count, char *out)
{
    char **base = xalloc((size_t) (upto + 1) * sizeof(*base)),
         **at = xalloc((size_t) (upto + 1) * sizeof(*at));
    MPI_Aint lb, extent;

    must(MPI_Type_get_extent(c->type, &lb, &extent), "type_get_extent");
    for (int i = 0; i < upto; i++) {
        at[i] = scratch_items(c, &base[i]);
        recv_piece(p, (struct piece){at[i], c->total, c->type}, i, 0);
    }
    must(MPI_Waitall(p->nreq, p->req, MPI_STATUSES_IGNORE), "reference waitall");
    p->nreq = 0;
    for (int i = upto - 2; i >= 0; i--) {
        op_apply(c->opid, c->lay, at[i], at[upto - 1], c->total);
    }
    if (0 < upto) {
        layout_copy_tail(c->lay, out, at[upto - 1] + (ptrdiff_t) skip * extent, (size_t) count, 0);
    }
    for (int i = 0; i < upto; i++) {
        free(base[i]);
    }
    free(at);
    free(base);
}

static void ref_reduction(struct call *c)
{
    enum pattern pattern = colls[c->coll].pattern;
    int n = call_peers(c), rank = c->tc->rank, upto = n;
    char *own = MPI_IN_PLACE == c->s.buf ? c->r.buf : c->s.buf;
    size_t skip = 0;
    int count = c->total;
    struct post p;

    post_open(&p, c, 2 * n + 1);
    if (PAT_REDUCE == pattern) {
        if (!bystander(c) && MPI_ROOT != c->root) {
            send_piece(&p, (struct piece){own, c->total, c->type}, c->root, 0);
        }
        upto = is_root(c) ? n : 0;
    } else {
        int from = PAT_SCAN == pattern ? rank : PAT_EXSCAN == pattern ? rank + 1 : 0;

        for (int i = from; i < n; i++) {
            send_piece(&p, (struct piece){own, c->total, c->type}, i, 0);
        }
        upto = PAT_SCAN == pattern ? rank + 1 : PAT_EXSCAN == pattern ? rank : n;
    }
    if (C_reduce_scatter == c->coll) {
        for (int i = 0; i < rank; i++) {
            skip += (size_t) c->r.counts[i];
        }
        count = c->r.counts[rank];
    } else if (C_reduce_scatter_block == c->coll) {
        skip = (size_t) rank * (size_t) c->r.count;
        count = c->r.count;
    }
    fold(c, &p, upto, skip, count, c->r.buf);
    post_close(&p);
}

static void ref_neighbor(struct call *c)
{
    const struct tcomm *t = c->tc;
    struct post p;

    post_open(&p, c, t->nin + t->nout);
    for (int i = 0; i < t->nin; i++) {
        if (MPI_PROC_NULL != t->in[i].peer) {
            recv_piece(&p, block(c, &c->r, i), t->in[i].peer, 1 + t->in[i].slot);
        }
    }
    for (int i = 0; i < t->nout; i++) {
        if (MPI_PROC_NULL != t->out[i].peer) {
            send_piece(&p,
                       PAT_NALLGATHER == colls[c->coll].pattern ? whole(&c->s) : block(c, &c->s, i),
                       t->out[i].peer, 1 + t->out[i].slot);
        }
    }
    post_close(&p);
}

void ref_run(struct call *c)
{
    static void (*const by_pattern[])(
        struct call *) = {[PAT_BARRIER] = ref_barrier,     [PAT_BCAST] = ref_bcast,
                          [PAT_ALLGATHER] = ref_allgather, [PAT_GATHER] = ref_gather,
                          [PAT_SCATTER] = ref_scatter,     [PAT_ALLTOALL] = ref_alltoall,
                          [PAT_REDUCE] = ref_reduction,    [PAT_ALLREDUCE] = ref_reduction,
                          [PAT_REDSCAT] = ref_reduction,   [PAT_SCAN] = ref_reduction,
                          [PAT_EXSCAN] = ref_reduction,    [PAT_NALLGATHER] = ref_neighbor,
                          [PAT_NALLTOALL] = ref_neighbor};

    by_pattern[colls[c->coll].pattern](c);
}
