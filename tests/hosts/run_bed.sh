#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 300
#
# Beds that stay up (see bed): hosts, mappings and bytes of jobs in them, wrong arguments, and above
# all that nothing is left when one of their processes is killed. Without the component under test.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"
export OMPI_MPIRUN

bed=$here/bed
name=test$$
others="--mca coll tuned,basic,libnbc,self,inter"
show_rank='echo "$OMPI_COMM_WORLD_RANK:$(hostname)"'

# All processes of a bed as PID/START-TIME (numbers are used again): the keeper's descendants, and
# who has entered their namespaces, as jobs do.
processes_of() { # KEEPER
    local pid mine space
    mine=$(readlink /proc/self/ns/pid)
    declare -A inside=()
    for pid in $(descendants "$1"); do
        inside[$(readlink "/proc/$pid/ns/pid" || true)]=1
        echo "$pid/$(started "$pid")"
    done
    for pid in /proc/[0-9]*; do
        space=$(readlink "$pid/ns/pid" 2>/dev/null || true)
        if [[ -n $space && $mine != "$space" && -n ${inside[$space]:-} ]]; then
            echo "${pid#/proc/}/$(started "${pid#/proc/}")"
        fi
    done
}

descendants() { # PID
    ps -e -o pid=,ppid= | awk -v top="$1" '
        { parent[$1] = $2 }
        END {
            for (pid in parent) {
                for (p = pid; p in parent && p != top; p = parent[p]) { }
                if (p == top) print pid
            }
        }'
}

started() { # PID
    local stat=""
    read -r stat 2>/dev/null <"/proc/$1/stat" || true
    awk '{ print $20 }' <<<"${stat##*) }"
}

# How many of the given processes still run, zombies not counted.
alive() { # PID/START-TIME...
    local each count=0 stat
    for each in "$@"; do
        if read -r stat 2>/dev/null <"/proc/${each%/*}/stat" && [[ ${stat##*) } != Z* ]] &&
            [[ $(started "${each%/*}") == "${each#*/}" ]]; then
            count=$((count + 1))
        fi
    done
    echo "$count"
}

# What a bed could leave behind outside: mounts, interfaces, entries of /dev/shm and of /tmp.
surroundings() {
    cat /proc/self/mounts
    ip -o link | sed 's/^[0-9]*: //'
    ls -A /dev/shm | grep -v -E '^(vader|hccl|sem)' || true
}

keeper_of() { # NAME
    "$bed" list | awk -v name="$1" '$1 == name { print $5 }'
}

# until_true COMMAND: for at most 10 s.
until_true() {
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        if "$@"; then
            return 0
        fi
        sleep 0.1
    done
    return 1
}

gone() { # PID/START-TIME...
    [[ 0 == "$(alive "$@")" ]]
}

# --- jobs --------------------------------------------------------------------------------------------

# where MAP: the hosts of the ranks of a job on 1, 2 and 3 slots, in the order of the ranks.
where() {
    # shellcheck disable=SC2086
    "$bed" run --name "$name" --map "$1" 1,2,3 -- $others sh -c "$show_rank" 2>/dev/null </dev/null |
        sort -n | cut -d : -f 2 | tr '\n' ' ' || true
}

expect() { # TEST GOT WANTED
    if [[ "$2" == "$3" ]]; then
        hccl_ok "$1"
    else
        hccl_not_ok "$1" "'$2', not '$3'"
    fi
}

jobs_in_one_bed() {
    local first left want=$((3 * 4194304)) got
    # Not in a subshell, which would be the owner.
    "$bed" up --name "$name" 3 1gbit
    expect "bed/list" "$("$bed" list | awk -v n="$name" '$1 == n { print $2, $3, $4, $6 }')" \
        "3 1gbit $$ none"
    expect "bed/map slot" "$(where slot)" "h0 h1 h1 h2 h2 h2 "
    expect "bed/map node" "$(where node)" "h0 h1 h2 h1 h2 h2 "
    expect "bed/map reverse" "$(where reverse)" "h2 h2 h2 h1 h1 h0 "
    first=$(where random:3)
    expect "bed/map random: again by its number" "$(where random:3)" "$first"
    expect "bed/map random: all slots" "$(tr ' ' '\n' <<<"$first" | sort | tr '\n' ' ')" \
        " h0 h1 h1 h2 h2 h2 "
    expect "bed/on" "$("$bed" on --name "$name" h2 hostname)" "h2"
    # What a job leaves is gone when the next one comes.
    "$bed" run --name "$name" 3x1 -- sh -c 'touch /dev/shm/left "$TMPDIR/left"; setsid sleep 1000 </dev/null >/dev/null 2>&1 &' \
        >/dev/null 2>&1 </dev/null || true
    left=$("$bed" run --name "$name" 3x1 -- sh -c \
        'ls /dev/shm "$TMPDIR" | grep left; cat /proc/[0-9]*/comm | grep sleep' 2>/dev/null </dev/null ||
        true)
    expect "bed/nothing left by the job before" "$left" ""
    # shellcheck disable=SC2086
    "$bed" run --name "$name" --counters "$HCCL_TMP/bytes" 3x1 -- $others \
        "$HCCL_BUILD_DIR/tests/hosts/traffic" send 4194304 3 0 >/dev/null 2>&1 </dev/null || true
    got=$(awk -F, -v want="$want" '
        { out = $2 / want; into = $3 / want }
        "h0" == $1 && out >= 1 && out < 1.01 && into < 0.01 { right++ }
        "h1" == $1 && out < 0.01 && into < 0.01 { right++ }
        "h2" == $1 && into >= 1 && into < 1.01 && out < 0.01 { right++ }
        END { print right + 0 }' "$HCCL_TMP/bytes")
    expect "bed/counters: hosts counted rightly" "$got" 3
    hccl_try "bed/down" "$bed" down --name "$name"
    expect "bed/list after down" "$(keeper_of "$name")" ""
}

# --- arguments ---------------------------------------------------------------------------------------

# refused TEXT ARGUMENTS: exit code 2, and one line, which has the text in it.
refused() {
    local text=$1 out rc=0
    shift
    out=$("$bed" "$@" 2>&1 </dev/null) || rc=$?
    if [[ 2 == "$rc" && $out == "bed: "*"$text"* && $out != *$'\n'* ]]; then
        hccl_ok "bed/refused: $*"
    else
        hccl_not_ok "bed/refused: $*" "exit code $rc: $out"
    fi
}

arguments() {
    "$bed" up --name "$name" 2
    refused "already" up --name "$name" 2
    refused "'0'" up 0
    refused "'3furlong'" up 2 3furlong
    refused "'1s'" up --delay 1s 2
    refused "HOSTS" up
    refused "'a/b'" up --name a/b 2
    refused "'4000000000'" up --owner 4000000000 2
    refused "--rate" up --rate 1gbit 2
    refused "has 2 hosts" run --name "$name" 3x1 -- hostname
    refused "'2y2'" run --name "$name" 2y2 -- hostname
    refused "'1,,2'" run --name "$name" 1,,2 -- hostname
    refused "wants --" run --name "$name" 2x2 hostname
    refused "no program" run --name "$name" 2x2 --
    refused "'random:x'" run --name "$name" --map random:x 2x2 -- hostname
    refused "no bed 'nobody'" run --name nobody 2x2 -- hostname
    refused "h0 to h1" on --name "$name" h2 hostname
    refused "no bed 'nobody'" down --name nobody
    "$bed" down --name "$name"
}

# --- ends --------------------------------------------------------------------------------------------

# The processes of a bed that has a job, as `WHO PID`.
kinds() {
    local each pid args parent
    for each in "${processes[@]}"; do
        pid=${each%/*}
        read -r parent args < <(ps -o ppid=,args= -p "$pid") || continue
        case $args in
        *" __keep "*) echo "keeper $pid" ;;
        "tail "*) echo "watcher $pid" ;;
        unshare*" head "*) echo "head's_unshare $pid" ;;
        unshare*" host "*) echo "host's_unshare $pid" ;;
        *"bed_inside.sh head "*)
            if [[ $(ps -o comm= -p "$parent") == unshare ]]; then
                echo "head $pid"
            else
                echo "janitor $pid"
            fi
            ;;
        *"bed_inside.sh host "*) echo "host $pid" ;;
        esac
    done
}

# Begins a job that sleeps, with a mark by which it is known; waits until it runs. Sets job.
begin_job() {
    "$bed" run --name "$name" 2x1 -- sleep "7$$" >/dev/null 2>&1 </dev/null &
    job=$!
    disown "$job" # else bash would report its end
    until_true pgrep -f "^sleep 7$$\$" >/dev/null
}

no_job() { ! pgrep -f "^sleep 7$$\$" >/dev/null; }

# Ends the bed by killing one process; nothing may be left.
killed() { # WHO
    local who=$1 victim
    local -a processes
    "$bed" up --name "$name" 2
    begin_job
    mapfile -t processes < <(processes_of "$(keeper_of "$name")")
    victim=$(kinds | awk -v who="$who" '$1 == who { print $2 }' | tail -n 1)
    if [[ -z $victim ]]; then
        hccl_not_ok "bed/$who killed" "there is no such process"
    else
        kill -KILL "$victim"
        if until_true gone "${processes[@]}" && until_true no_job; then
            hccl_note "bed/$who killed: all ${#processes[@]} processes have ended"
            hccl_ok "bed/$who killed: nothing is left"
            return
        fi
        hccl_not_ok "bed/$who killed" "$(alive "${processes[@]}") of ${#processes[@]} still run"
    fi
    "$bed" down --name "$name" || true
}

# A killed job takes what it made with it; its bed stays and can be used.
killed_run() {
    "$bed" up --name "$name" 2
    begin_job
    kill -KILL "$job"
    if until_true no_job; then
        hccl_ok "bed/run killed: its job ends"
    else
        hccl_not_ok "bed/run killed: its job ends" "it still runs after 10 s"
    fi
    expect "bed/run killed: the bed stays" \
        "$("$bed" run --name "$name" 2x1 -- hostname 2>/dev/null </dev/null | sort | tr '\n' ' ')" "h0 h1 "
    "$bed" down --name "$name"
}

owner_ends() {
    local keeper
    local -a processes
    keeper=$(bash -c '"$1" up --name "$2" 2; "$1" list | awk -v n="$2" "\$1 == n { print \$5 }"; sleep 1' - \
        "$bed" "$name")
    until_true gone "$keeper/$(started "$keeper")" || true
    expect "bed/ends with its owner" "$(keeper_of "$name")" ""
    bash -c '"$1" up --name "$2" --owner none 2' - "$bed" "$name"
    sleep 1
    keeper=$(keeper_of "$name")
    mapfile -t processes < <(processes_of "${keeper:-0}")
    hccl_try "bed/stays without an owner" test -n "$keeper"
    "$bed" down --all
    expect "bed/down --all" "$(alive "${processes[@]}")" 0
}

main() {
    local message before who
    message=$("$here/bed.sh" check) || {
        hccl_skip "bed" "${message#skip: }"
        hccl_finish
    }
    if ! hccl_have "bed" pgrep ps; then
        hccl_finish
    fi
    make -C "$HCCL_BUILD_DIR/tests" hosts/traffic >/dev/null
    hccl_mktemp
    before=$(surroundings)
    jobs_in_one_bed
    arguments
    for who in keeper watcher head\'s_unshare head janitor host\'s_unshare host; do
        killed "$who"
    done
    killed_run
    owner_ends
    expect "bed/mounts, interfaces and /dev/shm are as before" \
        "$(diff <(echo "$before") <(surroundings) | head -n 3)" ""
    hccl_finish
}

main
