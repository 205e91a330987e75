/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See steady_alloc.h.
 */
#include "steady_alloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLACES 16
#define FRAMES 8

/* Of this program for all libraries in it, the component above all: hidden, as the project's functions are, it
 * would count its own calls alone. The linker must export them (steady.am). */
#define SEEN_BY_ALL __attribute__((noinline, visibility("default")))

/* glibc's own entry points, exported for programs that replace the allocator. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

static __thread bool watching;
static long count;
static int nplaces;
static struct {
    const char *function;
    void *frame[FRAMES];
    int nframes;
    long times;
} place[PLACES];

/* Counts one call; the same two innermost frames are the same place. */
static void note(const char *function)
{
    void *frame[FRAMES + 2];
    if (!watching) {
        return;
    }
    watching = false;
    count++;
    int n = backtrace(frame, FRAMES + 2) - 2;
    n = n < 0 ? 0 : n;
    int i = 0;
    while (i < nplaces
           && (0 != strcmp(place[i].function, function) || place[i].nframes != n
               || 0 != memcmp(place[i].frame, frame + 2, (size_t) n * sizeof(void *)))) {
        i++;
    }
    if (i == nplaces && nplaces < PLACES) {
        place[i].function = function;
        place[i].nframes = n;
        place[i].times = 0;
        memcpy(place[i].frame, frame + 2, (size_t) n * sizeof(void *));
        nplaces++;
    }
    if (i < nplaces) {
        place[i].times++;
    }
    watching = true;
}

void alloc_init(void)
{
    void *frame[2];
    /* The first backtrace loads a library. */
    (void) backtrace(frame, 2);
}

void alloc_watch(bool on)
{
    if (on) {
        count = 0;
        nplaces = 0;
    }
    watching = on;
}

long alloc_count(void)
{
    return count;
}

void alloc_report(int rank, const char *what)
{
    for (int i = 0; i < nplaces; i++) {
        printf("%d %s from: %ld x %s", rank, what, place[i].times, place[i].function);
        for (int j = 0; j < place[i].nframes; j++) {
            Dl_info info = {0};
            (void) dladdr(place[i].frame[j], &info);
            const char *file = NULL == info.dli_fname ? "?" : info.dli_fname;
            const char *slash = strrchr(file, '/');
            printf(" < %s:%s+0x%tx", NULL == slash ? file : slash + 1,
                   NULL == info.dli_sname ? "" : info.dli_sname,
                   (char *) place[i].frame[j] - (char *) info.dli_fbase);
        }
        printf("\n");
    }
}

SEEN_BY_ALL void *malloc(size_t bytes)
{
    note("malloc");
    return __libc_malloc(bytes);
}

SEEN_BY_ALL void *calloc(size_t n, size_t bytes)
{
    note("calloc");
    return __libc_calloc(n, bytes);
}

SEEN_BY_ALL void *realloc(void *old, size_t bytes)
{
    note("realloc");
    return __libc_realloc(old, bytes);
}

SEEN_BY_ALL void free(void *memory)
{
    if (NULL != memory) {
        note("free");
    }
    __libc_free(memory);
}

SEEN_BY_ALL void *memalign(size_t alignment, size_t bytes)
{
    note("memalign");
    return __libc_memalign(alignment, bytes);
}

SEEN_BY_ALL void *aligned_alloc(size_t alignment, size_t bytes)
{
    note("aligned_alloc");
    return __libc_memalign(alignment, bytes);
}

SEEN_BY_ALL int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    note("posix_memalign");
    *out = __libc_memalign(alignment, bytes);
    return NULL == *out ? ENOMEM : 0;
}

SEEN_BY_ALL void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    note("mmap");
    return (void *) syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}
