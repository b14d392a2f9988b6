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
#include "tool_uses.h"

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

// The event of a definition, as "p:GRP/EV …" or "p:GRP.EV …" say it; the definition without one.
std::string name_in(const std::string& definition) {
  size_t colon = definition.find(':'), blank = definition.find(' ');
  if (colon > blank) return definition;
  std::string name = definition.substr(colon + 1, blank - colon - 1);
  size_t slash = name.find('/');
  if (slash == name.npos) slash = name.find('.');
  if (slash != name.npos) name[slash] = ':';
  return name;
}

// Whether an event "SYSTEM:EVENT" has the name that a definition gives.
bool is_called(const std::string& event, const std::string& name) {
  return event == name || event.ends_with(":" + name);
}

// A line without a name, or with "GRP/" alone, gets one from the process.
bool is_named_by(const std::vector<std::string>& lines, const std::string& event) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    const std::string name = name_in(line);
    if (name.ends_with(':')) return event.starts_with(name);
    return name == line || is_called(event, name);
  });
}

Result<std::vector<std::string>> available_events(serve::Client& client) {
  Result<std::string> text = client.read_all("available_events");
  if (!text.ok()) return text.error();
  return split_lines(*text);
}

// SYSTEM:EVENT as dynamic_events names it.
std::string with_slash(std::string event) {
  event[event.find(':')] = '/';
  return event;
}

std::string enable_of(const std::string& directory, const std::string& event) {
  return directory + "events/" + with_slash(event) + "/enable";
}

// A function event that says the same is there: it is used by us, too.
bool share_function(const FunctionEventDef& def, const std::string& listed, ToolUses* uses) {
  for (const std::string& line : split_lines(listed)) {
    if (line.substr(0, line.find("  # ")) != def.canonical()) continue;
    if (uses) (void)uses->share(ToolUse::Kind::kFunction, def.event_name());
    return true;
  }
  return false;
}

// A definition of the event `name` under the first name that is free: "f_2=f(int a)".
std::string under_free_name(const std::vector<std::string>& available, const std::string& name,
                            const std::string& line) {
  for (int i = 2;; i++) {
    const std::string free = name + "_" + std::to_string(i);
    if (std::find(available.begin(), available.end(), "functions:" + free) == available.end())
      return free + "=" + line;
  }
}

// What stands behind NAME= of a definition that has one.
std::string without_name(const std::string& line) {
  const size_t equals = line.find('=');
  return equals < line.find('(') ? line.substr(equals + 1) : line;
}

// Defines a function event, unless it is there. Its name.
Result<std::string> define_function(serve::Client& client, const std::string& line,
                                    const std::vector<std::string>& available, ToolUses* uses) {
  // An address by name is the process's business: any will do.
  FunctionEventParse parsed = parse_function_event(line, [](std::string_view) { return 1; });
  std::string chosen = line, name = parsed.def ? "functions:" + parsed.def->event_name() : "";
  if (parsed.def && std::find(available.begin(), available.end(), name) != available.end()) {
    Result<std::string> listed = client.read_all("function_events");
    if (!listed.ok()) return listed.error();
    if (share_function(*parsed.def, *listed, uses)) return name;
    chosen = under_free_name(available, parsed.def->event_name(), without_name(line));
    const std::string free = chosen.substr(0, chosen.find('='));
    remark("another function event is called " + parsed.def->event_name() +
           " in the process; this one is " + free);
    name = "functions:" + free;
  }
  Status defined = define(client, "function_events", chosen);
  if (!defined.ok()) return defined.error();
  if (uses) uses->add(ToolUse::Kind::kFunction, name.substr(name.find(':') + 1));
  return name;
}

// Lines of dynamic_events about the event "GRP/EV", without its name: "p|work a=%di".
std::vector<std::string> probes_of(const std::string& listed, const std::string& event) {
  std::vector<std::string> found;
  for (const std::string& line : split_lines(listed)) {
    const size_t colon = line.find(':'), end = line.find(' ');
    if (colon < end && line.substr(colon + 1, end - colon - 1) == event)
      found.push_back(line.substr(0, colon) + "|" + line.substr(end));
  }
  return found;
}

