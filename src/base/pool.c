/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The pool: a stack of free blocks for each power of two up to the largest size that is kept.
 * Larger blocks go back to the system at once: an operation that needs them costs more than that.
 */
#include "base/pool.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define SMALLEST_SHIFT 10
#define CLASSES 17                     /* 1 KiB ... 64 MiB */
#define KEEP_BYTES ((size_t) 64 << 20) /* kept in all */

/* In front of each block: its size_class and, while free, the next free one. */
typedef struct block {
    struct block *next;
    size_t size_class; /* CLASSES: too large to keep */
    char pad[64 - 2 * sizeof(size_t)];
} block_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static block_t *free_blocks[CLASSES];
static size_t kept;

static size_t class_bytes(size_t size_class)
{
    return (size_t) 1 << (SMALLEST_SHIFT + size_class);
}

static size_t class_of(size_t bytes)
{
    size_t size_class = 0;
    while (size_class < CLASSES && class_bytes(size_class) < bytes) {
        size_class++;
    }
    return size_class;
}

void *hccl_pool_take(size_t bytes)
{
    size_t size_class = class_of(bytes);
    block_t *b = NULL;
    if (size_class < CLASSES) {
        pthread_mutex_lock(&lock);
        b = free_blocks[size_class];
        if (NULL != b) {
            free_blocks[size_class] = b->next;
            kept -= class_bytes(size_class);
        }
        pthread_mutex_unlock(&lock);
        bytes = class_bytes(size_class);
    }
    if (NULL == b) {
        if (bytes > SIZE_MAX - 2 * sizeof(block_t)) {
            return NULL;
        }
        bytes = (bytes + sizeof(block_t) - 1) / sizeof(block_t) * sizeof(block_t);
        b = aligned_alloc(sizeof(block_t), sizeof(block_t) + bytes);
        if (NULL == b) {
            return NULL;
        }
        b->size_class = size_class;
    }
    return b + 1;
}

void hccl_pool_give(void *memory)
{
    if (NULL == memory) {
        return;
    }
    block_t *b = (block_t *) memory - 1;
    if (b->size_class < CLASSES) {
        pthread_mutex_lock(&lock);
        if (kept + class_bytes(b->size_class) <= KEEP_BYTES) {
            kept += class_bytes(b->size_class);
            b->next = free_blocks[b->size_class];
            free_blocks[b->size_class] = b;
            b = NULL;
        }
        pthread_mutex_unlock(&lock);
    }
    free(b);
}

void hccl_pool_drain(void)
{
    pthread_mutex_lock(&lock);
    for (size_t size_class = 0; size_class < CLASSES; size_class++) {
        while (NULL != free_blocks[size_class]) {
            block_t *b = free_blocks[size_class];
            free_blocks[size_class] = b->next;
            free(b);
        }
    }
    kept = 0;
    pthread_mutex_unlock(&lock);
}
