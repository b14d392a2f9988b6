// SPDX-License-Identifier: MIT
//
// The control core of function events: definitions, their events, enabling. Every tracefs file and
// the agent's start-up parameters go through this class. Owned and called by the control thread
// only (or by the constructor before that thread runs). Errors carry errno and a sentence.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "event/function_event.h"
#include "patch/patcher.h"
#include "ring_buffer/ring_buffer.h"
#include "symbol/symbol.h"

namespace patchbay {

class FunctionEvents {
 public:
  FunctionEvents(SymbolTable& symbols, Patcher& patcher, RingBuffer& buffer);
  ~FunctionEvents();

  // --- file function_events
  Status clear();                            // open with O_TRUNC: EBUSY when one is enabled
  void forget_errors();                      // open for write without O_TRUNC
  Status write_line(std::string_view line);  // one definition, `!func`, `-:functions/func`
  std::string show() const;                  // canonical lines, then stored error entries

  // --- events/functions/…
  std::vector<std::string> event_names() const;
  const EventCall* find(std::string_view event) const;
  Status set_enabled(std::string_view event, bool on);  // ENODEV when there is none
  Status set_all_enabled(bool on);
  bool is_enabled(std::string_view event) const;
  // '0' '1' 'X' '?' of events/functions/enable
  char summary() const;

  // --- available_filter_functions, debug/refused_functions, debug/call_sites
  std::string available_functions();
  std::string refused_functions();
  std::string call_sites() const;

  void set_single_threaded(bool value);  // start-up: no other thread runs yet

  // --- tracing_on: off stops recording at once and keeps what is patched; the rings' memory is
  // reserved when the first event is enabled.
  Status set_tracing(bool on);
  bool tracing() const { return tracing_; }

 private:
  struct Event;
  struct Impl;
  std::unique_ptr<Impl> impl_;
  bool tracing_ = true;
};

}  // namespace patchbay
