/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the reduction kernels must compute, one element at a time, written from the definitions of
 * MPI's ops. Knows nothing of vectors, instruction sets or several sources at once.
 */
#ifndef KERNEL_REFERENCE_H
#define KERNEL_REFERENCE_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernel/fold.h"

#define NUMBERS_END HCCL_NUM_INT16_INT32 /* below: elements of one number, from there on pairs */

static const struct {
    const char *name;
    size_t bytes;
    size_t value_bytes; /* of the first number */
} elements[HCCL_NUM_COUNT] = {
    {"int8", 1, 1},
    {"uint8", 1, 1},
    {"int16", 2, 2},
    {"uint16", 2, 2},
    {"int32", 4, 4},
    {"uint32", 4, 4},
    {"int64", 8, 8},
    {"uint64", 8, 8},
    {"float", 4, 4},
    {"double", 8, 8},
    {"long double", sizeof(long double), sizeof(long double)},
    {"float complex", 8, 4},
    {"double complex", 16, 8},
    {"long double complex", 2 * sizeof(long double), sizeof(long double)},
    {"int16 int32", 6, 2},
    {"int32 int32", 8, 4},
    {"int64 int32", 12, 8},
    {"float int32", 8, 4},
    {"double int32", 12, 8},
    {"long double int32", sizeof(long double) + 4, sizeof(long double)},
    {"float float", 8, 4},
    {"double double", 16, 8},
};

static const char *const op_names[HCCL_OP_COUNT] = {
    "sum", "prod", "max", "min", "land", "lor", "lxor", "band", "bor", "bxor", "maxloc", "minloc"};

static bool is_integer(hccl_num_t num)
{
    return num <= HCCL_NUM_UINT64;
}

static bool is_complex(hccl_num_t num)
{
    return num >= HCCL_NUM_FLOAT_COMPLEX && num <= HCCL_NUM_LONG_DOUBLE_COMPLEX;
}

/* MPI's table of which op goes with which kind of type. */
static bool is_defined(hccl_op_kind_t op, hccl_num_t num)
{
    if (op >= HCCL_OP_MAXLOC || num >= NUMBERS_END) {
        return op >= HCCL_OP_MAXLOC && num >= NUMBERS_END;
    }
    return is_integer(num) || op <= (is_complex(num) ? HCCL_OP_PROD : HCCL_OP_MIN);
}

static int64_t integer_op(hccl_op_kind_t op, int64_t a, int64_t b, bool is_signed)
{
    bool less = is_signed ? a < b : (uint64_t) a < (uint64_t) b;
    switch (op) {
    case HCCL_OP_SUM:
        return (int64_t) ((uint64_t) a + (uint64_t) b);
    case HCCL_OP_PROD:
        return (int64_t) ((uint64_t) a * (uint64_t) b);
    case HCCL_OP_MAX:
        return less ? b : a;
    case HCCL_OP_MIN:
        return less ? a : b;
    case HCCL_OP_LAND:
        return 0 != a && 0 != b ? 1 : 0;
    case HCCL_OP_LOR:
        return 0 != a || 0 != b ? 1 : 0;
    case HCCL_OP_LXOR:
        return (0 != a) + (0 != b) == 1 ? 1 : 0;
    case HCCL_OP_BAND:
        return a & b;
    case HCCL_OP_BOR:
        return a | b;
    default:
        return a ^ b;
    }
}

/* An integer of any width, extended to 64 bits by its sign if it has one. */
static int64_t load_integer(hccl_num_t num, const void *at)
{
    int shift = 64 - 8 * (int) elements[num].bytes;
    uint64_t raw = 0;
    memcpy(&raw, at, elements[num].bytes); /* little endian, as all machines these tests run on */
    raw <<= shift;
    return 0 == num % 2 ? (int64_t) raw >> shift : (int64_t) (raw >> shift);
}

/* acc = acc op right for numbers of type T; SUM and PROD only where there is no order. */
#define REAL(T)                       \
    do {                              \
        T a, b;                       \
        memcpy(&a, acc, sizeof(T));   \
        memcpy(&b, right, sizeof(T)); \
        switch (op) {                 \
        case HCCL_OP_SUM:             \
            a = a + b;                \
            break;                    \
        case HCCL_OP_PROD:            \
            a = a * b;                \
            break;                    \
        case HCCL_OP_MAX:             \
            a = a > b ? a : b;        \
            break;                    \
        default:                      \
            a = a < b ? a : b;        \
            break;                    \
        }                             \
        memcpy(acc, &a, sizeof(T));   \
    } while (0)
#define COMPLEX(T)                             \
    do {                                       \
        T a, b;                                \
        memcpy(&a, acc, sizeof(T));            \
        memcpy(&b, right, sizeof(T));          \
        a = HCCL_OP_SUM == op ? a + b : a * b; \
        memcpy(acc, &a, sizeof(T));            \
    } while (0)
