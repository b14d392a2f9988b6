# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154
# kernel_recording : kernel.dat, which trace-cmd makes of the kernel's own events with their stacks.
# False where tracefs cannot be mounted, or trace-cmd is not installed.
kernel_recording() {
  command -v trace-cmd >/dev/null || return 1
  unshare -m bash -c '
    mount -t tracefs nodev /sys/kernel/tracing || exit 1
    into=/sys/kernel/tracing/instances/patchbay-export-$$
    mkdir "$into" || exit 1
    echo 64 >"$into/buffer_size_kb"
    echo 1 >"$into/options/stacktrace"
    for event in sched/sched_switch syscalls/sys_enter_openat sched/sched_process_exec; do
      echo 1 >"$into/events/$event/enable"
    done
    ls / >/dev/null
    echo 0 >"$into/tracing_on"
    trace-cmd extract -B "${into##*/}" -o kernel.dat --compression none
    rmdir "$into" || true' >kernel.out 2>&1
  [[ -s kernel.dat ]] && "$patchbay" report -i kernel.dat 2>/dev/null | grep -q sched_switch
}
