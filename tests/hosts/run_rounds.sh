#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 200
#
# Rounds of short collectives, by the clock: on hosts whose messages take 15 ms, the time of an
# allreduce, bcast or barrier says how many of them follow one another. For 2 to 8 hosts with one rank
# each, with two, and with one or two, that must be at most ceil(log(H) / log(L + 1)) for H hosts and L
# ranks of the smallest: the fewest if each rank talks to one other at a time.
#
# HCCL_TEST_CONTENDER  mpirun's options that choose the components (default --mca coll hccl; with tuned
#                      several ranks per host must fail)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"

delay=15
repeats=8

# One test per operation, length and number of ranks, over all numbers of hosts.
verdicts() { # FILE
    python3 - "$1" <<'END'
import collections, csv, sys

found = collections.defaultdict(list)
for row in csv.reader(open(sys.argv[1], encoding="ascii", errors="replace")):
    if row and "ruler" == row[0]:
        found["ruler"].append((f"{row[1]} messages in a row", int(row[2]), int(row[1]), int(row[1])))
    elif row and "rounds" == row[0]:
        _, operation, size, root, hosts, ranks, rounds, limit, ms = row
        found[f"{operation} of {size} bytes, {ranks} per host"].append(
            (f"{hosts} hosts, root {root}: {ms} ms", int(rounds), 1, int(limit)))
for test, cases in found.items():
    wrong = [f"{where}, {rounds} rounds, not {least} to {most}"
             for where, rounds, least, most in cases if not least <= rounds <= most]
    if len(cases) != (4 if "ruler" == test else 7):
        print(f"not ok rounds/{test}: only {len(cases)} cases were timed")
    elif wrong:
        print(f"not ok rounds/{test}: {'; '.join(wrong)}")
    else:
        print(f"ok rounds/{test}")
if len(found) != 16:
    print(f"not ok rounds/timed: {len(found)} of 16 kinds")
END
}

main() {
    local message found rc=0
    local -a contender
    read -ra contender <<<"${HCCL_TEST_CONTENDER:---mca coll hccl}"
    message=$("$here/bed.sh" check) || {
        hccl_skip "rounds" "${message#skip: }"
        hccl_finish
    }
    make -C "$HCCL_BUILD_DIR/tests" hosts/rounds >/dev/null
    hccl_mktemp
    hccl_limit 150 "$here/bed.sh" run --hosts 8 --slots 2 --delay "$delay" -- "${contender[@]}" \
        "$HCCL_BUILD_DIR/tests/hosts/rounds" "$delay" "$repeats" >"$HCCL_TMP/rounds" 2>&1 </dev/null ||
        rc=$?
    if ((0 != rc)); then
        hccl_quote "$(tail -n 5 "$HCCL_TMP/rounds")"
        hccl_not_ok "rounds/job" "exit code $rc"
    fi
    found=$(verdicts "$HCCL_TMP/rounds")
    echo "$found"
    if grep -q '^not ok' <<<"$found"; then
        HCCL_FAILED=$((HCCL_FAILED + 1))
    fi
    hccl_finish
}

main
