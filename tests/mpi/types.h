/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The datatypes, reduction operations and memory layouts of the differential tests. Each layout is kept
 * twice: as an MPI datatype and as a plain list of offsets that was computed without MPI, so that filling,
 * reducing and comparing never ask the library under test. Knows no collective and no communicator.
 */
#ifndef HCCL_TESTS_MPI_TYPES_H
#define HCCL_TESTS_MPI_TYPES_H

#include "harness.h"

#include <complex.h>
#include <mpi.h>

/* GRP_FINT: Fortran's integers, which have no logical ops. */
enum group { GRP_NONE, GRP_BYTE, GRP_INT, GRP_FINT, GRP_FLT, GRP_LOG, GRP_CPX, GRP_PAIR };

enum kind_id {
#define KIND(name, ctype, mpitype, group) K_##name,
#define PAIR(name, ctype, ktype, mpitype) K_##name,
#include "kinds.def"
#undef KIND
#undef PAIR
    K_record, /* struct { double; int; char; }: an element that is itself derived */
    KIND_COUNT
};

/* A basic element: what one entry of a layout's offset list stands for. */
struct kind {
    const char *name;
    MPI_Datatype type;
    size_t extent;
    enum group group;
    int nfield; /* pieces of content within the extent; between them lies padding */
    struct {
        size_t off, len, significant; /* bytes of len that carry the value: fewer for long double */
        bool real;                    /* of a pair: a float of any size, else an integer */
    } field[3];
};

enum shape {
    SH_PLAIN,    /* the basic type itself */
    SH_CONTIG2,  /* two in a row */
    SH_CONTIG10, /* ten in a row */
    SH_VEC3,     /* vector with gaps: 3 blocks of 1, stride 2 */
    SH_VEC12,    /* vector with gaps: 4 blocks of 3, stride 5 */
    SH_NEGLB,    /* negative lower bound */
    SH_WIDE,     /* extent larger than the content */
    SH_WEAVE2,   /* extent smaller than the span: items interleave */
    SH_WEAVE4,
    SH_POSLB,   /* positive lower bound */
    SH_TRUELB,  /* lower bound 0, content starts later */
    SH_REVERSE, /* type map runs backwards through memory */
    SH_ODD,     /* struct with gaps at addresses that are not aligned */
    SH_NESTED,  /* vector of SH_NEGLB */
    SH_LONG60,  /* 60 in 6 blocks: long type map */
    SH_BACK,    /* negative extent: items follow one another downwards */
    SH_ZERO,    /* no content at all */
    SHAPE_COUNT
};

struct layout {
    const char *name;
    MPI_Datatype type;
    enum kind_id kind;
    enum shape shape;
    int m;          /* basic elements per item */
    ptrdiff_t *off; /* m offsets from the origin of an item, in type map order */
    ptrdiff_t lb, extent;
    ptrdiff_t lo, hi; /* first byte and end of the content of one item */
    int maxitems;     /* more items in one buffer would overlap */
    ptrdiff_t shift;  /* added to every offset: the address in layouts for MPI_BOTTOM */
    bool named;       /* a predefined type */
    MPI_Datatype
        handle; /* temporary layouts: the type as MPI knew it, also after the user freed it */
    struct layout *next; /* in the list of temporary layouts */
};

enum op_id {
    OP_SUM,
    OP_PROD,
    OP_MIN,
    OP_MAX,
    OP_LAND,
    OP_LOR,
    OP_LXOR,
    OP_BAND,
    OP_BOR,
    OP_BXOR,
    OP_MINLOC,
    OP_MAXLOC,
    OP_UADD,   /* user, commutative: a + b + 1 */
    OP_UMAT,   /* user, not commutative: 2x2 matrices modulo a prime */
    OP_UFIRST, /* user, not commutative: (first, last) runs */
    OP_COUNT
};

extern struct kind kinds[KIND_COUNT];

void types_init(void);
void types_free(void);

const struct layout *layout_get(enum kind_id kind, enum shape shape);
const char *shape_name(enum shape shape);
/* The same layout for use with MPI_BOTTOM, its origin at `origin`. Give back with layout_release. */
struct layout *layout_at(const struct layout *l, const void *origin);
void layout_release(struct layout *l);
/* Bytes [lo, hi) that `count` items starting at the origin cover. */
void layout_span(const struct layout *l, size_t count, ptrdiff_t *lo, ptrdiff_t *hi);
/* Writes values suited to `op` to the content of `count` items. */
void layout_values(const struct layout *l, char *origin, size_t count, enum op_id op,
                   uint64_t seed);
/* Makes bytes that carry no value (padding inside long double, sign of zero) equal where the values are. */
void layout_canonical(const struct layout *l, char *origin, size_t count);
/* Copies basic elements [from, m x count) of src to dst. */
void layout_copy_tail(const struct layout *l, char *dst, const char *src, size_t count,
                      size_t from);
/* Which basic element of `count` items owns the byte at `at`; -1: none, it lies in a gap. */
long layout_owner(const struct layout *l, size_t count, ptrdiff_t at);
/* The element as text. */
void layout_print(const struct layout *l, const char *origin, size_t element, char *text,
                  size_t len);

MPI_Op op_handle(enum op_id op);
const char *op_name(enum op_id op);
bool op_is_user(enum op_id op);
bool op_accepts(enum op_id op, enum kind_id kind);
/* How many basic elements belong together for the op (4 for a matrix). */
int op_unit(enum op_id op);
/* inout = in op inout, computed here. */
void op_apply(enum op_id op, const struct layout *l, char *in, char *inout, int count);

#endif
