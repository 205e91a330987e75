#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# devices: 4
# seconds: 400
#
# In the machine that vm makes: the programs of MPICH's test suite for allreduce, bcast, allgather,
# alltoall, reduce_scatter, barrier, nonblocking and persistent collectives; their messages go by RDMA,
# each rank is a node. The suite must be there already (tests/mpich/build.sh). Programs run on two or
# three ranks where they can, since each rank takes half a second to start; with HCCL_CHECK_LONG=1
# on as many as the suite says.
set -euo pipefail
HCCL_SRC_DIR=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/roce/jobs.sh
. "$HCCL_SRC_DIR/tests/roce/jobs.sh"
need_rdma mpich
same_addresses

list=(
    allred-3 allredmany-2 allred2-3 allred3-3 allred4-2 allred5-3 allred6-3 coll9-2 longuser-3 op_coll-2
    bcasttest-3 bcastzerotype-2 coll8-2 coll10-3 coll12-2
    allgather2-3 allgather3-2 allgather_struct-3 allgatherv2-2 allgatherv3-3 allgatherv4-3 coll6-2 coll7-2
    alltoall1-3 alltoallv-3 alltoallv0-2 alltoallw1-3 alltoallw2-2 alltoallw_zeros-3 coll13-2
    redscat-3 redscat2-2 redscat3-3 red_scat_block-3 red_scat_block2-2 redscatblk3-3
    iallred-2 ibarrier-3 nballtoall1-3 nbredscat-3 nbredscat3-2 nonblocking-3 nonblocking2-2 nonblocking3-2
    p_allred-3 p_allgather-2 p_allgatherv-3 p_alltoall-2 p_alltoallv-3 p_alltoallw-2 p_barrier-3 p_bcast-2
    p_bcast2-3 p_red_scat_block-3 p_redscat-2 p_order-2
)
if [[ 1 == "${HCCL_CHECK_LONG:-0}" ]]; then
    list=("${list[@]%-*}")
    unset HCCL_CHECK_LONG
fi

# Ranks are nodes, whatever their number; devices are dealt out in turn.
map=""
for ((i = 0; i < 16; i++)); do
    map+=,$i=rxe$((i % 4)):1
done
export OMPI_MCA_coll_hccl_topology=node:16 OMPI_MCA_coll_hccl_port_map=${map#,} OMPI_MCA_coll_hccl_rdma=on
before=$(sent_packets)
HCCL_TEST_JOBS=1 hccl_limit 390 "$HCCL_SRC_DIR/tests/mpich/run_mpich.sh" "${list[@]}" |
    sed -E 's#^((not )?ok|skip) mpich/#\1 roce/mpich/#' | tee "$HCCL_TMP/said" || true
passed=$(grep -c '^ok' "$HCCL_TMP/said" || true)
sent=$(($(sent_packets) - before))
if grep -q '^not ok' "$HCCL_TMP/said"; then
    HCCL_FAILED=1
elif ((passed > 0 && sent < 20 * passed)); then
    hccl_not_ok "roce/mpich: the devices are used" "$sent packets in $passed programs"
elif ((passed > 0)); then
    hccl_ok "roce/mpich: the devices are used"
fi
hccl_finish
