/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Proof that no cache line in shared memory has two writers: preloaded, it takes the right to write
 * away wherever a process maps a region that another process has created, so that a store into it
 * ends the program where it happens. (The component maps peers' regions writable, because some
 * processors read them faster so, and promises never to write there: tier/shm_layout.h.) A region's
 * lines then have one writer, the process that owns it.
 *
 * Says at the end how many mappings it has changed. HCCL_PLANT_STORE makes it store into the first
 * one itself: the test must then fail. Knows of the component only how its memory is named.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OWN = 16 };

/* What this process has created itself. */
static ino_t own[OWN];
static int owned;
static int changed;

int memfd_create(const char *name, unsigned flags)
{
    struct stat about;
    int fd = (int) syscall(SYS_memfd_create, name, flags);

    if (0 <= fd && owned < OWN && 0 == fstat(fd, &about)) {
        own[owned++] = about.st_ino;
    }
    return fd;
}

/* Is it memory of the component, made by another process? */
static int of_peer(int fd)
{
    char path[32], name[64] = "";
    struct stat about;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (readlink(path, name, sizeof name - 1) < 0 || 0 != strncmp(name, "/memfd:hccl", 11)
        || 0 != fstat(fd, &about)) {
        return 0;
    }
    for (int i = 0; i < owned; i++) {
        if (own[i] == about.st_ino) {
            return 0;
        }
    }
    return 1;
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    int change =
        0 <= fd && 0 != (MAP_SHARED & flags) && 0 != (PROT_WRITE & protection) && of_peer(fd);
    void *base =
        (void *) syscall(SYS_mmap, at, bytes, change ? protection & ~PROT_WRITE : protection, flags,
                         fd, offset);

    if (change && 1 == ++changed && NULL != getenv("HCCL_PLANT_STORE")) {
        *(volatile char *) base = 1;
    }
    return base;
}

__attribute__((destructor)) static void report(void)
{
    if (0 < changed) {
        fprintf(stderr, "# one writer: %d regions of peers mapped for reading alone\n", changed);
    }
}
