// SPDX-License-Identifier: MIT
#include "cmd/target/kept_source.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace patchbay::cmd {
namespace {

constexpr size_t kMost = 4;  // libc, a C++ runtime, and a program or two

struct Kept {
  std::string path;
  FileStamp stamp;
  std::unique_ptr<SourceProbes> probes;
};

std::mutex g_lock;
std::vector<Kept>& all_kept() {  // the one that was used last comes last
  static std::vector<Kept> kept;
  return kept;
}

std::unique_ptr<SourceProbes> take(const std::string& path, const FileStamp& stamp) {
  std::lock_guard guard(g_lock);
  std::vector<Kept>& all = all_kept();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Kept& kept) {
    return kept.path == path && kept.stamp == stamp;
  });
  if (found == all.end()) return nullptr;
  std::unique_ptr<SourceProbes> probes = std::move(found->probes);
  probes->expect_many(false);  // what the last use wanted is not the next one's
  all.erase(found);
  return probes;
}

}  // namespace

KeptSource::KeptSource(std::string path, const FileStamp& stamp,
                       std::unique_ptr<SourceProbes> probes)
    : path_(std::move(path)), stamp_(stamp), probes_(std::move(probes)) {}

Result<KeptSource> KeptSource::open(const std::string& path) {
  const FileStamp stamp = stamp_of(path);
  if (auto kept = take(path, stamp)) return KeptSource(path, stamp, std::move(kept));
  PB_ASSIGN(auto opened, SourceProbes::open(path));
  return KeptSource(path, stamp, std::move(opened));
}

KeptSource::~KeptSource() {
  if (!probes_) return;
  Kept oldest;  // closed without the lock
  std::lock_guard guard(g_lock);
  std::vector<Kept>& all = all_kept();
  all.push_back({std::move(path_), stamp_, std::move(probes_)});
  if (all.size() <= kMost) return;
  oldest = std::move(all.front());
  all.erase(all.begin());
}

}  // namespace patchbay::cmd
