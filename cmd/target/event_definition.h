// SPDX-License-Identifier: MIT
// What -e asks for, in the words of function_events and dynamic_events, and defined in a process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cmd/target/c_declaration.h"
#include "cmd/target/trace_request.h"
#include "event/object_form.h"
#include "event/value_names.h"
#include "serve/client.h"

namespace patchbay::cmd {

struct AppliedRequest;

// Defines an event when the text is a function or a probe. Returns the events that the text means,
// as SYSTEM:EVENT, without enabling them. A definition that is there already is shared. When
// another definition has its name, ours gets another name. Where the whole call is wanted
// (EventRequest::is_call), a function's event has no result but the one that the text names.
Result<std::vector<std::string>> define_event(serve::Client& client, const EventRequest& event,
                                              AppliedRequest* applied);
// What stands behind the name of a text's field in the name of the field with its address.
inline constexpr std::string_view kAddressSuffix = "_at";
// Of define_functions(): the field that says where the return address stands.
inline constexpr std::string_view kStackPlaceField = "__sp";
// Of its whole calls: the result, and errno.
inline constexpr std::string_view kResultErrno = "__errno";

// A function whose calls are events.
struct DefinedFunction {
  std::string event;              // SYSTEM:EVENT of its entry
  std::string function;           // as function_events and dynamic_events find it
  std::string result;             // what it returns, as FunctionEventLines has it
  bool has_types = false;         // a prototype says what it is given: an x64 is a pointer
  FunctionValueNames names = {};  // of its arguments, by their fields
  FailureSign failure = FailureSign::kUnknown;
  ObjectArguments objects = {};     // arguments of several fields
  bool is_whole = false;            // the event is a whole call: at the return, with the result
  std::string failure_filter = {};  // of a whole call that was made for kFailures
  // SYSTEM:EVENT of a whole call beside the entry, which has its result; "": there is none.
  std::string returned = {};
};
// Defines the events of the functions that a text means: a name, a glob, FUNC(ARGS), a declaration
// of C. A name always means functions here, also where an event has it. A text that is an argument
// is recorded with its address: "string path" as "string path|x64 path_at". Each event of an entry
// also has kStackPlaceField.
// Where only calls that have failed are wanted, and the result says so, the event may be a whole
// call, and a filter leaves the others out. One that an exception leaves has no such event.
enum class WantedCalls : uint8_t {
  kAll,
  kFailuresOfC,  // so for functions alone that say how they fail, as those of libc do
  kFailures,     // of all: the program has no code that throws
};
Result<std::vector<DefinedFunction>> define_functions(serve::Client& client,
                                                      const EventRequest& event,
                                                      AppliedRequest* applied,
                                                      WantedCalls wanted = WantedCalls::kAll);
// The events of available_events that `text` means; an error with near ones when there is none.
Result<std::vector<std::string>> matching_events(const std::vector<std::string>& available,
                                                 const std::string& text);
// "SYSTEM:EVENT" as dynamic_events and the directory events/ name it: "SYSTEM/EVENT".
std::string with_slash(std::string event);

}  // namespace patchbay::cmd
