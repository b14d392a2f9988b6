// SPDX-License-Identifier: MIT
//
// A recording as graph, report --folded, report --flame and replay read it: its records one by one,
// the names of its functions and threads, and what it has lost.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cmd/common/input_people.h"
#include "cmd/common/losses.h"
#include "cmd/common/trace_input.h"
#include "cmd/common/who_options.h"
#include "cmd/report/call_pairing.h"
#include "cmd/report/graph_records.h"
#include "output/address_names.h"
#include "output/address_text.h"
#include "trace_dat/recorded_off_cpu.h"

namespace patchbay::cmd {

struct GraphLosses {
  Losses events;
  uint64_t short_records = 0;
  uint32_t malformed_pages = 0;
};

class GraphSource {
 public:
  // `path` as `patchbay report` takes it.
  static Result<std::unique_ptr<GraphSource>> open(const std::string& path);

  // The kernel's (record -k) is none of them: it has no calls.
  size_t nr_buffers() const { return input_.nr_buffers() - (input_.kernel_buffer() ? 1 : 0); }
  std::string buffer_name(size_t index) const { return input_.buffer_name(index); }
  const std::string& path() const { return input_.path; }
  const TraceInput& input() const { return input_; }
  const std::vector<EventCall>& events() const { return events_; }
  AddressNames* names() { return &names_; }

  // All records of a buffer in order of time. After tell_kernel_events() the top one has the
  // kernel's among them.
  using Each = std::function<void(const MergedEvent& event, const GraphRecord& record)>;
  Status walk(size_t buffer, const Each& each);
  void tell_kernel_events() { tells_kernel_events_ = true; }

  // When threads were off the CPU; null: the recording has no sched:sched_switch.
  const OffCpuTimes* off_cpu() const { return off_cpu_ ? &off_cpu_->times : nullptr; }
  // "S" or "R+"; of a span of off_cpu().
  std::string off_cpu_state(const OffCpuSpan& span) const {
    return off_cpu_->reader.state_text(span.state);
  }
  bool is_switch(std::span<const uint8_t> record) const {
    SchedSwitch ignored;
    return off_cpu_ && off_cpu_->reader.read(record, &ignored);
  }

  // Shows how far walk() is, in the name of this command, while standard error is a terminal.
  void show_progress(const std::string& command) { command_ = command; }

  // Without what could command a terminal. Valid until the next call.
  const std::string& function_name(uint64_t address) {
    const auto known = shown_names_.find(address);
    return known != shown_names_.end() ? known->second : address_text_->of(address).plain;
  }
  // In a recording of several programs a function has one address in all of them, and each address
  // one function: walk() gives those. The image that such an address was seen in first, and its
  // address there.
  struct Place {
    uint32_t image = 0;
    uint64_t address = 0;
  };
  Place place_of(uint64_t address) const {
    const auto known = places_.find(address);
    return known != places_.end() ? known->second : Place{0, address};
  }
  AddressText* addresses() { return address_text_.get(); }
  std::string thread_name(int32_t tid) const;  // "comm-123"

  // Whose records are taken; all without it.
  void choose(const WhoChoice& who) { who_choice_ = who; }
  // Of the record that walk() gives: whether it is of somebody who was chosen, and who that is.
  bool is_chosen() { return !who_choice_.has_any() || selection().wants(0, tid_, cpu_, ns_); }
  const Who& who();
  // For the sentence that there is nothing: "" where all are chosen.
  const char* of_chosen() const {
    return who_choice_.has_any() ? " that belong to those who were chosen" : "";
  }

  // Of the buffers that were walked.
  const GraphLosses& losses() {
    losses_.events = counter_.finish(input_);
    return losses_;
  }

 private:
  GraphSource() = default;
  Status load();
  void unify(GraphRecord* record);
  uint64_t unified(uint64_t address);
  InputPeople& people();
  WhoSelection& selection();
  void take_comms(std::string_view untrusted_lines);

  TraceInput input_;
  std::string command_;  // empty: no progress
  bool tells_kernel_events_ = false;
  std::vector<EventCall> events_;
  AddressNames names_;
  std::unique_ptr<AddressText> address_text_;
  std::unique_ptr<RecordedOffCpu> off_cpu_;
  std::unordered_map<int32_t, std::string> comms_;
  std::unordered_map<uint64_t, std::string> shown_names_;  // of unified addresses
  std::unordered_map<std::string, uint64_t> by_name_;
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> unified_;  // by table and address
  std::unordered_map<uint64_t, Place> places_;
  uint64_t next_made_ = uint64_t{0xfff} << 52;  // where no code is
  WhoChoice who_choice_;
  std::unique_ptr<InputPeople> people_;
  std::unique_ptr<WhoSelection> selection_;
  int32_t tid_ = 0;  // where walk() stands
  uint32_t cpu_ = 0;
  uint64_t ns_ = 0;
  LossCounter counter_;
  GraphLosses losses_;
};

// "  1.234 us": three decimals of the unit that fits, 10 columns.
std::string time_text(uint64_t ns);

// Whether a glob means a function. It may fit the whole name, the name without its parameters, or
// the name without its namespaces and classes.
bool function_fits(const std::string& glob, const std::string& name);

// What was lost, and which calls are not whole, a sentence a line on standard error.
void print_graph_notes(std::string_view command, const GraphLosses& losses,
                       const PairingTotals& totals);

}  // namespace patchbay::cmd
