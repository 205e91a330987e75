#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# devices: 4
# seconds: 280
#
# In the machine that vm makes: what messages by RDMA post, what is on the wire then, that nothing goes
# another way, and what stays registered, also when queue pairs fail. With HCCL_CHECK_LONG=1, also some
# thousand random calls.
set -euo pipefail
HCCL_SRC_DIR=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/roce/jobs.sh
. "$HCCL_SRC_DIR/tests/roce/jobs.sh"
need_rdma counts

# --- results -----------------------------------------------------------------------------------------
# Random calls of all collectives, compared with point-to-point messages.
compare() { # RANKS SEED CASES [OPTION]...
    local i before=() idle=""
    for ((i = 0; i < $1; i++)); do
        before+=("$(roce_counter "$i" sent_pkts)")
    done
    job "$1" "${@:4}" "$programs/mpi/fuzz" -s "$2" -n "$3"
    for ((i = 0; i < $1; i++)); do
        (($(roce_counter "$i" sent_pkts) >= before[i] + $3)) || idle+=" rxe$i"
    done
    judge "fuzz: $1 devices, $3 cases${4:+, ${*:4}}${topology:+, $topology}" "${idle:+few packets from$idle}"
}
if [[ 1 == "${HCCL_CHECK_LONG:-0}" ]]; then
    compare 2 601 1000
    compare 4 602 1000
    topology="node:2 core:2" compare 4 603 500
fi

# --- what is posted ----------------------------------------------------------------------------------
# All that is counted by the component, for ten calls: two jobs that differ by ten. The sum of all
# ranks, or of one.
ten_calls() { # RANKS OPERATION BYTES [RANK]
    local what
    job "$1" "$programs/roce/wire" "$2" "$3" 5
    base_code=$code
    for what in messages payload requests inline doorbells completions copied; do
        counts[$what]=$(counted $what "${4:-}")
    done
    job "$1" "$programs/roce/wire" "$2" "$3" 15
    code=$((code == 0 ? base_code : code))
    for what in messages payload requests inline doorbells completions copied; do
        counts[$what]=$(($(counted $what "${4:-}") - counts[$what]))
    done
    pml=$(awk '/^wire [0-9]/ { sum += $3 + $4 } END { print sum + 0 }' <<<"$said")
}
declare -A counts

# 2 (p - 1) / p of the vector leaves each rank, in whatever order: no allreduce can do with less.
for ranks in 2 4; do
    ten_calls $ranks allreduce 1048576
    expected=$((10 * 2 * (ranks - 1) * 1048576))
    hccl_note "allreduce 1 MiB, $ranks ranks, ten calls: $(declare -p counts | sed 's/.*=(//; s/)$//')"
    why=""
    ((expected == counts[payload])) || why="$expected bytes expected, ${counts[payload]} posted"
    judge "allreduce 1 MiB, $ranks devices: the bytes that are posted" "$why"
    why=""
    ((0 == pml)) || why="messages and bytes there: $pml"
    judge "allreduce 1 MiB, $ranks devices: nothing through the point-to-point layer" "$why"
done

# One message of 8 bytes a call: from the root to the other one.
ten_calls 2 bcast 8 0
hccl_note "bcast 8 bytes, ten calls: $(declare -p counts | sed 's/.*=(//; s/)$//')"
why=""
for what in messages requests inline doorbells; do
    ((10 == counts[$what])) || why+=" $what: ${counts[$what]}"
done
judge "bcast 8 bytes: one inline work request of the root a call, handed over alone" "${why:+not 10, but$why}"
ten_calls 2 allreduce 8
hccl_note "allreduce 8 bytes, ten calls: $(declare -p counts | sed 's/.*=(//; s/)$//')"
why=""
for what in messages requests inline doorbells; do
    ((20 == counts[$what])) || why+=" $what: ${counts[$what]}"
done
judge "allreduce 8 bytes: one such request from each rank" "${why:+not 20, but$why}"

