# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# Each option as a file.
for name in print-parent sym-offset sym-addr verbose raw hex bin block fields trace_printk \
  annotate \
  userstacktrace sym-userobj printk-msg-only context-info latency-format record-cmd record-tgid \
  overwrite disable_on_free irq-info markers event-fork trace_printk_dest pause-on-trace hash-ptr \
  stacktrace; do
  call r options/$name
done
