#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# devices: 4
# seconds: 200
#
# In the machine that vm makes: what collectives hand to the devices, counted between the component and
# libibverbs; what is on the wire then; and that nothing goes another way.
set -euo pipefail
HCCL_SRC_DIR=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/roce/jobs.sh
. "$HCCL_SRC_DIR/tests/roce/jobs.sh"
need_rdma counts

readonly calls=5

# The numbers that `wire` has printed for an operation, into the array `of`.
declare -A of
numbers() { # OPERATION
    local word
    of=()
    for word in $(sed -n "s|^wire $1 ||p" <<<"$said"); do
        of[${word%=*}]=${word#*=}
    done
}
# mismatch NAME NUMBER...: says which numbers of the last operation are not this one.
mismatch() {
    local name
    for name in "${@:2}"; do
        [[ ${of[$name]:-none} == "$1" ]] || echo -n " $name: ${of[$name]:-none}, expected $1"
    done
}

# What must be sent at least, by all ranks together: each block to each rank that lacks it; of a vector
# that is summed, 2 (p - 1) / p by each rank. Algorithms for one rank a node reach that.
least() { # OPERATION RANKS BYTES
    case $1 in
    allreduce) echo $((2 * ($2 - 1) * $3)) ;;
    bcast) echo $((($2 - 1) * $3)) ;;
    allgather | alltoall | reduce_scatter) echo $(($2 * ($2 - 1) * $3)) ;;
    esac
}

# Short ones first: credits are sent when half of a ring has been used without an answer.
operations=(2/bcast:8 2/allreduce:8 2/barrier:0 2/allreduce:1024)
for ranks in 2 4; do
    for operation in allreduce:1048576 bcast:1048576 allgather:262144 alltoall:262144 reduce_scatter:262144; do
        operations+=("$ranks/$operation")
    done
done
job 4 "$programs/roce/wire" $calls "${operations[@]}"
judge "counts: results"

# What a bcast brings has to come into the user's buffer once; what is combined is read where it came.
short_ones() { # RANKS
    local operation
    numbers "$1/bcast:8"
    judge "counts: bcast of 8 bytes, $1 ranks: one inline WRITE_WITH_IMM a call, handed over alone" \
        "$(mismatch $calls requests inline immediate doorbells)"
    judge "counts: bcast of 8 bytes, $1 ranks: one copy out of the ring, into the user's buffer" \
        "$(mismatch $calls copies)"
    for operation in allreduce:8 barrier:0; do
        numbers "$1/$operation"
        judge "counts: ${operation%:*} of ${operation#*:} bytes, $1 ranks: one inline WRITE_WITH_IMM each way a call" \
            "$(mismatch $((2 * calls)) requests inline immediate doorbells)"
        judge "counts: ${operation%:*} of ${operation#*:} bytes, $1 ranks: no copy out of the ring" \
            "$(mismatch 0 copies)"
    done
    numbers "$1/allreduce:1024"
    judge "counts: allreduce of 1 KiB, $1 ranks: one WRITE_WITH_IMM each way a call, no copy out of the ring" \
        "$(mismatch $((2 * calls)) requests immediate doorbells)$(mismatch 0 copies inline)"
}
short_ones 2
# Messages have 16 KiB or more. Of one of 16 KiB, 4 packets carry data, and one each ASK and HERE, of 32 and 56
# bytes; headers and checksum of a packet take at most 82 bytes, and what acknowledges it 62 at most: 6 x 144 + 88
# bytes are 5.81 %, and less than 1/16.
wire_is_wrong() { # PAYLOAD
    local wire=${of[wire_bytes]:-0}
    (($1 <= wire && wire <= $1 + $1 / 16)) || echo "$wire bytes for a payload of $1"
}
for operation in "${operations[@]:4}"; do
    numbers "$operation"
    hccl_note "$operation, a call: $(for name in payload requests inline doorbells completions; do
        echo -n "$name $((${of[$name]:-0} / calls)) "
    done)"
    name=${operation#*/}
    payload=$((calls * $(least "${name%:*}" "${operation%/*}" "${name#*:}")))
    judge "counts: $operation: the payload is the least possible" "$(mismatch $payload payload)"
    judge "counts: $operation: nothing through the point-to-point layer" \
        "$(mismatch 0 pml_messages pml_bytes)"
    # ASK, HERE, and the data, which tell of themselves.
    if [[ $operation == */alltoall:* ]]; then
        messages=$((calls * ${operation%/*} * (${operation%/*} - 1)))
        judge "counts: $operation: three requests for a long message" \
            "$(mismatch $((3 * messages)) requests immediate)$(mismatch $((2 * messages)) inline)"
    fi
    judge "counts: $operation: data and the word of its arrival in one posting call" \
        "$(mismatch 0 split)"
    why=$(wire_is_wrong "$payload")
    # On one emulated processor, a device may take for lost what is only late, and send it again.
    first=$said
    for ((again = 0; again < 2 && ${#why} > 0; again++)); do
        hccl_note "$operation: $why; counted once more"
        job 4 "$programs/roce/wire" $calls "$operation"
        numbers "$operation"
        why=$(wire_is_wrong "$payload")
    done
    said=$first
    judge "counts: $operation: bytes on the wire" "$why"
done
# Two nodes of two ranks: what comes is for the whole node.
topology="node:2 core:2" job 4 "$programs/roce/wire" $calls 4/bcast:8 4/allreduce:8 4/barrier:0 4/allreduce:1024
judge "counts: results of two nodes of two ranks"
short_ones 4

# What the variables say reaches the queue pairs.
export HCCL_RDMA_TC=104 HCCL_RDMA_SL=3 HCCL_RDMA_TIMEOUT=15 HCCL_RDMA_RETRY_CNT=5
job 2 "$programs/roce/attributes"
unset HCCL_RDMA_TC HCCL_RDMA_SL HCCL_RDMA_TIMEOUT HCCL_RDMA_RETRY_CNT
judge "counts: HCCL_RDMA_TC, SL, TIMEOUT and RETRY_CNT reach the queue pairs" \
    "$([[ 2 == "$(grep -c '^attributes 104 3 15 5$' <<<"$said")" ]] || grep -m1 '^attributes' <<<"$said" || echo "no queue pair")"
judge_left counts
hccl_finish
