#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes a component say that it is for another version: select_version.py WHAT:X.Y.Z IN OUT

WHAT is mca (the interface of components) or coll (the interface of collectives). The component
structure begins with the MCA version, the project's name and version, the framework's name and
version and its own name: it is found by the last three.
"""
import struct
import sys

NAME = 32
PROJECT = 16


def main():
    if len(sys.argv) != 4 or sys.argv[1].split(":")[0] not in ("mca", "coll"):
        sys.exit("usage: select_version.py mca|coll:X.Y.Z IN OUT")
    what, version = sys.argv[1].split(":")
    numbers = [int(word) for word in version.split(".")]
    with open(sys.argv[2], "rb") as file:
        data = bytearray(file.read())
    pattern = b"coll".ljust(NAME, b"\0") + struct.pack("<iii", 2, 0, 0) + b"hccl\0"
    framework = data.find(pattern)
    start = framework - (12 + PROJECT + 12)
    if framework < 0 or struct.unpack_from("<ii", data, start) != (2, 1):
        sys.exit("select_version.py: no component structure in " + sys.argv[2])
    struct.pack_into("<iii", data, start if what == "mca" else framework + NAME, *numbers)
    with open(sys.argv[3], "wb") as file:
        file.write(data)


main()
