/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which RDMA port each process of a group uses.
 *
 * A pure function of cards. Refuses to know shapes, levels inside nodes and every transport. The
 * processes of all nodes that have as many rails and processes are shared out to the rails by their
 * index, all these nodes alike: an assignment of least cost, grown process by process along the
 * cheapest chain of changes (successive shortest paths).
 */
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "topo/topo.h"

enum { NO_RAIL = -1, MAX_RAILS = 16 };

/* Costs: of one process more on a rail that has some already, and of a process that does not see the
 * port. Distances are added over the nodes of a class, so their sum stays below for 2^20 nodes. */
static const long long crowding = 1LL << 24, unseen = 1LL << 44;

typedef struct node {
    int first, n;                /* its processes: members[first], ... */
    int nrails;                  /* its rails */
    hccl_port_t rail[MAX_RAILS]; /* one process's view of each */
} node_t;

typedef struct table {
    const hccl_card_t *const *cards;
    int nnodes;
    node_t *node;
    int *members;    /* [n] processes by host, ascending */
    long long *cost; /* [processes of a node][rails] */
    int *on;         /* [processes of a node] the rail, NO_RAIL: none yet */
} table_t;

bool hccl_port_is_usable(const hccl_port_t *port)
{
    return 0 != port->active && HCCL_LINK_ETHERNET == port->link_layer && 0 <= port->gid_index;
}

/* Numbers within names by their value. */
static int compare_names(const char *a, const char *b)
{
    while ('\0' != *a && '\0' != *b) {
        if (isdigit((unsigned char) *a) && isdigit((unsigned char) *b)) {
            char *after_a, *after_b;
            const unsigned long x = strtoul(a, &after_a, 10), y = strtoul(b, &after_b, 10);

            if (x != y) {
                return x < y ? -1 : 1;
            }
            a = after_a;
            b = after_b;
        } else if (*a != *b) {
            break;
        } else {
            a++;
            b++;
        }
    }
    return (unsigned char) *a - (unsigned char) *b;
}

static int compare_ports(const hccl_port_t *a, const hccl_port_t *b)
{
    const int names = compare_names(a->name, b->name);

    return 0 != names ? names : a->number - b->number;
}

int hccl_ports_order(const hccl_card_t *card, int order[HCCL_MAX_PORTS])
{
    int n = 0;

    for (int k = 0; k < card->nports; k++) {
        int at = n;

        if (!hccl_port_is_usable(&card->ports[k])) {
            continue;
        }
        for (; 0 < at && 0 > compare_ports(&card->ports[k], &card->ports[order[at - 1]]); at--) {
            order[at] = order[at - 1];
        }
        order[at] = k;
        n++;
    }
    return n;
}

/* ---- the rails of a node ------------------------------------------------------------------------ */

/* Enters a port into the node's rails, which ascend, unless it is there or there is no room. */
static void add_rail(node_t *node, const hccl_port_t *port)
{
    int at = node->nrails;

    while (0 < at && 0 > compare_ports(port, &node->rail[at - 1])) {
        at--;
    }
    if (MAX_RAILS == node->nrails || (0 < at && 0 == compare_ports(port, &node->rail[at - 1]))) {
        return;
    }
    memmove(&node->rail[at + 1], &node->rail[at], (size_t) (node->nrails - at) * sizeof(*port));
    node->rail[at] = *port;
    node->nrails++;
}

static void find_rails(const table_t *t, node_t *node)
{
    uint32_t fastest = 0;
    int kept = 0;

    for (int i = 0; i < node->n; i++) {
        const hccl_card_t *card = t->cards[t->members[node->first + i]];

        for (int k = 0; NULL != card && k < card->nports; k++) {
            if (hccl_port_is_usable(&card->ports[k])) {
                add_rail(node, &card->ports[k]);
            }
        }
    }
    for (int r = 0; r < node->nrails; r++) {
        fastest = node->rail[r].speed_mbps > fastest ? node->rail[r].speed_mbps : fastest;
    }
    for (int r = 0; r < node->nrails; r++) {
        if (node->rail[r].speed_mbps >= fastest / 2) {
            node->rail[kept++] = node->rail[r];
        }
    }
    node->nrails = kept;
}

