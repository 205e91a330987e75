/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Building one instance of a collective operation: block sizes, layouts, buffers, arguments. See inst.h;
 * issuing and comparing are in inst_run.c.
 */
#include "inst.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 64
/* Purposes of hashes, so that no two choices of a case hang together. */
enum {
    H_SIZE = 11,
    H_LAYOUT,
    H_ORDER,
    H_GAP,
    H_SKEW,
    H_BOTTOM,
    H_ZERO,
    H_SHARE,
    H_DIR,
    H_SLOPPY,
    H_LENT
};

static bool is_inter(const struct spec *sp)
{
    return 0 < sp->tc->rsize;
}

static int peers_of(const struct spec *sp)
{
    return is_inter(sp) ? sp->tc->rsize : sp->tc->size;
}

static bool mine_is_root(const struct inst *t)
{
    return is_inter(&t->spec) ? MPI_ROOT == t->root : t->root == t->spec.tc->rank;
}

static bool takes_part(const struct inst *t)
{
    return !(is_inter(&t->spec) && MPI_PROC_NULL == t->root);
}

static int passed_root(const struct spec *sp)
{
    const struct tcomm *tc = sp->tc;
    int side = (int) (sp->root & 1), group;

    if (!is_inter(sp)) {
        return (int) (sp->root % (unsigned) tc->size);
    }
    group = side == tc->side ? tc->size : tc->rsize;
    if (side != tc->side) {
        return (int) ((sp->root >> 1) % (unsigned) group);
    }
    return (int) ((sp->root >> 1) % (unsigned) group) == tc->rank ? MPI_ROOT : MPI_PROC_NULL;
}

/* ---- how many basic elements go from rank i of group `from` to rank j ---- */

static size_t varied(const struct spec *sp, uint64_t h)
{
    if (0 == sp->units || 0 == h % 8) {
        return 0;
    }
    return (1 == h % 8 ? 1 : 1 + (h >> 8) % (2 * sp->units)) * (size_t) sp->unit;
}

static size_t basics(const struct spec *sp, int from, int i, int j, int nth)
{
    uint64_t where = (uint64_t) from * 64 + (uint64_t) nth;
    int a = i, b = j;

    switch (colls[sp->coll].vary) {
    case BY_SRC:
        return varied(sp, hash4(sp->seed, H_SIZE, (uint64_t) from, (uint64_t) i));
    case BY_DST:
        return varied(sp, hash4(sp->seed, H_SIZE, (uint64_t) from, (uint64_t) j));
    case BY_PAIR:
        if (sp->inplace) {
            a = i < j ? i : j;
            b = i < j ? j : i;
        }
        return varied(sp, hash4(hash4(sp->seed, H_SIZE, where, 0), 0, (uint64_t) a, (uint64_t) b));
    default:
        /* The two directions of an inter-communicator are independent. */
        if (is_inter(sp) && !coll_is_reduction(sp->coll)) {
            uint64_t h = hash4(sp->seed, H_DIR, (uint64_t) from, 0) % 4;

            return (0 == h ? 0 : 1 == h ? sp->units / 2 : sp->units) * (size_t) sp->unit;
        }
        return sp->units * (size_t) sp->unit;
    }
}

/* Basic elements that local rank j receives of a reduce_scatter. On inter-communicators both groups share
 * out the same total, each in its own way. */
static size_t share(const struct spec *sp, int j)
{
    const struct tcomm *tc = sp->tc;
    bool even = SAME == colls[sp->coll].vary;
    size_t each = sp->units * (size_t) (is_inter(sp) ? tc->rsize : 1), move;
    int buddy = j ^ 1;

    if (!is_inter(sp) && !even) {
        return basics(sp, 0, 0, j, 0);
    }
    if (even || buddy >= tc->size) {
        return each * (size_t) sp->unit;
    }
    move = hash4(sp->seed, H_SHARE, (uint64_t) tc->side, (uint64_t) (j / 2)) % (each + 1);
    return (0 == j % 2 ? each - move : each + move) * (size_t) sp->unit;
}

static size_t share_total(const struct spec *sp)
{
    size_t total = 0;

    for (int j = 0; j < sp->tc->size; j++) {
        total += share(sp, j);
    }
    return total;
}

/* ---- which blocks each side has ---- */

static void add_block(struct side *s, size_t n)
{
    s->live = true;
    s->basics[s->nblk++] = n;
}

