// SPDX-License-Identifier: MIT
#include "cmd/target/trace_request.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/common/tracefs_command.h"
#include "cmd/target/process_word.h"
#include "cmd/target/request_options.h"
#include "debug_info/probe_request.h"
#include "event/function_event.h"
#include "event/function_event_atom.h"
#include "event/function_name.h"
#include "event/trace_options.h"
#include "symbol/demangled_name.h"
#include "symbol/symbol.h"

namespace patchbay::cmd {
namespace {

constexpr uint64_t kMostKb = uint64_t{4} << 20;

// A size in KB, or with a unit: 512, 512K, 64M, 64MB, 1G, 1GiB.
bool parse_kb(std::string_view text, uint64_t* kb) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *kb);
  if (error != std::errc() || *kb == 0 || *kb >= kMostKb) return false;
  std::string_view unit(end, size_t(text.data() + text.size() - end));
  constexpr std::string_view kUnits = "KMG";
  const size_t power = unit.empty() ? 0 : kUnits.find(char(::toupper(unit[0])));
  if (power == kUnits.npos) return false;
  if (!unit.empty()) unit.remove_prefix(1);
  if (!unit.empty() && unit != "B" && unit != "b" && unit != "iB") return false;
  *kb <<= 10 * power;
  return *kb < kMostKb;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

bool is_instance_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos;
}

// A text that looks like a request for a probe, and is meant for function_events: NAME=FUNC(TYPE
// NAME, …), and a list with something behind it. `NAME=ns::f(int)` and `ns::f() n` are a probe's
// place.
bool is_function_definition(const std::string& text) {
  if (!is_function_event_line(text)) return false;
  if (text.ends_with("(*)")) return true;
  const FunctionEventParse parsed = parse_function_event(text, nullptr);
  if (parsed.def) return true;
  const std::string& message = parsed.error->message;
  const bool has_more = message.ends_with(" for END state");
  if (has_more) return text.find("()") == text.npos;
  return text.ends_with(')') && !message.ends_with(" for TYPE state");
}

// "(anonymous namespace)::f*", "S::operator()", "operator new": all of it is a name, or a glob.
bool is_name_with_signs(std::string_view text) {
  constexpr std::string_view kAnonymous[] = {"(anonymous namespace)", "(anonymous_namespace)"};
  const bool has_blank = text.find("operator ") != text.npos ||
                         text.find("operator\"\" ") != text.npos ||
                         special_prefix(split_library(std::string(text)).second) > 0;
  if (has_blank && scan_function_name(text) == text.size()) return true;
  if (text.find('(') == text.npos) return false;
  if (scan_function_name(text) == text.size()) return true;
  std::string rest(text);
  for (std::string_view name : kAnonymous)
    for (size_t at; (at = rest.find(name)) != rest.npos;) rest.erase(at, name.size());
  return rest.find_first_of("( ") == rest.npos;
}

}  // namespace

size_t find_file_mark(std::string_view name) {
  const size_t at = name.rfind('@');
  const bool is_file = at != name.npos && at > 0 && !name.ends_with(kOwnCalls) &&
                       !name.substr(at).starts_with("@0x");
  return is_file ? at : name.npos;
}

std::string function_name_in(const std::string& definition) {
  std::string name = definition.substr(0, definition.find('('));
  name.resize(name.find_last_not_of(' ') + 1);
  // "operator new" has a blank of its own.
  const size_t sign = name.rfind("operator ");
  if (sign != name.npos) return name.substr(name.find_last_of(" *&", sign) + 1);
  return name.substr(name.find_last_of(" *&") + 1);
}

