#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 240
# Topology files, leaders and rings in running jobs: results are right, who asks is told the order, and
# a bad or missing file, or one that differs between ranks, gets one message and no rank goes on alone.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
hccl_mktemp
export HCCL_TEST_TIMEOUT=60

if (($# > 0)); then
    echo "usage: tests/mpi/run_topology.sh" >&2
    exit 2
fi
fuzz=$HCCL_BUILD_DIR/tests/mpi/fuzz
if [[ ! -x $fuzz ]]; then
    hccl_not_ok topology "no program $fuzz: run make check"
    hccl_finish
fi
out=$HCCL_TMP/out
file=$HCCL_TMP/topology
on=(--mca coll hccl --mca coll_hccl_verbose 1)

# job ARGS...: $rc and the file $out tell how it went.
job() {
    rc=0
    hccl_mpirun "$@" >"$out" 2>&1 || rc=$?
}

# good NAME WORDS: the job ended well and said WORDS.
good() {
    if ((rc != 0)); then
        hccl_quote "$(tail -n 20 "$out")"
        hccl_not_ok "$1" "exit code $rc"
    elif ! grep -qF -- "$2" "$out"; then
        hccl_quote "$(grep -a 'coll/hccl' "$out" | head -n 5)"
        hccl_not_ok "$1" "nobody says '$2'"
    else
        hccl_ok "$1"
    fi
}

# refused NAME WORDS: one error of the component, with WORDS; nothing hangs.
refused() {
    local errors
    errors=$(grep -ac 'coll/hccl error' "$out" || true)
    if ((rc == 124 || rc == 137)); then
        hccl_not_ok "$1" "the job hangs"
    elif ((rc == 0)); then
        hccl_not_ok "$1" "the job ended well"
    elif ((errors != 1)) || ! grep -a 'coll/hccl error' "$out" | grep -qF -- "$2"; then
        hccl_quote "$(grep -a 'coll/hccl' "$out" | head -n 5)"
        hccl_not_ok "$1" "$errors errors, or none says '$2'"
    else
        hccl_ok "$1"
    fi
}

cat >"$file" <<'END'
topology node:4 core:2
host a b c d
switch a c
switch b d
within latency_us=5 bandwidth_mbs=10000
across latency_us=9 bandwidth_mbs=2500
END
export HCCL_TOPO_FILE=$file
job -np 8 "${on[@]}" "$fuzz" -s 5 -n 400
good "a file from the environment" "rings go through nodes 0 (a) 2 (c) "
unset HCCL_TOPO_FILE
job -np 8 "${on[@]}" --mca coll_hccl_topo_file "$file" \
    --mca coll_hccl_topology "node:4 core:2 map:cyclic lead:1" "$fuzz" -s 6 -n 400
good "a file and other places" "rings go through nodes 0 (a) 2 (c) "
job -np 6 "${on[@]}" --mca coll_hccl_topology "node:3 core:2 lead:0,1,1 ring:1,0,2" "$fuzz" -s 7 -n 400
good "leaders and a ring by text" "rings go through nodes 1 0 2"
job -np 4 "${on[@]}" --mca coll_hccl_topo_file "$file" --mca coll_hccl_topology "node:2 core:2" "$fuzz" -n 1
refused "as many nodes as hosts" "as many nodes as topology file $file has hosts, 4"
grep -v '^topology' "$file" >"$file.names"
job -np 2 "${on[@]}" --mca coll_hccl_topo_file "$file.names" "$fuzz" -s 8 -n 20
good "a host that is not in the file" "has no host $(uname -n)"
job -np 2 "${on[@]}" --mca coll_hccl_topo_file "$file.absent" "$fuzz" -n 1
refused "a file that is not there" "$file.absent: cannot be read"
sed 's/^across.*/across latency_us=-9 bandwidth_mbs=2500/' "$file" >"$file.bad"
job -np 2 "${on[@]}" --mca coll_hccl_topo_file "$file.bad" "$fuzz" -n 1
refused "a bad weight" "line 6: \"latency_us=-9\": a number above 0"
head -c 512 /dev/zero >"$file.zeros"
job -np 2 "${on[@]}" --mca coll_hccl_topo_file "$file.zeros" "$fuzz" -n 1
refused "a file of zeros" "line 1: a byte of value 0"
sed 's/=2500/=2600/' "$file.names" >"$file.other"
job "${on[@]}" -np 1 -x "HCCL_TOPO_FILE=$file.names" "$fuzz" -n 1 : \
    -np 1 -x "HCCL_TOPO_FILE=$file.other" "$fuzz" -n 1
refused "files that differ" "or another topology file"
hccl_finish
