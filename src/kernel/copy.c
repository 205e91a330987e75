/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See copy.h. The lengths here are where glibc's memcpy, on x86, takes `rep movsb` (about 2 KiB), up to
 * where that is the best: it writes lines without having asked for their content, but its long form
 * takes long to begin.
 */
#include "kernel/copy.h"

#include <string.h>

#include "base/codes.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

/* Most that the short form of `rep movsb` does. Two of that begin sooner than one long one: 0.7 of the
 * time between near cores, 0.9 between far ones. From PIECES_TO on they get fewer lines under way. */
#define PIECE HCCL_COPY_STRING
#define PIECES_TO ((size_t) 3584)

/* Longest buffer that ordinary stores fill as fast as `rep movsb`: the first-level cache has it. */
#define LINES_TO ((size_t) 32768)

#define LINE ((size_t) 64)

/* From here to PIECE, lines go from the last to the first, one at a time. The reader polls the line in
 * front of the first one, and may fetch that along with it: so it is written last. A bcast takes 0.87 to
 * 0.96 of the time with memcpy so, between far cores and between near ones, if both sides do it; and
 * what peers fold, 0.7 to 1.0 between far ones. */
#define LAST_FIRST_FROM ((size_t) 512)

static bool has_fast_strings, has_lines;

static inline void move_string(char *to, const char *from, size_t n)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

/* PIECE < n <= 2 PIECE. */
static void *give_in_pieces(void *to, const void *from, size_t n)
{
    move_string(to, from, PIECE);
    move_string((char *) to + PIECE, (const char *) from + PIECE, n - PIECE);
    return to;
}

/* n > LINE. In order, each line at once: the peer's lines are asked for as early as can be. */
__attribute__((target("avx512f"))) static void *take_lines(void *to, const void *from, size_t n)
{
    char *d = to;
    const char *s = from;
    size_t at = 0;
    for (; at + 2 * LINE <= n; at += 2 * LINE) {
        __m512i first = _mm512_loadu_si512(s + at), second = _mm512_loadu_si512(s + at + LINE);
        _mm512_storeu_si512(d + at, first);
        _mm512_storeu_si512(d + at + LINE, second);
    }
    if (at + LINE <= n) {
        _mm512_storeu_si512(d + at, _mm512_loadu_si512(s + at));
    }
    /* What is left, with some of what was copied before. */
    _mm512_storeu_si512(d + n - LINE, _mm512_loadu_si512(s + n - LINE));
    return to;
}

/* n >= LINE. The last bytes first, so that all others are whole lines. */
__attribute__((target("avx512f"))) static void *last_line_first(void *to, const void *from,
                                                                size_t n)
{
    char *d = to;
    const char *s = from;
    if (0 != n % LINE) {
        _mm512_storeu_si512(d + n - LINE, _mm512_loadu_si512(s + n - LINE));
    }
    for (size_t at = n / LINE * LINE; at > 0; at -= LINE) {
        _mm512_storeu_si512(d + at - LINE, _mm512_loadu_si512(s + at - LINE));
    }
    return to;
}

/* n > LINE. */
static void *move_long(void *to, const void *from, size_t n)
{
    return HCCL_UNLIKELY(hccl_copy_collides(to, from)) ? take_lines(to, from, n)
                                                       : memcpy(to, from, n);
}

static bool suits_last_first(size_t n)
{
    return has_lines && n > LAST_FIRST_FROM && n <= PIECE;
}

void hccl_copy_choose(void)
{
    unsigned a, b, c, d;
    /* FSRM: `rep movsb` begins fast. */
    has_fast_strings = 0 != __get_cpuid_count(7, 0, &a, &b, &c, &d) && 0 != (d & 1U << 4);
    has_lines = __builtin_cpu_supports("avx512f");
}

hccl_copy_fn_t hccl_copy_give(size_t n)
{
    if (suits_last_first(n)) {
        return last_line_first;
    }
    return has_fast_strings && n > PIECE && n <= PIECES_TO ? give_in_pieces : memcpy;
}

hccl_copy_fn_t hccl_copy_take(size_t n, size_t whole)
{
    if (suits_last_first(n)) {
        return last_line_first;
    }
    return has_lines && n > PIECE && whole <= LINES_TO ? take_lines : hccl_copy_own(n);
}

hccl_copy_fn_t hccl_copy_own(size_t n)
{
    return has_lines && has_fast_strings && n > PIECE ? move_long : memcpy;
}

#else

void hccl_copy_choose(void)
{
}

hccl_copy_fn_t hccl_copy_give(size_t n)
{
    (void) n;
    return memcpy;
}

hccl_copy_fn_t hccl_copy_take(size_t n, size_t whole)
{
    (void) n;
    (void) whole;
    return memcpy;
}

hccl_copy_fn_t hccl_copy_own(size_t n)
{
    (void) n;
    return memcpy;
}

#endif
