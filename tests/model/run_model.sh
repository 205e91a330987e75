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
prove=$HCCL_BUILD_DIR/tests/model/prove
if [[ ! -x $prove ]]; then
    hccl_not_ok model "no program $prove: run make check"
    hccl_finish
fi
extent=()
if [[ ${HCCL_CHECK_LONG:-0} == 1 ]]; then
    extent=(--long)
fi
hccl_mktemp

# run_parts PROGRAM ARGS...: both halves at once; the output of the second follows the first.
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

run_parts "$prove" "${extent[@]}"
hccl_finish
