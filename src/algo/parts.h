/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts that algorithms are composed of: textbook trees, rings and doublings over a team of
 * ranks, and exchanges through shared memory inside a node. A part appends its steps to a plan.
 *
 * Parts know no collective: they are told bases, positions and teams. Only files of algo/ may
 * include this header.
 *
 * Conventions of all parts
 *  - Who is no member of the team emits nothing, so callers need not ask.
 *  - Two ranks that compute the same combination write it alike: lower member op higher member.
 *    "Ordered" says that the whole result is combined in the order of the members.
 *  - A network part ends with a WAIT unless it says otherwise.
 *  - Scratch areas are reserved by the caller, alike on all ranks, and may be used again.
 */
#ifndef HCCL_ALGO_PARTS_H
#define HCCL_ALGO_PARTS_H

#include "algo/algo.h"

/* The builders of algorithms.def. */
#define HCCL_ALGO(ID, name, function, fits, about, rounds, bytes, source) \
    HCCL_CHECKED int function(const hccl_case_t *c, int algorithm, hccl_plan_t **plan);
#include "algo/algorithms.def"
#undef HCCL_ALGO

/* ---- teams (team.c) ------------------------------------------------------------------------- */

/** Some ranks of the group in some order. Borrows from the shape, copied freely. */
typedef struct hccl_team {
    int n;            /* members */
    int me;           /* my number among them; outside 0..n-1: I am none */
    const int *ranks; /* a list of ranks, NULL: 0, 1, 2, ... */
    const int *at;    /* where in the list member i is looked up, NULL: at i */
    int shift;        /* added to that place */
    int replaced;     /* a member for whom another rank stands in; negative: none */
    int deputy;       /* that rank */
} hccl_team_t;

/** All ranks in rank order. */
hccl_team_t hccl_team_all(const hccl_case_t *c);

/** All ranks, node after node; or the nodes in the order of rings. */
hccl_team_t hccl_team_by_node(const hccl_case_t *c);
hccl_team_t hccl_team_by_ring(const hccl_case_t *c);

/** The rank of index `index` (below shape.min_local) of every node: member v is in node v. */
hccl_team_t hccl_team_rail(const hccl_case_t *c, int index);

/** The same in the order of rings: member i is in node shape.ring[i]. */
hccl_team_t hccl_team_ring(const hccl_case_t *c, int index);

/** One rank of every node: its leader, but in the node of `root` (negative: none) the root itself. */
hccl_team_t hccl_team_leaders(const hccl_case_t *c, int root);

/** The same in the order of rings. */
hccl_team_t hccl_team_ring_leaders(const hccl_case_t *c, int root);

/** The index in my node of the rank that is in hccl_team_leaders. */
int hccl_team_lead(const hccl_case_t *c, int root);

/** Members from, from + 1, ..., from + n - 1 of a team. */
hccl_team_t hccl_team_part(const hccl_team_t *team, int from, int n);

bool hccl_team_member(const hccl_team_t *team);

/** The rank of member i. */
int hccl_team_rank(const hccl_team_t *team, int i);

/* ---- maps: which positions belong to member i ----------------------------------------------- */

typedef struct hccl_map {
    const int *start; /* member i owns [start[i * per], start[(i + 1) * per]) */
    int first;        /* start NULL: it owns [first + i * per, first + (i + 1) * per) */
    int per;
    int apart;  /* not 0: it owns per positions from first + i * apart on */
    int widest; /* not 0: the maps of nodes differ, and nobody publishes more positions together */
} hccl_map_t;

static inline hccl_map_t hccl_map_even(int first, int per)
{
    return (hccl_map_t){.first = first, .per = per};
}

static inline int hccl_map_first(const hccl_map_t *map, int i)
{
    if (NULL != map->start) {
        return map->start[i * map->per];
    }
    return map->first + i * (0 != map->apart ? map->apart : map->per);
}

/** Positions of members i, ..., i + n - 1 together (apart: n is 1). */
static inline int hccl_map_count(const hccl_map_t *map, int i, int n)
{
    if (0 != map->apart) {
        return map->per;
    }
    return hccl_map_first(map, i + n) - hccl_map_first(map, i);
}

/* ---- rails: the data of all nodes, cut for parallel exchanges between nodes (rails.c) -------- */

/** Which ranks of a node take part. */
typedef enum {
    HCCL_RAILS_ONE,  /* one rank of each node serves the only rail */
    HCCL_RAILS_SOME, /* as many as the smallest node has, one rail each */
    HCCL_RAILS_ALL   /* all of them */
} hccl_rails_who_t;