// "p:GRP/EV PLACE" as "p:GRP/FREE PLACE"; "p PLACE" as "p:FREE PLACE".
std::string renamed(const std::string& line, const std::string& free) {
  const size_t blank = line.find(' '), colon = std::min(line.find(':'), blank);
  const size_t slash = line.rfind('/', blank);
  const bool has_group = slash != line.npos && slash > colon && slash < blank;
  return (has_group ? line.substr(0, slash + 1) : line.substr(0, colon) + ":") + free +
         line.substr(blank);
}

// Defines a line and returns its events. The kernel puts another place of an event that is there to
// that event; a command's own must not change what others have, so it comes under a free name, and
// goes again when it says what is there.
Result<std::vector<std::string>> define_beside(serve::Client& client, const std::string& line,
                                               const std::vector<std::string>& before) {
  std::string name = name_in(line);
  const bool has_name = name != line;
  if (!has_name) name = "probe";
  std::string free = name.substr(name.find(':') + 1), there;
  const auto is_taken = [&](const std::string& as) {
    return std::any_of(before.begin(), before.end(),
                       [&](const auto& event) { return is_called(event, as); });
  };
  for (const std::string& event : before)
    if (has_name && is_called(event, name)) there = event;
  const std::string stem = free;
  for (int i = 2; is_taken(free); i++) free = stem + "_" + std::to_string(i);
  Status defined = define(client, "dynamic_events", renamed(line, free));
  if (!defined.ok()) return defined.error();
  Result<std::vector<std::string>> after = available_events(client);
  if (!after.ok()) return after;
  const std::set<std::string> old(before.begin(), before.end());
  std::erase_if(*after, [&](const std::string& event) {
    return old.contains(event) || !is_called(event, free);
  });
  if (there.empty() || after->size() != 1) return after;
  Result<std::string> listed = client.read_all("dynamic_events");
  if (!listed.ok()) return listed.error();
  if (probes_of(*listed, with_slash(there)) != probes_of(*listed, with_slash(after->front()))) {
    remark("another event is called " + there + " in the process; this one is " + after->front());
    return after;
  }
  (void)client.write_all("dynamic_events", "-:" + with_slash(after->front()) + "\n", false);
  return std::vector<std::string>{there};
}

