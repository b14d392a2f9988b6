// SPDX-License-Identifier: MIT
#include "debug_info/kept_units.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"

namespace patchbay {
namespace {

constexpr size_t kMostBytes = 1 << 20, kMostOfALine = 4096;

bool parse_offsets(std::string_view text, std::vector<uint64_t>* offsets) {
  while (!text.empty()) {
    uint64_t offset = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), offset, 16);
    if (error != std::errc() || end == text.data()) return false;
    offsets->push_back(offset);
    text.remove_prefix(size_t(end - text.data()));
    if (!text.empty() && text.front() != ' ') return false;
    if (!text.empty()) text.remove_prefix(1);
  }
  return true;
}

// Whether the path leads to something of this kind that is ours alone to write.
bool is_ours(const struct stat& status, mode_t kind) {
  return (status.st_mode & S_IFMT) == kind && status.st_uid == ::geteuid() &&
         !(status.st_mode & (S_IWGRP | S_IWOTH));
}

}  // namespace

// Under sudo, HOME may be another user's, who could not remove what root has made there.
std::string kept_units_directory() {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  const bool has_cache = cache && *cache == '/';
  if (!has_cache && (!home || *home != '/')) return "";
  struct stat status;
  const char* const base = has_cache ? cache : home;
  if (::stat(base, &status) == 0 && status.st_uid != ::geteuid()) return "";
  return std::string(base) + (has_cache ? "/patchbay/units" : "/.cache/patchbay/units");
}

std::unordered_map<std::string, std::vector<uint64_t>> parse_kept_units(
    std::string_view untrusted) {
  std::unordered_map<std::string, std::vector<uint64_t>> known;
  untrusted = untrusted.substr(0, untrusted.rfind('\n') + 1);  // the last one may be half a line
  while (!untrusted.empty()) {
    const std::string_view line = untrusted.substr(0, untrusted.find('\n'));
    untrusted.remove_prefix(line.size() + 1);
    const size_t tab = line.find('\t');
    std::vector<uint64_t> offsets;
    if (tab == line.npos || tab == 0 || line.find('\t', tab + 1) != line.npos) continue;
    if (!parse_offsets(line.substr(tab + 1), &offsets)) continue;
    known.insert_or_assign(std::string(line.substr(0, tab)), std::move(offsets));
  }
  return known;
}

KeptUnits::KeptUnits(const std::string& directory, const std::string& key) {
  if (directory.empty()) return;
  std::error_code none;
  std::filesystem::create_directories(directory, none);
  struct stat status;
  if (::stat(directory.c_str(), &status) != 0 || !is_ours(status, S_IFDIR)) return;
  file_.reset(::open((directory + "/" + key).c_str(),
                     O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!file_.valid()) return;
  if (::fstat(file_.get(), &status) != 0 || !is_ours(status, S_IFREG)) {
    file_.reset();
    return;
  }
  if (size_t(status.st_size) > kMostBytes) (void)!::ftruncate(file_.get(), 0);
  std::string text(std::min(size_t(status.st_size), kMostBytes), '\0');
  const ssize_t size = ::pread(file_.get(), text.data(), text.size(), 0);
  text.resize(size > 0 ? size_t(size) : 0);
  known_ = parse_kept_units(text);
}

std::optional<std::vector<uint64_t>> KeptUnits::find(std::string_view name) const {
  const auto found = known_.find(std::string(name));
  if (found == known_.end()) return std::nullopt;
  return found->second;
}

void KeptUnits::add(std::string_view name, const std::vector<uint64_t>& units) {
  if (!file_.valid() || name.empty() || name.find_first_of("\t\n") != name.npos) return;
  std::string line = std::string(name) + '\t';
  for (size_t i = 0; i < units.size() && line.size() <= kMostOfALine; i++) {
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, units[i], 16).ptr;
    if (i > 0) line += ' ';
    line.append(digits, end);
  }
  line += '\n';
  if (line.size() > kMostOfALine) return;
  (void)!::write(file_.get(), line.data(), line.size());
  known_.insert_or_assign(std::string(name), units);
}

}  // namespace patchbay
