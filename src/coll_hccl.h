/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files directly in src/ share: the component, its parameters and what it knows of other
 * processes. Nothing below this folder includes it.
 */
#ifndef HCCL_COLL_HCCL_H
#define HCCL_COLL_HCCL_H

#include "base/tuning.h"
#include "entry/entry.h"
#include "tier/rdma.h"
#include "tier/region.h"
#include "topo/detect.h"
#include "topo/links.h"

/** The parameters, as registered (coll_hccl_params.c). */
typedef struct hccl_params {
#define HCCL_TYPE_INT int
#define HCCL_TYPE_SIZE size_t
#define HCCL_TYPE_BOOL bool
#define HCCL_TYPE_TEXT char *
#define HCCL_PARAM(name, type, value, minimum, maximum, same, text) HCCL_TYPE_##type name;
#include "base/params.def"
#undef HCCL_PARAM
    bool offered[HCCL_COLL_COUNT];    /* <collective>: this component serves it */
    char *algorithm[HCCL_COLL_COUNT]; /* <collective>_algorithm */
} hccl_params_t;

extern hccl_params_t hccl_params;

/** The symbol that Open MPI looks for. */
OMPI_MODULE_DECLSPEC extern const mca_coll_base_component_t mca_coll_hccl_component;

/** Registers all parameters with Open MPI. */
HCCL_CHECKED int hccl_params_register(void);

/** The component could be set up; else it has said why and serves nothing. */
extern bool hccl_component_works;

/** Checks all values. A bad one gets one message (from rank 0 of MPI_COMM_WORLD) that names it and
 *  what is accepted, and OMPI_ERR_BAD_PARAM is returned, on all ranks alike. */
HCCL_CHECKED int hccl_params_check(void);

/** Says that this value is not accepted, and what is; returns OMPI_ERR_BAD_PARAM. Only rank 0 says it at once:
 *  most often all ranks have the same value. */
int hccl_params_complain(const char *name, const char *value, const char *accepted);

/** Says what hccl_params_complain has not: for the first rank that has something to say. */
void hccl_params_complain_late(void);

/** Whether all values could be read; if not, complains. */
HCCL_CHECKED int hccl_params_readable(void);

/** The text that the user gave for a parameter, copied to buf. */
const char *hccl_params_text(const char *name, char *buf, size_t len);

/** The value of land; below HCCL_LAND_NEVER when it is none of those accepted. */
hccl_land_t hccl_params_land(void);

/** The value of zero_copy; below HCCL_ZERO_COPY_NEVER when it is none of those accepted. */
hccl_zero_copy_t hccl_params_zero_copy(void);

/** The topology file, NULL: none; freed by hccl_params_forget. */
const hccl_links_t *hccl_params_links(void);

/** The texts for places and for ports of ranks: of the parameters, else of the file, else empty. */
const char *hccl_params_topology(void);
const char *hccl_params_port_map(void);

void hccl_params_forget(void);

/** What the parameters say about RDMA ports. */
void hccl_params_ports(hccl_port_choice_t *choice);

/** Hash of the values that all ranks must share. */
uint64_t hccl_params_hash(void);

/** Whether the user has set this parameter, to whatever value. */
bool hccl_params_is_given(const char *name);

/** What a process publishes. */
typedef struct hccl_peer {
    hccl_card_t card;
    hccl_region_card_t region;
    hccl_tuning_t tuning; /* what it knows of its machine */
    uint8_t rdma;         /* hccl_verbs_state_t: whether its port works */
    uint64_t settings;    /* hccl_params_hash of that process */
} hccl_peer_t;

/** What the parameter rdma says. */
typedef enum {
    HCCL_RDMA_UNKNOWN = -1,
    HCCL_RDMA_OFF,
    HCCL_RDMA_AUTO, /* where it works; says nothing on hosts without ports */
    HCCL_RDMA_ON    /* where it works; says where it does not */
} hccl_rdma_use_t;

hccl_rdma_use_t hccl_params_rdma(void);

/** Tries the port of this process, which has this index in its node, and enters into *mine what came of
 *  it. */
void hccl_rdma_try(hccl_peer_t *mine, int index);

/** On MPI_COMM_WORLD: finds out who is reached by RDMA, and says once who is not. */
void hccl_rdma_begin(const ompi_communicator_t *comm);

/** Closes all of it. */
void hccl_rdma_end(void);

/** The tag of the messages by which connections are agreed upon; nobody else's. */
extern int hccl_rdma_tag;

/** What is known of this machine: from the file of an earlier job, or measured now, in one process of
 *  each host. Unknown where there is nobody to share memory with. */
void hccl_tuning_find(hccl_tuning_t *tuning);

/** The sizes of slots that the members of a communicator use, by what they have published: the same
 *  for all of them. */
void hccl_tuning_apply(const ompi_communicator_t *comm, size_t slot_bytes[HCCL_LANES]);

/** Enters into my card which port the user wants for this process, which has this index in its node. */
void hccl_ports_choose(hccl_card_t *card, int index);

/** On MPI_COMM_WORLD, if the user has asked for messages: which ports its ranks use, one line for each
 *  node that has any. */
void hccl_ports_show(const ompi_communicator_t *comm, const hccl_shape_t *shape);

/** On MPI_COMM_WORLD, likewise: the order of its nodes in rings, where it has one. */
void hccl_ports_show_ring(const ompi_communicator_t *comm, const hccl_shape_t *shape);

/** Publishes this process's card. Called when the component opens, before MPI_Init's exchange. */
HCCL_CHECKED int hccl_procs_publish(const hccl_peer_t *mine);

/** What a process has published; NULL when it has not (it runs without this component). Kept until
 *  hccl_procs_forget. */
const hccl_peer_t *hccl_procs_find(ompi_proc_t *proc);

void hccl_procs_forget(void);

/** Offers the heap to MPI_Alloc_mem, if there is one. When the first communicator is made: whoever
 *  chooses a memory pool while the network layers are set up gets another one. */
void hccl_mpool_join(void);

/** Ends that; before the heap goes. */
void hccl_mpool_leave(void);

/** Open MPI asks for a module on a new communicator. */
mca_coll_base_module_t *hccl_module_query(ompi_communicator_t *comm, int *priority);

#endif
