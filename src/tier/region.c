/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Regions, see region.h. All state is per process and guarded by one mutex: nothing here is on the
 * path of a running collective.
 */
#include "tier/region.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE_BYTES ((size_t) 4096)
#define PIECE_BYTES ((size_t) 262144) /* reserved by one system call */

/* Cells that were given back, by size: a new cell of the same size takes one of these first. */
typedef struct free_cell {
    struct free_cell *next;
    size_t bytes;
    uint64_t offset;
} free_cell_t;

/* A closed cell that a peer may still read. */
typedef struct closed_cell {
    struct closed_cell *next;
    hccl_cell_ref_t mine;
    size_t bytes;
    uint64_t last; /* the last tag of the lane */
    int npeers;
    hccl_cell_ref_t peers[];
} closed_cell_t;

/* A mapped region of a peer. */
typedef struct mapping {
    struct mapping *next;
    uint64_t nonce;
    size_t size;
    hccl_region_head_t *base;
    int pid, fd; /* where the owner has it */
    int users;   /* calls of hccl_region_map without hccl_region_release */
    char *heap;  /* the peer's heap, NULL: not mapped */
    hccl_heap_card_t heap_card;
    hccl_xpmem_peer_t *memory; /* the peer's memory, NULL: not seen */
} mapping_t;

static struct {
    pthread_mutex_t lock;
    hccl_region_head_t *mine; /* NULL: none */
    size_t size;
    size_t used;  /* bytes handed out so far, growing */
    size_t first; /* of them the region's head */
    int fd;
    uint64_t generation; /* of the youngest directory entry */
    free_cell_t *free_cells;
    closed_cell_t *closed_cells;
    mapping_t *mappings;
    bool grown; /* a region was mapped since unused mappings were looked through */
} region = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* ftruncate beyond RLIMIT_FSIZE would end the process by a signal. */
static bool allowed_by_limit(uint64_t size)
{
    struct rlimit limit;
    return 0 == getrlimit(RLIMIT_FSIZE, &limit)
           && (RLIM_INFINITY == limit.rlim_cur || size <= limit.rlim_cur);
}

/* Reserves memory of the region now, so that a lack of it is an error here and no signal later.
 * Piece by piece: some kernels break off, and undo, what a signal interrupts. */
static bool reserve(int fd, size_t offset, size_t bytes)
{
    while (bytes > 0) {
        size_t piece = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
        int rc = posix_fallocate(fd, (off_t) offset, (off_t) piece);
        if (0 == rc) {
            offset += piece;
            bytes -= piece;
        } else if (EINTR != rc) {
            return false;
        }
    }
    return true;
}

