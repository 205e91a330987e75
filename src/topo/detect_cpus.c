/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which processors this process may use: by its mask (taskset, cpusets, mpirun's binding) and by
 * the time that its control group has, as container engines limit it.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "topo/detect.h"

/* More processors than any kernel is built for. */
#define MOST_CPUS (1 << 16)

static void take_mask(hccl_cpus_t *cpus, const cpu_set_t *mask, size_t bytes)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    cpus->count = CPU_COUNT_S(bytes, mask);
    for (size_t i = 0; i < 8 * bytes; i++) {
        if (CPU_ISSET_S(i, bytes, mask)) {
            hash = (hash ^ i) * UINT64_C(0x9e3779b97f4a7c15);
            hash ^= hash >> 32;
        }
    }
    cpus->set = hash;
}

void hccl_detect_cpus(hccl_card_t *card)
{
    bool too_short = true;

    memset(&card->cpus, 0, sizeof(card->cpus));
    for (int n = CPU_SETSIZE; too_short && n <= MOST_CPUS; n *= 2) {
        size_t bytes = CPU_ALLOC_SIZE(n);
        cpu_set_t *mask = CPU_ALLOC(n);
        if (NULL == mask) {
            return;
        }
        if (0 == sched_getaffinity(0, bytes, mask)) {
            take_mask(&card->cpus, mask, bytes);
            too_short = false;
        } else {
            too_short = EINVAL == errno;
        }
        CPU_FREE(mask);
    }
    card->cpus.host = card->host_key;
    card->cpus.quota = hccl_detect_quota("/proc/self/cgroup", "/sys/fs/cgroup");
}

/* The first line of dir/name, as up to two numbers; how many there were. "max" is none. */
static int read_numbers(const char *dir, const char *name, int64_t *first, int64_t *second)
{
    char path[768];
    int found = 0;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *file = fopen(path, "re");
    if (NULL != file) {
        found = fscanf(file, "%" SCNd64 " %" SCNd64, first, second);
        fclose(file);
    }
    return found;
}

/* The limit of one control group, as version 2 or version 1 writes it; 0: none. */
static int32_t quota_of(const char *dir)
{
    int64_t quota = 0, period = 0, none;

    if (2 != read_numbers(dir, "cpu.max", &quota, &period)
        && (1 > read_numbers(dir, "cpu.cfs_quota_us", &quota, &none)
            || 1 > read_numbers(dir, "cpu.cfs_period_us", &period, &none))) {
        return 0;
    }
    if (quota <= 0 || period <= 0 || quota / period >= MOST_CPUS) {
        return 0;
    }
    return quota < period ? 1 : (int32_t) (quota / period);
}

/* The lowest limit of a control group and those around it. Cuts `group` down. */
static int32_t lowest_quota(const char *mount, char *group)
{
    char dir[640];
    int32_t lowest = 0;
    char *end;

    do {
        snprintf(dir, sizeof(dir), "%s%s", mount, group);
        int32_t quota = quota_of(dir);
        if (0 != quota && (0 == lowest || quota < lowest)) {
            lowest = quota;
        }
        end = strrchr(group, '/');
        if (NULL != end) {
            *end = '\0';
        }
    } while (NULL != end);
    return lowest;
}

/* Whether "cpu" is one of the names in a list with commas. */
static bool names_cpu(const char *list)
{
    for (const char *at = list; NULL != at; at = strchr(at, ',')) {
        at += ',' == *at ? 1 : 0;
        if (0 == strncmp(at, "cpu", 3) && ('\0' == at[3] || ',' == at[3])) {
            return true;
        }
    }
    return false;
}

int32_t hccl_detect_quota(const char *groups, const char *mount)
{
    char line[512];
    char root[256];
    int32_t quota = 0;
    FILE *file = fopen(groups, "re");

    if (NULL == file) {
        return 0;
    }
    while (0 == quota && NULL != fgets(line, sizeof(line), file)) {
        /* NUMBER:CONTROLLERS:GROUP; version 2 has no controllers. */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = NULL == controllers ? NULL : strchr(controllers + 1, ':');
        if (NULL == group) {
            continue;
        }
        *group++ = '\0';
        controllers++;
        bool old = names_cpu(controllers);
        if (old || '\0' == *controllers) {
            snprintf(root, sizeof(root), "%s%s", mount, old ? "/cpu" : "");
            quota = lowest_quota(root, group);
        }
    }
    fclose(file);
    return quota;
}
