/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What makes measurements of one machine worthless on another one, as a line of text; and two
 * processors to measure with.
 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "topo/detect.h"

/* Lines of /proc/cpuinfo that tell processors apart, on x86, ARM, Power and others. */
static const char *const telling[] = {"model name",     "cpu family",   "model",
                                      "stepping",       "vendor_id",    "CPU part",
                                      "CPU variant",    "CPU revision", "cpu",
                                      "machine",        "isa",          "uarch",
                                      "CPU implementer"};

static bool tells(const char *line)
{
    size_t name = strcspn(line, "\t:");
    for (size_t i = 0; i < sizeof(telling) / sizeof(telling[0]); i++) {
        if (strlen(telling[i]) == name && 0 == strncmp(line, telling[i], name)) {
            return true;
        }
    }
    return false;
}

/* Appends text without line ends. */
static void append(char *to, size_t len, const char *text)
{
    size_t used = strlen(to);
    for (; '\0' != *text && used + 1 < len; text++) {
        to[used++] = *text < ' ' ? ' ' : *text;
    }
    to[used] = '\0';
}

/* The first processor's lines. A hypervisor shows in its flags. */
static void append_cpu(const char *cpuinfo, char *key, size_t len)
{
    char line[4096];
    FILE *file = fopen(cpuinfo, "re");
    if (NULL == file) {
        return;
    }
    while (NULL != fgets(line, sizeof(line), file) && '\n' != line[0]) {
        if (tells(line)) {
            append(key, len, line + strcspn(line, ":"));
        } else if (NULL != strstr(line, " hypervisor")) {
            append(key, len, ": virtual");
        }
    }
    fclose(file);
}

void hccl_detect_machine(const char *cpuinfo, const char *version, char *key, size_t len)
{
    struct utsname system;
    char text[512];
    key[0] = '\0';
    append(key, len, version);
    append_cpu(cpuinfo, key, len);
    snprintf(text, sizeof(text), " caches %ld %ld %ld processors %ld",
             sysconf(_SC_LEVEL1_DCACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE),
             sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_NPROCESSORS_CONF));
    append(key, len, text);
    if (0 == uname(&system)) {
        snprintf(text, sizeof(text), " kernel %.64s %.64s %.64s", system.sysname, system.release,
                 system.machine);
        append(key, len, text);
    }
}

int hccl_detect_pair(hwloc_topology_t topology, int pair[2])
{
    hwloc_cpuset_t mine = hwloc_bitmap_alloc();
    hwloc_obj_t first = NULL;
    if (NULL == topology || NULL == mine
        || 0 != hwloc_get_cpubind(topology, mine, HWLOC_CPUBIND_THREAD)) {
        hwloc_bitmap_free(mine);
        return HCCL_ERR_NOTSUP;
    }
    pair[0] = hwloc_bitmap_first(mine);
    pair[1] = -1;
    hwloc_bitmap_free(mine);
    int n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    /* Cores in the order of the machine: the one that follows mine is near it, if any is. */
    for (int i = 0; i < 2 * n && pair[0] >= 0 && pair[1] < 0; i++) {
        hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, (unsigned) (i % n));
        if (NULL != first && core != first) {
            pair[1] = hwloc_bitmap_first(core->cpuset);
        } else if (hwloc_bitmap_isset(core->cpuset, (unsigned) pair[0])) {
            first = core;
        }
    }
    return pair[0] >= 0 && pair[1] >= 0 ? HCCL_OK : HCCL_ERR_NOTSUP;
}
