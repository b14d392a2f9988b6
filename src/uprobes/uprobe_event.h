// SPDX-License-Identifier: MIT
//
// One event that is asked for, `work(int n, string name)` or `p:here work+4 n=%di:u32`: the line of
// the kernel's uprobe_events that brings its values, and the record that an agent would have made
// of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "event/event_call.h"
#include "event/probe_event.h"
#include "filter/filter.h"
#include "uprobes/uprobe_fetch.h"
#include "uprobes/uprobe_program.h"

namespace patchbay {

class UprobeEvent {
 public:
  // A line of function_events, or one of dynamic_events (p, r and f). An error has the line, a
  // caret below what is wrong, and a sentence.
  static Result<std::unique_ptr<UprobeEvent>> of_function(std::string_view line,
                                                          UprobeProgram& program);
  static Result<std::unique_ptr<UprobeEvent>> of_probe(std::string_view line,
                                                       UprobeProgram& program);

  EventCall call;           // as the agent's would be; its id is to be set
  std::string kernel_name;  // to be set: the event's name in its group
  UprobePlace place;
  UprobeFetch fetch;
  bool on_return = false;
  FilterProgramPtr filter;  // null: none

  // "p:GROUP/NAME PATH:0x1139 n=%di:u64"; `path` is the file as the kernel is to open it.
  std::string definition(const std::string& group, const std::string& path) const;
  // The filter of `-f`, over our own fields.
  Status set_filter(const std::string& text, SymbolTable& symbols);
  // Finds the arguments in the kernel's records. EINVAL: they are not as they were defined.
  Status bind(const EventCall& kernel_call);
  uint16_t kernel_id() const { return kernel_id_; }

  // Our record of the kernel's. False: it is not whole, or the filter does not want it. `base`: how
  // far the process whose symbols are told has the file behind the place it has in the symbols.
  bool convert(std::span<const uint8_t> kernel_record, uint64_t base, std::vector<uint8_t>* out);
  // The same of the process that has made this record, by its address.
  std::optional<uint64_t> moved(std::span<const uint8_t> kernel_record) const;

 private:
  Status split(const FetchProgram& program, std::string_view line,
               const std::vector<size_t>& positions);
  uint64_t at_home(uint64_t address, uint64_t away) const;

  std::optional<uint64_t> reference_counter_;
  uint16_t kernel_id_ = 0;
  uint32_t place_offset_ = 0, caller_offset_ = 0;  // of __probe_ip or __probe_func; __probe_ret_ip
};

// "LINE\n    ^\nSENTENCE"
std::string with_caret(std::string_view line, size_t position, const std::string& sentence);

}  // namespace patchbay
