// SPDX-License-Identifier: MIT
//
// What an exporter gets: one event at a time, in order of time, of all inputs, and who the
// processes and threads are. ExportSource makes them (export_source.h), an ExportSink writes them
// (export_sink.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export/export_schema.h"
#include "ring_buffer/buffer_file.h"
#include "symbol/symbol.h"

namespace patchbay {

// Names, paths and comms are bytes of foreign files: an exporter makes them harmless for its format
// (export_text.h).
struct ExportProcess {
  uint32_t index = 0, host = 0;
  int32_t pid = 0;
  bool is_known = false;  // false: the file does not say whose the thread is; pid is its own id
  std::string name;       // the comm of its first thread, or its program's file
  std::string exe;
  std::vector<std::string> command_line;
  std::vector<RecordedModule> modules;
};

struct ExportThread {
  uint32_t index = 0;
  int32_t tid = 0;
  uint32_t cpu = 0;  // of the idle thread (tid 0): there is one a CPU
  ExportProcess* process = nullptr;
  std::string comm;  // "<...>" where it is not known
};

// One file, or one process's buffers.
struct ExportInputInfo {
  std::string path;
  uint32_t host = 0;
  std::string clock;                 // what ns counts: "mono", "local", …
  bool is_monotonic = false;         // ns is CLOCK_MONOTONIC of its host
  std::vector<std::string> buffers;  // names; "": the top one
};

struct ExportMeta {
  std::vector<ExportInputInfo> inputs;
  // Names of machines: what the recordings say, or the names of files that do not say it. The pids
  // of two of them have nothing to do with each other.
  std::vector<std::string> hosts;
  std::vector<const ExportProcess*> processes;  // known at the start; threads may bring more
  std::vector<const ExportThread*> threads;     // the same
  uint64_t first_ns = 0;                        // of the first event, before --from
  uint32_t nr_cpus = 0;
  bool has_returns = false;  // some event may come with a pair
};

enum class ExportCallEnd : uint8_t {
  kReturned,
  kNoReturn,   // an exception, longjmp, or lost records
  kNoEntry,    // the entry is not in the recording: no kCallBegin came
  kOpenAtEnd,  // exit(), exec, or the recording stopped
};

// A call of function_graph.
struct ExportCall {
  uint64_t function = 0;
  uint32_t depth = 0;
  uint64_t begin_ns = 0;
  std::span<const uint8_t> args;  // of a begin: the recorded words, a multiple of 8 bytes
  // Of an end:
  ExportCallEnd how = ExportCallEnd::kReturned;
  uint64_t end_ns = 0;       // not later than ns; earlier where there is no exit
  uint64_t duration_ns = 0;  // as measured: the exit record's, else up to end_ns
  uint64_t retval = 0;
  bool has_retval = false;
};

// With the event of a function's return: the event of its entry, on the same thread.
struct ExportPair {
  uint64_t function = 0;
  uint64_t begin_ns = 0;
  const ExportSchema* schema = nullptr;
  std::span<const uint8_t> record;  // up to its first 512 bytes
};

// With the sched:sched_switch that brings a thread back, another one than the event's: it was off
// the CPU since then.
struct ExportOffCpu {
  const ExportThread* thread = nullptr;
  uint64_t begin_ns = 0;
  std::string state;  // "S", "D", "R+": the kernel's letters
};

struct ExportEvent {
  enum class Kind : uint8_t {
    kEvent,
    kCallBegin,  // function_graph; begins and ends of a buffer's thread are nested
    kCallEnd,    // record and schema are empty where it has no exit
    kLoss,       // `lost` events of this CPU are missing here; of no thread
  };
  Kind kind = Kind::kEvent;
  uint64_t ns = 0;  // never decreasing
  uint32_t cpu = 0;
  uint32_t input = 0, buffer = 0;
  uint64_t lost = 0;  // of a kLoss; kLostUnknown: some
  const ExportThread* thread = nullptr;
  const ExportSchema* schema = nullptr;  // null: the file does not describe this event
  std::span<const uint8_t> record;       // with the common header
  // The innermost first; its first frame is the place itself, the others are return addresses. The
  // first `kernel_frames` are of kernel_stack, the rest of user_stack, which begins anew.
  std::span<const uint64_t> stack;
  uint32_t kernel_frames = 0;
  ExportCall call;  // of kCallBegin and kCallEnd
  // Numbers of flows that go through this event, 0: none. Its own, which goes to a synthetic event;
  // of a synthetic one that of the hit that made it, and that of the event of onmatch()
  // (export_flows.h).
  using Flows = std::array<uint64_t, 3>;
  Flows flows = {};
  const ExportPair* pair = nullptr;       // of a kEvent: this is a return, and its entry was seen
  const ExportOffCpu* off_cpu = nullptr;  // of a kEvent

  int32_t tid() const { return thread ? thread->tid : 0; }
  uint16_t id() const { return record.size() < 2 ? 0 : uint16_t(record[0] | record[1] << 8); }
};

struct ExportStats {
  uint64_t events = 0;  // records, with stacks; what was filtered out is not counted
  uint64_t calls = 0;   // kCallEnd
  uint64_t open_at_end = 0, without_exit = 0, without_entry = 0;
  uint64_t short_records = 0, unknown_events = 0;
  uint32_t damaged_pages = 0;
  std::map<uint32_t, uint64_t> lost_by_cpu;  // of loss marks; an unknown number counts 1
  bool lost_at_least = false;
  uint64_t first_ns = 0, last_ns = 0;
};

}  // namespace patchbay
