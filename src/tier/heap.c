/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The heap, see heap.h: a buddy allocator over granules. All it knows of blocks lies outside of the
 * heap, in memory of this process alone: no peer can read it, and no stray write of the user into a
 * buffer's neighbourhood harms it.
 */
#include "tier/heap.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Behind the blocks: a page with the nonce, by which peers see that they have mapped the right one. */
#define TAIL_BYTES ((size_t) 4096)

enum { ORDERS = 32 };

#define NONE UINT32_MAX

/* What is known of a granule: all zero unless a block begins there. */
typedef struct granule {
    uint32_t next, before; /* free blocks: in the list of their order */
    uint8_t order;         /* the block has 2^order granules */
    uint8_t state;
} granule_t;

enum { INSIDE, FREE, TAKEN };

static struct {
    pthread_mutex_t lock;
    char *base; /* NULL: no heap */
    size_t size;
    size_t used; /* blocks taken */
    int fd;
    granule_t *granules; /* one for each, sparse as the heap itself */
    size_t ngranules;
    uint32_t free[ORDERS];                     /* first free block of each order, NONE: none */
    void (*told)(void *address, size_t bytes); /* NULL: nobody */
    /* A heap that has ended with blocks taken, NULL: none. */
    char *left;
    size_t left_size;
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* ---- blocks ----------------------------------------------------------------------------------- */

static void link_free(uint32_t at, uint8_t order)
{
    granule_t *g = &heap.granules[at];
    *g = (granule_t){.next = heap.free[order], .before = NONE, .order = order, .state = FREE};
    if (NONE != g->next) {
        heap.granules[g->next].before = at;
    }
    heap.free[order] = at;
}

static void unlink_free(uint32_t at)
{
    granule_t *g = &heap.granules[at];
    if (NONE != g->next) {
        heap.granules[g->next].before = g->before;
    }
    if (NONE != g->before) {
        heap.granules[g->before].next = g->next;
    } else {
        heap.free[g->order] = g->next;
    }
    g->state = INSIDE;
}

/* The smallest order that holds so many bytes; ORDERS when none does. */
static uint8_t order_of(size_t bytes)
{
    uint8_t order = 0;
    while (order < ORDERS && HCCL_HEAP_GRANULE << order < bytes) {
        order++;
    }
    return order;
}

void *hccl_heap_take(size_t bytes, size_t align)
{
    char *block = NULL;
    uint8_t order = order_of(bytes > align ? bytes : align);
    if (order >= ORDERS || align > HCCL_HEAP_RETURNED) {
        return NULL;
    }
    pthread_mutex_lock(&heap.lock);
    uint8_t found = order;
    while (NULL != heap.base && found < ORDERS && NONE == heap.free[found]) {
        found++;
    }
    if (NULL != heap.base && found < ORDERS) {
        uint32_t at = heap.free[found];
        unlink_free(at);
        while (found > order) {
            found--;
            link_free(at + (UINT32_C(1) << found), found);
        }
        heap.granules[at] = (granule_t){.order = order, .state = TAKEN};
        heap.used++;
        block = heap.base + (size_t) at * HCCL_HEAP_GRANULE;
    }
    pthread_mutex_unlock(&heap.lock);
    return block;
}

/* The block that begins at an address, NULL: none. */
static granule_t *taken_at(const char *block)
{
    if (NULL == heap.base || block < heap.base || block >= heap.base + heap.size
        || 0 != (size_t) (block - heap.base) % HCCL_HEAP_GRANULE) {
        return NULL;
    }
    granule_t *g = &heap.granules[(size_t) (block - heap.base) / HCCL_HEAP_GRANULE];
    return TAKEN == g->state ? g : NULL;
}

/* Joins a block with its free neighbours, as far as it goes, and enters the whole. */
static void merge(uint32_t at, uint8_t order)
{
    while ((size_t) 2 << order <= heap.ngranules) {
        uint32_t buddy = at ^ UINT32_C(1) << order;
        granule_t *g = &heap.granules[buddy];
        if (FREE != g->state || g->order != order) {
            break;
        }
        unlink_free(buddy);
        at = at < buddy ? at : buddy;
        order++;
    }
    link_free(at, order);
}

bool hccl_heap_give(void *block)
{
    pthread_mutex_lock(&heap.lock);
    granule_t *g = taken_at(block);
    if (NULL != g) {
        size_t bytes = HCCL_HEAP_GRANULE << g->order;
        uint32_t at = (uint32_t) (g - heap.granules);
        if (bytes >= HCCL_HEAP_RETURNED) {
            if (NULL != heap.told) {
                heap.told(block, bytes);
            }
            /* What is not given back stays for the next one who takes: no harm. */
            (void) fallocate(heap.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                             (off_t) ((char *) block - heap.base), (off_t) bytes);
        }
        g->state = INSIDE;
        heap.used--;
        merge(at, g->order);
    }
    bool left = NULL != heap.left && (char *) block >= heap.left
                && (char *) block < heap.left + heap.left_size;
    pthread_mutex_unlock(&heap.lock);
    return NULL != g || left;
}

void hccl_heap_watch(void (*told)(void *address, size_t bytes))
{
    pthread_mutex_lock(&heap.lock);
    heap.told = told;
    pthread_mutex_unlock(&heap.lock);
}

char *hccl_heap_range(size_t *size)
{
    *size = NULL == heap.base ? 0 : heap.size;
    return heap.base;
}

/* ---- life ------------------------------------------------------------------------------------- */

/* ftruncate beyond RLIMIT_FSIZE would end the process by a signal. */
static bool allowed_by_limit(uint64_t size)
{
    struct rlimit limit;
    return 0 == getrlimit(RLIMIT_FSIZE, &limit)
           && (RLIM_INFINITY == limit.rlim_cur || size <= limit.rlim_cur);
}

/* Maps a file of size bytes and its tail at a multiple of HCCL_HEAP_RETURNED. NULL: not possible. */
static char *map_aligned(int fd, size_t size, int protection)
{
    size_t reserved = size + TAIL_BYTES + HCCL_HEAP_RETURNED;
    char *all = mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (MAP_FAILED == (void *) all) {
        return NULL;
    }
    size_t skipped =
        (HCCL_HEAP_RETURNED - (uintptr_t) all % HCCL_HEAP_RETURNED) % HCCL_HEAP_RETURNED;
    char *base = all + skipped;
    if (MAP_FAILED == mmap(base, size + TAIL_BYTES, protection, MAP_SHARED | MAP_FIXED, fd, 0)) {
        munmap(all, reserved);
        return NULL;
    }
    if (skipped > 0) {
        munmap(all, skipped);
    }
    munmap(base + size + TAIL_BYTES, HCCL_HEAP_RETURNED - skipped);
    /* Where the system has huge pages for shared memory on advice; else this does nothing. */
    (void) madvise(base, size, MADV_HUGEPAGE);
    return base;
}

static uint64_t power_below(uint64_t n)
{
    uint64_t power = 1;
    while (power <= n / 2) {
        power *= 2;
    }
    return power;
}

int hccl_heap_create(uint64_t size, uint64_t nonce, hccl_heap_card_t *card, const char **why)
{
    memset(card, 0, sizeof(*card));
    size = power_below(size);
    if (size < HCCL_HEAP_GRANULE || size > HCCL_HEAP_GRANULE << (ORDERS - 1)) {
        *why = "the heap size asked for is out of range";
        return HCCL_ERR_ARG;
    }
    if (!allowed_by_limit(size + TAIL_BYTES)) {
        *why = "the file size limit (ulimit -f) is below the heap size";
        return HCCL_ERR_SYS;
    }
    *why = "its addresses could not be had";
    size_t ngranules = size / HCCL_HEAP_GRANULE;
    granule_t *granules = mmap(NULL, ngranules * sizeof(granule_t), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (MAP_FAILED == (void *) granules) {
        return HCCL_ERR_SYS;
    }
    int fd = memfd_create("hccl-heap", MFD_CLOEXEC);
    char *base = NULL;
    if (fd >= 0 && 0 == ftruncate(fd, (off_t) (size + TAIL_BYTES))
        && 0 == posix_fallocate(fd, (off_t) size, (off_t) TAIL_BYTES)) {
        base = map_aligned(fd, size, PROT_READ | PROT_WRITE);
    }
    if (NULL == base) {
        munmap(granules, ngranules * sizeof(granule_t));
        if (fd >= 0) {
            close(fd);
        }
        return HCCL_ERR_SYS;
    }
    memcpy(base + size, &nonce, sizeof(nonce));
    heap.base = base;
    heap.size = size;
    heap.used = 0;
    heap.fd = fd;
    heap.granules = granules;
    heap.ngranules = ngranules;
    for (int i = 0; i < ORDERS; i++) {
        heap.free[i] = NONE;
    }
    link_free(0, order_of(size));
    *card = (hccl_heap_card_t){.size = size, .fd = fd};
    return HCCL_OK;
}

void hccl_heap_destroy(void)
{
    pthread_mutex_lock(&heap.lock);
    if (NULL != heap.base) {
        if (0 == heap.used) {
            munmap(heap.base, heap.size + TAIL_BYTES);
        } else {
            heap.left = heap.base;
            heap.left_size = heap.size;
        }
        munmap(heap.granules, heap.ngranules * sizeof(granule_t));
        close(heap.fd);
        heap.base = NULL;
        heap.fd = -1;
    }
    pthread_mutex_unlock(&heap.lock);
}

/* ---- peers ------------------------------------------------------------------------------------ */

char *hccl_heap_map(int pid, const hccl_heap_card_t *card, uint64_t nonce)
{
    char path[64];
    char *base = NULL;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, (int) card->fd);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    off_t size = lseek(fd, 0, SEEK_END);
    if (size >= 0 && card->size + TAIL_BYTES == (uint64_t) size) {
        base = map_aligned(fd, card->size, PROT_READ);
    }
    close(fd);
    if (NULL != base && 0 != memcmp(base + card->size, &nonce, sizeof(nonce))) {
        hccl_heap_unmap(base, card);
        base = NULL;
    }
    if (NULL != base) {
        /* The owner's core dump has it. */
        (void) madvise(base, card->size, MADV_DONTDUMP);
    }
    return base;
}

void hccl_heap_unmap(char *base, const hccl_heap_card_t *card)
{
    munmap(base, card->size + TAIL_BYTES);
}
