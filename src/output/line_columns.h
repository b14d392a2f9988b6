// SPDX-License-Identifier: MIT
// The columns before an event's text, and the comment lines at the head of a file (docs/files.md,
// "Text of tracers"; kernel/trace/trace_output.c, trace.c).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "abi/buffer_abi.h"
#include "event/trace_options.h"

namespace patchbay {

// The five flag characters, from common_flags and common_preempt_count.
void put_flags(std::string* out, uint8_t flags, uint8_t preempt);
// "%5lu.%06lu" of nanoseconds, rounded to microseconds as the kernel and trace-cmd do.
void put_seconds(std::string* out, uint64_t ns);
// "            sshd-1343   ".
void put_task(std::string* out, std::string_view comm, int32_t pid);
// "[005] "
void put_cpu(std::string* out, uint32_t cpu);
// "[005] dNs2. 1234.567890: ", the last three of a line.
void put_place_and_time(std::string* out, uint32_t cpu, uint8_t flags, uint8_t preempt,
                        uint64_t ns);
// The three before: all columns of a line.
void put_columns(std::string* out, std::string_view comm, const abi::RecordHeader& header,
                 uint32_t cpu, uint64_t ns);
// "CPU:1 [LOST 77 EVENTS]\n"; kLostUnknown: without the number.
void put_lost(std::string* out, uint32_t cpu, uint64_t lost);

// The mark of a duration: ' ' + ! # * @ $ (10 us, 100 us, 1 ms, 10 ms, 100 ms, 1 s).
char duration_mark(uint64_t ns);

struct HeaderCounts {
  uint64_t entries = 0;  // in the buffer
  uint64_t written = 0;  // and overwritten since the last clear
  uint32_t nr_cpus = 1;  // online
};
// Everything up to the first event, from "# tracer: nop" on, as `options` want it. `tracer`: the
// name in current_tracer.
void put_header(std::string* out, const TraceOptions& options, bool latency_format,
                const HeaderCounts& counts, std::string_view tracer = "nop");

// The columns of the latency format.
struct LatencyLine {
  std::string_view comm;
  uint32_t cpu = 0;
  uint64_t index = 0;  // of the event
  uint64_t time = 0;   // in the clock's unit …
  uint64_t start = 0;  // … when the buffer was last cleared …
  uint64_t next = 0;   // … and of the event behind this one
  bool in_ns = true;
  bool verbose = false;
};
void put_latency_columns(std::string* out, const abi::RecordHeader& header,
                         const LatencyLine& line);

}  // namespace patchbay
