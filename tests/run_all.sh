#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs every test driver, tests/LAYER/run*.sh, layer by layer, adds up the lines they print
# (see lib.sh) and ends with `N passed, N failed, N skipped`. Exit code 1 when something failed.
#
# A driver is stopped after 900 seconds, or after the number it states in its first ten lines as
# `# hccl-timeout: SECONDS`. HCCL_CHECK_LONG=1 lets drivers run their long forms.
set -euo pipefail

all_layers="lint unit model mpi hosts clients sanitize mpich roce"

usage() {
    cat <<EOF
usage: tests/run_all.sh [LAYER]...
Layers, in order: $all_layers (default: all, or what the variable LAYERS says).
EOF
}

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    usage
    exit 0
fi
tests_dir=$(cd "$(dirname "$0")" && pwd)
read -r -a layers <<<"${*:-${LAYERS:-$all_layers}}"
for layer in "${layers[@]}"; do
    if [[ " $all_layers " != *" $layer "* ]]; then
        echo "tests/run_all.sh: no layer '$layer'; layers are: $all_layers" >&2
        exit 2
    fi
done

# shellcheck source=tests/lib.sh
. "$tests_dir/lib.sh"
logs=$HCCL_BUILD_DIR/tests/logs
rm -rf "$logs"
mkdir -p "$logs"
results=$logs/results
: >"$results"

shm_names() { find /dev/shm -maxdepth 1 -name '*hccl*' -printf '%f\n' 2>/dev/null | sort; }

# run_driver LAYER FILE: streams the driver's output and keeps its result lines.
run_driver() {
    local layer=$1 driver=$2 name log limit rc=0
    name=$layer/$(basename "$driver")
    log=$logs/$layer-$(basename "$driver" .sh).log
    limit=$(sed -nE '1,10s/^# hccl-timeout: ([0-9]+)$/\1/p' "$driver" | head -n 1)
    limit=${limit:-900}
    hccl_limit "$limit" "$driver" </dev/null 2>&1 | tee "$log" || rc=${PIPESTATUS[0]}
    grep -aE '^(ok |not ok |skip:? )' "$log" | sed -E "s|^skip:? |skip |" >>"$results" || true
    local why=
    if ((rc == 124 || rc == 137)); then
        why="stopped after $limit seconds"
    elif ((rc != 0)) && ! grep -aq '^not ok ' "$log"; then
        why="exit code $rc"
    elif ! grep -aqE '^(ok |not ok |skip:? )' "$log"; then
        why="ran no test"
    fi
    if [[ -n $why ]]; then
        echo "not ok $name: $why" | tee -a "$results"
    fi
}

shm_before=$(shm_names)
start=$SECONDS
for layer in "${layers[@]}"; do
    layer_start=$SECONDS
    found=0
    echo "== $layer"
    for driver in "$tests_dir/$layer"/run*.sh; do
        if [[ -x $driver ]]; then
            found=1
            run_driver "$layer" "$driver"
        fi
    done
    if ((found == 0)); then
        echo "skip $layer: no tests there" | tee -a "$results"
    fi
    echo "== $layer: $((SECONDS - layer_start)) s"
done

shm_left=$(comm -13 <(echo "$shm_before") <(shm_names) | tr '\n' ' ')
if [[ -z ${shm_left// /} ]]; then
    echo "ok nothing left in /dev/shm" | tee -a "$results"
else
    echo "not ok nothing left in /dev/shm: $shm_left" | tee -a "$results"
fi

count() { grep -acE "^$1 " "$results" || true; }
passed=$(count ok)
failed=$(count 'not ok')
skipped=$(count skip)
echo "== all: $((SECONDS - start)) s"
if ((skipped > 0)); then
    echo "Skipped:"
    sed -n 's/^skip /  /p' "$results"
fi
if ((failed > 0)); then
    echo "Failed:"
    sed -n 's/^not ok /  /p' "$results"
fi
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
