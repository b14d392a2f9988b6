// SPDX-License-Identifier: MIT
#include "cmd/target/apply_request.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <set>

#include "base/text.h"
#include "cmd/common/commands.h"
#include "cmd/target/event_definition.h"
#include "cmd/target/named_function.h"
#include "cmd/target/probe_source.h"
#include "cmd/target/prototypes.h"
#include "cmd/target/tool_uses.h"
#include "event/trace_options.h"
#include "symbol/symbol.h"

namespace patchbay::cmd {
namespace {

// The option that an error is about, then its sentence.
Error about(std::string_view option, const std::string& value, const Error& error) {
  return user_error(error.errno_value,
                    std::string(option) + " '" + value + "': " + error.message());
}

std::string enable_of(const std::string& directory, const std::string& event) {
  return directory + "events/" + with_slash(event) + "/enable";
}

// As the kernel's, set_event takes words of 127 characters.
constexpr size_t kMostOfSetEvent = 127;

// Switches events on or off: all by one write, but those whose names are too long for it.
class EventSwitch {
 public:
  EventSwitch(serve::Client& client, std::string directory, bool on)
      : client_(client), directory_(std::move(directory)), on_(on) {}
  void add(const std::string& event) {
    const std::string word = (on_ ? "" : "!") + event;
    if (word.size() > kMostOfSetEvent) return long_.push_back(event);
    words_ += word + "\n";
  }
  Status write() {
    for (const std::string& event : long_)
      PB_TRY(client_.write_all(enable_of(directory_, event), on_ ? "1\n" : "0\n", false));
    return words_.empty() ? Status() : client_.write_all(directory_ + "set_event", words_, false);
  }

