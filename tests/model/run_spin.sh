#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Walks all interleavings of the protocols in shared memory (shm_lane.pml, shm_direct.pml,
# shm_doze.pml) with spin: with all its rules no error may be found, with each rule taken away one must.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

if (($# > 0)); then
    echo "usage: tests/model/run_spin.sh" >&2
    exit 2
fi
hccl_have "model/spin" spin || hccl_finish
hccl_mktemp

# verify MODEL NAME EXPECTED [OPTION]: EXPECTED is 0 (no error) or 1.
verify() {
    local model=$HCCL_SRC_DIR/tests/model/$1.pml name="model/$1: $2" expected=$3 out
    rm -rf "$HCCL_TMP/spin"
    mkdir "$HCCL_TMP/spin"
    if ! out=$(cd "$HCCL_TMP/spin" && spin "${@:4}" -a "$model" 2>&1 &&
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
verify shm_lane "all interleavings are right" 0
verify shm_lane "lanes of one number without their members are found" 1 -DNO_MEMBERS
verify shm_lane "waiting for a closed peer is found" 1 -DNO_CLOSED
verify shm_lane "reuse before acknowledgement is found" 1 -DNO_ACK
verify shm_lane "publishing without room is found" 1 -DNO_ROOM
verify shm_direct "all interleavings are right" 0
verify shm_direct "giving a buffer back before all have read it is found" 1 -DNO_RETURN
verify shm_direct "writing again what the other one may still read is found" 1 -DNO_WORD
verify shm_direct "waiting for a closed peer is found" 1 -DNO_CLOSED
verify shm_direct "acknowledging before the read is found" 1 -DEARLY_ACK
verify shm_doze "all interleavings are right" 0
verify shm_doze "sleeping without a fence after the announcement is found" 1 -DNO_SLEEPER_FENCE
verify shm_doze "waking without a fence after the news is found" 1 -DNO_WAKER_FENCE
verify shm_doze "sleeping without a last look is found" 1 -DNO_LAST_LOOK
verify shm_doze "sleeping though the word has changed is found" 1 -DNO_COMPARE
verify shm_doze "never waking is found" 1 -DNO_WAKE
verify shm_doze "ending a call without waking is found" 1 -DNO_WAKE_AT_END
hccl_finish
