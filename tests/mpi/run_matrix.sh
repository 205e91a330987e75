#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 1200
# Every collective in every mode over the axes of matrix.def, on 1 to 8 ranks and on emulated nodes.
# HCCL_CHECK_LONG=1: all sizes everywhere.
set -euo pipefail

usage() {
    cat <<'END'
usage: tests/mpi/run_matrix.sh [-- MATRIX OPTIONS]
Options behind -- go to every matrix program, e.g. -- -c allreduce.
Environment:
  HCCL_TEST_COLL     coll components to run with (default hccl; others ignore the emulated nodes)
  HCCL_CHECK_LONG=1  all sizes with many ranks and emulated nodes too
  HCCL_TEST_TIMEOUT  seconds for one job (default 300)
END
}

here=$(cd "$(dirname "$0")" && pwd)
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    usage
    exit 0
fi
if (($# > 0)); then
    if [[ $1 != -- ]]; then
        echo "run_matrix.sh: unknown argument '$1'" >&2
        usage >&2
        exit 2
    fi
    shift
fi

HCCL_TEST_TIMEOUT=${HCCL_TEST_TIMEOUT:-300}
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"
coll=${HCCL_TEST_COLL:-hccl}
matrix=$HCCL_BUILD_DIR/tests/mpi/matrix
if [[ ! -x $matrix ]]; then
    echo "run_matrix.sh: $matrix is missing: make -C $HCCL_BUILD_DIR/tests check-programs" >&2
    exit 2
fi
leave_out=()
if [[ $coll != hccl ]]; then
    leave_out=(-x 'zerotypes,tinygrid,wide,mixed,rubbish,bottom,droptypes')
fi

# run_job RANKS TOPOLOGY ARGS...: one job prints one line per collective.
run_job() {
    local ranks=$1 topology=$2 label out rc=0
    shift 2
    local -a mca=(--mca coll "$coll")
    if [[ -n $topology && $coll == hccl ]]; then
        mca+=(--mca coll_hccl_topology "$topology")
    fi
    label=$(tr -cs 'a-z0-9\n' '-' <<<"$topology" | sed 's/^-//; s/-$//')
    out=$(hccl_mpirun "${mca[@]}" -np "$ranks" "$matrix" ${label:+-L "$label"} "${leave_out[@]}" "$@" 2>&1) || rc=$?
    grep -aE '^(ok |not ok |# (FAILURE|HANG|CRASH))' <<<"$out" || true
    if ((rc == 0)); then
        return
    fi
    HCCL_FAILED=$((HCCL_FAILED + 1))
    if ! grep -aq '^not ok ' <<<"$out"; then
        if ! grep -aqE '^# (FAILURE|HANG|CRASH)' <<<"$out"; then
            hccl_quote "$(tail -n 12 <<<"$out")"
        fi
        hccl_not_ok "matrix${label:+.$label}.np$ranks" "exit code $rc, ended early; the lines above repeat it"
    fi
}

short=(-q)
if [[ ${HCCL_CHECK_LONG:-0} == 1 ]]; then
    short=()
fi
run_job 1 '' "$@"
run_job 2 '' "$@"
run_job 3 '' "${short[@]}" "$@"
run_job 4 '' "${short[@]}" "$@"
run_job 5 '' "${short[@]}" "$@"
run_job 8 '' "${short[@]}" "$@"
run_job 2 'node:2 core:1' "${short[@]}" "$@"
run_job 3 'node:2 core:(1,2)' "${short[@]}" "$@"
run_job 4 'node:2 core:2' "${short[@]}" "$@"
run_job 4 'node:2 core:2 map:cyclic' "${short[@]}" "$@"
run_job 8 'node:4 core:2' "${short[@]}" "$@"
hccl_finish
