// SPDX-License-Identifier: MIT
#include "trace_request.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <map>
#include <set>

#include "commands.h"
#include "event/function_event.h"
#include "event/trace_options.h"
#include "probe_source.h"
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

// The option that an error is about, then its sentence.
Error about(std::string_view option, const std::string& value, const Error& error) {
  return user_error(error.errno_value,
                    std::string(option) + " '" + value + "': " + error.message());
}

// A definition's error has a caret of its own: it begins a line.
Status define(serve::Client& client, const char* file, const std::string& definition) {
  Status status = client.write_all(file, definition + "\n", false);
  if (status.ok()) return status;
  return user_error(status.error().errno_value,
                    "-e '" + definition + "':\n" + status.error().message());
}

Error about_source(const EventRequest& event, const Error& error) {
  return user_error(error.errno_value, "-e '" + event.text + "': " + error.message());
}

// "open(string path) ret": a function's event with something behind, no place in a source.
bool has_words_behind(const std::string& text) {
  const size_t open = text.find('('), close = text.find(')');
  if (open == text.npos || close == text.npos || close + 1 == text.size()) return false;
  std::string_view first = std::string_view(text).substr(open + 1, close - open - 1);
  first = first.substr(0, first.find(','));
  const size_t blank = first.find(' ');
  if (blank == first.npos || first.find_first_of(" *&", blank + 1) != first.npos) return false;
  const std::string_view type = first.substr(0, blank), name = first.substr(blank + 1);
  static constexpr std::string_view kTypes[] = {"int",    "long",  "char",   "short", "size_t",
                                                "string", "float", "double", "symbol"};
  const bool is_sized = type.size() > 1 && std::string_view("usx").find(type[0]) != type.npos &&
                        type.find_first_not_of("0123456789", 1) == type.npos;
  auto is_word = [](std::string_view word) {
    return std::find(std::begin(kTypes), std::end(kTypes), word) != std::end(kTypes);
  };
  return (is_sized || is_word(type)) && !is_word(name);
}

struct Definition {
  const char* file;
  std::string line;
};
using Definitions = std::vector<Definition>;

Result<Definitions> probe_definitions(serve::Client& client, const DerivedProbe& probe) {
  print_probe_notes(probe.notes);
  Result<std::string> there = client.read_all("dynamic_events");
  if (!there.ok()) return there.error();
  Definitions definitions;
  for (std::string& line : probe.definitions(free_event_name(*there, probe)))
    definitions.push_back({"dynamic_events", std::move(line)});
  return definitions;
}

// FUNC(*). A probe reads what a function event cannot: the stack, texts that are passed in pieces.
Result<Definitions> expanded_definitions(serve::Client& client, const EventRequest& event) {
  std::vector<std::string> objects = objects_of(client.pid(), client.exe());
  Result<FunctionEventLines> found = expand_function_event(objects, event.text);
  if (!found.ok()) return about_source(event, found.error());
  if (!found->beyond.empty() && found->lines.size() == 1) {
    Result<DerivedProbe> probe =
        derive_probe(objects, event.text.substr(0, event.text.size() - 3) + " $params");
    auto is_left_out = [](const std::string& note) {
      return note.find("' is left out: ") != note.npos;
    };
    const bool has_more =
        probe.ok() && std::count_if(probe->notes.begin(), probe->notes.end(), is_left_out) <
                          std::ptrdiff_t(found->beyond.size());
    if (has_more) return probe_definitions(client, *probe);
  }
  print_probe_notes(found->notes);
  print_probe_notes(found->beyond);
  Definitions definitions;
  for (std::string& line : found->lines)
    definitions.push_back({"function_events", std::move(line)});
  return definitions;
}

