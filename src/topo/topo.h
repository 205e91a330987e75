/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The machine as the rest of the library sees it: cards (what one process tells about itself),
 * places (where one rank sits) and shapes (the tier tree of one communicator).
 *
 * Refuses to know MPI, hwloc, verbs and every transport: detection is in detect.h, publishing a
 * packed card is the component's work. select/, algo/, plan/ and tests may call it, and whoever
 * makes communicators. All functions are pure and thread-safe.
 */
#ifndef HCCL_TOPO_TOPO_H
#define HCCL_TOPO_TOPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codes.h"

/* ---- cards ---------------------------------------------------------------------------------- */

enum { HCCL_MAX_PORTS = 8, HCCL_PORT_NAME = 16 };

/* hccl_port.link_layer; the numbers travel in packed cards. */
enum { HCCL_LINK_UNKNOWN = 0, HCCL_LINK_IB = 1, HCCL_LINK_ETHERNET = 2 };

/* hccl_port.distance; the numbers travel in packed cards. NEAR: next to a NUMA domain in which the
 * process may run; PACKAGE: to another one of such a package, or nobody knows; FAR: any other. */
enum { HCCL_NEAR = 0, HCCL_SAME_PACKAGE = 1, HCCL_FAR = 2 };

/* One RDMA port of the host. */
typedef struct hccl_port {
    char name[HCCL_PORT_NAME]; /* device name as verbs knows it, always terminated: "mlx5_0" */
    uint8_t number;            /* port number on that device, from 1 */
    uint8_t link_layer;        /* HCCL_LINK_* */
    uint8_t active;            /* 1: the port is up */
    int16_t gid_index;         /* RoCE: the v2 entry to use, -1 when there is none; IB: 0 */
    int16_t numa;              /* operating system's number of the NUMA node next to it, or -1 */
    uint8_t distance;          /* HCCL_NEAR, ...: from the process whose card this is */
    uint16_t mtu;              /* bytes of payload in a packet, 0 when unknown */
    uint32_t speed_mbps;       /* lanes times lane speed, 0 when unknown */
    uint8_t gid[16];           /* the GID at gid_index, network order; zero when there is none */
} hccl_port_t;

/* The processors (hardware threads) that a process may run on. */
typedef struct hccl_cpus {
    uint64_t host; /* whose they are: the true host, whatever node the topology parameter makes of
                      it; 0: unknown */
    uint64_t set;  /* hash of their numbers: equal for equal sets */
    int32_t count; /* how many they are, 0: unknown */
    int32_t quota; /* as many processors' time may the processes of this host use together, by their
                      control group; 0: no limit */
} hccl_cpus_t;

/* What one process publishes about itself, fixed from detection to the end of the process. */
typedef struct hccl_card {
    uint64_t host_key; /* equal exactly for processes that can share memory; 0: unknown, none can */
    int32_t package;   /* these four: an id that is unique on the host and the same to all its */
    int32_t numa;      /* processes, whatever part of it their container shows them; -1 when the */
    int32_t l3;        /* binding is wider than one such object or the object is unknown. Ids may */
    int32_t core;      /* have gaps. numa is the system's own number, comparable with port.numa */
    hccl_cpus_t cpus;
    int32_t seat;                      /* the user's place of this node in rings, -1: none */
    int32_t site;                      /* number of this host in the topology file, -1: none */
    uint8_t leads;                     /* the user wants this process to lead its node */
    uint8_t nports;                    /* used entries of ports */
    int8_t chosen;                     /* the port that the user wants for this process, or -1 */
    hccl_port_t ports[HCCL_MAX_PORTS]; /* active ones first, then near ones */
} hccl_card_t;

/* Size of a packed card: the same for every process and build with the same card version. */
enum { HCCL_CARD_BYTES = 448 };

/* A card that knows nothing: no host, no place, no ports. */
void hccl_card_init(hccl_card_t *card);

/* Byte order independent, versioned and check-summed. */
void hccl_card_pack(const hccl_card_t *card, uint8_t block[HCCL_CARD_BYTES]);

/* HCCL_ERR_ARG when the block is no card, a damaged one, or one of another version; `why` (may
 * be NULL) then says which. */
HCCL_CHECKED int hccl_card_unpack(const uint8_t *block, size_t len, hccl_card_t *card, char *why,
                                  size_t whylen);

