/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Stands in for libxpmem and its kernel module, to be preloaded: what malloc and its kin hand out lies
 * in one stretch of shared memory (the arena, one window of tier/xpmem.h), which xpmem_attach maps in
 * another process. All else of a process cannot be attached.
 *
 * HCCL_FAKE_XPMEM  what fails: version, make, get, attach (every one), proof (what is attached is not
 *                  the peer's memory) or late (every attach of a process but its first). Rank 1 of the
 *                  job only (OMPI_COMM_WORLD_RANK).
 * At its end, rank 0 prints how many windows it has attached.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#define ARENA ((char *) 0x600000000000)
#define ARENA_BYTES ((size_t) (UINT64_C(1) << 32) - 65536)
#define ARENA_FD 977

/* ---- the arena: blocks of powers of two, each behind its size --------------------------------- */

enum { CLASSES = 33, LEAST = 6 };

/* In front of a block, which lies at least this far behind the block's start. */
typedef struct head {
    size_t bytes;      /* asked for */
    uint32_t number;   /* class */
    uint32_t distance; /* of the user's address from the start */
} head_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t used; /* 0: no arena yet */
static void *freed[CLASSES];

static bool make_arena(void)
{
    int fd = memfd_create("fake-xpmem", MFD_CLOEXEC);
    if (fd < 0 || ARENA_FD != dup3(fd, ARENA_FD, O_CLOEXEC)
        || 0 != ftruncate(ARENA_FD, (off_t) ARENA_BYTES)
        || ARENA
               != mmap(ARENA, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE,
                       ARENA_FD, 0)) {
        return false;
    }
    close(fd);
    used = 4096;
    return true;
}

static void *take(size_t bytes, size_t align)
{
    align = align < sizeof(head_t) ? sizeof(head_t) : align;
    size_t whole = bytes + 2 * align;
    uint32_t number = LEAST;
    while (number < CLASSES && (size_t) 1 << number < whole) {
        number++;
    }
    if (whole < bytes || number >= CLASSES) {
        return NULL;
    }
    char *start = NULL;
    pthread_mutex_lock(&lock);
    if (NULL != freed[number]) {
        start = freed[number];
        memcpy(&freed[number], start, sizeof(void *));
    } else if ((0 != used || make_arena()) && ((size_t) 1 << number) <= ARENA_BYTES - used) {
        start = ARENA + used;
        used += (size_t) 1 << number;
    }
    pthread_mutex_unlock(&lock);
    if (NULL == start) {
        return NULL;
    }
    char *block = (char *) (((uintptr_t) start + sizeof(head_t) + align - 1) / align * align);
    ((head_t *) block)[-1] = (head_t){bytes, number, (uint32_t) (block - start)};
    return block;
}

void *malloc(size_t bytes)
{
    void *block = take(bytes, 16);
    if (NULL == block) {
        errno = ENOMEM;
    }
    return block;
}

void free(void *block)
{
    if (NULL != block) {
        head_t head = ((head_t *) block)[-1];
        char *start = (char *) block - head.distance;
        pthread_mutex_lock(&lock);
        memcpy(start, &freed[head.number], sizeof(void *));
        freed[head.number] = start;
        pthread_mutex_unlock(&lock);
    }
}

void *calloc(size_t n, size_t bytes)
{
    size_t all;
    void *block = __builtin_mul_overflow(n, bytes, &all) ? NULL : malloc(all);
    return NULL == block ? NULL : memset(block, 0, all);
}

void *realloc(void *block, size_t bytes)
{
    void *other = malloc(bytes);
    if (NULL != other && NULL != block) {
        size_t old = ((head_t *) block)[-1].bytes;
        memcpy(other, block, old < bytes ? old : bytes);
        free(block);
    }
    return other;
}

int posix_memalign(void **block, size_t align, size_t bytes)
{
    *block = take(bytes, align);
    return NULL == *block ? ENOMEM : 0;
}

void *aligned_alloc(size_t align, size_t bytes)
{
    return take(bytes, align);
}

void *memalign(size_t align, size_t bytes)
{
    return take(bytes, align);
}

size_t malloc_usable_size(void *block)
{
    return NULL == block ? 0 : ((head_t *) block)[-1].bytes;
}

/* ---- libxpmem --------------------------------------------------------------------------------- */

static int attached;

static bool fails(const char *what)
{
    const char *asked = getenv("HCCL_FAKE_XPMEM");
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    return NULL != asked && 0 == strcmp(asked, what) && NULL != rank && 0 == strcmp(rank, "1");
}

int xpmem_version(void)
{
    return fails("version") ? -1 : 0x00026003;
}

int64_t xpmem_make(void *address, size_t size, int permit_type, void *permit)
{
    bool whole = NULL == address && SIZE_MAX == size && 1 == permit_type && (void *) 0600 == permit;
    return whole && !fails("make") ? getpid() : -1;
}

int xpmem_remove(int64_t segment)
{
    return getpid() == segment ? 0 : -1;
}

int64_t xpmem_get(int64_t segment, int flags, int permit_type, void *permit)
{
    bool whole = 2 == flags && 1 == permit_type && (void *) 0600 == permit;
    return whole && !fails("get") ? segment : -1;
}

int xpmem_release(int64_t apid)
{
    return apid > 0 ? 0 : -1;
}

struct xpmem_addr {
    int64_t apid;
    off_t offset;
};

void *xpmem_attach(struct xpmem_addr from, size_t size, void *address)
{
    char path[64];
    if (ARENA != (char *) from.offset || ARENA_BYTES != size || NULL != address || fails("attach")
        || (attached > 0 && fails("late"))) {
        return (void *) -1;
    }
    attached++;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", fails("proof") ? getpid() : (int) from.apid,
             ARENA_FD);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *base = fd < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0) {
        close(fd);
    }
    return base;
}

int xpmem_detach(void *address)
{
    return munmap(address, ARENA_BYTES);
}

__attribute__((destructor)) static void report(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (NULL != rank && 0 == strcmp(rank, "0")) {
        fprintf(stderr, "fake xpmem: %d attached\n", attached);
    }
}
