#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# devices: 0
# seconds: 150
#
# run_start.sh in the machine that vm makes, without devices: its kernel could have some.
exec "$(dirname "$0")/run_start.sh" 2