/* Whether the processes of these cards (NULL entries do not count) have fewer processors than they
 * are: on any host, and on this one. Counts those that may run on the same set of processors, so it
 * does not see that one set contains another; and all of a host where time is limited. Every rank
 * finds the same *any from the same cards. HCCL_ERR_NOMEM. O(n log n). */
HCCL_CHECKED int hccl_cards_crowded(const hccl_card_t *const *cards, int n, uint64_t host,
                                    bool *any, bool *here);

/* Puts a port into its place among the card's ports; drops the last of more than HCCL_MAX_PORTS. */
void hccl_card_add_port(hccl_card_t *card, const hccl_port_t *port);

/* ---- ports by name (port_list.c) --------------------------------------------------------------
 *
 *   list  = [ "^" ] port { "," port }            ports that may be used, or (^) may not
 *   map   = port { "," port }                    what the ranks of a node use, by their index, again
 *                                                from the first one when there are no more
 *         | ranks "=" port { "," ranks "=" port }   what these ranks of MPI_COMM_WORLD use
 *   port  = device [ ":" number ]                without a number: all ports of the device, or the
 *                                                first one of a map
 *   ranks = number [ "-" number ]
 *
 * As in "mlx5_0:1,mlx5_1", "^mlx5_2" and "0-3=mlx5_0:1,4-7=mlx5_1:1".
 */

enum { HCCL_MAX_NAMES = 32 };

typedef struct hccl_port_name {
    char device[HCCL_PORT_NAME];
    uint8_t number; /* from 1; 0: any */
} hccl_port_name_t;

typedef struct hccl_port_list {
    bool excludes;
    int n; /* 0: all ports may be used */
    hccl_port_name_t name[HCCL_MAX_NAMES];
} hccl_port_list_t;

bool hccl_port_is_named(const hccl_port_t *port, const hccl_port_name_t *name);

bool hccl_port_list_allows(const hccl_port_list_t *list, const hccl_port_t *port);

/* An empty text (or NULL) is an empty list. HCCL_ERR_ARG: why[whylen] has the entry and what is
 * accepted. */
HCCL_CHECKED int hccl_port_list_read(const char *text, hccl_port_list_t *list, char *why,
                                     size_t whylen);

/* What a map has for a rank of MPI_COMM_WORLD that has this index among those of its node; *name has
 * an empty device: nothing. Errors as above, whichever rank it is. */
HCCL_CHECKED int hccl_port_map_find(const char *text, int rank, int index, hccl_port_name_t *name,
                                    char *why, size_t whylen);

/* ---- ports and rails (rails.c) --------------------------------------------------------------- */

/* Whether RoCE v2 can run on a port: up, Ethernet, with a GID. */
bool hccl_port_is_usable(const hccl_port_t *port);

/* Which of its ports each process uses, by the cards of all members of a group (entries may be NULL):
 * port[i] is an index into cards[i]->ports, -1: none. rail[i] (rail may be NULL) numbers that port
 * among the rails of its node, which are the usable ports of the node's processes in the order of
 * their names (mlx5_2 before mlx5_10); ports of less than half the speed of the node's fastest are no
 * rails. So rail 1 of one node and rail 1 of another one are cabled alike where hosts are.
 *
 *  - A process whose user has chosen a port uses that one; the others as if nobody had chosen.
 *  - Of a node's processes as many use one rail as any other, or one more.
 *  - Within that, processes use near ports. What counts is the sum over all nodes with as many rails
 *    and processes, in which processes with the same index use the same rail.
 *  - Within that, index i uses rail i modulo their number.
 *
 * Every caller with the same cards finds the same. HCCL_ERR_NOMEM, HCCL_ERR_ARG (n < 1). */
HCCL_CHECKED int hccl_ports_assign(const hccl_card_t *const *cards, int n, int *port, int *rail);

/* The usable ports of a card in the order of their names: order[0..] are indices into card->ports.
 * Returns how many they are. */
int hccl_ports_order(const hccl_card_t *card, int order[HCCL_MAX_PORTS]);

/* One line for the processes ranks[0..n-1] of a node: their ports by what was assigned, and who uses
 * each. Empty: none uses any. Cut at len. */
void hccl_ports_print(const hccl_card_t *const *cards, const int *ranks, int n, const int *port,
                      char *buf, size_t len);

/* ---- shapes --------------------------------------------------------------------------------- */

/* From the outermost level inwards. */
typedef enum {
    HCCL_LEVEL_NODE,
    HCCL_LEVEL_PACKAGE,
    HCCL_LEVEL_NUMA,
    HCCL_LEVEL_L3,
    HCCL_LEVEL_CORE,
    HCCL_LEVEL_COUNT
} hccl_level_t;

