/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values and reduction operations of the differential tests, computed here element by element; and the
 * user-defined operations that are handed to MPI. See types.h. All values are chosen so that any
 * association of an operation gives the same bits (integers modulo 2^n, small integral floats).
 */
#include "types.h"

#include <stdio.h>
#include <string.h>

#define PRIME 9973u

/* Defined in types.c: only the user functions below need it. */
const struct layout *layout_of_handle(MPI_Datatype type);

static const char *const op_names[OP_COUNT] = {
    [OP_SUM] = "sum",       [OP_PROD] = "prod",     [OP_MIN] = "min",      [OP_MAX] = "max",
    [OP_LAND] = "land",     [OP_LOR] = "lor",       [OP_LXOR] = "lxor",    [OP_BAND] = "band",
    [OP_BOR] = "bor",       [OP_BXOR] = "bxor",     [OP_UADD] = "uadd",    [OP_UMAT] = "umat",
    [OP_UFIRST] = "ufirst", [OP_MINLOC] = "minloc", [OP_MAXLOC] = "maxloc"};

static MPI_Op user_handles[3];

/* ---- the element functions: y = x op y ---- */

#define INT_OPS(T)                                                    \
    switch (op) {                                                     \
    case OP_SUM:                                                      \
        return (T) ((unsigned long long) x + (unsigned long long) y); \
    case OP_PROD:                                                     \
        return (T) ((unsigned long long) x * (unsigned long long) y); \
    case OP_MIN:                                                      \
        return x < y ? x : y;                                         \
    case OP_MAX:                                                      \
        return x > y ? x : y;                                         \
    case OP_LAND:                                                     \
        return x && y;                                                \
    case OP_LOR:                                                      \
        return x || y;                                                \
    case OP_LXOR:                                                     \
        return !x != !y;                                              \
    case OP_BAND:                                                     \
        return x & y;                                                 \
    case OP_BOR:                                                      \
        return x | y;                                                 \
    default:                                                          \
        return x ^ y;                                                 \
    }
#define FLT_OPS(T)            \
    switch (op) {             \
    case OP_SUM:              \
        return x + y;         \
    case OP_PROD:             \
        return x * y;         \
    case OP_MIN:              \
        return x < y ? x : y; \
    default:                  \
        return x > y ? x : y; \
    }
#define CPX_OPS(T) return OP_SUM == op ? x + y : x * y;
#define LOG_OPS(T) return OP_LAND == op ? (x && y) : OP_LOR == op ? (x || y) : (!x != !y);
#define BYTE_OPS(T) INT_OPS(T)
#define NONE_OPS(T) \
    (void) op;      \
    (void) x;       \
    return y;
#define OPS_GRP_INT(T) INT_OPS(T)
#define OPS_GRP_FINT(T) INT_OPS(T)
#define OPS_GRP_FLT(T) FLT_OPS(T)
#define OPS_GRP_CPX(T) CPX_OPS(T)
#define OPS_GRP_LOG(T) LOG_OPS(T)
#define OPS_GRP_BYTE(T) BYTE_OPS(T)
#define OPS_GRP_NONE(T) NONE_OPS(T)

#define KIND(id, ctype, mpitype, grp)                                           \
    static ctype one_##id(enum op_id op, ctype x, ctype y)                      \
    {                                                                           \
        OPS_##grp(ctype)                                                        \
    }                                                                           \
    static void all_##id(enum op_id op, const void *in, void *inout, int count) \
    {                                                                           \
        const ctype *x = in;                                                    \
        ctype *y = inout;                                                       \
                                                                                \
        for (int i = 0; i < count; i++) {                                       \
            y[i] = one_##id(op, x[i], y[i]);                                    \
        }                                                                       \
    }
#define PAIR(id, ctype, ktype, mpitype)                                         \
    static void all_##id(enum op_id op, const void *in, void *inout, int count) \
    {                                                                           \
        struct pair {                                                           \
            ctype v;                                                            \
            ktype k;                                                            \
        };                                                                      \
        const struct pair *x = in;                                              \
        struct pair *y = inout;                                                 \
                                                                                \
        for (int i = 0; i < count; i++) {                                       \
            bool better = OP_MINLOC == op ? x[i].v < y[i].v : x[i].v > y[i].v;  \
                                                                                \
            if (better || (x[i].v == y[i].v && x[i].k < y[i].k)) {              \
                y[i].v = x[i].v;                                                \
                y[i].k = x[i].k;                                                \
            }                                                                   \
        }                                                                       \
    }
#include "kinds.def"
#undef KIND
#undef PAIR

static void predefined(enum op_id op, enum kind_id kind, const void *in, void *inout, int count)
{
    switch (kind) {
#define KIND(id, ctype, mpitype, grp)   \
    case K_##id:                        \
        all_##id(op, in, inout, count); \
        break;
#define PAIR(id, ctype, ktype, mpitype) \
    case K_##id:                        \
        all_##id(op, in, inout, count); \
        break;
#include "kinds.def"
#undef KIND
#undef PAIR
    default:
        break;
    }
}

/* ---- user operations: groups of op_unit() ints in type map order ---- */