/** On each rail one rank of every node exchanges with those of the other nodes. Either the first ranks
 *  of every node serve one rail each; or all ranks of every node serve, each one those rails that hold
 *  his share: where two shares meet on any node, one rail ends and the next one begins. Positions are
 *  by rail, then by slot (a node has one slot on each rail). */
typedef struct hccl_rails {
    const hccl_shape_t *shape;
    const int *local; /* the index of the rank that serves a rail, the same on all nodes; or NULL */
    bool all;         /* all ranks serve, and nodes differ in size */
    bool by_node;     /* positions are by member, then by rail, one for each */
    bool one;         /* the leaders of the nodes serve the only rail */
    const int *seat;  /* [nnodes] which member is in a node; NULL: of the node's number */
    int nnodes;       /* of the shape */
    int rails;
    int slots;      /* of a rail */
    int units;      /* what is shared out */
    int widest;     /* most positions of one slot of a rail */
    int *cut;       /* [rails + 1] the unit with which a rail begins */
    int *turn;      /* all: [nnodes] which of the nodes of its size a node is; else NULL */
    int *start;     /* [rails * slots + 1] where slot s of rail r begins: start[r * slots + s] */
    int *member;    /* [rails][nnodes] the ranks that serve a rail */
    int32_t *order; /* [nranks] blocks: for hccl_build_order */
} hccl_rails_t;

/** Rails for a vector of units * slots blocks, or (slots 0), given the slot of each member, for the
 *  blocks of all ranks. seat[v]: which member is in node v (NULL: member v), kept until the end. local: NULL, or which one serves a rail. HCCL_OK or HCCL_ERR_NOMEM; free with
 *  hccl_rails_free in both cases. */
HCCL_CHECKED int hccl_rails_make(const hccl_shape_t *shape, hccl_rails_who_t who, const int *local,
                                 int slots, const int *slot, const int *seat, bool by_node,
                                 hccl_rails_t *rails);
void hccl_rails_free(hccl_rails_t *rails);

/** The map of one rail, by slot. */
hccl_map_t hccl_rails_map(const hccl_rails_t *rails, int rail);

/** Which member of a rail's team is in a node. */
int hccl_rails_seat(const hccl_rails_t *rails, int node);

/** Who serves a rail. */
hccl_team_t hccl_rails_team(const hccl_rails_t *rails, const hccl_case_t *c, int rail);

/** The index in a node of who serves a rail. */
int hccl_rails_owner(const hccl_rails_t *rails, int node, int rail);

/** How many of the node's ranks serve, one after the other (local NULL); the index of the first; the
 *  first rail of number i among them. */
int hccl_rails_owners(const hccl_rails_t *rails, int node);
int hccl_rails_lead(const hccl_rails_t *rails, int node);
int hccl_rails_begin(const hccl_rails_t *rails, int node, int i);

/** The rails that the node's rank of an index serves: the first one, and how many. */
int hccl_rails_first(const hccl_rails_t *rails, int node, int index);
int hccl_rails_count(const hccl_rails_t *rails, int node, int index);

/** The rail that holds a rank's block. */
int hccl_rails_of(const hccl_rails_t *rails, int rank);

/** Whether a rank serves the rail of its own block, and of no other block of its node. */
bool hccl_rails_alone(const hccl_rails_t *rails, int rank, const int *slot);

/** Orders the blocks of all ranks node after node: node v's are [node_start[v],
 *  node_start[v+1]). */
void hccl_order_by_node(hccl_builder_t *b, const hccl_shape_t *shape);

/** The map of that order for a team of one rank per node. */
hccl_map_t hccl_map_nodes(const hccl_case_t *c);

/** A rank's number in hccl_team_by_node, and the position of its block in that order; the number in
 *  hccl_team_by_ring. */
int hccl_by_node(const hccl_case_t *c, int rank);
int hccl_by_ring(const hccl_case_t *c, int rank);

/* ---- single steps (parts.c) ----------------------------------------------------------------- */

/** dst = src unless they are the same base. */
void hccl_part_move(hccl_builder_t *b, int dst, int src, int first, int count);

/** RECV = SEND for my own block of a grid, as a whole whatever its size is: sets hccl_build_how to that. */
void hccl_part_own(hccl_builder_t *b, const hccl_case_t *c);

/** dst = left op right. */
void hccl_part_combine(hccl_builder_t *b, int dst, int left, int right, int first, int count);

/** Largest power of two not above n (n >= 1). */
int hccl_part_power(int n);

/** Fewest rounds in which n (n >= 1) can tell all others something when each talks to `ports` others
 *  at once: ceil(log(n) / log(ports + 1)). */
int hccl_part_rounds(int n, int ports);

/** How many others a member may talk to at once where it has `ports` to do so, by the user's word. */
int hccl_part_ports(const hccl_case_t *c, int ports);

