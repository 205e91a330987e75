/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions of libibverbs that the tier uses, as a table: tests put another device behind it.
 * Each means what its man page says (ibv_NAME); what is inline there is wrapped.
 */
#ifndef HCCL_TIER_VERBS_TABLE_H
#define HCCL_TIER_VERBS_TABLE_H

#include <infiniband/verbs.h>
#include <stdbool.h>

typedef struct hccl_verbs_table {
    struct ibv_context *(*open_device)(const char *name); /* NULL: there is none, or it refuses */
    int (*close_device)(struct ibv_context *context);
    int (*query_device)(struct ibv_context *context, struct ibv_device_attr *attr);
    int (*query_port)(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr);
    int (*query_gid)(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid);
    struct ibv_pd *(*alloc_pd)(struct ibv_context *context);
    int (*dealloc_pd)(struct ibv_pd *pd);
    struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *address, size_t bytes, int access);
    int (*dereg_mr)(struct ibv_mr *mr);
    /* Reading events from it does not wait. */
    struct ibv_comp_channel *(*create_comp_channel)(struct ibv_context *context);
    int (*destroy_comp_channel)(struct ibv_comp_channel *channel);
    struct ibv_cq *(*create_cq)(struct ibv_context *context, int cqe, void *cq_context,
                                struct ibv_comp_channel *channel, int vector);
    int (*resize_cq)(struct ibv_cq *cq, int cqe);
    int (*destroy_cq)(struct ibv_cq *cq);
    int (*req_notify_cq)(struct ibv_cq *cq);
    bool (*take_cq_event)(
        struct ibv_comp_channel *channel); /* ibv_get_cq_event, and acknowledged */
    int (*poll_cq)(struct ibv_cq *cq, int n, struct ibv_wc *wc);
    struct ibv_qp *(*create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
    int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
    int (*destroy_qp)(struct ibv_qp *qp);
    int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
    int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
    const char *(*status_text)(enum ibv_wc_status status);
} hccl_verbs_table_t;

/** libibverbs itself. */
extern const hccl_verbs_table_t hccl_verbs_library;

#endif
