# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# hazard_config.sh: the hazards of configuration and environment, and bad values of our parameters.
# Sourced by run_hazards.sh; each function gets the id that it reports.

# P77: the component's variables through MPI_T, before MPI_Init and after MPI_Finalize.
hazard_mpit() {
    shape_args 2+1
    hazard_job mpit 3 "/3@2+1" "$1" "${shape_arguments[@]}"
}

on_first_core() {
    # shellcheck disable=SC2016
    taskset -c "$(taskset -cp $$ | sed -E 's/.*: ([0-9]+).*/\1/')" bash -c '"$@"' hazard "$@"
}

# P80: no topology to be had, a made-up one, one core, processes bound or not.
hazard_no_topology() {
    local ids=P37,P74
    hazard_without_os_topology "$ids" "$1"
    hazard_synthetic_topology "$ids" "$1"
    hazard_job roots 3 "/in-$1-bind-to-none" "$ids" --bind-to none
    if (($(nproc) >= 2)); then
        hazard_job roots 2 "/in-$1-bind-to-core" "$ids" --bind-to core
    fi
    if hccl_have "$1/one-core" taskset; then
        job_launcher=(on_first_core hccl_mpirun)
        hazard_job roots 3 "/in-$1-one-core" "$ids"
        job_launcher=(hccl_mpirun)
    fi
}

hazard_without_os_topology() {
    local -x HWLOC_COMPONENTS=no_os,stop
    hazard_job roots 3 "/in-$2-no-discovery" "$1"
}

hazard_synthetic_topology() {
    local -x HWLOC_SYNTHETIC='pack:2 numa:2 core:2 pu:1'
    hazard_job roots 3 "/in-$2-synthetic" "$1"
}

# bad_value NAME PARAMETER VALUE ACCEPTED [VARIABLE]: with this value there is exactly one message, which
# names the value and what is accepted (a regular expression); MPI_Init fails for all, or all go on with
# right results. With VARIABLE, the value comes from there, and the message names it.
bad_value() {
    local name=$1 parameter=$2 value=$3 accepted=$4 out=$HCCL_TMP/bad rc=0 times
    local -a given=(--mca "$parameter" "$value")
    if [[ -n ${5:-} ]]; then
        local -x "$5=$value"
        accepted="$5.*($accepted)"
        given=()
    fi
    if ! have_param "$parameter"; then
        hccl_skip "$name" "no parameter $parameter"
        return 0
    fi
    HCCL_TEST_TIMEOUT=30 hccl_mpirun --mca coll "$coll" "${given[@]}" -np 3 \
        "$bin/hazard_roots" -t P37 >"$out" 2>&1 || rc=$?
    # As a word: a short number may be a part of some process's.
    times=$(grep -acwF -- "$value" "$out" || true)
    if ((rc == 124 || rc == 137)); then
        hccl_not_ok "$name" "the job hangs"
    elif ((times != 1)); then
        hccl_quote "$(head -n 30 "$out")"
        hccl_not_ok "$name" "$times lines name the value '$value', not one"
    elif ! grep -aqE -- "$accepted" "$out"; then
        hccl_quote "$(head -n 30 "$out")"
        hccl_not_ok "$name" "the message does not say what is accepted"
    elif ((rc == 0)) && ! grep -aq '^ok P37' "$out"; then
        hccl_not_ok "$name" "the job ended well without a result"
    elif grep -aqE 'Signal:|^not ok' "$out"; then
        hccl_not_ok "$name" "$(grep -aE 'Signal:|^not ok' "$out" | head -n 1)"
    else
        hccl_ok "$name"
    fi
}

