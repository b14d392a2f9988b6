# SPDX-License-Identifier: MIT
# shellcheck shell=bash
for i in 1 2 3; do (echo $i | cat); done
sleep 0.05 &
wait
trap "echo t" USR1
kill -USR1 $$
