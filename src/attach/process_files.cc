// SPDX-License-Identifier: MIT
#include "attach/process_files.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "attach/process_maps.h"
#include "base/file_mapping.h"
#include "base/foreign_file.h"
#include "symbol/elf_image.h"
#include "symbol/held_files.h"

namespace patchbay::attach {
namespace {

constexpr std::string_view kDeleted = " (deleted)";
constexpr size_t kMostFiles = 4096;  // a process that maps more is not asked for their names

std::string link_text(const std::string& path) {
  char text[PATH_MAX];
  const ssize_t length = ::readlink(path.c_str(), text, sizeof text);
  return std::string(text, length > 0 ? size_t(length) : 0);
}

// One process, and what its files are compared by.
class Files {
 public:
  explicit Files(pid_t pid)
      : process_("/proc/" + std::to_string(pid)),
        pid_(pid),
        lines_(read_maps(pid)),
        root_(link_text(process_ + "/root")),
        program_(link_text(process_ + "/exe")) {}

  std::vector<ProcessFile> all() const;

 private:
  ProcessFile file_of(const MapLine& line) const;
  std::string name_of(const MapLine& line) const;
  std::string range_of(const MapLine& line) const;
  bool is_mapped(const std::string& path, const MapLine& line) const;
  bool has_its_first_page(const UniqueFd& file, const MapLine& line) const;

  std::string process_;
  pid_t pid_;
  std::vector<MapLine> lines_;
  std::string root_;     // as we see it; "/" in another mount namespace, too
  std::string program_;  // "… (deleted)"
};

std::string Files::range_of(const MapLine& line) const {
  char range[64];
  std::snprintf(range, sizeof range, "/map_files/%llx-%llx", (unsigned long long)line.range.start,
                (unsigned long long)line.range.end);
  return process_ + range;
}

// Paths of /proc are those of who reads them: a process in a root of its own has shorter ones.
std::string Files::name_of(const MapLine& line) const {
  std::string name = line.name;
  if (name.ends_with(kDeleted)) name.resize(name.size() - kDeleted.size());
  const bool is_below =
      root_.size() > 1 && name.starts_with(root_) && name.substr(root_.size()).starts_with('/');
  return is_below ? name.substr(root_.size()) : name;
}

bool Files::has_its_first_page(const UniqueFd& file, const MapLine& line) const {
  const auto first = std::find_if(lines_.begin(), lines_.end(), [&](const MapLine& one) {
    return one.offset == 0 && one.inode == line.inode && one.device == line.device;
  });
  return first != lines_.end() && is_first_page_at(file, process_, first->range.start);
}

// Some file systems have one number of a device in maps and another in stat().
bool Files::is_mapped(const std::string& path, const MapLine& line) const {
  auto opened = open_foreign_file(path, kMostMappedFile);
  struct stat found = {}, mapped = {};
  if (!opened.ok() || ::fstat(opened->get(), &found) != 0) return false;
  if (::stat(range_of(line).c_str(), &mapped) == 0)
    return found.st_dev == mapped.st_dev && found.st_ino == mapped.st_ino;
  const uint64_t device = uint64_t{::major(found.st_dev)} << 32 | ::minor(found.st_dev);
  if (found.st_ino == line.inode && device == line.device) return true;
  return has_its_first_page(*opened, line);
}

ProcessFile Files::file_of(const MapLine& line) const {
  ProcessFile file;
  file.name = name_of(line);
  file.is_program = line.name == program_;
  const bool is_ours = file.name == line.name;
  const std::string in_root = process_ + "/root/" + file.name;
  if (is_ours && is_mapped(file.name, line)) {
    file.path = file.name;
  } else if (is_mapped(in_root, line)) {
    file.path = in_root;
  } else if (is_mapped(line.name, line)) {
    file.path = line.name;
  } else {
    file.is_gone = true;
    const std::string range = range_of(line), exe = process_ + "/exe";
    if (::access(range.c_str(), R_OK) == 0)
      file.path = range + "/" + file.name;
    else if (file.is_program && ::access(exe.c_str(), R_OK) == 0)
      file.path = exe + "/" + file.name;
  }
  return file;
}

std::vector<ProcessFile> Files::all() const {
  std::vector<ProcessFile> files;
  std::vector<const MapLine*> known;
  for (const MapLine& line : lines_) {
    const bool is_file = line.is_code && line.name.starts_with('/') &&
                         !line.name.starts_with("/memfd:") && known.size() < kMostFiles;
    if (!is_file || std::any_of(known.begin(), known.end(), [&](const MapLine* one) {
          return one->inode == line.inode && one->device == line.device;
        }))
      continue;
    known.push_back(&line);
    ProcessFile file = file_of(line);
    if (!file.path.empty()) files.push_back(std::move(file));
  }
  std::stable_partition(files.begin(), files.end(),
                        [](const ProcessFile& file) { return file.is_program; });
  return files;
}

std::string build_id_of(const std::string& path) {
  auto bytes = FileMapping::open(path);
  auto image =
      bytes.ok() ? ElfImage::from_file(bytes->bytes()) : Result<ElfImage>(bytes.error());
  return image.ok() ? image->build_id() : "";
}

}  // namespace

std::vector<ProcessFile> files_of(pid_t pid) { return Files(pid).all(); }

void hold_files_of(pid_t pid) {
  for (const ProcessFile& file : files_of(pid)) {
    if (file.path == file.name && !file.is_program) continue;
    auto opened = open_foreign_file(file.path, kMostMappedFile);
    if (!opened.ok()) continue;
    const bool is_there = split_process_path(file.path).is_in_root();
    hold_file({build_id_of(file.path), file.name, is_there ? file.path : "", std::move(*opened)});
  }
}

}  // namespace patchbay::attach