std::pair<std::string, std::string> split_library(const std::string& text) {
  const size_t colon = text.find(':');
  const bool is_library = colon != text.npos && colon > 0 && text.substr(colon, 2) != "::" &&
                          text.find_first_of("[(<") > colon;
  if (!is_library) return {"", text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

EventRequest::Kind EventRequest::kind() const {
  if (is_name_with_signs(text)) return Kind::kEvent;
  if (text.ends_with(kOwnCalls) && text.find_first_of("( ") == text.npos) return Kind::kEvent;
  size_t head = text.find_first_not_of("0123456789", 1);
  size_t blank = text.find(' ');
  bool begins_as_probe = !text.empty() && std::string_view("prfte").find(text[0]) != text.npos &&
                         head != text.npos && (text[head] == ':' || text[head] == ' ');
  // p1:f(int x) is a function of a library that is named p1.
  bool has_list = text.find('(') < blank;
  if (begins_as_probe && !has_list && blank != text.npos &&
      text.find_first_not_of(" (", blank) == blank + 1)
    return Kind::kProbe;
  if (is_function_definition(text)) return Kind::kFunction;
  if (looks_like_probe_request(text)) return Kind::kSource;
  return text.find('(') != text.npos ? Kind::kFunction : Kind::kEvent;
}

bool TraceRequest::is_ours(int id) {
  return std::any_of(kAllRequestOptions.begin(), kAllRequestOptions.end(),
                     [id](const Option& one) { return id_of(one) == id; });
}

const char* TraceRequest::take(int id, const char* value) {
  InstanceRequest& current = instances_.back();
  int tid = 0;
  if (id >= kOptionWordId) {
    current.options.emplace_back(kTraceOptions[size_t(id - kOptionWordId)].name);
    return nullptr;
  }
  switch (id) {
    case kTracerId:
      current.tracer = value;
      return *value ? nullptr : "-t takes a tracer: function or function_graph.";
    case 'l':
      current.functions.emplace_back(value);
      return *value ? nullptr : "-l takes a function or a glob.";
    case 'N':
      current.not_functions.emplace_back(value);
      return *value ? nullptr : "-N takes a function or a glob.";
    case 'g':
      graph_functions_.emplace_back(value);
      return *value ? nullptr : "-g takes a function or a glob.";
    case 'O':
      current.options.emplace_back(value);
      return *value ? nullptr : "-O takes a word of trace_options.";
    case kMaxGraphDepthId:
      max_graph_depth_ = value;
      return is_number(value) ? nullptr : "--max-graph-depth takes a number.";
    case 'e':
      current.events.push_back({value, ""});
      return *value ? nullptr : "-e takes an event.";
    case 'f':
      if (current.events.empty()) return "-f stands behind the -e whose events it filters.";
      current.events.back().filter = value;
      return nullptr;
    case 'B':
      if (!is_instance_name(value)) return "-B takes the name of an instance.";
      instances_.emplace_back().instance = value;
      return nullptr;
    case 'C':
      current.clock = value;
      return nullptr;
    case 'b':
      return parse_kb(value, &current.buffer_kb)
                 ? nullptr
                 : "-b takes the size for one CPU: KB, 1 to 4194303, or with a unit, as 64M.";
    default:
      current.tids.emplace_back(value);
      return parse_pid(value, &tid) ? nullptr : "-P takes a thread id.";
  }
}

const char* TraceRequest::take_pid(const char* value, int* pid) {
  // The tracers that the old spelling could name. Any other word is a mistyped process id.
  constexpr std::string_view kTracers[] = {"function", "function_graph", "nop"};
  if (std::find(std::begin(kTracers), std::end(kTracers), value) != std::end(kTracers))
    return take(kTracerId, value);
  return cmd::take_pid(value, pid);
}

int TraceRequest::take_only_tid() {
  InstanceRequest* only = nullptr;
  for (InstanceRequest& instance : instances_) {
    if (instance.tids.empty()) continue;
    if (only || instance.tids.size() > 1) return 0;
    only = &instance;
  }
  int tid = 0;
  if (!only || !parse_pid(only->tids[0], &tid)) return 0;
  only->tids.clear();
  return tid;
}

bool TraceRequest::has_events() const {
  return std::any_of(instances_.begin(), instances_.end(), [](const InstanceRequest& request) {
    return !request.events.empty() || request.traces();
  });
}

const char* TraceRequest::check() const {
  bool any_tracer = false;
  for (const InstanceRequest& instance : instances_) {
    any_tracer |= instance.traces();
    if (!instance.traces() && (!instance.functions.empty() || !instance.not_functions.empty()))
      return "-l and -N choose functions of a tracer: -t function or -t function_graph.";
  }
  if (any_tracer || (graph_functions_.empty() && max_graph_depth_.empty())) return nullptr;
  return "-g and --max-graph-depth are about -t function_graph.";
}

}  // namespace patchbay::cmd
