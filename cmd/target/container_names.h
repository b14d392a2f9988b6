// SPDX-License-Identifier: MIT
//
// The names of containers, which only their runtimes know:
//
//   docker   /var/lib/docker/containers/ID/config.v2.json              … "Name":"/web" …
//   podman   /var/lib/containers/storage/overlay-containers/containers.json
//                                                   [{"id":"ID","names":["web"], …}, …]
//   both, without root: below ~/.local/share, instead of /var/lib
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace patchbay::cmd {

// The names of those that are known, by their ids; `top` stands in front of each path.
std::map<std::string, std::string> container_names(const std::string& top = "");

// In the texts of these files.
std::string name_in_docker_config(std::string_view text);  // "": there is none
std::map<std::string, std::string> names_in_podman_list(std::string_view text);

}  // namespace patchbay::cmd
