#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# devices: 6
# seconds: 280
#
# In the machine that vm makes: messages from other nodes that are written straight into the shared memory
# where a node's ranks read them. Several ranks on each node, each with a device of its own.
set -euo pipefail
HCCL_SRC_DIR=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/roce/jobs.sh
. "$HCCL_SRC_DIR/tests/roce/jobs.sh"
need_rdma land

# What the ranks have said of messages that came straight there, or left from there: in, out.
straight() { sed -nE "s/.*straight ([0-9]+) in, ([0-9]+) out.*/\\$1/p" <<<"$said" | awk '{ n += $1 } END { print n + 0 }'; }

# --- results, with and without; sizes that no segment divides ------------------------------------------------
# came_straight TOPOLOGY RANKS COLLECTIVE BYTES CALLS LEAST: at least LEAST messages come straight there.
came_straight() {
    local name="$3 of $4 bytes, $1" why=""
    topology=$1
    job "$2" "$programs/roce/land" "$3" "$4" "$5"
    (($(straight 1) >= $6)) || why="only $(straight 1) messages came straight, $6 expected"
    judge "straight: $name" "$why"
    hccl_note "$name: $(straight 1) of $(counted messages) messages straight in, $(straight 2) out"
}
# Each byte of the vector crosses once a call, whatever lands; what agrees on the shared memory is below 1 KiB.
came_straight "node:2 core:2" 4 bcast 1048580 6 80
payload=$(counted payload)
why=""
((payload >= 6 * 1048580 && payload < 6 * 1048580 + 1024)) || why="$payload bytes were posted"
judge "straight: not a byte more" "$why"
came_straight "node:2 core:2" 4 allreduce 2000004 2 20
# The middle one of three nodes passes on from there.
came_straight "node:3 core:2" 6 bcast 524292 3 20
why=""
(($(straight 2) > 0)) || why="no message left from there"
judge "straight: passed on" "$why"

# --- random calls, in short slots, so that nearly everything lands ----------------------------------------------
short=(--mca coll_hccl_rdma_eager 64 --mca coll_hccl_slot_small 256 --mca coll_hccl_slot_wide 4096)
random() { # NAME RANKS TOPOLOGY SEED CASES [OPTION]...
    topology=$3
    job "$2" "${short[@]}" "${@:6}" "$programs/mpi/fuzz" -s "$4" -n "$5"
    judge "land: $1, $5 cases, $3" "$( (($(straight 1) > $5 / 10)) || echo "only $(straight 1) messages came straight")"
}
random "random calls" 4 "node:2 core:2" 801 $((1 == ${HCCL_CHECK_LONG:-0} ? 2000 : 120))
random "queue pairs fail" 4 "node:2 core:2" 803 30 --mca coll_hccl_inject qp:2
(($(counted again) > 0)) || hccl_not_ok "roce/land: connected again" "no queue pair has failed"
roce_loss 2
random "2 % loss" 4 "node:2 core:2" 804 12 --mca coll_hccl_rdma_timeout 16
roce_loss 0

# --- too little locked memory for it: one line for each rank, and copies ------------------------------------------
topology="node:2 core:2"
job 4 --mca coll_hccl_rdma_slots 4 setpriv --bounding-set=-ipc_lock \
    bash -c "ulimit -l 2048; exec $programs/roce/land bcast 600000 2"
lines=$(grep -c 'of shared memory cannot be registered for RDMA' <<<"$said" || true)
judge "cells that cannot be registered" "$( ((1 <= lines && lines <= 4)) || echo "said $lines times")"

left=$(roce_count qp),$(roce_count mr)
if [[ 6,0 == "$left" ]]; then
    hccl_ok "roce/land: nothing is left"
else
    hccl_not_ok "roce/land: nothing is left" "queue pairs,regions: $left"
fi
hccl_finish
