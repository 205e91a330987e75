#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 1500
#
# RoCE for real, in the virtual machine that vm makes: runs each script in_NAME.sh in one of its own.
# A script says in its first lines how many devices it wants (`# devices: N`) and how long it may
# take (`# seconds: N`); it prints one line per test.
#   tests/roce/run_roce.sh [NAME]...
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"

case ${1:-} in
-h | --help)
    sed -n '5,8s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac
for name in "$@"; do
    if [[ ! -x $here/in_$name.sh ]]; then
        echo "run_roce.sh: no script in_$name.sh" >&2
        exit 2
    fi
done

if ! why=$("$here/vm" --check); then
    hccl_skip roce "${why#skip: }"
    hccl_finish
fi
if ! why=$("$here/vm" --fetch); then
    hccl_skip roce "${why#skip: }"
    hccl_finish
fi

said() { # FILE WHAT: the number that a script says
    sed -nE "1,8s/^# $2: ([0-9]+)\$/\1/p" "$1"
}

# Two machines fit where there are two processors, and 4 GB for each.
together=2
free_gb=$(awk '/^MemAvailable:/ { printf "%d", $2 / 1048576 }' /proc/meminfo)
if (($(nproc) < 2 || free_gb < 10)); then
    together=1
fi

hccl_mktemp

# Runs a script in a machine of its own; what it has printed comes as a whole, when it has ended.
run() { # SCRIPT
    local name seconds output code=0 started=$SECONDS
    name=$(basename "$1" .sh)
    name=${name#in_}
    output=$HCCL_TMP/$name
    seconds=$(said "$1" seconds)
    "$here/vm" -n "$(said "$1" devices)" -t "$seconds" "$1" >"$output" || code=$?
    # 125: the kernel stopped itself, since rxe's requester had not come back from sending for 20 s (seen
    # in 1 of 30 machines, Linux 6.1). 124: the machine stood still, else the limits inside the script
    # would have ended the job that hangs. Neither says anything of the component: once more.
    if ((124 == code || 125 == code)); then
        hccl_note "$name: the machine's kernel stopped (exit code $code); once more"
        code=0
        "$here/vm" -n "$(said "$1" devices)" -t "$seconds" "$1" >"$output" || code=$?
    fi
    # Exit code 1: it has said what failed.
    case $code in
    0 | 1) ;;
    124) hccl_not_ok "roce/$name" "stopped after $seconds seconds" >>"$output" ;;
    *) hccl_not_ok "roce/$name" "exit code $code" >>"$output" ;;
    esac
    hccl_note "$name: $((SECONDS - started)) s" >>"$output"
    (
        flock 9
        cat "$output"
    ) 9>"$HCCL_TMP/lock"
}

# Those that may take the longest first.
while read -r _ script; do
    name=$(basename "$script" .sh)
    if (($# > 0)) && [[ " $* " != *" ${name#in_} "* ]]; then
        continue
    fi
    while (($(jobs -rp | wc -l) >= together)); do
        wait -n || true
    done
    run "$script" &
done < <(for script in "$here"/in_*.sh; do
    echo "$(said "$script" seconds) $script"
done | sort -rn)
wait
HCCL_FAILED=$(cat "$HCCL_TMP"/* | grep -c '^not ok ' || true)
hccl_finish
