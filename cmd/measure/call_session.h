// SPDX-License-Identifier: MIT
//
// A program whose calls `patchbay calls` shows: its events are defined and enabled in an instance
// of their own, and taken back at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cmd/measure/call_lines.h"
#include "cmd/measure/call_rings.h"
#include "cmd/measure/call_text.h"
#include "cmd/target/apply_request.h"
#include "cmd/target/event_definition.h"
#include "cmd/target/tool_uses.h"
#include "cmd/target/watched_program.h"
#include "output/address_names.h"

namespace patchbay::cmd {

struct CallTarget {
  int pid = 0;
  std::vector<std::string> words;      // CMD
  std::vector<std::string> functions;  // -e
  bool is_own_code = false;            // none was given: those that the program brings along
  bool waits_for_functions = false;    // --follow: a program may lack some
  bool stacks = false;
  bool needs_begin = false;  // what is shown is not known of a whole call
  // Only calls that have failed are wanted, and that took so long: filters leave the others out.
  bool failures_alone = false;
  uint64_t longer_ns = 0;
};

class CallSession {
 public:
  // Both have to live on.
  CallSession(const CallTarget& target, WatchedProgram& program)
      : target_(target), program_(program) {}
  ~CallSession() { undo(); }

  // Connects, or starts CMD, which is held; defines and enables. Null: the program has none of the
  // functions.
  Status prepare(std::unique_ptr<CallRings>* rings);
  // The same in a program that CMD has executed.
  Status prepare_executed(std::unique_ptr<CallRings>* rings);
  // -e of which the program has none, and the reason.
  const std::vector<std::pair<std::string, Error>>& missing() const { return missing_; }

  struct EventKind {
    enum class What : uint8_t { kOther, kEntry, kReturn, kWhole, kStack, kCaught, kThrown };
    What what = What::kOther;
    uint32_t function = 0;  // of texts()
  };
  EventKind kind_of(uint16_t id) const { return id < kinds_.size() ? kinds_[id] : EventKind{}; }
  const std::vector<CallText>& texts() const { return texts_; }
  bool has_stacks() const { return target_.stacks; }
  // There are calls of which no event comes.
  bool is_filtered() const { return is_filtered_; }
  // Of kCaught (caught_exceptions.h); null: there is none.
  const EventCall* caught() const { return caught_ ? &*caught_ : nullptr; }
  // Of kThrown: where its stack ends, and the thrown object.
  std::pair<uint64_t, uint64_t> thrown(std::span<const uint8_t> record) const;
  AddressNames names() const;
  bool is_in_module(uint64_t address) const;

  // No more events come.
  void stop();
  // About all functions, or where some were called, about those that were not.
  std::vector<std::string> why_nothing(const CallTotals& totals);
  // About functions of libraries that were never loaded. `top`: the process's buffer.
  std::vector<std::string> never_came(const BufferFile& top);
  // Takes back what was set up in a process that goes on.
  void undo();

 private:
  struct Function {
    DefinedFunction defined;
    std::string returned;  // SYSTEM:EVENT of its return; "": there is none
    std::string text;      // the -e that means it
  };
  Status connect();
  Status set_up(std::unique_ptr<CallRings>* rings, bool may_miss);
  Status make_instance();
  bool may_have(const std::string& function) const;  // in an object that is there
  WantedCalls wanted_calls() const;
  Status define(bool may_miss);
  Status define_entries(bool may_miss);
  bool is_silent(const std::string& text, const CallTotals& totals) const;
  std::string free_name(const std::string& stem);
  std::string define_probe(const std::string& stem, const std::vector<std::string>& places,
                           const std::string& fetches);
  void define_catch();
  std::string define_return(const DefinedFunction& function, std::string* why);
  std::vector<std::string> places_of(const std::string& function, bool by_offset);
  std::string found_name(const std::string& function);
  SymbolTable& symbols();
  Status read_modules();
  Status filter();
  Status enable();
  Status read_formats(const BufferFile& top);

  const CallTarget& target_;
  WatchedProgram& program_;
  std::unique_ptr<ToolUses> uses_;  // of a process that goes on
  AppliedRequest applied_;
  std::string instance_;  // "instances/NAME/"
  std::vector<Function> functions_;
  std::vector<std::pair<std::string, Error>> missing_;
  std::vector<std::string> available_;       // as available_events lists them
  std::string caught_event_, thrown_event_;  // SYSTEM:EVENT; "": there is none
  std::optional<EventCall> caught_;
  uint32_t thrown_stack_ = 0, thrown_object_ = 0;  // where they are in a record
  bool is_filtered_ = false;
  std::vector<CallText> texts_;
  std::vector<EventKind> kinds_;  // by event id
  std::vector<RecordedModule> modules_;
  std::unique_ptr<SymbolTable> symbols_;  // of modules_, when they were needed
};

}  // namespace patchbay::cmd
