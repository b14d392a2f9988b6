// SPDX-License-Identifier: MIT
#include "cmd/target/cgroups.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>

#include "base/memory_room.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "cmd/common/commands.h"
#include "cmd/target/container_names.h"

namespace patchbay::cmd {
namespace {

namespace fs = std::filesystem;

constexpr char kProcs[] = "cgroup.procs";
constexpr size_t kShortId = 12, kFewestDigits = 3;  // of a container's id
constexpr size_t kMostNamed = 5;

bool is_group(const std::string& directory) {
  return ::access((directory + "/" + kProcs).c_str(), F_OK) == 0;
}

// Calls `look` with the path of each directory below, and that itself. Deeper ones come later.
void walk(const std::string& top, const std::function<void(const fs::path&)>& look) {
  std::vector<fs::path> level{top};
  while (!level.empty()) {
    std::vector<fs::path> next;
    for (const fs::path& directory : level) {
      look(directory);
      std::error_code none;
      for (const auto& entry : fs::directory_iterator(directory, none))
        if (entry.is_directory(none) && !entry.is_symlink(none)) next.push_back(entry.path());
    }
    level = std::move(next);
  }
}

bool is_hex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == text.npos;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostNamed); i++)
    text += (i ? ", " : "") + names[i];
  return text + (names.size() > kMostNamed ? ", ..." : "");
}

// "/a/docker-ID.scope" of "/a/docker-ID.scope/init"; "": the path is of no container.
std::string container_in(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string upper = path.substr(0, end);
    if (!Cgroups::container_id(base_name(upper)).empty()) return upper;
    if (end == path.npos) return "";
  }
}

}  // namespace

std::vector<std::string> Cgroups::roots_in(std::string_view mountinfo) {
  std::vector<std::string> roots;
  for (const CgroupMount& mount : cgroup_mounts(mountinfo)) roots.push_back(mount.point);
  return roots;
}

Result<Cgroups> Cgroups::of_machine() {
  PB_ASSIGN(const std::string text, read_file("/proc/self/mountinfo"));
  std::vector<std::string> roots = roots_in(text);
  if (roots.empty())
    return user_error(ENOENT,
                      "No control groups are mounted here (/proc/self/mountinfo has no "
                      "cgroup2): name the processes with -p.");
  return Cgroups(std::move(roots));
}

Result<std::string> Cgroups::by_path(const std::string& path) const {
  std::string looked = path;
  bool is_whole = false;  // it begins with where control groups are mounted
  if (path.starts_with("/") && is_group(path)) return path;
  for (const std::string& root : roots_) {
    const std::string below = root + (path.starts_with("/") ? "" : "/") + path;
    if (is_group(below)) return below;
    is_whole |= path.starts_with(root + "/");
    if (looked == path && !is_whole) looked = below;
  }
  const bool is_there = ::access(path.c_str(), F_OK) == 0 && path.starts_with("/");
  return user_error(
      ENOENT, "--cgroup '" + path + "': " +
                  (is_there ? path + " is no control group: it has no cgroup.procs."
                            : "there is no control group " + (is_whole ? path : looked) + "."));
}

Result<std::string> Cgroups::of_service(const std::string& name) const {
  const std::string unit =
      name.ends_with(".service") || name.ends_with(".scope") || name.ends_with(".slice")
          ? name
          : name + ".service";
  const std::string stem = name.substr(0, name.find_first_of("@."));
  std::vector<std::string> found, near;
  for (size_t i = 0; i < roots_.size() && found.empty(); i++) {
    walk(roots_[i], [&](const fs::path& path) {
      const std::string at = path.filename();
      if (at == unit && is_group(path)) found.push_back(path);
      const bool is_near =
          at != unit && at.ends_with(".service") && !stem.empty() && at.find(stem) != at.npos;
      if (is_near && std::find(near.begin(), near.end(), at) == near.end()) near.push_back(at);
    });
  }
  const auto is_system = [](const std::string& path) {
    return path.find("/system.slice/") != path.npos;
  };
  std::stable_partition(found.begin(), found.end(), is_system);
  const auto nr_system = size_t(std::count_if(found.begin(), found.end(), is_system));
  if (found.size() == 1 || nr_system == 1) return found[0];
  const std::string about = "--service '" + name + "': ";
  if (!found.empty())
    return user_error(
        EEXIST, about + "there are several: " + listed(found) + "; choose one with --cgroup.");
  return user_error(
      ENOENT, about + "there is no control group " + unit +
                  (near.empty() ? "; does the service run?" : "; there is " + listed(near) + "."));
}

std::string Cgroups::container_id(std::string_view name) {
  if (name.ends_with(".scope")) name.remove_suffix(6);
  const std::string_view prefix = name.substr(0, name.rfind('-') + 1);  // npos + 1 is 0
  if (prefix.find("conmon") != prefix.npos) return "";  // podman's own process beside it
  const std::string_view id = name.substr(prefix.size());
  if (is_hex(id) && id.size() == 64) return std::string(id);
  if (name.starts_with("lxc.payload.")) return std::string(name.substr(12));
  return "";
}

