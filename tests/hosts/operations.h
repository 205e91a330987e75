/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * operations.h: the collectives of traffic.c, each with the data it starts from and a check of
 * every element it delivers. Expected values are computed from a formula over (case, rank, block,
 * position), never received. Knows neither hosts nor counters. Used by traffic.c only.
 */
#ifndef HOSTS_OPERATIONS_H
#define HOSTS_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run;

/* Whose arguments count in an operation. */
enum who { NOBODY, EVERYBODY, ROOT, LAST };

/* What an operation moves. Block b of rank r's input is the formula's value for (r, b, i) at i. */
struct operation {
    const char *name;
    void (*transfer)(struct run *run); /* the MPI call itself */
    enum who sender, receiver;
    bool send_all;    /* the input has a block for each rank, else one block */
    bool receive_all; /* the result has a block from each rank, else one block */
    bool sums;        /* the result is the sum over all ranks' inputs */
    bool to_me;       /* the result comes from the block numbered as the receiver, else block 0 */
    bool rooted;      /* takes a root */
};

/* One case: an operation with size and root, and this rank's buffers for it. */
struct run {
    const struct operation *op;
    size_t words; /* of one block */
    int rank, ranks, root;
    uint32_t seed;                    /* of the formula; differs between cases and iterations */
    uint32_t *send;                   /* NULL if this rank sends nothing */
    uint32_t *receive;                /* NULL if it receives nothing; bcast's root has it too */
    size_t send_words, receive_words; /* length of these two, guards not counted */
    double entered, left;             /* barrier: when the latest call began and ended here */
};

/* The operation whose name is the first length characters; NULL if there is none. */
const struct operation *operation_find(const char *name, size_t length);

/* The collectives in order, NULL after the last one. */
const struct operation *operation_number(int number);

/* Makes this rank's buffers (op, words, rank, ranks and root must be set); false: no memory. */
bool operation_prepare(struct run *run);
void operation_release(struct run *run);

/* Fresh data, the operation once, the check. False, and a line on stdout, if something is wrong. */
bool operation_once(struct run *run);

#endif
