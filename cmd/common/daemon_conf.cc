// SPDX-License-Identifier: MIT
#include "cmd/common/daemon_conf.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <utility>

#include "base/unique_fd.h"
#include "cmd/common/commands.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kMostOfAFile = 1 << 20;  // as the agent takes

std::string place(const std::string& path, uint32_t line, std::string_view sentence,
                  std::string_view source, uint32_t column) {
  return path + ":" + std::to_string(line) + ": " + std::string(sentence) + "\n  " +
         printable(source) + "\n  " + std::string(column, ' ') + "^";
}

Result<std::string> read_conf(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status;
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) return sys_error("open " + path, errno);
  if (!S_ISREG(status.st_mode)) return user_error(EINVAL, path + " is no ordinary file.");
  if (status.st_mode & (S_IWGRP | S_IWOTH))
    return user_error(EPERM, path + " may be written by others: chmod go-w it.");
  if (status.st_uid != 0 && status.st_uid != ::geteuid())
    return user_error(EPERM, path + " belongs to user " + std::to_string(status.st_uid) +
                                 ", who is neither root nor the caller.");
  std::string text;
  char buffer[1 << 16];
  for (ssize_t size; (size = ::read(fd.get(), buffer, sizeof buffer)) != 0;) {
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return sys_error("read " + path, errno);
    text.append(buffer, size_t(size));
    if (text.size() > kMostOfAFile) return user_error(EINVAL, path + " is larger than 1 MiB.");
  }
  return text;
}

const Option* find_option(const std::vector<Option>& options, std::string_view name) {
  for (const Option& one : options)
    if (*one.name && name == one.name && id_of(one) != kConfId && id_of(one) != 'h') return &one;
  return nullptr;
}

}  // namespace

Error conf_error(const std::string& path, const tracefs::ConfSetting& setting,
                 std::string_view sentence) {
  return user_error(EINVAL, place(path, setting.line, sentence, setting.source, setting.column));
}

Result<DaemonConf> parse_daemon_conf(const std::string& path, std::string_view text) {
  tracefs::Conf parsed = tracefs::parse_conf(text);
  if (!parsed.mistakes.empty()) {
    const tracefs::ConfMistake& first = parsed.mistakes.front();
    return user_error(EINVAL, place(path, first.line, first.sentence, first.text, first.column));
  }
  return DaemonConf{path, std::move(parsed.sections)};
}

Result<DaemonConf> read_daemon_conf(const std::optional<std::string>& path) {
  const std::string name = path.value_or(kDefaultConf);
  if (name.empty() || (!path && ::access(name.c_str(), F_OK) != 0)) return DaemonConf{};
  PB_ASSIGN(const std::string text, read_conf(name));
  return parse_daemon_conf(name, text);
}

Status take_conf_options(const DaemonConf& conf, std::string_view section, const CommandLine& line,
                         const TakeOption& take) {
  const std::vector<Option> options = options_of(line);
  for (const tracefs::ConfSection& one : conf.sections) {
    if (one.name != section) continue;
    for (const tracefs::ConfSetting& setting : one.settings) {
      const Option* option = find_option(options, setting.name);
      if (!option)
        return conf_error(conf.path, setting,
                          "There is no setting '" + setting.name + "' of [" + std::string(section) +
                              "]: patchbay " + line.name + " --help lists them.");
      const bool is_switch = !option->argument;
      if (is_switch && setting.text == "no") continue;
      if (is_switch && setting.text != "yes")
        return conf_error(conf.path, setting, setting.name + " is yes or no.");
      const char* wrong = take(id_of(*option), is_switch ? "" : setting.text.c_str());
      if (wrong) return conf_error(conf.path, setting, wrong);
    }
  }
  return {};
}

std::optional<int> parse_options_with_conf(const CommandLine& line, std::string_view section,
                                           int argc, char** argv, const TakeOption& take,
                                           DaemonConf* conf) {
  std::optional<std::string> path;
  std::deque<std::pair<int, std::string>> given;
  const auto keep = [&](int id, const char* value) -> const char* {
    if (id == kConfId)
      path = value;
    else
      given.emplace_back(id, value);
    return nullptr;
  };
  if (const std::optional<int> ended = parse_options(line, argc, argv, keep)) return ended;
  Result<DaemonConf> read = read_daemon_conf(path);
  if (!read.ok()) return fail(line.name, read.error());
  *conf = std::move(*read);
  const Status taken = take_conf_options(*conf, section, line, take);
  if (!taken.ok()) return fail(line.name, taken.error());
  for (const auto& [id, value] : given)
    if (const char* wrong = take(id, value.c_str())) return usage_error(line.name, wrong);
  return std::nullopt;
}

}  // namespace patchbay::cmd
