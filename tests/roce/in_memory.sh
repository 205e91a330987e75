#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# devices: 2
# seconds: 200
#
# In the machine that vm makes: buffers whose memory goes and comes between calls, children, the limit of
# what stays registered, and what communicators leave behind.
set -euo pipefail
HCCL_SRC_DIR=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/roce/jobs.sh
. "$HCCL_SRC_DIR/tests/roce/jobs.sh"
need_rdma memory
same_addresses

job 2 "$programs/roce/memory" 6 1048576 again over madvise mremap malloc brk fork
for way in again over madvise mremap malloc brk fork; do
    why="it did not say so"
    [[ $said != *"memory $way: right"* ]] || why=""
    judge "memory: changes between calls: $way" "$why"
done
job 2 --mca coll_hccl_rdma_cache 4m "$programs/roce/memory" 12 1048576 limit
why=$(awk '/^memory limit: [0-9]/ {
    ranks++
    if ($5 - $4 > 4194304) { printf "rank %d has registered %d bytes more than before", $3, $5 - $4 }
    if (0 == $4) { print "nothing is registered before" }
} END { if (2 != ranks) print "not all ranks have said it" }' <<<"$said")
judge "memory: registrations stay within coll_hccl_rdma_cache" "$why"

job 2 "$programs/roce/steps" comms 200
judge "memory: 200 communicators"
why=""
[[ 2,0 == "$(counted connections),$(counted again)" ]] ||
    why="connections: $(counted connections), made again: $(counted again)"
judge "memory: one connection for all of them" "$why"
judge_left memory
hccl_finish
