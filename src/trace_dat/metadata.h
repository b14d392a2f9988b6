// SPDX-License-Identifier: MIT
//
// A trace.dat needs more than pages: formats, clock, comms, statistics, and the names of the
// functions whose addresses stand in the recorded events. All this is made from a buffer file.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "event/event_call.h"
#include "ring_buffer/buffer_file.h"
#include "symbol/symbol.h"
#include "trace_dat/trace_dat_write.h"

namespace patchbay {

// Events and modules out of the meta log. A record that does not parse is skipped and counted.
struct RecordedMeta {
  std::vector<EventCall> events;
  std::vector<TraceDatMetadata::Format>
      formats;  // the texts as written, one per event id: the last wins
  std::vector<RecordedModule> modules;
  std::string exe, command_line;
  std::string matches;  // lines of abi/match_abi.h
  uint32_t malformed = 0;
};
Result<RecordedMeta> read_recorded_meta(const BufferFile& file);

// Addresses that occur in events: fields __ip, __parent_ip, all of type `symbol`, and those of
// tracers: functions, callers, stacks.
class AddressCollector {
 public:
  explicit AddressCollector(const std::vector<EventCall>& events);
  ~AddressCollector();
  // Events may have come since: give it the newer list.
  void set_events(const std::vector<EventCall>& events);
  void add_page(const PageImage& page);
  std::vector<uint64_t> sorted() const;
  // How many events with this id the pages had.
  uint64_t events_of(uint16_t id) const { return id < counts_.size() ? counts_[id] : 0; }

 private:
  struct Where {
    uint32_t offset, count;
    bool callers;  // addresses that calls return to: the byte before each is collected, too
  };
  std::vector<std::vector<Where>> by_id_;
  std::vector<uint64_t> counts_;  // by id
  std::unordered_set<uint64_t> addresses_;
  uint64_t last_[1024] = {};  // of those with one hash, the last that was looked for
};

// Lines "%016llx t name\t[module]\n", ascending: the function of each address, and behind a
// function a line that ends it where no other begins. An address without a function gets a line of
// its own, named 0x….
std::string kallsyms_text(SymbolTable* symbols, const std::vector<uint64_t>& addresses);

// The files of the process that hold one of the addresses, as trace-cmd's option PROCMAPS has them,
// with what it does not read behind a tab:
//
//   <pid, hex> <lines, hex> <program>
//   <start, hex> <end, hex> <path>\t<build-id or -> <bias, hex>
std::string modules_text(int32_t pid, const std::string& exe,
                         const std::vector<RecordedModule>& modules,
                         const std::vector<uint64_t>& addresses);
// Threads of other processes than `pid`, which fork() has made, each as a process without files;
// the process that it belongs to stands behind a tab:
//
//   <thread, hex> 0 <program or ?>\t<process, hex>
//
// The first 256 of them.
std::string processes_text(int32_t pid, const std::string& exe,
                           const std::vector<abi::CommEntry>& comms);
// Of one process or several; lines that are not such are skipped.
std::vector<RecordedModule> modules_of_text(std::string_view untrusted_text);

// The text of a format file with another number; empty: it has none.
std::string format_with_id(std::string text, uint16_t id);

// Everything but the pages. `addresses` were collected from the pages that go into the file.
Result<TraceDatMetadata> collect_metadata(const BufferFile& file,
                                          const AddressCollector& addresses);

}  // namespace patchbay