static void user_group(enum op_id op, const unsigned *x, unsigned *y)
{
    unsigned r[4];

    switch (op) {
    case OP_UADD:
        y[0] = x[0] + y[0] + 1u;
        break;
    case OP_UFIRST:
        y[0] = x[0];
        break;
    default:
        r[0] = (x[0] * y[0] + x[1] * y[2]) % PRIME;
        r[1] = (x[0] * y[1] + x[1] * y[3]) % PRIME;
        r[2] = (x[2] * y[0] + x[3] * y[2]) % PRIME;
        r[3] = (x[2] * y[1] + x[3] * y[3]) % PRIME;
        memcpy(y, r, sizeof(r));
        break;
    }
}

static void user_apply(enum op_id op, const struct layout *l, const char *in, char *inout,
                       int count)
{
    int unit = op_unit(op);
    unsigned x[4], y[4];

    for (int i = 0; i < count; i++) {
        for (int g = 0; g < l->m; g += unit) {
            for (int j = 0; j < unit; j++) {
                ptrdiff_t at = l->shift + i * l->extent + l->off[g + j];

                memcpy(&x[j], in + at, sizeof(unsigned));
                memcpy(&y[j], inout + at, sizeof(unsigned));
            }
            user_group(op, x, y);
            for (int j = 0; j < unit; j++) {
                memcpy(inout + l->shift + i * l->extent + l->off[g + j], &y[j], sizeof(unsigned));
            }
        }
    }
}

static void user_entry(enum op_id op, void *in, void *inout, const int *len,
                       const MPI_Datatype *type)
{
    const struct layout *l = layout_of_handle(*type);

    if (NULL == l) {
        fail("user function %s was called with a datatype that the program never passed",
             op_name(op));
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    user_apply(op, l, in, inout, *len);
}

static void user_add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    user_entry(OP_UADD, in, inout, len, type);
}

static void user_mat(void *in, void *inout, int *len, MPI_Datatype *type)
{
    user_entry(OP_UMAT, in, inout, len, type);
}

static void user_first(void *in, void *inout, int *len, MPI_Datatype *type)
{
    user_entry(OP_UFIRST, in, inout, len, type);
}

MPI_Op op_handle(enum op_id op)
{
    static bool made;
    const MPI_Op predefined_ops[] = {MPI_SUM,  MPI_PROD, MPI_MIN, MPI_MAX,  MPI_LAND,   MPI_LOR,
                                     MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};

    if (!made) {
        must(MPI_Op_create(user_add, 1, &user_handles[0]), "op_create");
        must(MPI_Op_create(user_mat, 0, &user_handles[1]), "op_create");
        must(MPI_Op_create(user_first, 0, &user_handles[2]), "op_create");
        made = true;
    }
    return op < OP_UADD ? predefined_ops[op] : user_handles[op - OP_UADD];
}

const char *op_name(enum op_id op)
{
    return op_names[op];
}

bool op_is_user(enum op_id op)
{
    return OP_UADD <= op;
}

bool op_accepts(enum op_id op, enum kind_id kind)
{
    switch (kinds[kind].group) {
    case GRP_INT:
        return OP_MINLOC != op && OP_MAXLOC != op && (K_int == kind || !op_is_user(op));
    case GRP_FINT:
        return op <= OP_MAX || (OP_BAND <= op && op <= OP_BXOR);
    case GRP_FLT:
        return op <= OP_MAX;
    case GRP_LOG:
        return OP_LAND <= op && op <= OP_LXOR;
    case GRP_CPX:
        return OP_SUM == op || OP_PROD == op;
    case GRP_BYTE:
        return OP_BAND <= op && op <= OP_BXOR;
    case GRP_PAIR:
        return OP_MINLOC == op || OP_MAXLOC == op;
    default:
        return false;
    }
}

int op_unit(enum op_id op)
{
    return OP_UMAT == op ? 4 : OP_UFIRST == op ? 2 : 1;
}

void op_apply(enum op_id op, const struct layout *l, char *in, char *inout, int count)
{
    if (op_is_user(op)) {
        user_apply(op, l, in, inout, count);
    } else {
        predefined(op, l->kind, in, inout, count);
    }
}

/* ---- values ---- */

/* A small integral value; products of sixteen stay exact in a float. */
static int small_value(enum op_id op, uint64_t r)
{
    static const int factors[] = {1, 2, -1, 1, -2, 1, -1, 1};

    return OP_PROD == op ? factors[r % 8] : (int) (r % 41) - 20;
}

static void put_float(char *at, size_t len, int v)
{
    if (sizeof(float) == len) {
        memcpy(at, &(float){(float) v}, len);
    } else if (sizeof(double) == len) {
        memcpy(at, &(double){v}, len);
    } else {
        long double w = v;

        memset(at, 0, len);
        memcpy(at, &w, 10);
    }
}

static void put_complex(char *at, size_t len, enum op_id op, uint64_t r)
{
    put_float(at, len / 2, small_value(op, r));
    put_float(at + len / 2, len / 2, small_value(op, r >> 20) % 2);
}

