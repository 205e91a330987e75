# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# For the scripts in_NAME.sh that run jobs over RDMA; sources lib.sh and guest.sh, and makes HCCL_TMP.
# Each rank is a node of its own, by the topology parameter, and has a device of its own: two that share
# one would not use the wire.
# shellcheck source=tests/lib.sh
. "$HCCL_SRC_DIR/tests/lib.sh"
# shellcheck source=tests/roce/guest.sh
. "$HCCL_SRC_DIR/tests/roce/guest.sh"
hccl_mktemp
programs=$HCCL_BUILD_DIR/tests
export HCCL_TEST_TIMEOUT=100

# From now on each program has the same addresses every time: the emulated processor uses again what it
# has translated, and a job starts in half of the time. Not for tests that may find an address mistaken
# for another process's.
same_addresses() { echo 0 >/proc/sys/kernel/randomize_va_space; }

# Ends the script with skip lines where the component cannot do it.
need_rdma() { # NAME
    if [[ 1 != "$HCCL_HAVE_VERBS" ]]; then
        hccl_skip "roce/$1" "the component was built without libibverbs"
        hccl_finish
    fi
    if ! "$OMPI_INFO" --param coll hccl --level 9 --parsable | grep -q ':coll_hccl_rdma:'; then
        hccl_skip "roce/$1" "the component sends no messages by RDMA"
        hccl_finish
    fi
}

# mpirun's options for RANKS ranks: sets `options`. The map is in the environment. `topology`, if it is set,
# puts them on other nodes than one each.
rdma_options() { # RANKS
    local i map=""
    for ((i = 0; i < $1; i++)); do
        map+=,$i=rxe$i:1
    done
    export OMPI_MCA_coll_hccl_port_map=${map#,}
    options=(--mca coll hccl --mca coll_hccl_topology "${topology:-node:$1}" --mca coll_hccl_rdma on
        --mca coll_hccl_verbose 2 -np "$1")
}

# Runs a job; sets `said` and `code`. Standard error comes along: the component's counters are there.
job() { # RANKS [OPTION]... PROGRAM ARGS
    local -a options
    rdma_options "$1"
    code=0
    said=$(hccl_mpirun "${options[@]}" "${@:2}" 2>&1) || code=$?
}

# why_not: in one line, what is wrong with the job; empty if nothing is.
why_not() {
    local line
    if ((0 == code)); then
        return
    fi
    line=$(grep -E 'FAILURE|not ok|ERROR|hccl error|hccl warning|memory .*:|wire:' <<<"$said" | head -n 1)
    echo "exit code $code: ${line:-$(tail -n 1 <<<"$said")}"
}

# judge NAME [WHY]: ok when the job has ended well and WHY is empty.
judge() {
    local why
    why=$(why_not)
    why=${why:-${2:-}}
    if [[ -z $why ]]; then
        hccl_ok "roce/$1"
    else
        ((0 == code)) || hccl_quote "$(grep -v 'coll/hccl info' <<<"$said" | tail -n 12)"
        hccl_not_ok "roce/$1" "${why:0:300}"
    fi
}

# One of the counters that the component tells at the end, by the word behind or before the number:
# messages, payload, requests, inline, doorbells, completions, copied, registrations, again, taken (out of
# rings), read (in rings). The sum of all ranks, or of one.
counted() { # WHAT [RANK]
    local pattern
    case $1 in
    messages | payload | doorbells | completions | registrations | connections | again) pattern="$1 ([0-9]+)" ;;
    requests) pattern="work requests ([0-9]+)" ;;
    inline | copied) pattern="\(([0-9]+) $1\)" ;;
    taken) pattern="out of rings ([0-9]+)" ;;
    read) pattern="read there ([0-9]+)" ;;
    esac
    sed -nE "s/.*, rank ${2:-[0-9]+}\]: rdma: .*$pattern.*/\1/p" <<<"$said" | awk '{ sum += $1 } END { print sum + 0 }'
}

# judge_left NAME: nothing is left on the devices; at rest each has one queue pair of the kernel's.
judge_left() {
    local devices left
    devices=$(wc -w <<<"$HCCL_ROCE_DEVICES")
    left="$(roce_count qp) queue pairs, $(roce_count mr) regions, $(roce_count cq) queues"
    if [[ $left == "$devices queue pairs, 0 regions, $devices queues" ]]; then
        hccl_ok "roce/$1: nothing is left on the devices"
    else
        hccl_not_ok "roce/$1: nothing is left on the devices" "$left"
    fi
}

# Packets that all devices of the machine together have sent.
sent_packets() {
    local device sum=0
    for device in $HCCL_ROCE_DEVICES; do
        sum=$((sum + $(roce_counter "$device" sent_pkts)))
    done
    echo "$sum"
}
