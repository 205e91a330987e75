#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# devices: 4
# seconds: 150
#
# In the machine that vm makes: MPI jobs whose ranks are put on two or more nodes by the topology
# parameter, so that the network tier carries what goes between them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"
export HCCL_TEST_TIMEOUT=60

fuzz=$HCCL_BUILD_DIR/tests/mpi/fuzz

job() { # NAME TOPOLOGY RANKS ARGS
    hccl_try "roce/fuzz: $1" hccl_mpirun --mca coll hccl --mca coll_hccl_topology "$2" -np "$3" \
        "$fuzz" "${@:4}"
}
job "2 nodes of 1 rank" "node:2" 2 -s 501 -n 300
job "2 nodes of 2 ranks" "node:2 core:2" 4 -s 502 -n 300
job "4 nodes of 1 rank" "node:4" 4 -s 503 -n 300
hccl_finish
