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

hccl_mktemp
output=$HCCL_TMP/output
run() { # SCRIPT SECONDS: its exit code to `code`, what it prints to $output
    code=0
    "$here/vm" -n "$(said "$1" devices)" -t "$2" "$1" >"$output" || code=$?
}

for script in "$here"/in_*.sh; do
    name=$(basename "$script" .sh)
    name=${name#in_}
    if (($# > 0)) && [[ " $* " != *" $name "* ]]; then
        continue
    fi
    started=$SECONDS
    seconds=$(said "$script" seconds)
    run "$script" "$seconds"
    # The limits inside a script end a job that hangs. When only the one around the machine does, its
    # kernel has stopped (rxe, when links go down), which says nothing of the component: once more.
    if ((124 == code)); then
        hccl_note "$name: the machine stopped; once more"
        run "$script" "$seconds"
    fi
    cat "$output"
    # Exit code 1: it has said what failed.
    case $code in
    0) ;;
    1) HCCL_FAILED=$((HCCL_FAILED + 1)) ;;
    124) hccl_not_ok "roce/$name" "stopped after $seconds seconds" ;;
    *) hccl_not_ok "roce/$name" "exit code $code" ;;
    esac
    hccl_note "$name: $((SECONDS - started)) s"
done
hccl_finish