static void put_integer(char *at, size_t len, long v)
{
    memcpy(at, &v, len);
}

static void put_pair(char *at, const struct kind *k, uint64_t r)
{
    const int v[2] = {(int) (r % 5) - 2, (int) ((r >> 32) % 1000) - 500};

    for (int f = 0; f < 2; f++) {
        if (k->field[f].real) {
            put_float(at + k->field[f].off, k->field[f].len, v[f]);
        } else {
            put_integer(at + k->field[f].off, k->field[f].len, v[f]);
        }
    }
}

/* Any bits. */
static void put_bits(char *at, size_t len, uint64_t r)
{
    for (size_t o = 0; o < len; o += sizeof(r)) {
        memcpy(at + o, &r, len - o < sizeof(r) ? len - o : sizeof(r));
        r = mix64(r);
    }
}

static void put_value(char *at, const struct kind *k, enum op_id op, uint64_t r)
{
    switch (k->group) {
    case GRP_FLT:
        put_float(at, k->extent, small_value(op, r));
        break;
    case GRP_CPX:
        put_complex(at, k->extent, op, r);
        break;
    case GRP_PAIR:
        put_pair(at, k, r);
        break;
    case GRP_LOG:
        put_integer(at, k->extent, (long) (r & 1));
        break;
    default:
        if (OP_UMAT == op) {
            put_integer(at, sizeof(unsigned), (long) (r % PRIME));
        } else if (avoid.wide && op <= OP_MAX && GRP_NONE != k->group) {
            put_integer(at, k->extent, OP_PROD == op ? 1 + (long) (r % 16 == 0) : (long) (r % 15));
        } else if (OP_LAND <= op && op <= OP_LXOR && 0 != (r & 3) && GRP_NONE != k->group) {
            put_integer(at, k->extent, (long) ((r >> 8) & 1));
        } else {
            put_bits(at, k->extent, r);
        }
        break;
    }
}

void layout_values(const struct layout *l, char *origin, size_t count, enum op_id op, uint64_t seed)
{
    const struct kind *k = &kinds[l->kind];
    struct rng r = {seed};

    for (size_t i = 0; i < count; i++) {
        for (int j = 0; j < l->m; j++) {
            put_value(origin + (ptrdiff_t) i * l->extent + l->off[j], k, op, rng_next(&r));
        }
    }
}

/* Minus zero to plus zero, for each float of a value. */
static void unsign_zero(char *at, size_t len, enum group group)
{
    size_t part = GRP_CPX == group ? len / 2 : len;

    for (size_t o = 0; o < len; o += part) {
        long double wide = 0;
        double d = 1;
        float f = 1;

        if (sizeof(float) == part) {
            memcpy(&f, at + o, part);
        } else if (sizeof(double) == part) {
            memcpy(&d, at + o, part);
        } else {
            memcpy(&wide, at + o, part);
            d = 0 == wide ? 0 : 1;
        }
        if (0 == f || 0 == d) {
            memset(at + o, 0, part);
        }
    }
}

void layout_canonical(const struct layout *l, char *origin, size_t count)
{
    const struct kind *k = &kinds[l->kind];

    if (GRP_FLT != k->group && GRP_CPX != k->group && K_ldouble_int != l->kind) {
        return; /* every byte has a value, and zeros have no sign */
    }
    for (size_t i = 0; i < count; i++) {
        for (int j = 0; j < l->m; j++) {
            char *at = origin + (ptrdiff_t) i * l->extent + l->off[j];

            if (GRP_PAIR != k->group) {
                unsign_zero(at, k->extent, k->group);
            }
            for (int f = 0; f < k->nfield; f++) {
                memset(at + k->field[f].off + k->field[f].significant, 0,
                       k->field[f].len - k->field[f].significant);
            }
        }
    }
}

void layout_print(const struct layout *l, const char *origin, size_t element, char *text,
                  size_t len)
{
    const struct kind *k = &kinds[l->kind];
    const char *at = origin + (ptrdiff_t) (element / (size_t) l->m) * l->extent
                     + l->off[element % (size_t) l->m];
    int used = 0;

    text[0] = '\0';
    if (GRP_FLT == k->group) {
        float f = 0;
        double d = 0;
        long double w = 0;

        memcpy(sizeof(float) == k->extent    ? (void *) &f
               : sizeof(double) == k->extent ? (void *) &d
                                             : &w,
               at, k->extent);
        snprintf(text, len, "%Lg",
                 sizeof(float) == k->extent    ? (long double) f
                 : sizeof(double) == k->extent ? (long double) d
                                               : w);
        return;
    }
    if (GRP_INT == k->group || GRP_FINT == k->group) {
        long long v = 0;

        memcpy(&v, at, k->extent);
        used = snprintf(text, len, "%lld=", v);
    }
    for (int f = 0; f < k->nfield; f++) {
        for (size_t b = 0; b < k->field[f].len && (size_t) used + 4 < len; b++) {
            used += snprintf(text + used, len - (size_t) used, "%s%02x", 0 == b && 0 < f ? "," : "",
                             (unsigned char) at[k->field[f].off + b]);
        }
    }
}
