// SPDX-License-Identifier: MIT
#include "cmd/target/follow_log.h"

#include <cstring>
#include <utility>

#include "base/text.h"

namespace patchbay::cmd {
namespace {

// How many texts a record of this kind has at least; null: there is no such kind.
std::optional<size_t> texts_of(abi::FollowKind kind) {
  switch (kind) {
    case abi::FollowKind::kWaits:
    case abi::FollowKind::kHasNothing:
    case abi::FollowKind::kExecutes:
      return 1;
    case abi::FollowKind::kNotFollowed:
    case abi::FollowKind::kSays:
      return 2;
    case abi::FollowKind::kForked:
    case abi::FollowKind::kStays:
      return 0;
  }
  return std::nullopt;
}

// The texts behind a record, each with its NUL.
std::vector<std::string> texts_in(std::string_view bytes) {
  std::vector<std::string> texts;
  while (!bytes.empty()) texts.emplace_back(cut_at(&bytes, '\0'));
  return texts;
}

bool may_be_whole(const abi::FollowRecord& record) {
  return record.size >= sizeof record && record.size <= abi::kMostFollowRecord &&
         texts_of(record.kind) && record.pid > 0;
}

FollowSaid said_by(const abi::FollowRecord& record, std::string_view behind) {
  std::vector<std::string> texts = texts_in(behind);
  const size_t needed = *texts_of(record.kind);
  if (texts.size() < needed) texts.resize(needed);  // there was no room for them
  return {record.kind,
          record.pid,
          record.parent,
          record.time_ns,
          record.cpu,
          record.ticket,
          text_at(record.comm, sizeof record.comm),
          std::move(texts)};
}

}  // namespace

std::string text_at(const char* at, size_t size) { return {at, ::strnlen(at, size)}; }

std::optional<size_t> take_follow_records(std::string_view bytes, std::vector<FollowSaid>* said) {
  size_t at = 0;
  for (abi::FollowRecord record; bytes.size() - at >= sizeof record; at += record.size) {
    std::memcpy(&record, bytes.data() + at, sizeof record);
    if (!may_be_whole(record)) return std::nullopt;
    if (bytes.size() - at < record.size) break;
    const std::string_view behind = bytes.substr(at + sizeof record, record.size - sizeof record);
    const bool has_texts = *texts_of(record.kind) > 0;
    if (!behind.empty() && (!has_texts || behind.back() != '\0')) return std::nullopt;
    said->push_back(said_by(record, behind));
  }
  return at;
}

}  // namespace patchbay::cmd
