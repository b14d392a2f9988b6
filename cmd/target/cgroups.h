// SPDX-License-Identifier: MIT
//
// Control groups as a recording names them: by their path, as a service of systemd, as a container.
//
//   /sys/fs/cgroup/system.slice/nginx.service                      --service nginx
//   /sys/fs/cgroup/system.slice/docker-4f5e….scope                 --container 4f5e, or its name
//                                                                  (container_names.h), or a pid
//   /sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope      --cgroup user.slice/user-1000…
//
// A tree of version 2 is looked at first; where services or containers live in a hierarchy of
// version 1, that is found as well.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace patchbay::cmd {

class Cgroups {
 public:
  // `roots`: where hierarchies are mounted, that of version 2 first. `proc`: /proc.
  // `top`: where the runtimes of containers have their files, "" for this machine's.
  explicit Cgroups(std::vector<std::string> roots, std::string proc = "/proc", std::string top = "")
      : roots_(std::move(roots)), proc_(std::move(proc)), top_(std::move(top)) {}
  // Those of this machine. ENOENT: none is mounted.
  static Result<Cgroups> of_machine();
  // The mounts of cgroup2, then of cgroup, in the text of a mountinfo.
  static std::vector<std::string> roots_in(std::string_view mountinfo);

  // Each is a directory that has a cgroup.procs. ENOENT: there is none, and what was looked for.
  Result<std::string> by_path(const std::string& path) const;       // absolute, or below a root
  Result<std::string> of_service(const std::string& name) const;    // nginx, or nginx.service
  Result<std::string> of_container(const std::string& text) const;  // id's beginning, name, pid
  Result<std::string> of_process(int pid) const;

  // The id in the name of a container's directory: docker, podman, cri-o, containerd, kubepods,
  // lxc. "": it is none.
  static std::string container_id(std::string_view name);

 private:
  Result<std::string> of_process_elsewhere(const std::string& about, int pid) const;

  std::vector<std::string> roots_;
  std::string proc_, top_;
};

// The processes in a group and in those below it, as far as they can be read. ENOENT: it is gone.
Result<std::vector<int>> processes_in_cgroup(const std::string& directory);

}  // namespace patchbay::cmd
