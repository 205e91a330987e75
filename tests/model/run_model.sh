#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 1500
# Proves every algorithm on every topology of the list (tests/model/shapes.c), in two processes.
# HCCL_CHECK_LONG=1: the longer list.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

if (($# > 0)); then
    echo "usage: tests/model/run_model.sh   (programs of $HCCL_BUILD_DIR/tests/model)" >&2
    exit 2
fi
programs=$HCCL_BUILD_DIR/tests/model
plan=$HCCL_BUILD_DIR/tools/hccl_plan
for program in "$programs"/{prove,mutate,bounds,payload,tiers} "$plan"; do
    if [[ ! -x $program ]]; then
        hccl_not_ok model "no program $program: run make check"
        hccl_finish
    fi
done
extent=()
if [[ ${HCCL_CHECK_LONG:-0} == 1 ]]; then
    extent=(--long)
fi
hccl_mktemp

# run_parts PROGRAM ARGS...: both halves at once; the output of the second follows the first's.
run_parts() {
    local rc=0 second
    "$@" --part 1/2 >"$HCCL_TMP/second" 2>&1 &
    second=$!
    "$@" --part 0/2 || rc=1
    wait "$second" || rc=1
    cat "$HCCL_TMP/second"
    if ((rc != 0)); then
        HCCL_FAILED=$((HCCL_FAILED + 1))
    fi
}

# expect NAME CODE REGEX ARGS...: hccl_plan ARGS exits with CODE and prints REGEX.
expect() {
    local name=$1 code=$2 regex=$3 out rc=0
    shift 3
    out=$("$plan" "$@" 2>&1) || rc=$?
    if ((rc == code)) && grep -qE "$regex" <<<"$out"; then
        hccl_ok "hccl_plan/$name"
    else
        hccl_quote "$out"
        hccl_not_ok "hccl_plan/$name" "exit code $rc (expected $code), or nothing like '$regex'"
    fi
}

run_parts "$programs/prove" "${extent[@]}"
run_parts "$programs/mutate"
"$programs/payload" || HCCL_FAILED=$((HCCL_FAILED + 1))
"$programs/tiers" || HCCL_FAILED=$((HCCL_FAILED + 1))
"$programs/bounds" || HCCL_FAILED=$((HCCL_FAILED + 1))

# 4 ranks in a ring, 4 bytes: 3 + 3 rounds of 1 byte; 2 nodes: each sends 2 x 1/2 x 4 bytes.
expect list 0 '^allreduce +ring ' list
expect dump 0 'SEND .* to rank 1' dump allreduce ring node:4 --rank 0
expect check 0 '^proven: 4 ranks' check allreduce ring node:4
expect cost 0 'rounds 6, messages 24 between' cost allreduce ring node:4 --bytes 4
expect "cost of links" 0 '^node 1: out 4 bytes in .*, in 4 bytes' \
    cost allreduce hier_ring "node:2 rank:2" --bytes 4
# 2 domains of 2 ranks, 1000 bytes to all: the 2 far ranks read them, the near one as well.
expect "cost of levels" 0 '^node 0: between NUMA domains 2000 bytes in 2 reads' \
    cost bcast mesh "numa:2 rank:2" --bytes 1000
expect "cost of payload" 0 'payload loaded and stored 8000 bytes' \
    cost bcast mesh "numa:2 rank:2" --bytes 1000
expect "unknown collective" 2 'no such collective .*: nonsense' dump nonsense ring node:4
expect "unknown algorithm" 2 'no such algorithm .*: nonsense' dump allreduce nonsense node:4
expect "bad topology" 2 "topology 'node:0'" dump allreduce ring node:0
expect "bad number" 2 "root takes a number" dump bcast tree node:4 --root x
hccl_finish
