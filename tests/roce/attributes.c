/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How queue pairs are connected, seen by standing in front of libibverbs: after a barrier each rank prints
 * "attributes TC SL TIMEOUT RETRIES" of the last one. Plain MPI; knows nothing of the component.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

static int tc = -1, sl = -1, timeout = -1, retries = -1;

/* Found before the library's own. */
__attribute__((visibility("default"))) int ibv_modify_qp(struct ibv_qp *qp,
                                                         struct ibv_qp_attr *attr, int mask)
{
    int (*real)(struct ibv_qp *, struct ibv_qp_attr *, int) = NULL;
    void *library = dlopen("libibverbs.so.1", RTLD_LAZY);

    if (NULL != library) {
        *(void **) &real = dlsym(library, "ibv_modify_qp");
    }
    if (0 != (mask & IBV_QP_AV)) {
        tc = attr->ah_attr.grh.traffic_class;
        sl = attr->ah_attr.sl;
    }
    timeout = 0 != (mask & IBV_QP_TIMEOUT) ? attr->timeout : timeout;
    retries = 0 != (mask & IBV_QP_RETRY_CNT) ? attr->retry_cnt : retries;
    return NULL == real ? -1 : real(qp, attr, mask);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("attributes %d %d %d %d\n", tc, sl, timeout, retries);
    MPI_Finalize();
    return 0;
}
