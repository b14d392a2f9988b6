// SPDX-License-Identifier: MIT
//
// Why a recording is empty, as far as the files of the process tell: a library that never came, or
// a program that calls others of a function's kind, as ls calls opendir and not openat.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/target/trace_request.h"
#include "event/event_call.h"
#include "symbol/symbol.h"

namespace patchbay::cmd {

// The function that a definition names, and its library if it says one.
struct NamedFunction {
  std::string library, name;  // name: "" when there is none (a line, an address, another event)
};
NamedFunction function_named(const EventRequest& event);

// Whether two functions do the same in other words: open and openat, printf and __printf_chk.
bool is_of_family(std::string_view one, std::string_view other);

// "'libfoo:f': libfoo was not loaded"; "": it was, or no library is named.
std::string why_not_loaded(const std::string& function, const std::vector<RecordedModule>& modules);

// Functions and probes of a request that have their event, and no record of it.
std::vector<EventRequest> without_records(const TraceRequest& request,
                                          const std::vector<EventCall>& events,
                                          const std::function<uint64_t(uint16_t id)>& records_of);

// One sentence for each event that was asked for, without a full stop.
std::vector<std::string> why_nothing(const std::vector<EventRequest>& events,
                                     const std::vector<RecordedModule>& modules,
                                     const std::string& exe);
// The same for a whole request: its tracers, and the settings that can keep events out.
std::vector<std::string> why_nothing(const TraceRequest& request,
                                     const std::vector<RecordedModule>& modules,
                                     const std::string& exe);

}  // namespace patchbay::cmd
