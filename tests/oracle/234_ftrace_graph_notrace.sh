# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Functions whose calls it leaves out.
graph() { echo "< $1"; sort "$1"; }
for text in vfs_fsync 'vfs_mk?ir' 'vfs_mk[no]*' nosuchfunction '!vfs_mk*'; do
  w set_graph_notrace "$text\n"
  graph set_graph_notrace
done
graph set_graph_function
t set_graph_notrace '\n'
graph set_graph_notrace