/* Where one rank sits. In a shape the ids are canonical: node 0, 1, … by each node's lowest rank;
 * package, numa, l3 and core 0, 1, … within the node by lowest rank; -1 unknown. Objects nest:
 * what lies in two packages counts as two. So shapes are equal exactly when their places, leaders and
 * rings are. */
typedef struct hccl_place {
    int32_t node, package, numa, l3, core;
} hccl_place_t;

/* A set of ranks that are nearer to each other than to the rest of the set around it. */
typedef struct hccl_group {
    hccl_level_t level; /* NODE, PACKAGE, NUMA or L3 */
    int node;           /* the node it lies in */
    int parent;         /* the smallest group around it, -1 for nodes */
    int nranks;         /* members */
    int nreps;          /* representatives, see reps */
    const int *ranks;   /* [nranks] all members, ascending; ranks[0] is the leader */
    const int *reps;    /* [nreps] ascending: the leader of every group directly below, and every
                         * member that is in none of those. Fan-in of this tier gathers reps to
                         * ranks[0] (which is reps[0]), fan-out goes back. */
} hccl_group_t;

/* Whether groups divide a node so that a way through them pays: two ranks and more to each of the
 * node's parts, on average. */
static inline bool hccl_group_is_divided(const hccl_group_t *node)
{
    return 2 * node->nreps <= node->nranks;
}

/* The tier tree of one communicator: immutable, one block of memory, freed by hccl_shape_free. */
typedef struct hccl_shape {
    int nranks;      /* >= 1 */
    int nnodes;      /* >= 1 */
    int ngroups;     /* >= nnodes */
    int min_local;   /* fewest ranks on a node */
    int max_local;   /* most ranks on a node */
    bool contiguous; /* each node's ranks are consecutive */
    bool even;       /* each node has the same number of ranks */
    uint64_t hash;   /* of the places, leaders and ring: equal for equal shapes, on every machine */
    hccl_place_t *place; /* [nranks] */
    int *node_of;        /* [nranks] node of a rank */
    int *local_of;       /* [nranks] index of a rank within its node, ascending with the rank */
    int *node_start;     /* [nnodes + 1] where a node's part of node_ranks begins */
    int *node_ranks;     /* [nranks] by node, ascending within: [node_start[v]] leads node v */
    int *inner_of;       /* [nranks] the smallest group around a rank (a node if no other) */
    bool led;            /* some node is led by another rank than its first */
    bool ringed;         /* rings go round in a certain order, along fast links */
    int *lead;           /* [nnodes] index within the node of the rank that stands for it where one
                          * rank does: the one nearest its NIC. Groups inside have leaders of their
                          * own */
    int *lead_at;        /* [nnodes] where that rank is in node_ranks */
    int *ring;           /* [nnodes] the nodes in the order of rings: 0, 1, ... if not ringed */
    int *seat;           /* [nnodes] where in ring a node is */
    int *ring_start;     /* [nnodes] node_start of ring[i] */
    int *ring_lead_at;   /* [nnodes] lead_at of ring[i] */
    int *ring_ranks;     /* [nranks] as node_ranks, but the nodes in the order of rings */
    hccl_group_t *group; /* [ngroups] 0 … nnodes-1 are the nodes, in order; after them, level by
                          * level, the groups inside nodes that have at least 2 members and fewer
                          * than their parent. A parent comes before its children. */
} hccl_shape_t;

/* Whether the ranks of a group are consecutive among those of its node. */
static inline bool hccl_group_is_range(const hccl_shape_t *shape, const hccl_group_t *group)
{
    return shape->local_of[group->ranks[group->nranks - 1]] - shape->local_of[group->ranks[0]] + 1
           == group->nranks;
}

/* Every maker below: HCCL_OK and a shape that the caller frees, or HCCL_ERR_NOMEM, or HCCL_ERR_ARG
 * (n < 1, an id below its minimum, a rank out of range). Cost O(n log n). */

struct hccl_links;

/* From the cards of the ranks. A NULL card or one without a host key is a node of its own. A node is
 * led by the first rank that the user wants, else by the one that is nearest the port that it uses
 * (see hccl_ports_assign), else by its first. Rings go as the user wants, if each node has a seat, else
 * along the fast links of the topology file (NULL: none; see topo/links.h). */
