# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Setting them, seen in trace_options too.
for name in print-parent sym-offset sym-addr verbose raw hex bin block fields annotate \
  context-info \
  latency-format record-cmd record-tgid overwrite disable_on_free irq-info markers event-fork \
  pause-on-trace hash-ptr; do
  before=$(cat options/$name)
  w options/$name "$((1 - before))\n"
  r options/$name
  ours "$name\$" trace_options
  put options/$name "$before"
done
