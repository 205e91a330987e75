/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See pattern.h. Filling and checking are memcpy and memcmp of a repeated period, so that they take
 * little time beside the collective.
 */
#include "pattern.h"

#include <stdint.h>
#include <string.h>

enum { CHUNK = HCCL_BENCH_PERIOD * HCCL_BENCH_REPEATS };

/* 0..60 for sum, min and max: exact in every type up to 279,620 ranks in fp32, and in integers
 * modulo their range. 1 or 2 for products: a power of two, exact until it overflows alike. */
static unsigned value(enum hccl_bench_op_kind op, size_t phase)
{
    unsigned v = (unsigned) (phase % HCCL_BENCH_PERIOD);

    return HCCL_BENCH_PROD == op ? 1 + (0 == v % 5) : v;
}

static double combine_float(enum hccl_bench_op_kind op, double a, double b)
{
    switch (op) {
    case HCCL_BENCH_SUM:
        return a + b;
    case HCCL_BENCH_PROD:
        return a * b;
    case HCCL_BENCH_MIN:
        return a < b ? a : b;
    default:
        return a > b ? a : b;
    }
}

static uint64_t combine_integer(enum hccl_bench_op_kind op, uint64_t a, uint64_t b)
{
    switch (op) {
    case HCCL_BENCH_SUM:
        return a + b;
    case HCCL_BENCH_PROD:
        return a * b;
    case HCCL_BENCH_MIN:
        return a < b ? a : b;
    default:
        return a > b ? a : b;
    }
}

static void store_float(unsigned char *to, size_t size, double v)
{
    if (sizeof(float) == size) {
        float f = (float) v;
        memcpy(to, &f, sizeof f);
    } else {
        memcpy(to, &v, sizeof v);
    }
}

static void store_integer(unsigned char *to, size_t size, uint64_t v)
{
    uint8_t v8 = (uint8_t) v;
    uint16_t v16 = (uint16_t) v;
    uint32_t v32 = (uint32_t) v;
    const void *from[] = {&v8, &v16, &v32, &v};

    memcpy(to, from[1 == size ? 0 : 2 == size ? 1 : 4 == size ? 2 : 3], size);
}

void hccl_bench_pattern_make(struct hccl_bench_pattern *p, const struct hccl_bench_type *type,
                             enum hccl_bench_op_kind op, size_t first, size_t last)
{
    size_t period = HCCL_BENCH_PERIOD * type->size;

    p->size = type->size;
    for (size_t phase = 0; phase < HCCL_BENCH_PERIOD; phase++) {
        uint64_t whole = value(op, phase + 17 * first);
        double real = (double) whole;
        for (size_t rank = first + 1; rank <= last; rank++) {
            whole = combine_integer(op, whole, value(op, phase + 17 * rank));
            real = combine_float(op, real, value(op, phase + 17 * rank));
        }
        if (HCCL_BENCH_FLOAT == type->number) {
            store_float(p->values + phase * type->size, type->size, real);
        } else {
            store_integer(p->values + phase * type->size, type->size, whole);
        }
    }
    for (size_t i = 1; i < HCCL_BENCH_REPEATS; i++) {
        memcpy(p->values + i * period, p->values, period);
    }
}

static const unsigned char *touched(const struct hccl_bench_stretch *s)
{
    return s->pattern->values
           + (17 * s->rank + 29 * s->touch) % HCCL_BENCH_PERIOD * s->pattern->size;
}

/* Stores of a constant size, so that the loop over lines is a loop of plain moves. */
#define TOUCH(bytes)                                                  \
    for (size_t i = start * (bytes); i < end; i += HCCL_BENCH_LINE) { \
        memcpy(to + i, from, (bytes));                                \
    }

void hccl_bench_pattern_touch(void *buffer, const struct hccl_bench_stretch *s)
{
    unsigned char *to = buffer;
    const unsigned char *from = touched(s);
    size_t size = s->pattern->size, per_line = HCCL_BENCH_LINE / size;
    size_t start = (per_line - s->first % per_line) % per_line, end = s->count * size;

    switch (size) {
    case 1:
        TOUCH(1);
        break;
    case 2:
        TOUCH(2);
        break;
    case 4:
        TOUCH(4);
        break;
    default:
        TOUCH(8);
        break;
    }
}

void hccl_bench_pattern_fill(void *buffer, const struct hccl_bench_stretch *s)
{
    unsigned char *to = buffer;
    size_t size = s->pattern->size, left = s->count;
    size_t phase = (s->first + 17 * s->rank + 29 * s->salt) % HCCL_BENCH_PERIOD;

    while (0 < left) {
        size_t n = CHUNK - phase < left ? CHUNK - phase : left;
        memcpy(to, s->pattern->values + phase * size, n * size);
        to += n * size;
        left -= n;
        phase = 0;
    }
    hccl_bench_pattern_touch(buffer, s);
}

size_t hccl_bench_pattern_check(const void *buffer, const struct hccl_bench_stretch *s,
                                size_t *where)
{
    const unsigned char *got = buffer;
    unsigned char want[CHUNK * 8];
    size_t size = s->pattern->size, wrong = 0;

    for (size_t done = 0; done < s->count; done += CHUNK) {
        struct hccl_bench_stretch part = *s;
        part.first += done;
        part.count = s->count - done < CHUNK ? s->count - done : CHUNK;
        hccl_bench_pattern_fill(want, &part);
        if (0 == memcmp(want, got + done * size, part.count * size)) {
            continue;
        }
        for (size_t i = 0; i < part.count; i++) {
            if (0 != memcmp(want + i * size, got + (done + i) * size, size)) {
                *where = 0 == wrong ? done + i : *where;
                wrong++;
            }
        }
    }
    return wrong;
}