// What a request is in the words of function_events or dynamic_events.
Result<Definitions> definitions_of(serve::Client& client, const EventRequest& event) {
  if (event.kind() == EventRequest::Kind::kProbe)
    return Definitions{{"dynamic_events", event.text}};
  if (event.kind() == EventRequest::Kind::kFunction && event.text.ends_with("(*)"))
    return expanded_definitions(client, event);
  if (event.kind() == EventRequest::Kind::kFunction)
    return Definitions{{"function_events", event.text}};
  if (has_words_behind(event.text)) {
    const std::string function = event.text.substr(0, event.text.find('('));
    return about_source(event,
                        user_error(EINVAL,
                                   "Nothing may stand behind the arguments of a function. Its "
                                   "result is a probe's: -e 'r:result " +
                                       function + " ret=$retval'."));
  }
  Result<DerivedProbe> probe = derive_probe(objects_of(client.pid(), client.exe()), event.text);
  if (!probe.ok()) return about_source(event, probe.error());
  return probe_definitions(client, *probe);
}

// The event of a definition that was there already: "p:GRP/EV …", or a function's name.
std::string name_in(const std::string& definition, bool is_function) {
  if (is_function) {
    const FunctionEventParse parsed = parse_function_event(definition, nullptr);
    if (parsed.def) return "functions:" + parsed.def->event_name();
    std::string name = definition.substr(0, definition.find('('));
    return "functions:" + name.substr(name.find_last_of(" :*&") + 1);
  }
  size_t colon = definition.find(':'), blank = definition.find(' ');
  if (colon > blank) return definition;
  std::string name = definition.substr(colon + 1, blank - colon - 1);
  if (size_t slash = name.find('/'); slash != name.npos) name[slash] = ':';
  return name;
}

Result<std::vector<std::string>> available_events(serve::Client& client) {
  Result<std::string> text = client.read_all("available_events");
  if (!text.ok()) return text.error();
  return split_lines(*text);
}

}  // namespace

Result<std::vector<std::string>> define_event(serve::Client& client, const EventRequest& event,
                                              AppliedRequest* applied) {
  Result<std::vector<std::string>> before = available_events(client);
  if (!before.ok() || event.kind() == EventRequest::Kind::kEvent)
    return before.ok() ? matching_events(*before, event.text) : before;
  Result<Definitions> definitions = definitions_of(client, event);
  if (!definitions.ok()) return definitions.error();
  const bool is_function = definitions->front().file == std::string_view("function_events");
  for (const Definition& one : *definitions) PB_TRY(define(client, one.file, one.line));
  Result<std::vector<std::string>> after = available_events(client);
  if (!after.ok()) return after;
  std::set<std::string> old(before->begin(), before->end());
  std::vector<std::string> added;
  for (const std::string& name : *after) {
    if (old.count(name) == 0) added.push_back(name);
  }
  applied->defined.insert(applied->defined.end(), added.begin(), added.end());
  if (!added.empty()) return added;
  // Defined again as it was.
  return matching_events(*after, name_in(definitions->front().line, is_function));
}

