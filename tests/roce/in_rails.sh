#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# devices: 4
# seconds: 150
#
# In the machine that vm makes: two ranks with two ports each: threads, errors, sleep, and ports that
# fail. Rank 0 has rxe0 and rxe1, rank 1 rxe2 and rxe3; both begin with the first one.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"
# shellcheck source=tests/roce/guest.sh
. "$here/guest.sh"
export HCCL_TEST_TIMEOUT=40

steps=$HCCL_BUILD_DIR/tests/roce/steps
rails=$HCCL_BUILD_DIR/tests/roce/rails
said=$TMPDIR/rails.said

hasty=()
run() { # PROGRAM ARGS; sets code
    code=0
    : >"$said"
    # shellcheck disable=SC2016
    hccl_mpirun --mca coll hccl --mca coll_hccl_topology node:2 --mca coll_hccl_rdma on \
        --mca coll_hccl_verbose 2 --mca btl_tcp_if_include lo "${hasty[@]}" -np 2 bash -c 'first=$((2 * OMPI_COMM_WORLD_RANK))
            export OMPI_MCA_coll_hccl_ib_hca=rxe$first,rxe$((first + 1))
            exec "$@"' rank "$@" >"$said" 2>&1 || code=$?
}
judge() { # NAME WHY: passed if WHY is empty
    if [[ -z $2 ]]; then
        hccl_ok "roce/rails: $1"
    else
        grep -v '^step' "$said" | tail -n 12 | cut -c1-200 | sed 's/^/# /'
        hccl_not_ok "roce/rails: $1" "$2"
    fi
}
told() { # RANK WHAT: a counter
    sed -nE "s/.*rank $1\\]: rdma: .*$2 ([0-9]+).*/\1/p" "$said"
}
# When the job has come so far, something is done to it.
after_step() { # STEP COMMAND...
    local tenths
    for ((tenths = 0; tenths < 300; tenths++)); do
        if grep -q "^step $1\$" "$said"; then
            "${@:2}"
            return
        fi
        sleep 0.1
    done
}
moved() { # TIMES: why the job did not move so often on both ranks
    if ((code != 0)); then
        echo "exit code $code"
    elif [[ $(told 0 moved),$(told 1 moved) != "$1,$1" ]]; then
        echo "moved $(told 0 moved) and $(told 1 moved) times, not $1"
    fi
}
# What is left on the devices: each has one queue pair of its own.
left() {
    local qp mr cq
    qp=$(roce_count qp) mr=$(roce_count mr) cq=$(roce_count cq)
    ((qp == 4 && mr == 0 && cq == 4)) || echo "queue pairs $qp, regions $mr, queues $cq are left"
}

run "$rails" threads 5
judge "four threads on four communicators" "$(moved 0)"
run "$rails" errors 10
judge "communicators that fail and go, beside one that works" "$(moved 0)"
judge "nothing is left after those" "$(left)"

# A rank that waits for late messages is woken by the device. Polling would take nearly all of its time.
export OMPI_MCA_coll_hccl_sleep_after=1000
run "$rails" idle 20
unset OMPI_MCA_coll_hccl_sleep_after
hccl_note "$(grep 'us late' "$said" || true)"
busy=$(sed -nE 's/^rank 1: .* us late, ([0-9]+)\.[0-9] % busy$/\1/p' "$said")
why=$(moved 0)
[[ -n $busy ]] && ((busy < 20)) || why="busy for '$busy' % of the time"
judge "who waits sleeps" "$why"

# From here on, queue pairs give up after 3 x 17 ms.
hasty=(--mca coll_hccl_rdma_timeout 12 --mca coll_hccl_rdma_retry_cnt 2)

: >"$said"
after_step 20 roce_link 0 down &
run "$steps" 60
wait
roce_link 0 up
judge "a port that is down for good" "$(moved 1)"
judge "nothing is left after that" "$(left)"
why=""
grep -q 'rank 0\]: messages to rank 1 move from rxe0/1 (its port: rxe2/1) to rxe1/1 (its port: rxe3/1)' \
    "$said" || why="no line about it"
judge "a line says so" "$why"

# Of rank 1 both go, one after the other.
both() {
    roce_link 2 down
    after_step 40 roce_link 3 down
}
: >"$said"
after_step 20 both &
started=$SECONDS
run "$steps" 1000
wait
roce_link 2 up
roce_link 3 up
why=""
if ((0 == code || SECONDS - started > 35)); then
    why="exit code $code after $((SECONDS - started)) s"
elif [[ 2 != $(grep -cE 'hccl error .*: the connection to rank . \(ports: .*rxe.*\) is lost' "$said") ]] ||
    [[ 2 != $(grep -cE '^rank .: call [0-9]+ failed' "$said") ]]; then
    why="not every rank says it"
fi
judge "no port that is left: an error on both ranks" "$why"
judge "nothing is left after that either" "$(left)"
# The address goes: packets find no way any more.
: >"$said"
after_step 20 ip address delete 10.78.0.3/24 dev roce2 &
run "$steps" 60
wait
judge "a port whose address goes" "$(moved 1)"
hccl_finish