 private:
  serve::Client& client_;
  const std::string directory_;
  const bool on_;
  std::string words_;
  std::vector<std::string> long_;
};

// In an instance that others have, an event's filter is theirs.
Status keep_filter(serve::Client& client, const std::string& path, AppliedRequest* applied) {
  if (!applied->uses || applied->uses->is_in_own_instance(path)) return {};
  PB_ASSIGN(std::string before, client.read_all(path));
  applied->uses->keep_file(path, before == "none\n" ? "0\n" : before);
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

// A probe's place has one error of the kernel's, whatever is wrong with it.
bool says_absent(const Error& error) {
  return error.errno_value == ENOENT ||
         error.message().find("Invalid probed address or symbol: no function") != std::string::npos;
}

// The agent has not said it: it is gone, or does not answer.
bool has_no_answer(const Error& error) {
  const int number = error.errno_value;
  return number == ETIMEDOUT || number == EPIPE || number == ECONNRESET || number == ECONNREFUSED ||
         number == ENOTCONN || number == EINTR;
}

// Whether this program does not have what `text` asks for, and may.
template <typename T>
bool is_missing(const Result<T>& result, const std::string& text, AppliedRequest* applied) {
  using Missing = AppliedRequest::Missing;
  if (result.ok()) applied->found.insert(text);
  if (result.ok() || applied->on_missing == Missing::kError) return false;
  const Error& error = result.error();
  if (has_no_answer(error)) return false;
  const bool is_absent = says_absent(error);
  if (!is_absent && applied->on_missing != Missing::kAnyNamed) return false;
  applied->errors.try_emplace(text, error.message());
  // Of a definition with its caret: the sentence behind them.
  if (is_absent)
    applied->missing.push_back(text);
  else
    applied->failed.push_back(error.message().substr(error.message().rfind('\n') + 1));
  return true;
}

Status apply_events(serve::Client& client, const InstanceRequest& request,
                    AppliedRequest* applied) {
  if (request.events.empty()) return {};
  const std::string directory = request.directory();
  EventSwitch on_switch(client, directory, true);
  PB_ASSIGN(std::string enabled, client.read_all(directory + "set_event"));
  std::vector<std::string> lines = split_lines(enabled);
  std::set<std::string> on(lines.begin(), lines.end());
  for (const EventRequest& event : request.events) {
    Result<std::vector<std::string>> names = define_event(client, event, applied);
    if (is_missing(names, event.text, applied)) continue;
    if (!names.ok()) return names.error();
    PB_TRY(set_filters(client, directory, *names, event.filter, applied));
    for (const std::string& name : *names) {
      on_switch.add(name);
      const std::string enable = enable_of(directory, name);
      const bool was_off = on.insert(name).second;
      if (was_off) applied->events.push_back({directory, name});
      if (was_off && applied->uses) applied->uses->keep_file(enable, "0\n");
      // Another command has put it on, and may end before this one.
      if (!was_off && applied->uses) (void)applied->uses->share(ToolUse::Kind::kFile, enable);
    }
  }
  return on_switch.write();
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

bool is_function_command(std::string_view line) {
  for (const char* command : {":traceon", ":traceoff", ":snapshot", ":stacktrace", ":dump",
                              ":cpudump", ":enable_event:", ":disable_event:"})
    if (line.find(command) != line.npos) return true;
  return false;
}

Status empty_functions(serve::Client& client, const std::string& path, AppliedRequest* applied) {
  return set_and_keep(client, path, path, "", applied);
}

namespace {

bool is_one_word(const std::string& pattern) {
  return !pattern.empty() && !is_digit(pattern[0]) &&
         std::all_of(pattern.begin(), pattern.end(), is_word_char);
}

// A function that nothing matches, with the ones that are called nearly so.
Error unknown_function(serve::Client& client, std::string_view option, const std::string& pattern,
                       const Error& error) {
  Result<std::string> text = client.read_all("available_filter_functions", serve::kMostFunctions);
  if (!text.ok() || error.errno_value != EINVAL) return about(option, pattern, error);
  if (is_one_word(pattern))
    if (const std::string copies = only_copies_of(objects_of(client.pid(), client.exe()), pattern);
        !copies.empty())
      return user_error(ENOENT, std::string(option) + " '" + pattern + "': " + copies);
  std::vector<std::string> lines = split_lines(*text);
  std::vector<std::string_view> names;
  for (const std::string& line : lines)
    names.push_back(std::string_view(line).substr(0, line.rfind(" [")));
  std::string sentence =
      std::string(option) + " '" + pattern + "': no function that can be traced " + "has this name";
  std::vector<std::string> near = near_matches(pattern.substr(0, pattern.find(":mod:")), names);
  for (size_t i = 0; i < near.size(); i++)
    sentence += (i == 0 ? "; did you mean " : ", ") + near[i];
  return user_error(ENOENT, sentence + (near.empty() ? "." : "?"));
}

// A filter file lists what fits no module yet as it was written, behind the tracer's name if any.
bool waits_for_module(const std::string& text, const std::string& pattern) {
  for (std::string_view line : split_lines(text)) {
    if (line == pattern || (line.starts_with("[ ") && line.ends_with("] " + pattern))) return true;
  }
  return false;
}

// The lines of a filter file, one write each: the one that is refused can be named. `fits`: how
// many mean any function.
Status set_functions(serve::Client& client, const std::string& path, std::string_view option,
                     const std::vector<std::string>& patterns, AppliedRequest* applied,
                     size_t* fits = nullptr) {
  if (patterns.empty()) return {};
  // What another command has put there, of the file of all instances, is wanted, too.
  if (applied->uses && applied->uses->is_others(ToolUse::Kind::kFile, path))
    (void)applied->uses->share(ToolUse::Kind::kFile, path);
  else
    PB_TRY(set_and_keep(client, path, option, "", applied));
  for (const std::string& pattern : patterns) {
    Status added = add_function(client, path, option, pattern);
    if (is_missing(added, pattern, applied)) continue;
    PB_TRY(added);
    if (fits) (*fits)++;
  }
  return {};
}

Error unknown_tracer(serve::Client& client, const std::string& tracer, const Error& error) {
  Result<std::string> available = client.read_all("available_tracers");
  if (!available.ok() || error.errno_value != EINVAL) return about("-t", tracer, error);
  available->resize(available->find_last_not_of(" \n") + 1);
  return user_error(EINVAL,
                    "-t '" + tracer + "': there is no such tracer; there are " + *available + ".");
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
                             AppliedRequest* applied, size_t* fits) {
  std::string directory = request.directory();
  PB_TRY(set_functions(client, directory + "set_ftrace_filter", "-l", request.functions, applied,
                       fits));
  return set_functions(client, directory + "set_ftrace_notrace", "-N", request.not_functions,
                       applied);
}

Status set_tracer(serve::Client& client, const InstanceRequest& request, AppliedRequest* applied) {
  std::string path = request.directory() + "current_tracer";
  Result<std::string> before = client.read_all(path);
  if (!before.ok()) return about("-t", request.tracer, before.error());
  if (applied->uses) applied->uses->keep_file(path, *before);
  Status set = client.write_all(path, request.tracer + "\n", true);
  if (!set.ok()) return unknown_tracer(client, request.tracer, set.error());
  applied->tracing.push_back(request.directory());
  return {};
}

// The functions are chosen before the tracer patches anything. An instance that has another tracer
// of its own (the profiler) is different: that one would take the functions for itself.
Status apply_tracer(serve::Client& client, const InstanceRequest& request,
                    AppliedRequest* applied) {
  if (!request.options.empty()) PB_TRY(set_options(client, request, applied));
  if (!request.traces()) return {};
  Result<std::string> others = client.read_all(request.directory() + "function_tracers");
  bool tracer_first = others.ok() && others->find('*') != others->npos;
  if (tracer_first) PB_TRY(set_tracer(client, request, applied));
  size_t fits = 0;
  PB_TRY(set_filters_of_tracer(client, request, applied, &fits));
  if (!request.functions.empty() && fits == 0)  // a filter without any means all
    return tracer_first ? client.write_all(request.directory() + "current_tracer", "nop\n", true)
                        : Status();
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

// The program is always loaded: a pattern that waits for it has found none of its functions.
std::string none_of_program(serve::Client& client) {
  std::string text = "no function of the program fits that can be traced";
  Result<std::string> refused = client.read_all("debug/refused_functions", serve::kMostFunctions);
  if (refused.ok() && !refused->empty())
    text += "; debug/refused_functions begins with: " + refused->substr(0, refused->find('\n'));
  return text;
}

// "libc:send" is "send:mod:libc" there. Behind what is no library stands a command.
std::string as_filter_line(serve::Client& client, const std::string& text) {
  if (text.find(":mod:") != text.npos || text.starts_with('!') || is_function_command(text))
    return text;
  const auto parts = split_library(text);
  const std::string &library = parts.first, &name = parts.second;
  if (library.empty() || name.empty()) return text;
  const std::vector<std::string> objects = objects_of(client.pid(), client.exe());
  const bool is_loaded = std::any_of(objects.begin(), objects.end(), [&](const auto& object) {
    return is_file_of_library(library, std::string(base_name(object)));
  });
  return is_loaded || library.starts_with("lib") ? name + ":mod:" + library : text;
}

// A name in the file means each function that is called so; an option's means those of one object.
Status keep_one_object(serve::Client& client, const std::string& path, const std::string& name,
                       const std::string& lines) {
  const std::string program(base_name(client.exe()));
  std::vector<std::string> files;
  for (std::string line : split_lines(lines)) {
    if (line.starts_with("[ ")) line.erase(0, std::min(line.find("] "), line.size() - 2) + 2);
    if (line == name) files.push_back(program);
    if (line.starts_with(name + " [") && line.ends_with(']'))
      files.push_back(line.substr(name.size() + 2, line.size() - name.size() - 3));
  }
  files = files_by_rank(files, program);
  if (files.size() < 2) return {};
  for (size_t i = 1; i < files.size(); i++)
    PB_TRY(client.write_all(path, "!" + name + ":mod:" + files[i] + "\n", false));
  say_which_is_meant(name, files);
  return {};
}

}  // namespace

Status add_function(serve::Client& client, const std::string& path, std::string_view option,
                    const std::string& text) {
  const std::string pattern = as_filter_line(client, text);
  Status added = client.write_all(path, pattern + "\n", false);
  if (!added.ok()) return unknown_function(client, option, pattern, added.error());
  const bool has_module = pattern.find(":mod:") != pattern.npos;
  if (!has_module && (option == "-N" || !is_one_word(pattern))) return {};
  Result<std::string> lines = client.read_all(path);
  if (!lines.ok()) return {};
  if (!has_module) return keep_one_object(client, path, pattern, *lines);
  if (!waits_for_module(*lines, pattern)) return {};
  const bool of_program = pattern.ends_with(":mod:!*");
  remark(std::string(option) + " '" + pattern + "': " +
         (of_program ? none_of_program(client)
                     : "no such library is loaded yet; this waits until one is (the program's own "
                       "functions are ':mod:!*')"));
  return {};
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
  std::map<std::string, EventSwitch> off;  // by instance
  ToolUses* uses = applied.uses;
  const bool knows_others = uses && uses->look_again().ok();
  for (const AppliedRequest::Event& event : applied.events) {
    // In an instance that several have, an event goes off with the last that needs it.
    const bool is_own = !uses || uses->is_in_own_instance(event.directory);
    const std::string enable = enable_of(event.directory, event.name);
    if (is_own || (knows_others && !uses->is_others(ToolUse::Kind::kFile, enable)))
      off.try_emplace(event.directory, client, event.directory, false)
          .first->second.add(event.name);
  }
  for (auto& entry : off) (void)entry.second.write();
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

Status make_stand_in(serve::Client& client, TraceRequest* request, size_t index, ToolUses* uses) {
  PB_ASSIGN(std::string name, uses->make_instance());
  request->set_stand_in(index, name);
  if (index != 0) return {};
  const std::string directory = request->instances()[index].directory();
  Result<std::string> size = client.read_all("buffer_size_kb");
  if (size.ok() && size->find_first_not_of("0123456789\n") == size->npos)
    (void)client.write_all(directory + "buffer_size_kb", *size, false);
  return client.write_all(directory + "options/copy_trace_marker", "1\n", false);
}

}  // namespace patchbay::cmd
