// SPDX-License-Identifier: MIT
#include "export/export_calls.h"

#include <algorithm>

namespace patchbay {
namespace {

constexpr size_t kMostOfThread = 256, kMostEntries = 65536, kMostBytes = 512;
// A kernel's probe at an entry stands behind the entry's endbr64 and call.
constexpr uint64_t kEntryBytes = 16;

}  // namespace

void ExportPairs::enter(const ExportThread* thread, uint64_t function, uint64_t ns,
                        const ExportSchema* schema, std::span<const uint8_t> record) {
  if (entries_ >= kMostEntries) {  // most of them never return
    threads_.clear();
    entries_ = 0;
  }
  std::vector<Entry>& entries = threads_[thread];
  if (entries.size() >= kMostOfThread) {
    entries.erase(entries.begin(), entries.begin() + kMostOfThread / 2);
    entries_ -= kMostOfThread / 2;
  }
  record = record.first(std::min(record.size(), kMostBytes));
  entries.push_back({function, ns, schema, std::string(record.begin(), record.end())});
  entries_++;
}

const ExportPair* ExportPairs::leave(const ExportThread* thread, uint64_t function) {
  auto found = threads_.find(thread);
  if (found == threads_.end()) return nullptr;
  std::vector<Entry>& entries = found->second;
  for (size_t at = entries.size(); at-- > 0;) {
    if (entries[at].function - function >= kEntryBytes) continue;
    record_ = std::move(entries[at].record);
    const auto* bytes = reinterpret_cast<const uint8_t*>(record_.data());
    pair_ = {function, entries[at].ns, entries[at].schema, {bytes, record_.size()}};
    entries_ -= entries.size() - at;
    entries.resize(at);
    return &pair_;
  }
  return nullptr;
}

}  // namespace patchbay
