# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# No commands, no modules, no numbers.
for text in vfs_fsync:traceoff vfs_fsync:mod:nosuchmodule 1 '!' ':' '#'; do
  w set_graph_function "$text\n"
  w set_graph_notrace "$text\n"
done
r set_graph_function
r set_graph_notrace