/* The index of a rail among the ports of a card, -1: the process does not see it. */
static int port_at(const hccl_card_t *card, const hccl_port_t *rail)
{
    for (int k = 0; NULL != card && k < card->nports; k++) {
        if (0 == compare_ports(&card->ports[k], rail) && hccl_port_is_usable(&card->ports[k])) {
            return k;
        }
    }
    return -1;
}

/* ---- nodes ---------------------------------------------------------------------------------------- */

typedef struct key {
    uint64_t host;
    int process;
} member_key_t;

static int compare_keys(const void *va, const void *vb)
{
    const member_key_t *a = va, *b = vb;

    if (a->host != b->host) {
        return a->host < b->host ? -1 : 1;
    }
    return a->process < b->process ? -1 : a->process > b->process;
}

/* Processes by host; one without a host key is alone. */
static int find_nodes(table_t *t, int n)
{
    member_key_t *keys = malloc((size_t) n * sizeof(*keys));

    if (NULL == keys) {
        return HCCL_ERR_NOMEM;
    }
    for (int i = 0; i < n; i++) {
        keys[i] = (member_key_t){NULL == t->cards[i] ? 0 : t->cards[i]->host_key, i};
    }
    qsort(keys, (size_t) n, sizeof(*keys), compare_keys);
    for (int i = 0; i < n; i++) {
        if (0 == i || 0 == keys[i].host || keys[i].host != keys[i - 1].host) {
            t->nnodes++;
        }
    }
    t->node = calloc((size_t) t->nnodes, sizeof(*t->node));
    for (int i = 0, v = -1; NULL != t->node && i < n; i++) {
        if (0 == i || 0 == keys[i].host || keys[i].host != keys[i - 1].host) {
            t->node[++v].first = i;
        }
        t->members[i] = keys[i].process;
        t->node[v].n++;
    }
    free(keys);
    return NULL == t->node ? HCCL_ERR_NOMEM : HCCL_OK;
}

/* ---- the assignment ------------------------------------------------------------------------------- */

static bool is_alike(const node_t *a, const node_t *b)
{
    return a->n == b->n && a->nrails == b->nrails;
}

/* What it costs, over all nodes of the class of `model`, that index i uses rail r. */
static void add_costs(table_t *t, const node_t *model)
{
    const int rails = model->nrails;

    memset(t->cost, 0, (size_t) model->n * (size_t) rails * sizeof(*t->cost));
    for (const node_t *node = model; node < t->node + t->nnodes; node++) {
        for (int i = 0; is_alike(node, model) && i < node->n; i++) {
            const hccl_card_t *card = t->cards[t->members[node->first + i]];

            for (int r = 0; r < rails; r++) {
                const int k = port_at(card, &node->rail[r]);

                t->cost[i * rails + r] += 0 > k ? unseen : card->ports[k].distance;
            }
        }
    }
}

/* The cheapest way to have one process more on a rail: the new one, or one of those on another rail
 * that takes the new one in turn. */
typedef struct chain {
    long long cost[MAX_RAILS]; /* of all that move */
    int from[MAX_RAILS];       /* the rail that passes on, NO_RAIL: the new process itself */
    int mover[MAX_RAILS];      /* who moves */
} chain_t;

/* Tries to reach all rails over what rail r passes on. True if any became cheaper. */
static bool pass_on(const table_t *t, int placed, int rails, int r, chain_t *chain)
{
    bool cheaper = false;

    for (int i = 0; i < placed; i++) {
        for (int to = 0; r == t->on[i] && to < rails; to++) {
            const long long cost =
                chain->cost[r] + t->cost[i * rails + to] - t->cost[i * rails + r];

            if (cost < chain->cost[to]) {
                chain->cost[to] = cost;
                chain->from[to] = r;
                chain->mover[to] = i;
                cheaper = true;
            }
        }
    }
    return cheaper;
}

