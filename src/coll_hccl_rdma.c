/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The RDMA tier of this process: whether its port can be used is tried before MPI_Init's exchange, which
 * tells the others; which port it is follows from all cards, after it. So who is reached by RDMA is
 * known without asking.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "coll_hccl.h"

#if HCCL_HAVE_VERBS

#include "tier/verbs.h"

/* The port that was tried; NULL: none. */
static hccl_verbs_t *tried;

/* What the parameter inject says for this process: name:RANK. */
static bool injected(const char *name)
{
    char what[16];
    int rank;
    return NULL != hccl_params.inject && 2 == sscanf(hccl_params.inject, "%15[a-z]:%d", what, &rank)
           && (uint32_t) rank == OMPI_PROC_MY_NAME->vpid && 0 == strcmp(what, name);
}

static hccl_verbs_settings_t settings(void)
{
    return (hccl_verbs_settings_t){
        .channels = hccl_params.rdma_qps_per_connection,
        .part_min = (size_t) hccl_params.rdma_multi_qp_threshold * 1024,
        .slots = hccl_params.rdma_slots,
        .eager = hccl_params.rdma_eager,
        .batch = hccl_params.rdma_batch,
        .traffic_class = hccl_params.rdma_tc,
        .service_level = hccl_params.rdma_sl,
        .timeout = hccl_params.rdma_timeout,
        .retries = hccl_params.rdma_retry_cnt,
        .reconnects = hccl_params.retry_count,
        .sleeps = 0 != hccl_params.sleep_after,
        .registered_most = hccl_params.rdma_cache,
        .break_every = injected("qp") ? 40 : 0,
    };
}

static hccl_verbs_state_t open_port(const hccl_port_t *port, hccl_verbs_t **v)
{
    hccl_verbs_card_t card;
    hccl_verbs_settings_t set = settings();
    int rc = hccl_verbs_open(&hccl_verbs_library, &set, port->name, port->number, port->gid_index,
                             &card, v);
    return HCCL_OK == rc ? HCCL_VERBS_READY : (hccl_verbs_state_t) card.state;
}

/* The port that this process will most likely use: what counts more is found when all cards are
 * there. -1: none can be used. */
static int likely_port(const hccl_card_t *card, int index)
{
    int usable[HCCL_MAX_PORTS];
    int n = 0;
    if (card->chosen >= 0) {
        return card->chosen;
    }
    for (int i = 0; i < card->nports; i++) {
        if (hccl_port_is_usable(&card->ports[i])) {
            usable[n++] = i;
        }
    }
    return 0 == n ? -1 : usable[index % n];
}

/* Why no port of this host can be used. */
static hccl_verbs_state_t reason(const hccl_card_t *card)
{
    hccl_verbs_state_t state = HCCL_VERBS_NONE;
    for (int i = 0; i < card->nports; i++) {
        state = 1 == card->ports[i].active ? HCCL_VERBS_NO_GID
                : HCCL_VERBS_NONE == state ? HCCL_VERBS_PORT_DOWN
                                           : state;
    }
    return state;
}

void hccl_rdma_try(hccl_peer_t *mine, int index)
{
    mine->rdma = HCCL_VERBS_NONE;
    if (HCCL_RDMA_OFF == hccl_params_rdma()) {
        return;
    }
    int at = likely_port(&mine->card, index);
    mine->rdma =
        (uint8_t) (at < 0 ? reason(&mine->card) : open_port(&mine->card.ports[at], &tried));
}

/* Takes the port that the cards give this rank, where it is another one than the one that was tried. If it
 * cannot be had, connections are refused: the others think that there are some. */
static void settle_port(const hccl_port_t *port)
{
    const hccl_verbs_card_t *have = hccl_verbs_card(tried);
    if (0 == strcmp(have->device, port->name) && have->port == port->number) {
        return;
    }
    hccl_verbs_t *other;
    if (HCCL_VERBS_READY == open_port(port, &other)) {
        hccl_verbs_close(tried);
        tried = other;
        return;
    }
    hccl_log_warn("%s port %d cannot be opened: this rank sends nothing by RDMA", port->name,
                  port->number);
    hccl_verbs_refuse(tried);
}

static uint8_t mtu_of(const hccl_port_t *port)
{
    uint8_t mtu = IBV_MTU_256;
    while (mtu < IBV_MTU_4096 && (128 << (mtu + 1)) <= port->mtu) {
        mtu++;
    }
    return mtu;
}

/* What I know of a rank's port. */
static void describe(const hccl_peer_t *peer, int at, hccl_verbs_card_t *card)
{
    memset(card, 0, sizeof(*card));
    if (NULL == peer || at < 0) {
        return;
    }
    const hccl_port_t *port = &peer->card.ports[at];
    card->state = peer->rdma;
    card->mtu = mtu_of(port);
    card->port = port->number;
    memcpy(card->gid, port->gid, sizeof(card->gid));
    memcpy(card->device, port->name, sizeof(card->device));
}

static const char *const reasons[HCCL_VERBS_STATES] = {
    [HCCL_VERBS_NONE] = "no RoCE port",
    [HCCL_VERBS_PORT_DOWN] = "no RoCE port that is up",
    [HCCL_VERBS_NO_GID] = "no RoCE port with a GID for RoCE v2 (coll_hccl_ib_gid_index)",
    [HCCL_VERBS_NO_MEMORY] =
        "no memory that could be registered (the limit of locked memory, ulimit "
        "-l, should be unlimited), or no queue pair",
    [HCCL_VERBS_NO_DEVICE] = "a RoCE port that cannot be opened, or lacks something",
};

