// SPDX-License-Identifier: MIT
#include "cmd/target/follow_request.h"

#include <algorithm>
#include <string>

#include "cmd/target/apply_request.h"
#include "cmd/target/nothing_recorded.h"

namespace patchbay::cmd {
namespace {

// "ns::f(int)". What is no name, an address or a path, is for the program to say.
void add_function(std::string name, const std::string& library, FollowWishes* wishes) {
  if (!library.empty()) wishes->libraries.push_back(library);
  const size_t begin = name.starts_with("(anonymous") ? name.find(')') + 1 : 0;
  name.resize(std::min(name.find('(', begin), name.size()));
  if (name.empty() || name.find('/') != name.npos || name.starts_with("0x"))
    wishes->all = true;
  else
    wishes->functions.push_back(std::move(name));
}

// "SYSTEM:EVENT", "EVENT", and functions: "malloc", "libfoo:parse*".
void add_name(const std::string& text, FollowWishes* wishes) {
  wishes->events.push_back(text == "all" ? "*" : text);
  if (text == "all") return;
  const size_t colon = text.find(':');
  const bool has_prefix = colon != text.npos && text.substr(colon, 2) != "::";
  if (!has_prefix) return add_function(text, "", wishes);
  const std::string prefix = text.substr(0, colon);
  add_function(text.substr(colon + 1), prefix.starts_with("lib") ? prefix : "", wishes);
}

void add_event(const EventRequest& event, FollowWishes* wishes) {
  const EventRequest::Kind kind = event.kind();
  if (kind == EventRequest::Kind::kEvent) return add_name(event.text, wishes);
  if (kind != EventRequest::Kind::kFunction) {  // a place in a source, or a probe
    wishes->all = true;
    return;
  }
  const NamedFunction named = function_named(event);
  add_function(named.name, named.library, wishes);
}

// A line of set_ftrace_filter: "f*:mod:libfoo", "f:traceoff", "!f".
void add_filter(const std::string& line, FollowWishes* wishes) {
  if (line.starts_with('!')) return;
  const size_t module = line.find(":mod:");
  std::string library = module == line.npos ? "" : line.substr(module + 5);
  if (library.find_first_of("*?[!") != library.npos) library.clear();
  std::string name = line.substr(0, is_function_command(line) ? line.find(':') : module);
  if (name == line) {
    const auto [prefix, function] = split_library(line);
    library = prefix.starts_with("lib") ? prefix : "";
    name = function;
  }
  add_function(name.empty() ? "*" : std::move(name), library, wishes);
}

}  // namespace

FollowWishes wishes_of(const std::vector<EventRequest>& events) {
  FollowWishes wishes;
  for (const EventRequest& event : events) add_event(event, &wishes);
  return wishes;
}

FollowWishes wishes_of_filter(const std::vector<std::string>& lines) {
  FollowWishes wishes;
  wishes.all = lines.empty();
  for (const std::string& line : lines) add_filter(line, &wishes);
  return wishes;
}

FollowWishes wishes_of(const TraceRequest& request) {
  FollowWishes wishes;
  for (const InstanceRequest& instance : request.instances()) {
    for (const EventRequest& event : instance.events) add_event(event, &wishes);
    if (!instance.traces()) continue;
    wishes.all |= instance.functions.empty();
    for (const std::string& line : instance.functions) add_filter(line, &wishes);
  }
  return wishes;
}

}  // namespace patchbay::cmd