/* One block per peer of data this rank sends (out) or receives. */
static void add_per_peer(struct inst *t, struct side *s, bool out)
{
    const struct tcomm *tc = t->spec.tc;
    int other = is_inter(&t->spec) ? 1 - tc->side : tc->side;

    s->live = true;
    for (int p = 0; p < peers_of(&t->spec); p++) {
        add_block(s, out ? basics(&t->spec, tc->side, tc->rank, p, 0)
                         : basics(&t->spec, other, p, tc->rank, 0));
    }
}

static void add_per_edge(struct inst *t, struct side *s, const struct edge *e, int n, bool out)
{
    int me = t->spec.tc->rank;

    s->live = true;
    for (int i = 0; i < n; i++) {
        int peer = MPI_PROC_NULL == e[i].peer ? 0 : e[i].peer;

        add_block(s, out ? basics(&t->spec, 0, me, peer, e[i].nth)
                         : basics(&t->spec, 0, peer, me, e[i].nth));
    }
}

static void reduction_blocks(struct inst *t, size_t contributed, size_t result, bool has_result)
{
    bool inplace =
        t->spec.inplace && (PAT_REDUCE != colls[t->spec.coll].pattern || mine_is_root(t));
    bool gives = takes_part(t) && !(is_inter(&t->spec) && MPI_ROOT == t->root);

    if (PAT_REDUCE != colls[t->spec.coll].pattern) {
        gives = true;
    }
    if (gives && !inplace) {
        add_block(&t->s, contributed);
    }
    if (has_result) {
        add_block(&t->r, inplace ? contributed : result);
        t->defined = result;
    }
}

static void choose_blocks(struct inst *t)
{
    const struct spec *sp = &t->spec;
    const struct tcomm *tc = sp->tc;
    int me = tc->rank, my = tc->side, other = is_inter(sp) ? 1 - my : my;
    bool root = coll_is_rooted(sp->coll) && mine_is_root(t);
    bool leaf = takes_part(t) && !(is_inter(sp) && root);

    t->defined = SIZE_MAX;
    switch (colls[sp->coll].pattern) {
    case PAT_BARRIER:
        break;
    case PAT_BCAST:
        if (takes_part(t)) {
            add_block(&t->r, basics(sp, root ? my : other, 0, 0, 0));
        }
        break;
    case PAT_ALLGATHER:
        if (!sp->inplace) {
            add_block(&t->s, basics(sp, my, me, 0, 0));
        }
        add_per_peer(t, &t->r, false);
        break;
    case PAT_GATHER:
        if (leaf && !(sp->inplace && root)) {
            add_block(&t->s, basics(sp, my, me, 0, 0));
        }
        if (root) {
            add_per_peer(t, &t->r, false);
        }
        break;
    case PAT_SCATTER:
        if (leaf && !(sp->inplace && root)) {
            add_block(&t->r, basics(sp, other, 0, me, 0));
        }
        if (root) {
            add_per_peer(t, &t->s, true);
        }
        break;
    case PAT_ALLTOALL:
        if (!sp->inplace) {
            add_per_peer(t, &t->s, true);
        }
        add_per_peer(t, &t->r, false);
        break;
    case PAT_REDUCE:
        reduction_blocks(t, basics(sp, 0, 0, 0, 0), basics(sp, 0, 0, 0, 0), root);
        break;
    case PAT_REDSCAT:
        reduction_blocks(t, share_total(sp), share(sp, me), true);
        break;
    case PAT_ALLREDUCE:
    case PAT_SCAN:
    case PAT_EXSCAN:
        reduction_blocks(t, basics(sp, 0, 0, 0, 0), basics(sp, 0, 0, 0, 0), true);
        break;
    case PAT_NALLGATHER:
        add_block(&t->s, basics(sp, 0, me, 0, 0));
        add_per_edge(t, &t->r, tc->in, tc->nin, false);
        break;
    case PAT_NALLTOALL:
        add_per_edge(t, &t->s, tc->out, tc->nout, true);
        add_per_edge(t, &t->r, tc->in, tc->nin, false);
        break;
    }
}

/* ---- layouts and places ---- */

static uint64_t local_hash(const struct inst *t, bool send, int what, int more)
{
    const struct tcomm *tc = t->spec.tc;

    return hash4(t->spec.seed, (uint64_t) what,
                 (uint64_t) (tc->side * 1000 + tc->rank) * 2 + (send ? 1 : 0), (uint64_t) more);
}