HCCL_CHECKED int hccl_shape_from_cards(const hccl_card_t *const *cards, int n,
                                       const struct hccl_links *links, hccl_shape_t **out);

/* From places whose ids need not be canonical: any node >= 0, other ids >= -1 that tell the objects
 * in one surrounding object apart. */
HCCL_CHECKED int hccl_shape_from_places(const hccl_place_t *places, int n, hccl_shape_t **out);

/* Each rank its own node: when shared memory can't be had. */
HCCL_CHECKED int hccl_shape_flat(int n, hccl_shape_t **out);

/* While a shape has one user: lead[v] is the index of the leader of node v, ring[i] the node in seat i.
 * HCCL_ERR_ARG, and the shape as it was: no such index, or ring does not name each node once. */
HCCL_CHECKED int hccl_shape_set_lead(hccl_shape_t *shape, const int *lead);
HCCL_CHECKED int hccl_shape_set_ring(hccl_shape_t *shape, const int *ring);

/* The communicator that has ranks[i] of `whole` as rank i; nodes without their leader are led by their
 * first rank. */
HCCL_CHECKED int hccl_shape_subset(const hccl_shape_t *whole, const int *ranks, int n,
                                   hccl_shape_t **out);

void hccl_shape_free(hccl_shape_t *shape);

bool hccl_shape_equal(const hccl_shape_t *a, const hccl_shape_t *b);

/* Checks every promise that this header makes of a shape, trusting its fields no further than that
 * the arrays are as long as it says. HCCL_ERR_INTERNAL: `why` has the first broken promise.
 * O(n x levels). */
HCCL_CHECKED int hccl_shape_check(const hccl_shape_t *shape, char *why, size_t whylen);

/* ---- text form --------------------------------------------------------------------------------
 *
 *   text   = level { blank level } [ blank "map:" map ] [ blank "lead:" list ] [ blank "ring:" list ]
 *   level  = name ":" ( count | "(" count { "," count } ")" )
 *   name   = "node" | "package" | "socket" | "numa" | "l3" | "core" | "rank"
 *   count  = number [ "?" ] | "?"
 *   map    = "block" | "cyclic" | slots { "," slots }
 *   slots  = number [ "-" number ]
 *   list   = number { "," number }
 *
 * Levels come outermost first, in the order of `name` (socket is another word for package), each at
 * most once; a level left out is unknown to all ranks (node left out: one node). A count says how
 * many objects of the level each object of the level written before it has; a list in parentheses
 * gives one count for each of those in turn, and must have exactly as many. "?" adds one object
 * that is not known, for processes bound wider than one (not for node and rank). `rank` gives
 * processes per place: several on one core, or, without `core`, some that are bound to no core.
 * The innermost objects are the slots, numbered from 0 in the order written. The map puts ranks on
 * slots: block is rank i on slot i (default); cyclic deals ranks to the nodes in turn, passing over
 * full ones; a list names each rank's slot. With more slots than ranks the first ranks of the map
 * are used. Blanks are allowed after "(" and ",", and before ")".
 *
 * Nodes are numbered by their lowest rank. `lead` gives the index, among its node's ranks, of the rank
 * that stands for each node in turn (one number: for all); `ring` the order of nodes in rings.
 *
 *   node:4 numa:2 core:2                        16 ranks, 4 to a node
 *   node:3 core:(1,2,3)                         1, 2 and 3 ranks to a node
 *   node:2 rank:4 map:cyclic                    0 2 4 6 on one node, 1 3 5 7 on the other
 *   node:2 core:2 map:0,2-3,1                   ranks 0 and 3 on the first node
 *   node:4 core:2 lead:1,0,1,0 ring:0,2,1,3     ranks 1, 2, 5 and 6 lead
 */

enum { HCCL_SHAPE_MAX_SLOTS = 1 << 20 }; /* what a text may ask for */

/* nranks -1: as many as the map gives. On HCCL_ERR_ARG `why` (may be NULL) names the token, its
 * position (characters from 1), and what is accepted. */
HCCL_CHECKED int hccl_shape_from_text(const char *text, int nranks, hccl_shape_t **out, char *why,
                                      size_t whylen);

/* Writes a text that parses back to an equal shape. Returns its length without the terminator, as
 * snprintf does: nothing was lost when that is below len. Negative: HCCL_ERR_NOMEM, or
 * HCCL_ERR_ARG for a text of 2 GiB. */
HCCL_CHECKED int hccl_shape_print(const hccl_shape_t *shape, char *buf, size_t len);

#endif
