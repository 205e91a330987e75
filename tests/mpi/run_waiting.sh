#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How ranks wait: whether more ranks than processors are noticed.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
hccl_mktemp

if (($# > 0)); then
    echo "usage: tests/mpi/run_waiting.sh" >&2
    exit 2
fi
served=$HCCL_BUILD_DIR/tests/mpi/served
if [[ ! -x $served ]]; then
    hccl_not_ok waiting "no program $served: run make check"
    hccl_finish
fi

# The processors that this shell may run on, one number a line.
processors() {
    taskset -pc $$ | sed 's/.*: //' | tr , '\n' |
        while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done
}
mapfile -t cpus < <(processors)

# crowded NAME yes|no COMMAND...: whether the job that COMMAND starts says that processors are few.
crowded() {
    local name=waiting/$1 expected=$2 out rc=0 found=no
    shift 2
    out=$(hccl_limit 60 "$@" 2>&1 </dev/null) || rc=$?
    if grep -q 'outnumber the processors' <<<"$out"; then
        found=yes
    fi
    if ((rc != 0)); then
        hccl_quote "$out"
        hccl_not_ok "$name" "exit code $rc"
    elif [[ $found != "$expected" ]]; then
        hccl_not_ok "$name" "crowded: $found, expected $expected"
    else
        hccl_ok "$name"
    fi
}

export OMPI_MCA_coll=hccl OMPI_MCA_coll_hccl_verbose=2
mpi=("$OMPI_MPIRUN" --oversubscribe --bind-to none)
n=${#cpus[@]}
if ((n > 64)); then
    hccl_skip waiting/crowd "a job of more than $n ranks is too large a test"
else
    crowded a-rank-per-processor no "${mpi[@]}" -np "$n" "$served"
    crowded one-rank-more yes "${mpi[@]}" -np $((n + 1)) "$served"
    crowded one-rank-more-on-made-up-nodes yes "${mpi[@]}" -np $((n + 1)) \
        --mca coll_hccl_topology "node:$((n + 1)) core:1" "$served"
fi
crowded two-ranks-in-a-set-of-one yes taskset -c "${cpus[0]}" "${mpi[@]}" -np 2 "$served"
if ((n < 2)); then
    hccl_skip waiting/bound "there is one processor"
else
    crowded bound-to-the-same-processor yes "${mpi[@]}" \
        -np 1 taskset -c "${cpus[0]}" "$served" : -np 1 taskset -c "${cpus[0]}" "$served"
    crowded bound-to-different-processors no "${mpi[@]}" \
        -np 1 taskset -c "${cpus[0]}" "$served" : -np 1 taskset -c "${cpus[1]}" "$served"
fi
hccl_finish