static const struct layout *pick_layout(const struct inst *t, bool send, int blk, size_t total)
{
    const struct spec *sp = &t->spec;
    int forced = send ? sp->shape_s : sp->shape_r, fitting[SHAPE_COUNT], n = 0;
    uint64_t h = avoid.mixed ? hash4(sp->seed, H_LAYOUT, 0, 0) : local_hash(t, send, H_LAYOUT, blk);
    const struct layout *l;

    if (0 <= forced) {
        l = layout_get(sp->kind, (enum shape) forced);
        return 0 == l->m || total / (size_t) l->m <= (size_t) l->maxitems
                   ? l
                   : layout_get(sp->kind, SH_PLAIN);
    }
    if (0 == total && 0 == h % 3 && !avoid.zerotypes) {
        return layout_get(sp->kind, SH_ZERO);
    }
    for (int s = 0; s < SH_ZERO; s++) {
        l = layout_get(sp->kind, (enum shape) s);
        if (!(avoid.derived && SH_PLAIN != s) && 0 == sp->unit % l->m
            && total / (size_t) l->m <= (size_t) l->maxitems) {
            fitting[n++] = s;
        }
    }
    /* The plain type is as frequent as all others together would make it rare. */
    return layout_get(sp->kind,
                      0 == h % 4 ? SH_PLAIN : (enum shape) fitting[(h >> 8) % (uint64_t) n]);
}

static void choose_layouts(struct inst *t, struct side *s, bool send)
{
    bool per_block =
        TYP == colls[t->spec.coll].style && PAT_NALLGATHER != colls[t->spec.coll].pattern;
    size_t total = 0;

    for (int b = 0; b < s->nblk; b++) {
        total += s->basics[b];
    }
    for (int b = 0; b < s->nblk; b++) {
        const struct layout *l =
            pick_layout(t, send, per_block ? b : 0, per_block ? s->basics[b] : total);

        s->ly[b] = l;
        if (0 < l->m) {
            s->counts[b] = (int) (s->basics[b] / (size_t) l->m);
        } else {
            s->counts[b] = (int) (local_hash(t, send, H_ZERO, per_block ? b : 0) % 4);
        }
    }
}

/* Blocks one behind the other in memory, in the order of `order`, gaps in between. */
static void place_blocks(struct inst *t, struct side *s, bool send, const int *order, bool bytes)
{
    ptrdiff_t cursor = 0, lo, hi;

    for (int i = 0; i < s->nblk; i++) {
        int b = order[i];
        const struct layout *l = s->ly[b];
        uint64_t h = local_hash(t, send, H_GAP, b);
        ptrdiff_t gap = 0 == h % 2 ? 0 : (ptrdiff_t) ((h >> 8) % 4);

        layout_span(l, (size_t) s->counts[b], &lo, &hi);
        if (lo == hi) {
            s->disp[b] = bytes ? (ptrdiff_t) (h % 99) - 50 : ((ptrdiff_t) (h % 9) - 4) * l->extent;
        } else if (bytes) {
            s->disp[b] = (cursor - lo + 15 + 16 * gap) / 16 * 16;
            cursor = s->disp[b] + hi;
        } else {
            s->disp[b] = cursor + (INT32_MAX == l->maxitems ? gap * l->extent : 0);
            cursor = s->disp[b] + s->counts[b] * l->extent;
        }
    }
}

static void choose_places(struct inst *t, struct side *s, bool send)
{
    enum style style = colls[t->spec.coll].style;
    int *order = xalloc((size_t) (s->nblk + 1) * sizeof(*order));
    struct rng r = {local_hash(t, send, H_ORDER, 0)};
    bool shuffled = 0 != rng_below(&r, 3);

    for (int b = 0; b < s->nblk; b++) {
        int j = shuffled ? (int) rng_below(&r, (uint64_t) b + 1) : b;

        order[b] = order[j];
        order[j] = b;
        s->disp[b] = (ptrdiff_t) b * s->counts[b] * s->ly[b]->extent;
    }
    if (FLAT != style && 1 < s->nblk) {
        place_blocks(t, s, send, order, TYP == style);
    }
    free(order);
}

static void allocate(struct inst *t, struct side *s, bool send)
{
    ptrdiff_t lo = PTRDIFF_MAX, hi = PTRDIFF_MIN, a, b, skew, pad;

    for (int i = 0; i < s->nblk; i++) {
        layout_span(s->ly[i], (size_t) s->counts[i], &a, &b);
        if (a != b) {
            lo = s->disp[i] + a < lo ? s->disp[i] + a : lo;
            hi = s->disp[i] + b > hi ? s->disp[i] + b : hi;
        }
    }
    if (lo > hi) {
        lo = hi = 0;
    }
    pad = (lo % 16 + 16) % 16;
    skew = (ptrdiff_t) (local_hash(t, send, H_SKEW, 0) % 4 * kinds[t->spec.kind].extent);
    s->lo = lo;
    s->len = (size_t) (GUARD + pad + skew + (hi - lo) + GUARD + 63) / 64 * 64;
    for (int v = 0; v < 2; v++) {
        /* Each rank as it likes: also what peers may read where it lies must be right beside copies. */
        bool lent = 0 == v && 0 == local_hash(t, send, H_LENT, 0) % 2;
        if (lent) {
            must(MPI_Alloc_mem((MPI_Aint) s->len, MPI_INFO_NULL, &s->mem[v]), "alloc_mem");
        } else {
            s->mem[v] = aligned_alloc(64, s->len);
        }
        s->lent = s->lent || lent;
        if (NULL == s->mem[v]) {
            fail("out of memory");
            abort();
        }
        s->org[v] = s->mem[v] + GUARD + pad + skew - lo;
    }
}

