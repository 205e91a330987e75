/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a network interface of this host has carried, from the kernel's counters. Refuses to know
 * who sent it: a host that does nothing else is the caller's business. Called by measure.c.
 */
#ifndef HCCL_BENCH_NET_H
#define HCCL_BENCH_NET_H

#include <stdbool.h>

/* Payload bytes since the interface came up: without 66 bytes of Ethernet, IP and TCP headers for
 * each packet (a segmented packet counts as one until it is cut). False: no such interface. */
bool hccl_bench_net_read(const char *interface, double *out, double *in);

#endif
