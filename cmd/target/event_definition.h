// SPDX-License-Identifier: MIT
// What -e asks for, in the words of function_events and dynamic_events, and defined in a process.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/target/trace_request.h"
#include "serve/client.h"

namespace patchbay::cmd {

struct AppliedRequest;

// Defines an event when the text is a function or a probe. Returns the events that the text means,
// as SYSTEM:EVENT, without enabling them. A definition that is there already is shared. When
// another definition has its name, ours gets another name.
Result<std::vector<std::string>> define_event(serve::Client& client, const EventRequest& event,
                                              AppliedRequest* applied);
// The events of available_events that `text` means; an error with near ones when there is none.
Result<std::vector<std::string>> matching_events(const std::vector<std::string>& available,
                                                 const std::string& text);
// "SYSTEM:EVENT" as dynamic_events and the directory events/ name it: "SYSTEM/EVENT".
std::string with_slash(std::string event);

}  // namespace patchbay::cmd