/** Smallest radix with which so many rounds suffice for n: fewer messages, no round more. */
int hccl_part_radix(int n, int rounds);

/* ---- trees (part_tree.c, part_double.c) ----------------------------------------------------- */

typedef enum {
    HCCL_TREE_BINOMIAL,
    HCCL_TREE_BINARY,
    HCCL_TREE_CHAIN,
    HCCL_TREE_STAR,
    HCCL_TREE_DOUBLE, /* two binary trees, one for each half of the positions: count is even */
    HCCL_TREE_NOMIAL  /* and k more: digits to base k instead of bits, k - 1 children a level */
} hccl_tree_t;

/** The k-nomial tree that the user wants. */
hccl_tree_t hccl_tree_nomial(const hccl_case_t *c);

/** Member root's operand to all members. Leaves the sends open: the caller waits, after whatever it
 *  can do meanwhile without writing the operand. */
void hccl_part_bcast(hccl_builder_t *b, const hccl_team_t *team, int root, hccl_tree_t tree,
                     int base, int first, int count);

/** Scratch areas that hccl_part_reduce needs for n members; returns the first. */
int hccl_part_reduce_scratch(hccl_builder_t *b, hccl_tree_t tree, int n, bool at_root,
                             int positions);

/** dst at member root = all src combined; others' dst is not touched. Ordered but for DOUBLE: the
 *  members below the root form a tree of their own under member 0, whose result is the root's
 *  leftmost operand. tree: not BINARY. */
void hccl_part_reduce(hccl_builder_t *b, const hccl_team_t *team, int root, hccl_tree_t tree,
                      int tmp, int src, int dst, int first, int count);

/** The tree DOUBLE of the two above: 2 * half positions. Reduce: scratch areas tmp and tmp + 1. */
void hccl_part_double_bcast(hccl_builder_t *b, const hccl_team_t *team, int root, int base,
                            int first, int half);
void hccl_part_double_reduce(hccl_builder_t *b, const hccl_team_t *team, int root, int tmp, int src,
                             int dst, int first, int half);

/** dst = src of all members combined, everywhere, same bits, up and down two binary trees. Ordered.
 *  2 * half positions; scratch areas tmp and tmp + 1. */
void hccl_part_double_allreduce(hccl_builder_t *b, const hccl_team_t *team, int tmp, int src,
                                int dst, int first, int half);

/** Starts the messages of member i's positions of the map from the root, straight, one per member; the
 *  caller waits. */
void hccl_part_scatter(hccl_builder_t *b, const hccl_team_t *team, int root, const hccl_map_t *map,
                       int src, int dst);

/** The reverse: to the root into dst, whose own positions stay where they are. The caller waits. */
void hccl_part_gather(hccl_builder_t *b, const hccl_team_t *team, int root, const hccl_map_t *map,
                      int src, int dst);

/** Vertex v, who is member (root + v) modulo n, has position v of `own`; the root gets all of them
 *  in base, inner vertices use base as scratch. Binomial tree. */
void hccl_part_tree_gather(hccl_builder_t *b, const hccl_team_t *team, int root, int own, int base);

/** The reverse: vertex v gets position v of the root's src in dst; inner vertices use tmp. */
void hccl_part_tree_scatter(hccl_builder_t *b, const hccl_team_t *team, int root, int src, int tmp,
                            int dst);

/* ---- rings (part_ring.c) -------------------------------------------------------------------- */

/** dst = src of all members combined, of my positions only. Not ordered. One scratch area; neither
 *  src nor any other position of dst is written. */
void hccl_part_ring_reduce_scatter(hccl_builder_t *b, const hccl_team_t *team,
                                   const hccl_map_t *map, int tmp, int src, int dst);

/** Every member's positions of base to all members. A member `complete` (-1: none) that has all of
 *  them already is sent nothing. */
void hccl_part_ring_allgather(hccl_builder_t *b, const hccl_team_t *team, const hccl_map_t *map,
                              int base, int complete);

/* ---- doubling and halving (part_doubling.c, part_gather.c) ---------------------------------- */

/** Members beyond a power of two pair up with a neighbour: member 2v + 1 leaves its part to member
 *  2v for v < surplus, so that `power` partners remain, in order. */
typedef struct hccl_pairs {
    int power;   /* partners, a power of two */
    int surplus; /* pairs */
    int me;      /* my number among the partners, -1: my neighbour stands in for me */
} hccl_pairs_t;

hccl_pairs_t hccl_pairs_of(const hccl_team_t *team);

/** The first (or only) member that partner v stands for; v = power gives the number of members. */
int hccl_pairs_member(const hccl_pairs_t *pairs, int v);

