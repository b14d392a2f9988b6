# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# max_graph_depth is a number.
for text in '5\n' '0\n' '-1\n' 'x\n' '99999999999999999999\n' ' 3\n' '3' '+4\n' '3 4\n' '007\n' \
  '' '\n'; do
  w max_graph_depth "$text"
  r max_graph_depth
done
echo 0 >max_graph_depth
call mode max_graph_depth
