/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * messages.c: see messages.h.
 */
#include "messages.h"

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/proc/proc.h"

static mca_pml_base_module_send_fn_t real_send;
static mca_pml_base_module_isend_fn_t real_isend;
static messages_t so_far;

static void count(size_t elements, const struct ompi_datatype_t *type, ompi_communicator_t *comm,
                  int to)
{
    const ompi_proc_t *proc = ompi_comm_peer_lookup(comm, to);
    size_t size;

    ompi_datatype_type_size(type, &size);
    so_far.sent++;
    so_far.bytes += (int64_t) (elements * size);
    so_far.away += OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags) ? 0 : 1;
}

static int counting_send(const void *buffer, size_t elements, struct ompi_datatype_t *type, int to,
                         int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t *comm)
{
    count(elements, type, comm, to);
    return real_send(buffer, elements, type, to, tag, mode, comm);
}

static int counting_isend(const void *buffer, size_t elements, struct ompi_datatype_t *type, int to,
                          int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t *comm,
                          ompi_request_t **request)
{
    count(elements, type, comm, to);
    return real_isend(buffer, elements, type, to, tag, mode, comm, request);
}

void messages_open(void)
{
    real_send = mca_pml.pml_send;
    real_isend = mca_pml.pml_isend;
    mca_pml.pml_send = counting_send;
    mca_pml.pml_isend = counting_isend;
}

messages_t messages_so_far(void)
{
    return so_far;
}
