/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Links that are shared fairly. A flow is a number of bytes that goes through up to four links at
 * once; each link's bandwidth is shared by max-min fairness: no flow can get more without taking it
 * from one that has no more than it. Knows neither plans nor machines.
 *
 * Why fair sharing and not one message after the other per link: ranks that start together end
 * together, as TCP streams and queue pairs on one port do, and the outcome does not depend on the
 * order in which events of the same instant are handled. So ranks with equal plans have equal times,
 * which lets one of them stand for all.
 */
#ifndef HCCL_TOOLS_FLOWS_H
#define HCCL_TOOLS_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/codes.h"

enum { HCCL_FLOW_LINKS = 4 };

typedef struct hccl_flows hccl_flows_t;

/** NULL: no memory. capacity[nlinks] bytes per second. */
hccl_flows_t *hccl_flows_new(int nlinks, const double *capacity);
void hccl_flows_free(hccl_flows_t *f);

/** Lets a link carry up to `burst` bytes at the rate `peak`, beyond what its bandwidth carries in the
 *  same time: a bucket of tokens, full at first, as of `tc tbf`. */
void hccl_flows_burst(hccl_flows_t *f, int link, double burst, double peak);

/** A flow of `bytes` (more than 0) through links[n] from `now` on; who: what the caller calls it.
 *  False: no memory. */
HCCL_CHECKED bool hccl_flows_add(hccl_flows_t *f, double now, const int *links, int n, double bytes,
                                 int who);

/** When the next flow ends or a burst is used up, if nothing is added before; infinite: none is
 *  under way. */
HCCL_CHECKED double hccl_flows_next(hccl_flows_t *f, double now);

/** A flow that has ended by `now`: its `who`, -1: no further one. */
int hccl_flows_take(hccl_flows_t *f, double now);

/** How often the rate of a flow has been computed. */
uint64_t hccl_flows_work(const hccl_flows_t *f);

/** Memory has run out: times are wrong since then. */
bool hccl_flows_failed(const hccl_flows_t *f);

#endif
