#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the lane protocol under ThreadSanitizer, threads as ranks (tsan_lane.c): first with its
# fences, which must be clean, then with each fence weakened, which must be found.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

if (($# > 0)); then
    echo "usage: tests/unit/run_tsan.sh" >&2
    exit 2
fi
hccl_mktemp
sources=(doze.c doze.h heap.c heap.h lane.c lane.h region.c region.h shm_layout.h xpmem.c xpmem.h)

# build TREE PROGRAM: tsan_lane with the tier/ of TREE.
build() {
    "$HCCL_CC" -std=gnu11 -D_GNU_SOURCE -O1 -g -pthread -fsanitize=thread -Wno-tsan -I"$1" \
        -I"$HCCL_SRC_DIR/src" "$HCCL_SRC_DIR/tests/unit/tsan_lane.c" \
        "$HCCL_SRC_DIR/src/base/log.c" "$1/tier/doze.c" "$1/tier/heap.c" "$1/tier/lane.c" \
        "$1/tier/region.c" "$1/tier/xpmem.c" -o "$2"
}

run() { TSAN_OPTIONS="halt_on_error=1 exitcode=66" hccl_limit 120 "$1"; }

echo 'int main(void) { return 0; }' >"$HCCL_TMP/empty.c"
if ! "$HCCL_CC" -pthread -fsanitize=thread "$HCCL_TMP/empty.c" -o "$HCCL_TMP/empty" 2>/dev/null ||
    ! "$HCCL_TMP/empty" 2>/dev/null; then
    hccl_skip tsan_lane "-fsanitize=thread does not work with $HCCL_CC here"
    hccl_finish
fi

if build "$HCCL_SRC_DIR/src" "$HCCL_TMP/whole"; then
    hccl_try "tsan_lane" run "$HCCL_TMP/whole"
else
    hccl_not_ok "tsan_lane" "it does not compile"
fi

# weakened NAME FILE EXPRESSION: the sanitizer must report the file changed by sed.
weakened() {
    local tree=$HCCL_TMP/weak
    rm -rf "$tree"
    mkdir -p "$tree/tier"
    cp "${sources[@]/#/$HCCL_SRC_DIR/src/tier/}" "$tree/tier/"
    sed -i "$3" "$tree/tier/$2"
    if cmp -s "$tree/tier/$2" "$HCCL_SRC_DIR/src/tier/$2"; then
        hccl_not_ok "tsan_lane: $1" "the expression changes nothing in $2"
    elif ! build "$tree" "$HCCL_TMP/program"; then
        hccl_not_ok "tsan_lane: $1" "it does not compile"
    elif run "$HCCL_TMP/program" >"$HCCL_TMP/out" 2>&1; then
        hccl_not_ok "tsan_lane: $1" "no race was reported"
    elif grep -q 'ThreadSanitizer: data race' "$HCCL_TMP/out"; then
        hccl_ok "tsan_lane: $1"
    else
        hccl_quote "$(tail -n 3 "$HCCL_TMP/out")"
        hccl_not_ok "tsan_lane: $1" "it failed without the report of a race"
    fi
}
weakened "publishing without release is found" lane.h \
    '/slot->tag, tag/s/memory_order_release/memory_order_relaxed/'
weakened "reading a tag without acquire is found" lane.h \
    '/slot->tag, memory_order_acquire/s/memory_order_acquire/memory_order_relaxed/'
weakened "acknowledging without release is found" lane.h \
    '/cell->ack, tag/s/memory_order_release/memory_order_relaxed/'
weakened "looking for room without acquire is found" lane.c \
    '/cell->ack/s/memory_order_acquire/memory_order_relaxed/'
hccl_finish
