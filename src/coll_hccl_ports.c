/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RDMA ports of processes: what the user has chosen, and the lines that tell which port is whose and
 * how rings go round.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "coll_hccl.h"

static bool has_any(const hccl_card_t *card, const hccl_port_name_t *name)
{
    for (int i = 0; i < card->nports; i++) {
        if (hccl_port_is_named(&card->ports[i], name) && hccl_port_is_usable(&card->ports[i])) {
            return true;
        }
    }
    return false;
}

/* Whether no rank before this one on its node is likely to say the same of this port. */
static bool is_first(const hccl_port_name_t *name, int rank, int index)
{
    char why[200];
    hccl_port_name_t other;
    bool first = true;
    for (int i = 0; first && i < index; i++) {
        first =
            HCCL_OK
                != hccl_port_map_find(hccl_params_port_map(), rank - 1, i, &other, why, sizeof(why))
            || 0 != memcmp(name, &other, sizeof(other));
    }
    return first;
}

void hccl_ports_choose(hccl_card_t *card, int index)
{
    char why[200];
    hccl_port_name_t name;
    const int rank = (int) OMPI_PROC_MY_NAME->vpid;
    if (HCCL_OK != hccl_port_map_find(hccl_params_port_map(), rank, index, &name, why, sizeof(why))
        || '\0' == name.device[0]) {
        return;
    }
    if (!has_any(card, &name)) {
        char number[8] = "";
        if (!is_first(&name, rank, index)) {
            return;
        }
        if (0 < name.number) {
            snprintf(number, sizeof(number), ":%d", name.number);
        }
        hccl_log_warn(
            "coll_hccl_port_map (or the topology file) gives this rank port %s%s, which this host "
            "does not have, "
            "is down, has no GID for RoCE v2 or is left out by coll_hccl_ib_hca. Its port "
            "is chosen as for ranks that the map does not name",
            name.device, number);
        return;
    }
    for (int i = card->nports - 1; 0 <= i; i--) {
        if (hccl_port_is_named(&card->ports[i], &name) && hccl_port_is_usable(&card->ports[i])) {
            card->chosen = (int8_t) i;
        }
    }
}

/* The line of my node, from its first rank. */
static void show_node(const hccl_card_t *const *cards, const hccl_shape_t *shape, int node,
                      const int *port)
{
    char line[900];
    const int first = shape->node_start[node];
    hccl_ports_print(cards, shape->node_ranks + first, shape->node_start[node + 1] - first, port,
                     line, sizeof(line));
    if ('\0' != line[0]) {
        hccl_log_note("RoCE ports of node %d: %s; rank %d leads", node, line,
                      shape->node_ranks[shape->lead_at[node]]);
    }
}

static bool shows(const ompi_communicator_t *comm)
{
    return MPI_COMM_WORLD == comm && 1 <= hccl_params.verbose && hccl_params_is_given("verbose");
}

void hccl_ports_show_ring(const ompi_communicator_t *comm, const hccl_shape_t *shape)
{
    char line[900] = "";
    size_t used = 0;
    if (!shows(comm) || !shape->ringed
        || 0 != ompi_comm_rank((ompi_communicator_t *) (uintptr_t) comm)) {
        return;
    }
    for (int i = 0; i < shape->nnodes && used + 1 < sizeof(line); i++) {
        const int v = shape->ring[i];
        const hccl_peer_t *peer = hccl_procs_find(
            ompi_group_peer_lookup(comm->c_local_group, shape->node_ranks[shape->node_start[v]]));
        const hccl_links_t *links = hccl_params_links();
        const bool named = NULL != links && NULL != peer && 0 <= peer->card.site
                           && peer->card.site < links->nhosts;
        int wrote = snprintf(line + used, sizeof(line) - used, "%s%d%s%s%s", 0 == i ? "" : " ", v,
                             named ? " (" : "", named ? links->host[peer->card.site] : "",
                             named ? ")" : "");
        used += 0 < wrote ? (size_t) wrote : 0;
    }
    hccl_log_note("rings go through nodes %s", line);
}

void hccl_ports_show(const ompi_communicator_t *comm, const hccl_shape_t *shape)
{
    const int n = shape->nranks, me = ompi_comm_rank((ompi_communicator_t *) (uintptr_t) comm);
    if (!shows(comm) || 0 != shape->local_of[me]) {
        return;
    }
    const hccl_card_t **cards = malloc((size_t) n * sizeof(*cards));
    int *port = malloc((size_t) n * sizeof(*port));
    for (int i = 0; NULL != cards && i < n; i++) {
        const hccl_peer_t *peer = hccl_procs_find(ompi_group_peer_lookup(comm->c_local_group, i));
        cards[i] = NULL == peer ? NULL : &peer->card;
    }
    if (NULL != cards && NULL != port && HCCL_OK == hccl_ports_assign(cards, n, port, NULL)) {
        show_node(cards, shape, shape->node_of[me], port);
    }
    free(port);
    free(cards);
}
