# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of hccl_test on emulated hosts (tests/hosts/bed.sh), and what the scripts that compare them
share: the contenders, the check of arguments, the start and the result of one job.

Knows nothing of tables, charts or verdicts. Used by bench/headline and bench/links.
"""

import csv
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TUNED = "--mca coll tuned,basic,libnbc,self"
CONTENDERS = {
    "hccl": "--mca coll hccl",
    "tuned": TUNED,
    "han": "--mca coll han,sm,tuned,basic,libnbc,self --mca coll_han_priority 99",
}
MAPS = {"in order": "slot", "alternating": "node"}
SKIP, BAD_ARGUMENTS = 77, 2


class JobFailed(Exception):
    """A job that did not end well; the text says how."""


def refuse(message):
    print(f"{os.path.basename(sys.argv[0])}: {message}", file=sys.stderr)
    sys.exit(BAD_ARGUMENTS)


def size_of(text, option):
    """Bytes of a text such as 64M."""
    match = re.fullmatch(r"([1-9][0-9]{0,11})([KMG]?)", text.upper())
    if not match:
        refuse(f"{option} {text}: accepted are bytes, also with K, M or G, for example 64M")
    return int(match[1]) * 1024 ** " KMG".index(match[2] or " ")


def number_of(text, option, least, most):
    if not re.fullmatch(r"[0-9]{1,6}", text) or not least <= int(text) <= most:
        refuse(f"{option} {text}: accepted are numbers from {least} to {most}")
    return int(text)


def rate_of(text, option):
    """Bits per second of a text such as 200mbit."""
    match = re.fullmatch(r"([1-9][0-9]{0,5})([kmg])bit", text.lower())
    if not match:
        refuse(f"{option} {text}: accepted are numbers with kbit, mbit or gbit, for example 200mbit")
    return int(match[1]) * 1000 ** (1 + "kmg".index(match[2]))


def environment():
    """What tests/lib.sh exports, or the end of the program when nothing is built."""
    script = (f". {shlex.quote(ROOT)}/tests/lib.sh && export OMPI_MPIRUN HCCL_SANITIZERS HCCL_CC && "
              "env -0")
    shell = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, check=False)
    if shell.returncode != 0:
        sys.exit(BAD_ARGUMENTS)
    return dict(entry.split("=", 1) for entry in shell.stdout.decode().split("\0") if "=" in entry)


def sanitizer_options(variables):
    """A component that was built with the sanitizers is opened by a program that was not."""
    if variables.get("HCCL_SANITIZERS") != "1":
        return []
    library = subprocess.run([variables["HCCL_CC"], "-print-file-name=libasan.so"], check=True,
                             stdout=subprocess.PIPE).stdout.decode().strip()
    return ["-x", f"LD_PRELOAD={library}", "-x", "ASAN_OPTIONS=detect_leaks=0"]


class Beds:
    """Beds of one size and rate; every job has a fresh one."""

    def __init__(self, slots, rate, wrap):
        self.slots = slots  # ranks of each host, separated by commas
        self.rate = rate
        self.wrap = shlex.split(wrap)  # a command put before each job
        self.environment = environment()
        check = subprocess.run([f"{ROOT}/tests/hosts/bed.sh", "check"], env=self.environment,
                               stdout=subprocess.PIPE, check=False)
        if check.returncode != 0:
            print(check.stdout.decode().strip() or "skip: no emulated hosts can be made here")
            sys.exit(SKIP)

    def job(self, order, options, program, arguments, limit):
        """Output of one job. order: a value of bed.sh's --map; options: mpirun's; program: its path
        in the build tree; limit: seconds that it may take."""
        # setpriv, because a killed script must not leave a job behind.
        command = ["setpriv", "--pdeathsig", "TERM", *self.wrap, "timeout", "--foreground",
                   "--kill-after=10", str(limit), f"{ROOT}/tests/hosts/bed.sh", "run",
                   "--slots", self.slots, "--map", order, "--rate", self.rate, "--",
                   *sanitizer_options(self.environment), *shlex.split(options),
                   os.path.join(self.environment["HCCL_BUILD_DIR"], program),
                   *shlex.split(arguments)]
        job = subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        text = job.stdout.decode(errors="replace")
        if job.returncode in (124, 137):
            raise JobFailed(f"stopped after {limit} s")
        if job.returncode != 0:
            lines = [line for line in text.splitlines() if line.strip() and "setpgid" not in line]
            # After a signal Open MPI prints where each process was.
            shown = lines if job.returncode > 128 else lines[-3:]
            raise JobFailed(f"exit code {job.returncode}: {' | '.join(shown)}")
        return text

    def run(self, order, options, test, limit):
        """Rows of hccl_test's CSV for one job. order: a key of MAPS; test: hccl_test's arguments."""
        with tempfile.TemporaryDirectory(prefix="hccl-bench.") as directory:
            table = os.path.join(directory, "job.csv")
            self.job(MAPS[order], options, os.path.join("bench", "hccl_test"),
                     f"{test} --net data --csv {table}", limit)
            with open(table, newline="", encoding="ascii") as file:
                return list(csv.DictReader(file))
