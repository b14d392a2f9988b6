# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What the sequences of this folder use. Read by busybox ash in the kernel under test and in our
# mount, in the root of the tree. $CALL is the tracefs_call program. POSIX sh only.
w() { "$CALL" w "$@"; }
t() { "$CALL" t "$@"; }
r() { "$CALL" r "$@"; }
p() { "$CALL" p "$@"; }
call() { "$CALL" "$@"; }
# What stands last in a file: last 3 error_log
last() { "$CALL" r "$2" | tail -n "$1"; }
# Writes that prepare a step and are not asked about.
put() { echo "$2" >>"$1"; }
# What is enabled, in the order of the alphabet: the kernel's order is that of its link.
enabled() { "$CALL" r set_event | sort; }
cpus() { find per_cpu -mindepth 1 -maxdepth 1 -name 'cpu[0-9]*' | wc -l; }
# The lines of a file that name one of our events, sorted: the kernel has more events.
ours() { grep -E "$1" "$2" | sort; }

# Histograms: what is listed in a trigger file, and what a command left in error_log.
hist_show() {
  grep -v '^# ' "$1"
  sed 's/^\[[^]]*\] //' error_log
  : >error_log
}
hist_add() { # FILE COMMAND, to those that are there
  w "$1" "hist:$2\n"
  hist_show "$1"
}
hist_try() { # FILE COMMAND, alone
  t "$1" "hist:$2\n"
  hist_show "$1"
}
hist_clean() {
  for one; do : >"$one"; done
  : >error_log
}
# hist_fires EVENT NAME VALUE… : a marker NAME fires the synthetic event with these values. Of words
# instead of numbers the fields of the marker's record.
hist_fires() {
  event=$1 name=$2 vars='' params=''
  shift 2
  for value; do
    variable=v$name$(echo "$params" | tr -cd , | wc -c)
    vars=$vars,$variable=$value
    params=$params,\$$variable
  done
  put events/ftrace/print/trigger "hist:keys=common_type:${vars#,}:onmatch(ftrace.print).\
$event(${params#,}) if buf == \"$name\""
}
marks() { for one; do echo_marker "$one"; done; }
echo_marker() { "$CALL" w trace_marker "$1" >/dev/null; }

# The state after the start, as far as a sequence may have changed it.
reset_instances() {
  for one in instances/*; do
    [ -d "$one" ] && rmdir "$one"
  done
}
reset_options() {
  for option in markers overwrite irq-info context-info print-parent annotate record-cmd \
  trace_printk \
    hash-ptr; do
    echo 1 >"options/$option"
  done
  for option in sym-offset sym-addr verbose raw hex bin block fields userstacktrace sym-userobj \
    latency-format record-tgid disable_on_free event-fork pause-on-trace stacktrace; do
    echo 0 >"options/$option"
  done
}
reset_tracers() {
  echo nop >current_tracer
  for file in set_ftrace_filter set_ftrace_notrace set_ftrace_pid set_ftrace_notrace_pid \
    set_graph_function set_graph_notrace; do
    [ -e $file ] && : >$file
  done
  [ -e max_graph_depth ] && echo 0 >max_graph_depth
}
reset_tree() {
  reset_tracers
  reset_instances
  echo >set_event
  [ -e dynamic_events ] && : >dynamic_events
  for system in sched task signal irq timer kmem raw_syscalls syscalls rcu initcall; do
    echo 0 >events/$system/filter
  done
  echo >set_event_pid
  echo >set_event_notrace_pid
  reset_options
  echo "$ALL_CPUS" >tracing_cpumask
  echo 0 >snapshot
  echo 4 >buffer_subbuf_size_kb
  echo 1408 >buffer_size_kb
  echo 50 >buffer_percent
  echo 0 >tracing_thresh
  echo local >trace_clock
  echo 1 >tracing_on
  : >error_log
  : >trace
}
ALL_CPUS=$(cat tracing_cpumask)