#define PAIR(V, K)                                               \
    do {                                                         \
        V a, b;                                                  \
        K i, j;                                                  \
        memcpy(&a, acc, sizeof(V));                              \
        memcpy(&b, right, sizeof(V));                            \
        memcpy(&i, (const char *) acc + sizeof(V), sizeof(K));   \
        memcpy(&j, (const char *) right + sizeof(V), sizeof(K)); \
        if (!(HCCL_OP_MAXLOC == op ? a > b : a < b)) {           \
            if (a != b) {                                        \
                i = j;                                           \
            } else if (j < i) {                                  \
                i = j;                                           \
            }                                                    \
            a = b;                                               \
        }                                                        \
        memcpy(acc, &a, sizeof(V));                              \
        memcpy((char *) acc + sizeof(V), &i, sizeof(K));         \
    } while (0)

static void reference_op(hccl_op_kind_t op, hccl_num_t num, void *acc, const void *right)
{
    switch (num) {
    case HCCL_NUM_FLOAT:
        REAL(float);
        break;
    case HCCL_NUM_DOUBLE:
        REAL(double);
        break;
    case HCCL_NUM_LONG_DOUBLE:
        REAL(long double);
        break;
    case HCCL_NUM_FLOAT_COMPLEX:
        COMPLEX(float _Complex);
        break;
    case HCCL_NUM_DOUBLE_COMPLEX:
        COMPLEX(double _Complex);
        break;
    case HCCL_NUM_LONG_DOUBLE_COMPLEX:
        COMPLEX(long double _Complex);
        break;
    case HCCL_NUM_INT16_INT32:
        PAIR(int16_t, int32_t);
        break;
    case HCCL_NUM_INT32_INT32:
        PAIR(int32_t, int32_t);
        break;
    case HCCL_NUM_INT64_INT32:
        PAIR(int64_t, int32_t);
        break;
    case HCCL_NUM_FLOAT_INT32:
        PAIR(float, int32_t);
        break;
    case HCCL_NUM_DOUBLE_INT32:
        PAIR(double, int32_t);
        break;
    case HCCL_NUM_LONG_DOUBLE_INT32:
        PAIR(long double, int32_t);
        break;
    case HCCL_NUM_FLOAT_FLOAT:
        PAIR(float, float);
        break;
    case HCCL_NUM_DOUBLE_DOUBLE:
        PAIR(double, double);
        break;
    default: {
        int64_t r = integer_op(op, load_integer(num, acc), load_integer(num, right), 0 == num % 2);
        memcpy(acc, &r, elements[num].bytes);
        break;
    }
    }
}

/* result = ((s[0] op s[1]) op s[2]) op ... */
static void reference_fold(hccl_op_kind_t op, hccl_num_t num, char *result, const char *const *src,
                           int nsrc, size_t count)
{
    size_t width = elements[num].bytes;
    for (size_t at = 0; at < count * width; at += width) {
        memcpy(result + at, src[0] + at, width);
        for (int j = 1; j < nsrc; j++) {
            reference_op(op, num, result + at, src[j] + at);
        }
    }
}

/* Bytes of a number that carry its value: the x87's have 10. */
static size_t significant(size_t bytes)
{
    return sizeof(long double) == bytes && 64 == __LDBL_MANT_DIG__ ? 10 : bytes;
}

/* Is the floating-point number at `at` no number? */
static bool is_nan(const char *at, size_t bytes)
{
    if (sizeof(float) == bytes) {
        float f;
        memcpy(&f, at, sizeof(f));
        return f != f;
    }
    if (sizeof(double) == bytes) {
        double d;
        memcpy(&d, at, sizeof(d));
        return d != d;
    }
    long double l;
    memcpy(&l, at, sizeof(l));
    return l != l;
}

/* got: a result, whose bytes without a value must be 0. */
static bool same_number(const char *got, const char *wanted, size_t bytes, bool floating)
{
    for (size_t i = significant(bytes); i < bytes; i++) {
        if (0 != got[i]) {
            return false;
        }
    }
    return 0 == memcmp(got, wanted, significant(bytes))
           || (floating && is_nan(got, bytes) && is_nan(wanted, bytes));
}

/* The same bits, but for the sign and payload of what is no number. */
static bool same_element(hccl_num_t num, const char *got, const char *wanted)
{
    size_t value = elements[num].value_bytes, rest = elements[num].bytes - value;
    bool floating = HCCL_NUM_INT16_INT32 != num && HCCL_NUM_INT32_INT32 != num
                    && HCCL_NUM_INT64_INT32 != num && !is_integer(num);
    bool floats = is_complex(num) || HCCL_NUM_FLOAT_FLOAT == num || HCCL_NUM_DOUBLE_DOUBLE == num;
    return same_number(got, wanted, value, floating)
           && (0 == rest || same_number(got + value, wanted + value, rest, floats));
}

#endif
