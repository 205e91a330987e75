/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The machine that the simulator computes with: latencies, bandwidths and switches, read from a text
 * file. Knows neither plans nor algorithms; docs/simulator.md describes each line of such a file.
 */
#ifndef HCCL_TOOLS_MACHINE_H
#define HCCL_TOOLS_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/codes.h"

/** What two ranks of a node have in common; a level that the topology leaves out divides nothing. */
typedef enum {
    HCCL_TIER_L3,      /* an L3 cache */
    HCCL_TIER_NUMA,    /* a NUMA domain, not the L3 cache */
    HCCL_TIER_PACKAGE, /* a package, not the NUMA domain */
    HCCL_TIER_NODE,    /* the node alone */
    HCCL_TIERS
} hccl_tier_t;

enum { HCCL_MACHINE_TEXT = 256, HCCL_MACHINE_WHY = 512 };

/** Times in seconds, speeds in bytes per second. */
typedef struct hccl_machine {
    char name[HCCL_MACHINE_TEXT];
    char topology[HCCL_MACHINE_TEXT]; /* empty: the file names none */
    struct {
        double alpha;     /* from a store of a flag until a rank of this distance has read it */
        double bandwidth; /* at which such a rank reads what was published */
    } tier[HCCL_TIERS];
    double copy;         /* speed at which a rank copies within its own memory, PUBLISH included */
    double combine;      /* bytes of one operand per second in a reduction, for each one after the
                              first */
    double inside_alpha; /* messages between ranks of one node: beside the tier's latency */
    double inside_speed; /* ... their bandwidth */
    double overhead;     /* processor's time for each message that is started, at either end */
    double alpha;        /* from a message's last byte leaving a node until the receiver has it */
    double bandwidth;    /* of one NIC, each way */
    double nics;         /* of a node; its ranks are shared out to them in runs */
    double eager;        /* longer messages start when both sides are ready */
    double rendezvous;   /* ... and this much later */
    double burst, peak;  /* bytes that a NIC, each way, carries at this speed before it is held to
                              its bandwidth; they come back while it is not busy */
    double leaf;         /* nodes below one switch; 0: one switch has them all */
    double oversubscribed; /* the NICs' bandwidth below a switch by that of its uplinks */
    double leaf_alpha;     /* added to the latency of messages that leave the switch */
    double slots;          /* of the component's rings: coll_hccl_slots, ... */
    double slot_small, slot_large, slot_wide; /* bytes */
} hccl_machine_t;

/** What a file changes lines of: a plain two-socket node on 100 Gbit/s. */
void hccl_machine_default(hccl_machine_t *machine);

/** Reads a file over `machine`. HCCL_ERR_ARG: why[HCCL_MACHINE_WHY] names file, line, what is wrong
 *  and what is accepted. */
HCCL_CHECKED int hccl_machine_read(const char *path, hccl_machine_t *machine, char *why);

/** Writes a file that reads back to the same machine. */
void hccl_machine_print(FILE *file, const hccl_machine_t *machine);

/** Sets one field by the name it has in files. HCCL_ERR_ARG: see hccl_machine_read. */
HCCL_CHECKED int hccl_machine_set(hccl_machine_t *machine, const char *key, const char *value,
                                  char *why);

/** The number behind a key, NULL: no such number. */
double *hccl_machine_number(hccl_machine_t *machine, const char *key);

#endif
