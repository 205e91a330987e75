#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Creates ./configure and the Makefile.in files from configure.ac and the Makefile.am files.
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p m4
exec autoreconf --install --force --warnings=all,no-override,no-portability "$@"
