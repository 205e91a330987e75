/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What MPI_Init costs, and what of it goes into looking for RDMA devices, by standing in front of libibverbs.
 * Each rank prints "start RANK cpu=US lists=N list_cpu=US opened=N libraries=N": processor time of the
 * process, how often the list of devices was asked for and what that took, devices opened, and shared
 * libraries in the process. Plain MPI; knows nothing of the component.
 */
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

struct ibv_device;
struct ibv_context;

/* Found before the library's own. */
__attribute__((visibility("default"))) struct ibv_device **ibv_get_device_list(int *n);
__attribute__((visibility("default"))) struct ibv_context *ibv_open_device(struct ibv_device *one);

static long lists, list_cpu, opened;

static long cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

static void *library(const char *name)
{
    void *verbs = dlopen("libibverbs.so.1", RTLD_LAZY);
    return NULL == verbs ? NULL : dlsym(verbs, name);
}

struct ibv_device **ibv_get_device_list(int *n)
{
    struct ibv_device **(*real)(int *);
    *(void **) &real = library("ibv_get_device_list");
    const long before = cpu_us();
    struct ibv_device **list = NULL == real ? NULL : real(n);

    list_cpu += cpu_us() - before;
    lists++;
    return list;
}

struct ibv_context *ibv_open_device(struct ibv_device *one)
{
    struct ibv_context *(*real)(struct ibv_device *);
    *(void **) &real = library("ibv_open_device");
    opened++;
    return NULL == real ? NULL : real(one);
}

static int count(struct dl_phdr_info *info, size_t size, void *n)
{
    (void) info;
    (void) size;
    ++*(int *) n;
    return 0;
}

int main(int argc, char **argv)
{
    int rank, libraries = 0;

    MPI_Init(&argc, &argv);
    const long cpu = cpu_us();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    dl_iterate_phdr(count, &libraries);
    printf("start %d cpu=%ld lists=%ld list_cpu=%ld opened=%ld libraries=%d\n", rank, cpu, lists,
           list_cpu, opened, libraries);
    MPI_Finalize();
    return 0;
}
