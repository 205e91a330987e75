#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 120
#
# Where there are no RDMA devices, the component looks for them once, starts as fast with RDMA as without
# it, and says nothing. Here, and by in_start.sh in a machine whose kernel could have devices.
#   run_start.sh [ROUNDS]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"
readonly rounds=${1:-9}
if [[ 1 != "$HCCL_HAVE_VERBS" ]]; then
    hccl_skip "roce/start" "the component was built without libibverbs"
    hccl_finish
fi
if compgen -G '/sys/class/infiniband/*' >/dev/null; then
    hccl_skip "roce/start" "this host has RDMA devices"
    hccl_finish
fi
hccl_mktemp

# The ways take turns, so that all of them have the same luck.
why=""
for ((round = 0; round < rounds; round++)); do
    for way in off auto on; do
        hccl_mpirun --mca coll hccl --mca coll_hccl_rdma $way -np 2 "$HCCL_BUILD_DIR/tests/roce/start" \
            >>"$HCCL_TMP/$way.out" 2>>"$HCCL_TMP/$way.err" || why="exit code $? with $way"
    done
done
if [[ -z $why ]]; then
    hccl_ok "roce/start: jobs"
else
    hccl_quote "$(tail -n 5 "$HCCL_TMP"/*.err)"
    hccl_not_ok "roce/start: jobs" "$why"
fi

# said WAY NAME: all numbers of that name, sorted.
said() { sed -nE "s/^start [01] .*\b$2=([0-9]+).*/\1/p" "$HCCL_TMP/$1.out" | sort -n; }
for way in off auto; do
    if [[ -s $HCCL_TMP/$way.err ]] || grep -qv '^start [01] cpu=' "$HCCL_TMP/$way.out"; then
        hccl_not_ok "roce/start: $way says nothing" \
            "$(cat "$HCCL_TMP/$way.err" <(grep -v '^start' "$HCCL_TMP/$way.out") | head -n 1)"
    else
        hccl_ok "roce/start: $way says nothing"
    fi
done
# Asked for, it says that it cannot, once a job.
lines=$(grep -c 'RDMA is not used by 2 of 2 ranks: rank 0 has no RoCE port' "$HCCL_TMP/on.err" || true)
if [[ $lines == "$rounds" && $lines == "$(wc -l <"$HCCL_TMP/on.err")" ]]; then
    hccl_ok "roce/start: on says why it is not used, once"
else
    hccl_not_ok "roce/start: on says why it is not used, once" "$lines lines in $rounds jobs"
fi

# A list of no devices is asked for once, and costs next to nothing of what a start costs.
for way in off auto on; do
    lists=$(said $way lists | uniq | tr '\n' ' ')
    opened=$(said $way opened | uniq | tr '\n' ' ')
    list=$(said $way list_cpu | head -n 1) cpu=$(said $way cpu | head -n 1)
    hccl_note "$way: ${cpu:-no} us of processor time at least, ${list:-no} us of it for the list of devices"
    if [[ "1 ,0 " == "$lists,$opened" ]] && ((50 * list <= cpu)); then
        hccl_ok "roce/start: $way looks for devices once, in less than 2 % of the time"
    else
        hccl_not_ok "roce/start: $way looks for devices once, in less than 2 % of the time" \
            "lists $lists, devices opened $opened, $list of $cpu us"
    fi
done
for way in auto on; do
    if [[ $(said off libraries | uniq) == "$(said $way libraries | uniq)" ]]; then
        hccl_ok "roce/start: $way loads no library more"
    else
        hccl_not_ok "roce/start: $way loads no library more" \
            "$(said $way libraries | uniq | tr '\n' ' '), off: $(said off libraries | uniq | tr '\n' ' ')"
    fi
done
# The least of all starts has the least noise in it, if there are some.
if ((rounds < 5)); then
    hccl_finish
fi
off=$(said off cpu | head -n 1) auto=$(said auto cpu | head -n 1)
if ((100 * ${auto:-999999} <= 110 * ${off:-0})); then
    hccl_ok "roce/start: auto takes no more processor time than off"
else
    hccl_not_ok "roce/start: auto takes no more processor time than off" "$auto us, off: $off"
fi
hccl_finish
