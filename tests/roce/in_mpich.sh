#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# devices: 4
# seconds: 600
#
# In the machine that vm makes: programs of MPICH's test suite whose messages go by RDMA; with
# HCCL_CHECK_LONG=1 more of them. The suite must be there already (tests/mpich/build.sh).
set -euo pipefail
HCCL_SRC_DIR=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/roce/jobs.sh
. "$HCCL_SRC_DIR/tests/roce/jobs.sh"
need_rdma mpich

# Blocking, nonblocking and persistent ones.
list=(allred2 coll10 iallred ibarrier p_allred p_redscat p_barrier)
if [[ 1 == "${HCCL_CHECK_LONG:-0}" ]]; then
    list+=(allred bcasttest allgather2 allgatherv4 alltoall1 redscat red_scat_block nbredscat nonblocking
        p_bcast p_alltoall p_allgather p_red_scat_block)
    unset HCCL_CHECK_LONG
fi

# Ranks are nodes, whatever their number; devices are dealt out in turn.
map=""
for ((i = 0; i < 16; i++)); do
    map+=,$i=rxe$((i % 4)):1
done
export OMPI_MCA_coll_hccl_topology=node:16 OMPI_MCA_coll_hccl_port_map=${map#,} OMPI_MCA_coll_hccl_rdma=on
before=$(sent_packets)
HCCL_TEST_JOBS=1 hccl_limit 590 "$HCCL_SRC_DIR/tests/mpich/run_mpich.sh" "${list[@]}" |
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
