/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Filling, issuing, and comparing one instance of a collective operation. See inst.h.
 */
#include "inst.h"

#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Open MPI 4 has the persistent collectives of MPI-4 as an extension. */
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_MAJOR_VERSION < 5
#define INIT_NAME(Cap) MPIX_##Cap##_init
#else
#define INIT_NAME(Cap) MPI_##Cap##_init
#endif

static void random_bytes(char *at, size_t len, uint64_t seed)
{
    uint64_t x = seed | 1;

    /* Lengths are multiples of 64. */
    for (size_t i = 0; i < len; i += sizeof(x)) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        memcpy(at + i, &x, sizeof(x));
    }
}

void inst_fill(struct inst *t, int round)
{
    const struct tcomm *tc = t->spec.tc;
    struct side *both[2] = {&t->s, &t->r};
    uint64_t mine =
        hash4(t->spec.seed, 77, (uint64_t) (tc->side * 1000 + tc->rank), (uint64_t) round);

    for (int i = 0; i < 2; i++) {
        random_bytes(both[i]->mem[0], both[i]->len, mix64(mine + (uint64_t) i));
    }
    if (coll_is_reduction(t->spec.coll)) {
        struct side *input = t->s.live ? &t->s : &t->r;

        if (input->live) {
            layout_values(input->ly[0], input->org[0], (size_t) input->counts[0], t->spec.op, mine);
        }
    }
    for (int i = 0; i < 2; i++) {
        memcpy(both[i]->mem[1], both[i]->mem[0], both[i]->len);
    }
    t->call[0].entered = t->call[1].entered = now_seconds();
}

int inst_issue(struct inst *t, enum mode mode)
{
    struct call *c = &t->call[0];

    /* Open MPI 4.1's reduce_init takes two NULL buffers for aliased ones, whatever the count. */
    if (MODE_PERSISTENT == mode && coll_is_reduction(c->coll) && NULL == c->s.buf
        && NULL == c->r.buf) {
        c->s.buf = t->s.org[0];
    }
    t->call[1].entered = now_seconds();
    switch (c->coll) {
#define COLL(low, Cap, pattern, style, vary, inplace, inter, ...)            \
    case C_##low:                                                            \
        return MODE_BLOCKING == mode      ? MPI_##Cap(__VA_ARGS__)           \
               : MODE_NONBLOCKING == mode ? MPI_I##low(__VA_ARGS__, &t->req) \
                                          : INIT_NAME(Cap)(__VA_ARGS__, MPI_INFO_NULL, &t->req);
#include "colls.def"
#undef COLL
    default:
        return MPI_ERR_ARG;
    }
}

void inst_reference(struct inst *t)
{
    ref_run(&t->call[1]);
}

/* Which block of a side owns the byte at `at` from the origin; -1: none. */
static int owner(const struct side *s, ptrdiff_t at, long *element)
{
    for (int b = 0; b < s->nblk; b++) {
        *element = layout_owner(s->ly[b], (size_t) s->counts[b], at - s->disp[b]);
        if (0 <= *element) {
            return b;
        }
    }
    return -1;
}

static void report(const struct side *s, const char *which, size_t byte)
{
    ptrdiff_t at = s->mem[0] + byte - s->org[0];
    long element = -1;
    int b = owner(s, at, &element);
    char got[80], want[80];

    if (0 > b) {
        fail("%s buffer: byte at %ld %s was overwritten: %02x became %02x", which, (long) at,
             byte < (size_t) (s->org[0] + s->lo - s->mem[0]) ? "before the buffer"
                                                             : "in a gap or behind the buffer",
             (unsigned char) s->mem[1][byte], (unsigned char) s->mem[0][byte]);
        return;
    }
    layout_print(s->ly[b], s->org[1] + s->disp[b], (size_t) element, want, sizeof(want));
    layout_print(s->ly[b], s->org[0] + s->disp[b], (size_t) element, got, sizeof(got));
    fail("%s buffer: block %d (%d x %s) element %ld of %zu: expected %s got %s", which, b,
         s->counts[b], s->ly[b]->name, element, s->basics[b], want, got);
}

static void compare_side(const struct side *s, const char *which)
{
    size_t i = 0;

    if (0 == memcmp(s->mem[0], s->mem[1], s->len)) {
        return;
    }
    while (s->mem[0][i] == s->mem[1][i]) {
        i++;
    }
    report(s, which, i);
}

void inst_compare(struct inst *t)
{
    if (coll_is_reduction(t->spec.coll) && t->r.live) {
        const struct layout *l = t->r.ly[0];
        size_t count = (size_t) t->r.counts[0];

        layout_canonical(l, t->r.org[0], count);
        layout_canonical(l, t->r.org[1], count);
        if (t->defined < t->r.basics[0]) {
            layout_copy_tail(l, t->r.org[0], t->r.org[1], count, t->defined);
        }
    }
    compare_side(&t->s, "send");
    compare_side(&t->r, "receive");
}

void inst_describe(const struct spec *sp, char *text, size_t len)
{
    bool reduction = coll_is_reduction(sp->coll);

    snprintf(text, len, "%s comm=%s kind=%s shapes=%s/%s unit=%dx%zu%s%s root=%u%s%s%s",
             colls[sp->coll].name, sp->tc->name, kinds[sp->kind].name,
             0 <= sp->shape_s ? shape_name((enum shape) sp->shape_s) : "any",
             0 <= sp->shape_r ? shape_name((enum shape) sp->shape_r) : "any", sp->unit, sp->units,
             reduction ? " op=" : "", reduction ? op_name(sp->op) : "", sp->root,
             sp->inplace ? " inplace" : "", sp->bottom ? " bottom" : "",
             sp->sloppy ? " sloppy" : "");
}

static void dump_side(const struct side *s, const char *which)
{
    if (!s->live) {
        return;
    }
    printf("#   %s:", which);
    for (int b = 0; b < s->nblk; b++) {
        printf(" %zu=%dx%s@%ld", s->basics[b], s->counts[b], s->ly[b]->name, (long) s->disp[b]);
    }
    printf("%s\n", NULL != s->at ? " bottom" : "");
}

void inst_dump(const struct inst *t)
{
    printf("#  [rank %d of %s, root %d]\n", t->spec.tc->rank, t->spec.tc->name, t->root);
    dump_side(&t->s, "send");
    dump_side(&t->r, "receive");
    fflush(stdout);
}