// The events of the lines: new ones, or those of a line that is there already. What somebody else
// defines meanwhile is none of ours.
Result<std::vector<std::string>> define_probes(serve::Client& client,
                                               const std::vector<std::string>& lines,
                                               const std::vector<std::string>& before,
                                               ToolUses* uses) {
  const std::set<std::string> old(before.begin(), before.end());
  std::set<std::string> names;
  for (const std::string& line : lines) {
    // Several lines of one request may be one event.
    const bool beside = std::any_of(before.begin(), before.end(), [&](const std::string& event) {
      return is_called(event, name_in(line));
    });
    Status defined = beside ? Status() : define(client, "dynamic_events", line);
    if (!beside && defined.ok()) continue;
    if (!beside && (defined.error().errno_value != EEXIST || name_in(line) != line))
      return defined.error();
    Result<std::vector<std::string>> made = define_beside(client, line, before);
    if (!made.ok()) return made;
    names.insert(made->begin(), made->end());
  }
  Result<std::vector<std::string>> after = available_events(client);
  if (!after.ok()) return after;
  for (const std::string& name : *after)
    if (!old.contains(name) && is_named_by(lines, name)) names.insert(name);
  for (const std::string& name : names) {
    if (!uses) continue;
    if (old.contains(name))
      (void)uses->share(ToolUse::Kind::kEvent, with_slash(name));
    else
      uses->add(ToolUse::Kind::kEvent, with_slash(name));
  }
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace

Result<std::vector<std::string>> define_event(serve::Client& client, const EventRequest& event,
                                              AppliedRequest* applied) {
  Result<std::vector<std::string>> before = available_events(client);
  if (!before.ok() || event.kind() == EventRequest::Kind::kEvent)
    return before.ok() ? matching_events(*before, event.text) : before;
  Result<Definitions> definitions = definitions_of(client, event);
  if (!definitions.ok()) return definitions.error();
  // Debug information takes its time, in which others define theirs.
  before = available_events(client);
  if (!before.ok()) return before;
  std::vector<std::string> names, probes;
  for (const Definition& one : *definitions) {
    if (one.file != std::string_view("function_events")) {
      probes.push_back(one.line);
      continue;
    }
    Result<std::string> name = define_function(client, one.line, *before, applied->uses);
    if (!name.ok()) return name.error();
    before->push_back(*name);
    names.push_back(*name);
  }
  if (probes.empty()) return names;
  return define_probes(client, probes, *before, applied->uses);
}

namespace {

// In an instance that others have, an event's filter is theirs.
Status keep_filter(serve::Client& client, const std::string& path, AppliedRequest* applied) {
  if (!applied->uses || applied->uses->is_in_own_instance(path)) return {};
  Result<std::string> before = client.read_all(path);
  if (!before.ok()) return before.error();
  applied->uses->keep_file(path, *before == "none\n" ? "0\n" : *before);
  return {};
}

Status set_filter(serve::Client& client, const std::string& directory, const std::string& event,
                  const std::string& filter, AppliedRequest* applied) {
  const std::string path = directory + "events/" + with_slash(event) + "/filter";
  PB_TRY(keep_filter(client, path, applied));
  return client.write_all(path, filter, false);
}

// The filter of a request that means one event must fit it. Of several it goes to those that it
// fits, as a system's filter does; the others are recorded whole, and named.
Status set_filters(serve::Client& client, const std::string& directory,
                   const std::vector<std::string>& names, const std::string& filter,
                   AppliedRequest* applied) {
  if (filter.empty()) return {};
  std::string others;
  Status last;
  bool fits = false;
  for (const std::string& name : names) {
    Status set = set_filter(client, directory, name, filter, applied);
    fits |= set.ok();
    if (set.ok()) continue;
    (void)set_filter(client, directory, name, "0",
                     applied);  // what failed does not stay in its file
    others += " " + name;
    last = set;
  }
  if (!fits && !last.ok())
    return user_error(last.error().errno_value, "-f:\n" + last.error().message());
  if (!others.empty())
    remark("-f '" + filter + "' does not fit" + others + ": recorded without a filter");
  return {};
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
    PB_TRY(set_filters(client, directory, *names, event.filter, applied));
    for (const std::string& name : *names) {
      words += name + "\n";
      const std::string enable = enable_of(directory, name);
      const bool was_off = on.insert(name).second;
      if (was_off) applied->events.push_back({directory, name});
      if (was_off && applied->uses) applied->uses->keep_file(enable, "0\n");
      // Another command has put it on, and may end before this one.
      if (!was_off && applied->uses) (void)applied->uses->share(ToolUse::Kind::kFile, enable);
    }
  }
  return client.write_all(directory + "set_event", words, false);
}

Status make_instance(serve::Client& client, const std::string& name, AppliedRequest* applied) {
  Status made = client.make_directory("instances/" + name);
  if (made.ok() && applied->uses) applied->uses->add(ToolUse::Kind::kInstance, name);
  if (made.ok() || made.error().errno_value == EEXIST) return {};
  return about("-B", name, made.error());
}

// A file of one value as it would have to be written: "[local] global", "7 (expanded: 1408)".
std::string value_as_written(const std::string& text) {
  if (const size_t expanded = text.find("(expanded: "); expanded != text.npos)
    return text.substr(expanded + 11, text.find(')', expanded) - expanded - 11) + "\n";
  const size_t open = text.find('['), close = text.find(']', open);
  return close == text.npos ? text : text.substr(open + 1, close - open - 1) + "\n";
}

Status set_value(serve::Client& client, const std::string& path, std::string_view option,
                 const std::string& value, AppliedRequest* applied) {
  Result<std::string> before = client.read_all(path);
  if (before.ok() && applied->uses) applied->uses->keep_file(path, value_as_written(*before));
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

// Writes a value, the file's former text being kept.
Status set_and_keep(serve::Client& client, const std::string& path, std::string_view option,
                    const std::string& value, AppliedRequest* applied) {
  Result<std::string> before = client.read_all(path);
  if (!before.ok()) return about(option, value, before.error());
  std::string text;
  for (const std::string& line : split_lines(*before)) text += as_written(line);
  if (applied->uses) applied->uses->keep_file(path, text);
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
  // What another command has put there, of the file of all instances, is wanted, too.
  if (applied->uses && applied->uses->is_others(ToolUse::Kind::kFile, path))
    (void)applied->uses->share(ToolUse::Kind::kFile, path);
  else
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
    // Some are those of all instances together.
    const bool is_missing = !before.ok() && before.error().errno_value == ENOENT;
    if (is_missing && !request.stand_in.empty() && request.instance.empty()) {
      path = path.substr(request.directory().size());
      before = client.read_all(path);
    }
    if (!before.ok())
      return before.error().errno_value == ENOENT ? unknown_option(option) : before.error();
    PB_TRY(set_value(client, path, "-O", off ? "0" : "1", applied));
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
  if (applied->uses) applied->uses->keep_file(path, *before);
  Status set = client.write_all(path, request.tracer + "\n", true);
  if (!set.ok()) return unknown_tracer(client, request.tracer, set.error());
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
  if (!request.instance.empty() && request.stand_in.empty())
    PB_TRY(make_instance(client, request.instance, applied));
  if (request.buffer_kb != 0)
    PB_TRY(set_value(client, directory + "buffer_size_kb", "-b", std::to_string(request.buffer_kb),
                     applied));
  if (!request.clock.empty())
    PB_TRY(set_value(client, directory + "trace_clock", "-C", request.clock, applied));
  for (const std::string& tid : request.tids) tids += (tids.empty() ? "" : " ") + tid;
  if (tids.empty()) return {};
  PB_TRY(set_and_keep(client, directory + "set_event_pid", "-P", tids, applied));
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
  ToolUses* uses = applied.uses;
  const bool knows_others = uses && uses->look_again().ok();
  for (const AppliedRequest::Event& event : applied.events) {
    // In an instance that several have, an event goes off with the last that needs it.
    const bool is_own = !uses || uses->is_in_own_instance(event.directory);
    const std::string enable = enable_of(event.directory, event.name);
    if (is_own || (knows_others && !uses->is_others(ToolUse::Kind::kFile, enable)))
      words[event.directory] += "!" + event.name + "\n";
  }
  for (const auto& [directory, text] : words)
    (void)client.write_all(directory + "set_event", text, false);
  if (uses) uses->ready();
  // Another tracer would clear the buffer, which is not read yet.
  for (const std::string& directory : applied.tracing) {
    const std::string path = directory + "tracing_on";
    Result<std::string> before = client.read_all(path);
    if (!before.ok() || *before != "1\n") continue;
    if (uses) uses->keep_file(path, "1\n");
    (void)client.write_all(path, "0\n", false);
  }
}

void say_what_stays(serve::Client& client) {
  if (client.gone() || client.answers()) return;
  const std::string pid = std::to_string(client.pid());
  std::fprintf(stderr,
               "patchbay: Process %s does not answer (stopped?): what was enabled in it stays so; "
               "`patchbay reset -p %s` ends it when the process goes on.\n",
               pid.c_str(), pid.c_str());
}

}  // namespace patchbay::cmd
