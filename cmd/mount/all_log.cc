// SPDX-License-Identifier: MIT
#include "cmd/mount/all_log.h"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/text.h"
#include "cmd/common/commands.h"

namespace patchbay::cmd {
namespace {

constexpr size_t kLongestCommand = 256;

std::string stamp() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  char text[48];
  std::snprintf(text, sizeof text, "[%5lld.%06ld] ", (long long)now.tv_sec, now.tv_nsec / 1000);
  return text;
}

// A sentence may have lines and a caret: they stay in their columns.
std::string indented(const std::string& text, size_t blanks) {
  std::string result;
  for (const std::string& line : split_lines(printable(text))) {
    if (!result.empty()) result += "\n" + std::string(blanks, ' ');
    result += line;
  }
  return result;
}

std::string line_of(const AllLog::Answer& answer) {
  std::string line = "  " + std::to_string(answer.pid) + " " + answer.name + ": ";
  if (answer.status.ok())
    line += "has taken it";
  else if (answer.passed_over || lacks_it(answer.status.error()))
    line += "has no such file, event or function";
  else
    line += indented(answer.status.error().message(), 4);
  return line + "\n";
}

}  // namespace

bool lacks_it(const Error& error) { return error.errno_value == ENOENT; }

std::string AllLog::add(const Command& command, const std::vector<Answer>& answers) {
  const auto refused = [](const Answer& answer) {
    return !answer.status.ok() && !answer.passed_over && !lacks_it(answer.status.error());
  };
  const auto count = std::count_if(answers.begin(), answers.end(), refused);
  std::string entry = stamp() + command.path + ": error: ";
  if (count == 0 && answers.empty())
    entry += "there is no process";
  else if (count == 0)
    entry += "no process has it";
  else
    entry += std::to_string(count) + " of " + std::to_string(answers.size()) +
             (answers.size() == 1 ? " process" : " processes") +
             (count == 1 ? " has refused" : " have refused");
  std::string text = command.text.substr(0, kLongestCommand);
  while (text.ends_with('\n')) text.pop_back();
  entry += "\n  Command: " + indented(text, 11) + "\n";
  for (const Answer& answer : answers) entry += line_of(answer);
  return keep(std::move(entry));
}

std::string AllLog::add(const std::string& place, const std::string& sentence) {
  return keep(stamp() + place + ": error: " + indented(sentence, 4) + "\n");
}

std::string AllLog::keep(std::string entry) {
  std::lock_guard held(mutex_);
  entries_.push_back(entry);
  if (entries_.size() > kMostEntries) entries_.pop_front();
  return entry;
}

void AllLog::clear() {
  std::lock_guard held(mutex_);
  entries_.clear();
}

std::string AllLog::text() {
  std::lock_guard held(mutex_);
  return join(entries_, "");
}

}  // namespace patchbay::cmd
