// SPDX-License-Identifier: MIT
#include "cmd/target/container_names.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/unique_fd.h"

namespace patchbay::cmd {
namespace {

namespace fs = std::filesystem;

// What stands behind `key` up to a quotation mark. Names and ids have none, and no backslash.
std::string_view text_behind(std::string_view key, std::string_view text, size_t* at) {
  const size_t found = text.find(key, *at);
  if (found == text.npos) return {};
  const size_t start = found + key.size();
  *at = std::min(text.find('"', start), text.size());
  return text.substr(start, *at - start);
}

// Where runtimes that root has started, and those of this user, have their files.
std::vector<std::string> homes_of_runtimes(const std::string& top) {
  std::vector<std::string> found{top + "/var/lib"};
  if (const char* home = std::getenv("HOME")) found.push_back(home + std::string("/.local/share"));
  return found;
}

}  // namespace

std::string name_in_docker_config(std::string_view text) {
  size_t at = 0;  // other names in there begin with no slash
  return std::string(text_behind("\"Name\":\"/", text, &at));
}

std::map<std::string, std::string> names_in_podman_list(std::string_view text) {
  std::map<std::string, std::string> names;
  for (size_t at = 0; at < text.size();) {
    const std::string id(text_behind("\"id\":\"", text, &at));
    if (id.empty()) return names;
    size_t next = std::min(text.find("\"id\":\"", at), text.size());
    const std::string_view object = text.substr(at, next - at);
    size_t inside = 0;
    if (const auto name = text_behind("\"names\":[\"", object, &inside); !name.empty())
      names.emplace(id, name);
  }
  return names;
}

std::map<std::string, std::string> container_names(const std::string& top) {
  std::map<std::string, std::string> names;
  std::error_code none;
  for (const std::string& home : homes_of_runtimes(top)) {
    for (const auto& one : fs::directory_iterator(home + "/docker/containers", none)) {
      Result<std::string> text = read_file(one.path().string() + "/config.v2.json");
      const std::string name = text.ok() ? name_in_docker_config(*text) : "";
      if (!name.empty()) names.emplace(one.path().filename(), name);
    }
    for (const char* driver : {"overlay", "vfs"}) {
      Result<std::string> list = read_file(home + "/containers/storage/" + driver +
                                           "-containers/containers.json");
      if (list.ok()) names.merge(names_in_podman_list(*list));
    }
  }
  return names;
}

}  // namespace patchbay::cmd