/* Index `i` gets a rail, others may change theirs. */
static void place(table_t *t, int i, int rails, int *load)
{
    chain_t chain;
    bool cheaper = true;
    int last = 0;

    for (int r = 0; r < rails; r++) {
        chain.cost[r] = t->cost[i * rails + r];
        chain.from[r] = NO_RAIL;
        chain.mover[r] = i;
    }
    while (cheaper) {
        cheaper = false;
        for (int r = 0; r < rails; r++) {
            cheaper = pass_on(t, i, rails, r, &chain) || cheaper;
        }
    }
    for (int r = 1; r < rails; r++) {
        if (chain.cost[r] + load[r] * crowding < chain.cost[last] + load[last] * crowding) {
            last = r;
        }
    }
    load[last]++;
    for (int r = last; NO_RAIL != r; r = chain.from[r]) {
        t->on[chain.mover[r]] = r;
    }
}

/* The rail of each index, for all nodes like `model`. */
static void spread(table_t *t, const node_t *model)
{
    int load[MAX_RAILS] = {0};

    add_costs(t, model);
    for (int i = 0; i < model->n; i++) {
        t->on[i] = NO_RAIL;
    }
    for (int i = 0; i < model->n && 0 < model->nrails; i++) {
        place(t, i, model->nrails, load);
    }
}

static bool has_before(const table_t *t, const node_t *node)
{
    for (const node_t *before = t->node; before < node; before++) {
        if (is_alike(before, node)) {
            return true;
        }
    }
    return false;
}

static void write_out(const table_t *t, const node_t *node, int *port, int *rail)
{
    for (int i = 0; i < node->n; i++) {
        const int process = t->members[node->first + i];
        const hccl_card_t *card = t->cards[process];
        int r = t->on[i];

        port[process] = NO_RAIL == r ? -1 : port_at(card, &node->rail[r]);
        if (NULL != card && 0 <= card->chosen) {
            port[process] = card->chosen;
            for (r = node->nrails - 1; 0 <= r && card->chosen != port_at(card, &node->rail[r]);
                 r--) {
            }
        }
        if (NULL != rail) {
            rail[process] = 0 > port[process] ? NO_RAIL : r;
        }
    }
}

int hccl_ports_assign(const hccl_card_t *const *cards, int n, int *port, int *rail)
{
    table_t t = {.cards = cards};
    size_t cells = 1;

    if (NULL == cards || NULL == port || n < 1) {
        return HCCL_ERR_ARG;
    }
    t.members = malloc((size_t) n * sizeof(*t.members));
    t.on = malloc((size_t) n * sizeof(*t.on));
    int rc = NULL == t.members || NULL == t.on ? HCCL_ERR_NOMEM : find_nodes(&t, n);
    for (int v = 0; HCCL_OK == rc && v < t.nnodes; v++) {
        find_rails(&t, &t.node[v]);
        const size_t need = (size_t) t.node[v].n * (size_t) t.node[v].nrails;
        cells = need > cells ? need : cells;
    }
    t.cost = malloc(cells * sizeof(*t.cost));
    rc = HCCL_OK == rc && NULL == t.cost ? HCCL_ERR_NOMEM : rc;
    for (node_t *model = t.node; HCCL_OK == rc && model < t.node + t.nnodes; model++) {
        if (has_before(&t, model)) {
            continue;
        }
        spread(&t, model);
        for (node_t *node = model; node < t.node + t.nnodes; node++) {
            if (is_alike(node, model)) {
                write_out(&t, node, port, rail);
            }
        }
    }
    free(t.cost);
    free(t.node);
    free(t.on);
    free(t.members);
    return rc;
}
