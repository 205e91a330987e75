/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Topology files: places and ports, as the parameters have them, and a weighted map of the network:
 * what a message costs between each pair of hosts. docs/topology.md describes the lines of a file.
 *
 * Refuses to know which hosts there are. The component and the tools read files; shapes are then
 * given the order of rings that follows from the map.
 */
#ifndef HCCL_TOPO_LINKS_H
#define HCCL_TOPO_LINKS_H

#include "topo/topo.h"

enum { HCCL_LINKS_MAX_HOSTS = 2048, HCCL_LINKS_WHY = 768 };

/* Immutable once read, freed by hccl_links_free. */
typedef struct hccl_links {
    int nhosts;
    char **host;    /* [nhosts] names, in the order of the file */
    bool weighted;  /* cost is known */
    uint32_t *cost; /* [nhosts][nhosts] of a message, in nanoseconds or other units; symmetric, 0 in
                     * the diagonal, at least 1 elsewhere */
    int *below;     /* [nhosts] the leaf switch of each host, 0, 1, ...; -1: none is named */
    int nswitches;
    char *topology; /* a text for hccl_shape_from_text; empty: none */
    char *ports;    /* a map for hccl_port_map_find; empty: none */
    uint64_t hash;  /* of the bytes of the file */
} hccl_links_t;

/* HCCL_ERR_ARG: why[HCCL_LINKS_WHY] names the file, the line, what is wrong and what is accepted.
 * HCCL_ERR_NOTSUP: the file cannot be read; why says so. HCCL_ERR_NOMEM. */
HCCL_CHECKED int hccl_links_read(const char *path, hccl_links_t **out, char *why);

void hccl_links_free(hccl_links_t *links);

/* The number of a host, -1: it is not in the file. A name is also found by what stands before its
 * first dot, in the file or given. */
int hccl_links_find(const hccl_links_t *links, const char *name);

/* The hosts host[0..n-1] in the order of a short ring: ring[i] is an index into host. Exact up to
 * HCCL_LINKS_EXACT hosts, else the better of two tours improved by moves of bounded number. Begins
 * behind its slowest link, and is the order as given if none is shorter. Short: the sum of the third powers of costs, so
 * that a link counts for more than quicker ones of the same sum: the slowest link of a ring holds up
 * each of its rounds. A pure function: equal on all processes. HCCL_ERR_NOMEM. */
HCCL_CHECKED int hccl_links_tour(const hccl_links_t *links, const int *host, int n, int *ring);

enum { HCCL_LINKS_EXACT = 10 };

/* Gives a shape the ring of its nodes, where node v is the host host[v]; as it was where the file has
 * no weights, a host is negative (not in the file), or all links cost the same. HCCL_ERR_NOMEM. */
HCCL_CHECKED int hccl_links_order(const hccl_links_t *links, const int *host, hccl_shape_t *shape);

#endif
