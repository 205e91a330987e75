#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs every unit test program of the build: tests/unit/run_unit.sh [PROGRAM]...
# Without arguments all of BUILD/tests/unit. One line per test function, named PROGRAM/FUNCTION.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

programs=$HCCL_BUILD_DIR/tests/unit
if [[ ${1:-} == -* ]]; then
    echo "usage: tests/unit/run_unit.sh [PROGRAM]...   (programs of $programs)" >&2
    exit 2
fi
if (($# == 0)); then
    # What has lost its source is left over from an older tree.
    for source in "$HCCL_SRC_DIR"/tests/unit/*.c; do
        name=$(basename "$source" .c)
        if [[ -x $programs/$name ]]; then
            set -- "$@" "$name"
        fi
    done
fi
if (($# == 0)); then
    if [[ $HCCL_HAVE_CMOCKA == 1 ]]; then
        hccl_not_ok unit "no program in $programs: run make check"
    else
        hccl_skip unit "cmocka was not found when configure ran"
    fi
fi
for name in "$@"; do
    if [[ -x $programs/$name ]]; then
        hccl_cmocka "$programs/$name"
    else
        hccl_not_ok "$name" "no such program in $programs"
    fi
done
hccl_finish