int hccl_region_create(uint64_t size, hccl_region_card_t *card, const char **why)
{
    memset(card, 0, sizeof(*card));
    if (size < 2 * sizeof(hccl_region_head_t)) {
        *why = "the region size asked for is too small";
        return HCCL_ERR_ARG;
    }
    if (!allowed_by_limit(size)) {
        *why = "the file size limit (ulimit -f) is below the region size";
        return HCCL_ERR_SYS;
    }
    int fd = memfd_create("hccl", MFD_CLOEXEC);
    if (fd < 0) {
        *why = "memfd_create failed";
        return HCCL_ERR_SYS;
    }
    void *base = MAP_FAILED;
    if (0 == ftruncate(fd, (off_t) size)
        && reserve(fd, 0, offsetof(hccl_region_head_t, directory))) {
        base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    uint64_t nonce = 0;
    if (MAP_FAILED == base || (ssize_t) sizeof(nonce) != getrandom(&nonce, sizeof(nonce), 0)) {
        *why = "the memory could not be had";
        if (MAP_FAILED != base) {
            munmap(base, size);
        }
        close(fd);
        return HCCL_ERR_SYS;
    }
    region.mine = base;
    region.size = size;
    region.used = (sizeof(hccl_region_head_t) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    region.first = region.used;
    region.fd = fd;
    region.mine->nonce = nonce;
    region.mine->size = size;
    *card = (hccl_region_card_t){.nonce = nonce, .size = size, .pid = getpid(), .fd = fd};
    return HCCL_OK;
}

void hccl_region_announce_heap(const hccl_heap_card_t *heap)
{
    region.mine->heap = *heap;
}

void hccl_region_announce_xpmem(const hccl_xpmem_card_t *xpmem)
{
    region.mine->xpmem = *xpmem;
}

hccl_region_head_t *hccl_region_own(void)
{
    return region.mine;
}

char *hccl_region_cells(size_t *bytes)
{
    pthread_mutex_lock(&region.lock);
    char *cells = NULL == region.mine ? NULL : (char *) region.mine + region.first;
    *bytes = NULL == region.mine ? 0 : region.used - region.first;
    pthread_mutex_unlock(&region.lock);
    return cells;
}

/* Takes a mapping off the list it is linked in. */
static void unmap(mapping_t **at)
{
    mapping_t *m = *at;
    *at = m->next;
    if (NULL != m->heap) {
        hccl_heap_unmap(m->heap, &m->heap_card);
    }
    if (NULL != m->memory) {
        hccl_xpmem_close(m->memory);
    }
    munmap(m->base, m->size);
    free(m);
}

void hccl_region_destroy(void)
{
    while (NULL != region.mappings) {
        unmap(&region.mappings);
    }
    while (NULL != region.closed_cells) {
        closed_cell_t *c = region.closed_cells;
        region.closed_cells = c->next;
        free(c);
    }
    while (NULL != region.free_cells) {
        free_cell_t *f = region.free_cells;
        region.free_cells = f->next;
        free(f);
    }
    if (NULL != region.mine) {
        munmap(region.mine, region.size);
        close(region.fd);
        region.mine = NULL;
        region.fd = -1;
    }
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static uint64_t home_of(uint64_t key)
{
    return (key * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
}

/* Enters the cell in my directory; false when the directory is full. */
static bool enter(hccl_cell_ref_t *mine)
{
    uint64_t home = home_of(mine->key);
    size_t reserved = 0;
    for (uint64_t i = 0; i < HCCL_DIR_ENTRIES; i++) {
        size_t at = (home + i) % HCCL_DIR_ENTRIES;
        hccl_dir_entry_t *e = &region.mine->directory[at];
        /* The head's first page is reserved at creation, the directory's as they are needed. */
        size_t page = offsetof(hccl_region_head_t, directory[at]) / PAGE_BYTES * PAGE_BYTES;
        if (page != reserved && !reserve(region.fd, page, PAGE_BYTES)) {
            return false;
        }
        reserved = page;
        if (atomic_load_explicit(&e->key, memory_order_relaxed) < HCCL_KEY_FIRST) {
            region.generation += 2;
            mine->entry = e;
            mine->generation = region.generation;
            uint64_t offset = (uint64_t) ((char *) mine->cell - (char *) region.mine);
            /* Ordering 5 of shm_layout.h: all after the mark that the entry bears until here. */
            atomic_store_explicit(&e->offset, offset, memory_order_release);
            atomic_store_explicit(&e->generation, mine->generation, memory_order_release);
            atomic_store_explicit(&e->key, mine->key, memory_order_release);
            return true;
        }
    }
    return false;
}

/* Frees an entry of my directory. Marks that no look-up has to pass become empty again: in front of
 * an empty entry nothing follows, so whoever is just passing them misses nothing. */
static void leave(hccl_dir_entry_t *entry)
{
    size_t at = (size_t) (entry - region.mine->directory);
    size_t next = (at + 1) % HCCL_DIR_ENTRIES;
    atomic_store_explicit(&entry->key, HCCL_KEY_REMOVED, memory_order_release);
    if (HCCL_KEY_EMPTY
        != atomic_load_explicit(&region.mine->directory[next].key, memory_order_relaxed)) {
        return;
    }
    while (HCCL_KEY_REMOVED
           == atomic_load_explicit(&region.mine->directory[at].key, memory_order_relaxed)) {
        atomic_store_explicit(&region.mine->directory[at].key, HCCL_KEY_EMPTY,
                              memory_order_release);
        at = (at + HCCL_DIR_ENTRIES - 1) % HCCL_DIR_ENTRIES;
    }
}

/* Memory of the given whole number of pages: a cell given back, or new. 0: no room. */
static uint64_t take_memory(size_t bytes)
{
    for (free_cell_t **f = &region.free_cells; NULL != *f; f = &(*f)->next) {
        if ((*f)->bytes == bytes) {
            free_cell_t *found = *f;
            uint64_t offset = found->offset;
            *f = found->next;
            free(found);
            return offset;
        }
    }
    if (bytes > region.size - region.used || !reserve(region.fd, region.used, bytes)) {
        return 0;
    }
    uint64_t offset = region.used;
    region.used += bytes;
    return offset;
}

static void give_memory(uint64_t offset, size_t bytes)
{
    free_cell_t *f = malloc(sizeof(*f));
    /* Without memory for the note the cell is lost to this process: only address space. */
    if (NULL != f) {
        *f = (free_cell_t){.next = region.free_cells, .bytes = bytes, .offset = offset};
        region.free_cells = f;
    }
}

/* Whether a peer has read all tags up to last. */
static bool peer_has_read(const hccl_cell_ref_t *peer, uint64_t last)
{
    /* If the peer closes its cell and reuses it just now, this reads something meaningless: too
     * small only delays, and too large is true. */
    return hccl_region_is_closed(peer)
           || atomic_load_explicit(&peer->cell->ack, memory_order_acquire) >= last;
}

static void remove_cell(const hccl_cell_ref_t *mine, size_t bytes)
{
    leave(mine->entry);
    give_memory((uint64_t) ((char *) mine->cell - (char *) region.mine), bytes);
}

/* Takes back the closed cells that nobody reads any more. */
static void sweep(void)
{
    closed_cell_t **at = &region.closed_cells;
    while (NULL != *at) {
        closed_cell_t *c = *at;
        while (c->npeers > 0 && peer_has_read(&c->peers[c->npeers - 1], c->last)) {
            c->npeers--;
        }
        if (0 == c->npeers) {
            *at = c->next;
            remove_cell(&c->mine, c->bytes);
            free(c);
        } else {
            at = &c->next;
        }
    }
}

/* Where the owner of a region has it. */
static void path_of(char path[64], int pid, int fd)
{
    snprintf(path, 64, "/proc/%d/fd/%d", pid, fd);
}

/* Who has gone reads nothing any more. */
static void forget_reader(const mapping_t *m)
{
    for (closed_cell_t *c = region.closed_cells; NULL != c; c = c->next) {
        for (int i = c->npeers - 1; i >= 0; i--) {
            const char *cell = (const char *) c->peers[i].cell;
            if (cell > (const char *) m->base && cell < (const char *) m->base + m->size) {
                c->peers[i] = c->peers[--c->npeers];
            }
        }
    }
}

/* Gives back what belongs to processes that have ended. A process can meet any number of others, one
 * after the other (MPI_Comm_spawn, MPI_Comm_accept); a mapping keeps the memory of its owner. */
static void unmap_gone(void)
{
    mapping_t **at = &region.mappings;
    while (NULL != *at) {
        mapping_t *m = *at;
        char path[64];
        path_of(path, m->pid, m->fd);
        if (0 == m->users && 0 != access(path, F_OK)) {
            forget_reader(m);
            unmap(at);
        } else {
            at = &m->next;
        }
    }
}

int hccl_region_take(uint64_t key, size_t bytes, hccl_cell_ref_t *mine)
{
    int rc = HCCL_ERR_NOMEM;
    bytes = whole_pages(bytes);
    pthread_mutex_lock(&region.lock);
    if (region.grown) {
        region.grown = false;
        unmap_gone();
    }
    sweep();
    uint64_t offset = NULL == region.mine ? 0 : take_memory(bytes);
    if (0 != offset) {
        *mine =
            (hccl_cell_ref_t){.cell = (hccl_cell_t *) ((char *) region.mine + offset), .key = key};
        /* Writing it all also faults the pages in on the owner's NUMA node. */
        memset((void *) mine->cell, 0, bytes);
        if (enter(mine)) {
            rc = HCCL_OK;
        } else {
            give_memory(offset, bytes);
        }
    }
    pthread_mutex_unlock(&region.lock);
    return rc;
}

void hccl_region_drop(const hccl_cell_ref_t *mine, size_t bytes)
{
    pthread_mutex_lock(&region.lock);
    remove_cell(mine, whole_pages(bytes));
    pthread_mutex_unlock(&region.lock);
}

void hccl_region_close(const hccl_cell_ref_t *mine, size_t bytes, const hccl_cell_ref_t *peers,
                       int n, uint64_t last)
{
    closed_cell_t *c = malloc(sizeof(*c) + (size_t) n * sizeof(*peers));
    pthread_mutex_lock(&region.lock);
    atomic_store_explicit(&mine->entry->generation, mine->generation + 1, memory_order_release);
    /* Without memory for the note the cell stays closed for ever: lost, but never wrong. */
    if (NULL != c) {
        *c = (closed_cell_t){.next = region.closed_cells,
                             .mine = *mine,
                             .bytes = whole_pages(bytes),
                             .last = last,
                             .npeers = n};
        if (n > 0) {
            memcpy(c->peers, peers, (size_t) n * sizeof(*peers));
        }
        region.closed_cells = c;
    }
    sweep();
    pthread_mutex_unlock(&region.lock);
}

static mapping_t *mapping_of(const hccl_region_card_t *card)
{
    mapping_t *m = region.mappings;
    while (NULL != m && m->nonce != card->nonce) {
        m = m->next;
    }
    return m;
}

/* Opens and maps what the card announces, and makes sure that it is that. Writable, though nobody
 * writes to a peer's region: on some processors (AMD Zen 5) a line that another core has just
 * written is read half as fast through a mapping without write permission. */
static hccl_region_head_t *map_peer(const hccl_region_card_t *card)
{
    char path[64];
    path_of(path, card->pid, card->fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    off_t size = lseek(fd, 0, SEEK_END);
    void *base = MAP_FAILED;
    if (size >= 0 && card->size == (uint64_t) size) {
        base = mmap(NULL, card->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    close(fd);
    if (MAP_FAILED == base) {
        return NULL;
    }
    hccl_region_head_t *head = base;
    if (head->nonce != card->nonce || head->size != card->size) {
        munmap(base, card->size);
        return NULL;
    }
    return head;
}

int hccl_region_map(const hccl_region_card_t *card, hccl_region_head_t **base)
{
    int rc = HCCL_ERR_SYS;
    if (0 == card->size) {
        return rc;
    }
    pthread_mutex_lock(&region.lock);
    mapping_t *m = mapping_of(card);
    if (NULL == m) {
        hccl_region_head_t *head = map_peer(card);
        m = NULL == head ? NULL : malloc(sizeof(*m));
        if (NULL != m) {
            *m = (mapping_t){.next = region.mappings,
                             .nonce = card->nonce,
                             .size = card->size,
                             .base = head,
                             .pid = card->pid,
                             .fd = card->fd};
            region.mappings = m;
            region.grown = true;
        } else if (NULL != head) {
            munmap(head, card->size);
        }
    }
    if (NULL != m) {
        m->users++;
        *base = m->base;
        rc = HCCL_OK;
    }
    pthread_mutex_unlock(&region.lock);
    return rc;
}

void hccl_region_release(hccl_region_head_t *const *bases, int n)
{
    pthread_mutex_lock(&region.lock);
    for (int i = 0; i < n; i++) {
        mapping_t *m = NULL == bases[i] ? NULL : region.mappings;
        while (NULL != m && m->base != bases[i]) {
            m = m->next;
        }
        if (NULL != m) {
            m->users--;
        }
    }
    pthread_mutex_unlock(&region.lock);
}

int hccl_region_map_heap(const hccl_region_card_t *card, char **heap)
{
    int rc = HCCL_ERR_SYS;
    pthread_mutex_lock(&region.lock);
    mapping_t *m = mapping_of(card);
    if (NULL != m && NULL == m->heap && 0 != m->base->heap.size) {
        m->heap_card = m->base->heap;
        m->heap = hccl_heap_map(card->pid, &m->heap_card, card->nonce);
    }
    if (NULL != m && (NULL != m->heap || 0 == m->base->heap.size)) {
        *heap = m->heap;
        rc = HCCL_OK;
    }
    pthread_mutex_unlock(&region.lock);
    return rc;
}

hccl_xpmem_peer_t *hccl_region_see(const hccl_region_card_t *card)
{
    hccl_xpmem_peer_t *memory = NULL;
    pthread_mutex_lock(&region.lock);
    mapping_t *m = mapping_of(card);
    if (NULL != m && NULL == m->memory && 0 != m->base->xpmem.segment) {
        m->memory = hccl_xpmem_open(&m->base->xpmem);
    }
    if (NULL != m) {
        memory = m->memory;
    }
    pthread_mutex_unlock(&region.lock);
    return memory;
}

int hccl_region_find(hccl_region_head_t *base, uint64_t key, hccl_cell_ref_t *ref)
{
    uint64_t home = home_of(key);
    uint64_t best = 0;
    for (uint64_t i = 0; i < HCCL_DIR_ENTRIES; i++) {
        hccl_dir_entry_t *e = &base->directory[(home + i) % HCCL_DIR_ENTRIES];
        uint64_t found = atomic_load_explicit(&e->key, memory_order_acquire);
        if (HCCL_KEY_EMPTY == found) {
            break;
        }
        if (key != found) {
            continue;
        }
        uint64_t generation = atomic_load_explicit(&e->generation, memory_order_acquire);
        uint64_t offset = atomic_load_explicit(&e->offset, memory_order_acquire);
        /* Ordering 5 of shm_layout.h: if the owner is giving this entry to another cell, it is not
         * the one looked for, which stays. */
        if (key == atomic_load_explicit(&e->key, memory_order_relaxed) && generation > best) {
            best = generation;
            *ref = (hccl_cell_ref_t){.cell = (hccl_cell_t *) ((char *) base + offset),
                                     .entry = e,
                                     .key = key,
                                     .generation = generation & ~UINT64_C(1)};
        }
    }
    return 0 == best ? HCCL_ERR_INTERNAL : HCCL_OK;
}
