#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 300
#
# Bytes that long collectives send between hosts: out of and into each host at most 1.02 of the least
# possible (see `bound` in bytes), whatever the shape and the order of the ranks. And messages that short
# allreduce, bcast and barrier send: no host more than ceil(log2 H) for H hosts, which is what one rank
# per host would send in the fewest rounds, and what several ranks need in fewer rounds on these
# shapes; of short alltoallv one message to each other host. With HCCL_CHECK_LONG=1 more shapes, orders
# and sizes of the long ones.
#
# HCCL_TEST_CONTENDER  the components to test (default hccl; tuned and han must fail)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"

contender=${HCCL_TEST_CONTENDER:-hccl}
limit=1.02
shapes="4x2 2x4 3x3 1,2,3"
maps="slot node"
sizes="256K 4M"
if [[ 1 == "${HCCL_CHECK_LONG:-0}" ]]; then
    shapes+=" 5x2 8x1 2,1 3,1,2,2"
    maps+=" reverse random:1 random:2"
    sizes="256K 1M 4M 16M"
fi

# One test per shape, order and operation, over all its sizes, roots and hosts. A host whose bound is 0
# (the root's, one way) is passed over; a ratio far below 1 means that the counters do not count.
verdicts() { # CSV
    python3 - "$1" "$limit" <<'END'
import collections, csv, sys

worst = collections.defaultdict(lambda: (0, ""))
for row in csv.DictReader(open(sys.argv[1], encoding="ascii")):
    test = f"bytes/{row['slots']} by {row['map']}/{row['operation']}"
    for way in ("out", "in"):
        bound = int(row["bound_" + way])
        if bound:
            where = (f"{int(row[way]) / bound:.3f} of the bound {way} of {row['host']} with "
                     f"{row['vector_bytes']} bytes, root {row['root']}")
            worst[test] = max(worst[test], (int(row[way]) / bound, where))
for test, (ratio, where) in worst.items():
    if ratio < 0.9:
        print(f"not ok {test}: {where}: not all bytes were counted")
    elif ratio > float(sys.argv[2]):
        print(f"not ok {test}: {where}")
    else:
        print(f"ok {test}")
END
}

# One test per shape, order and operation, over all its sizes, roots and hosts.
message_verdicts() { # CSV
    python3 - "$1" <<'END'
import collections, csv, sys

most = collections.defaultdict(int)
hosts = {}
for row in csv.DictReader(open(sys.argv[1], encoding="ascii")):
    test = f"messages/{row['slots']} by {row['map']}/{row['operation']}"
    most[test] = max(most[test], int(row["out"]))
    hosts[test] = len(row["slots"].split(","))
for test, sent in most.items():
    limit = (hosts[test] - 1).bit_length()  # ceil(log2)
    if test.endswith("/alltoallv"):
        limit = hosts[test] - 1
    if 0 < sent <= limit:
        print(f"ok {test}")
    else:
        print(f"not ok {test}: a host sends {sent} messages, not 1 to {limit}")
END
}

main() {
    local message found
    message=$("$here/bed.sh" check) || {
        hccl_skip "bytes" "${message#skip: }"
        hccl_finish
    }
    make -C "$HCCL_BUILD_DIR/tests" hosts/traffic >/dev/null
    hccl_mktemp
    if ! "$here/bytes" --contenders "$contender" --shapes "$shapes" --maps "$maps" --sizes "$sizes" \
        --csv "$HCCL_TMP/bytes.csv" >"$HCCL_TMP/bytes.txt" 2>&1; then
        hccl_not_ok "bytes/measured" "$(grep -m 1 '^#' "$HCCL_TMP/bytes.txt" ||
            tail -n 1 "$HCCL_TMP/bytes.txt")"
    fi
    hccl_quote "$(cat "$HCCL_TMP/bytes.txt")"
    hccl_quote "$("$here/bytes" --messages --contenders "$contender" --shapes "4x2 2x4 3x3 1,2,3" \
        --csv "$HCCL_TMP/messages.csv" 2>&1)"
    found=$(verdicts "$HCCL_TMP/bytes.csv")$'\n'$(message_verdicts "$HCCL_TMP/messages.csv")
    echo "$found"
    if grep -q '^not ok' <<<"$found"; then
        HCCL_FAILED=$((HCCL_FAILED + 1))
    fi
    hccl_finish
}

main
