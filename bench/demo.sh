#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The main job in under three minutes: hccl beside Open MPI's default, on all cores of this machine
# and over a few emulated hosts with a slow network, as tables with ratios and a summary in words.
# Needs a finished build (./setup.sh demo makes one). Exit code 1 when a side failed or a result was
# wrong; that hccl is slower somewhere is a result, not a failure.
set -euo pipefail

usage() {
    cat <<EOF
usage: bench/demo.sh [all|cores|hosts]
  cores  all cores of this machine: hccl_versus
  hosts  4 emulated hosts x 2 ranks, 100 Mbit/s between them: hccl_test in tests/hosts/bed.sh
EOF
}

part=${1:-all}
case $part in
    all | cores | hosts) ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        echo "demo.sh: $part: accepted are all, cores and hosts" >&2
        exit 2
        ;;
esac

root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/lib.sh
. "$root/tests/lib.sh"
hccl_mktemp
failed=0

ours="--mca coll hccl"
default="--mca coll ^hccl"
hosts=4
slots=2

heading() { printf '\n== %s ==\n' "$*"; }

# --- all cores of this machine -------------------------------------------------------------------

cores_part() {
    heading "All $(nproc) cores of this machine: hccl beside Open MPI's components and MPICH"
    timeout --kill-after=10 100 "$HCCL_BUILD_DIR/bench/hccl_versus" -np "$(nproc)" \
        --plot "$HCCL_BUILD_DIR/bench/demo" -- \
        allreduce,bcast,allgather,alltoall,reduce,barrier \
        -b 8 -e 1M -f 16 --rounds 5 --csv "$HCCL_TMP/cores.csv" || failed=1
}

# The median ratio to the best other contender of each collective: geometric mean, lowest, highest.
cores_summary() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        1 == $(at["best_median"]) {
            c = $1; r = $(at["ratio_median"])
            if (!(c in n)) { order[++k] = c; low[c] = high[c] = r }
            n[c]++; sum[c] += log(r)
            if (r < low[c]) low[c] = r
            if (r > high[c]) high[c] = r
        }
        END {
            for (i = 1; i <= k; i++) {
                c = order[i]; m = exp(sum[c] / n[c])
                printf "  %-10s hccl takes %.2f of the time of the best other (%.2f to %.2f over %d sizes)\n",
                    c, 1 / m, 1 / high[c], 1 / low[c], n[c]
            }
        }' "$HCCL_TMP/cores.csv"
}

# --- emulated hosts ------------------------------------------------------------------------------

# hosts_side NAME MPIRUN-OPTIONS: writes NAME.csv; its bytes are of the busiest host, per operation.
hosts_side() {
    local name=$1 rc=0
    local -a options
    read -r -a options <<<"$2"
    timeout --kill-after=10 75 "$root/tests/hosts/bed.sh" run --hosts "$hosts" --slots "$slots" \
        --rate 100mbit -- "${options[@]}" "$HCCL_BUILD_DIR/bench/hccl_test" \
        allreduce,bcast,allgather -b 64K -e 1M -f 4 -r 0 -n 7 -w 1 --batch 1 --net data \
        --csv "$HCCL_TMP/$name.csv" >"$HCCL_TMP/$name.out" 2>&1 </dev/null || rc=$?
    if ((rc != 0)); then
        echo "the job with $2 failed (exit code $rc):"
        tail -n 5 "$HCCL_TMP/$name.out"
        failed=1
        return 1
    fi
}

# Joins the two CSV files; bytes in multiples of what no algorithm can do without:
# allreduce 2(H-1)/H n, bcast n, allgather (H-1)/H of all ranks' n.
hosts_table() {
    awk -F, -v H="$hosts" '
        function bytes() { return $21 > $22 ? $21 : $22 }
        FNR == 1 { next }
        NR == FNR { time[$1, $8] = $14; moved[$1, $8] = bytes(); next }
        {
            least = $1 == "allreduce" ? 2 * (H - 1) / H * $8 : $1 == "bcast" ? $8 : (H - 1) / H * $3 * $8
            printf "%-10s %9d %10.1f %10.1f %8.2f %12.2f %12.2f\n", $1, $8, time[$1, $8] / 1e3,
                $14 / 1e3, $14 / time[$1, $8], moved[$1, $8] / least, bytes() / least
        }' "$HCCL_TMP/ours.csv" "$HCCL_TMP/default.csv"
}

hosts_part() {
    local reason
    heading "$hosts emulated hosts x $slots ranks, 100 Mbit/s: A = hccl, B = Open MPI's default"
    if ! reason=$("$root/tests/hosts/bed.sh" check 2>&1); then
        echo "${reason:-skip: no emulated hosts can be made here}"
        return
    fi
    hosts_side ours "$ours" && hosts_side default "$default" || return 0
    printf '%-10s %9s %10s %10s %8s %12s %12s\n' "#" bytes "A ms" "B ms" "B/A" "A bytes" "B bytes"
    hosts_table | tee "$HCCL_TMP/hosts.table"
    echo "# median times; bytes: over the busiest host's link, 1.00 = the least possible"
}

hosts_summary() {
    awk '{
            if (!($1 in n)) order[++k] = $1
            n[$1]++; speed[$1] += log($5); a[$1] += log($6); b[$1] += log($7)
        }
        END {
            for (i = 1; i <= k; i++) {
                c = order[i]
                printf "  %-10s hccl takes %.2f of the time and sends %.2f of the bytes of the default\n",
                    c, exp(-speed[c] / n[c]), exp((a[c] - b[c]) / n[c])
            }
        }' "$HCCL_TMP/hosts.table"
}

if [[ hosts != "$part" ]]; then
    cores_part
fi
if [[ cores != "$part" ]]; then
    hosts_part
fi

heading "In short"
if [[ -f $HCCL_TMP/cores.csv ]] && (($(wc -l <"$HCCL_TMP/cores.csv") > 1)); then
    echo "On all cores of this machine:"
    cores_summary
fi
if [[ -f $HCCL_TMP/hosts.table ]]; then
    echo "Between $hosts hosts with a slow network:"
    hosts_summary
fi
if ((failed)); then
    echo "A part failed or gave wrong results: see above."
    exit 1
fi
echo "Every result was checked, element by element."