/* ---- arguments ---- */

static void make_types(struct inst *t, struct side *s, bool send)
{
    bool reduction = coll_is_reduction(t->spec.coll);
    bool bottom = t->spec.bottom && 0 < s->nblk && 0 == local_hash(t, send, H_BOTTOM, 0) % 2;

    /* Both buffers of a reduction share one datatype: absolute addresses fit only in place. */
    if (reduction
        && (!op_is_user(t->spec.op) || !t->spec.inplace
            || PAT_REDUCE == colls[t->spec.coll].pattern)) {
        bottom = false;
    }
    if (bottom) {
        s->at = xalloc((size_t) s->nblk * sizeof(*s->at));
    }
    /* Open MPI 4.1's MPI_Ialltoallw reads as many types as the communicator has neighbours, if it has. */
    for (size_t b = 0; b < t->blocks; b++) {
        s->types[0][b] = s->types[1][b] = kinds[t->spec.kind].type;
    }
    for (int b = 0; b < s->nblk; b++) {
        s->types[0][b] = s->types[1][b] = s->ly[b]->type;
        if (bottom) {
            s->at[b] = layout_at(s->ly[b], s->org[0]);
            s->types[0][b] = s->at[b]->type;
        }
        s->adispls[b] = s->disp[b];
        s->displs[b] = (int) s->disp[b];
        if (VEC == colls[t->spec.coll].style && 0 != s->ly[b]->extent) {
            s->displs[b] = (int) (s->disp[b] / s->ly[b]->extent);
        }
    }
}

static void set_args(const struct inst *t, struct args *a, const struct side *s, int v, bool send)
{
    bool adispls = PAT_NALLTOALL == colls[t->spec.coll].pattern && TYP == colls[t->spec.coll].style;
    /* Open MPI's own argument check of bcast looks at the bystanders of an inter-communicator too. */
    bool sloppy = 0 == v && t->spec.sloppy && C_bcast != t->spec.coll;
    uint64_t h = local_hash(t, send, H_SLOPPY, 0);

    *a = (struct args){.type = sloppy ? MPI_DATATYPE_NULL : MPI_INT};
    if (!s->live) {
        /* Nobody may conclude anything from it; Open MPI's bindings return early from some zero counts. */
        a->count = sloppy && 0 == h % 3 ? -3 : 1 == h % 3 ? 5 : 0;
        return;
    }
    a->buf = NULL != s->at && 0 == v ? MPI_BOTTOM : s->org[v];
    a->counts = s->counts;
    a->displs = s->displs;
    a->adispls = adispls ? s->adispls : NULL;
    a->types = s->types[v];
    a->type = 0 < s->nblk ? s->types[v][0] : kinds[t->spec.kind].type;
    /* Without neighbours there is no block, but Open MPI compares the two counts all the same. */
    a->count = 0 < s->nblk ? s->counts[0] : (int) (t->spec.units * (size_t) t->spec.unit);
    if (0 == v && NULL == s->at && t->spec.sloppy && 0 == s->nblk) {
        a->buf = NULL;
    }
}

/* The count and type of a reduction, which have only one place in the argument list. */
static void set_reduction(struct inst *t, struct call *c, int v)
{
    const struct spec *sp = &t->spec;
    const struct layout *l = layout_get(sp->kind, (enum shape) sp->shape_s);
    const struct side *side = t->s.live ? &t->s : &t->r;
    size_t n = PAT_REDSCAT == colls[sp->coll].pattern ? share_total(sp) : basics(sp, 0, 0, 0, 0);

    c->lay = side->live ? side->ly[0] : l;
    c->type = side->live ? side->types[v][0] : l->type;
    c->total = c->count = (int) (n / (size_t) c->lay->m);
    if (!side->live && 0 == v && sp->sloppy) {
        c->count = 0;
    }
    if (PAT_REDSCAT == colls[sp->coll].pattern) {
        if (NULL == t->shares) {
            t->shares = xalloc((size_t) sp->tc->size * sizeof(*t->shares));
        }
        for (int j = 0; j < sp->tc->size; j++) {
            t->shares[j] = (int) (share(sp, j) / (size_t) c->lay->m);
        }
        c->r.counts = t->shares;
        c->r.count = t->shares[0];
    }
    if (0 == v && sp->sloppy && 0 == c->total) {
        c->s.buf = MPI_IN_PLACE == c->s.buf ? c->s.buf : NULL;
        c->r.buf = NULL;
    }
}

