#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bed_switch.py DELAY HOSTS: the switch of a bed whose links have a latency.

Stands where the bridge of the data network else is: takes every frame from the head's end of a host's
link (data0, data1, ...) and puts it on the receiver's link DELAY milliseconds later, whatever else is
on its way. Kernels often lack netem, which does the same. Started by bed_inside.sh, ends with the bed.

Frames keep what the kernel has left to do on them (checksum, cutting), by PACKET_VNET_HDR, so the
switch neither cuts nor checks. Knows hosts by the last byte of their address (mac in bed_inside.sh);
drops what is for nobody, as neighbours need no looking for in a bed.
"""
import collections
import os
import select
import socket
import sys
import time

SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 15, 23
ETH_P_ALL = 3
VNET_HDR = 10  # bytes before each frame
LONGEST = VNET_HDR + 14 + (1 << 16)


def port(name):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    link.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    link.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    link.bind((name, ETH_P_ALL))
    link.setblocking(False)
    return link


def first_in_line():
    """Before the ranks, which poll; where that is not allowed, delays are less even."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        pass


def take(link, due, waiting):
    """All frames that have come in."""
    while True:
        try:
            frame = link.recv(LONGEST)
        except BlockingIOError:
            return
        waiting.append((due, frame))


def main():
    delay = int(sys.argv[1]) / 1000
    links = [port(f"data{host}") for host in range(int(sys.argv[2]))]
    waiting = collections.deque()  # in the order of their times, as all wait equally long
    first_in_line()
    print("up", flush=True)
    while True:
        wait = max(0, waiting[0][0] - time.monotonic()) if waiting else None
        ready = select.select(links, [], [], wait)[0]
        now = time.monotonic()
        for link in ready:
            take(link, now + delay, waiting)
        while waiting and waiting[0][0] <= now:
            frame = waiting.popleft()[1]
            host = frame[VNET_HDR + 5]
            if host < len(links):
                try:
                    links[host].send(frame)
                except OSError:
                    pass  # the host is gone, or its queue is full: TCP sends it again


main()