namespace {

Status set_filter(serve::Client& client, const std::string& directory, const std::string& event,
                  const std::string& filter) {
  std::string path = event;
  path.replace(path.find(':'), 1, "/");
  return client.write_all(directory + "events/" + path + "/filter", filter, false);
}

// The filter of a request that means one event must fit it. Of several it goes to those that it
// fits, as a system's filter does; the others are recorded whole, and named. Empty result: none.
Result<std::set<std::string>> set_filters(serve::Client& client, const std::string& directory,
                                          const std::vector<std::string>& names,
                                          const std::string& filter) {
  std::set<std::string> fits;
  if (filter.empty()) return fits;
  std::string others;
  Status last;
  for (const std::string& name : names) {
    Status set = set_filter(client, directory, name, filter);
    if (set.ok()) {
      fits.insert(name);
      continue;
    }
    (void)set_filter(client, directory, name, "0");  // what failed does not stay in its file
    others += " " + name;
    last = set;
  }
  if (fits.empty() && !last.ok())
    return user_error(last.error().errno_value, "-f:\n" + last.error().message());
  if (!others.empty())
    remark("-f '" + filter + "' does not fit" + others + ": recorded without a filter");
  return fits;
}

Status apply_events(serve::Client& client, const InstanceRequest& request,
                    AppliedRequest* applied) {
  if (request.events.empty()) return {};
  std::string directory = request.directory(), words;
  Result<std::string> enabled = client.read_all(directory + "set_event");
  if (!enabled.ok()) return enabled.error();
  std::vector<std::string> lines = split_lines(*enabled);
  std::set<std::string> on(lines.begin(), lines.end());
  for (const EventRequest& event : request.events) {
    Result<std::vector<std::string>> names = define_event(client, event, applied);
    if (!names.ok()) return names.error();
    Result<std::set<std::string>> filtered = set_filters(client, directory, *names, event.filter);
    if (!filtered.ok()) return filtered.error();
    for (const std::string& name : *names) {
      words += name + "\n";
      if (on.insert(name).second)
        applied->events.push_back({directory, name, filtered->contains(name)});
    }
  }
  return client.write_all(directory + "set_event", words, false);
}

Status make_instance(serve::Client& client, const std::string& name, AppliedRequest* applied) {
  Status made = client.make_directory("instances/" + name);
  if (made.ok()) applied->instances.push_back("instances/" + name);
  if (made.ok() || made.error().errno_value == EEXIST) return {};
  return about("-B", name, made.error());
}

Status set_value(serve::Client& client, const std::string& path, std::string_view option,
                 const std::string& value) {
  Status set = client.write_all(path, value + "\n", false);
  return set.ok() ? set : Status(about(option, value, set.error()));
}

// A line of set_ftrace_filter as it would have to be written, "" when it need not be: headings
// ("#### all functions enabled ####", "no pid"), commands, which survive, and the functions of
// other tracers than the instance's own ("[ trace_profile] f").
std::string as_written(std::string line) {
  if (line.starts_with("[ ") && !line.starts_with("[ trace] ")) return "";
  if (line.starts_with("[ trace] ")) line.erase(0, 9);
  if (line.starts_with("####") || line == "no pid" || is_function_command(line)) return "";
  size_t module = line.ends_with(']') ? line.rfind(" [") : line.npos;
  if (module == line.npos) return line + "\n";
  return line.substr(0, module) + ":mod:" + line.substr(module + 2, line.size() - module - 3) +
         "\n";
}

// Writes a value, the file's former text being kept for undo_request().
Status set_and_keep(serve::Client& client, const std::string& path, std::string_view option,
                    const std::string& value, AppliedRequest* applied) {
  Result<std::string> before = client.read_all(path);
  if (!before.ok()) return about(option, value, before.error());
  std::string text;
  for (const std::string& line : split_lines(*before)) text += as_written(line);
  applied->files.push_back({path, text});
  Status set = client.write_all(path, value + "\n", true);
  return set.ok() ? set : Status(about(option, value, set.error()));
}

}  // namespace

Status empty_functions(serve::Client& client, const std::string& path, AppliedRequest* applied) {
  return set_and_keep(client, path, path, "", applied);
}

