#!/bin/bash
# SPDX-License-Identifier: MIT
# The kernel's own ftrace tests; see tools/selftests. $1: the build.
exec "$(dirname "$0")/../../tools/selftests" -v "$1"
