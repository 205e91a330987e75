#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 1500
# Proves every algorithm on every topology of the list (tests/model/shapes.c), in two processes.
# HCCL_CHECK_LONG=1: the longer list.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

if (($# > 0)); then
    echo "usage: tests/model/run_model.sh   (programs of $HCCL_BUILD_DIR/tests/model)" >&2
    exit 2
fi
programs=$HCCL_BUILD_DIR/tests/model
plan=$HCCL_BUILD_DIR/tools/hccl_plan
for program in "$programs"/{prove,mutate,bounds,defaults,links,payload,regret,simulate,tiers,trend} "$plan"; do
    if [[ ! -x $program ]]; then
        hccl_not_ok model "no program $program: run make check"
        hccl_finish
    fi
done
extent=()
if [[ ${HCCL_CHECK_LONG:-0} == 1 ]]; then
    extent=(--long)
fi
hccl_mktemp

# expect NAME CODE REGEX ARGS...: hccl_plan ARGS exits with CODE and prints REGEX.
expect() {
    local name=$1 code=$2 regex=$3 out rc=0
    shift 3
    out=$("$plan" "$@" 2>&1) || rc=$?
    if ((rc == code)) && grep -qE "$regex" <<<"$out"; then
        hccl_ok "hccl_plan/$name"
    else
        hccl_quote "$out"
        hccl_not_ok "hccl_plan/$name" "exit code $rc (expected $code), or nothing like '$regex'"
    fi
}

"$programs/prove" --jobs 2 "${extent[@]}" || HCCL_FAILED=$((HCCL_FAILED + 1))
"$programs/mutate" --jobs 2 || HCCL_FAILED=$((HCCL_FAILED + 1))
"$programs/payload" || HCCL_FAILED=$((HCCL_FAILED + 1))
"$programs/simulate" || HCCL_FAILED=$((HCCL_FAILED + 1))
"$programs/links" || HCCL_FAILED=$((HCCL_FAILED + 1))
"$programs/tiers" || HCCL_FAILED=$((HCCL_FAILED + 1))
"$programs/bounds" || HCCL_FAILED=$((HCCL_FAILED + 1))
"$programs/defaults" || HCCL_FAILED=$((HCCL_FAILED + 1))
"$programs/trend" || HCCL_FAILED=$((HCCL_FAILED + 1))
"$programs/regret" || HCCL_FAILED=$((HCCL_FAILED + 1))

# 4 ranks in a ring, 4 bytes: 3 + 3 rounds of 1 byte; 2 nodes: each sends 2 x 1/2 x 4 bytes.
expect list 0 '^allreduce +ring ' list
expect dump 0 'SEND .* to rank 1' dump allreduce ring node:4 --rank 0
expect check 0 '^proven: 4 ranks' check allreduce ring node:4
expect cost 0 'rounds 6, messages 24 between' cost allreduce ring node:4 --bytes 4
expect "cost of links" 0 '^node 1: out 4 bytes in .*, in 4 bytes' \
    cost allreduce hier_ring "node:2 rank:2" --bytes 4
# 2 domains of 2 ranks, 1000 bytes to all: the 2 far ranks read them, the near one as well.
expect "cost of levels" 0 '^node 0: between NUMA domains 2000 bytes in 2 reads' \
    cost bcast mesh "numa:2 rank:2" --bytes 1000
expect "cost of payload" 0 'payload loaded and stored 8000 bytes' \
    cost bcast mesh "numa:2 rank:2" --bytes 1000
# 4 rings of 7 ranks: 2 x 6 rounds of 4 messages each, to the next, the last, the next but one, the last but one
expect "cost of four rings" 0 'rounds 12, messages 336 between nodes' \
    cost allreduce multi_ring node:7 --rings 4
expect "ways of four rings" 0 '^ *[0-9]+ SEND .* to rank 5$' \
    dump allreduce multi_ring node:7 --rings 4 --rank 0
expect "bad rings" 2 '^hccl_plan: --rings takes a number up to 16' cost allreduce multi_ring node:7 --rings 17
# 2 nodes of 2: one message each way for the 4 blocks of a pair of nodes; what is longer than 2 KiB goes alone.
expect "cost of merged messages" 0 '^bytes 4000, rounds 1, messages 2 between nodes and 0 inside' \
    cost alltoallv hier "node:2 rank:2" --bytes 1000
expect "cost of parcels" 0 '^boxes between nodes: 2 messages for 8 blocks of up to 2048 bytes, .* in them$' \
    cost alltoallv hier "node:2 rank:2" --bytes 1000
expect "cost of blocks too long for parcels" 0 '^blocks between nodes in messages of their own: 8$' \
    cost alltoallv hier "node:2 rank:2" --bytes 3000
expect "cost of long blocks' links" 0 '^node 0: out 12000 bytes in 5 messages, in 12000 bytes$' \
    cost alltoallv hier "node:2 rank:2" --bytes 3000
expect "unknown collective" 2 'no such collective .*: nonsense' dump nonsense ring node:4
expect "unknown algorithm" 2 'no such algorithm .*: nonsense' dump allreduce nonsense node:4
expect "bad topology" 2 "topology 'node:0'" dump allreduce ring node:0
expect "bad number" 2 "root takes a number" dump bcast tree node:4 --root x

# Eight hosts alternate between two switches. 8000 bytes: each link of the ring carries 2 x 7/8 of them,
# all eight cross in the order of ranks (a file whose links are all alike), two along the file.
hosts="host a b c d e f g h\nswitch a c e g\nswitch b d f h\n"
printf "$hosts"'within cost=1\nacross cost=4\n' >"$HCCL_TMP/links"
printf "$hosts"'within cost=1\nacross cost=1\n' >"$HCCL_TMP/alike"
ring=(allreduce hier_ring "node:8 rank:2" --bytes 8000)
expect "links in the order of ranks" 0 \
    '^all links: 112000 bytes, cost of a byte 1\.000 on average, between switches 112000 bytes' \
    cost "${ring[@]}" --topo-file "$HCCL_TMP/alike"
expect "links along the file" 0 \
    '^all links: 112000 bytes, cost of a byte 1\.750 on average, between switches 28000 bytes' \
    cost "${ring[@]}" --topo-file "$HCCL_TMP/links"
# flat: one rank per node, 2 x 7/8 x 8000 over each of 8 links; two, 2 x 15/16 x 8000
flat=(allreduce ring)
expect "flat links in the order of ranks" 0 ', between switches 112000 bytes' \
    cost "${flat[@]}" node:8 --bytes 8000 --topo-file "$HCCL_TMP/alike"
expect "flat links along the file" 0 ', between switches 28000 bytes' \
    cost "${flat[@]}" node:8 --bytes 8000 --topo-file "$HCCL_TMP/links"
expect "flat links of several ranks along the file" 0 ', between switches 30000 bytes' \
    cost "${flat[@]}" "node:8 rank:2" --bytes 8000 --topo-file "$HCCL_TMP/links"
expect "check along the file" 0 '^proven: 16 ranks' check allreduce hier_ring "node:8 rank:2" \
    --topo-file "$HCCL_TMP/links"
# each switch sends 1 of those links up: 14000 bytes, in the other order all of its four
expect "simulated along the file" 0 '^leaf switch 0: out 14000 bytes' \
    simulate "${ring[@]}" --topo-file "$HCCL_TMP/links"
expect "simulated in the order of ranks" 0 '^leaf switch 1: out 56000 bytes' \
    simulate "${ring[@]}" --topo-file "$HCCL_TMP/alike"
expect "other hosts" 2 "has 4 nodes, but the topology file 8 hosts" \
    cost allreduce hier_ring "node:4 rank:2" --topo-file "$HCCL_TMP/links"
expect "no topology file" 2 "no/such: cannot be read" \
    cost allreduce hier_ring "node:4 rank:2" --topo-file no/such

# 2 us of bytes and 1.5 us of latency at 1 GB/s; then two rounds of it.
easy=(--set network.alpha=1.5us --set network.bandwidth=1GB/s --set message.overhead=0
    --set network.rendezvous=0)
expect "simulate one message" 0 '^rounds 1, segments 1, .* time 3.500 us' \
    simulate bcast tree node:2 --bytes 2000 "${easy[@]}"
expect "simulate links" 0 '^node 1: out 0 bytes in 0 messages, in 2000 bytes in 1 messages' \
    simulate bcast tree node:2 --bytes 2000 "${easy[@]}"
expect "simulate one for all" 0 '^2 ranks on 1 node stand for all \(compared with all plans' \
    simulate allreduce hier_ring "node:64 core:2"
expect show 0 '^ +3.500 us  rank   1    1 WAIT' \
    show bcast tree node:2 --bytes 2000 "${easy[@]}"
expect "machine" 0 '^network.alpha +=' machine --machine "$HCCL_SRC_DIR/tools/machines/epyc-2-nic.machine"
echo "network.nics = 0" >"$HCCL_TMP/bad.machine"
expect "bad machine line" 2 'bad.machine:1: network.nics must be between 1 and 64' \
    machine --machine "$HCCL_TMP/bad.machine"
expect "bad setting" 2 "^hccl_plan: --set network.alpha takes a time in ns, us, ms or s, as 1.5us, not 'x'" \
    machine --set network.alpha=x
expect "no machine" 2 '^hccl_plan: --machine /nonexistent: No such file' machine --machine /nonexistent
expect "option of another verb" 2 '^hccl_plan: --machine is no option of dump' \
    dump allreduce ring node:4 --machine x

# Of 2 messages in a row, 1 is faster than the other by a factor: 2 rounds against 4 of 1 us.
expect choose 0 '^  1 (rhd|rd|radix) ' choose allreduce node:4 --sizes 1000 "${easy[@]}" --forced
expect "choose names the rules' choice" 0 'radix .*<- the rules. choice' choose allreduce node:4 --sizes 8
expect "bad sizes" 2 "^hccl_plan: --sizes takes numbers up to .*not '8:4'" choose bcast node:4 --sizes 8:4
expect "bad algorithms" 2 "^hccl_plan: --algorithms: bcast has no 'nonsense'" \
    choose bcast node:4 --algorithms tree,nonsense
expect "too many ranks" 2 '32768 ranks: a sweep goes up to 16384' sweep --nodes 4096 --inside core:8

# 1,024 nodes of 8: all algorithms within a minute of a processor, which others may use as well, and 2 GiB.
TIMEFORMAT=%0U
{
    time hccl_limit 300 "$plan" sweep allreduce --nodes 1024 --inside core:8 --sizes 8,64k,4m \
        --csv "$HCCL_TMP/sweep.csv" --plot "$HCCL_TMP/map" >"$HCCL_TMP/sweep.out" 2>&1 || true
} 2>"$HCCL_TMP/sweep.time"
sweep_out=$(<"$HCCL_TMP/sweep.out")
seconds=$(<"$HCCL_TMP/sweep.time")
mib=$(sed -nE 's/^# [0-9]+ times in [0-9.]+ s, ([0-9]+) MiB$/\1/p' <<<"$sweep_out")
if [[ -n $mib ]] && ((seconds < 60 && mib < 2048)); then
    hccl_ok "hccl_plan/sweep of 8192 ranks"
else
    hccl_quote "$sweep_out"
    hccl_not_ok "hccl_plan/sweep of 8192 ranks" "took $seconds s, ${mib:-?} MiB"
fi
columns=collective,nodes,ranks,bytes,algorithm,us,segment,how,rounds,nic_out_bytes,fastest,chosen
if [[ $(head -n 1 "$HCCL_TMP/sweep.csv") == "$columns" ]] &&
    grep -qE '^allreduce,1024,8192,4194304,hier_ring,[0-9.]+,0,(sample|part|line),2046,[0-9]+,[01],[01]$' \
        "$HCCL_TMP/sweep.csv" &&
    [[ $(grep -c ',1,[01]$' "$HCCL_TMP/sweep.csv") == 3 ]]; then
    hccl_ok "hccl_plan/sweep's CSV"
else
    hccl_quote "$(head -n 5 "$HCCL_TMP/sweep.csv")"
    hccl_not_ok "hccl_plan/sweep's CSV" "other columns, or not one fastest algorithm for each size"
fi
if ! command -v gnuplot >/dev/null; then
    hccl_skip "hccl_plan/sweep's plot" "gnuplot is not installed"
elif [[ -s $HCCL_TMP/map.svg ]] && grep -q 'the fastest algorithm' "$HCCL_TMP/map.svg"; then
    hccl_ok "hccl_plan/sweep's plot"
else
    hccl_not_ok "hccl_plan/sweep's plot" "no map.svg, or without its title"
fi
for machine in "$HCCL_SRC_DIR"/tools/machines/*.machine; do
    expect "simulate on $(basename "$machine" .machine)" 0 '^rounds [0-9]+, segments [0-9]+, .* us$' \
        simulate allreduce hier_ring --machine "$machine"
done

# fit: times of a known machine as hccl_test would write them, up to 3 % off, one of seven 3 times.
known=(--set network.alpha=30us --set network.bandwidth=200MB/s --set combine.bandwidth=2GB/s)
files=()
for algorithm in hier_ring ring rd; do
    "$plan" sweep allreduce --nodes 4 --inside core:2 --algorithms "$algorithm" --sizes 1k:4m \
        --csv "$HCCL_TMP/times" "${known[@]}" >/dev/null
    awk -F, -v OFS=, '
        NR == 1 { print "collective,mode,ranks,type,op,root,in_place,bytes,count,median_us" }
        NR > 1 {
            us = $6 * (0.97 + 0.06 * ((NR * 7 + length($5) * 3) % 10) / 9) * (NR == 4 ? 3 : 1)
            print "allreduce", "blocking", $3, "fp32", "sum", -1, 0, $4, $4 / 4, us
        }' "$HCCL_TMP/times" >"$HCCL_TMP/$algorithm.csv"
    files+=("$HCCL_TMP/$algorithm.csv:$algorithm")
done
"$plan" fit "node:4 core:2" "${files[@]}" --keys network.alpha,network.bandwidth,combine.bandwidth \
    >"$HCCL_TMP/fitted" 2>&1 || true
if awk '$1 == "network.alpha" { a = $3 + 0 } $1 == "network.bandwidth" { b = $3 + 0 }
        END { exit !(a > 27 && a < 33 && b > 180 && b < 220) }' "$HCCL_TMP/fitted"; then
    hccl_ok "hccl_plan/fit finds the constants"
else
    hccl_quote "$(grep -E '^network|error' "$HCCL_TMP/fitted")"
    hccl_not_ok "hccl_plan/fit finds the constants" "not 30 us and 200 MB/s"
fi
expect "fit prints a machine" 0 '^network.bandwidth +=' machine --machine "$HCCL_TMP/fitted"
expect "fit names what it cannot find" 0 '^# switch.alpha is not determined' \
    fit "node:4 core:2" "${files[1]}" --set switch.alpha=1us --keys network.alpha,switch.alpha
expect "fit refuses other ranks" 2 'ring.csv:2: measured with 8 ranks, but the topology has 4' \
    fit node:4 "${files[1]}"
expect "fit refuses other files" 2 "there is no column 'mode': is it a CSV file of hccl_test" \
    fit "node:4 core:2" "$HCCL_TMP/times"
expect "fit refuses unknown keys" 2 "^hccl_plan: --keys: 'speed' is no number of a machine file" \
    fit "node:4 core:2" "${files[1]}" --keys speed
hccl_finish
