/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Layouts: the table of basic kinds times shapes, each as MPI datatype and as offset list. See types.h.
 */
#include "types.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Items of a weaving layout lie this many elements apart from their own next part. */
#define WEAVE 64
#define MAX_M 60

struct record {
    double d;
    int i;
    char c;
};

/* The numeric types with bytes that carry no value. */
#define SIGNIFICANT(ctype)                                                              \
    (_Generic((ctype) 0, long double                                                    \
              : (sizeof(long double) > 10 ? (size_t) 10 : sizeof(long double)), default \
              : sizeof(ctype)))

struct kind kinds[KIND_COUNT];
static struct layout table[KIND_COUNT][SHAPE_COUNT];
static struct layout *temporary;

static const char *const shape_names[SHAPE_COUNT] = {
    [SH_PLAIN] = "plain", [SH_CONTIG2] = "contig2", [SH_CONTIG10] = "contig10",
    [SH_VEC3] = "vec3",   [SH_VEC12] = "vec12",     [SH_NEGLB] = "neglb",
    [SH_WIDE] = "wide",   [SH_WEAVE2] = "weave2",   [SH_WEAVE4] = "weave4",
    [SH_POSLB] = "poslb", [SH_TRUELB] = "truelb",   [SH_REVERSE] = "reverse",
    [SH_ODD] = "odd",     [SH_NESTED] = "nested",   [SH_LONG60] = "long60",
    [SH_BACK] = "back",   [SH_ZERO] = "zero"};

static void one_field(struct kind *k, int i, size_t off, size_t len, size_t significant)
{
    k->field[i].off = off;
    k->field[i].len = len;
    k->field[i].significant = significant;
    k->nfield = i + 1;
}

static MPI_Datatype record_type(void)
{
    int lens[3] = {1, 1, 1};
    MPI_Aint at[3] = {offsetof(struct record, d), offsetof(struct record, i),
                      offsetof(struct record, c)};
    MPI_Datatype parts[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR}, packed, t;

    must(MPI_Type_create_struct(3, lens, at, parts, &packed), "type_create_struct");
    must(MPI_Type_create_resized(packed, 0, sizeof(struct record), &t), "type_create_resized");
    must(MPI_Type_commit(&t), "type_commit");
    MPI_Type_free(&packed);
    return t;
}

/* The type, or the other one where the library does not have it in that size. */
static MPI_Datatype type_of_size(MPI_Datatype type, size_t size, MPI_Datatype instead)
{
    int has = 0;

    if (MPI_DATATYPE_NULL != type) {
        must(MPI_Type_size(type, &has), "type_size");
    }
    return (size_t) has == size ? type : instead;
}

/* A complex number of long doubles has two fields, for the bytes without a value in each. */
static void number_fields(struct kind *k, size_t significant)
{
    if (GRP_CPX == k->group && 2 * sizeof(long double) == k->extent) {
        one_field(k, 0, 0, sizeof(long double), SIGNIFICANT(long double));
        one_field(k, 1, sizeof(long double), sizeof(long double), SIGNIFICANT(long double));
    } else {
        one_field(k, 0, 0, k->extent, significant);
    }
}

static void pair_fields(struct kind *k, size_t len, size_t significant, bool real, size_t k_off,
                        size_t k_len, bool k_real)
{
    one_field(k, 0, 0, len, significant);
    one_field(k, 1, k_off, k_len, k_len);
    k->field[0].real = real;
    k->field[1].real = k_real;
    if (MPI_C_FLOAT_COMPLEX == k->type || MPI_C_DOUBLE_COMPLEX == k->type) {
        k->group = GRP_NONE;
    }
}