static void make_call(struct inst *t, int v)
{
    const struct spec *sp = &t->spec;
    struct call *c = &t->call[v];
    bool root = coll_is_rooted(sp->coll) && mine_is_root(t);
    enum inplace kind = colls[sp->coll].inplace;

    *c = (struct call){
        .coll = sp->coll, .tc = sp->tc, .comm = sp->tc->comm, .root = t->root, .opid = sp->op};
    set_args(t, &c->s, &t->s, v, true);
    set_args(t, &c->r, &t->r, v, false);
    if (sp->inplace && (INP_ALL == kind || (INP_ROOT_S == kind && root))) {
        c->s.buf = MPI_IN_PLACE;
    } else if (sp->inplace && INP_ROOT_R == kind && root) {
        c->r.buf = MPI_IN_PLACE;
    }
    if (coll_is_reduction(sp->coll)) {
        c->op = op_handle(sp->op);
        set_reduction(t, c, v);
    }
}

static void side_open(struct side *s, size_t blocks)
{
    s->basics = xalloc(blocks * sizeof(*s->basics));
    s->counts = xalloc(blocks * sizeof(*s->counts));
    s->disp = xalloc(blocks * sizeof(*s->disp));
    s->ly = xalloc(blocks * sizeof(*s->ly));
    s->displs = xalloc(blocks * sizeof(*s->displs));
    s->adispls = xalloc(blocks * sizeof(*s->adispls));
    s->types[0] = xalloc(blocks * sizeof(MPI_Datatype));
    s->types[1] = xalloc(blocks * sizeof(MPI_Datatype));
}

static void side_build(struct inst *t, struct side *s, bool send)
{
    choose_layouts(t, s, send);
    choose_places(t, s, send);
    allocate(t, s, send);
    make_types(t, s, send);
}

bool inst_build(struct inst *t, const struct spec *spec)
{
    const struct tcomm *tc = spec->tc;

    *t = (struct inst){.spec = *spec, .req = MPI_REQUEST_NULL};
    if (MPI_COMM_NULL == tc->comm) {
        return false;
    }
    t->spec.bottom = spec->bottom && !avoid.bottom;
    t->spec.sloppy = spec->sloppy && !avoid.rubbish;
    t->spec.inplace = spec->inplace && !is_inter(spec) && INP_NO != colls[spec->coll].inplace;
    t->root = coll_is_rooted(spec->coll) ? passed_root(spec) : 0;
    t->blocks = (size_t) (tc->size + tc->rsize + tc->nin + tc->nout + 1);
    side_open(&t->s, t->blocks);
    side_open(&t->r, t->blocks);
    choose_blocks(t);
    side_build(t, &t->s, true);
    side_build(t, &t->r, false);
    make_call(t, 0);
    make_call(t, 1);
    return true;
}

void inst_drop_types(struct inst *t)
{
    struct side *both[2] = {&t->s, &t->r};

    if (C_alltoallw == t->spec.coll && t->spec.tc->topo) {
        return; /* Open MPI 4.1 holds the wrong number of types there, see make_types */
    }
    for (int i = 0; i < 2; i++) {
        for (int b = 0; NULL != both[i]->at && b < both[i]->nblk; b++) {
            if (MPI_DATATYPE_NULL != both[i]->at[b]->type) {
                MPI_Type_free(&both[i]->at[b]->type);
            }
        }
    }
}

static void side_free(struct side *s)
{
    for (int b = 0; NULL != s->at && b < s->nblk; b++) {
        layout_release(s->at[b]);
    }
    free(s->at);
    free(s->basics);
    free(s->counts);
    free(s->disp);
    free(s->ly);
    free(s->displs);
    free(s->adispls);
    free(s->types[0]);
    free(s->types[1]);
    if (s->lent) {
        must(MPI_Free_mem(s->mem[0]), "free_mem");
    } else {
        free(s->mem[0]);
    }
    free(s->mem[1]);
}

void inst_free(struct inst *t)
{
    if (MPI_COMM_NULL != t->spec.tc->comm) {
        side_free(&t->s);
        side_free(&t->r);
        free(t->shares);
    }
}