namespace {

// A function that nothing matches, with the ones that are called nearly so.
Error unknown_function(serve::Client& client, std::string_view option, const std::string& pattern,
                       const Error& error) {
  Result<std::string> text = client.read_all("available_filter_functions");
  if (!text.ok() || error.errno_value != EINVAL) return about(option, pattern, error);
  std::vector<std::string> lines = split_lines(*text);
  std::vector<std::string_view> names;
  for (const std::string& line : lines)
    names.push_back(std::string_view(line).substr(0, line.rfind(" [")));
  std::string sentence =
      std::string(option) + " '" + pattern + "': no function that can be traced " + "has this name";
  std::vector<std::string> near = near_matches(pattern.substr(0, pattern.find(":mod:")), names);
  for (size_t i = 0; i < near.size(); i++)
    sentence += (i == 0 ? "; did you mean " : ", ") + near[i];
  return user_error(EINVAL, sentence + (near.empty() ? "." : "?"));
}

// A filter file lists what fits no module yet as it was written, behind the tracer's name if any.
bool waits_for_module(const std::string& text, const std::string& pattern) {
  for (std::string_view line : split_lines(text)) {
    if (line == pattern || (line.starts_with("[ ") && line.ends_with("] " + pattern))) return true;
  }
  return false;
}

// The lines of a filter file, one write each: the one that is refused can be named.
Status set_functions(serve::Client& client, const std::string& path, std::string_view option,
                     const std::vector<std::string>& patterns, AppliedRequest* applied) {
  if (patterns.empty()) return {};
  PB_TRY(set_and_keep(client, path, option, "", applied));
  for (const std::string& pattern : patterns) PB_TRY(add_function(client, path, option, pattern));
  return {};
}

Error unknown_tracer(serve::Client& client, const std::string& tracer, const Error& error) {
  Result<std::string> available = client.read_all("available_tracers");
  if (!available.ok() || error.errno_value != EINVAL) return about("-p", tracer, error);
  available->resize(available->find_last_not_of(" \n") + 1);
  return user_error(EINVAL,
                    "-p '" + tracer + "': there is no such tracer; there are " + *available + ".");
}

Error unknown_option(const std::string& option) {
  std::vector<std::string_view> names;
  for (const TraceOptionInfo& info : kTraceOptions) names.push_back(info.name);
  std::string sentence = "-O '" + option + "': there is no such option";
  std::vector<std::string> near = near_matches(option, names);
  for (size_t i = 0; i < near.size(); i++)
    sentence += (i == 0 ? "; did you mean " : ", ") + near[i];
  return user_error(EINVAL, sentence + (near.empty() ? "." : "?"));
}

// Through the files of options/: trace_options has those of a tracer while it runs only.
Status set_options(serve::Client& client, const InstanceRequest& request, AppliedRequest* applied) {
  for (const std::string& option : request.options) {
    bool off = option.starts_with("no");
    std::string path = request.directory() + "options/" + option.substr(off ? 2 : 0);
    if (option.find('/') != option.npos) return unknown_option(option);
    Result<std::string> before = client.read_all(path);
    if (!before.ok())
      return before.error().errno_value == ENOENT ? unknown_option(option) : before.error();
    PB_TRY(set_value(client, path, "-O", off ? "0" : "1"));
    applied->files.push_back({path, *before});
  }
  return {};
}

Status set_filters_of_tracer(serve::Client& client, const InstanceRequest& request,
                             AppliedRequest* applied) {
  std::string directory = request.directory();
  PB_TRY(set_functions(client, directory + "set_ftrace_filter", "-l", request.functions, applied));
  return set_functions(client, directory + "set_ftrace_notrace", "-n", request.not_functions,
                       applied);
}

Status set_tracer(serve::Client& client, const InstanceRequest& request, AppliedRequest* applied) {
  std::string path = request.directory() + "current_tracer";
  Result<std::string> before = client.read_all(path);
  if (!before.ok()) return about("-p", request.tracer, before.error());
  Status set = client.write_all(path, request.tracer + "\n", true);
  if (!set.ok()) return unknown_tracer(client, request.tracer, set.error());
  applied->files.push_back({path, *before});
  applied->tracing.push_back(request.directory());
  return {};
}

// What is traced is decided before the tracer patches anything; but for an instance that has
// another tracer of its own (the profiler), which would take the functions for itself.
Status apply_tracer(serve::Client& client, const InstanceRequest& request,
                    AppliedRequest* applied) {
  if (!request.options.empty()) PB_TRY(set_options(client, request, applied));
  if (!request.traces()) return {};
  Result<std::string> others = client.read_all(request.directory() + "function_tracers");
  bool tracer_first = others.ok() && others->find('*') != others->npos;
  if (tracer_first) PB_TRY(set_tracer(client, request, applied));
  PB_TRY(set_filters_of_tracer(client, request, applied));
  return tracer_first ? Status() : set_tracer(client, request, applied);
}

Status apply_settings(serve::Client& client, const InstanceRequest& request,
                      AppliedRequest* applied) {
  std::string directory = request.directory(), tids;
  if (!request.instance.empty()) PB_TRY(make_instance(client, request.instance, applied));
  if (request.buffer_kb != 0)
    PB_TRY(
        set_value(client, directory + "buffer_size_kb", "-b", std::to_string(request.buffer_kb)));
  if (!request.clock.empty())
    PB_TRY(set_value(client, directory + "trace_clock", "-C", request.clock));
  for (const std::string& tid : request.tids) tids += (tids.empty() ? "" : " ") + tid;
  if (tids.empty()) return {};
  Status set = client.write_all(directory + "set_event_pid", tids, true);
  if (!set.ok()) return about("-P", tids, set.error());
  applied->with_pids.push_back(directory);
  if (!request.traces()) return {};
  return set_and_keep(client, directory + "set_ftrace_pid", "-P", tids, applied);
}

// The program is always there: what waits for it has found none of its functions.
std::string none_of_program(serve::Client& client) {
  std::string text = "no function of the program fits that can be traced";
  Result<std::string> refused = client.read_all("debug/refused_functions");
  if (refused.ok() && !refused->empty())
    text += "; debug/refused_functions begins with: " + refused->substr(0, refused->find('\n'));
  return text;
}

}  // namespace

