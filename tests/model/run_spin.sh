#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Walks all interleavings of the protocol in shared memory (shm_lane.pml) with spin: with all its
# rules no error may be found, with each rule taken away one must.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

if (($# > 0)); then
    echo "usage: tests/model/run_spin.sh" >&2
    exit 2
fi
hccl_have "model/shm_lane" spin || hccl_finish
hccl_mktemp
model=$HCCL_SRC_DIR/tests/model/shm_lane.pml

# verify NAME EXPECTED [OPTION]: EXPECTED is 0 (no error) or 1.
verify() {
    local name="model/shm_lane: $1" expected=$2 out
    rm -rf "$HCCL_TMP/spin"
    mkdir "$HCCL_TMP/spin"
    if ! out=$(cd "$HCCL_TMP/spin" && spin "${@:3}" -a "$model" 2>&1 &&
        "$HCCL_CC" -O1 -w -DSAFETY -o pan pan.c 2>&1 && hccl_limit 120 ./pan -m100000 2>&1); then
        hccl_quote "$(tail -n 5 <<<"$out")"
        hccl_not_ok "$name" "the model cannot be checked"
    elif grep -qE 'search depth too small|out of memory' <<<"$out"; then
        hccl_not_ok "$name" "not all states were visited"
    elif grep -q "errors: $expected" <<<"$out"; then
        hccl_ok "$name"
    else
        hccl_quote "$(grep -E '^pan|errors:' <<<"$out")"
        hccl_not_ok "$name" "expected $expected errors"
    fi
}
verify "all interleavings are right" 0
verify "lanes of one number without their members are found" 1 -DNO_MEMBERS
verify "waiting for a closed peer is found" 1 -DNO_CLOSED
verify "reuse before acknowledgement is found" 1 -DNO_ACK
verify "publishing without room is found" 1 -DNO_ROOM
hccl_finish
