/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Single steps that many parts and algorithms emit. Used by algo/ only.
 */
#include "algo/parts.h"

void hccl_part_move(hccl_builder_t *b, int dst, int src, int first, int count)
{
    if (dst != src) {
        hccl_build_copy(b, dst, first, count, src, first);
    }
}

void hccl_part_own(hccl_builder_t *b, const hccl_case_t *c)
{
    const int position = hccl_build_position(b, c->me);

    hccl_build_how(b, HCCL_HOW_WHOLE);
    hccl_build_copy(b, HCCL_BASE_RECV, position, 1, HCCL_BASE_SEND, position);
}

void hccl_part_combine(hccl_builder_t *b, int dst, int left, int right, int first, int count)
{
    hccl_build_fold_begin(b, dst, first, count);
    hccl_build_fold_own(b, left, first);
    hccl_build_fold_own(b, right, first);
    hccl_build_fold_end(b);
}

int hccl_part_power(int n)
{
    int power = 1;

    while (power <= n / 2) {
        power *= 2;
    }
    return power;
}

int hccl_part_rounds(int n, int ports)
{
    int rounds = 0;

    for (long reach = 1; reach < n; reach *= ports + 1) {
        rounds++;
    }
    return rounds;
}

int hccl_part_ports(const hccl_case_t *c, int ports)
{
    const int most = c->dials.radix - 1;

    return 0 < most && most < ports ? most : ports;
}

int hccl_part_radix(int n, int rounds)
{
    for (int radix = 1;; radix++) {
        long reach = 1;

        for (int i = 0; i < rounds && reach < n; i++) {
            reach *= radix;
        }
        if (reach >= n) {
            return radix;
        }
    }
}
