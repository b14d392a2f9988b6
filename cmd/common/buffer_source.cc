// SPDX-License-Identifier: MIT
#include "cmd/common/buffer_source.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "ring_buffer/buffer_file.h"
#include "serve/directory.h"

namespace patchbay::cmd {
namespace {

constexpr const char kSnapshotName[] = "snapshot", kInstancesName[] = "instances";

// Not one that a link leads to: whose directory it is could make it another user's.
bool is_file(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// The user's own link is followed (BufferFile::open() follows none).
std::string behind_link(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const std::filesystem::path behind = std::filesystem::canonical(path, error);
  return error ? path : behind.string();
}

// The names in a directory, sorted; none when it cannot be read.
std::vector<std::string> names_in(const std::string& directory, std::error_code* error) {
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator at(directory, *error), end; !*error && at != end;
       at.increment(*error))
    names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void add_parts(const std::string& directory, const std::string& instance, BufferSource* source) {
  const std::string buffer = directory + "/" + serve::kBufferName;
  const std::string snapshot = directory + "/" + kSnapshotName;
  if (is_file(buffer)) source->parts.push_back({instance, buffer});
  const std::string name = instance.empty() ? kSnapshotName : instance + "/" + kSnapshotName;
  if (is_file(snapshot)) source->parts.push_back({name, snapshot});
}

// One file, named by the user. What it is to its process is seen by where it stands.
BufferSource source_of_file(const std::string& name) {
  const std::string path = behind_link(name);
  std::error_code error;
  const std::filesystem::path file = std::filesystem::absolute(path, error).lexically_normal();
  const std::filesystem::path directory = file.parent_path();
  const bool of_instance = directory.parent_path().filename() == kInstancesName;
  const std::filesystem::path home =
      of_instance ? directory.parent_path().parent_path() : directory;
  std::string top = (home / serve::kBufferName).string();
  const bool is_snapshot = file.filename() == kSnapshotName;
  const bool is_ours = is_snapshot || file.filename() == serve::kBufferName;
  if (!is_ours || (!is_snapshot && !of_instance) || !BufferFile::open(top, false).ok())
    return {path, {{"", path}}};
  std::string instance = of_instance ? directory.filename().string() : "";
  if (is_snapshot) instance += of_instance ? std::string("/") + kSnapshotName : kSnapshotName;
  return {std::move(top), {{std::move(instance), path}}};
}

}  // namespace

std::string BufferSource::process() const {
  return std::filesystem::path(top).parent_path().filename().string();
}

BufferSource source_of_directory(const std::string& directory) {
  BufferSource source{directory + "/" + serve::kBufferName, {}};
  add_parts(directory, "", &source);
  const std::string instances = directory + "/" + kInstancesName;
  std::error_code ignored;
  for (const std::string& name : names_in(instances, &ignored))
    add_parts(instances + "/" + name, name, &source);
  return source;
}

Result<std::vector<BufferSource>> find_buffer_sources(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return sys_error("open " + path, errno);
  if (!S_ISDIR(status.st_mode)) return std::vector<BufferSource>{source_of_file(path)};
  if (is_file(path + "/" + serve::kBufferName)) {
    if (std::filesystem::path(path).parent_path().filename() == kInstancesName)
      return std::vector<BufferSource>{source_of_file(path + "/" + serve::kBufferName)};
    return std::vector<BufferSource>{source_of_directory(path)};
  }
  std::vector<BufferSource> found;
  std::error_code error;
  for (const std::string& name : names_in(path, &error))
    if (is_file(path + "/" + name + "/" + serve::kBufferName))
      found.push_back(source_of_directory(path + "/" + name));
  if (error) return sys_error("read " + path, error.value());
  if (found.empty())
    return user_error(
        ENOENT, path + ": no buffer file in this directory (looked for buffer and PID/buffer).");
  return found;
}

}  // namespace patchbay::cmd
