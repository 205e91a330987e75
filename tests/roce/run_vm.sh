#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 240
#
# The virtual machine itself (see vm): what its command sees, what comes back, wrong arguments, and
# that nothing is left when it is killed. Without the component.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"
vm=$here/vm
hccl_mktemp

# same NAME EXPECTED FOUND
same() {
    if [[ $3 == "$2" ]]; then
        hccl_ok "roce/vm: $1"
    else
        hccl_not_ok "roce/vm: $1" "expected '$2', found '$3'"
    fi
}

# --- arguments: one line that names what is wrong, and exit code 2 -----------------------------------
wrong() { # WORDS ARGS
    local out code=0
    out=$(hccl_limit 20 "$vm" "${@:2}" 2>&1) || code=$?
    if ((2 == code)) && [[ $out == "vm: "*"$1"* && $out != *$'\n'* ]]; then
        hccl_ok "roce/vm: refuses vm ${*:2}"
    else
        hccl_not_ok "roce/vm: refuses vm ${*:2}" "exit code $code: $out"
    fi
}
wrong "no command"
wrong "no command" -n 2
wrong "-n wants a number from 0 to 8, not '9'" -n 9 true
wrong "-n wants a number from 0 to 8, not 'two'" -n two true
wrong "-t wants a value" -t
wrong "-m wants a number from 1024" -m 64 true
wrong "-w wants a directory that can be written, not '/nowhere'" -w /nowhere true
wrong "unknown option '--devices'" --devices 2 true
help=$("$vm" --help)
if [[ $help == "vm: runs a command"*"-n DEVICES"*"Exit code"* && $help != *"set -euo"* ]]; then
    hccl_ok "roce/vm: help"
else
    hccl_not_ok "roce/vm: help" "it begins with '${help%%$'\n'*}'"
fi
same "a missing program is a reason to skip" "77 skip: no qemu-system-x86_64: apt-get install qemu-system-x86" "$(
    mkdir "$HCCL_TMP/few"
    for program in bash realpath sed uname setpriv; do
        ln -s "$(command -v "$program")" "$HCCL_TMP/few/"
    done
    code=0
    # The places where the administrator's programs are have no qemu.
    out=$(PATH=$HCCL_TMP/few "$vm" --check) || code=$?
    echo "$code $out"
)"

if ! why=$("$vm" --check) || ! why=$("$vm" --fetch); then
    hccl_skip "roce/vm: machines" "${why#skip: }"
    hccl_finish
fi

# --- what the command sees, and what comes back ------------------------------------------------------
mkdir "$HCCL_TMP/may write" "$HCCL_TMP/may not"
cat >"$HCCL_TMP/inside" <<'EOF'
echo "arguments: $#: $1, $2, $3"
echo "directory: $PWD"
echo "variable: $OF_MINE"
echo "input: $(wc -c)"
echo "devices: $HCCL_ROCE_DEVICES: $(ls /sys/class/infiniband | tr '\n' ' ')"
echo "processors: $(nproc)"
echo kept >"$1/file"
echo lost >"$2/file" && echo "written: $(<"$2/file")"
echo "on error" >&2
head -c 3000000 /dev/zero | tr '\0' '\377' >"$1/bytes"
cat "$1/bytes"
# Does not keep the machine.
sleep 1000 &
exit 42
EOF
mkdir "$HCCL_TMP/here"
code=0
began=$SECONDS
(
    cd "$HCCL_TMP/here"
    export OF_MINE="a 'b' \$c"$'\n'"d"
    hccl_limit 100 "$vm" -n 3 -c 2 -t 90 -w "$HCCL_TMP/may write" -- bash "$HCCL_TMP/inside" \
        "$HCCL_TMP/may write" "$HCCL_TMP/may not" '*"' <<<"not passed on"
) >"$HCCL_TMP/out" 2>"$HCCL_TMP/err" || code=$?
hccl_note "a machine takes $((SECONDS - began)) s"
same "exit code" 42 "$code"
same "standard output" "arguments: 3: $HCCL_TMP/may write, $HCCL_TMP/may not, *\"
directory: $HCCL_TMP/here
variable: a 'b' \$c
d
input: 0
devices: rxe0 rxe1 rxe2: rxe0 rxe1 rxe2 
processors: 2
written: lost" "$(head -c -3000000 "$HCCL_TMP/out")"
same "standard output: 3 MB of bytes" 0 "$(tail -c 3000000 "$HCCL_TMP/out" | tr -d '\377' | wc -c)"
same "standard error" "on error" "$(<"$HCCL_TMP/err")"
same "writes where it may" "kept 3000000" \
    "$(cat "$HCCL_TMP/may write/file" 2>&1) $(wc -c <"$HCCL_TMP/may write/bytes")"
same "writes nowhere else" "" "$(ls "$HCCL_TMP/may not")"

# --- the end -----------------------------------------------------------------------------------------
# The machines of this test, by the memory that no other has.
machines() { pgrep -f "qemu-system-x86_64 .*-m $memory " | wc -l; }
memory=$((1100 + RANDOM % 900))

code=0
hccl_limit 60 "$vm" -m "$memory" -t 5 sleep 1000 2>"$HCCL_TMP/err" || code=$?
same "time is up" "124 vm: ended after 5 seconds (-t) 0" "$code $(<"$HCCL_TMP/err") $(machines)"

# What is in the directory for temporary files and in the cache, but for this test's own.
surroundings() {
    find "${TMPDIR:-/tmp}" -maxdepth 1 -user "$(id -u)" -newer "$HCCL_TMP/inside" ! -path "$HCCL_TMP" \
        -name '*vm*' -o -name '*roce*' -o -name '*qemu*'
    ls "${HCCL_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ompi-mca-coll-hccl}/kernel"
    cat /proc/self/mounts
    ip -o link
}

# killed NAME SIGNAL WHO: a machine is up, vm or its caller gets the signal, and all is gone.
killed() {
    local before after caller tries
    before=$(surroundings)
    # shellcheck disable=SC2016
    bash -c '"$@" & echo $! >"$0"; wait' "$HCCL_TMP/pid" "$vm" -m "$memory" -t 100 sleep 1000 \
        2>/dev/null &
    caller=$!
    disown
    for ((tries = 0; tries < 100; tries++)); do
        (($(machines) == 0)) || break
        sleep 0.05
    done
    if (($(machines) == 0)); then
        hccl_not_ok "roce/vm: $1" "there is no machine"
        return
    fi
    sleep 0.3
    case $3 in
    vm) kill "-$2" "$(<"$HCCL_TMP/pid")" ;;
    caller) kill "-$2" "$caller" ;;
    esac
    for ((tries = 0; tries < 100; tries++)); do
        (($(machines) > 0)) || break
        sleep 0.05
    done
    same "$1: the machine has gone" 0 "$(machines)"
    kill -KILL "$caller" 2>/dev/null || true
    after=$(surroundings)
    same "$1: nothing else is left" "$before" "$after"
}
killed "killed" KILL vm
killed "told to end" TERM vm
killed "its caller is killed" KILL caller
hccl_finish