Status add_function(serve::Client& client, const std::string& path, std::string_view option,
                    const std::string& pattern) {
  Status added = client.write_all(path, pattern + "\n", false);
  if (!added.ok()) return unknown_function(client, option, pattern, added.error());
  if (pattern.find(":mod:") == pattern.npos) return {};
  Result<std::string> lines = client.read_all(path);
  if (!lines.ok() || !waits_for_module(*lines, pattern)) return {};
  const bool of_program = pattern.ends_with(":mod:!*");
  remark(std::string(option) + " '" + pattern + "': " +
         (of_program ? none_of_program(client)
                     : "no such library is loaded yet; this waits until one is (the program's own "
                       "functions are ':mod:!*')"));
  return {};
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

const std::vector<option>& TraceRequest::long_options() {
  static const std::vector<option> kOptions = [] {
    std::vector<option> options = {{"event", required_argument, nullptr, 'e'},
                                   {"filter", required_argument, nullptr, 'f'},
                                   {"buffer", required_argument, nullptr, 'B'},
                                   {"clock", required_argument, nullptr, 'C'},
                                   {"tid", required_argument, nullptr, 'P'},
                                   {"buffer-size", required_argument, nullptr, 'b'},
                                   {"max-graph-depth", required_argument, nullptr, kMaxGraphDepth}};
    for (size_t i = 0; i < kTraceOptions.size(); i++)
      if (kTraceOptions[i].name.starts_with("func"))
        options.push_back(
            {kTraceOptions[i].name.data(), no_argument, nullptr, kOptionWord + int(i)});
    return options;
  }();
  return kOptions;
}

namespace {

// What looks like a request for a probe, and is meant for function_events: NAME=FUNC(TYPE NAME, …),
// and a list with something behind it. `NAME=ns::f(int)` and `ns::f() n` are a probe's place.
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

}  // namespace

EventRequest::Kind EventRequest::kind() const {
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

bool is_function_command(std::string_view line) {
  for (const char* command : {":traceon", ":traceoff", ":snapshot", ":stacktrace", ":dump",
                              ":cpudump", ":enable_event:", ":disable_event:"})
    if (line.find(command) != line.npos) return true;
  return false;
}

bool TraceRequest::is_ours(int letter) {
  bool is_word = letter >= kOptionWord && letter < kOptionWord + int(kTraceOptions.size());
  if (is_word || letter == kMaxGraphDepth) return true;
  return letter < 256 && letter != ':' &&
         std::string_view(kLetters).find(char(letter)) != std::string_view::npos;
}

const char* TraceRequest::take(int letter, const char* value) {
  InstanceRequest& current = instances_.back();
  int tid = 0;
  if (letter >= kOptionWord) {
    current.options.emplace_back(kTraceOptions[size_t(letter - kOptionWord)].name);
    return nullptr;
  }
  switch (letter) {
    case 'l':
      current.functions.emplace_back(value);
      return *value ? nullptr : "-l takes a function or a glob.";
    case 'n':
      current.not_functions.emplace_back(value);
      return *value ? nullptr : "-n takes a function or a glob.";
    case 'g':
      graph_functions_.emplace_back(value);
      return *value ? nullptr : "-g takes a function or a glob.";
    case 'O':
      current.options.emplace_back(value);
      return *value ? nullptr : "-O takes a word of trace_options.";
    case kMaxGraphDepth:
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

const char* TraceRequest::take_tracer_or_pid(const char* value, int* pid) {
  if (is_number(value)) return parse_pid(value, pid) ? nullptr : "-p takes a process id.";
  instances_.back().tracer = value;
  return *value ? nullptr : "-p takes a tracer (function, function_graph) or a process id.";
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
      return "-l and -n choose functions of a tracer: -p function or -p function_graph.";
  }
  if (any_tracer || (graph_functions_.empty() && max_graph_depth_.empty())) return nullptr;
  return "-g and --max-graph-depth are about -p function_graph.";
}

Result<std::vector<std::string>> matching_events(const std::vector<std::string>& available,
                                                 const std::string& text) {
  std::vector<std::string> found;
  std::vector<std::string_view> candidates;
  auto matches = [](const std::string& glob, const std::string& name) {
    return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
  };
  for (const std::string& line : available) {
    size_t colon = line.find(':');
    std::string system = line.substr(0, colon), name = line.substr(colon + 1);
    bool is_it = text.find(':') != text.npos ? matches(text, line)
                                             : matches(text, name) || matches(text, system);
    if (is_it || text == "all") found.push_back(line);
    candidates.push_back(line);
  }
  if (!found.empty()) return found;
  std::string sentence = "There is no event '" + text + "' in the process";
  std::vector<std::string> near = near_matches(text, candidates);
  for (size_t i = 0; i < near.size(); i++) sentence += (i == 0 ? "; near: " : ", ") + near[i];
  return user_error(ENOENT, sentence + ". A function is given with its arguments, as 'f(int a)'.");
}

Status apply_request(const TraceRequest& request, serve::Client& client, AppliedRequest* applied) {
  PB_TRY(set_functions(client, "set_graph_function", "-g", request.graph_functions(), applied));
  if (!request.max_graph_depth().empty()) {
    PB_TRY(set_and_keep(client, "max_graph_depth", "--max-graph-depth", request.max_graph_depth(),
                        applied));
  }
  for (const InstanceRequest& instance : request.instances()) {
    PB_TRY(apply_settings(client, instance, applied));
    PB_TRY(apply_events(client, instance, applied));
    PB_TRY(apply_tracer(client, instance, applied));
  }
  return {};
}

void stop_request(const AppliedRequest& applied, serve::Client& client) {
  std::map<std::string, std::string> words;  // by instance
  for (const AppliedRequest::Event& event : applied.events)
    words[event.directory] += "!" + event.name + "\n";
  for (const auto& [directory, text] : words)
    (void)client.write_all(directory + "set_event", text, false);
  // Another tracer would clear the buffer, which is not read yet.
  for (const std::string& directory : applied.tracing)
    (void)client.write_all(directory + "tracing_on", "0\n", false);
}

void undo_request(const AppliedRequest& applied, serve::Client& client) {
  stop_request(applied, client);
  for (auto file = applied.files.rbegin(); file != applied.files.rend(); ++file)
    (void)client.write_all(file->path, file->text, true);
  for (const std::string& directory : applied.tracing)
    (void)client.write_all(directory + "tracing_on", "1\n", false);
  for (const AppliedRequest::Event& event : applied.events)
    if (event.filtered) (void)set_filter(client, event.directory, event.name, "0");
  for (const std::string& directory : applied.with_pids)
    (void)client.write_all(directory + "set_event_pid", "", true);
  for (const std::string& instance : applied.instances) (void)client.remove_directory(instance);
  for (std::string name : applied.defined) {
    name[name.find(':')] = '/';
    (void)client.write_all("dynamic_events", "-:" + name + "\n", false);
  }
  if (client.gone() || client.answers()) return;
  const std::string pid = std::to_string(client.pid());
  std::fprintf(stderr,
               "patchbay: Process %s does not answer (stopped?): what was enabled in it stays so; "
               "`patchbay reset -p %s` ends it when the process goes on.\n",
               pid.c_str(), pid.c_str());
}

}  // namespace patchbay::cmd
