#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# devices: 2
# seconds: 300
#
# In the machine that vm makes: packets that are lost, queue pairs that fail, links that go down, and
# what is missing at the start.
set -euo pipefail
HCCL_SRC_DIR=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/roce/jobs.sh
. "$HCCL_SRC_DIR/tests/roce/jobs.sh"
need_rdma faults
two=(--mca coll_hccl_rdma_qps_per_connection 2 --mca coll_hccl_rdma_multi_qp_threshold 4)

# --- random calls ------------------------------------------------------------------------------------
# needs NAME COUNT: says so when the job did that less often.
needs() {
    local have
    have=$(counted "$1")
    ((have >= $2)) || echo "$1: $have, expected $2 at least"
}
job 2 --mca coll_hccl_inject qp:0 "$programs/mpi/fuzz" -s 605 -n 100
judge "faults: queue pairs fail in 100 random calls" "$(needs again 3)"

dropped() { tc -s qdisc show dev roce0 | sed -nE 's/.*dropped ([0-9]+),.*/\1/p'; }
lost() { (($(dropped) > 0)) || echo "nothing was lost"; }
roce_loss 2
job 2 --mca coll_hccl_rdma_timeout 16 "$programs/mpi/fuzz" -s 606 -n 20
judge "faults: 2 % loss" "$(lost)"
job 2 --mca coll_hccl_rdma_timeout 16 "${two[@]}" --mca coll_hccl_inject qp:0 "$programs/mpi/fuzz" \
    -s 702 -n 100
judge "faults: 2 % loss, two queue pairs to each peer, and they fail, in 100 random calls" \
    "$(lost)$(needs again 3)"
roce_loss 0

# --- what failed queue pairs leave -------------------------------------------------------------------
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
watched_job 2 "$programs/roce/wire" 200 2/allreduce:65536
judge "faults: 200 allreduces without one"
sound_mr=$most_mr
watched_job 2 --mca coll_hccl_inject qp:0 "$programs/roce/wire" 200 2/allreduce:65536
hccl_note "made again: $(counted again); at most $most_qp queue pairs, $most_mr regions ($sound_mr without)"
why=$(needs again 11)
((2 <= most_qp && most_qp <= 3)) || why+=" $most_qp queue pairs"
((most_mr <= sound_mr + 2)) || why+=" $most_mr regions, $sound_mr without faults"
judge "faults: failed queue pairs and their memory are given back" "$why"

# --- links -------------------------------------------------------------------------------------------
same_addresses
# Does something when the job has come so far.
after_steps() { # COMMAND...
    local tenths
    for ((tenths = 0; tenths < 300; tenths++)); do
        if grep -q '^step 20$' "$HCCL_TMP/steps" 2>/dev/null; then
            "$@"
            return
        fi
        sleep 0.1
    done
}
# As job, with standard output in a file that after_steps reads. Each rank has its own port alone: else
# its connection would move to another one (in_rails.sh).
steps_job() { # RANKS [OPTION]... TIMES
    local -a options
    rdma_options "$1"
    code=0
    # shellcheck disable=SC2016
    HCCL_TEST_TIMEOUT=40 hccl_mpirun "${options[@]}" --mca btl_tcp_if_include lo "${@:2:$#-2}" bash -c '
        export OMPI_MCA_coll_hccl_ib_hca=rxe$OMPI_COMM_WORLD_RANK
        exec "$@"' rank "$programs/roce/steps" "${*: -1}" >"$HCCL_TMP/steps" 2>&1 || code=$?
    said=$(<"$HCCL_TMP/steps")
    wait
}
down_for() { # SECONDS
    roce_link 1 down
    sleep "$1"
    roce_link 1 up
}
# Queue pairs try for so long.
: >"$HCCL_TMP/steps"
after_steps down_for 1 &
steps_job 2 --mca coll_hccl_rdma_timeout 16 80
judge "faults: a link down for a second"
# Longer than queue pairs try: connected again.
: >"$HCCL_TMP/steps"
after_steps down_for 4 &
steps_job 2 --mca coll_hccl_rdma_timeout 12 --mca coll_hccl_rdma_retry_cnt 2 \
    --mca coll_hccl_retry_count 1000 80
judge "faults: a link down for long" "$(needs again 1)"
# For good: both ranks say why, and end.
: >"$HCCL_TMP/steps"
after_steps roce_link 1 down &
started=$SECONDS
steps_job 2 --mca coll_hccl_rdma_timeout 12 --mca coll_hccl_rdma_retry_cnt 2 1000
roce_link 1 up
said_so=$(grep -cE 'connection to rank . .* is lost' <<<"$said" || true)
if ((code != 0 && SECONDS - started < 30 && 2 == said_so)); then
    hccl_ok "roce/faults: a link down for good"
else
    hccl_quote "$(tail -n 5 <<<"$said")"
    hccl_not_ok "roce/faults: a link down for good" \
        "exit code $code after $((SECONDS - started)) s; $said_so ranks say why"
fi

# --- what is missing at the start: one line, and the other way for all ---------------------------------
says() { # REASON
    local lines
    lines=$(grep -c "RDMA is not used by 2 of 2 ranks: rank 0 has no $1" <<<"$said" || true)
    [[ 1,0 == "$lines,$(counted messages)" ]] ||
        echo "$lines lines name the reason, $(counted messages) messages by RDMA"
}
job 2 setpriv --bounding-set=-ipc_lock bash -c "ulimit -l 64; exec $programs/roce/steps comms 2"
judge "faults: little locked memory" "$(says memory)"
ip link set roce0 down
ip link set roce1 down
job 2 "$programs/roce/steps" comms 2
judge "faults: ports that are down" "$(says 'RoCE port that is up')"
ip link set roce0 up
ip link set roce1 up
job 2 --mca coll_hccl_ib_gid_index 77 "$programs/roce/steps" comms 2
judge "faults: no GID" "$(says 'RoCE port with a GID')"
judge_left faults
hccl_finish