# --- what is on the wire -----------------------------------------------------------------------------
# Headers and checksum take at most 82 bytes of a packet of 4096, and what acknowledges it 62 at most:
# four percent are more than that.
wire_bytes() { echo $(($(roce_wire 0 tx_bytes) + $(roce_wire 1 tx_bytes))); }
job 2 "$programs/roce/wire" allreduce 4194304 1
start=$(wire_bytes)
job 2 "$programs/roce/wire" allreduce 4194304 1
one=$(($(wire_bytes) - start))
job 2 "$programs/roce/wire" allreduce 4194304 4
four=$(($(wire_bytes) - start - one))
payload=$((3 * 2 * 4194304))
why=""
if ((four - one < payload || four - one > payload + payload / 25)); then
    why="$((four - one)) bytes for a payload of $payload"
fi
judge "allreduce 4 MiB: bytes on the wire" "$why"

# --- memory ------------------------------------------------------------------------------------------
for way in madvise mremap malloc fork; do
    job 2 "$programs/roce/memory" $way 6 1048576
    why=""
    [[ $said == *"memory $way: right"* ]] || why="it did not say so"
    judge "memory that changes between calls: $way" "$why"
done
job 2 --mca coll_hccl_rdma_cache 4m "$programs/roce/memory" limit 12 1048576
why=$(awk '/^memory limit: [0-9]/ {
    ranks++
    if ($5 - $4 > 4194304) { printf "rank %d has registered %d bytes more than before", $3, $5 - $4 }
    if (0 == $4) { print "nothing is registered before" }
} END { if (2 != ranks) print "not all ranks have said it" }' <<<"$said")
judge "registrations stay within coll_hccl_rdma_cache" "$why"

# --- queue pairs that fail ---------------------------------------------------------------------------
# While a job runs, the largest number of queue pairs and memory regions seen on a device.
watch() { # FILE
    local qp mr most_qp=0 most_mr=0
    while [[ -e $1.run ]]; do
        qp=$(roce_count qp 0)
        mr=$(roce_count mr 0)
        most_qp=$((qp > most_qp ? qp : most_qp))
        most_mr=$((mr > most_mr ? mr : most_mr))
        echo "$most_qp $most_mr" >"$1"
        sleep 0.2
    done
}
# job, watched: sets most_qp and most_mr too.
watched_job() {
    local watcher
    touch "$HCCL_TMP/most.run"
    watch "$HCCL_TMP/most" &
    watcher=$!
    job "$@"
    rm "$HCCL_TMP/most.run"
    wait "$watcher"
    read -r most_qp most_mr <"$HCCL_TMP/most"
}
# The same buffers again and again, so that the number of regions depends on nothing else. One queue pair
# is the kernel's; while a connection is made again, old and new ones may be there together.
watched_job 2 "$programs/roce/wire" allreduce 65536 200
judge "200 allreduces"
sound_mr=$most_mr
watched_job 2 --mca coll_hccl_inject qp:0 "$programs/roce/wire" allreduce 65536 200
again=$(counted again)
hccl_note "connections made again: $again; at most $most_qp queue pairs, $most_mr regions ($sound_mr without)"
why=""
((again > 10)) || why="connections made again: $again"
((2 <= most_qp && most_qp <= 3)) || why+=" $most_qp queue pairs"
((most_mr <= sound_mr + 2)) || why+=" $most_mr regions, $sound_mr without faults"
judge "failed queue pairs and their memory are given back" "$why"

# --- loss --------------------------------------------------------------------------------------------
dropped() { tc -s qdisc show dev roce0 | sed -nE 's/.*dropped ([0-9]+),.*/\1/p'; }
roce_loss 2
job 2 --mca coll_hccl_rdma_timeout 16 --mca coll_hccl_rdma_qps_per_connection 2 \
    --mca coll_hccl_rdma_multi_qp_threshold 16 "$programs/mpi/fuzz" -s 702 -n 40
judge "2 % loss, two queue pairs to each peer" "$( (($(dropped) > 0)) || echo "nothing was lost")"
roce_loss 0

same_left=$(roce_count qp),$(roce_count mr)
if [[ 4,0 == "$same_left" ]]; then
    hccl_ok "roce/no queue pair and no registration is left"
else
    hccl_not_ok "roce/no queue pair and no registration is left" "queue pairs,regions: $same_left"
fi
hccl_finish