/* All usable ports of a rank; returns how many they are. at: of the one that it uses unless it fails. */
static int describe_all(const hccl_peer_t *peer, int at,
                        hccl_verbs_card_t cards[HCCL_VERBS_MAX_PORTS], int *gid_index, int *first)
{
    int order[HCCL_MAX_PORTS];
    int n = hccl_ports_order(&peer->card, order);
    *first = 0;
    for (int i = 0; i < n; i++) {
        describe(peer, order[i], &cards[i]);
        if (NULL != gid_index) {
            gid_index[i] = peer->card.ports[order[i]].gid_index;
        }
        *first = order[i] == at ? i : *first;
    }
    return n;
}

/* The ports that the cards give all ranks of MPI_COMM_WORLD; NULL: not assigned. */
static int *assigned;

static int ports_of(int rank, hccl_verbs_card_t cards[HCCL_VERBS_MAX_PORTS], int *first)
{
    ompi_proc_t *proc = ompi_group_peer_lookup(MPI_COMM_WORLD->c_local_group, rank);
    return describe_all(hccl_procs_find(proc), assigned[rank], cards, NULL, first);
}

/* One line for the job: the first rank that has no RDMA says so for all. A host without ports is worth a
 * word only if ports were asked for. */
static void report(const hccl_peer_t *const *peers, int n, int me)
{
    int least = HCCL_RDMA_ON == hccl_params_rdma() ? HCCL_VERBS_NONE : HCCL_VERBS_PORT_DOWN;
    int first = -1, count = 0;
    for (int i = 0; i < n; i++) {
        if (NULL != peers[i] && HCCL_VERBS_READY != peers[i]->rdma && peers[i]->rdma >= least) {
            first = first < 0 ? i : first;
            count++;
        }
    }
    if (first == me) {
        hccl_log_warn("RDMA is not used by %d of %d ranks: rank %d has %s. Messages from and to "
                      "them go over Open MPI's point-to-point layer",
                      count, n, first, reasons[peers[me]->rdma]);
    }
}

/* Who is reached by RDMA. */
static hccl_rdma_link_t *make_links(const hccl_peer_t *const *peers, int n, int me, const int *port)
{
    hccl_rdma_link_t *links = calloc((size_t) n, sizeof(*links));
    hccl_verbs_card_t mine, theirs;
    describe(peers[me], port[me], &mine);
    for (int i = 0; NULL != links && i < n; i++) {
        describe(peers[i], port[i], &theirs);
        links[i].used =
            i != me && NULL != peers[i]
            && hccl_verbs_pair(&mine, peers[me]->card.host_key, &theirs, peers[i]->card.host_key);
    }
    return links;
}

static bool any_used(const hccl_rdma_link_t *links, int n)
{
    for (int i = 0; NULL != links && i < n; i++) {
        if (links[i].used) {
            return true;
        }
    }
    return false;
}

/* Tells the engine which ports of mine others know of. */
static void add_ports(const hccl_peer_t *me, int at, int rank)
{
    hccl_verbs_card_t cards[HCCL_VERBS_MAX_PORTS];
    int gid_index[HCCL_VERBS_MAX_PORTS];
    int first;
    int n = describe_all(me, at, cards, gid_index, &first);
    hccl_verbs_set_ports(tried, rank, cards, gid_index, n, first);
}

/* On MPI_COMM_WORLD, when all cards can be read. */
static void begin(const hccl_peer_t **peers, const hccl_card_t **cards, int *port, int n, int me)
{
    for (int i = 0; i < n; i++) {
        ompi_proc_t *proc = ompi_group_peer_lookup(MPI_COMM_WORLD->c_local_group, i);
        peers[i] = hccl_procs_find(proc);
        cards[i] = NULL == peers[i] ? NULL : &peers[i]->card;
    }
    report(peers, n, me);
    if (NULL == tried || HCCL_OK != hccl_ports_assign(cards, n, port, NULL)) {
        return;
    }
    hccl_rdma_link_t *links = make_links(peers, n, me, port);
    if (any_used(links, n)) {
        settle_port(&cards[me]->ports[port[me]]);
        add_ports(peers[me], port[me], me);
        if (OMPI_SUCCESS == hccl_rdma_start(tried, links, n, hccl_rdma_tag, ports_of)) {
            tried = NULL;
            return;
        }
    }
    free(links);
}

void hccl_rdma_begin(const ompi_communicator_t *comm)
{
    if (MPI_COMM_WORLD != comm || HCCL_RDMA_OFF == hccl_params_rdma()) {
        return;
    }
    size_t n = (size_t) ompi_comm_size(MPI_COMM_WORLD);
    const hccl_peer_t **peers = calloc(n, sizeof(*peers));
    const hccl_card_t **cards = calloc(n, sizeof(*cards));
    assigned = calloc(n, sizeof(*assigned));
    if (NULL != peers && NULL != cards && NULL != assigned) {
        begin(peers, cards, assigned, (int) n, ompi_comm_rank(MPI_COMM_WORLD));
    }
    free(peers);
    free(cards);
    if (NULL != tried) {
        hccl_verbs_close(tried);
        tried = NULL;
    }
}

void hccl_rdma_end(void)
{
    if (NULL != tried) {
        hccl_verbs_close(tried);
        tried = NULL;
    }
    hccl_rdma_stop();
    free(assigned);
    assigned = NULL;
}

#else

void hccl_rdma_try(hccl_peer_t *mine, int index)
{
    (void) index;
    mine->rdma = HCCL_VERBS_NONE;
}

void hccl_rdma_begin(const ompi_communicator_t *comm)
{
    if (MPI_COMM_WORLD == comm && HCCL_RDMA_ON == hccl_params_rdma()
        && 0 == ompi_comm_rank(MPI_COMM_WORLD)) {
        hccl_log_warn("RDMA is not used: the component was built without libibverbs");
    }
}

void hccl_rdma_end(void)
{
}

#endif
