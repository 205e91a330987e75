/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages by RDMA, as Open MPI's processes and communicators see them: which processes have a
 * connection, how two of them agree on one, and what of the process's memory goes. verbs.h does the rest.
 *
 * Only processes of one job have connections: they agree on them by messages of Open MPI's
 * point-to-point layer on MPI_COMM_WORLD, which is there as long as collectives are. Each side
 * sends one and receives one for each connection, whatever communicator the need arose on. Called
 * through tier.h, and by the component.
 */
#ifndef HCCL_TIER_RDMA_H
#define HCCL_TIER_RDMA_H

#include <stdbool.h>

#include "base/codes.h"
#include "compat/ompi.h"
#include "hccl_config.h"
#include "tier/verbs_wire.h"

struct hccl_verbs;
struct hccl_verbs_peer;
struct hccl_verbs_message;

/** What is known of a process of the job. */
typedef struct hccl_rdma_link {
    bool used;                    /* messages to it go by RDMA, as far as both cards say */
    struct hccl_verbs_peer *peer; /* NULL: no message yet */
} hccl_rdma_link_t;

/** What a message is to this process: as in tier.h. */
typedef enum { HCCL_RDMA_SEND, HCCL_RDMA_RECEIVE, HCCL_RDMA_BORROW } hccl_rdma_kind_t;

#if HCCL_HAVE_VERBS

/** Some process is reached by RDMA. */
extern bool hccl_rdma_active;

/** The ports of a rank, as hccl_verbs_peer_new wants them; their number. */
typedef int (*hccl_rdma_ports_t)(int rank, hccl_verbs_card_t cards[HCCL_VERBS_MAX_PORTS],
                                 int *first);

/** From now on, processes of the job are reached through these ports, by these links (one for each rank of
 *  MPI_COMM_WORLD). Takes ownership of both, unless OMPI_SUCCESS is not returned. tag: of the messages by
 *  which connections are agreed upon. */
HCCL_CHECKED int hccl_rdma_start(struct hccl_verbs *v, hccl_rdma_link_t *links, int n, int tag,
                                 hccl_rdma_ports_t ports);

/** MPI_COMM_WORLD is about to go: nobody connects any more. */
void hccl_rdma_leave(void);

/** Closes everything. */
void hccl_rdma_stop(void);

/** Starts a message if it goes by RDMA; else *message is NULL, and OMPI_SUCCESS returned. */
HCCL_CHECKED int hccl_rdma_message(ompi_communicator_t *comm, int rank, int tag,
                                   hccl_rdma_kind_t kind, void *data, size_t bytes,
                                   struct hccl_verbs_message **message);

/** Whether a message of so many bytes from this rank would be written to this memory, a part of my cells in
 *  shared memory, by the device itself. Registers the cells when that is first asked, and what has come to
 *  them since. */
bool hccl_rdma_lands(ompi_communicator_t *comm, int rank, const void *data, size_t bytes);

/** As hccl_tier_cancel. */
void hccl_rdma_cancel(struct hccl_verbs_message *message);

/** As hccl_verbs_arm. *others: something else than completions may be waited for, too. */
bool hccl_rdma_arm(bool *others);
void hccl_rdma_sleep(uint64_t ns);

/** Whether it has ended; then *error tells how, and *message is NULL, unless it is lent. */
HCCL_CHECKED bool hccl_rdma_test(struct hccl_verbs_message **message, int *error);

/** As hccl_tier_pin, hccl_tier_unpin, hccl_tier_return. */
const char *hccl_rdma_pin(struct hccl_verbs_message *message);
void hccl_rdma_unpin(struct hccl_verbs_message *message, int copies);
void hccl_rdma_return(struct hccl_verbs_message *message, int copies);

#else

enum { hccl_rdma_active = 0 };

static inline void hccl_rdma_leave(void)
{
}

static inline int hccl_rdma_message(ompi_communicator_t *comm, int rank, int tag,
                                    hccl_rdma_kind_t kind, void *data, size_t bytes,
                                    struct hccl_verbs_message **message)
{
    (void) comm, (void) rank, (void) tag, (void) kind, (void) data, (void) bytes;
    *message = NULL;
    return OMPI_SUCCESS;
}

static inline bool hccl_rdma_lands(ompi_communicator_t *comm, int rank, const void *data,
                                   size_t bytes)
{
    (void) comm, (void) rank, (void) data, (void) bytes;
    return false;
}

static inline void hccl_rdma_cancel(struct hccl_verbs_message *message)
{
    (void) message;
}

static inline bool hccl_rdma_arm(bool *others)
{
    (void) others;
    return false;
}

static inline void hccl_rdma_sleep(uint64_t ns)
{
    (void) ns;
}

static inline bool hccl_rdma_test(struct hccl_verbs_message **message, int *error)
{
    *message = NULL;
    *error = OMPI_SUCCESS;
    return true;
}

static inline const char *hccl_rdma_pin(struct hccl_verbs_message *message)
{
    (void) message;
    return NULL;
}

static inline void hccl_rdma_unpin(struct hccl_verbs_message *message, int copies)
{
    (void) message, (void) copies;
}

static inline void hccl_rdma_return(struct hccl_verbs_message *message, int copies)
{
    (void) message, (void) copies;
}

#endif

#endif
