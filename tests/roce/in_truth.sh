#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# devices: 4
# seconds: 300
#
# In the machine that vm makes: random calls of all collectives by RDMA, compared with point-to-point
# messages.
set -euo pipefail
HCCL_SRC_DIR=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/roce/jobs.sh
. "$HCCL_SRC_DIR/tests/roce/jobs.sh"
need_rdma truth

# Each device must have sent more packets than there were cases, and each rank messages.
compare() { # RANKS SEED CASES [OPTION]...
    local i before=() idle=""
    for ((i = 0; i < $1; i++)); do
        before+=("$(roce_counter "$i" sent_pkts)")
    done
    job "$1" "${@:4}" "$programs/mpi/fuzz" -s "$2" -n "$3"
    for ((i = 0; i < $1; i++)); do
        (($(roce_counter "$i" sent_pkts) >= before[i] + $3)) || idle+=" few packets from rxe$i"
        (($(counted messages "$i") > 0)) || idle+=" no messages of rank $i"
    done
    (($(counted read) > 0)) || idle+=" no message was read in a ring"
    judge "truth: $3 cases, $1 ranks${topology:+, $topology}${4:+, ${*:4}}" "$idle"
}
long=$((1 == ${HCCL_CHECK_LONG:-0} ? 10 : 1))
compare 4 602 $((1000 * long))
compare 2 601 $((1000 * long))
compare 3 603 $((100 * long))
topology="node:2 core:2" compare 4 604 $((100 * long))
compare 4 605 $((50 * long)) --mca coll_hccl_rdma_qps_per_connection 2 \
    --mca coll_hccl_rdma_multi_qp_threshold 4
compare 2 606 $((100 * long)) --mca coll_hccl_rdma_slots 4 --mca coll_hccl_rdma_eager 64 \
    --mca coll_hccl_rdma_batch 1
# What both ends of a message see differently: what fits, and an error.
job 2 "$programs/mpi/hazard_errors" -t P84c,P84d
judge "truth: messages that are longer than their receives" \
    "$([[ 2 == "$(grep -cE '^ok P84[cd]' <<<"$said")" && 0 != "$(counted messages)" ]] || echo "not both have passed")"
judge_left truth
hccl_finish
