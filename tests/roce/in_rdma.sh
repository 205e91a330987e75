#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# devices: 4
# seconds: 240
#
# In the machine that vm makes: messages by RDMA. Each rank has a device of its own, and what the devices
# and the component have counted must show that it was used.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"
# shellcheck source=tests/roce/guest.sh
. "$here/guest.sh"
export HCCL_TEST_TIMEOUT=100

fuzz=$HCCL_BUILD_DIR/tests/mpi/fuzz
said=$TMPDIR/rdma.said

# One job of the differential test; rank I uses device I. EXTRA are words for mpirun.
job() { # NAME TOPOLOGY RANKS SEED CASES EXTRA...
    local name=$1 topology=$2 ranks=$3 seed=$4 cases=$5 map="" rank
    shift 5
    for ((rank = 0; rank < ranks; rank++)); do
        map+=${map:+,}$rank=rxe$rank
    done
    local before after
    before=$(roce_counter 0 sent_pkts)
    code=0
    hccl_mpirun --mca coll hccl --mca coll_hccl_topology "$topology" --mca coll_hccl_rdma on \
        --mca coll_hccl_port_map "$map" --mca coll_hccl_verbose 2 "$@" -np "$ranks" \
        "$fuzz" -s "$seed" -n "$cases" >"$said" 2>&1 || code=$?
    after=$(roce_counter 0 sent_pkts)
    if ((code != 0)); then
        grep -E 'FAILURE|error|not ok' "$said" | head -n 5 | sed 's/^/# /'
        hccl_not_ok "roce/rdma: $name" "exit code $code"
    elif ((after - before < cases)); then
        hccl_not_ok "roce/rdma: $name" "rxe0 sent only $((after - before)) packets"
    elif [[ $ranks != $(grep -c 'rdma: messages [1-9]' "$said") ]]; then
        hccl_not_ok "roce/rdma: $name" "not every rank has sent by RDMA"
    else
        hccl_ok "roce/rdma: $name"
    fi
}

# Nothing may be left on the devices when a job has ended: each has one queue pair of its own.
clean() { # NAME
    local qp mr cq
    qp=$(roce_count qp) mr=$(roce_count mr) cq=$(roce_count cq)
    if ((qp == 4 && mr == 0 && cq == 4)); then
        hccl_ok "roce/rdma: nothing left after $1"
    else
        hccl_not_ok "roce/rdma: nothing left after $1" "queue pairs $qp, regions $mr, queues $cq"
    fi
}

job "2 nodes of 1 rank" node:2 2 601 150
job "2 nodes of 2 ranks" "node:2 core:2" 4 602 60
job "4 nodes of 1 rank, two queue pairs" node:4 4 603 50 \
    --mca coll_hccl_rdma_qps_per_connection 2 --mca coll_hccl_rdma_multi_qp_threshold 4
job "few and small slots, one request per call" node:2 2 604 50 --mca coll_hccl_rdma_slots 4 \
    --mca coll_hccl_rdma_eager 64 --mca coll_hccl_rdma_batch 1
clean "jobs"
job "queue pairs fail" node:2 2 605 40 --mca coll_hccl_inject qp:0
if grep -q 'again [1-9]' "$said"; then
    hccl_ok "roce/rdma: connected again"
else
    hccl_not_ok "roce/rdma: connected again" "no queue pair has failed"
fi
clean "faults"
roce_loss 2
job "2 % of packets are lost" node:2 2 606 20 --mca coll_hccl_rdma_timeout 16
roce_loss 0
clean "losses"
hccl_finish
