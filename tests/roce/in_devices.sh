#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# devices: 4
# seconds: 200
#
# In the machine that vm makes: its devices are what vm promises, and what the component finds of them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"
# shellcheck source=tests/roce/guest.sh
. "$here/guest.sh"

# same NAME EXPECTED FOUND
same() {
    if [[ $3 == "$2" ]]; then
        hccl_ok "roce/$1"
    else
        hccl_quote "$(printf 'expected:\n%s\nfound:\n%s' "$2" "$3")"
        hccl_not_ok "roce/$1" "see the lines above"
    fi
}

# --- the devices ------------------------------------------------------------------------------------
same "four devices" "rxe0 rxe1 rxe2 rxe3" "$HCCL_ROCE_DEVICES"
same "each is up, with RoCE v2 GIDs of a link-local and of its IPv4 address" "$(
    for i in 0 1 2 3; do
        echo "rxe$i PORT_ACTIVE fe80::ff:fe78:$i RoCE v2 ::ffff:10.78.0.$((i + 1)) RoCE v2"
    done
)" "$(ibv_devinfo -v | awk '
    /hca_id:/ { printf "%s%s", end, $2; end = "\n" }
    $1 == "state:" { printf " %s", $2 }
    /GID\[/ { sub(/.*\]:[ \t]*/, ""); sub(/,/, ""); printf " %s", $0 }
    END { print "" }')"

# Runs ibv_rc_pingpong between two devices and prints how many packets of RoCE each of the four sent.
pingpong() { # DEVICE DEVICE ARGS
    local device before=() server
    for device in 0 1 2 3; do
        before+=("$(roce_counter "$device" sent_pkts)")
    done
    hccl_limit 30 ibv_rc_pingpong -d "rxe$1" -g 1 -e "${@:3}" >/dev/null &
    server=$!
    sleep 0.5
    hccl_limit 30 ibv_rc_pingpong -d "rxe$2" -g 1 -e "${@:3}" "10.78.0.$(($1 + 1))" >/dev/null || return
    wait "$server" || return
    for device in 0 1 2 3; do
        echo "rxe$device $(($(roce_counter "$device" sent_pkts) - before[device]))"
    done
}

# A message of 4 KiB is one packet, and is acknowledged by another.
sent=$(pingpong 1 3 -n 20 -s 4096 -m 4096) || sent=""
if awk '/rxe[02]/ && 0 == $2 || /rxe[13]/ && 20 <= $2 && $2 <= 40 { good++ } END { exit 4 != good }' \
    <<<"$sent"; then
    hccl_ok "roce/two devices talk over the wire, and they alone"
else
    hccl_not_ok "roce/two devices talk over the wire, and they alone" "packets: ${sent//$'\n'/, }"
fi
# Its timeout of 67 ms may be too short while the real machine is busy: three attempts.
dropped() { tc -s qdisc show dev roce0 | sed -nE 's/.*dropped ([0-9]+),.*/\1/p'; }
roce_loss 5
sent=""
for ((tries = 0; tries < 3; tries++)); do
    lost=$(dropped)
    if sent=$(pingpong 0 1 -n 100 -s 1024) && (($(dropped) > lost)); then
        break
    fi
    sent=""
done
roce_loss 0
if [[ -n $sent ]]; then
    hccl_ok "roce/of a hundred packets five are lost, and sent again"
else
    hccl_not_ok "roce/of a hundred packets five are lost, and sent again" "ibv_rc_pingpong failed"
fi
same "loss is over" "" "$(tc qdisc show dev roce0 | grep netem || true)"
same "no queue pair and no memory region is left" "4 0" "$(roce_count qp) $(roce_count mr)"

# --- the component ----------------------------------------------------------------------------------
if [[ 1 != "$HCCL_HAVE_VERBS" ]]; then
    hccl_skip "roce/ports that the component finds" "it was built without libibverbs"
    hccl_finish
fi
ports=$HCCL_BUILD_DIR/tests/roce/ports

# rxe says four lanes of 2.5 Gbit/s, and belongs to no NUMA node; frames of 9000 bytes carry 4096.
rest="10000 4096 -1"
all() {
    for i in 0 1 2 3; do
        echo "rxe$i:1 ethernet up 1 ::ffff:10.78.0.$((i + 1)) $rest"
    done
}
same "ports: all, with their IPv4 address's GID" "$(all)" "$("$ports")"
same "ports: those that the list names" "$(all | grep -E 'rxe[13]')" "$("$ports" rxe3:1,rxe1)"
same "ports: those that the list leaves" "$(all | grep -v rxe2)" "$("$ports" ^rxe2)"
same "ports: the GID that is asked for" "$(
    for i in 0 1 2 3; do
        echo "rxe$i:1 ethernet up 0 fe80::ff:fe78:$i $rest"
    done
)" "$("$ports" "" 0)"
said=$("$ports" rxe0,mlx5_0:1)
same "ports: one of the list that is not there" "$(all | head -n 1)" "${said%%$'\n'*}"
if [[ $said == *"no port mlx5_0:1; it has: rxe0:1, rxe1:1, rxe2:1, rxe3:1"* ]]; then
    hccl_ok "roce/ports: it is named"
else
    hccl_not_ok "roce/ports: it is named" "${said//$'\n'/ }"
fi

roce_link 1 down
same "ports: one that is down comes last" \
    "$(all | sed -E '/rxe1/d'; all | sed -n '/rxe1/s/ up / down /p')" "$("$ports")"
roce_link 1 up
same "ports: it is up again" "$(all)" "$("$ports")"

ip address delete 10.78.0.3/24 dev roce2
sleep 0.3
same "ports: without an IPv4 address the link-local GID" \
    "$(all | sed -E 's/^(rxe2.* up) 1 [^ ]*/\1 0 fe80::ff:fe78:2/')" "$("$ports")"
ip -6 address add fd00:78::3/64 dev roce2
sleep 0.3
same "ports: a routable IPv6 address before the link-local one" \
    "$(all | sed -E 's/^(rxe2.* up) 1 [^ ]*/\1 1 fd00:78::3/')" "$("$ports")"
ip address add 10.78.0.3/24 dev roce2 noprefixroute
sleep 0.3

# Ranks of a node are spread over the rails, those of equal index on the same one; of ranks that are
# equally near to their ports the first one leads.
said=$(hccl_mpirun --mca coll hccl --mca coll_hccl_topology "node:2 core:2" --mca coll_hccl_verbose 1 \
    -np 4 "$HCCL_BUILD_DIR/bench/hccl_test" barrier -n 1 2>&1 | sed -nE 's/.*RoCE ports of (node.*)/\1/p')
port() { # NUMBER
    echo "rxe$1:1 (10 Gbit/s, MTU 4096, GID 1 ::ffff:10.78.0.$(($1 + 1)))"
}
same "each node says which rank uses which port" \
    "node 0: $(port 0) rank 0; $(port 1) rank 1; rank 0 leads
node 1: $(port 0) rank 2; $(port 1) rank 3; rank 2 leads" "$(sort <<<"$said")"
hccl_finish
