// SPDX-License-Identifier: MIT
// The entries of error_log (docs/files.md): a stamp of the local clock, the command, a caret.
#include <time.h>

#include <cstdio>

#include "event/error_log.h"

namespace patchbay {

namespace {

constexpr size_t kMaxEntries = 8;
constexpr size_t kCommandIndent = 11;  // the width of "  Command: "

constinit std::string_view g_origin;
constinit uint64_t g_added = 0;

std::string stamp() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  char text[40];
  std::snprintf(text, sizeof text, "[%5llu.%06u] ", static_cast<unsigned long long>(now.tv_sec),
                static_cast<unsigned>(now.tv_nsec / 1000));
  return text;
}

}  // namespace

ErrorOrigin::ErrorOrigin(const std::string& where) : before_(g_added) { g_origin = where; }
ErrorOrigin::~ErrorOrigin() { g_origin = {}; }
bool ErrorOrigin::has_entries() const { return g_added != before_; }

void ErrorLog::add(std::string_view location, std::string_view text, std::string_view command,
                   size_t position) {
  std::string entry = stamp();
  if (!g_origin.empty()) entry.append(g_origin).append(": ");
  g_added++;
  entry.append(location).append(": error: ").append(text.empty() ? "Error" : text);
  entry.append("\n  Command: ").append(command).append("\n");
  entry.append(kCommandIndent + position, ' ').append("^\n");
  if (entries_.size() == kMaxEntries) entries_.pop_front();
  entries_.push_back(std::move(entry));
}

std::string ErrorLog::show() const {
  std::string text;
  for (const std::string& entry : entries_) text += entry;
  return text;
}

}  // namespace patchbay
