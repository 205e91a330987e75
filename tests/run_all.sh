#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
echo "0 passed, 0 failed, 0 skipped"
