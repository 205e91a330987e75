# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What a script can do to the RoCE devices of the machine that vm makes; source it there:
#   tests/roce/vm bash -c '. tests/roce/guest.sh; roce_loss 2; PROGRAM; roce_show'
# A device may be named by number or name: 0 is rxe0.

# The number of a device.
roce_number() { echo "${1##*[a-z]}"; } # DEVICE

# PERCENT of what each device sends, hence of both directions, is lost; 0 ends it.
roce_loss() { # PERCENT
    local device name
    for device in $HCCL_ROCE_DEVICES; do
        name=roce$(roce_number "$device")
        tc qdisc delete dev "$name" root 2>/dev/null || true
        [[ 0 == "$1" ]] || tc qdisc replace dev "$name" root netem loss "$1%" limit 100000 || return
    done
}

# The link of a device goes down or up. Its address and routes stay as they were.
roce_link() { # DEVICE down|up
    ip link set "port$(roce_number "$1")" "$2"
}

# One of a device's own counters: sent_pkts, rcvd_pkts, rdma_sends, retry_exceeded_err, ...
roce_counter() { # DEVICE COUNTER
    cat "/sys/class/infiniband/rxe$(roce_number "$1")/ports/1/hw_counters/$2"
}

# Bytes in Ethernet frames, and frames, that a device has sent or received.
roce_wire() { # DEVICE tx_bytes|tx_packets|rx_bytes|rx_packets
    cat "/sys/class/net/roce$(roce_number "$1")/statistics/$2"
}

# How many objects of a kind exist: all devices together, or one. A device at rest has one queue pair.
roce_count() { # pd|cq|qp|mr|cm_id|ctx|srq [DEVICE]
    rdma resource show ${2:+"rxe$(roce_number "$2")"} |
        sed -nE "s/.* $1 ([0-9]+)( .*|$)/\1/p" | awk '{ sum += $1 } END { print sum + 0 }'
}

# A table of all that.
roce_show() {
    local device kind
    printf '%-8s %10s %10s %12s %12s %6s %6s %6s\n' \
        device sent_pkts rcvd_pkts tx_bytes rx_bytes qp mr cq
    for device in $HCCL_ROCE_DEVICES; do
        printf '%-8s %10s %10s %12s %12s' "$device" "$(roce_counter "$device" sent_pkts)" \
            "$(roce_counter "$device" rcvd_pkts)" "$(roce_wire "$device" tx_bytes)" \
            "$(roce_wire "$device" rx_bytes)"
        for kind in qp mr cq; do
            printf ' %6s' "$(roce_count "$kind" "$device")"
        done
        echo
    done
}
