// SPDX-License-Identifier: MIT
//
// The sections of patchbay.conf(5) that are the tool's: what a command that runs as a daemon is
// told without a command line.
//
//   [serve]                         the options of `patchbay serve`, by their long names
//   listen = 127.0.0.1:9797         as --listen 127.0.0.1:9797
//   verbose = yes                   of an option without a value: yes or no
//   [ship]                          those of `patchbay ship`
//   [attach]                        one rule (cmd/serve/attach_rules.h)
//   service = nginx.service
//   event = malloc(u64 size)
//
// The same file may have the agent's lines (tracefs/conf_parse.h), which are nothing to us. The
// options of the command line come behind the file's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cmd/common/options.h"
#include "tracefs/conf_parse.h"

namespace patchbay::cmd {

inline constexpr const char* kDefaultConf = "/etc/patchbay/patchbay.conf";
inline constexpr int kConfId = kFirstOptionId + 900;
inline constexpr Option kConfOption = {
    .name = "conf",
    .argument = "FILE",
    .help = "reads FILE instead of /etc/patchbay/patchbay.conf",
    .more =
        "An empty FILE means none. Options of the command line go before those of the file, "
        "see patchbay.conf(5).",
    .id = kConfId};

struct DaemonConf {
  std::string path;
  std::vector<tracefs::ConfSection> sections;
};

// "FILE:LINE: SENTENCE", the line, and a caret below what is wrong in it.
Error conf_error(const std::string& path, const tracefs::ConfSetting& setting,
                 std::string_view sentence);

// A text as a file. EINVAL: the first mistake in it, with its line and a caret.
Result<DaemonConf> parse_daemon_conf(const std::string& path, std::string_view text);
// `path`: nothing means kDefaultConf, which may be missing; an empty one means no file. EPERM: it
// may be written by others, or belongs to neither root nor us. EINVAL: as above, or it is no
// ordinary file, or larger than 1 MiB.
Result<DaemonConf> read_daemon_conf(const std::optional<std::string>& path);

// Gives the settings of all sections `section` to `take`, as the options of `line`. EINVAL: one of
// them is no option, or its value is wrong.
Status take_conf_options(const DaemonConf& conf, std::string_view section, const CommandLine& line,
                         const TakeOption& take);

// parse_options() for a command with kConfOption: first the file's, then those of the command line.
// The command's `take` gets no kConfId. *conf is what was read.
std::optional<int> parse_options_with_conf(const CommandLine& line, std::string_view section,
                                           int argc, char** argv, const TakeOption& take,
                                           DaemonConf* conf);

}  // namespace patchbay::cmd
