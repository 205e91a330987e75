/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Finding out where this process runs and which RDMA ports its host has.
 *
 * Refuses to know MPI and the modex. Called once, when the component opens; tests call the parts
 * with hand-made topologies and sysfs trees. What can't be found out stays unknown in the card.
 */
#ifndef HCCL_TOPO_DETECT_H
#define HCCL_TOPO_DETECT_H

#include <hwloc.h>

#include "topo/topo.h"

/* Which ports may be used, and how. */
typedef struct hccl_port_choice {
    hccl_port_list_t list; /* empty: all */
    int gid_index;         /* of Ethernet ports; -1: chosen here */
} hccl_port_choice_t;

/* Fills the whole card. `topology` is a loaded topology of this machine from the libhwloc that this
 * code is linked with, or NULL: one is loaded and freed here. why[whylen]: what of the choice this
 * host does not have, and what happens then; else empty. HCCL_ERR_ARG only for a NULL card. */
HCCL_CHECKED int hccl_detect_card(hwloc_topology_t topology, const hccl_port_choice_t *choice,
                                  hccl_card_t *card, char *why, size_t whylen);

/* Fills package, numa, l3 and core of the card for a process bound to `binding`. */
void hccl_detect_place(hwloc_topology_t topology, hwloc_const_cpuset_t binding, hccl_card_t *card);

/* Same for processes that share kernel, host name and PID namespace, never 0. */
uint64_t hccl_detect_host_key(void);

/* Fills the processors of the card, by the scheduler's mask and control groups; uses host_key. */
void hccl_detect_cpus(hccl_card_t *card);

/* The processors' worth of time that control groups allow a process, rounded down but not to 0; 0:
 * no limit. groups: the process's /proc/PID/cgroup; mount: where control groups are mounted. */
int32_t hccl_detect_quota(const char *groups, const char *mount);

/* What must be equal for measurements to hold: this version of the component, model and caches of the
 * processors, kernel; one line. cpuinfo: "/proc/cpuinfo" but for tests. */
void hccl_detect_machine(const char *cpuinfo, const char *version, char *key, size_t len);

/* A processor that this process may run on and one of the core that follows, where its neighbour is
 * likely to run. HCCL_ERR_NOTSUP: there is one core, or it is not known where this process runs. */
HCCL_CHECKED int hccl_detect_pair(hwloc_topology_t topology, int pair[2]);

/* Where the process is whose card it is. Any of it may be NULL: unknown. */
typedef struct hccl_near {
    hwloc_topology_t topology;
    hwloc_const_cpuset_t binding;
} hccl_near_t;

/* HCCL_NEAR, ...: from a process bound to `binding` to what hangs on a NUMA node, by the system's
 * number; -1: unknown. */
int hccl_detect_distance(hwloc_topology_t topology, hwloc_const_cpuset_t binding, int numa);

/* Fills nports and ports. No ports when built without HCCL_HAVE_VERBS, or when anything fails.
 * why[whylen]: see hccl_detect_card. */
void hccl_detect_ports(const hccl_near_t *near, const hccl_port_choice_t *choice, hccl_card_t *card,
                       char *why, size_t whylen);

/* An entry of a port's table of GIDs. */
typedef struct hccl_gid {
    uint8_t gid[16];
    int index; /* in the table */
    bool roce_v2;
} hccl_gid_t;

/* Index of the GID that RoCE v2 should use on a port, of the n entries of its table: an IPv4-mapped
 * one, else another routable one, else a link-local one; the first of equals; or (wanted not negative)
 * the one with that index. -1 and a zero GID if no such entry is of type RoCE v2. */
int hccl_detect_gid(const hccl_gid_t *table, int n, int wanted, uint8_t gid[16]);

/* The system's number of the NUMA node next to a device, -1: unknown. */
int hccl_detect_device_numa(const char *sysfs, const char *device);

#endif