Result<std::string> Cgroups::of_container(const std::string& text) const {
  int pid = 0;
  const std::string about = "--container '" + text + "': ";
  const bool is_process =
      parse_pid(text, &pid) && ::access((proc_ + "/" + text).c_str(), F_OK) == 0;
  const std::map<std::string, std::string> names = container_names(top_);
  const bool is_name = std::any_of(names.begin(), names.end(),
                                   [&](const auto& one) { return one.second == text; });
  if (!is_process && !is_name && is_hex(text) && text.size() < kFewestDigits)
    return user_error(EINVAL, about + "so short an id may mean any container; give more of it.");
  std::map<std::string, std::string> found;  // by id; the directory nearest to the root
  std::vector<std::string> all;
  const bool may_be_id = !is_process || text.size() >= kFewestDigits;
  for (size_t i = 0; may_be_id && i < roots_.size() && found.empty(); i++) {
    walk(roots_[i], [&](const fs::path& path) {
      const std::string id = container_id(path.filename().native());
      if (id.empty() || !is_group(path)) return;
      const auto name = names.find(id);
      const bool is_named = name != names.end();
      std::string brief = id.substr(0, kShortId);
      if (is_named) brief += " (" + name->second + ")";
      if (std::find(all.begin(), all.end(), brief) == all.end()) all.push_back(brief);
      // A name may begin as another's id does.
      if (is_name ? is_named && name->second == text : id.starts_with(text))
        found.try_emplace(id, path);
    });
  }
  std::vector<std::string> ids;
  for (const auto& [id, path] : found) ids.push_back(id.substr(0, kShortId));
  if (is_process && !found.empty())
    return user_error(EEXIST, about + "this is a process, and a container begins so: " +
                                  listed(ids) + "; give more of its id, or another process.");
  if (is_process) return of_process_elsewhere(about, pid);
  if (found.size() == 1) return found.begin()->second;
  if (!found.empty())
    return user_error(EEXIST, about + "several containers begin so: " + listed(ids) + ".");
  return user_error(ENOENT, about + "there is no process and no container of this number or name" +
                                (all.empty() ? "." : "; there are " + listed(all) + "."));
}

// Not a shell's session, or a service, where whoever has started us would be recorded as well.
Result<std::string> Cgroups::of_process_elsewhere(const std::string& about, int pid) const {
  PB_ASSIGN(std::string group, of_process(pid));
  if (Result<std::string> own = of_process(::getpid()); own.ok() && *own == group)
    return user_error(EINVAL, about + "process " + std::to_string(pid) +
                                  " is in no container of its own but where patchbay runs; "
                                  "--cgroup " +
                                  group + " takes all of these processes.");
  return group;
}

Result<std::string> Cgroups::of_process(int pid) const {
  const std::string number = std::to_string(pid);
  Result<std::string> text = read_file(proc_ + "/" + number + "/cgroup");
  if (!text.ok()) return user_error(ESRCH, "There is no process " + number + ".");
  bool in_root = false;
  std::vector<std::string> lines = split_lines(*text);
  // The whole of a container. Where both versions are in use, only one may know of it.
  for (const std::string& line : lines) {
    const size_t at = line.find(":/");
    const std::string path = at == line.npos ? "" : container_in(line.substr(at + 1));
    for (const std::string& root : roots_)
      if (!path.empty() && is_group(root + path)) return root + path;
  }
  // Version 2 has the line "0::/PATH"; behind it come those of version 1.
  std::stable_partition(lines.begin(), lines.end(),
                        [](const std::string& line) { return line.starts_with("0::"); });
  for (const std::string& line : lines) {
    const size_t at = line.find(":/");
    if (at == line.npos) continue;
    const std::string path = line.substr(at + 1);
    in_root |= path == "/";
    for (const std::string& root : roots_)
      if (path != "/" && is_group(root + path)) return root + path;
  }
  return user_error(ENOENT, "Process " + number +
                                (in_root ? " is in no control group but the root one, "
                                           "which has all processes: it is in no "
                                           "container."
                                         : " is in a control group that is not to be "
                                           "seen from here."));
}

Result<std::vector<int>> processes_in_cgroup(const std::string& directory) {
  if (!is_group(directory)) return user_error(ENOENT, directory + " is gone.");
  std::vector<int> pids;
  Status read;
  walk(directory, [&](const fs::path& path) {
    Result<std::string> text = read_file(path / kProcs);
    if (!text.ok()) {
      const int number = text.error().errno_value;
      if (number == EMFILE || number == ENFILE || number == ENOMEM) read = text.error();
      return;  // else it was removed meanwhile, or has its threads alone
    }
    for (const std::string& line : split_lines(*text)) {
      int pid = 0;  // 0 is a process that this pid namespace does not see
      if (to_number(std::string_view(line), &pid) && pid > 0) pids.push_back(pid);
    }
  });
  PB_TRY(read);
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

}  // namespace patchbay::cmd
