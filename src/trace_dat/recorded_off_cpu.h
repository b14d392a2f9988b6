// SPDX-License-Identifier: MIT
// When the threads of a recording were off the CPU: its sched:sched_switch, of the kernel's buffer
// (record -k) or of a kernel's own recording (trace-cmd record -e sched_switch).
#pragma once

#include <memory>
#include <string>

#include "event/off_cpu_times.h"
#include "event/sched_switch.h"
#include "trace_dat/trace_dat_read.h"

namespace patchbay {

struct RecordedOffCpu {
  OffCpuTimes times;
  SchedSwitchReader reader;  // says the letters of states
};

// Reads all pages of that buffer. Null: the recording has no switches. Lost events of the buffer
// are doubts of all threads; damaged pages too.
std::unique_ptr<RecordedOffCpu> recorded_off_cpu(const TraceDatReader& file);

// The same of any pages; what was lost counts from the CPU's event before.
void take_switches(PageSource* pages, const SchedSwitchReader& reader, OffCpuTimes* times);

}  // namespace patchbay
