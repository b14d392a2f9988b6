# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
# .ustring on a string in the record.
w events/sched/sched_switch/filter 'prev_comm.ustring == "x"\n'
r events/sched/sched_switch/filter
w events/sched/sched_switch/filter 'prev_pid.ustring == "x"\n'
r events/sched/sched_switch/filter
w events/sched/sched_process_exec/filter 'filename.ustring == "x"\n'
r events/sched/sched_process_exec/filter
r error_log
