// SPDX-License-Identifier: MIT
#include "probe_source.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>

#include "commands.h"

namespace patchbay::cmd {
namespace {

// Asks one object after the other until one has an answer.
template <typename Answer, typename Ask>
Result<Answer> first_answer(const std::vector<std::string>& objects, Ask ask) {
  std::optional<Error> without_debug_info, first;
  bool is_known = false;
  for (const std::string& object : objects) {
    Result<std::unique_ptr<SourceProbes>> source = SourceProbes::open(object);
    if (!source.ok()) {
      if (!without_debug_info) without_debug_info = source.error();
      continue;
    }
    Result<Answer> answer = ask(**source);
    if (answer.ok()) return answer;
    // It has the function and cannot do it, or has not the function.
    bool is_unknown = answer.error().errno_value == ENOENT;
    if (!first || !is_unknown) first = answer.error();
    is_known = !is_unknown;
    if (is_known) break;
  }
  // Who means the program must not be told of the library that was asked last.
  if (first && !is_known && without_debug_info)
    return user_error(ENOENT, without_debug_info->message() + " " + first->message());
  if (first) return *first;
  if (without_debug_info) return *without_debug_info;
  return user_error(ENOENT, "The process has no file with debug information.");
}

}  // namespace

std::vector<std::string> objects_of(int pid, const std::string& exe) {
  std::vector<std::string> objects;
  if (!exe.empty()) objects.push_back(exe);
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    size_t slash = line.find('/');
    bool is_code = line.size() > 20 && line.find(" r-xp ") != line.npos;
    if (slash == line.npos || !is_code) continue;
    std::string path = line.substr(slash);
    bool is_ours = path.find("/libpatchbay.so") != path.npos || path.ends_with(" (deleted)");
    if (!is_ours && std::find(objects.begin(), objects.end(), path) == objects.end())
      objects.push_back(path);
  }
  return objects;
}

Result<DerivedProbe> derive_probe(const std::vector<std::string>& objects, std::string_view text) {
  Result<ProbeRequest> request = parse_probe_request(text);
  if (!request.ok()) return request.error();
  return first_answer<DerivedProbe>(objects,
                                    [&](SourceProbes& source) { return source.derive(*request); });
}

Result<std::string> expand_function_event(const std::vector<std::string>& objects,
                                          const std::string& text) {
  if (!text.ends_with("(*)")) return text;
  std::string function = text.substr(0, text.size() - 3);
  std::vector<std::string> notes;
  Result<std::string> definition = first_answer<std::string>(objects, [&](SourceProbes& source) {
    notes.clear();
    return source.function_event(function, &notes);
  });
  if (definition.ok()) print_probe_notes(notes);
  return definition;
}

std::string free_event_name(const std::string& dynamic_events, const DerivedProbe& probe) {
  std::string name = probe.event;
  auto is_taken = [&] {
    return dynamic_events.find(":" + probe.group + "/" + name + " ") != dynamic_events.npos;
  };
  for (int i = 1; is_taken(); i++) name = probe.event + "_" + std::to_string(i);
  return name;
}

void print_probe_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) remark(note);
}

}  // namespace patchbay::cmd
