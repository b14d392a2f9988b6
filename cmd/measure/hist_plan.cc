// SPDX-License-Identifier: MIT
#include "cmd/measure/hist_plan.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sstream>

#include "base/unique_fd.h"
#include "symbol/symbol.h"

namespace patchbay::cmd {
namespace {

std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

Error unknown_event(std::string_view name, const std::vector<std::string>& names) {
  std::vector<std::string_view> candidates(names.begin(), names.end());
  std::string sentence = "There is no event '" + std::string(name) + "'";
  std::vector<std::string> near = near_matches(name, candidates);
  for (size_t i = 0; i < near.size(); i++) sentence += (i == 0 ? "; near: " : ", ") + near[i];
  return user_error(ENOENT, sentence + ".");
}

std::string format_path(const std::string& name) {
  std::string path = name;
  path[path.find(':')] = '/';
  return "events/" + path + "/format";
}

}  // namespace

std::string HistPlan::commands() const {
  std::string text;
  for (const Write& write : writes)
    text += "echo " + shell_word(write.text) + " >> " + write.path + "\n";
  return text;
}

std::string trigger_path(const EventCall& event) {
  return "events/" + event.system + "/" + event.name + "/trigger";
}

Result<EventFormats> EventFormats::of_process(serve::Client& client) {
  PB_ASSIGN(std::string text, client.read_all("available_events"));
  std::vector<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) names.push_back(line);
  return EventFormats(std::move(names),
                      [&client](const std::string& path) { return client.read_all(path); });
}

Result<EventFormats> EventFormats::of_directory(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& system : std::filesystem::directory_iterator(directory + "/events", error)) {
    if (!system.is_directory(error)) continue;
    for (const auto& event : std::filesystem::directory_iterator(system.path(), error))
      if (event.is_directory(error))
        names.push_back(system.path().filename().string() + ":" + event.path().filename().string());
  }
  if (names.empty()) return user_error(ENOENT, "There are no events in " + directory + "/events.");
  std::sort(names.begin(), names.end());
  auto read = [directory](const std::string& path) -> Result<std::string> {
    return read_file(directory + "/" + path);
  };
  return EventFormats(std::move(names), read);
}

bool EventFormats::has(std::string_view system, std::string_view name) const {
  const std::string whole = std::string(system) + ":" + std::string(name);
  return std::find(names_.begin(), names_.end(), whole) != names_.end();
}

Result<const EventCall*> EventFormats::find(std::string_view name) {
  std::string wanted(name);
  if (const size_t dot = wanted.find('.'); dot != wanted.npos) wanted[dot] = ':';
  const bool is_whole = wanted.find(':') != wanted.npos;
  std::vector<std::string> found;
  for (const std::string& one : names_)
    if (is_whole ? one == wanted : one.substr(one.find(':') + 1) == wanted) found.push_back(one);
  if (found.empty()) return unknown_event(name, names_);
  if (found.size() > 1)
    return user_error(EINVAL, "There are " + found[0] + " and " + found[1] + ": say which.");
  if (auto known = calls_.find(found[0]); known != calls_.end()) return &known->second;
  PB_ASSIGN(std::string text, read_(format_path(found[0])));
  PB_ASSIGN(EventCall call, parse_format(found[0].substr(0, found[0].find(':')), text));
  return &calls_.emplace(found[0], std::move(call)).first->second;
}

bool is_text_field(const EventField& field) {
  const std::string& type = field.type;
  const bool is_char = type.find("char") != type.npos;
  if (type.starts_with("__data_loc") || type.starts_with("__rel_loc")) return is_char;
  const bool is_array = field.array_len > 0 || !field.brackets.empty();
  return is_char && (is_array || type.ends_with("*"));
}

// A text's type is compared as it is written, a number's by its size and sign.
SyntheticSlot synthetic_slot(const EventField& field) {
  const bool is_located =
      field.type.starts_with("__data_loc") || field.type.starts_with("__rel_loc");
  if (is_text_field(field)) {
    if (is_located || field.array_len == 0) return {"char", "[]"};
    return {"char", "[" + std::to_string(field.array_len) + "]"};
  }
  if (is_located && field.type.find("long") != field.type.npos) return {"long", "[]"};
  if (field.type == "pid_t" || field.type == "bool" || field.type == "gfp_t")
    return {field.type, ""};
  const uint32_t bits = std::clamp<uint32_t>(field.size, 1, 8) * 8;
  return {(field.is_signed ? "s" : "u") + std::to_string(bits), ""};
}

}  // namespace patchbay::cmd
