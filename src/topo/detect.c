/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Where this process runs: its host, and package, NUMA domain, L3 and core by its binding.
 *
 * Takes nothing for granted: in containers and virtual machines any of it may be missing.
 */
#include <sys/stat.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "topo/detect.h"

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t len)
{
    const uint8_t *bytes = data;

    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    /* keeps "ab","c" and "a","bc" apart */
    return (hash ^ len) * UINT64_C(0x100000001b3);
}

/* The boot id tells real hosts apart even where names repeat; host name and PID namespace tell
 * containers apart that share a kernel: regions are opened through /proc/PID of the peer. */
uint64_t hccl_detect_host_key(void)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    char text[256] = "";
    struct stat info;

    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (NULL != file) {
        if (NULL != fgets(text, sizeof(text), file)) {
            hash = hash_bytes(hash, text, strlen(text));
        }
        fclose(file);
    }
    memset(text, 0, sizeof(text));
    if (0 == gethostname(text, sizeof(text) - 1)) {
        hash = hash_bytes(hash, text, strlen(text));
    }
    if (0 == stat("/proc/self/ns/pid", &info)) {
        uint64_t inode = info.st_ino;
        hash = hash_bytes(hash, &inode, sizeof(inode));
    }
    hash ^= hash >> 32;
    return 0 == hash ? 1 : hash;
}

/* The only object of a type that holds the binding; NULL when there is none or it is unknown.
 * By cpusets, not by the tree: NUMA nodes hang beside it. */
static hwloc_obj_t object_around(hwloc_topology_t topology, hwloc_const_cpuset_t binding,
                                 hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(topology, type);

    for (int i = 0; i < n; i++) {
        hwloc_obj_t object = hwloc_get_obj_by_type(topology, type, (unsigned) i);
        if (NULL != object && NULL != object->cpuset
            && hwloc_bitmap_isincluded(binding, object->cpuset)) {
            return object;
        }
    }
    return NULL;
}

/* An object's id is its first hardware thread as the operating system numbers it: other than the
 * logical index that is the same in the view of a process whose container hides other packages. */
static int32_t id_of(hwloc_obj_t object)
{
    if (NULL == object) {
        return -1;
    }
    hwloc_const_bitmap_t set =
        NULL != object->complete_cpuset ? object->complete_cpuset : object->cpuset;
    return hwloc_bitmap_first(set);
}

void hccl_detect_place(hwloc_topology_t topology, hwloc_const_cpuset_t binding, hccl_card_t *card)
{
    hwloc_const_cpuset_t all = hwloc_topology_get_topology_cpuset(topology);
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();

    card->package = card->numa = card->l3 = card->core = -1;
    if (NULL == bound) {
        return;
    }
    if (NULL != binding && NULL != all && 0 == hwloc_bitmap_and(bound, binding, all)
        && !hwloc_bitmap_iszero(bound)) {
        hwloc_obj_t numa = object_around(topology, bound, HWLOC_OBJ_NUMANODE);
        card->package = id_of(object_around(topology, bound, HWLOC_OBJ_PACKAGE));
        card->numa = NULL == numa ? -1 : (int32_t) numa->os_index;
        card->l3 = id_of(object_around(topology, bound, HWLOC_OBJ_L3CACHE));
        card->core = id_of(object_around(topology, bound, HWLOC_OBJ_CORE));
    }
    hwloc_bitmap_free(bound);
}

int hccl_detect_distance(hwloc_topology_t topology, hwloc_const_cpuset_t binding, int numa)
{
    hwloc_obj_t near = NULL;

    if (NULL != topology && 0 <= numa) {
        near = hwloc_get_numanode_obj_by_os_index(topology, (unsigned) numa);
    }
    if (NULL == near || NULL == near->cpuset || NULL == binding || hwloc_bitmap_iszero(binding)) {
        return HCCL_SAME_PACKAGE;
    }
    if (hwloc_bitmap_intersects(near->cpuset, binding)) {
        return HCCL_NEAR;
    }
    hwloc_obj_t package = object_around(topology, near->cpuset, HWLOC_OBJ_PACKAGE);
    return NULL != package && hwloc_bitmap_intersects(package->cpuset, binding) ? HCCL_SAME_PACKAGE
                                                                                : HCCL_FAR;
}

/* Place and ports, by the binding of this thread, which is the one that calls MPI_Init. Not by where
 * it ran last: an unbound process moves. */
static void detect_around(hwloc_topology_t topology, const hccl_port_choice_t *choice,
                          hccl_card_t *card, char *why, size_t whylen)
{
    hwloc_bitmap_t binding = NULL == topology ? NULL : hwloc_bitmap_alloc();
    const bool known =
        NULL != binding && 0 == hwloc_get_cpubind(topology, binding, HWLOC_CPUBIND_THREAD);
    const hccl_near_t near = {topology, known ? binding : NULL};

    if (known) {
        hccl_detect_place(topology, binding, card);
    }
    hccl_detect_ports(&near, choice, card, why, whylen);
    hwloc_bitmap_free(binding);
}

int hccl_detect_card(hwloc_topology_t topology, const hccl_port_choice_t *choice, hccl_card_t *card,
                     char *why, size_t whylen)
{
    hwloc_topology_t own = NULL;

    if (NULL == card) {
        return HCCL_ERR_ARG;
    }
    hccl_card_init(card);
    card->host_key = hccl_detect_host_key();
    if (NULL == topology && 0 == hwloc_topology_init(&own)) {
        topology = 0 == hwloc_topology_load(own) ? own : NULL;
    }
    detect_around(topology, choice, card, why, whylen);
    if (NULL != own) {
        hwloc_topology_destroy(own);
    }
    hccl_detect_cpus(card);
    return HCCL_OK;
}
