# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Functions whose calls the graph begins with.
graph() { echo "< $1"; sort "$1"; }
for text in vfs_fsync 'vfs_mk*' nosuchfunction vfs_fsync '!vfs_mkdir' '!vfs_mkdir' \
  '!nosuchfunction' 'vfs_fstat vfs_mkdir' '\t' ''; do
  w set_graph_function "$text\n"
  graph set_graph_function
done
t set_graph_function 'vfs_mkdir\n'
graph set_graph_function
t set_graph_function 'nosuchfunction\n'
graph set_graph_function
t set_graph_function '\n'
graph set_graph_function