static void kinds_init(void)
{
    struct kind *k;

#define KIND(id, ctype, mpitype, grp)                                                        \
    k = &kinds[K_##id];                                                                      \
    *k = (struct kind){.name = #id, .type = mpitype, .extent = sizeof(ctype), .group = grp}; \
    number_fields(k, SIGNIFICANT(ctype));
#define REAL(ctype) (0 != (ctype) 0.5)
#define PAIR(id, ctype, ktype, mpitype)                                                          \
    {                                                                                            \
        struct pair {                                                                            \
            ctype v;                                                                             \
            ktype k;                                                                             \
        };                                                                                       \
        k = &kinds[K_##id];                                                                      \
        *k = (struct kind){                                                                      \
            .name = #id, .type = mpitype, .extent = sizeof(struct pair), .group = GRP_PAIR};     \
        pair_fields(k, sizeof(ctype), SIGNIFICANT(ctype), REAL(ctype), offsetof(struct pair, k), \
                    sizeof(ktype), REAL(ktype));                                                 \
    }
#include "kinds.def"
#undef KIND
#undef PAIR
    k = &kinds[K_record];
    *k = (struct kind){.name = "record", .type = record_type(), .extent = sizeof(struct record)};
    one_field(k, 0, offsetof(struct record, d), sizeof(double), sizeof(double));
    one_field(k, 1, offsetof(struct record, i), sizeof(int), sizeof(int));
    one_field(k, 2, offsetof(struct record, c), 1, 1);
}

/* Gives type t an extent; the old type is freed unless it is the basic one. */
static MPI_Datatype resized(MPI_Datatype t, ptrdiff_t lb, ptrdiff_t extent, MPI_Datatype basic)
{
    MPI_Datatype r;

    must(MPI_Type_create_resized(t, lb, extent, &r), "type_create_resized");
    if (t != basic) {
        MPI_Type_free(&t);
    }
    return r;
}

/* Offsets of nblk blocks of `len` elements at the given byte displacements. */
static void put_blocks(struct layout *l, int nblk, int len, const MPI_Aint *at, ptrdiff_t e)
{
    l->m = 0;
    for (int b = 0; b < nblk; b++) {
        for (int i = 0; i < len; i++) {
            l->off[l->m++] = at[b] + i * e;
        }
    }
}

static MPI_Datatype vector(struct layout *l, int nblk, int len, int stride, MPI_Datatype basic,
                           ptrdiff_t e)
{
    MPI_Datatype t;
    MPI_Aint at[16];

    for (int b = 0; b < nblk; b++) {
        at[b] = (MPI_Aint) b * stride * e;
    }
    put_blocks(l, nblk, len, at, e);
    must(MPI_Type_vector(nblk, len, stride, basic, &t), "type_vector");
    return t;
}

static MPI_Datatype hblocks(struct layout *l, int nblk, int len, const MPI_Aint *at,
                            MPI_Datatype basic, ptrdiff_t e)
{
    MPI_Datatype t;

    put_blocks(l, nblk, len, at, e);
    must(MPI_Type_create_hindexed_block(nblk, len, at, basic, &t), "type_create_hindexed_block");
    return t;
}

static MPI_Datatype nested(struct layout *l, MPI_Datatype basic, ptrdiff_t e)
{
    MPI_Aint at[4] = {-3 * e, 0, 2 * e, e};
    MPI_Datatype inner = hblocks(l, 4, 1, at, basic, e), t;

    must(MPI_Type_vector(2, 1, 2, inner, &t), "type_vector");
    MPI_Type_free(&inner);
    for (int i = 0; i < 4; i++) {
        l->off[4 + i] = l->off[i] + 2 * 6 * e;
    }
    l->m = 8;
    return t;
}

static MPI_Datatype shape_type(struct layout *l, enum shape shape, MPI_Datatype basic, ptrdiff_t e)
{
    MPI_Datatype t;
    MPI_Aint neglb[4] = {-3 * e, 0, e, 2 * e}, back[3] = {2 * e, e, 0},
             odd[4] = {1, e + 3, 2 * e + 5, 3 * e + 5};

    switch (shape) {
    case SH_CONTIG2:
        return vector(l, 1, 2, 2, basic, e);
    case SH_CONTIG10:
        put_blocks(l, 1, 10, (MPI_Aint[]){0}, e);
        must(MPI_Type_contiguous(10, basic, &t), "type_contiguous");
        return t;
    case SH_VEC3:
        return vector(l, 3, 1, 2, basic, e);
    case SH_VEC12:
        return vector(l, 4, 3, 5, basic, e);
    case SH_NEGLB:
        return hblocks(l, 4, 1, neglb, basic, e);
    case SH_WIDE:
        put_blocks(l, 1, 1, (MPI_Aint[]){0}, e);
        return resized(basic, 0, 3 * e, basic);
    case SH_WEAVE2:
        return resized(vector(l, 2, 1, WEAVE, basic, e), 0, e, basic);
    case SH_WEAVE4:
        return resized(vector(l, 4, 1, WEAVE, basic, e), 0, e, basic);
    case SH_POSLB:
        return hblocks(l, 1, 1, (MPI_Aint[]){3 * e}, basic, e);
    case SH_TRUELB:
        return resized(hblocks(l, 1, 2, (MPI_Aint[]){4 * e}, basic, e), 0, 7 * e, basic);
    case SH_REVERSE:
        return hblocks(l, 3, 1, back, basic, e);
    case SH_ODD:
        return resized(hblocks(l, 4, 1, odd, basic, e), 0, 4 * e + 9, basic);
    case SH_NESTED:
        return nested(l, basic, e);
    case SH_LONG60:
        return vector(l, 6, 10, 11, basic, e);
    case SH_BACK:
        return resized(vector(l, 2, 1, 2, basic, e), 0, -3 * e, basic);
    case SH_ZERO:
        l->m = 0;
        must(MPI_Type_contiguous(0, basic, &t), "type_contiguous");
        return t;
    default:
        put_blocks(l, 1, 1, (MPI_Aint[]){0}, e);
        return basic;
    }
}

/* Content bounds from the offsets, and a check that MPI sees the same type. */
static void finish_layout(struct layout *l)
{
    const struct kind *k = &kinds[l->kind];
    size_t content_end = k->field[k->nfield - 1].off + k->field[k->nfield - 1].len;
    MPI_Aint lb, extent, tlb, textent;
    int bytes, want = 0;

    for (int i = 0; i < l->m; i++) {
        l->lo = 0 == i || l->off[i] < l->lo ? l->off[i] : l->lo;
        l->hi = 0 == i || l->off[i] + (ptrdiff_t) content_end > l->hi
                    ? l->off[i] + (ptrdiff_t) content_end
                    : l->hi;
    }
    for (int f = 0; f < k->nfield; f++) {
        want += (int) k->field[f].len * l->m;
    }
    must(MPI_Type_get_extent(l->type, &lb, &extent), "type_get_extent");
    must(MPI_Type_get_true_extent(l->type, &tlb, &textent), "type_get_true_extent");
    must(MPI_Type_size(l->type, &bytes), "type_size");
    l->lb = lb;
    l->extent = extent;
    if (bytes != want || (0 < l->m && (tlb != l->lo || tlb + textent != l->hi))) {
        fail("layout %s of %s: MPI says size %d, content %ld..%ld; own list %d, %ld..%ld", l->name,
             k->name, bytes, (long) tlb, (long) (tlb + textent), want, (long) l->lo, (long) l->hi);
    }
}

void types_init(void)
{
    kinds_init();
    for (int k = 0; k < KIND_COUNT; k++) {
        for (int s = 0; s < SHAPE_COUNT; s++) {
            struct layout *l = &table[k][s];

            *l = (struct layout){
                .name = shape_names[s], .kind = (enum kind_id) k, .shape = (enum shape) s};
            l->off = xalloc(MAX_M * sizeof(*l->off));
            l->maxitems = SH_WEAVE2 == s || SH_WEAVE4 == s ? WEAVE : INT_MAX;
            l->type = shape_type(l, (enum shape) s, kinds[k].type, (ptrdiff_t) kinds[k].extent);
            l->named = SH_PLAIN == s && K_record != k;
            if (SH_PLAIN != s) {
                must(MPI_Type_commit(&l->type), "type_commit");
            }
            finish_layout(l);
        }
    }
}

void types_free(void)
{
    for (int k = 0; k < KIND_COUNT; k++) {
        for (int s = 0; s < SHAPE_COUNT; s++) {
            if (SH_PLAIN != s) {
                MPI_Type_free(&table[k][s].type);
            }
            free(table[k][s].off);
        }
    }
    MPI_Type_free(&kinds[K_record].type);
}

const struct layout *layout_get(enum kind_id kind, enum shape shape)
{
    return &table[kind][shape];
}

const char *shape_name(enum shape shape)
{
    return shape_names[shape];
}

struct layout *layout_at(const struct layout *l, const void *origin)
{
    struct layout *t = xalloc(sizeof(*t));
    MPI_Aint at;

    *t = *l;
    must(MPI_Get_address(origin, &at), "get_address");
    t->shift = at;
    must(MPI_Type_create_hindexed_block(1, 1, &at, l->type, &t->type),
         "type_create_hindexed_block");
    must(MPI_Type_commit(&t->type), "type_commit");
    t->handle = t->type;
    t->next = temporary;
    temporary = t;
    return t;
}

void layout_release(struct layout *l)
{
    struct layout **p = &temporary;

    while (*p != l) {
        p = &(*p)->next;
    }
    *p = l->next;
    if (MPI_DATATYPE_NULL != l->type) {
        MPI_Type_free(&l->type);
    }
    free(l);
}

void layout_span(const struct layout *l, size_t count, ptrdiff_t *lo, ptrdiff_t *hi)
{
    ptrdiff_t last = 0 == count ? 0 : (ptrdiff_t) (count - 1) * l->extent;

    if (0 == count || 0 == l->m) {
        *lo = *hi = 0;
        return;
    }
    *lo = l->lo + (last < 0 ? last : 0);
    *hi = l->hi + (last > 0 ? last : 0);
}

/* The layout of a handle that a user function was given. */
const struct layout *layout_of_handle(MPI_Datatype type)
{
    for (int s = 0; s < SHAPE_COUNT; s++) {
        if (table[K_int][s].type == type) {
            return &table[K_int][s];
        }
    }
    for (const struct layout *t = temporary; NULL != t; t = t->next) {
        if (t->handle == type) {
            return t;
        }
    }
    return NULL;
}

void layout_copy_tail(const struct layout *l, char *dst, const char *src, size_t count, size_t from)
{
    const struct kind *k = &kinds[l->kind];

    for (size_t e = from; e < count * (size_t) l->m; e++) {
        ptrdiff_t at = (ptrdiff_t) (e / (size_t) l->m) * l->extent + l->off[e % (size_t) l->m];

        for (int f = 0; f < k->nfield; f++) {
            memcpy(dst + at + k->field[f].off, src + at + k->field[f].off, k->field[f].len);
        }
    }
}

long layout_owner(const struct layout *l, size_t count, ptrdiff_t at)
{
    const struct kind *k = &kinds[l->kind];

    for (size_t e = 0; e < count * (size_t) l->m; e++) {
        ptrdiff_t o = (ptrdiff_t) (e / (size_t) l->m) * l->extent + l->off[e % (size_t) l->m];

        for (int f = 0; f < k->nfield; f++) {
            ptrdiff_t lo = o + (ptrdiff_t) k->field[f].off;

            if (at >= lo && at < lo + (ptrdiff_t) k->field[f].len) {
                return (long) e;
            }
        }
    }
    return -1;
}