hazard_bad_values() {
    local text number one collective
    local integers='s/^mca:coll:hccl:param:([a-z0-9_]+):type:(int|unsigned_int|size_t)$/\1/p'
    if [[ $coll != hccl ]]; then
        hccl_skip "$1" "only with the component hccl"
        return 0
    fi
    local -a texts=('node:x' 'nodes:2' 'node:2 core:(1,2' 'node:0' 'node:2 node:2' 'node:(2,1)'
        'node:2 rank:1' 'node:3 core:1 map:diagonal'
        'node:3 core:1 map:0,0,1' 'node:99999999999999999999')
    for text in "${texts[@]}"; do
        bad_value "$1/topology:${text// /_}" "$param_topology" "$text" \
            'node|package|numa|l3|core|rank|number|block|cyclic|slot'
    done
    for collective in $(collectives_with_algorithms); do
        one=$(algorithms "$collective" | tail -n 1)
        bad_value "$1/algorithm:$collective" "$(param_algorithm "$collective")" \
            no_such_algorithm "$one"
    done
    bad_value "$1/ib_hca" coll_hccl_ib_hca mlx5_0:0 '1 to 255'
    bad_value "$1/ib_hca:absent" coll_hccl_ib_hca no_such_device0 'this host has no port'
    bad_value "$1/ib_gid_index" coll_hccl_ib_gid_index 256 '0 to 255'
    bad_value "$1/rdma" coll_hccl_rdma maybe 'off, auto and on'
    bad_value "$1/land" coll_hccl_land maybe 'rdma, always and never'
    bad_value "$1/rdma_slots" coll_hccl_rdma_slots 24 '16, 32'
    bad_value "$1/rdma_tc" coll_hccl_rdma_tc 33 'multiples of 4'
    bad_value "$1/radix" coll_hccl_radix 65 '0 and 2 to 64'
    bad_value "$1/tree_radix" coll_hccl_tree_radix 65 '2 to 64'
    bad_value "$1/rings" coll_hccl_rings 17 '0 to 16'
    bad_value "$1/HCCL_IB_GID_INDEX" coll_hccl_ib_gid_index 1025 '0 to 255' HCCL_IB_GID_INDEX
    bad_value "$1/HCCL_IB_HCA" coll_hccl_ib_hca mlx5_1:0 '1 to 255' HCCL_IB_HCA
    bad_value "$1/HCCL_MULTI_QP_THRESHOLD" coll_hccl_rdma_multi_qp_threshold 8193 '1 to 8192' \
        HCCL_MULTI_QP_THRESHOLD
    bad_value "$1/HCCL_RDMA_BATCH" coll_hccl_rdma_batch 6500 '1 to 64' HCCL_RDMA_BATCH
    bad_value "$1/HCCL_RDMA_QPS_PER_CONNECTION" coll_hccl_rdma_qps_per_connection 3300 '1 to 32' \
        HCCL_RDMA_QPS_PER_CONNECTION
    bad_value "$1/HCCL_RDMA_RETRY_CNT" coll_hccl_rdma_retry_cnt 8000 '1 to 7' HCCL_RDMA_RETRY_CNT
    bad_value "$1/HCCL_RDMA_SL" coll_hccl_rdma_sl 8001 '0 to 7' HCCL_RDMA_SL
    bad_value "$1/HCCL_RDMA_TC" coll_hccl_rdma_tc 2530 '0 to 252' HCCL_RDMA_TC
    bad_value "$1/HCCL_RDMA_TIMEOUT" coll_hccl_rdma_timeout 2500 '5 to 24' HCCL_RDMA_TIMEOUT
    bad_value "$1/HCCL_RETRY_COUNT" coll_hccl_retry_count 1001 '0 to 1000' HCCL_RETRY_COUNT
    bad_value "$1/HCCL_TOPO_FILE" coll_hccl_topo_file /no/such_file 'cannot|No such' HCCL_TOPO_FILE
    bad_value "$1/port_map" coll_hccl_port_map '0=a,b' 'all entries .* or none'
    bad_value "$1/port_map:absent" coll_hccl_port_map no_such_device1 'this host does not have'
    number=$(sed -nE "$integers" "$params_file" | head -n 1)
    bad_value "$1/number:${number:-none}" "${number:-none}" 12monkeys 'integer|number|[0-9]'
    bad_value "$1/number:too-large" coll_hccl_sleep_after 1000000001 '0 to 1000000000'
}
