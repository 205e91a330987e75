/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See verbs_table.h.
 */
#include "tier/verbs_table.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>

/* What ibv_is_fork_initialized says where the kernel copies pinned pages for a child. */
#define FORK_UNNEEDED 2

/* Before memory is registered. Where the kernel does not copy pinned pages for a child, one of both
 * would be left without the device's page, so the library takes these pages out of the child. Where
 * the kernel copies them, it would do so too if asked, and children miss memory for nothing; libraries
 * that cannot tell are older than such kernels. */
static void keep_from_children(void)
{
    int (*state)(void) = NULL;
    void *library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (NULL != library) {
        *(void **) &state = dlsym(library, "ibv_is_fork_initialized");
    }
    if (NULL == state || FORK_UNNEEDED != state()) {
        (void) ibv_fork_init();
    }
    if (NULL != library) {
        (void) dlclose(library);
    }
}

static struct ibv_context *open_device(const char *name)
{
    keep_from_children();
    int n = 0;
    struct ibv_context *context = NULL;
    struct ibv_device **list = ibv_get_device_list(&n);
    for (int i = 0; NULL != list && NULL == context && i < n; i++) {
        if (0 == strcmp(name, ibv_get_device_name(list[i]))) {
            context = ibv_open_device(list[i]);
        }
    }
    if (NULL != list) {
        ibv_free_device_list(list);
    }
    return context;
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
    return ibv_query_port(context, port, attr);
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *address, size_t bytes, int access)
{
    return ibv_reg_mr(pd, address, bytes, access);
}

static struct ibv_comp_channel *create_comp_channel(struct ibv_context *context)
{
    struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
    if (NULL != channel) {
        int flags = fcntl(channel->fd, F_GETFL);
        if (flags < 0 || 0 != fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK)) {
            (void) ibv_destroy_comp_channel(channel);
            channel = NULL;
        }
    }
    return channel;
}

static int req_notify_cq(struct ibv_cq *cq)
{
    return ibv_req_notify_cq(cq, 0);
}

static bool take_cq_event(struct ibv_comp_channel *channel)
{
    struct ibv_cq *cq;
    void *context;
    if (0 != ibv_get_cq_event(channel, &cq, &context)) {
        return false;
    }
    ibv_ack_cq_events(cq, 1);
    return true;
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    return ibv_poll_cq(cq, n, wc);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    return ibv_post_send(qp, wr, bad);
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    return ibv_post_recv(qp, wr, bad);
}

const hccl_verbs_table_t hccl_verbs_library = {
    .open_device = open_device,
    .close_device = ibv_close_device,
    .query_device = ibv_query_device,
    .query_port = query_port,
    .query_gid = ibv_query_gid,
    .alloc_pd = ibv_alloc_pd,
    .dealloc_pd = ibv_dealloc_pd,
    .reg_mr = reg_mr,
    .dereg_mr = ibv_dereg_mr,
    .create_comp_channel = create_comp_channel,
    .destroy_comp_channel = ibv_destroy_comp_channel,
    .create_cq = ibv_create_cq,
    .resize_cq = ibv_resize_cq,
    .destroy_cq = ibv_destroy_cq,
    .req_notify_cq = req_notify_cq,
    .take_cq_event = take_cq_event,
    .poll_cq = poll_cq,
    .create_qp = ibv_create_qp,
    .modify_qp = ibv_modify_qp,
    .destroy_qp = ibv_destroy_qp,
    .post_send = post_send,
    .post_recv = post_recv,
    .status_text = ibv_wc_status_str,
};
