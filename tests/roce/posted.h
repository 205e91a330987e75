/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * posted.h: counts what this process hands to RDMA devices, by standing between libibverbs and who
 * uses it: posted.c replaces the functions of each device that is opened. It stands in front of memcpy as well:
 * so what is copied out of the memory into which others write short messages is counted too, but for
 * copies of so few bytes that the compiler makes no call. Knows neither MPI nor the component; the program must
 * export `ibv_open_device`, `ibv_reg_mr_iova2` and `memcpy`. Used by wire.c only.
 */
#ifndef ROCE_POSTED_H
#define ROCE_POSTED_H

#include <stdint.h>

/* Longest work request that is not counted as payload: room for a header and a few values. */
enum { POSTED_SHORT = 64 };

/* What has been counted so far, all devices together. */
typedef struct posted {
    int64_t calls;       /* of ibv_post_send: doorbells */
    int64_t split;       /* of these with payload, but without an end that tells the receiver */
    int64_t requests;    /* work requests in them */
    int64_t inlined;     /* of these inline, */
    int64_t immediate;   /* and RDMA WRITE with immediate data */
    int64_t payload;     /* bytes of work requests longer than POSTED_SHORT */
    int64_t rest;        /* bytes of the others */
    int64_t completions; /* read, of both kinds */
    int64_t copies;      /* calls of memcpy out of memory that has the rings of both directions */
} posted_t;

posted_t posted_so_far(void);

#endif
