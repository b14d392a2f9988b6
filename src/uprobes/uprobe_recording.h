// SPDX-License-Identifier: MIT
//
// A recording by the kernel's uprobes: events in an instance of their own, the pages of its CPUs
// read while they fill, each record made one of ours, and at the end a trace.dat as an agent's.
//
//   kernel                                      tool
//   breakpoint -> arguments -> ring of the CPU  -> trace_pipe_raw -> UprobeEvent::convert()
//                                                  -> RecordPages -> TraceDatWriter
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace_dat/metadata.h"
#include "trace_dat/trace_dat_write.h"
#include "uprobes/kernel_rings.h"
#include "uprobes/kernel_tracefs.h"
#include "trace_dat/record_pages.h"
#include "uprobes/uprobe_event.h"

namespace patchbay {

struct UprobeOptions {
  std::string output;
  int version = 7;
  uint64_t buffer_kb = 0;  // of one CPU
  bool overwrite = true;
};

class UprobeRecording {
 public:
  struct Counts {
    uint64_t events = 0;    // in the file
    uint64_t lost = 0;      // the buffer was full
    uint64_t filtered = 0;  // not wanted by a filter, or damaged
  };

  // Makes instance and output. `program` has to outlive it.
  static Result<std::unique_ptr<UprobeRecording>> open(const UprobeOptions& options,
                                                       UprobeProgram& program);
  ~UprobeRecording();

  Status define(std::unique_ptr<UprobeEvent> event);
  // Whose events it gets.
  KernelRings& rings() { return *rings_; }
  Status start();
  // Asks for the name of a thread while it lives.
  void note_thread(uint32_t tid) { threads_.note(tid); }
  void stop();
  // One turn over all CPUs. How full the fullest ring was, in percent.
  unsigned drain() { return rings_->drain(); }
  // Takes the rest, removes events and instance, writes the file. `pid`: the process it is about.
  Result<TraceDatResult> finish(pid_t pid);

  const std::vector<Counts>& counts() const { return counts_; }  // by CPU
  const std::vector<std::unique_ptr<UprobeEvent>>& events() const { return events_; }
  uint64_t events_of(uint16_t id) const { return addresses_.events_of(id); }
  uint64_t nr_events() const;
  uint64_t nr_lost() const;
  // Processes beside `pid` were seen.
  bool has_others(pid_t pid) const { return threads_.has_others(pid); }
  uint64_t bytes() const { return writer_->bytes_spooled(); }
  UprobeProgram& program() const { return program_; }
  uint64_t ring_bytes() const { return options_.buffer_kb * 1024; }

 private:
  UprobeRecording(const UprobeOptions& options, UprobeProgram& program)
      : options_(options), program_(program) {}
  Status set_up();
  void take_record(uint32_t cpu, const EventView& event);
  void note_base(UprobeEvent* event, std::span<const uint8_t> record, uint32_t tid);
  TraceDatMetadata metadata(pid_t pid);
  std::vector<RecordedModule> modules();

  UprobeOptions options_;
  UprobeProgram& program_;
  std::unique_ptr<KernelInstance> instance_;
  std::unique_ptr<TraceDatWriter> writer_;
  std::vector<std::unique_ptr<UprobeEvent>> events_;
  std::map<uint16_t, UprobeEvent*> by_kernel_id_;
  std::map<const UprobeObject*, uint64_t> bases_;  // how far a file was moved when it was loaded
  std::vector<RecordedModule> seen_modules_;       // of a program that was started, as it ran
  std::unique_ptr<KernelRings> rings_;
  std::vector<std::unique_ptr<RecordPages>> pages_;  // by CPU
  std::vector<Counts> counts_;
  KernelThreads threads_;
  AddressCollector addresses_{{}};
  std::vector<uint8_t> record_;
};

}  // namespace patchbay
