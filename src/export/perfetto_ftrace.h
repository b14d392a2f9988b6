// SPDX-License-Identifier: MIT
//
// Single events as perfetto's FtraceEventBundle: typed fields by a descriptor of the event (generic
// events, v50 and later). They become rows of the tables ftrace_event and args. The kernel's
// sched_switch has a message of its own, of which perfetto makes the states of threads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "export/export_event.h"
#include "export/export_source.h"

namespace patchbay {

class PerfettoFtrace {
 public:
  void begin(ExportSource* source) { source_ = source; }
  void schema(const ExportSchema& schema);
  void event(const ExportEvent& event);
  // Says that something is missing on this CPU, behind what is there.
  void loss(const ExportEvent& event, std::string* out);
  // Packets of each machine's first sequence with what is there; all of it, or the bundles that are
  // long enough.
  void flush(std::string* out, bool all);

 private:
  static constexpr size_t kBundle = 1 << 14;
  struct Cpu {
    std::string events;
    bool lost = false;
  };
  // A reader keeps what it knows of events by machine.
  struct Machine {
    std::map<uint32_t, Cpu> cpus;
    std::vector<bool> described;  // by the schema's index
    std::string pending;          // descriptors that go into the next bundle, whatever CPU it is of
  };
  Machine* machine_of(const ExportEvent& event, uint32_t* number);
  void flush_cpu(uint32_t machine, uint32_t number, Cpu* cpu, std::string* out);
  void put_fields(const ExportEvent& event, std::string* message);
  static uint32_t number_of(const ExportSchema& schema);
  std::string descriptor_of(const ExportSchema& schema) const;

  ExportSource* source_ = nullptr;
  std::map<uint32_t, Machine> machines_;  // by the number of the host
  std::vector<std::string> descriptors_;  // by the schema's index
  std::string message_, fields_, text_;
  bool any_long_ = false;
};

}  // namespace patchbay