/** dst = src of all members combined, everywhere, same bits. Ordered. One scratch area. */
void hccl_part_doubling(hccl_builder_t *b, const hccl_team_t *team, int tmp, int src, int dst,
                        int first, int count);

/** Halving: acc = src of all members combined, on partner v of the slot of the map (of as many
 *  slots as partners) whose number is v with its bits reversed; other positions of acc are
 *  overwritten. Ordered. One scratch area. */
void hccl_part_halving(hccl_builder_t *b, const hccl_team_t *team, const hccl_map_t *map, int tmp,
                       int src, int acc);

/** The reverse of halving: every partner's slot of base to all members. After halving_scatter from
 *  `root` (else -1), without what that has brought: each position comes to each member once. */
void hccl_part_unhalving(hccl_builder_t *b, const hccl_team_t *team, const hccl_map_t *map,
                         int base, int root);

/** Every partner's slot of base from the root, in messages of half, a quarter, ... of all. A root for
 *  whom a neighbour stands in sends it all. */
void hccl_part_halving_scatter(hccl_builder_t *b, const hccl_team_t *team, const hccl_map_t *map,
                               int root, int base);

/** The reverse: the slots of all partners to the root. */
void hccl_part_halving_gather(hccl_builder_t *b, const hccl_team_t *team, const hccl_map_t *map,
                              int root, int base);

/** The slot of partner v: the bits of v reversed. */
int hccl_part_slot(const hccl_pairs_t *pairs, int v);

/** dst = src of members 0..me combined. Ordered. One scratch area. */
void hccl_part_scan(hccl_builder_t *b, const hccl_team_t *team, int tmp, int src, int dst,
                    int first, int count);

/** dst = src of members 0..me-1 combined; member 0's dst is untouched. Ordered. Scratch areas tmp
 *  and tmp + 1. */
void hccl_part_exscan(hccl_builder_t *b, const hccl_team_t *team, int tmp, int src, int dst,
                      int first, int count);

/** Nobody leaves before all have entered. */
void hccl_part_dissemination(hccl_builder_t *b, const hccl_team_t *team);

/** Every member's positions of base to all members, in rounds of doubling width. */
void hccl_part_doubling_allgather(hccl_builder_t *b, const hccl_team_t *team, const hccl_map_t *map,
                                  int base);

/* ---- inside a node (part_node.c) ------------------------------------------------------------ */

/** My node. */
typedef struct hccl_node {
    int node; /* its number */
    int n;    /* its ranks */
    int me;   /* my index among them */
} hccl_node_t;

hccl_node_t hccl_node_of(const hccl_case_t *c, int rank);

/** Slices: positions shared out to some ranks of every node, the owners. Owner i is the node's rank
 *  of index lead + i. With several owners lead is 0. Number and map are alike on all ranks,
 *  unless the map says how they differ. */
typedef struct hccl_slices {
    int n;          /* owners */
    int lead;       /* index of the first owner in my node */
    hccl_map_t map; /* what owner i owns */
} hccl_slices_t;

/** The slice of the node's rank of the given index, -1: none. */
int hccl_slices_of(const hccl_slices_t *slices, int index);

/** Publishes src but for my own slice: what lies above it as returned number, what lies below as
 *  the number after that (one owner: a single number for all others). */
int hccl_part_node_publish(hccl_builder_t *b, const hccl_case_t *c, const hccl_slices_t *slices,
                           int src);

/** Where the node's rank `peer` has published slice `own` by hccl_part_node_publish: the
 *  publication number (given what that returned) and the first position published under it. */
int hccl_part_node_pub(const hccl_slices_t *slices, int pub, int peer, int own, int *pub_first);

/** Every owner's slice = src of all ranks of the node combined, in the order of the node's ranks.
 *  Returns where the owner finds it: dst, or src itself where the rank is alone on its node. */
int hccl_part_node_reduce(hccl_builder_t *b, const hccl_case_t *c, const hccl_slices_t *slices,
                          int src, int dst);

/** dst = src of all ranks of the node combined, of some positions of my slice, after
 *  hccl_part_node_publish has returned pub. The node has several ranks. */
void hccl_part_node_fold(hccl_builder_t *b, const hccl_case_t *c, const hccl_slices_t *slices,
                         int pub, int src, int dst, int first, int count);

/** Every owner's slice of base to all ranks of the node. */
void hccl_part_node_spread(hccl_builder_t *b, const hccl_case_t *c, const hccl_slices_t *slices,
                           int base);

/** base = the block of the node's rank of an index, who has published it alone under pub. */
void hccl_part_node_block(hccl_builder_t *b, const hccl_case_t *c, int base, int index, int pub);

#endif
