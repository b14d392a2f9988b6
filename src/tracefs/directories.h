// SPDX-License-Identifier: MIT
//
// The directories of the tree: tables of names and makers, and those whose entries come and go.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracefs/files/files.h"

namespace patchbay::tracefs {

using DirectoryPtr = std::unique_ptr<Directory>;

inline constexpr uint32_t kRootMode = 0700;
inline constexpr uint32_t kDirectoryMode = 0750;
inline constexpr uint32_t kEventsMode = 0755;  // events/ and all below it

// A directory whose entries are a table. A maker may answer null: then the entry is absent now.
struct Entry {
  std::string_view name;
  FilePtr (*file)(const Place&);  // exactly one of file, directory
  DirectoryPtr (*directory)(const Place&);
  bool top_only = false;
  bool is_listed = true;
};

class TableDirectory : public Directory {
 public:
  TableDirectory(std::span<const Entry> entries, Place place, uint32_t mode = kDirectoryMode)
      : entries_(entries), place_(std::move(place)), mode_(mode) {}
  uint32_t mode() const override { return mode_; }
  std::vector<std::string> list() override;
  FilePtr file(std::string_view name) override;
  DirectoryPtr directory(std::string_view name) override;

 private:
  const Entry* find(std::string_view name) const;
  const std::span<const Entry> entries_;
  const Place place_;
  const uint32_t mode_;
};

// Each for the instance (and CPU) of the place. An instance that is gone has empty ones.
DirectoryPtr make_array_directory(const Place& place);  // the root's and an instance's entries
DirectoryPtr make_events_directory(const Place& place);
DirectoryPtr make_options_directory(const Place& place);
DirectoryPtr make_per_cpu_directory(const Place& place);
DirectoryPtr make_instances_directory(const Place& place);
DirectoryPtr make_debug_directory(const Place& place);
DirectoryPtr make_kprobes_directory(const Place& place);
DirectoryPtr make_trace_stat_directory(const Place& place);

}  // namespace patchbay::tracefs
