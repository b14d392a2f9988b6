// SPDX-License-Identifier: MIT
#include "symbol/held_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <mutex>

#include "base/file_mapping.h"
#include "symbol/elf_image.h"

namespace patchbay {
namespace {

// The libraries of some containers; a tool has a thousand descriptors for everything.
constexpr size_t kMostHeld = 256;

struct Held {
  std::mutex lock;
  std::vector<HeldFile> files;
};
Held& held() {
  static Held all;
  return all;
}

bool is_same_file(const UniqueFd& a, const UniqueFd& b) {
  struct stat one = {}, other = {};
  return ::fstat(a.get(), &one) == 0 && ::fstat(b.get(), &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace

bool hold_file(HeldFile file) {
  Held& all = held();
  std::lock_guard guard(all.lock);
  for (HeldFile& known : all.files) {
    if (known.build_id != file.build_id) continue;
    if (!file.build_id.empty()) return false;
    if (known.path != file.path) continue;
    if (known.file.valid() && !is_same_file(known.file, file.file)) known.file.reset();
    return false;
  }
  if (all.files.size() >= kMostHeld) return false;
  all.files.push_back(std::move(file));
  return true;
}

std::vector<std::string> places_of_file(const std::string& path, const std::string& build_id) {
  Held& all = held();
  std::lock_guard guard(all.lock);
  for (const HeldFile& known : all.files) {
    if (known.build_id != build_id || (build_id.empty() && known.path != path)) continue;
    if (!known.file.valid()) return {};
    const std::string by_number =
        "/proc/self/fd/" + std::to_string(known.file.get()) + "/" + known.path;
    if (build_id.empty()) return {by_number};
    if (known.in_root.empty()) return {path, by_number};
    return {known.in_root, by_number};
  }
  return {path};
}

std::string place_of_file(const std::string& path, const std::string& build_id) {
  const std::vector<std::string> places = places_of_file(path, build_id);
  if (places.size() == 1) return places.front();
  for (const std::string& place : places) {
    Result<FileMapping> bytes = FileMapping::open(place);
    if (!bytes.ok()) continue;
    const Result<ElfImage> image = ElfImage::from_file(bytes->bytes());
    if (image.ok() && image.value().build_id() == build_id) return place;
  }
  return path;
}

}  // namespace patchbay
