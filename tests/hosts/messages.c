/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * messages.c: see messages.h.
 */
#include "messages.h"

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/proc/proc.h"

static mca_pml_base_module_send_fn_t real_send;
static mca_pml_base_module_isend_fn_t real_isend;
static int64_t sent;

static void count(ompi_communicator_t *comm, int to)
{
    const ompi_proc_t *proc = ompi_comm_peer_lookup(comm, to);

    sent += OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags) ? 0 : 1;
}

static int counting_send(const void *buffer, size_t elements, struct ompi_datatype_t *type, int to,
                         int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t *comm)
{
    count(comm, to);
    return real_send(buffer, elements, type, to, tag, mode, comm);
}

static int counting_isend(const void *buffer, size_t elements, struct ompi_datatype_t *type, int to,
                          int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t *comm,
                          ompi_request_t **request)
{
    count(comm, to);
    return real_isend(buffer, elements, type, to, tag, mode, comm, request);
}

void messages_open(void)
{
    real_send = mca_pml.pml_send;
    real_isend = mca_pml.pml_isend;
    mca_pml.pml_send = counting_send;
    mca_pml.pml_isend = counting_isend;
}

int64_t messages_sent(void)
{
    return sent;
}
