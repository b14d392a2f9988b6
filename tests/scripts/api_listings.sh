#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The listings of the kernel's document on its in-kernel event API, as C11 and as C++20, and what they
# leave in `trace`. SY-11 to SY-15.
. "$(dirname "$0")/common.bash"

[[ -x $programs/api_seed_listings ]] || skip "it is not built"
listings() {
  cat <<'END'
synth_event_create: 0
  schedtest	pid_t next_pid_field; char[16] next_comm_field; u64 ts_ns; u64 ts_ms; unsigned int cpu; char[64] my_string_field; int my_int_field
synth_event_trace: 0
  schedtest: next_pid_field=444 next_comm_field=clackers ts_ns=1000000 ts_ms=1000 cpu=N my_string_field=Thneed my_int_field=999
synth_event_trace_array: 0
synth_event_trace_start: 0
synth_event_add_next_val: 0
synth_event_trace_end: 0
synth_event_add_val: 0
synth_event_trace_end: 0
  schedtest: next_pid_field=777 next_comm_field=tiddlywinks ts_ns=1000000 ts_ms=1000 cpu=N my_string_field=thneed my_int_field=398
  schedtest: next_pid_field=777 next_comm_field=slinky ts_ns=1000000 ts_ms=1000 cpu=N my_string_field=thneed_2.01 my_int_field=395
  schedtest: next_pid_field=777 next_comm_field=silly putty ts_ns=1000000 ts_ms=1000 cpu=N my_string_field=thneed_9 my_int_field=3999
synth_event_delete: 0
synth_event_gen_cmd_start: 0
synth_event_add_field: 0
synth_event_gen_cmd_end: 0
  schedtest	pid_t next_pid_field; u64 ts_ns; int intfield
synth_event_delete: 0
synth_event_gen_cmd_array_start: 0
synth_event_add_fields: 0
synth_event_add_field_str: 0
synth_event_gen_cmd_end: 0
  schedtest	pid_t next_pid_field; char[16] next_comm_field; pid_t next_pid_field; char[16] next_comm_field; u64 ts_ns; u64 ts_ms; char[] as_it_is
synth_event_delete: 0
kprobe_event_gen_cmd_start: 0
kprobe_event_add_fields: 0
kprobe_event_gen_cmd_end: 0
trace_array_set_clr_event: 0
  gen_kprobe_test: (do_sys_open+0x0/N) dfd=N filename=0x42 flags=0x1b6 mode=N
kprobe_event_delete while on: -16
kprobe_event_delete: 0
kretprobe_event_gen_cmd_start: 0
kretprobe_event_gen_cmd_end: 0
  gen_kretprobe_test: (main+N/N <- do_sys_open) arg1=0x2a
kprobe_event_delete: 0
dynevent_arg_add: 0
dynevent_arg_pair_add: 0
dynevent_str_add: 0
  run: a  u64 a;as it is
dynevent_create: 0
END
}
# What differs from run to run.
settled() {
  sed -E 's/cpu=[0-9]+/cpu=N/; s,\+0x0/0x[0-9a-f]+\),+0x0/N),; s/(dfd|mode)=0x[0-9a-f]+/\1=N/g
    s,\([a-z_]+\+0x[0-9a-f]+/0x[0-9a-f]+ <-,(main+N/N <-,'
}
for program in api_seed_listings api_seed_listings_cxx; do
  same "$program" "$(listings)" "$("$programs/$program" 2>"$work/err" | settled)"
  same "$program says nothing else" "" "$(cat "$work/err")"
done

finish
