#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Collectives as a Python program calls them, through mpi4py: pickled objects, buffers, arrays.

Expected values are closed formulas of the rank. Verdicts travel by send and recv only, so that a
broken collective cannot hide itself. Rank 0 prints one line per test, as tests/lib.sh describes.
It knows MPI only, nothing of the component. Started by run_clients.sh.
"""
import sys
import traceback
from array import array

from mpi4py import MPI
from mpi4py.futures import MPICommExecutor

try:
    import numpy
except ImportError:
    numpy = None

WORLD = MPI.COMM_WORLD
RANK = WORLD.Get_rank()
SIZE = WORLD.Get_size()
ROOTS = sorted({0, SIZE // 2, SIZE - 1})
COUNTS = (0, 1, 7, 1000, 40000)

TESTS = []
WRONG = []


class Skip(Exception):
    """Raised by a test on every rank alike; its text is the reason."""


def test(function):
    TESTS.append(function)
    return function


def check(good, what):
    """Notes what is wrong and goes on, so that this rank stays in step with the others."""
    if not good:
        WRONG.append(f"rank {RANK}: {what}")


def equal(found, expected, what):
    check(found == expected, f"{what}: {str(found)[:80]} for {str(expected)[:80]}")


def same(found, expected, what):
    found, expected = list(found), list(expected)
    if found != expected:
        at = next((i for i, (a, b) in enumerate(zip(found, expected)) if a != b), "the length")
        check(False, f"{what}: differs at {at}: {found[:8]} for {expected[:8]}")


def ints(count, value=0):
    return array("i", [value]) * count


def pattern(count, rank):
    return array("i", [1000 * rank + i % 997 for i in range(count)])


def pattern_sum(count, ranks):
    ranks = list(ranks)
    return [1000 * sum(ranks) + len(ranks) * (i % 997) for i in range(count)]


def displacements(counts, gap=1):
    return [sum(counts[:i]) + gap * i for i in range(len(counts))]


# ---- pickled objects

@test
def objects_rooted():
    for root in ROOTS:
        thing = {"root": root, "text": "x" * 5000} if RANK == root else None
        equal(WORLD.bcast(thing, root), {"root": root, "text": "x" * 5000}, "bcast")
        parts = [("part", i) for i in range(SIZE)] if RANK == root else None
        equal(WORLD.scatter(parts, root), ("part", RANK), "scatter")
        gathered = WORLD.gather([RANK] * (RANK + 1), root)
        equal(gathered, [[r] * (r + 1) for r in range(SIZE)] if RANK == root else None, "gather")
        total = WORLD.reduce(RANK + 1, MPI.SUM, root)
        equal(total, SIZE * (SIZE + 1) // 2 if RANK == root else None, "reduce")


@test
def objects_all():
    equal(WORLD.allgather("r%d" % RANK), ["r%d" % r for r in range(SIZE)], "allgather")
    parts = [(RANK, to) for to in range(SIZE)]
    equal(WORLD.alltoall(parts), [(r, RANK) for r in range(SIZE)], "alltoall")
    equal(WORLD.allreduce(float(RANK), MPI.MAX), SIZE - 1, "allreduce max")
    equal(WORLD.allreduce([RANK], lambda a, b: a + b), list(range(SIZE)), "allreduce of lists")
    letters = [chr(ord("a") + r % 26) for r in range(SIZE)]
    equal(WORLD.scan(letters[RANK], lambda a, b: a + b), "".join(letters[:RANK + 1]), "scan")
    before = WORLD.exscan(RANK + 1)
    equal(before, None if RANK == 0 else RANK * (RANK + 1) // 2, "exscan")


# ---- buffers, blocking and nonblocking

def both(name, *args, comm=WORLD):
    """Calls the blocking or the nonblocking form of a collective: yields a function for each."""
    def blocking():
        getattr(comm, name)(*args)

    def nonblocking():
        getattr(comm, "I" + name[0].lower() + name[1:])(*args).Wait()
    return blocking, nonblocking


@test
def buffer_bcast():
    for count in COUNTS:
        for root in ROOTS:
            data = ints(count)
            for run in both("Bcast", [data, MPI.INT], root):
                data[:] = pattern(count, root) if RANK == root else ints(count, -1)
                run()
                same(data, pattern(count, root), f"count {count} root {root}")


@test
def buffer_reduce():
    for count in COUNTS:
        for root in ROOTS:
            result = ints(count, -1)
            for run in both("Reduce", [pattern(count, RANK), MPI.INT], [result, MPI.INT],
                            MPI.SUM, root):
                run()
                same(result, pattern_sum(count, range(SIZE)) if RANK == root else ints(count, -1),
                     f"count {count} root {root}")
                result[:] = ints(count, -1)


@test
def buffer_allreduce():
    for count in COUNTS:
        result = ints(count)
        for run in both("Allreduce", [pattern(count, RANK), MPI.INT], [result, MPI.INT], MPI.SUM):
            run()
            same(result, pattern_sum(count, range(SIZE)), f"count {count}")
            result[:] = ints(count, -1)
        result[:] = pattern(count, RANK)
        WORLD.Allreduce(MPI.IN_PLACE, [result, MPI.INT], MPI.MAX)
        same(result, pattern(count, SIZE - 1), f"in place, count {count}")


@test
def buffer_allreduce_pairs():
    mine = array("i", [(RANK * 3) % SIZE, RANK] * 5)
    best = ints(10)
    WORLD.Allreduce([mine, 5, MPI.INT_INT], [best, 5, MPI.INT_INT], MPI.MAXLOC)
    top = max((r * 3) % SIZE for r in range(SIZE))
    where = min(r for r in range(SIZE) if (r * 3) % SIZE == top)
    same(best, [top, where] * 5, "maxloc")


@test
def buffer_reduce_scatter():
    for count in (1, 7, 5000):
        whole = pattern_sum(count * SIZE, range(SIZE))
        mine = ints(count)
        for run in both("Reduce_scatter_block", [pattern(count * SIZE, RANK), MPI.INT],
                        [mine, MPI.INT], MPI.SUM):
            run()
            same(mine, whole[RANK * count:(RANK + 1) * count], f"block, count {count}")
            mine[:] = ints(count, -1)
        counts = [count * (r % 3) for r in range(SIZE)]
        start = sum(counts[:RANK])
        mine = ints(counts[RANK])
        for run in both("Reduce_scatter", [pattern(sum(counts), RANK), MPI.INT],
                        [mine, MPI.INT], counts, MPI.SUM):
            run()
            same(mine, pattern_sum(sum(counts), range(SIZE))[start:start + counts[RANK]],
                 f"uneven, count {count}")
            mine[:] = ints(counts[RANK], -1)


@test
def buffer_scan():
    for count in COUNTS:
        result = ints(count)
        for run in both("Scan", [pattern(count, RANK), MPI.INT], [result, MPI.INT], MPI.SUM):
            run()
            same(result, pattern_sum(count, range(RANK + 1)), f"scan, count {count}")
        result = ints(count, -1)
        for run in both("Exscan", [pattern(count, RANK), MPI.INT], [result, MPI.INT], MPI.SUM):
            run()
            if RANK > 0:
                same(result, pattern_sum(count, range(RANK)), f"exscan, count {count}")


@test
def buffer_gather_scatter():
    for count in (0, 1, 1000):
        for root in ROOTS:
            whole = ints(count * SIZE)
            for run in both("Gather", [pattern(count, RANK), MPI.INT], [whole, MPI.INT], root):
                run()
                if RANK == root:
                    same(whole, [v for r in range(SIZE) for v in pattern(count, r)], "gather")
                whole[:] = ints(count * SIZE, -1)
            mine = ints(count)
            for run in both("Scatter", [pattern(count * SIZE, root), MPI.INT], [mine, MPI.INT],
                            root):
                run()
                same(mine, pattern(count * SIZE, root)[RANK * count:(RANK + 1) * count], "scatter")
                mine[:] = ints(count, -1)


@test
def buffer_gatherv_scatterv():
    counts = [(r * 5) % 7 for r in range(SIZE)]
    displs = displacements(counts)
    length = sum(counts) + SIZE
    spread = ints(length, -1)
    for r in range(SIZE):
        spread[displs[r]:displs[r] + counts[r]] = pattern(counts[r], r)
    for root in ROOTS:
        whole = ints(length, -1)
        for run in both("Gatherv", [pattern(counts[RANK], RANK), MPI.INT],
                        [whole, counts, displs, MPI.INT], root):
            run()
            same(whole, spread if RANK == root else ints(length, -1), "gatherv")
            whole[:] = ints(length, -1)
        mine = ints(counts[RANK])
        for run in both("Scatterv", [spread, counts, displs, MPI.INT], [mine, MPI.INT], root):
            run()
            same(mine, pattern(counts[RANK], RANK), "scatterv")
            mine[:] = ints(counts[RANK], -1)
    whole = ints(length, -1)
    for run in both("Allgatherv", [pattern(counts[RANK], RANK), MPI.INT],
                    [whole, counts, displs, MPI.INT]):
        run()
        same(whole, spread, "allgatherv")
        whole[:] = ints(length, -1)


@test
def buffer_allgather_alltoall():
    for count in (0, 1, 3000):
        whole = ints(count * SIZE)
        for run in both("Allgather", [pattern(count, RANK), MPI.INT], [whole, MPI.INT]):
            run()
            same(whole, [v for r in range(SIZE) for v in pattern(count, r)], "allgather")
            whole[:] = ints(count * SIZE, -1)
        expected = [v for r in range(SIZE)
                    for v in pattern(count * SIZE, r)[RANK * count:(RANK + 1) * count]]
        for run in both("Alltoall", [pattern(count * SIZE, RANK), MPI.INT], [whole, MPI.INT]):
            run()
            same(whole, expected, "alltoall")
            whole[:] = ints(count * SIZE, -1)


@test
def buffer_alltoallv_alltoallw():
    def amount(source, target):
        return (source + 2 * target) % 5

    send_counts = [amount(RANK, to) for to in range(SIZE)]
    recv_counts = [amount(of, RANK) for of in range(SIZE)]
    send_displs, recv_displs = displacements(send_counts), displacements(recv_counts)
    send, expected = ints(sum(send_counts) + SIZE, -1), ints(sum(recv_counts) + SIZE, -1)
    for peer in range(SIZE):
        a, b = send_displs[peer], recv_displs[peer]
        send[a:a + send_counts[peer]] = ints(send_counts[peer], 100 * RANK + peer)
        expected[b:b + recv_counts[peer]] = ints(recv_counts[peer], 100 * peer + RANK)
    found = ints(len(expected), -1)
    for run in both("Alltoallv", [send, send_counts, send_displs, MPI.INT],
                    [found, recv_counts, recv_displs, MPI.INT]):
        run()
        same(found, expected, "alltoallv")
        found[:] = ints(len(expected), -1)
    types = [MPI.INT] * SIZE
    for run in both("Alltoallw", [send, send_counts, [4 * d for d in send_displs], types],
                    [found, recv_counts, [4 * d for d in recv_displs], types]):
        run()
        same(found, expected, "alltoallw")
        found[:] = ints(len(expected), -1)


@test
def derived_types():
    column = MPI.INT.Create_vector(10, 1, 3).Create_resized(0, 4)
    column.Commit()
    matrix = pattern(30, RANK) if RANK == 0 else ints(30, -1)
    WORLD.Bcast([matrix, 1, column], 0)
    same(matrix[0::3], pattern(30, 0)[0::3], "column")
    if RANK != 0:
        same(matrix[1::3], ints(10, -1), "what the type leaves out")
    column.Free()


@test
def user_operations():
    # Maps x -> a x + b modulo a prime, composed in rank order: associative, not commutative.
    prime = 10007

    def composed(first, second):
        return first[0] * second[0] % prime, (first[1] * second[0] + second[1]) % prime

    def compose(invec, inoutvec, datatype):
        check(datatype == pair, "the operation got another datatype")
        left, right = memoryview(invec).cast("i"), memoryview(inoutvec).cast("i")
        for k in range(0, len(right), 2):
            right[k], right[k + 1] = composed((left[k], left[k + 1]), (right[k], right[k + 1]))

    def maps(rank):
        return [(rank + 2 + k % 5, 3 * rank + k % 11) for k in range(300)]

    def flat(pairs):
        return array("i", [v for p in pairs for v in p])

    def in_order(last):
        result = maps(0)
        for rank in range(1, last + 1):
            result = [composed(a, b) for a, b in zip(result, maps(rank))]
        return flat(result)

    pair = MPI.INT.Create_contiguous(2).Commit()
    operation = MPI.Op.Create(compose, commute=False)
    found = ints(600)
    WORLD.Allreduce([flat(maps(RANK)), 300, pair], [found, 300, pair], operation)
    same(found, in_order(SIZE - 1), "allreduce")
    WORLD.Scan([flat(maps(RANK)), 300, pair], [found, 300, pair], operation)
    same(found, in_order(RANK), "scan")
    for root in ROOTS:
        found = ints(600, -1)
        WORLD.Reduce([flat(maps(RANK)), 300, pair], [found, 300, pair], operation, root)
        same(found, in_order(SIZE - 1) if RANK == root else ints(600, -1), f"reduce to {root}")
    operation.Free()
    pair.Free()


@test
def many_in_flight():
    results = [ints(50) for _ in range(20)]
    sends = [pattern(50, RANK + i) for i in range(20)]
    requests = [WORLD.Iallreduce([s, MPI.INT], [r, MPI.INT], MPI.SUM)
                for s, r in zip(sends, results)]
    requests.append(WORLD.Ibarrier())
    MPI.Request.Waitall(requests[::-1])
    for i, result in enumerate(results):
        same(result, pattern_sum(50, range(i, SIZE + i)), f"operation {i}")


# ---- communicators

@test
def split_and_dup():
    for colours in (2, 3):
        part = WORLD.Split(RANK % colours, -RANK)
        copy = part.Dup()
        members = [r for r in range(SIZE) if r % colours == RANK % colours][::-1]
        equal(copy.allgather(RANK), members, "allgather")
        copy.Barrier()
        copy.Free()
        part.Free()
    equal(MPI.COMM_SELF.allreduce(5), 5, "allreduce on COMM_SELF")
    equal(MPI.COMM_SELF.alltoall(["me"]), ["me"], "alltoall on COMM_SELF")
    MPI.COMM_SELF.Ibarrier().Wait()


@test
def intercommunicators():
    if SIZE < 2:
        raise Skip("needs two ranks")
    side = RANK % 2
    local = WORLD.Split(side, RANK)
    inter = local.Create_intercomm(0, WORLD, 1 - side, 3)
    others = [r for r in range(SIZE) if r % 2 != side]
    equal(inter.allgather(RANK), others, "allgather")
    equal(inter.allreduce(RANK), sum(others), "allreduce")
    root = (MPI.ROOT if local.Get_rank() == 0 else MPI.PROC_NULL) if side == 0 else 0
    word = inter.bcast("from 0" if RANK == 0 else None, root)
    if side == 1:
        equal(word, "from 0", "bcast")
    inter.Barrier()
    merged = inter.Merge(side == 1)
    order = list(range(0, SIZE, 2)) + list(range(1, SIZE, 2))
    equal(merged.allgather(RANK), order, "allgather on the merged communicator")
    merged.Free()
    inter.Free()
    local.Free()


@test
def neighbourhoods():
    ring = WORLD.Create_cart([SIZE], [True], False)
    left, right = (RANK - 1) % SIZE, (RANK + 1) % SIZE
    equal(ring.neighbor_allgather(RANK), [left, right], "neighbor_allgather")
    parts = [(RANK, "left"), (RANK, "right")]
    equal(ring.neighbor_alltoall(parts), [(left, "right"), (right, "left")], "neighbor_alltoall")
    found = ints(2)
    ring.Ineighbor_allgather([array("i", [RANK]), MPI.INT], [found, MPI.INT]).Wait()
    same(found, [left, right], "Ineighbor_allgather")
    ring.Free()
    star = WORLD.Create_dist_graph_adjacent([0], list(range(SIZE)) if RANK == 0 else [])
    counts = [3] * SIZE if RANK == 0 else []
    got = ints(3)
    star.Neighbor_alltoallv([pattern(3 * SIZE, 0), counts, displacements(counts, 0), MPI.INT],
                            [got, [3], [0], MPI.INT])
    same(got, pattern(3 * SIZE, 0)[3 * RANK:3 * RANK + 3], "Neighbor_alltoallv")
    star.Free()


@test
def futures():
    with MPICommExecutor(WORLD, root=0) as executor:
        if executor is not None:
            same(executor.map(pow, range(40), [2] * 40), [i * i for i in range(40)], "map")


@test
def numpy_arrays():
    if numpy is None:
        raise Skip("numpy is not installed")
    for kind in ("i1", "u2", "i8", "f4", "f8", "c16"):
        mine = (numpy.arange(5000) % 3 + RANK).astype(kind)
        total = numpy.empty_like(mine)
        WORLD.Allreduce(mine, total)
        expected = SIZE * (numpy.arange(5000) % 3) + SIZE * (SIZE - 1) // 2
        check((total == expected.astype(kind)).all(), kind)
        rows = numpy.empty((SIZE, 5000), kind)
        WORLD.Allgather(mine, rows)
        expected = numpy.arange(5000) % 3 + numpy.arange(SIZE)[:, None]
        check((rows == expected.astype(kind)).all(), kind)
        swapped = numpy.empty((SIZE, 100), kind)
        WORLD.Alltoall(numpy.repeat(numpy.arange(SIZE) + SIZE * RANK, 100).astype(kind), swapped)
        check((swapped == (SIZE * numpy.arange(SIZE) + RANK)[:, None].astype(kind)).all(), kind)


def line_name(function):
    return f"clients/mpi4py-{SIZE}/{function.__name__}"


def run_test(function):
    """This rank's verdict: what is wrong, a Skip, or None. An exception ends the job, since the
    other ranks may wait for this one."""
    WRONG.clear()
    try:
        function()
    except Skip as skip:
        return skip
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        text = " ".join(str(error).split())[:200]
        text = f"rank {RANK}: {type(error).__name__}: {text}"
        print(f"not ok {line_name(function)}: {text}", flush=True)
        WORLD.Abort(1)
    return WRONG[0] if WRONG else None


def main():
    failed = 0
    for function in TESTS:
        verdict = run_test(function)
        if RANK != 0:
            WORLD.send(verdict, 0, 99)
            continue
        verdicts = [verdict] + [WORLD.recv(source=r, tag=99) for r in range(1, SIZE)]
        name = line_name(function)
        wrong = [str(v) for v in verdicts if v is not None and not isinstance(v, Skip)]
        if wrong:
            failed += 1
            print(f"not ok {name}: " + " ".join(wrong[0].split())[:300], flush=True)
        elif isinstance(verdict, Skip):
            print(f"skip {name}: {verdict}", flush=True)
        else:
            print(f"ok {name}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
